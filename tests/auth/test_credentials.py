"""Logging in, against real token endpoints on loopback, with real RSA keys, real signatures and no
real waiting.
"""

from __future__ import annotations

import base64
import gc
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.support.token_server import (
    ACCOUNT,
    PROVIDER,
    Ordered,
    TokenServer,
    claims_of,
    pem,
    running,
    service_account,
    signed,
)
from tests.support.transfer_harness import FakeTime
from uploader import inputs
from uploader.auth import credential_source, credentials
from uploader.auth.credentials import ParsedCredentials
from uploader.auth.google import Login
from uploader.cancellation import Cancellation
from uploader.errors import (
    CredentialsError,
    InputError,
    Interrupted,
    ProtocolError,
    TemporaryError,
    UntrustedHost,
    UploaderError,
)
from uploader.files.workspace import Workspace
from uploader.http.client import HttpClient
from uploader.inputs.records import LoginInputs, RunInputs, TransferInputs
from uploader.retry import RetryPolicy
from uploader.state.sealed_store import SEAL_CONTEXT, make_seal_key

PLAY = "https://www.googleapis.com/auth/androidpublisher"
ROOT = Path(__file__).parents[2]
IMPERSONATION = f"/v1/projects/-/serviceAccounts/{ACCOUNT}:generateAccessToken"
USER = {
    "type": "authorized_user",
    "client_id": "client",
    "client_secret": "client-secret-1",
    "refresh_token": "1//refresh-secret-token",
}
GITHUB = {
    "GITHUB_ACTIONS": "true",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "runner-secret-token",
}
KEYLESS = {"workload-identity-provider": PROVIDER, "service-account": ACCOUNT}


@pytest.fixture
def server() -> Iterator[TokenServer]:
    with running() as tokens:
        yield tokens


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without anybody's login; proxies of the machine that runs the tests stay out."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def read_inputs(
    given: object = "", environ: dict[str, str] | None = None, /, **wanted: str
) -> inputs.Inputs:
    """Inputs as the program reads them; keywords in snake case, or a table by `**`."""
    wanted = {"target": "play", **wanted}
    if given:
        wanted["credentials"] = given if isinstance(given, str) else json.dumps(given)
    # accepted only beside an endpoint there
    if "http://127.0.0.1:" in wanted.get("credentials", ""):
        wanted.setdefault("api-endpoint", "http://127.0.0.1:9")
    variables = {
        f"INPUT_{name.upper().replace('_', '-')}": value
        for name, value in wanted.items()
    }
    read, problems = inputs.read({**variables, **(environ or {})}, [])
    assert not problems
    return read


def source_of(read: inputs.Inputs) -> ParsedCredentials:
    """The credentials that the inputs name."""
    return credentials.parse(read.record(LoginInputs))


def login(
    read: inputs.Inputs,
    clock: FakeTime | None = None,
    *,
    on_secret: Callable[[str], object] = lambda _: None,
    report: Callable[[str], None] = lambda _: None,
    cancellation: Cancellation | None = None,
) -> Login:
    """A login on real sockets whose waits only move the clock; the jitter is a quarter of a
    second.
    """
    clock = clock or FakeTime()
    clock.fraction = 0.25
    client, cancellation = HttpClient(), cancellation or Cancellation()
    cancellation.on_cancel(client.abort)
    settings = read.record(TransferInputs)
    policy = RetryPolicy(
        clock.clock(), cancellation, settings.max_retries, settings.retry_deadline
    )
    source = source_of(read)
    asked = read.record(LoginInputs)
    return Login(
        asked, source, [PLAY], client, policy, lambda wait: report(str(wait)), on_secret
    )


def seal_key(read: inputs.Inputs) -> bytes | None:
    """What a run with these inputs seals its journal with."""
    state_key = read.record(RunInputs).state_key
    return make_seal_key(state_key, source_of(read).lasting, login(read).account)


def key_of(server: TokenServer, **changes: Any) -> dict[str, Any]:
    return service_account(f"{server.url}/token", **changes)


def wrong(given: object, **wanted: str) -> str:
    """The complaint about malformed credentials."""
    with pytest.raises(InputError) as caught:
        source_of(read_inputs(given, **wanted))
    return str(caught.value)


# --- what was given


@pytest.mark.parametrize(
    "encode", [base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes]
)
def test_a_key_may_be_json_or_base64_of_json(encode: Callable[[bytes], bytes]) -> None:
    """Standard, URL-safe and wrapped base64 all mean the JSON inside."""
    text = json.dumps(service_account(), indent=2)
    plain = source_of(read_inputs(text))
    encoded = source_of(read_inputs(encode(text.encode()).decode()))
    assert plain.account == encoded.account == ACCOUNT
    assert plain.info == encoded.info


