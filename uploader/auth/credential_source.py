"""Reads and checks the credentials that were given, without network, and says where they may send a
secret.

A complaint names fields and repeats no part of a credential.
"""

from __future__ import annotations

import base64
import json
import os
import re
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from uploader.auth.destinations import TOKEN_URIS, Rules, principal
from uploader.auth.token_source import with_named_certificate, wrong_source
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

SERVICE_ACCOUNT, USER = "service_account", "authorized_user"
EXTERNAL, EXTERNAL_USER = "external_account", "external_account_authorized_user"
IMPERSONATED = "impersonated_service_account"
KEYLESS, DEFAULT = "keyless", "default"
IMPERSONATION = "service_account_impersonation_url"
REQUIRED: Mapping[str, tuple[str, ...]] = {
    SERVICE_ACCOUNT: ("client_email", "private_key", "token_uri"),
    USER: ("client_id", "client_secret", "refresh_token"),
    EXTERNAL: ("audience", "subject_token_type", "token_url"),
    EXTERNAL_USER: ("client_id", "client_secret", "refresh_token", "token_url"),
    IMPERSONATED: (IMPERSONATION,),
}
# What is taken for a credential, by a field that it has.
NO_CREDENTIALS = {
    **dict.fromkeys(("installed", "web"), "an OAuth client file"),
    "project_info": "google-services.json",
}
SECRET_FIELDS = ("private_key", "client_secret", "refresh_token")
MAX_FILE = 1 << 20  # bytes; a real configuration has a few thousand
ACCEPTED = (
    "a service-account key or another google-auth credential configuration: JSON, base64 of JSON, "
    "or a path."
)
PEM = re.compile(r"-----BEGIN ((?:[A-Z0-9]+ )*PRIVATE KEY)-----(.*)-----END \1-----", re.DOTALL)
# A text that is surely a path and no secret: it ends as such files do, or names folders without a
# capital.
PATH = re.compile(
    r"[\w @+.:~/\\-]{1,200}\.(?:json|txt|key|b64|base64)|(?:~|\.\.?)?(?:/[a-z0-9._-]{1,64}){2,}"
)
RSA = bytes.fromhex("06092a864886f70d010101")  # rsaEncryption, RFC 8017 appendix A.1


@dataclass(frozen=True)
class Setting:
    """What a configuration is checked against: where requests may go, which files may be read, what
    is run.

    `commands` says whether it may name a command: it is the workflow's own, or no file of the
    workspace.
    """

    rules: Rules
    access: Access
    platform: Platform
    commands: bool = False

    @classmethod
    def of(cls, inputs: LoginInputs) -> Setting:
        """The setting of this run."""
        rules = Rules(inputs.api_endpoint, inputs.platform.server_url)
        return cls(rules, Access(Workspace.of_login(inputs), "credentials"), inputs.platform)


@dataclass(frozen=True)
class CredentialSource:
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


def parse(inputs: LoginInputs) -> CredentialSource:
    """What the inputs say about credentials, in the contract's order: given, keyless, the
    environment's, the machine's.

    Reads at most one file. Raises InputError with every mistake found.
    """
    if problems := tuple(_contradictions(inputs)):
        raise InputError(*problems)
    setting = Setting.of(inputs)
    if inputs.workload_identity_provider:
        source = _keyless(inputs)
    elif inputs.credentials:
        source = _configured("credentials", inputs.credentials, setting)
    elif variable := inputs.platform.google_application_credentials:
        source = _configured("GOOGLE_APPLICATION_CREDENTIALS", variable, setting)
    else:
        source = _machine(setting)
    if (
        inputs.impersonate_user
        and source.kind != SERVICE_ACCOUNT
        and not source.info.get(IMPERSONATION)
    ):
        what = (
            "acting for a user requires a service account, and these credentials are not for one."
        )
        accepted = "a service-account key, or a keyless login with `service-account`."
        raise InputError(Problem("impersonate-user", what, accepted))
    return source


def _contradictions(inputs: LoginInputs) -> Iterator[Problem]:
    """What can't stand together, or alone."""
    keyless = inputs.workload_identity_provider
    if inputs.credentials and keyless:
        yield Problem(
            "credentials", "given together with `workload-identity-provider`.", "one of the two."
        )
    if inputs.service_account and not keyless:
        yield Problem(
            "service-account",
            "given without `workload-identity-provider`.",
            "both, for a keyless login.",
        )
    # The consoles behind the named targets know service accounts, not pools; Cloud APIs accept a
    # pool's own identity.
    if keyless and not inputs.service_account and inputs.target and "." not in inputs.target:
        yield Problem(
            "service-account", "not given.", "the e-mail address of the account to act as."
        )


def _machine(setting: Setting) -> CredentialSource:
    """The user's gcloud login, held to the same checks as any other; else what the metadata server
    hands out.
    """
    name = "application default credentials"
    path = gcloud_login(setting.platform)
    with suppress(RuntimeError, OSError):  # a container's user may have no home
        if (setting.platform.workspace / Path(path).expanduser()).is_file():
            return _configured(name, path, setting)
    if problems := tuple(_wrong_metadata(setting)):
        raise InputError(*problems)
    return CredentialSource(DEFAULT, name, "the machine")


