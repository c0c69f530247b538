"""Reads the credentials that were given, and checks them and where they may send a secret, without
network.

A complaint names fields and repeats no part of a credential.
"""

from __future__ import annotations

import base64
import codecs
import json
import os
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from uploader.auth import mistaken_credentials
from uploader.auth.credential_source import with_named_certificate, wrong_source
from uploader.auth.destinations import TOKEN_URIS, Rules, principal
from uploader.errors import InputError, Problem
from uploader.files.workspace import (
    Access,
    Workspace,
    below,
    gcloud_login,
    path_hint,
    printable,
    reason,
)
from uploader.hosts import is_google_metadata, is_secure
from uploader.inputs.platform import Platform
from uploader.inputs.records import LoginInputs

SERVICE_ACCOUNT = "service_account"
USER = "authorized_user"
EXTERNAL = "external_account"
EXTERNAL_USER = "external_account_authorized_user"
IMPERSONATED = "impersonated_service_account"
KEYLESS = "keyless"
DEFAULT = "default"
IMPERSONATION = "service_account_impersonation_url"
REQUIRED: Mapping[str, tuple[str, ...]] = {
    SERVICE_ACCOUNT: ("client_email", "private_key", "token_uri"),
    USER: ("client_id", "client_secret", "refresh_token"),
    EXTERNAL: ("audience", "subject_token_type", "token_url"),
    EXTERNAL_USER: ("client_id", "client_secret", "refresh_token", "token_url"),
    IMPERSONATED: (IMPERSONATION,),
}
# Files that people mistake for a credential, by a field that they have.
NO_CREDENTIALS = {
    "installed": "an OAuth client file",
    "web": "an OAuth client file",
    "project_info": "google-services.json",
}
SECRET_FIELDS = ("private_key", "client_secret", "refresh_token")
MAX_FILE = 1 << 20  # bytes; a real configuration has a few thousand
ACCEPTED = (
    "a service-account key or another google-auth credential configuration: JSON, base64 of JSON, "
    "or a path."
)
_NO_SOURCE = (
    "the field `{name}` must be an object that says where the token comes from."
)
PEM = re.compile(
    r"-----BEGIN ((?:[A-Z0-9]+ )*PRIVATE KEY)-----(.*)-----END \1-----", re.DOTALL
)
# A text that is surely a path and no secret: it ends as such files do, or consists of folders in
# lower case.
PATH = re.compile(
    r"[\w @+.:~/\\-]{1,200}\.(?:json|txt|key|b64|base64)|(?:~|\.\.?)?(?:/[a-z0-9._-]{1,64}){2,}"
    # A GitLab variable of type File holds such a path.
    r"|(?:/[\w.-]{1,100}){1,10}\.tmp/\w{1,255}"
)
RSA = bytes.fromhex("06092a864886f70d010101")  # rsaEncryption, RFC 8017 appendix A.1
_URL_SAFE = str.maketrans("-_", "+/")


@dataclass(frozen=True)
class Setting:
    """What a configuration is checked against: where requests may go, which files may be read, what
    may be run.

    `commands` says whether it may name a command: only the workflow's own configuration, or one
    outside of the workspace, may.
    """

    rules: Rules
    access: Access
    platform: Platform
    commands: bool = False

    @classmethod
    def of(cls, inputs: LoginInputs) -> Setting:
        """Return the setting of this run."""
        platform = inputs.platform
        rules = Rules(inputs.api_endpoint, platform.server_url)
        workspace = Workspace.of_login(inputs)
        access = Access(workspace, "credentials")
        return cls(rules, access, platform)


@dataclass(frozen=True)
class ParsedCredentials:
    """Checked credentials. `kind` is google-auth's type, or `keyless`, or `default` (whatever
    google-auth finds).

    `account` is who acts, for people; `info` the configuration in google-auth's format, with a
    repaired private key; `secrets` what must be masked; `lasting` the secret that stays the same
    from run to run, None when there is none.
    """

    kind: str
    account: str
    origin: str
    info: Mapping[str, Any] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    lasting: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, repr=False)
class _FileText:
    """The JSON text in a file, or None and what is wrong. `in_workspace`: the file is in the
    workspace, or a link there names it.
    """

    text: str | None
    problem: str = ""
    in_workspace: bool = True


@dataclass(frozen=True, repr=False)
class _Checked:
    """A configuration with its key repaired, and everything that is wrong with it."""

    info: dict[str, Any]
    problems: Sequence[str] = ()