def test_a_key_may_be_a_path(tmp_path: Path) -> None:
    """A relative path starts at the workspace; the file holds JSON, perhaps with a byte order mark,
    or its base64.
    """
    text = json.dumps(service_account())
    for content in (
        text.encode(),
        b"\xef\xbb\xbf" + text.encode(),
        base64.b64encode(text.encode()),
    ):
        (tmp_path / "key.json").write_bytes(content)
        absolute = source_of(read_inputs(str(tmp_path / "key.json")))
        environ = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(tmp_path)}
        relative = source_of(read_inputs("key.json", environ))
        assert absolute.info == relative.info == service_account()


def test_the_environment_names_a_file_when_nothing_is_given(tmp_path: Path) -> None:
    """GOOGLE_APPLICATION_CREDENTIALS counts after the inputs; where its file is not there, the
    variable is named.
    """
    path = tmp_path / "key.json"
    environ = {"GOOGLE_APPLICATION_CREDENTIALS": str(path)}
    with pytest.raises(
        InputError,
        match=rf"GOOGLE_APPLICATION_CREDENTIALS: there is no file `{path}`\.",
    ):
        source_of(read_inputs("", environ))
    path.write_text(json.dumps(service_account()))
    assert source_of(read_inputs("", environ)).account == ACCOUNT
    assert source_of(read_inputs(USER, environ)).kind == "authorized_user"


def test_the_login_of_gcloud_is_found(home: Path) -> None:
    """A user's application default credentials are held to the same checks as any other."""
    folder = home / ".config" / "gcloud"
    folder.mkdir(parents=True)
    (folder / "application_default_credentials.json").write_text(json.dumps(USER))
    assert source_of(read_inputs()).kind == "authorized_user"
    (folder / "application_default_credentials.json").write_text("{")
    with pytest.raises(
        InputError, match="application default credentials: only the first line"
    ):
        source_of(read_inputs())


def test_another_folder_of_gcloud_is_the_only_one(home: Path) -> None:
    """With CLOUDSDK_CONFIG the run acts as whoever has logged in there, or as the machine; never as
    the home's user.
    """
    name = "application_default_credentials.json"
    folder, other = home / ".config" / "gcloud", home / "other"
    folder.mkdir(parents=True)
    other.mkdir()
    (folder / name).write_text(json.dumps(USER))
    read = read_inputs("", {"CLOUDSDK_CONFIG": str(other)})
    asked = read.record(LoginInputs)
    assert source_of(read).kind == "default"
    assert Workspace.of_login(asked).credentials == [folder / name]
    (other / name).write_text(json.dumps(service_account()))
    assert source_of(read).account == ACCOUNT
    assert set(Workspace.of_login(asked).credentials) == {folder / name, other / name}


@pytest.mark.parametrize("given", [None, KEYLESS], ids=["no login", "keyless"])
def test_the_workspace_itself_is_no_credential(given: dict[str, str] | None) -> None:
    """An input that is not given names no file, so its folders may be listed."""
    read = read_inputs("", **(given or {}))
    assert not Workspace.of(read).access().objection(read.platform.workspace)


@pytest.mark.parametrize("place", ["the workspace", "the working directory"])
def test_a_relative_folder_of_gcloud_is_below_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """It is looked for where it is read: a folder of that name elsewhere is none."""
    workspace, directory = tmp_path / "workspace", tmp_path / "directory"
    workspace.mkdir()
    directory.mkdir()
    monkeypatch.chdir(directory)
    folder = (workspace if place == "the workspace" else directory) / "gcloud"
    folder.mkdir()
    (folder / "application_default_credentials.json").write_text(json.dumps(USER))
    environ = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_WORKSPACE": str(workspace),
        "CLOUDSDK_CONFIG": "gcloud",
    }
    found = source_of(read_inputs("", environ))
    assert found.kind == ("authorized_user" if place == "the workspace" else "default")


@pytest.mark.parametrize(
    "damage",
    [
        lambda key: key.replace("\n", "\\n"),
        lambda key: key.replace("\n", "\\\\n"),
        lambda key: key.replace("\n", "\r\n"),
        lambda key: key.replace("\n", " "),
        lambda key: key.strip(),
    ],
    ids=[
        "backslash and n",
        "two backslashes and n",
        "CRLF",
        "blanks",
        "no last line break",
    ],
)
def test_a_key_that_a_shell_has_mangled_is_repaired(
    damage: Callable[[str], str],
) -> None:
    """Line breaks mean nothing in PEM: written as backslash and n, as blanks or as CRLF they leave
    no doubt.
    """
    mangled = service_account(private_key=damage(pem()))
    assert source_of(read_inputs(mangled)).info == service_account()


