"""Credential configurations and variables by which somebody else would make a run send things
elsewhere.

Each has a name, what is given, and the field that the complaint names. RECORDER stands for a server
that nobody may talk to, as host and port on loopback.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.token_server import ACCOUNT, PROVIDER, pem, service_account
from uploader.auth.credential_source import AWS

RECORDER = "127.0.0.1:1"
BY_IAM = f"/v1/projects/-/serviceAccounts/{ACCOUNT}:generateAccessToken"
METADATA = "http://169.254.169.254"
AWS_SOURCE = {
    "environment_id": "aws1",
    "region_url": f"{METADATA}/latest/meta-data/placement/availability-zone",
    "url": f"{METADATA}/latest/meta-data/iam/security-credentials",
    "imdsv2_session_token_url": f"{METADATA}/latest/api/token",
    "regional_cred_verification_url": "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
}
USER = {
    "type": "authorized_user",
    "client_id": "client",
    "client_secret": "secret-1",
    "refresh_token": "1//secret-2",
}


@dataclass(frozen=True)
class Hostile:
    """One attempt: a configuration, variables, or both; `files` are made in the workspace first.

    `kind` is the CI system whose job it is.
    """

    name: str
    names: str
    info: Mapping[str, Any] | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    kind: str = "github"

    def given(self) -> dict[str, str]:
        """The inputs of the run."""
        text = json.dumps(self.info) if self.info else ""
        return {"credentials": text, **self.inputs}


def external(**changes: Any) -> dict[str, Any]:
    """A federated configuration that is right but for the changes."""
    return {
        "type": "external_account",
        "audience": f"//iam.googleapis.com/{PROVIDER}",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "https://sts.googleapis.com/v1/token",
        "credential_source": {"file": "token.jwt"},
        **changes,
    }


FILES_WITHOUT_TOKEN = {  # what an earlier job or the machine may have left beside the token
    "key": json.dumps(service_account()),
    "key-in-base64": base64.b64encode(json.dumps(service_account()).encode()).decode(),
    "private-key": pem(),
    "user": json.dumps(USER),
    "client": json.dumps(
        {"installed": {"client_id": "1.apps", "client_secret": "GOCSPX-secret"}}
    ),
    "netrc": "machine github.com login ann password hunter2\n",
    "aws": "[default]\naws_access_key_id = AKIA\naws_secret_access_key = "
    + "a" * 40
    + "\n",
    "npmrc": "//registry.npmjs.org/:_authToken=npm_0123\n",
    "pypirc": "[pypi]\nusername = __token__\npassword = pypi-0123\n",
    "docker": json.dumps({"auths": {"ghcr.io": {"auth": "YW5uOmh1bnRlcjI="}}}),
    "signing": "storePassword=hunter2\nkeyAlias=upload\n",
    "git": "https://ann:hunter2@github.com\n",
    "github": "github.com:\n  oauth_token: gho_0123\n",
    "variables": "TOKEN=hunter2\n",
    "one-word": "ghp_0123456789abcdef",
    "three-words": "www.example.com",
}


TOKEN_URLS = {
    "another-host": "https://evil.example/v1/token",
    "a-bucket": "https://storage.googleapis.com/evil/v1/token",
    "a-bucket-with-a-host": "https://evil.storage.googleapis.com/v1/token",
    "a-bucket-named-sts": "https://sts.storage.googleapis.com/v1/token",
    "an-upload-to-a-bucket": "https://storage.googleapis.com/upload/storage/v1/b/evil/o?uploadType=media&name=x",
    "a-form": "https://script.googleapis.com/v1/token",
    "another-service": "https://logging.googleapis.com/v1/token",
    "a-function": "https://sts.cloudfunctions.net/v1/token",
    "all-of-google": "https://googleapis.com/v1/token",
    "another-path": "https://sts.googleapis.com/v1/other",
    "no-path": "https://sts.googleapis.com",
    "a-longer-path": "https://sts.googleapis.com/v1/token/x",
    "dots": "https://sts.googleapis.com/v1/../v1/token",
    "an-encoded-path": "https://sts.googleapis.com/v1%2ftoken",
    "a-query": "https://sts.googleapis.com/v1/token?alt=x",
    "an-empty-query": "https://sts.googleapis.com/v1/token?",
    "a-fragment": "https://sts.googleapis.com/v1/token#x",
    "a-user": "https://sts.googleapis.com@evil.example/v1/token",
    "a-password": "https://user:password@sts.googleapis.com/v1/token",
    "a-port": "https://sts.googleapis.com:8443/v1/token",
    "in-clear": "http://sts.googleapis.com/v1/token",
    "a-look-alike": "https://sts.googleapis.com.evil.example/v1/token",
    "a-dash": "https://evil-sts.googleapis.com/v1/token",
    "a-dot-too-many": "https://sts.evil.us-east1.googleapis.com/v1/token",
    "a-trailing-dot": "https://sts.googleapis.com./v1/token",
    "a-backslash": "https://evil.example\\@sts.googleapis.com/v1/token",
    "a-line-break": "https://sts.googleapis.com/v1/token\r\nX: 1",
    "not-ascii": "https://sts.g\u043e\u043egleapis.com/v1/token",
    "a-private-name": "https://sts.p.googleapis.com/v1/token",
    "a-region-that-is-none": "https://sts.evil.rep.googleapis.com/v1/token",
    "loopback": f"http://{RECORDER}/v1/token",
    "localhost": "http://localhost:1/v1/token",
    "the-metadata-server": f"{METADATA}/v1/token",
    "a-file": "file:///etc/passwd",
    "a-list": ["https://sts.googleapis.com/v1/token"],
}
IMPERSONATIONS = {
    "another-host": f"https://evil.example{BY_IAM}",
    "a-bucket": f"https://storage.googleapis.com{BY_IAM}",
    "another-service": f"https://sts.googleapis.com{BY_IAM}",
    "a-prefix": f"https://iamcredentials.googleapis.com/evil{BY_IAM}",
    "a-query": f"https://iamcredentials.googleapis.com{BY_IAM}?x=:generateAccessToken",
    "a-fragment": f"https://iamcredentials.googleapis.com{BY_IAM}#x",
    "another-project": "https://iamcredentials.googleapis.com/v1/projects/evil/serviceAccounts/a@b.c:generateAccessToken",
    "another-action": f"https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/{ACCOUNT}:signBlob",
    "no-account": "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/:generateAccessToken",
    "dots-for-an-account": "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/..:generateAccessToken",
    "a-path-for-an-account": "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a/b:generateAccessToken",
    "in-clear": f"http://iamcredentials.googleapis.com{BY_IAM}",
    "a-port": f"https://iamcredentials.googleapis.com:444{BY_IAM}",
    "a-user": f"https://iamcredentials.googleapis.com@evil.example{BY_IAM}",
    "loopback": f"http://{RECORDER}{BY_IAM}",
}
FILES = {
    "the-environment": "/proc/self/environ",
    "the-environment-by-number": "/proc/1/environ",
    "the-environment-of-a-thread": "/proc/thread-self/environ",
    "the-command-line": "/proc/self/cmdline",
    "the-kernel": "/sys/kernel/notes",
    "no-end": "/dev/zero",
    "a-folder": "/etc",
    "git": ".git/config",
    "ssh": ".ssh/id_rsa",
    "dotenv": ".env",
    "dotenv-of-production": ".env.production",
    "the-login-of-an-action": "gha-creds-0123456789abcdef.json",
    "a-link-to-the-environment": "link",
    "a-number": 5,
    "a-line-break": "token\nx",
}
LINKS = {"link": "/proc/self/environ"}
IN_THE_WORKSPACE = (
    ".git/config",
    ".ssh/id_rsa",
    ".env",
    ".env.production",
    "gha-creds-0123456789abcdef.json",
)
URLS = {
    "another-host": "https://evil.example/token",
    "a-bucket": "https://storage.googleapis.com/evil/token",
    "loopback": f"http://{RECORDER}/token",
    "this-machine": "https://localhost/token",
    "a-private-network": "http://10.0.0.1/token",
    "in-clear": "http://token.actions.githubusercontent.com/token",
    "a-look-alike": "https://actions.githubusercontent.com.evil.example/token",
    "a-raw-file": "https://raw.githubusercontent.com/evil/evil/main/token",
    "user-data": f"{METADATA}/latest/user-data",
    "the-token-of-the-machine": "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token",
    "attributes": "http://metadata.google.internal/computeMetadata/v1/instance/attributes/?recursive=true",
    "azure-instance": f"{METADATA}/metadata/instance?api-version=2021-02-01",
    "dots": f"{METADATA}/metadata/identity/oauth2/token/../../../instance",
    "containers": "http://169.254.170.2/v2/credentials",
    "a-file": "file:///proc/self/environ",
    "a-user": "https://x.actions.githubusercontent.com@evil.example/token",
}
AZURE = f"{METADATA}/metadata/identity/oauth2/token?api-version=2018-02-01&resource=x"
HEADERS: Mapping[str, object] = {
    "another-server": {"Host": "evil.example"},
    "a-line-break": {"Authorization": "x\r\nHost: evil.example"},
    "a-session": {"Cookie": "x=y"},
    "a-list": ["Metadata"],
}
AWS_URLS = {
    "region-elsewhere": {
        "region_url": "http://evil.example/latest/meta-data/placement/availability-zone"
    },
    "region-by-https": {
        "region_url": "https://evil.example/latest/meta-data/placement/availability-zone"
    },
    "region-from-user-data": {"region_url": f"{METADATA}/latest/user-data"},
    "region-with-a-query": {"region_url": f"{AWS_SOURCE['region_url']}?x"},
    "url-elsewhere": {
        "url": "https://evil.example/latest/meta-data/iam/security-credentials"
    },
    "url-on-loopback": {
        "url": f"http://{RECORDER}/latest/meta-data/iam/security-credentials"
    },
    "url-with-another-path": {"url": f"{METADATA}/latest/meta-data"},
    "url-with-a-port": {
        "url": "http://169.254.169.254:8080/latest/meta-data/iam/security-credentials"
    },
    "url-on-another-link-local-host": {
        "url": "http://169.254.170.2/latest/meta-data/iam/security-credentials"
    },
    "session-elsewhere": {
        "imdsv2_session_token_url": "http://evil.example/latest/api/token"
    },
    "session-by-another-path": {
        "imdsv2_session_token_url": f"{METADATA}/latest/api/other"
    },
    "two-hosts": {
        "imdsv2_session_token_url": "http://[fd00:ec2::254]/latest/api/token"
    },
    "sts-elsewhere": {
        "regional_cred_verification_url": "https://evil.example?Action=GetCallerIdentity"
    },
    "sts-with-another-action": {
        "regional_cred_verification_url": "https://sts.{region}.amazonaws.com?Action=AssumeRole&Version=2011-06-15"
    },
    "sts-with-more": {
        "regional_cred_verification_url": f"{AWS_SOURCE['regional_cred_verification_url']}&x=y"
    },
    "sts-of-a-look-alike": {
        "regional_cred_verification_url": "https://sts.x.evil.example/.amazonaws.com"
        "?Action=GetCallerIdentity&Version=2011-06-15"
    },
    "another-version": {"environment_id": "aws2"},
}
COMMAND = {
    "executable": {"command": f"curl http://{RECORDER}/", "timeout_millis": 5000}
}
ALLOWED = {"GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES": "1"}
TOKEN_URIS = {
    "another-host": "https://evil.example/token",
    "loopback": f"http://{RECORDER}/token",
    "a-bucket": "https://storage.googleapis.com/evil",
    "a-query": "https://oauth2.googleapis.com/token?x",
    "revocation": "https://oauth2.googleapis.com/revoke",
    "a-user": "https://oauth2.googleapis.com@evil.example/token",
}


def every() -> Iterator[Hostile]:
    """All of them."""
    for name, url in TOKEN_URLS.items():
        yield Hostile(f"token_url-{name}", "token_url", external(token_url=url))
    for name, url in IMPERSONATIONS.items():
        changed = external(service_account_impersonation_url=url)
        yield Hostile(
            f"impersonation-{name}", "service_account_impersonation_url", changed
        )
    written = dict.fromkeys(IN_THE_WORKSPACE, "secret")
    for name, path in FILES.items():
        yield Hostile(
            f"file-{name}",
            "`file`",
            external(credential_source={"file": path}),
            files=written,
        )
    for name, url in URLS.items():
        yield Hostile(f"url-{name}", "`url`", external(credential_source={"url": url}))
    for name, headers in HEADERS.items():
        source = {"url": AZURE, "headers": headers}
        yield Hostile(
            f"headers-{name}", "`headers`", external(credential_source=source)
        )
    for name, changes in AWS_URLS.items():
        changed = external(
            subject_token_type=AWS, credential_source={**AWS_SOURCE, **changes}
        )
        expected = "metadata server" if name == "two-hosts" else next(iter(changes))
        yield Hostile(f"aws-{name}", expected, changed)
    for region in ("evil.example/", "eu-central-1.evil.example/x", "x@evil.example"):
        signed = external(subject_token_type=AWS, credential_source=AWS_SOURCE)
        yield Hostile(
            f"variable-aws-region-{region}",
            "AWS_REGION",
            signed,
            {"AWS_REGION": region},
        )
    yield from _others()


def _others() -> Iterator[Hostile]:
    """Commands, certificates, token endpoints of keys, and variables alone."""
    command = json.dumps(external(credential_source=COMMAND))
    variable = "GOOGLE_APPLICATION_CREDENTIALS"
    yield Hostile(
        "command-in-a-variable", "`executable`", environ={variable: command, **ALLOWED}
    )
    in_file = {"login.json": command}
    yield Hostile(
        "command-in-the-workspace",
        "`executable`",
        environ={variable: "login.json", **ALLOWED},
        files=in_file,
    )
    named = {"credentials": "login.json"}
    yield Hostile(
        "command-named-by-input",
        "`executable`",
        environ=ALLOWED,
        inputs=named,
        files=in_file,
    )
    two = {"file": "token.jwt", **COMMAND}
    yield Hostile(
        "two-sources", "`credential_source`", external(credential_source=two), ALLOWED
    )
    yield Hostile(
        "no-source", "`credential_source`", external(credential_source={"x": "y"})
    )
    for name in ("certificate_config_location", "trust_chain_path"):
        certificate = {
            "use_default_certificate_config": True,
            name: "/proc/self/environ",
        }
        yield Hostile(
            f"certificate-{name}",
            name,
            external(credential_source={"certificate": certificate}),
        )
    default = external(
        credential_source={"certificate": {"use_default_certificate_config": True}}
    )
    certificates = "GOOGLE_API_CERTIFICATE_CONFIG"
    yield Hostile(
        "variable-certificate",
        certificates,
        default,
        {certificates: "/proc/self/environ"},
    )
    pair = {"cert_path": ".ssh/cert.pem", "key_path": ".ssh/key.pem"}
    files = {
        "sdk/certificate_config.json": json.dumps({"cert_configs": {"workload": pair}}),
        **dict.fromkeys(pair.values(), "of another"),
    }
    yield Hostile(
        "gcloud-certificate",
        "`cert_path`",
        default,
        {"CLOUDSDK_CONFIG": "sdk"},
        files=files,
    )
    for name, content in FILES_WITHOUT_TOKEN.items():
        info = external(credential_source={"file": "token.txt"})
        yield Hostile(
            f"{name}-as-token", "contains no token", info, files={"token.txt": content}
        )
    of_json = {
        "file": "key.json",
        "format": {"type": "json", "subject_token_field_name": "private_key"},
    }
    key = {"key.json": json.dumps(service_account())}
    yield Hostile(
        "key-in-json-as-token",
        "contains no token",
        external(credential_source=of_json),
        files=key,
    )
    for name, url in TOKEN_URIS.items():
        yield Hostile(f"key-{name}", "token_uri", service_account(url))
        yield Hostile(f"user-{name}", "token_uri", {**USER, "token_uri": url})
    nested = {
        "type": "impersonated_service_account",
        "service_account_impersonation_url": f"https://iamcredentials.googleapis.com{BY_IAM}",
        "source_credentials": external(
            credential_source={"file": "/proc/self/environ"}
        ),
    }
    yield Hostile("nested-file", "`file`", nested)
    yield Hostile(
        "another-universe", "universe_domain", external(universe_domain="evil.example")
    )
    for name in ("GCE_METADATA_HOST", "GCE_METADATA_ROOT", "GCE_METADATA_IP"):
        for host in (
            RECORDER,
            "evil.example",
            "169.254.169.254/x",
            "metadata.google.internal@evil.example",
        ):
            yield Hostile(f"variable-{name}-{host}", name, environ={name: host})
    yield Hostile(
        "variable-mds",
        "GCE_METADATA_MTLS_MODE",
        environ={"GCE_METADATA_MTLS_MODE": "strict"},
    )
    login = json.dumps(external(token_url="https://evil.example/v1/token"))
    gcloud = {"gcloud/application_default_credentials.json": login}
    yield Hostile(
        "variable-cloudsdk",
        "token_url",
        environ={"CLOUDSDK_CONFIG": "gcloud"},
        files=gcloud,
    )
    keyless = {"workload-identity-provider": PROVIDER, "service-account": ACCOUNT}
    for url in (
        f"http://{RECORDER}/oidc",
        "https://evil.example/oidc",
        "http://evil.example/oidc",
        "file:///etc/passwd",
    ):
        asked = {
            "ACTIONS_ID_TOKEN_REQUEST_URL": url,
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "runner-secret-token",
        }
        yield Hostile(
            f"variable-oidc-{url}",
            "ACTIONS_ID_TOKEN_REQUEST_URL",
            environ=asked,
            inputs=keyless,
        )
    yield from _servers(keyless)


def _servers(keyless: Mapping[str, str]) -> Iterator[Hostile]:
    """A server of GitHub's that only a variable names, in a shell and in a system of which nothing
    is known.
    """
    systems = {
        "shell": {},
        "unknown": {"BUDDY": "true", "CI": "true", "GITHUB_ACTIONS": "true"},
    }
    for system, marks in systems.items():
        for server in ("https://evil.example", "https://evil.ghe.com"):
            variables = {**marks, "GITHUB_SERVER_URL": server}
            asked = {
                "ACTIONS_ID_TOKEN_REQUEST_URL": f"{server}/x",
                "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "runner-secret",
            }
            source = external(
                credential_source={
                    "url": f"{server}/x",
                    "headers": {"Authorization": "bearer"},
                }
            )
            name = f"{system}-{server}"
            yield Hostile(
                f"server-url-{name}", "`url`", source, variables, kind="console"
            )
            yield Hostile(
                f"server-oidc-{name}",
                "ACTIONS_ID_TOKEN_REQUEST_URL",
                environ={**variables, **asked},
                inputs=keyless,
                kind="console",
            )
