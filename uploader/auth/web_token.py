"""Reads JSON Web Tokens (RFC 7519), to show people what is in one. Nothing is verified."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from uploader.files.workspace import printable

_WEB_TOKEN = re.compile(r"([\w-]+)\.([\w-]*)\.[\w-]*", re.ASCII)
_MAX_CLAIM = 200  # characters that are shown
# What a provider's conditions are about, by the claims of GitHub and of GitLab.
_SHOWN = {
    "iss": "issuer",
    "sub": "subject",
    "aud": "audience",
    "repository": "repository",
    "project_path": "project",
    # claims of both systems, under their own names, as conditions use them
    "environment": "environment",
    "ref_type": "ref_type",
    "ref_protected": "ref_protected",
}


def is_web_token(text: str) -> bool:
    """Return whether the text has the form of a token: its first part is an object that names the
    algorithm.
    """
    parts = _WEB_TOKEN.fullmatch(text)
    return parts is not None and "alg" in _object(parts[1])


def describe_claims(token: str) -> str:
    """Return a sentence with the claims that a provider's conditions are about, such as the issuer,
    the repository and whether the ref is protected, and nothing else of the token; empty if it has
    none of them.
    """
    parts = _WEB_TOKEN.fullmatch(token)
    if not parts:
        return ""
    claims = _object(parts[2])
    facts = []
    for name, meaning in _SHOWN.items():
        value = claims.get(name)
        if isinstance(value, list):
            value = ", ".join(map(str, value))
        if isinstance(value, str) and value:
            facts.append(f"{meaning} `{printable(value[:_MAX_CLAIM])}`")
    if not facts:
        return ""
    return f"The job's token has {', '.join(facts)}."


def decode(text: str) -> bytes:
    """Decode base64 in either alphabet, padded or not. Raises ValueError."""
    without_blanks = "".join(text.split())
    plain = without_blanks.translate(str.maketrans("-_", "+/"))
    plain = plain.rstrip("=")
    padding = "=" * (-len(plain) % 4)
    return base64.b64decode(plain + padding, validate=True)


def _object(part: str) -> Mapping[str, Any]:
    """Return the JSON object in a part of a token; empty if there is none."""
    try:
        value = json.loads(decode(part))
    except (ValueError, RecursionError):
        return {}
    if not isinstance(value, dict):
        return {}
    return value