def test_json_whose_line_breaks_were_expanded_is_accepted() -> None:
    r"""`echo -e` turns the key's \\n into real line breaks, which strict JSON forbids."""
    text = json.dumps(service_account()).replace("\\n", "\n")
    assert source_of(read_inputs(text)).info == service_account()


def other_key(
    curve: bool = False,
    password: bytes = b"",
    form: PrivateFormat = PrivateFormat.PKCS8,
) -> str:
    key = (
        ec.generate_private_key(ec.SECP256R1())
        if curve
        else rsa.generate_private_key(65537, 2048)
    )
    protection = BestAvailableEncryption(password) if password else NoEncryption()
    return key.private_bytes(Encoding.PEM, form, protection).decode()


def short_key() -> str:
    return (
        Ed25519PrivateKey.generate()
        .private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        .decode()
    )


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("no/such/key.json", f"there is no file `no/such/key.json` in {Path.cwd()}."),
        ("Setup.cfg/key.json", "there is no file `Setup.cfg/key.json` in "),
        (f"{'x' * 260}/../key.json", "nor a file that exists"),
        ("no/such/key", "nor a file that exists"),
        ("/", "nor a file that exists"),
        ("/proc/self/mem", "`/proc/self/mem` can't be read: "),
        ("{", "only the first line of a JSON file"),
        ("[1]", "not an object"),
        ('"text"', "not an object"),
        ("[" * 100_000, "JSON that is damaged"),
        ("{" * 100_000, "JSON that is damaged"),
        (json.dumps(service_account())[:-40], "JSON that is cut off"),
        (
            json.dumps(service_account())[:-1] + ",}",
            "JSON that is damaged at line 1, column ",
        ),
        (pem(), "a private key by itself"),
        ("{}", "`type` is missing"),
        ({"type": "gdch_service_account"}, "not one of `service_account`"),
        ({"installed": {"client_id": "x"}}, "an OAuth client"),
        (
            {"project_info": {}, "client": []},
            "this is google-services.json, not a credential",
        ),
        (
            {"type": "service_account"},
            "fields `client_email`, `private_key`, `token_uri`",
        ),
        (service_account(client_email=5), "field `client_email`"),
        (
            service_account(client_email="uploader"),
            "`client_email` is not an e-mail address",
        ),
        (service_account(private_key="secret-part"), "BEGIN line"),
        (service_account(private_key=pem()[:900] + pem()[-27:]), "`private_key` is"),
        (
            service_account(private_key=pem().replace("MII", "M!I", 1)),
            "`private_key` is cut off or damaged",
        ),
        (service_account(private_key=other_key(curve=True)), "is not an RSA key"),
        (
            service_account(
                private_key=other_key(curve=True, form=PrivateFormat.TraditionalOpenSSL)
            ),
            "not an RSA key",
        ),
        (
            service_account(private_key=other_key(form=PrivateFormat.OpenSSH)),
            "is not an RSA key",
        ),
        (service_account(private_key=short_key()), "is not an RSA key"),
        (service_account(private_key=other_key(password=b"x")), "passphrase"),
        (
            service_account("http://oauth2.googleapis.com/token"),
            "`token_uri` must be Google's",
        ),
        (
            service_account("https://user@oauth2.googleapis.com/"),
            "`token_uri` must be Google's",
        ),
        (service_account("https://[oauth2/token"), "`token_uri` must be Google's"),
        (service_account("file:///etc/passwd"), "`token_uri` must be Google's"),
        (service_account(universe_domain="example.goog"), "`universe_domain`"),
        ({**USER, "refresh_token": ""}, "field `refresh_token`"),
        ({"type": "external_account_authorized_user"}, "`refresh_token`, `token_url`"),
        ({"type": "impersonated_service_account"}, "`source_credentials`"),
    ],
)
def test_malformed_credentials_are_refused_by_field(
    given: object, complaint: str
) -> None:
    """The complaint names the input and the field."""
    assert complaint in wrong(given)
    assert wrong(given).startswith(
        ("credentials: ", "2 mistakes in credentials.", "3 mistakes in credentials.")
    )