def parse(inputs: LoginInputs) -> ParsedCredentials:
    """Return the credentials that the inputs name, in the contract's order: `credentials`, a
    keyless login, the environment's, the machine's.

    Reads at most one file. Raises InputError with every mistake found.
    """
    problems = tuple(_contradictions(inputs))
    if problems:
        raise InputError(*problems)
    setting = Setting.of(inputs)
    variable = inputs.platform.google_application_credentials
    if inputs.workload_identity_provider:
        source = _keyless(inputs)
    elif inputs.credentials:
        source = _parse_configuration("credentials", inputs.credentials, setting)
    elif variable:
        source = _parse_configuration(
            "GOOGLE_APPLICATION_CREDENTIALS", variable, setting
        )
    else:
        source = _machine(setting)
    if inputs.impersonate_user and not _is_service_account(source):
        what = (
            "acting for a user requires a service account, and these credentials are "
            "not for one."
        )
        accepted = "a service-account key, or a keyless login with `service-account`."
        raise InputError(Problem("impersonate-user", what, accepted))
    return source


def _is_service_account(source: ParsedCredentials) -> bool:
    """Return whether a service account acts, by itself or by impersonation."""
    if source.kind == SERVICE_ACCOUNT:
        return True
    return bool(source.info.get(IMPERSONATION))


def _contradictions(inputs: LoginInputs) -> Iterator[Problem]:
    """Yield a problem for each input that can't stand together with another, or alone."""
    keyless = inputs.workload_identity_provider
    if inputs.credentials and keyless:
        yield Problem(
            "credentials",
            "given together with `workload-identity-provider`.",
            "one of the two.",
        )
    if inputs.service_account and not keyless:
        yield Problem(
            "service-account",
            "given without `workload-identity-provider`.",
            "both, for a keyless login.",
        )
    # The consoles behind the named targets know service accounts, not pools; Cloud APIs accept a
    # pool's own identity.
    is_named_target = bool(inputs.target) and "." not in inputs.target
    if keyless and is_named_target and not inputs.service_account:
        yield Problem(
            "service-account",
            "not given.",
            "the e-mail address of the account to act as.",
        )


def _machine(setting: Setting) -> ParsedCredentials:
    """Return the user's gcloud login, checked as any other configuration is; if there is none, the
    machine's own credentials, which the metadata server hands out.
    """
    name = "application default credentials"
    path = gcloud_login(setting.platform)
    # The user of a container may have no home.
    with suppress(RuntimeError, OSError):
        file = setting.platform.workspace / Path(path).expanduser()
        if file.is_file():
            return _parse_configuration(name, path, setting)
    problems = tuple(_wrong_metadata(setting))
    if problems:
        raise InputError(*problems)
    return ParsedCredentials(DEFAULT, name, "the machine")


def _wrong_metadata(setting: Setting) -> Iterator[Problem]:
    """Yield a problem for each variable that would make another host the metadata server, whose
    tokens are trusted.
    """
    variables = setting.platform.google_auth
    accepted = "`metadata.google.internal` or `169.254.169.254`, or no such variable."
    for name in ("GCE_METADATA_HOST", "GCE_METADATA_ROOT", "GCE_METADATA_IP"):
        host = variables.get(name) or "169.254.169.254"
        url = f"http://{host}/"
        has_path = urlsplit(url).path != "/"
        is_trusted = is_google_metadata(url) or setting.rules.local(url)
        if has_path or not is_trusted:
            what = "names another host than Google's metadata server."
            yield Problem(name, what, accepted)
    tls_mode = variables.get("GCE_METADATA_MTLS_MODE", "none")
    if tls_mode.lower() != "none":
        yield Problem(
            "GCE_METADATA_MTLS_MODE",
            "is not supported.",
            "`none`, or no such variable.",
        )


def _keyless(inputs: LoginInputs) -> ParsedCredentials:
    """Return the configuration that google-github-actions/auth would write, without the source of
    the token.
    """
    provider = inputs.workload_identity_provider
    account = inputs.service_account
    info = {
        "audience": f"//iam.googleapis.com/{provider}",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "https://sts.googleapis.com/v1/token",
    }
    if account:
        escaped_account = quote(account, safe="@")
        name = f"projects/-/serviceAccounts/{escaped_account}"
        info[IMPERSONATION] = (
            f"https://iamcredentials.googleapis.com/v1/{name}:generateAccessToken"
        )
    return ParsedCredentials(
        kind=KEYLESS,
        account=account or provider,
        origin="workload-identity-provider",
        info=info,
    )