def _wrong_metadata(setting: Setting) -> Iterator[Problem]:
    """Variables that would make another host the metadata server, which hands out tokens and is
    believed.
    """
    accepted = "`metadata.google.internal` or `169.254.169.254`, or no such variable."
    for name in ("GCE_METADATA_HOST", "GCE_METADATA_ROOT", "GCE_METADATA_IP"):
        url = f"http://{setting.platform.google_auth.get(name) or '169.254.169.254'}/"
        if not (
            urlsplit(url).path == "/" and (is_google_metadata(url) or setting.rules.local(url))
        ):
            yield Problem(name, "names another host than Google's metadata server.", accepted)
    if setting.platform.google_auth.get("GCE_METADATA_MTLS_MODE", "none").lower() != "none":
        yield Problem("GCE_METADATA_MTLS_MODE", "is not supported.", "`none`, or no such variable.")


def _keyless(inputs: LoginInputs) -> CredentialSource:
    """The configuration that google-github-actions/auth would write, without the place that the
    token comes from.
    """
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


def _configured(origin: str, given: str, setting: Setting) -> CredentialSource:
    """JSON, base64 of JSON, or the path of a file that holds one of the two."""
    plain = _unwrapped(given)
    if plain is None:
        text, what, inside = _read(given, setting.platform.workspace)
        setting = replace(setting, commands=not inside)
    else:
        text, what = plain, ""
        setting = replace(setting, commands=origin == "credentials")
    value: object = None
    if text is not None:
        try:
            # Not strict: a shell that turned the key's \n into line breaks left no doubt about what
            # was meant.
            value = json.loads(text, strict=False)
            what = "JSON, but not an object."
        except (ValueError, RecursionError):
            what = "JSON that is cut off or damaged."
    info, problems = _checked(value, setting) if isinstance(value, dict) else ({}, [what])
    if text is None or problems:
        raise InputError(*(Problem(origin, problem, ACCEPTED) for problem in problems))
    secrets = dict.fromkeys(
        [*_named_secrets(info), *_whole(text, given), json.dumps(info, separators=(",", ":"))]
    )
    name = (
        info.get("client_email") or principal(info.get(IMPERSONATION) or "") or info.get("account")
    )
    account = (
        name if isinstance(name, str) and name.isprintable() else f"an {info['type']} credential"
    )
    return CredentialSource(info["type"], account, origin, info, tuple(secrets), _lasting(info))


def _unwrapped(given: str) -> str | None:
    """JSON as it is, or out of its base64 (standard or URL-safe, padded or not, on any number of
    lines).
    """
    given = given.strip().lstrip("\ufeff")
    if given.startswith(("{", "[", '"')):
        return given
    compact = "".join(given.split()).translate(str.maketrans("-_", "+/")).rstrip("=")
    try:
        text = (
            base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)
            .decode("utf-8-sig")
            .strip()
        )
    except ValueError:
        return None
    return text if text.startswith("{") else None


def _read(given: str, workspace: Path) -> tuple[str | None, str, bool]:
    """The JSON text in a file, or what is wrong, and whether the file is in the workspace, or a
    link there names it.

    An exception would remember what it read, so none is raised.
    """
    if "PRIVATE KEY" in given:
        return None, "a private key by itself; the whole JSON file around it is needed.", True
    inside = True
    try:
        path = workspace / Path(given).expanduser()
        with path.open("rb") as file:
            content = file.read(MAX_FILE + 1)
        root = below(os.path.realpath(workspace))
        named = below(os.path.realpath(path.parent)) + path.name
        inside = named.startswith(root) or os.path.realpath(path).startswith(root)
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: a user without a home
        if not PATH.fullmatch(given):
            return None, "neither JSON, nor base64 of JSON, nor a file that exists.", True
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            return None, f"`{given}` can't be read: {reason(error)}.", True
        where = "" if given.startswith(("/", "~")) else f" in {printable(str(workspace))}"
        return (
            None,
            f"there is no file `{given}`{where}.{printable(path_hint(given, workspace))}",
            True,
        )
    text = _unwrapped(content.decode("utf-8-sig", "replace")) if len(content) <= MAX_FILE else None
    return text, "the file holds neither JSON nor base64 of JSON.", inside