def external(**changes: Any) -> dict[str, Any]:
    return {
        "type": "external_account",
        "audience": f"//iam.googleapis.com/{PROVIDER}",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "https://sts.googleapis.com/v1/token",
        "credential_source": {"file": "/run/token"},
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (
            {"token_url": "https://sts.googleapis.com.evil.example/v1/token"},
            "`token_url` must be Google's security token service",
        ),
        (
            {"token_url": "http://sts.googleapis.com/v1/token"},
            "`token_url` must be Google's security token service",
        ),
        (
            {"token_url": "https://evil.example\\@sts.googleapis.com/"},
            "`token_url` must be Google's security token service",
        ),
        (
            {"service_account_impersonation_url": "https://evil.example/x"},
            "`service_account_impersonation_url` must be `https://iamcredentials",
        ),
        (
            {
                "service_account_impersonation_url": "https://iamcredentials.googleapis.com/"
            },
            ":generateAccessToken",
        ),
        ({"credential_source": None}, "`credential_source` must be an object"),
        (
            {"credential_source": {"file": "/dev/zero"}},
            "the `file` of `credential_source` is not a regular file",
        ),
    ],
)
def test_a_federated_configuration_sends_secrets_to_google_alone(
    changes: dict[str, Any], complaint: str
) -> None:
    """Its token and impersonation URLs are https on googleapis.com or on loopback; look-alikes are
    refused.
    """
    assert complaint in wrong(external(**changes))


AWS = {
    "environment_id": "aws1",
    "region_url": "http://169.254.169.254/latest/meta-data/placement/availability-zone",
    "url": "http://169.254.169.254/latest/meta-data/iam/security-credentials",
    "imdsv2_session_token_url": "http://169.254.169.254/latest/api/token",
    "regional_cred_verification_url": "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
}
TRICKS = (
    "http://evil.example/",
    "http://169.254.evil.example/",
    "http://169.254.169.254@evil.example/",
    "https://user@sts.amazonaws.com/",
    "https://evil.example\\@169.254.169.254/",
    "http://[fd00:ec2::255]/",
    "http://2852039166/",
    "http://metadata.google.internal.evil.example/",
    "file:///etc/passwd",
    "//evil.example/",
    "",
    ["https://evil.example/"],
)


@pytest.mark.parametrize("name", [name for name in AWS if name.endswith("url")])
@pytest.mark.parametrize("url", TRICKS, ids=str)
def test_an_aws_source_is_asked_at_its_metadata_server_alone(
    name: str, url: object
) -> None:
    """Every URL of the source is the documented one; AWS's region and session token are no
    exceptions.
    """
    aws = external(subject_token_type=credential_source.AWS, credential_source=AWS)
    assert source_of(read_inputs(aws)).kind == "external_account"
    assert f"`{name}` of `credential_source` must be" in wrong(
        {**aws, "credential_source": {**AWS, name: url}}
    )


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (service_account(), "auth_uri"),
        (service_account(), "client_x509_cert_url"),
        (external(), "token_info_url"),
        (
            {
                **USER,
                "type": "external_account_authorized_user",
                "token_url": "https://sts.googleapis.com/v1/oauthtoken",
            },
            "revoke_url",
        ),
    ],
)
def test_every_url_of_a_configuration_is_held_to_the_rule(
    given: dict[str, Any], name: str
) -> None:
    """A URL that no present login asks is no hiding place, either; in clear only this machine may
    be named.
    """
    for url in (
        "http://evil.example/",
        "https://user:password@evil.example/",
        "http://169.254.169.254/",
    ):
        assert f"`{name}` must be https" in wrong({**given, name: url})
    for allowed in ("https://accounts.example/x", "http://127.0.0.1:1/x", None):
        assert source_of(read_inputs({**given, name: allowed})).kind == given["type"]


def test_a_nested_configuration_is_checked_too() -> None:
    """An impersonating configuration names the mistakes of the credential inside it."""
    outer = {
        "type": "impersonated_service_account",
        "service_account_impersonation_url": f"https://iamcredentials.googleapis.com{IMPERSONATION}",
        "source_credentials": {"type": "service_account", "client_email": ACCOUNT},
    }
    assert "in `source_credentials`: the fields `private_key`, `token_uri`" in wrong(
        outer
    )
    assert "in `source_credentials`: the field `type`" in wrong(
        {**outer, "source_credentials": outer}
    )


@pytest.mark.parametrize(
    ("given", "wanted", "name"),
    [
        (service_account(), KEYLESS, "credentials"),
        (service_account(), {"service-account": ACCOUNT}, "service-account"),
        ("", {"workload-identity-provider": PROVIDER}, "service-account"),
        (USER, {"impersonate-user": "a@example.com"}, "impersonate-user"),
        (external(), {"impersonate-user": "a@example.com"}, "impersonate-user"),
        ("", {"impersonate-user": "a@example.com"}, "impersonate-user"),
    ],
)
def test_inputs_that_contradict_one_another_are_refused(
    given: object, wanted: dict[str, str], name: str
) -> None:
    """Two credentials at once, half of a keyless login, a user to act for without a service
    account.
    """
    assert wrong(given, **wanted).startswith(f"{name}: ")