def _parse_configuration(
    origin: str, value: str, setting: Setting
) -> ParsedCredentials:
    """Return the credentials in `value`: JSON, base64 of JSON, or the path of a file that holds one
    of the two.
    """
    text = _unwrap(value)
    if text is not None:
        may_name_commands = origin == "credentials"
    else:
        file = _read(value, setting.platform.workspace)
        text = file.text
        if text is None:
            raise InputError(Problem(origin, file.problem, ACCEPTED))
        may_name_commands = not file.in_workspace
    configuration, problem = _load(text)
    if configuration is None:
        raise InputError(Problem(origin, problem, ACCEPTED))
    setting = replace(setting, commands=may_name_commands)
    checked = _check(configuration, setting)
    problems = [Problem(origin, what, ACCEPTED) for what in checked.problems]
    if problems:
        raise InputError(*problems)
    info = checked.info
    secrets = [
        *_secret_fields(info),
        *_whole(text, value),
        json.dumps(info, separators=(",", ":")),
    ]
    return ParsedCredentials(
        kind=info["type"],
        account=_account(info),
        origin=origin,
        info=info,
        secrets=tuple(dict.fromkeys(secrets)),
        lasting=_lasting(info),
    )


def _load(text: str) -> tuple[dict[str, Any] | None, str]:
    """Return the JSON object, or None and what is wrong with the text.

    Nothing is raised: the exception of a JSON reader holds the whole text.
    """
    try:
        # Not strict: a shell that turned the key's \n into line breaks left no doubt about what
        # was meant.
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        return None, mistaken_credentials.describe_damage(text, error)
    if not isinstance(value, dict):
        return None, mistaken_credentials.no_object(value)
    return value, ""


def _account(info: Mapping[str, Any]) -> str:
    """Return who acts, for people."""
    name = info.get("client_email")
    if not name:
        name = principal(info.get(IMPERSONATION) or "")
    if not name:
        name = info.get("account")
    if isinstance(name, str) and name.isprintable():
        return name
    return f"an {info['type']} credential"


def _unwrap(value: str) -> str | None:
    """Return JSON as it is, or out of its base64 (standard or URL-safe, padded or not, on any
    number of lines); None if the value is neither.
    """
    value = value.strip().lstrip("\ufeff")
    if value.startswith(("{", "[", '"')):
        return value
    compact = "".join(value.split())
    standard = compact.translate(_URL_SAFE)
    unpadded = standard.rstrip("=")
    padding = "=" * (-len(unpadded) % 4)
    try:
        data = base64.b64decode(unpadded + padding, validate=True)
        text = data.decode("utf-8-sig").strip()
    except ValueError:
        return None
    if not text.startswith("{"):
        return None
    return text


def _read(value: str, workspace: Path) -> _FileText:
    """Return the JSON text in the file at a path, which may be in base64 there.

    Nothing is raised: an exception would keep what was read.
    """
    form = mistaken_credentials.describe_form(value)
    if form:
        return _FileText(None, form)
    try:
        path = workspace / Path(value).expanduser()
        with path.open("rb") as file:
            content = file.read(MAX_FILE + 1)
        in_workspace = _is_below(path, workspace)
    # RuntimeError: a user without a home
    except (OSError, ValueError, RuntimeError) as error:
        return _FileText(None, _why_not_read(value, workspace, error))
    if len(content) <= MAX_FILE:
        text = _unwrap(content.decode("utf-8-sig", "replace"))
        if text is not None:
            return _FileText(text, in_workspace=in_workspace)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        problem = "the file is in UTF-16, as PowerShell writes it; save it as UTF-8."
        return _FileText(None, problem)
    return _FileText(None, "the file contains neither JSON nor base64 of JSON.")


def _is_below(path: Path, workspace: Path) -> bool:
    """Return whether the file, or the link that the path names, is in the workspace."""
    root = below(os.path.realpath(workspace))
    folder = below(os.path.realpath(path.parent))
    link = folder + path.name
    if link.startswith(root):
        return True
    file = os.path.realpath(path)
    return file.startswith(root)