def _checked(
    info: dict[str, Any], setting: Setting, *, nested: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """The configuration with its key repaired and its source checked too, and everything that is
    wrong with it.
    """
    kind = str(info.get("type"))
    if kind not in REQUIRED or (nested and kind == IMPERSONATED):
        if what := next((what for name, what in NO_CREDENTIALS.items() if name in info), ""):
            return info, [f"this is {what}, not a credential; give a service-account key."]
        known = ", ".join(f"`{kind}`" for kind in REQUIRED)
        return info, [f"the field `type` is missing, or is not one of {known}."]
    problems: list[str] = []
    if absent := [f"`{name}`" for name in REQUIRED[kind] if not _is_text(info.get(name))]:
        fields = (
            f"field{'s' * (len(absent) > 1)} {', '.join(absent)} of this `{kind}` configuration"
        )
        problems.append(f"the {fields} must be present, as text.")
    problems += _wrong_urls(info, setting.rules)
    if info.get("universe_domain") not in (None, "googleapis.com"):
        problems.append(
            "the field `universe_domain` names an unsupported universe; only "
            "googleapis.com is supported."
        )
    if kind == SERVICE_ACCOUNT and _is_text(info.get("private_key")):
        key, complaint = _repaired(info["private_key"])
        info = {**info, "private_key": key}
        problems += [complaint] if complaint else []
    if (
        kind == SERVICE_ACCOUNT
        and "`client_email`" not in absent
        and "@" not in info["client_email"]
    ):
        problems.append("`client_email` is not an e-mail address.")
    name = {EXTERNAL: "credential_source", IMPERSONATED: "source_credentials"}.get(kind, "")
    source: Any = info.get(name)
    if name and not (isinstance(source, dict) and source):
        problems.append(
            f"the field `{name}` must be an object that says where the token comes from."
        )
    elif kind == EXTERNAL:
        problems += wrong_source(
            info, setting.rules, setting.access, setting.platform, commands=setting.commands
        )
        info = {**info, name: with_named_certificate(source, setting.platform)}
    elif kind == IMPERSONATED:
        source, complaints = _checked(source, setting, nested=True)
        info = {**info, name: source}
        problems += [f"in `{name}`: {complaint}" for complaint in complaints]
    return info, problems


def _wrong_urls(info: Mapping[str, Any], rules: Rules) -> Iterator[str]:
    """What is wrong with the URLs of a configuration: those that are asked are Google's own, others
    at least https.
    """
    for name, url in info.items():
        if url is None or not name.endswith(("_url", "_uri")):
            continue
        text = url if isinstance(url, str) else ""
        if name == "token_url":
            if not rules.token_url(text):
                yield (
                    "the URL in `token_url` must be Google's security token service, "
                    "`https://sts.googleapis.com/v1/token`, or its regional, mutual TLS or private "
                    "form; on loopback only with `api-endpoint` there."
                )
        elif name == "token_uri":
            if not rules.token_uri(text):
                yield (
                    f"the URL in `token_uri` must be Google's, `{TOKEN_URIS[0]}`; on loopback or "
                    "at another host only with `api-endpoint` there."
                )
        elif name == IMPERSONATION:
            if not rules.impersonation(text):
                yield (
                    f"the URL in `{IMPERSONATION}` must be "
                    "`https://iamcredentials.googleapis.com/v1/projects/-/"
                    "serviceAccounts/ACCOUNT:generateAccessToken`; loopback only with "
                    "`api-endpoint` there."
                )
        elif not is_secure(text):
            yield f"the URL in `{name}` must be https, or http on loopback."


def _repaired(text: str) -> tuple[str, str]:
    """A PEM key in its regular form, and what is wrong with it (empty when nothing is).

    Shells and secret stores damage line breaks, which carry no meaning in PEM (RFC 7468, section
    2): they are repaired.
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
        # X.690, section 8.1.3: how long it is
        octets = der[1] & 0x7F if len(der) >= 128 and der[0] == 0x30 else 0
        if 1 <= octets <= 4 and len(der) == 2 + octets + int.from_bytes(der[2 : 2 + octets], "big"):
            return (
                f"-----BEGIN {label}-----\n{textwrap.fill(body, 64)}\n-----END {label}-----\n",
                "",
            )
    return text, "`private_key` is cut off or damaged."


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _named_secrets(info: Mapping[str, Any]) -> Iterator[str]:
    """The values of every secret field, however deep, and of all headers that a token source is
    asked with.
    """
    for name, value in info.items():
        if isinstance(value, Mapping):
            yield from (
                text.split()[-1] for text in value.values() if name == "headers" and _is_text(text)
            )
            yield from _named_secrets(value)
        elif name in SECRET_FIELDS and isinstance(value, str) and value:
            yield value


def _whole(text: str, given: str) -> Iterator[str]:
    """What was given, where it is the secret itself and not a path. Not line by line: that would
    mask lone braces.
    """
    for form in (text, given):
        if form.lstrip("\ufeff").startswith("{"):
            yield from (form,) if "\n" not in form else ()
        elif _unwrapped(form) is not None:
            yield from (line for line in form.split() if len(line) >= 16)


def _lasting(info: Mapping[str, Any]) -> bytes | None:
    """The secret that a later run will have again: the private key's bytes, or the refresh
    token.
    """
    if key := info.get("private_key"):
        return base64.b64decode(re.sub(r"-----[^-]+-----|\s", "", key))
    if token := info.get("refresh_token"):
        return str(token).encode()
    nested = info.get("source_credentials")
    return _lasting(nested) if isinstance(nested, Mapping) else None
