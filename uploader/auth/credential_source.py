"""Reads and checks the credentials that were given, without network, and says where they may send a secret.

A complaint names fields and repeats no part of a credential.
"""

from __future__ import annotations

import base64
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from uploader.errors import InputError, Problem
from uploader.files.workspace import GCLOUD, path_hint, printable, reason
from uploader.hosts import is_google, is_metadata_server, is_secure, on_loopback
from uploader.inputs.table import LoginInputs

SERVICE_ACCOUNT, USER = "service_account", "authorized_user"
EXTERNAL, EXTERNAL_USER = "external_account", "external_account_authorized_user"
IMPERSONATED = "impersonated_service_account"
KEYLESS, DEFAULT = "keyless", "default"
AWS = "urn:ietf:params:aws:token-type:aws4_request"
IMPERSONATION = "service_account_impersonation_url"
REQUIRED: Mapping[str, tuple[str, ...]] = {
    SERVICE_ACCOUNT: ("client_email", "private_key", "token_uri"),
    USER: ("client_id", "client_secret", "refresh_token"),
    EXTERNAL: ("audience", "subject_token_type", "token_url"),
    EXTERNAL_USER: ("client_id", "client_secret", "refresh_token", "token_url"),
    IMPERSONATED: (IMPERSONATION,),
}
# What is taken for a credential, by a field that it has.
NO_CREDENTIALS = {**dict.fromkeys(("installed", "web"), "an OAuth client file"), "project_info": "google-services.json"}
SECRET_FIELDS = ("private_key", "client_secret", "refresh_token")
MAX_FILE = 1 << 20  # bytes; a real configuration has a few thousand
ACCEPTED = "a service-account key or another google-auth credential configuration: JSON, base64 of JSON, or a path."
PRINCIPAL = re.compile(r"/serviceAccounts/([^/:?#\s]+):generateAccessToken$")
PEM = re.compile(r"-----BEGIN ((?:[A-Z0-9]+ )*PRIVATE KEY)-----(.*)-----END \1-----", re.DOTALL)
# A text that is surely a path and no secret: it ends as such files do, or names folders without a capital.
PATH = re.compile(r"[\w @+.:~/\\-]{1,200}\.(?:json|txt|key|b64|base64)|(?:~|\.\.?)?(?:/[a-z0-9._-]{1,64}){2,}")
RSA = bytes.fromhex("06092a864886f70d010101")  # rsaEncryption, RFC 8017 appendix A.1


@dataclass(frozen=True)
class CredentialSource:
    """Checked credentials. `kind` is google-auth's type, or `keyless`, or `default` (whatever google-auth finds).

    `account` is who acts, for people; `info` the configuration in google-auth's format, with a repaired private key;
    `secrets` what must be masked; `lasting` the secret that stays the same from run to run, None when there is none.
    """

    kind: str
    account: str
    origin: str
    info: Mapping[str, Any] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    lasting: bytes | None = field(default=None, repr=False)


def parse(inputs: LoginInputs) -> CredentialSource:
    """What the inputs say about credentials, in the contract's order: given, keyless, the environment's, the machine's.

    Reads at most one file. Raises InputError with every mistake found.
    """
    if problems := tuple(_contradictions(inputs)):
        raise InputError(*problems)
    workspace = inputs.platform.workspace
    if inputs.workload_identity_provider:
        source = _keyless(inputs)
    elif inputs.credentials:
        source = _configured("credentials", inputs.credentials, workspace)
    elif variable := inputs.platform.google_application_credentials:
        source = _configured("GOOGLE_APPLICATION_CREDENTIALS", variable, workspace)
    else:
        source = _machine()
    if inputs.impersonate_user and source.kind != SERVICE_ACCOUNT and not source.info.get(IMPERSONATION):
        what = "acting for a user requires a service account, and these credentials are not for one."
        accepted = "a service-account key, or a keyless login with `service-account`."
        raise InputError(Problem("impersonate-user", what, accepted))
    return source


def _contradictions(inputs: LoginInputs) -> Iterator[Problem]:
    """What can't stand together, or alone."""
    keyless = inputs.workload_identity_provider
    if inputs.credentials and keyless:
        yield Problem("credentials", "given together with `workload-identity-provider`.", "one of the two.")
    if inputs.service_account and not keyless:
        yield Problem("service-account", "given without `workload-identity-provider`.", "both, for a keyless login.")
    # The consoles behind the named targets know service accounts, not pools; Cloud APIs accept a pool's own identity.
    if keyless and not inputs.service_account and inputs.target and "." not in inputs.target:
        yield Problem("service-account", "not given.", "the e-mail address of the account to act as.")