def _why_not_read(value: str, workspace: Path, error: Exception) -> str:
    """Return why no file could be read; the value is repeated only if it is surely a path."""
    if not PATH.fullmatch(value):
        return "neither JSON, nor base64 of JSON, nor a file that exists."
    if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return f"`{value}` can't be read: {reason(error)}."
    where = ""
    is_absolute = value.startswith(("/", "~"))
    if not is_absolute:
        folder = printable(str(workspace))
        where = f" in {folder}"
    hint = printable(path_hint(value, workspace))
    return f"there is no file `{value}`{where}.{hint}"


def _check(info: dict[str, Any], setting: Setting, *, nested: bool = False) -> _Checked:
    """Check a configuration. With `nested` it is the source of another one, and can't have a source
    itself.
    """
    kind = str(info.get("type"))
    is_second_impersonation = nested and kind == IMPERSONATED
    if kind not in REQUIRED or is_second_impersonation:
        return _Checked(info, [_wrong_type(info)])
    problems: list[str] = []
    absent = []
    for name in REQUIRED[kind]:
        value = info.get(name)
        if not _is_text(value):
            absent.append(name)
    if absent:
        problems.append(_absent(absent, kind))
    problems += _wrong_urls(info, setting.rules)
    universe = info.get("universe_domain")
    if universe not in (None, "googleapis.com"):
        problems.append(
            "the field `universe_domain` names an unsupported universe; only "
            "googleapis.com is supported."
        )
    if kind == SERVICE_ACCOUNT:
        checked = _check_key(info)
    elif kind == EXTERNAL:
        checked = _check_external(info, setting)
    elif kind == IMPERSONATED:
        checked = _check_impersonated(info, setting)
    else:
        checked = _Checked(info)
    return _Checked(checked.info, [*problems, *checked.problems])


def _absent(names: Sequence[str], kind: str) -> str:
    """Return what is wrong with a configuration without these fields."""
    noun = "field"
    if len(names) > 1:
        noun = "fields"
    listed = ", ".join(f"`{name}`" for name in names)
    return (
        f"the {noun} {listed} of this `{kind}` configuration must be present, as text."
    )


def _wrong_type(info: Mapping[str, Any]) -> str:
    """Return what is wrong with a configuration whose `type` is not one that a login can use."""
    for name, what in NO_CREDENTIALS.items():
        if name in info:
            return f"this is {what}, not a credential; give a service-account key."
    kinds = ", ".join(f"`{kind}`" for kind in REQUIRED)
    return f"the field `type` is missing, or is not one of {kinds}."


def _check_key(info: dict[str, Any]) -> _Checked:
    """Check a service account's key file, and repair its private key."""
    problems: list[str] = []
    if _is_text(info.get("private_key")):
        key, problem = _repair_key(info["private_key"])
        info = {**info, "private_key": key}
        if problem:
            problems.append(problem)
    account = info.get("client_email", "")
    if _is_text(account) and "@" not in account:
        problems.append("`client_email` is not an e-mail address.")
    return _Checked(info, problems)


def _check_external(info: dict[str, Any], setting: Setting) -> _Checked:
    """Check the `credential_source` of a federated login, and name the certificate in it."""
    source = info.get("credential_source")
    if not isinstance(source, dict) or not source:
        problem = _NO_SOURCE.format(name="credential_source")
        return _Checked(info, [problem])
    problems = wrong_source(
        info,
        setting.rules,
        setting.access,
        setting.platform,
        commands=setting.commands,
    )
    source = with_named_certificate(source, setting.platform)
    named = {**info, "credential_source": source}
    return _Checked(named, list(problems))


def _check_impersonated(info: dict[str, Any], setting: Setting) -> _Checked:
    """Check the source of an impersonation, which is another configuration."""
    source = info.get("source_credentials")
    if not isinstance(source, dict) or not source:
        problem = _NO_SOURCE.format(name="source_credentials")
        return _Checked(info, [problem])
    checked = _check(source, setting, nested=True)
    repaired = {**info, "source_credentials": checked.info}
    problems = [f"in `source_credentials`: {problem}" for problem in checked.problems]
    return _Checked(repaired, problems)


def _wrong_urls(info: Mapping[str, Any], rules: Rules) -> Iterator[str]:
    """Yield what is wrong with the URLs of a configuration: those that requests go to must be
    Google's own, others at least https.
    """
    for name, url in info.items():
        is_url = name.endswith(("_url", "_uri"))
        if url is None or not is_url:
            continue
        text = ""
        if isinstance(url, str):
            text = url
        problem = _wrong_url(name, text, rules)
        if problem:
            yield problem


