"""Where a federated login takes its token from: every documented source works, against endpoints on
loopback.
"""

from __future__ import annotations

import base64
import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.auth import hostile_logins
from tests.auth.hostile_logins import AWS_SOURCE, external
from tests.support.token_server import (
    ACCOUNT,
    PROVIDER,
    Ordered,
    Seen,
    TokenServer,
    pem,
    running,
    service_account,
    signed,
)
from tests.support.transfer_harness import FakeTime
from uploader import inputs
from uploader.auth import credentials
from uploader.auth.credential_source import AWS
from uploader.auth.destinations import Destinations, Rules
from uploader.auth.google import Login, TokenRequest
from uploader.cancellation import Cancellation
from uploader.errors import CredentialsError, InputError
from uploader.http.client import HttpClient
from uploader.inputs.records import LoginInputs
from uploader.retry import RetryPolicy

BY_IAM = f"/v1/projects/-/serviceAccounts/{ACCOUNT}:generateAccessToken"
FEDERATED = "ya29.federated-1-secret"


@pytest.fixture
def server() -> Iterator[TokenServer]:
    with running() as tokens:
        yield tokens


def login(server: TokenServer, info: object, **environ: str) -> Login:
    """A login with this configuration, whose endpoint is the token server."""
    given = info if isinstance(info, str) else json.dumps(info)
    variables = {
        "UPLOADER_TARGET": "play",
        "UPLOADER_CREDENTIALS": given,
        "UPLOADER_API_ENDPOINT": server.url,
    }
    read, problems = inputs.read({**variables, **environ}, [])
    assert not problems
    policy = RetryPolicy(FakeTime().clock(), Cancellation(), 0, 60.0)
    asked = read.record(LoginInputs)
    return Login(asked, credentials.parse(asked), ["scope"], HttpClient(), policy)


def token() -> str:
    return signed({"aud": f"https://iam.googleapis.com/{PROVIDER}"})


def test_a_token_of_kubernetes_is_read_through_its_links(
    server: TokenServer, tmp_path: Path
) -> None:
    """The file is a link into `..data`, itself a link, which Kubernetes points at a new folder when
    the token changes. Every login reads the file again.
    """
    audience = f"https://iam.googleapis.com/{PROVIDER}"
    tokens = [signed({"aud": audience, "jti": name}) for name in ("first", "second")]
    for folder, text in zip(("..2026_01_01", "..2026_01_02"), tokens, strict=True):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "token").write_text(text + "\n")
    (tmp_path / "..data").symlink_to("..2026_01_01")
    (tmp_path / "token").symlink_to("..data/token")
    made = login(server, external(credential_source={"file": str(tmp_path / "token")}))
    assert made.token() == FEDERATED
    (tmp_path / "..data").unlink()
    (tmp_path / "..data").symlink_to("..2026_01_02")
    made.renew()
    assert server.paths() == ["/v1/token", "/v1/token"]
    assert [seen.fields["subject_token"] for seen in server.seen] == tokens


