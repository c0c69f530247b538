"""Recognises what people give in place of credentials, and credentials with something around them.

Each message completes "credentials: …". It names the form of what was given and repeats no part of
it, because it may be a secret.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Final

_EXPRESSION: Final = re.compile(r"\$?\{\{.*\}\}|(?:secrets|vars|env)\.\w+", re.DOTALL)
_CERTUTIL: Final = "-----BEGIN CERTIFICATE-----"
_API_KEY: Final = re.compile(r"AIza[\w-]{30,60}", re.ASCII)
_ACCESS_TOKEN: Final = re.compile(r"ya29\.[\w.-]+", re.ASCII)
_ADDRESS: Final = re.compile(r"[^\s@{}\"]{1,100}@[\w.-]{1,200}\.[a-z]{2,20}", re.ASCII)
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
# the first byte of a PKCS #12 file (RFC 7292), and of keys without text
_DER: Final = b"\x30"


def describe_form(value: str) -> str:
    """Return what a value is that is neither JSON, nor base64 of JSON, nor the path of a file;
    empty if its form is not recognised.
    """
    text = value.strip()
    if text and set(text) == {"*"}:
        return (
            "asterisks, which a log shows in place of a secret; give the secret itself."
        )
    if _EXPRESSION.fullmatch(text):
        return (
            "an expression that the CI system did not evaluate; in GitHub's workflows it is "
            "`${{ secrets.NAME }}`, with the dollar sign and both pairs of braces."
        )
    if _has_json_inside(text):
        return (
            "JSON with something around it, such as quotes or a name; leave only the JSON, from "
            "its first brace to its last."
        )
    if "PRIVATE KEY" in text:
        return "a private key by itself; the whole JSON file around it is needed."
    if text.startswith(_CERTUTIL):
        return (
            "base64 between the lines of a certificate, as `certutil -encode` writes it; remove "
            "the first and the last line."
        )
    if text.startswith("data:"):
        return "a data URL; give only what comes after its comma."
    if _API_KEY.fullmatch(text):
        return "an API key, which can't change anything; give the JSON key of a service account."
    if _ACCESS_TOKEN.fullmatch(text):
        return (
            "an access token, which expires within hours; give a service-account key."
        )
    if _ADDRESS.fullmatch(text):
        return (
            "an e-mail address; give the account's JSON key, or log in without a key, with "
            "`workload-identity-provider` and `service-account`."
        )
    return _in_base64(text)


def describe_damage(text: str, error: ValueError | RecursionError) -> str:
    """Return what is wrong with text that begins as JSON and can't be read."""
    text = text.strip()
    if _EXPRESSION.fullmatch(text):
        return describe_form(text)
    if text == "{":
        return (
            "only the first line of a JSON file; keep the file in one line (`jq -c . key.json`) or "
            "in base64."
        )
    if _is_object(text.replace('\\"', '"')):
        return 'JSON whose quotes have backslashes before them (`\\"`); give the file as it is.'
    if '"' not in text and "private_key" in text:
        return (
            "JSON without its quotes, which a shell removed; put the variable in double quotes "
            "there, or keep the file in base64."
        )
    if not isinstance(error, json.JSONDecodeError):
        return "JSON that is damaged."
    if error.msg.startswith("Unterminated string") or error.pos >= len(text):
        return "JSON that is cut off."
    return f"JSON that is damaged at line {error.lineno}, column {error.colno}."


def no_object(value: object) -> str:
    """Return what is wrong with JSON that is no object."""
    if isinstance(value, str) and _is_object(value):
        return (
            "JSON inside a JSON string, with quotes around it; give the object itself."
        )
    return "JSON, but not an object."


def _in_base64(text: str) -> str:
    """Return what base64 text contains instead of JSON; empty if it is not base64, or its content
    is not recognised.
    """
    try:
        content = base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        return ""
    if content.startswith(_UTF_16):
        return "base64 of text in UTF-16; encode the file itself, as Google wrote it (UTF-8)."
    if content.startswith(_DER) and len(content) > 256:
        return "base64 of a P12 file or of another binary key; give the JSON key of the account."
    try:
        decoded = base64.b64decode(b"".join(content.split()), validate=True)
    except ValueError:
        return ""
    if decoded.lstrip().startswith(b"{"):
        return "base64 of base64; encode the file once."
    return ""


def _has_json_inside(text: str) -> bool:
    start, end = text.find("{"), text.rfind("}")
    return 0 <= start < end and _is_object(text[start : end + 1])


def _is_object(text: str) -> bool:
    try:
        # Not strict: line breaks in the key's text are repaired later.
        return isinstance(json.loads(text, strict=False), dict)
    except (ValueError, RecursionError):
        return False