def _wrong_url(name: str, url: str, rules: Rules) -> str:
    """Return what is wrong with the URL in one field; empty if nothing is."""
    if name == "token_url":
        allowed = rules.token_url(url)
        problem = (
            "the URL in `token_url` must be Google's security token service, "
            "`https://sts.googleapis.com/v1/token`, or its regional, mutual TLS or private "
            "form; on loopback only with `api-endpoint` there."
        )
    elif name == "token_uri":
        allowed = rules.token_uri(url)
        problem = (
            f"the URL in `token_uri` must be Google's, `{TOKEN_URIS[0]}`; on loopback or "
            "at another host only with `api-endpoint` there."
        )
    elif name == IMPERSONATION:
        allowed = rules.impersonation(url)
        problem = (
            f"the URL in `{IMPERSONATION}` must be "
            "`https://iamcredentials.googleapis.com/v1/projects/-/"
            "serviceAccounts/ACCOUNT:generateAccessToken`; loopback only with "
            "`api-endpoint` there."
        )
    else:
        allowed = is_secure(url)
        problem = f"the URL in `{name}` must be https, or http on loopback."
    if allowed:
        return ""
    return problem


def _repair_key(text: str) -> tuple[str, str]:
    """Return a PEM key in its regular form, and what is wrong with it (empty when nothing is).

    Shells and secret stores damage line breaks, which carry no meaning in PEM (RFC 7468, section
    2): they are repaired.
    """
    with_breaks = re.sub(r"(?<!\\)\\+[nr]", "\n", text)
    pem = PEM.fullmatch(with_breaks.strip())
    if not pem:
        return (
            text,
            "`private_key` is not one whole PEM key, from its BEGIN line to its END line.",
        )
    label, content = pem.groups()
    body = "".join(content.split())
    if "ENCRYPTED" in label or "ENCRYPTED" in body:
        return text, "`private_key` is protected by a passphrase."
    with suppress(ValueError):
        der = base64.b64decode(body, validate=True)
        is_rsa = label == "RSA PRIVATE KEY" or RSA in der[:40]
        if not is_rsa:
            return text, "`private_key` is not an RSA key."
        if _is_whole(der):
            lines = textwrap.fill(body, 64)
            repaired = f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"
            return repaired, ""
    return text, "`private_key` is cut off or damaged."


def _is_whole(der: bytes) -> bool:
    """Return whether a DER sequence is as long as it says (X.690, section 8.1.3)."""
    if len(der) < 128:
        return False
    tag, first_octet = der[:2]
    if tag != 0x30:
        return False
    octets = first_octet & 0x7F
    if not 1 <= octets <= 4:
        return False
    start = 2 + octets
    length = int.from_bytes(der[2:start], "big")
    return len(der) == start + length


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _secret_fields(info: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values of every secret field, however deep, and those of the headers of requests to
    a token source.
    """
    for name, value in info.items():
        if isinstance(value, Mapping):
            if name == "headers":
                yield from _header_secrets(value)
            yield from _secret_fields(value)
        elif name in SECRET_FIELDS and isinstance(value, str) and value:
            yield value


def _header_secrets(headers: Mapping[str, Any]) -> Iterator[str]:
    """Yield the last word of each header, which may be a token behind `Bearer`."""
    for header in headers.values():
        if _is_text(header):
            words = header.split()
            yield words[-1]


def _whole(text: str, value: str) -> Iterator[str]:
    """Yield the configuration as it was given if that is the secret itself and not a path.

    JSON on several lines is left out: it would be masked line by line, lone braces among them.
    """
    for form in (text, value):
        is_json = form.lstrip("\ufeff").startswith("{")
        if is_json and "\n" not in form:
            yield form
        if is_json or _unwrap(form) is None:
            continue
        for line in form.split():
            if len(line) >= 16:
                yield line


def _lasting(info: Mapping[str, Any]) -> bytes | None:
    """Return the secret that a later run will have again: the private key's bytes, or the refresh
    token; None if there is none.
    """
    key = info.get("private_key")
    if key:
        body = re.sub(r"-----[^-]+-----|\s", "", key)
        return base64.b64decode(body)
    token = info.get("refresh_token")
    if token:
        return str(token).encode()
    source = info.get("source_credentials")
    if not isinstance(source, Mapping):
        return None
    return _lasting(source)
