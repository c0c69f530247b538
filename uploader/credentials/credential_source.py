"""Checks the credentials that were given, without network; no complaint repeats any part of a credential.

Nothing heavy is imported here: a malformed credential is refused before google-auth would have been loaded.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from uploader.credentials import configuration_checks as checks
from uploader.errors import InputError, Problem
from uploader.inputs import Inputs

LARGEST_FILE = 1 << 20  # bytes; a real configuration has a few thousand
ACCEPTED = "a service-account key or another google-auth credential configuration: JSON, base64 of JSON, or a path."
GCLOUD = "~/.config/gcloud/application_default_credentials.json"
SECRET_FIELDS = ("private_key", "client_secret", "refresh_token")
KEYLESS, DEFAULT = "keyless", "default"


@dataclass(frozen=True)
class CredentialSource:
    """Checked credentials. `kind` is google-auth's type, or `keyless`, or `default` (whatever google-auth finds).

    `account` is who acts, for people; `info` the configuration in google-auth's format, with a repaired private key;
    `secrets` what must be masked; `lasting` the secret that stays the same from run to run, None when there is none;
    `file` is where it was read, None when it was given itself.
    """

    kind: str
    account: str
    origin: str
    info: Mapping[str, Any] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    lasting: bytes | None = None
    file: Path | None = None

    def __repr__(self) -> str:
        return f"CredentialSource(kind={self.kind!r}, account={self.account!r})"  # the rest holds secrets


def parse(inputs: Inputs) -> CredentialSource:
    """What the inputs say about credentials, in the contract's order: given, keyless, the environment's, the machine's.

    Reads at most one file. Raises InputError with every mistake found.
    """
    if problems := tuple(_contradictions(inputs)):
        raise InputError(*problems)
    source = _chosen(inputs)
    if inputs.impersonate_user and not _may_delegate(source):
        what = "acting for a user requires a service account, and these credentials are not for one."
        accepted = "a service-account key, or a keyless login with `service-account`."
        raise InputError(Problem("impersonate-user", what, accepted))
    return source


def _contradictions(inputs: Inputs) -> Iterator[Problem]:
    """What can't stand together, or alone."""
    keyless = inputs.workload_identity_provider
    if inputs.credentials and keyless:
        yield Problem("credentials", "given together with `workload-identity-provider`.", "one of the two.")
    if inputs.service_account and not keyless:
        yield Problem("service-account", "given without `workload-identity-provider`.", "both, for a keyless login.")
    # The consoles behind the named targets know service accounts, not pools; Cloud APIs accept a pool's own identity.
    if keyless and not inputs.service_account and inputs.target and "." not in inputs.target:
        yield Problem("service-account", "not given.", "the e-mail address of the account to act as.")


def _chosen(inputs: Inputs) -> CredentialSource:
    if inputs.workload_identity_provider:
        return _keyless(inputs)
    workspace = inputs.platform.workspace
    if inputs.credentials:
        return _configured("credentials", inputs.credentials, workspace)
    if variable := inputs.platform.google_application_credentials:
        return _configured("GOOGLE_APPLICATION_CREDENTIALS", variable, workspace)
    return _machine()


def _machine() -> CredentialSource:
    """The user's gcloud login, held to the same checks as any other; else what google-auth finds by itself."""
    name = "application default credentials"
    try:
        if Path(GCLOUD).expanduser().is_file():
            return _configured(name, GCLOUD, Path())
    except (RuntimeError, OSError):  # a container's user may have no home
        pass
    return CredentialSource(DEFAULT, name, "the machine")


def _keyless(inputs: Inputs) -> CredentialSource:
    """The configuration that google-github-actions/auth would write, without the place that the token comes from."""
    account = inputs.service_account or inputs.workload_identity_provider
    info = {
        "audience": f"//iam.googleapis.com/{inputs.workload_identity_provider}",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "https://sts.googleapis.com/v1/token",
    }
    if inputs.service_account:
        info["service_account_impersonation_url"] = checks.impersonation_url(inputs.service_account)
    tokens = (inputs.platform.oidc_request_token, inputs.platform.id_token)
    return CredentialSource(KEYLESS, account, "workload-identity-provider", info, tuple(filter(None, tokens)))