def said_of(text: str) -> str:
    """All that anybody could see of these credentials, whether they are accepted or not."""
    try:
        return repr(source_of(read_inputs(text)))
    except InputError as error:
        return str(error) + repr(error) + repr(error.problems) + repr(error.__context__)


@pytest.mark.slow
@given(cut=st.integers(1, 2400), flip=st.integers(0, 255))
def test_no_complaint_repeats_a_part_of_the_key(cut: int, flip: int) -> None:
    """However a key is cut or damaged: what is said about it holds no eight characters of it."""
    text = json.dumps(service_account())
    damaged = text[: cut % len(text)] + chr(flip + 32) + text[cut % len(text) + 9 :]
    secret = pem().replace("\n", "")[27:-25]
    rest = secret[cut % len(secret) :]
    said = "".join(map(said_of, ("{" + damaged.lstrip("{"), damaged, rest, f"/{rest}")))
    assert not any(secret[at : at + 8] in said for at in range(len(secret) - 8))


def test_a_key_that_only_looks_whole_is_refused_before_anything_is_sent(
    server: TokenServer,
) -> None:
    """Right in shape and length, wrong inside: found when the login is made."""
    lines = pem().splitlines()
    lines[5:9] = ["A" * 64] * 4
    with pytest.raises(InputError, match="credentials: `private_key` can't be read"):
        login(read_inputs(key_of(server, private_key="\n".join(lines))))
    assert server.seen == []


# --- tokens


def test_a_service_account_signs_an_assertion_and_exchanges_it(
    server: TokenServer,
) -> None:
    """RS256 over issuer, audience, scope and an hour at most, checked by the endpoint; nothing is
    sent before that.
    """
    made = login(read_inputs(key_of(server)))
    assert (server.seen, made.account) == ([], ACCOUNT)
    assert made.token() == "ya29.access-1-secret"
    claims = claims_of(server.seen[0].fields["assertion"])
    assert (claims["iss"], claims["scope"]) == (ACCOUNT, PLAY)
    assert "sub" not in claims


def test_a_refresh_token_is_exchanged_at_its_own_endpoint(server: TokenServer) -> None:
    """An authorized_user configuration; the scopes are those that the user once granted."""
    made = login(
        read_inputs(
            {**USER, "token_uri": f"{server.url}/token", "quota_project_id": "billed"}
        )
    )
    assert made.token() == "ya29.access-1-secret"
    assert "scope" not in server.seen[0].fields
    assert made.quota_project == "billed"


def test_an_impersonating_configuration_takes_two_steps(server: TokenServer) -> None:
    """The nested key logs in for IAM alone, then IAM hands out the token with the scopes asked
    for.
    """
    outer = {
        "type": "impersonated_service_account",
        "service_account_impersonation_url": server.url + IMPERSONATION,
        "source_credentials": key_of(server),
    }
    made = login(read_inputs(outer))
    assert made.token() == "ya29.impersonated-2-secret"
    assert server.seen[1].fields["scope"] == [PLAY]
    assert seal_key(read_inputs(outer)) == seal_key(read_inputs(key_of(server)))


def test_a_token_is_renewed_ahead_of_time(server: TokenServer) -> None:
    """Fetched once, handed out while enough of it is left, fetched anew when less than
    `min_seconds` remain.
    """
    clock = FakeTime()
    made = login(read_inputs(key_of(server)), clock)
    assert made.token() == made.token() == "ya29.access-1-secret"
    clock.now += 3200
    assert made.token() == "ya29.access-1-secret"
    assert made.token(min_seconds=500) == "ya29.access-2-secret"
    clock.now += 3400
    assert made.token() == "ya29.access-3-secret"
    assert len(server.seen) == 3


def test_a_short_lived_token_is_not_fetched_for_each_request(
    server: TokenServer,
) -> None:
    """Where no token lives as long as wanted, half its life is the measure."""
    server.lifetime = 60
    clock = FakeTime()
    made = login(read_inputs(key_of(server)), clock)
    assert [made.token() for _ in range(3)] == ["ya29.access-1-secret"] * 3
    clock.now += 31
    assert made.token() == "ya29.access-2-secret"


def test_many_threads_share_one_fetch(server: TokenServer) -> None:
    """Eight uploads that start together log in once."""
    made = login(read_inputs(key_of(server)))
    ready = threading.Barrier(8)
    got: list[str] = []

    def ask() -> None:
        ready.wait()
        got.append(made.token())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == ["ya29.access-1-secret"] * 8
    assert server.paths() == ["/token"]


# --- failures