def test_a_token_of_gitlab_lies_in_the_project(
    server: TokenServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job writes its id token into a file of JSON or of text, and names it by a relative path."""
    monkeypatch.chdir(tmp_path)
    Path("token.json").write_text(json.dumps({"value": token()}))
    Path("token.txt").write_text(token())
    shape = {"type": "json", "subject_token_field_name": "value"}
    for source in ({"file": "token.json", "format": shape}, {"file": "token.txt"}):
        made = login(server, external(credential_source=source))
        assert made.token().startswith("ya29.federated-")


def test_a_url_of_azure_is_asked_with_its_header(server: TokenServer) -> None:
    """The metadata server's answer is an object; the header is the one that Azure asks for."""
    source = {
        "url": f"{server.url}/metadata/identity/oauth2/token?api-version=2018-02-01&resource=x",
        "headers": {"Metadata": "True"},
        "format": {"type": "json", "subject_token_field_name": "access_token"},
    }
    server.order(Ordered(200, json.dumps({"access_token": token()}).encode()))
    assert login(server, external(credential_source=source)).token() == FEDERATED
    assert server.seen[0].headers["metadata"] == "True"


def test_aws_signs_with_what_its_metadata_server_hands_out(
    server: TokenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Session token, region, role, keys, then Google's exchange: five addresses and no other."""
    for name in (
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
    ):
        monkeypatch.delenv(name, raising=False)
    source = {
        name: url.replace("http://169.254.169.254", server.url)
        for name, url in AWS_SOURCE.items()
    }
    keys = {
        "AccessKeyId": "AKIAEXAMPLE",
        "SecretAccessKey": "aws-secret",
        "Token": "aws-session-token",
    }
    answers = {
        "/latest/api/token": b"session",
        "/latest/meta-data/placement/availability-zone": b"eu-central-1b",
        "/latest/meta-data/iam/security-credentials": b"a-role",
        "/latest/meta-data/iam/security-credentials/a-role": json.dumps(keys).encode(),
        "/v1/token": json.dumps(
            {"access_token": "ya29.of-aws-secret", "expires_in": 3600}
        ).encode(),
    }
    regular = server.response

    def answer(seen: Seen) -> Ordered:
        server.order(Ordered(200, answers[seen.path]))
        return regular(seen)

    monkeypatch.setattr(server, "response", answer)
    assert (
        login(
            server, external(subject_token_type=AWS, credential_source=source)
        ).token()
        == "ya29.of-aws-secret"
    )
    assert set(server.paths()) == set(answers)
    assert "sts.eu-central-1.amazonaws.com" in server.seen[-1].fields["subject_token"]


def test_the_files_of_a_certificate_are_held_to_the_rules(
    server: TokenServer, tmp_path: Path
) -> None:
    """A certificate and its key may lie outside the workspace; what the configuration of both names
    is checked too.
    """
    files = {
        "cert_path": str(tmp_path / "cert.pem"),
        "key_path": str(tmp_path / "key.pem"),
    }
    (tmp_path / "cert.pem").write_text("a certificate")
    (tmp_path / "key.pem").write_text(pem())
    config = tmp_path / "certificate_config.json"
    config.write_text(json.dumps({"cert_configs": {"workload": files}}))
    info = external(
        credential_source={"certificate": {"certificate_config_location": str(config)}}
    )
    assert login(server, info).account
    for name in files:
        config.write_text(
            json.dumps(
                {"cert_configs": {"workload": {**files, name: "/proc/self/environ"}}}
            )
        )
        with pytest.raises(
            InputError,
            match=f"`certificate_config_location`, its `{name}`.*is never opened",
        ):
            login(server, info)


def test_the_certificate_that_gcloud_names_is_held_to_the_rules(
    server: TokenServer, tmp_path: Path
) -> None:
    """A credential may leave it to google-auth to find the configuration, below the home or in
    CLOUDSDK_CONFIG.
    """
    files = {
        "cert_path": str(tmp_path / ".ssh" / "cert.pem"),
        "key_path": str(tmp_path / ".ssh" / "key.pem"),
    }
    (tmp_path / ".ssh").mkdir()
    for path in files.values():
        Path(path).write_text("of another")
    folder = tmp_path / ".config" / "gcloud"
    folder.mkdir(parents=True)
    (folder / "certificate_config.json").write_text(
        json.dumps({"cert_configs": {"workload": files}})
    )
    info = external(
        credential_source={"certificate": {"use_default_certificate_config": True}}
    )
    with pytest.raises(
        InputError,
        match=r"`certificate_config\.json`, its `cert_path`.*is never opened",
    ):
        login(server, info, CLOUDSDK_CONFIG=str(folder))


@pytest.mark.parametrize("variable", ["", "GOOGLE_API_CERTIFICATE_CONFIG"])
def test_google_auth_looks_for_no_certificate_by_itself(
    server: TokenServer, variable: str
) -> None:
    """What was checked is what it is told to open: an empty CLOUDSDK_CONFIG would mean the working
    directory.
    """
    info = external(
        credential_source={"certificate": {"use_default_certificate_config": True}}
    )
    given = {
        "UPLOADER_CREDENTIALS": json.dumps(info),
        "UPLOADER_API_ENDPOINT": server.url,
        "CLOUDSDK_CONFIG": "",
    }
    read, _ = inputs.read(
        {"UPLOADER_TARGET": "play", variable: "/run/config.json", **given}, []
    )
    parsed = credentials.parse(read.record(LoginInputs)).info
    certificate = parsed["credential_source"]["certificate"]
    wanted = (
        "/run/config.json" if variable else "~/.config/gcloud/certificate_config.json"
    )
    assert certificate == {"certificate_config_location": wanted}


def test_a_workforce_user_acts_as_a_service_account(
    server: TokenServer, tmp_path: Path
) -> None:
    """The federated token is exchanged once more where the configuration impersonates."""
    (tmp_path / "token").write_text(token())
    url = f"https://iamcredentials.googleapis.com{BY_IAM}"
    info = external(
        credential_source={"file": str(tmp_path / "token")},
        service_account_impersonation_url=url,
    )
    assert login(server, info).token() == "ya29.impersonated-2-secret"
    assert server.paths() == ["/v1/token", BY_IAM]


def command(tmp_path: Path, program: str) -> dict[str, Any]:
    """A configuration whose token comes from this Python program."""
    path = tmp_path / "command.py"
    path.write_text(program)
    words = shlex.join([sys.executable, str(path)])
    return external(
        credential_source={"executable": {"command": words, "timeout_millis": 5000}}
    )


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import sys; print('printed-secret'); sys.exit(7)", "ended with exit code 7"),
        (
            (
                'print(\'{"version": 1, "success": false, "code": "401", "message": '
                '"printed-secret"}\')'
            ),
            "returned no token",
        ),
        ("print('printed-secret')", "can't be read"),
    ],
    ids=["exit code", "refusal", "nonsense"],
)
def test_what_a_failed_command_printed_is_not_repeated(
    server: TokenServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    words: str,
) -> None:
    """A command may print the very secret it was to exchange."""
    monkeypatch.setenv("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1")
    with pytest.raises(CredentialsError) as caught:
        login(server, command(tmp_path, program)).token()
    assert words in str(caught.value)
    assert "printed-secret" not in str(caught.value)
    assert server.seen == []


