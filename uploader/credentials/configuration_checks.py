"""What each type of credential configuration must hold; where it may send a secret, `http.hosts` says.

Complaints name fields, never values.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from uploader.http.hosts import is_google, is_metadata_server, is_secure, on_loopback

SERVICE_ACCOUNT, USER = "service_account", "authorized_user"
EXTERNAL, EXTERNAL_USER = "external_account", "external_account_authorized_user"
IMPERSONATED = "impersonated_service_account"
IMPERSONATION = "service_account_impersonation_url"
REQUIRED: Mapping[str, tuple[str, ...]] = {
    SERVICE_ACCOUNT: ("client_email", "private_key", "token_uri"),
    USER: ("client_id", "client_secret", "refresh_token"),
    EXTERNAL: ("audience", "subject_token_type", "token_url"),
    EXTERNAL_USER: ("client_id", "client_secret", "refresh_token", "token_url"),
    IMPERSONATED: (IMPERSONATION,),
}
ADDRESS = re.compile(r"[^\s@/?#]+@[^\s@/?#]+")
PRINCIPAL = re.compile(r"/serviceAccounts/([^/:?#\s]+):generateAccessToken$")
PEM = re.compile(r"-----BEGIN ((?:[A-Z0-9]+ )*PRIVATE KEY)-----(.*)-----END \1-----", re.DOTALL)
AWS = "urn:ietf:params:aws:token-type:aws4_request"
RSA = bytes.fromhex("06092a864886f70d010101")  # rsaEncryption, RFC 8017 appendix A.1


def impersonation_url(account: str) -> str:
    """Where Google hands out access tokens for a service account, iam.googleapis.com's `generateAccessToken`."""
    name = quote(account, safe="@")
    return f"https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/{name}:generateAccessToken"


def principal(url: str) -> str:
    """The service account in an impersonation URL, empty when there is none."""
    found = PRINCIPAL.search(url)
    return found[1] if found else ""


def account(info: Mapping[str, Any]) -> str:
    """Who acts with a checked configuration, for people."""
    name = info.get("client_email") or principal(info.get(IMPERSONATION) or "") or info.get("account")
    return name if isinstance(name, str) and name.isprintable() else f"an {info['type']} credential"


def check(info: dict[str, Any], *, nested: bool = False) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The configuration with its key repaired and its source checked too, and everything that is wrong with it."""
    kind = str(info.get("type"))
    if kind not in REQUIRED or (nested and kind == IMPERSONATED):
        return info, (_unknown(info),)
    problems = [*_missing(info, REQUIRED[kind]), *_urls(info)]
    if info.get("universe_domain") not in (None, "googleapis.com"):
        problems.append("the field `universe_domain` names an unsupported universe; only googleapis.com is supported.")
    if kind == SERVICE_ACCOUNT and is_text(info.get("private_key")):
        key, complaint = private_key(info["private_key"])
        info = {**info, "private_key": key}
        problems += [complaint] if complaint else []
    if kind == SERVICE_ACCOUNT and not ADDRESS.fullmatch(str(info.get("client_email") or "absent@told.above")):
        problems.append("`client_email` is not an e-mail address.")
    if kind == EXTERNAL:
        problems += _token_source(info.get("credential_source"))
    if kind == IMPERSONATED:
        source, complaints = _nested(info.get("source_credentials"))
        info = {**info, "source_credentials": source}
        problems += complaints
    return info, tuple(problems)


def private_key(text: str) -> tuple[str, str]:
    r"""A PEM key in its regular form, and what is wrong with it (empty when nothing is).

    Line breaks written as the two characters `\n`, turned into blanks or lost are the usual damage on the way through
    shells and secret stores. They carry no meaning in PEM (RFC 7468, section 2), so such a key is repaired.
    """
    found = PEM.fullmatch(re.sub(r"\\+[nr]", "\n", text).strip())
    if not found:
        return text, "`private_key` is not one whole PEM key, from its BEGIN line to its END line."
    label, body = found[1], "".join(found[2].split())
    if "ENCRYPTED" in label or "ENCRYPTED" in body:
        return text, "`private_key` is protected by a passphrase."
    try:
        der = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return text, "`private_key` is damaged: its lines are not base64."
    if label != "RSA PRIVATE KEY" and RSA not in der[:40]:
        return text, "`private_key` is not an RSA key."
    if not _whole(der):
        return text, "`private_key` is cut off or damaged."
    lines = "\n".join(body[start : start + 64] for start in range(0, len(body), 64))
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n", ""


def _whole(der: bytes) -> bool:
    """Whether the outermost ASN.1 sequence is as long as it says (X.690, section 8.1.3)."""
    if len(der) < 128 or der[0] != 0x30 or not 0x81 <= der[1] <= 0x84:
        return False
    octets = der[1] & 0x7F
    return len(der) == 2 + octets + int.from_bytes(der[2 : 2 + octets], "big")


def is_text(value: object) -> bool:
    """Whether it is a string with something in it."""
    return isinstance(value, str) and bool(value.strip())


def _unknown(info: Mapping[str, Any]) -> str:
    if isinstance(info.get("installed"), dict) or isinstance(info.get("web"), dict):
        return "this is an OAuth client file, not a credential; give a service-account key."
    known = ", ".join(f"`{kind}`" for kind in REQUIRED)
    return f"the field `type` is missing, or is not one of {known}."


def _missing(info: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    absent = [f"`{name}`" for name in names if not is_text(info.get(name))]
    if absent:
        plural = "fields" if len(absent) > 1 else "field"
        yield f"the {plural} {', '.join(absent)} of this `{info['type']}` configuration must be present, as text."


def _urls(info: Mapping[str, Any], where: str = "") -> Iterator[str]:
    """What is wrong with the URLs of a configuration, or of its credential source `where` it stands.

    A user's own token_uri may be any https host; federation is configured by others, so its secrets go to Google.
    """
    for name in (name for name in info if name.endswith(("_url", "_uri")) or name == "url"):
        url = info[name]
        text = url if isinstance(url, str) else ""
        if url is None:
            continue
        if name in ("token_url", IMPERSONATION):
            if not (is_google(text) or on_loopback(text)):
                yield f"the URL in `{name}` must be https on a googleapis.com host, or a loopback address."
        elif not (is_secure(text) or (where and is_metadata_server(text))):
            yield f"the URL in `{name}`{where} must be https, or http on loopback{where and ' or a metadata server'}."
    if is_text(info.get(IMPERSONATION)) and not principal(info[IMPERSONATION]):
        yield f"the URL in `{IMPERSONATION}` must end with `/serviceAccounts/ACCOUNT:generateAccessToken`."


def _token_source(source: object) -> list[str]:
    if not isinstance(source, dict) or not source:
        return ["the field `credential_source` must be an object that says where the token comes from."]
    return list(_urls(source, " of `credential_source`"))


def _nested(source: object) -> tuple[object, list[str]]:
    if not isinstance(source, dict):
        return source, ["the field `source_credentials` must be an object, a credential configuration of its own."]
    checked, complaints = check(source, nested=True)
    return checked, [f"in `source_credentials`: {complaint}" for complaint in complaints]