def test_a_failing_endpoint_is_asked_again_on_the_documented_schedule(
    server: TokenServer,
) -> None:
    """5xx, 429, a broken connection and OAuth's own "try again" are waited out: 2^n s and up to
    1000 ms.
    """
    later = Ordered(400, b'{"error": "temporarily_unavailable"}')
    server.order(
        Ordered(503), Ordered(0), Ordered(429, headers={"Retry-After": "7"}), later
    )
    clock = FakeTime()
    assert login(read_inputs(key_of(server)), clock).token() == "ya29.access-1-secret"
    assert clock.naps == [1.25, 2.25, 7.0, 8.25]


def test_the_time_of_a_run_begins_with_its_login(server: TokenServer) -> None:
    """A renewal an hour later has no time of its own: what `retry-deadline` left is the run's."""
    clock = FakeTime()
    made = login(read_inputs(key_of(server), **{"retry-deadline": "30m"}), clock)
    made.token()
    clock.now += 1799.0
    server.order(Ordered(500))
    with pytest.raises(TemporaryError, match=r"past the retry deadline \(1800 s\)"):
        made.renew()
    assert clock.naps == []


def test_a_run_that_is_asked_to_end_ends_its_login(server: TokenServer) -> None:
    """The request that is under way is broken off, and no other follows."""
    cancellation = Cancellation()
    made = login(read_inputs(key_of(server)), cancellation=cancellation)
    server.before_answer = lambda: cancellation.cancel(signal.SIGTERM)
    with pytest.raises(Interrupted):
        made.token()
    with pytest.raises(Interrupted):
        made.renew()
    assert server.paths() == ["/token"]


@pytest.mark.parametrize(
    ("status", "body", "cause"),
    [
        (
            400,
            {"error": "invalid_grant", "error_description": "Invalid JWT Signature."},
            "deleted or disabled",
        ),
        (
            400,
            {
                "error": "invalid_grant",
                "error_description": "Invalid JWT: Token must be a short-lived token (60 minutes) "
                "and in a reasonable timeframe. Check your iat and exp values in the JWT claim.",
            },
            "clock is wrong",
        ),
        (
            401,
            {
                "error": "unauthorized_client",
                "error_description": "Client is unauthorized to retrieve access tokens using this "
                "method, or client not authorized for any of the scopes requested.",
            },
            "delegation is not set up",
        ),
        (
            400,
            {"error": "invalid_grant", "error_description": "Invalid email or User ID"},
            "not a user of the domain",
        ),
        (
            404,
            {
                "error": {
                    "code": 404,
                    "message": "Not found; Gaia id not found for email a@b.c",
                }
            },
            "does not exist",
        ),
        (
            403,
            {
                "error": {
                    "code": 403,
                    "message": "Permission 'iam.serviceAccounts.getAccessToken' denied",
                }
            },
            "may not act",
        ),
        (404, {}, ""),
    ],
)
def test_a_refusal_keeps_googles_words_and_adds_the_cause(
    server: TokenServer, status: int, body: dict[str, Any], cause: str
) -> None:
    """Exit 3, asked once: what Google said, the likely cause, the cure."""
    server.order(Ordered(status, json.dumps(body).encode()))
    clock = FakeTime()
    with pytest.raises(CredentialsError) as caught:
        login(read_inputs(key_of(server)), clock).token()
    error = body.get("error", "")
    words = (
        error["message"]
        if isinstance(error, dict)
        else body.get("error_description", f"HTTP {status}")
    )
    assert words.rstrip(".") in caught.value.what
    assert cause in caught.value.cause
    assert caught.value.hint
    assert clock.naps == []


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (Ordered(200, b'{"access_token": 5, "expires_in": 5}'), ProtocolError),
        (
            Ordered(200, b'{"access_token": "a\\r\\nX-Evil: 1", "expires_in": 5}'),
            ProtocolError,
        ),
        (
            Ordered(200, b'{"access_token": "abcdefgh", "expires_in": "soon"}'),
            ProtocolError,
        ),
        (
            Ordered(200, b'{"access_token": "abcdefgh", "expires_in": 1e99}'),
            ProtocolError,
        ),
        (
            Ordered(200, b'{"access_token": "abcdefgh", "expires_in": NaN}'),
            ProtocolError,
        ),
        (
            Ordered(200, b'{"access_token": "abcdefgh", "expires_in": -5}'),
            ProtocolError,
        ),
        (Ordered(200, b"x" * 3_000_000), ProtocolError),
        (Ordered(302, headers={"Location": "http://evil.example/"}), UntrustedHost),
        (Ordered(308, headers={"Location": "http://evil.example/"}), UntrustedHost),
        (Ordered(400, b"<html>" + b"x" * 100_000), CredentialsError),
        (Ordered(403, b"\xff\xfe"), CredentialsError),
    ],
)
def test_an_answer_that_is_no_token_ends_in_one_sentence(
    server: TokenServer, response: Ordered, kind: type[UploaderError]
) -> None:
    """HTML of a captive portal, other JSON, nonsense, megabytes, a redirect: an error of ours, none
    of it repeated.
    """
    # what other tests left must not be finalized in the depth of nested JSON, where nothing can be
    # called
    gc.collect()
    server.order(response)
    with pytest.raises(kind) as caught:
        login(read_inputs(key_of(server))).token()
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)
    assert "hotel" not in str(caught.value)
    assert server.paths() == ["/token"]