def _configured(origin: str, given: str, workspace: Path) -> CredentialSource:
    """JSON, base64 of JSON, or the path of a file that holds one of the two."""
    text = _text(origin, given, workspace)
    info, problems = checks.check(_json(origin, text))
    if problems:
        raise InputError(*(Problem(origin, problem, ACCEPTED) for problem in problems))
    secrets = [*_named_secrets(info), *_whole(text, given), json.dumps(info, separators=(",", ":"))]
    file = workspace / Path(given).expanduser() if _unwrapped(given) is None else None
    known = tuple(dict.fromkeys(secrets))
    return CredentialSource(info["type"], checks.account(info), origin, info, known, _lasting(info), file)


def _text(origin: str, given: str, workspace: Path) -> str:
    """The JSON text behind what was given."""
    text = _unwrapped(given)
    if text is not None:
        return text
    if "PRIVATE KEY" in given:
        raise InputError(Problem(origin, "a private key by itself; the whole JSON file around it is needed.", ACCEPTED))
    return _file(origin, given, workspace)


def _unwrapped(given: str) -> str | None:
    """JSON as it is, or out of its base64 (standard or URL-safe, padded or not, on any number of lines)."""
    given = given.strip().lstrip("\ufeff")
    if given.startswith(("{", "[", '"')):
        return given
    compact = "".join(given.split()).translate(str.maketrans("-_", "+/")).rstrip("=")
    try:
        text = base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True).decode("utf-8-sig").strip()
    except (binascii.Error, ValueError):
        return None
    return text if text.startswith("{") else None


def _file(origin: str, given: str, workspace: Path) -> str:
    """The JSON text in a file. Complaints are made outside of `except`, whose exceptions remember what they read."""
    content, what = b"", ""
    try:
        with (workspace / Path(given).expanduser()).open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except (FileNotFoundError, NotADirectoryError):
        what = "neither JSON, nor base64 of JSON, nor a file that exists."
    except (OSError, ValueError, RuntimeError):
        what = "neither JSON, nor base64 of JSON, nor a file that can be read."
    text = _unwrapped(content.decode("utf-8-sig", "replace"))
    if text is None or len(content) > LARGEST_FILE:
        what = what or "the file holds neither JSON nor base64 of JSON."
        raise InputError(Problem(origin, what, ACCEPTED))
    return text


def _json(origin: str, text: str) -> dict[str, Any]:
    value: object = None
    try:
        # Not strict: a shell that turned the key's \n into line breaks left no doubt about what was meant.
        value = json.loads(text, strict=False)
        what = "JSON, but not an object."
    except (ValueError, RecursionError):
        what = "JSON that is cut off or damaged."
    if not isinstance(value, dict):
        raise InputError(Problem(origin, what, ACCEPTED))
    return value


def _named_secrets(info: Mapping[str, Any]) -> Iterator[str]:
    """The values of every secret field, however deep, and of all headers that a token source is asked with."""
    for name, value in info.items():
        if isinstance(value, Mapping):
            yield from (text.split()[-1] for text in value.values() if name == "headers" and checks.is_text(text))
            yield from _named_secrets(value)
        elif name in SECRET_FIELDS and isinstance(value, str) and value:
            yield value


def _whole(text: str, given: str) -> Iterator[str]:
    """What was given, where it is the secret itself and not a path. Not line by line: that would mask lone braces."""
    for form in (text, given):
        if form.lstrip("\ufeff").startswith("{"):
            yield from (form,) if "\n" not in form else ()
        elif _unwrapped(form) is not None:
            yield from (line for line in form.split() if len(line) >= 16)


def _lasting(info: Mapping[str, Any]) -> bytes | None:
    """The secret that a later run will have again: the private key's bytes, or the refresh token."""
    if key := info.get("private_key"):
        return base64.b64decode(re.sub(r"-----[^-]+-----|\s", "", key))
    if token := info.get("refresh_token"):
        return str(token).encode()
    nested = info.get("source_credentials")
    return _lasting(nested) if isinstance(nested, Mapping) else None


def _may_delegate(source: CredentialSource) -> bool:
    return source.kind == "service_account" or bool(source.info.get("service_account_impersonation_url"))