@pytest.mark.parametrize(
    "by_link", [False, True], ids=["a file", "a link to a file outside"]
)
def test_a_command_needs_a_configuration_from_outside_the_workspace(
    server: TokenServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_link: bool
) -> None:
    """Whoever may commit chooses the files of the workspace and where its links point; elsewhere it
    is run.
    """
    monkeypatch.setenv("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    answer = {
        "version": 1,
        "success": True,
        "token_type": "urn:ietf:params:oauth:token-type:jwt",
        "id_token": token(),
        "expiration_time": 4_000_000_000,
    }
    outside, inside = tmp_path / "login.json", workspace / "login.json"
    outside.write_text(json.dumps(command(tmp_path, f"print({json.dumps(answer)!r})")))
    if by_link:
        inside.symlink_to(outside)
    else:
        inside.write_bytes(outside.read_bytes())
    github = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(workspace)}
    with pytest.raises(InputError, match="`executable`"):
        login(server, "login.json", **github)
    assert login(server, str(outside), **github).token() == FEDERATED


def test_a_token_file_that_is_replaced_is_checked_again(
    server: TokenServer, tmp_path: Path
) -> None:
    """A file that was right when the run began may be a link to the environment when it is read."""
    file = tmp_path / "token"
    file.write_text(token())
    made = login(server, external(credential_source={"file": str(file)}))
    file.unlink()
    file.symlink_to("/proc/self/environ")
    with pytest.raises(CredentialsError, match="is never opened"):
        made.token()
    assert server.seen == []


SAML = '<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol"/>'


@pytest.mark.parametrize(
    "assertion",
    [
        SAML,
        base64.b64encode(SAML.encode()).decode(),
        base64.urlsafe_b64encode(SAML.encode()).decode().rstrip("="),
    ],
    ids=["XML", "base64", "base64 for URLs"],
)
def test_an_assertion_of_saml_is_a_token(
    server: TokenServer, tmp_path: Path, assertion: str
) -> None:
    """As Active Directory and others issue it. The server of these tests knows web tokens alone,
    and refuses it.
    """
    (tmp_path / "token").write_text(assertion + "\n")
    info = external(
        subject_token_type="urn:ietf:params:oauth:token-type:saml2",
        credential_source={"file": str(tmp_path / "token")},
    )
    with pytest.raises(CredentialsError, match="refused the login"):
        login(server, info).token()
    assert server.seen[-1].fields["subject_token"] == assertion