def _machine() -> CredentialSource:
    """The user's gcloud login, held to the same checks as any other; else what google-auth finds by itself."""
    name = "application default credentials"
    with suppress(RuntimeError, OSError):  # a container's user may have no home
        if Path(GCLOUD).expanduser().is_file():
            return _configured(name, GCLOUD, Path())
    return CredentialSource(DEFAULT, name, "the machine")


def _keyless(inputs: LoginInputs) -> CredentialSource:
    """The configuration that google-github-actions/auth would write, without the place that the token comes from."""
    provider, account = inputs.workload_identity_provider, inputs.service_account
    info = {
        "audience": f"//iam.googleapis.com/{provider}",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "https://sts.googleapis.com/v1/token",
    }
    if account:
        name = f"projects/-/serviceAccounts/{quote(account, safe='@')}"
        info[IMPERSONATION] = f"https://iamcredentials.googleapis.com/v1/{name}:generateAccessToken"
    return CredentialSource(KEYLESS, account or provider, "workload-identity-provider", info)


def _configured(origin: str, given: str, workspace: Path) -> CredentialSource:
    """JSON, base64 of JSON, or the path of a file that holds one of the two."""
    plain = _unwrapped(given)
    text, what = _read(given, workspace) if plain is None else (plain, "")
    value: object = None
    if text is not None:
        try:
            # Not strict: a shell that turned the key's \n into line breaks left no doubt about what was meant.
            value = json.loads(text, strict=False)
            what = "JSON, but not an object."
        except (ValueError, RecursionError):
            what = "JSON that is cut off or damaged."
    info, problems = _checked(value) if isinstance(value, dict) else ({}, [what])
    if text is None or problems:
        raise InputError(*(Problem(origin, problem, ACCEPTED) for problem in problems))
    secrets = dict.fromkeys([*_named_secrets(info), *_whole(text, given), json.dumps(info, separators=(",", ":"))])
    name = info.get("client_email") or principal(info.get(IMPERSONATION) or "") or info.get("account")
    account = name if isinstance(name, str) and name.isprintable() else f"an {info['type']} credential"
    return CredentialSource(info["type"], account, origin, info, tuple(secrets), _lasting(info))


def _unwrapped(given: str) -> str | None:
    """JSON as it is, or out of its base64 (standard or URL-safe, padded or not, on any number of lines)."""
    given = given.strip().lstrip("\ufeff")
    if given.startswith(("{", "[", '"')):
        return given
    compact = "".join(given.split()).translate(str.maketrans("-_", "+/")).rstrip("=")
    try:
        text = base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True).decode("utf-8-sig").strip()
    except ValueError:
        return None
    return text if text.startswith("{") else None


def _read(given: str, workspace: Path) -> tuple[str | None, str]:
    """The JSON text in a file, or what is wrong. An exception would remember what it read, so none is raised."""
    if "PRIVATE KEY" in given:
        return None, "a private key by itself; the whole JSON file around it is needed."
    try:
        with (workspace / Path(given).expanduser()).open("rb") as file:
            content = file.read(MAX_FILE + 1)
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: a user without a home
        if not PATH.fullmatch(given):
            return None, "neither JSON, nor base64 of JSON, nor a file that exists."
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            return None, f"`{given}` can't be read: {reason(error)}."
        where = "" if given.startswith(("/", "~")) else f" in {printable(str(workspace))}"
        return None, f"there is no file `{given}`{where}.{printable(path_hint(given, workspace))}"
    text = _unwrapped(content.decode("utf-8-sig", "replace")) if len(content) <= MAX_FILE else None
    return text, "the file holds neither JSON nor base64 of JSON."