NO_TOKENS = [
    b"<html>Please log in to the hotel</html>",
    b"",
    b"[1]",
    b"[" * 200_000,
    b"\xff\xfe",
    b"{}",
    b'{"access_token": "", "expires_in": 5}',
]


@pytest.mark.parametrize("body", NO_TOKENS, ids=lambda body: body[:20])
def test_an_answer_that_is_empty_or_a_page_is_a_broken_connection(
    server: TokenServer, body: bytes
) -> None:
    """It is asked again on the schedule; what goes on so ends with 75, and none of it is
    repeated.
    """
    gc.collect()  # as above
    clock = FakeTime()
    server.order(Ordered(200, body))
    assert login(read_inputs(key_of(server)), clock).token()
    assert len(clock.naps) == 1
    server.order(*[Ordered(200, body)] * 6)
    with pytest.raises(TemporaryError, match="no access token from 127") as caught:
        login(read_inputs(key_of(server)), clock).token()
    assert (caught.value.code, len(clock.naps)) == ("unreadable-answer", 6)
    assert "hotel" not in str(caught.value)


# --- keyless


def keyless(server: TokenServer, **wanted: str) -> inputs.Inputs:
    environ = {
        **GITHUB,
        "ACTIONS_ID_TOKEN_REQUEST_URL": f"{server.url}/oidc?api-version=2.0",
    }
    return read_inputs("", environ, **{**KEYLESS, "api-endpoint": server.url, **wanted})


def test_a_pool_by_itself_skips_the_impersonation(server: TokenServer) -> None:
    """Without `service-account` the federated token is the token, with the scopes asked for."""
    made = login(
        keyless(server, target="storage.objects.insert", **{"service-account": ""})
    )
    assert made.token() == "ya29.federated-1-secret"
    assert server.seen[1].fields["scope"] == PLAY


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"GITHUB_ACTIONS": "true"}, "The job has no permission `id-token: write`."),
        ({"GITLAB_CI": "true"}, "UPLOADER_ID_TOKEN is not set"),
        (
            {**GITHUB, "ACTIONS_ID_TOKEN_REQUEST_URL": "http://evil.example/"},
            "not https on a host below actions.githubusercontent.com",
        ),
    ],
)
def test_a_job_without_an_oidc_token_is_told_what_to_permit(
    environ: dict[str, str], words: str
) -> None:
    """Exit 3 before anything is sent, with the line that is missing in the workflow."""
    with pytest.raises(CredentialsError) as caught:
        login(read_inputs("", environ, **KEYLESS))
    assert words in str(caught.value)
    assert ("id-token: write" in caught.value.hint) == ("GITHUB_ACTIONS" in environ)


def test_githubs_refusal_is_explained(server: TokenServer) -> None:
    """A job whose permission ended gets the same cure; an answer without a token is a protocol
    error.
    """
    server.order(Ordered(403, b'{"message": "no"}'), Ordered(200, b'{"count": 1}'))
    with pytest.raises(CredentialsError, match="id-token: write"):
        login(keyless(server)).token()
    with pytest.raises(ProtocolError, match="GitHub's OIDC endpoint"):
        login(keyless(server)).token()


def test_a_machine_without_any_login_is_told_how_to_give_one(
    server: TokenServer,
) -> None:
    """The last resort asks a metadata server once. If it is not Google's, the run ends with exit
    code 3 and the remedy.
    """
    server.order(Ordered(404, b"not found"))
    environ = {"GCE_METADATA_IP": server.url.removeprefix("http://")}
    clock = FakeTime()
    with pytest.raises(CredentialsError, match="There are no credentials") as caught:
        login(read_inputs("", environ, api_endpoint=server.url), clock).token()
    assert caught.value.exit_code == 3
    assert "Set `credentials`, or for a keyless login" in str(caught.value)
    assert clock.naps == []
    assert server.paths() == ["/"]