@pytest.mark.parametrize(
    "content",
    hostile_logins.FILES_WITHOUT_TOKEN.values(),
    ids=hostile_logins.FILES_WITHOUT_TOKEN,
)
def test_what_is_no_token_is_not_sent(
    server: TokenServer, tmp_path: Path, content: str
) -> None:
    """A configuration in the checkout may name any file; what is in it goes to nobody."""
    (tmp_path / "token").write_text(content)
    with pytest.raises(CredentialsError, match="neither a JSON Web Token"):
        login(
            server, external(credential_source={"file": str(tmp_path / "token")})
        ).token()
    assert server.seen == []


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b"x" * (1 << 20) + b"x"],
    ids=["empty", "no text", "too long"],
)
def test_a_file_without_a_token_ends_the_login(
    server: TokenServer, tmp_path: Path, content: bytes
) -> None:
    """The file is named, nothing of it is repeated, and nobody is asked."""
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(CredentialsError, match=r"the file `.*token`"):
        login(
            server, external(credential_source={"file": str(tmp_path / "token")})
        ).token()
    assert server.seen == []


def test_the_runs_own_credential_is_no_token(
    server: TokenServer, tmp_path: Path
) -> None:
    """A configuration in the checkout that names the key beside it does not get that key sent."""
    key = tmp_path / "key.json"
    key.write_text(json.dumps(service_account()))
    info = external(credential_source={"file": str(key)})
    with pytest.raises(InputError, match="is never opened"):
        login(server, info, GOOGLE_APPLICATION_CREDENTIALS=str(key))


@pytest.mark.parametrize(
    "url",
    [
        "https://sts.googleapis.com/v1/token",
        "https://sts.googleapis.com:443/v1/token",
        "https://sts.mtls.googleapis.com/v1/token",
        "https://sts.us-east1.rep.googleapis.com/v1/token",
        "https://sts.europe-west12.googleapis.com/v1/token",
        "https://us-east1-sts.googleapis.com/v1/token",
        "https://us-east1.sts.googleapis.com/v1/token",
        "https://sts-private.p.googleapis.com/v1/token",
        "https://sts.googleapis.com/v1/oauthtoken",
    ],
)
def test_every_form_of_the_token_service_is_accepted(url: str) -> None:
    """Global, mutual TLS, regional and private ones, as Google names them."""
    assert Rules().token_url(url)


@pytest.mark.parametrize(
    ("url", "server"),
    [
        (
            "https://pipelinesghubeus1.actions.githubusercontent.com/x?api-version=2.0",
            "",
        ),
        ("https://run-actions-1.actions.example.ghe.com/x", "https://example.ghe.com"),
        ("https://github.example.com/_services/token", "https://github.example.com"),
    ],
    ids=["github.com", "ghe.com", "a server of one's own"],
)
def test_githubs_token_services_are_known(url: str, server: str) -> None:
    """On github.com, with data residency, and on the job's own server."""
    assert Rules(server=server).identity(url)
    assert not Rules(server="https://github.com").identity("https://github.com/x")


def test_an_endpoint_that_stands_in_for_google_hands_out_its_own_tokens() -> None:
    """A key made for another https host is taken where `api-endpoint` is there, and nowhere
    else.
    """
    assert Rules("https://play.example").token_uri("https://play.example/token")
    assert not Rules("https://play.example").token_uri("https://other.example/token")
    assert not Rules("https://play.example").token_url("https://play.example/v1/token")


def test_the_transport_asks_no_address_that_the_configuration_does_not_name(
    server: TokenServer,
) -> None:
    """A second door: whatever makes google-auth ask elsewhere, nothing is sent."""
    named = Destinations.of([f"{server.url}/token"], below=[f"{server.url}/roles/"])
    request = TokenRequest(HttpClient(), lambda _: None, named)
    for path in (
        "/other",
        "/token/x",
        "/roles",
        "/roles/../token",
        "/roles/%2e%2e/x",
        "/token#x",
    ):
        with pytest.raises(CredentialsError, match="nothing was sent there"):
            request(server.url + path)
    assert server.seen == []