def _checked(info: dict[str, Any], *, nested: bool = False) -> tuple[dict[str, Any], list[str]]:
    """The configuration with its key repaired and its source checked too, and everything that is wrong with it."""
    kind = str(info.get("type"))
    if kind not in REQUIRED or (nested and kind == IMPERSONATED):
        if what := next((what for name, what in NO_CREDENTIALS.items() if name in info), ""):
            return info, [f"this is {what}, not a credential; give a service-account key."]
        known = ", ".join(f"`{kind}`" for kind in REQUIRED)
        return info, [f"the field `type` is missing, or is not one of {known}."]
    problems: list[str] = []
    if absent := [f"`{name}`" for name in REQUIRED[kind] if not _is_text(info.get(name))]:
        fields = f"field{'s' * (len(absent) > 1)} {', '.join(absent)} of this `{kind}` configuration"
        problems.append(f"the {fields} must be present, as text.")
    problems += _wrong_urls(info)
    if info.get("universe_domain") not in (None, "googleapis.com"):
        problems.append("the field `universe_domain` names an unsupported universe; only googleapis.com is supported.")
    if kind == SERVICE_ACCOUNT and _is_text(info.get("private_key")):
        key, complaint = _repaired(info["private_key"])
        info = {**info, "private_key": key}
        problems += [complaint] if complaint else []
    if kind == SERVICE_ACCOUNT and "`client_email`" not in absent and "@" not in info["client_email"]:
        problems.append("`client_email` is not an e-mail address.")
    name = {EXTERNAL: "credential_source", IMPERSONATED: "source_credentials"}.get(kind, "")
    source: Any = info.get(name)
    if name and not (isinstance(source, dict) and source):
        problems.append(f"the field `{name}` must be an object that says where the token comes from.")
    elif kind == EXTERNAL:
        problems += _wrong_urls(source, f" of `{name}`")
        if (file := Path(str(source.get("file")))).exists() and not file.is_file():  # google-auth reads it to its end
            problems.append(f"the `file` of `{name}` is not a regular file.")
    elif kind == IMPERSONATED:
        source, complaints = _checked(source, nested=True)
        info = {**info, name: source}
        problems += [f"in `{name}`: {complaint}" for complaint in complaints]
    return info, problems


def _wrong_urls(info: Mapping[str, Any], where: str = "") -> Iterator[str]:
    """What is wrong with the URLs of a configuration, or of its credential source `where` it stands.

    A user's own token_uri may be any https host; federation is configured by others, so its secrets go to Google.
    """
    for name, url in info.items():
        if url is None or not (name.endswith(("_url", "_uri")) or name == "url"):
            continue
        text = url if isinstance(url, str) else ""
        if name in ("token_url", IMPERSONATION):
            if not (is_google(text) or on_loopback(text)):
                yield f"the URL in `{name}` must be https on a googleapis.com host, or a loopback address."
        elif not (is_secure(text) or (where and is_metadata_server(text))):
            yield f"the URL in `{name}`{where} must be https, or http on loopback{where and ' or a metadata server'}."
    if _is_text(info.get(IMPERSONATION)) and not principal(info[IMPERSONATION]):
        yield f"the URL in `{IMPERSONATION}` must end with `/serviceAccounts/ACCOUNT:generateAccessToken`."


def principal(url: str) -> str:
    """The service account in an impersonation URL, empty when there is none."""
    return found[1] if (found := PRINCIPAL.search(url)) else ""


def _repaired(text: str) -> tuple[str, str]:
    """A PEM key in its regular form, and what is wrong with it (empty when nothing is).

    Shells and secret stores damage line breaks, which carry no meaning in PEM (RFC 7468, section 2): they are repaired.
    """
    found = PEM.fullmatch(re.sub(r"(?<!\\)\\+[nr]", "\n", text).strip())
    if not found:
        return text, "`private_key` is not one whole PEM key, from its BEGIN line to its END line."
    label, body = found[1], "".join(found[2].split())
    if "ENCRYPTED" in label or "ENCRYPTED" in body:
        return text, "`private_key` is protected by a passphrase."
    with suppress(ValueError):
        der = base64.b64decode(body, validate=True)
        if label != "RSA PRIVATE KEY" and RSA not in der[:40]:
            return text, "`private_key` is not an RSA key."
        octets = der[1] & 0x7F if len(der) >= 128 and der[0] == 0x30 else 0  # X.690, section 8.1.3: how long it is
        if 1 <= octets <= 4 and len(der) == 2 + octets + int.from_bytes(der[2 : 2 + octets], "big"):
            return f"-----BEGIN {label}-----\n{textwrap.fill(body, 64)}\n-----END {label}-----\n", ""
    return text, "`private_key` is cut off or damaged."


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _named_secrets(info: Mapping[str, Any]) -> Iterator[str]:
    """The values of every secret field, however deep, and of all headers that a token source is asked with."""
    for name, value in info.items():
        if isinstance(value, Mapping):
            yield from (text.split()[-1] for text in value.values() if name == "headers" and _is_text(text))
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