def test_a_machine_of_google_logs_in_by_its_metadata_server(
    server: TokenServer,
) -> None:
    """In a process of its own, since google-auth reads the server's address when it is imported."""
    server.order(Ordered(200, b"ok", {"Metadata-Flavor": "Google"}))
    host = server.url.removeprefix("http://")
    program = (
        "import os, time\nfrom uploader import cancellation, clock, inputs, retry\nfrom "
        "uploader.auth import google, credentials\nfrom uploader.http.client import "
        "HttpClient\nfrom uploader.inputs.records import LoginInputs\ngiven, _ = inputs.read("
        "{**os.environ, 'UPLOADER_TARGET': 'play'}, [])\nread = given.record(LoginInputs)\npolicy "
        "= retry.RetryPolicy(clock.Clock(time.sleep), cancellation.Cancellation(), 5, 60.0)\nlogin "
        "= google.Login(read, credentials.parse(read), ['scope'], HttpClient(), policy)\n"
        "print(login.token(), login.account)\n"
    )
    environ = {
        **os.environ,
        "GCE_METADATA_HOST": host,
        "GCE_METADATA_IP": host,
        "UPLOADER_API_ENDPOINT": server.url,
    }
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=environ,
    )
    assert run.stdout == "ya29.machine-1-secret application default credentials\n"
    assert run.stderr == ""


def test_a_command_brings_a_token_only_where_google_auth_allows_it(
    server: TokenServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The opt-in is the environment's, never the configuration's own."""
    response = {
        "version": 1,
        "success": True,
        "token_type": "urn:ietf:params:oauth:token-type:jwt",
        "id_token": signed({"aud": f"https://iam.googleapis.com/{PROVIDER}"}),
        "expiration_time": 4_000_000_000,
    }
    (tmp_path / "answer.json").write_text(json.dumps(response))
    command = {"command": f"cat {tmp_path / 'answer.json'}", "timeout_millis": 5000}
    read = read_inputs(
        external(credential_source={"executable": command}),
        **{"api-endpoint": server.url},
    )
    with pytest.raises(
        CredentialsError, match="GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES"
    ):
        login(read).token()
    assert server.seen == []
    monkeypatch.setenv("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1")
    assert login(read).token() == "ya29.federated-1-secret"


# --- secrets


def test_every_secret_is_named_before_it_can_be_seen(server: TokenServer) -> None:
    """The key, assertions and tokens as they come; the callback hears each one once."""
    heard: list[str] = []
    made = login(read_inputs(key_of(server)), on_secret=heard.append)
    assert pem() in heard
    token = made.token()
    assert token in heard
    assert server.seen[0].fields["assertion"] in heard
    assert len(heard) == len(set(heard))


def test_nothing_shows_a_secret(server: TokenServer) -> None:
    """Neither the representations nor an error whose server repeats what it was sent."""
    read = read_inputs({**USER, "token_uri": f"{server.url}/token"})
    source, made = source_of(read), login(read)
    echo = {
        "error": "invalid_grant",
        "error_description": "bad 1//refresh-secret-token and client-secret-1",
    }
    server.order(Ordered(400, json.dumps(echo).encode()))
    with pytest.raises(CredentialsError) as caught:
        made.token()
    said = (
        repr(source)
        + repr(made)
        + str(caught.value)
        + repr(caught.value.__context__)
        + repr(caught.value.__cause__)
    )
    assert "secret-token" not in said
    assert "client-secret-1" not in said
    assert "bad *** and ***" in said


def test_the_seal_key_follows_the_lasting_secret(server: TokenServer) -> None:
    """The same for the same key however it was given, another for another key, the user's own with
    `state-key`.
    """
    key = key_of(server)
    encoded = base64.b64encode(json.dumps(key).encode()).decode()
    plain, same = (
        seal_key(read_inputs(key)),
        seal_key(read_inputs(encoded, **{"api-endpoint": "http://127.0.0.1:9"})),
    )
    other = seal_key(read_inputs(service_account(private_key=other_key())))
    own = seal_key(keyless(server, **{"state-key": "x" * 20}))
    assert plain == same
    assert plain is not None
    assert own is not None
    assert len({plain, other, own, seal_key(read_inputs(USER))}) == 4


def test_a_state_key_is_stretched(server: TokenServer) -> None:
    """Each guess costs scrypt with 32 MiB, and what was learnt of one account is worth nothing for
    another.
    """
    key = "correct horse battery"
    first = keyless(server, **{"state-key": key})
    salt = SEAL_CONTEXT + login(first).account.encode()
    stretched = hashlib.scrypt(
        key.encode(), salt=salt, n=2**15, r=8, p=1, maxmem=2**26, dklen=32
    )
    assert seal_key(first) == stretched
    another = key_of(server) | {
        "client_email": "other@example-project.iam.gserviceaccount.com"
    }
    assert seal_key(read_inputs(another, **{"state-key": key})) not in (stretched, None)
