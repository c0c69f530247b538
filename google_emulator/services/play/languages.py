"""Language codes as the Play Console takes them."""

from __future__ import annotations

import re

_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def is_language(text: str) -> bool:
    """Whether the text has the form of a BCP 47 tag such as `en-US`."""
    return _LANGUAGE.fullmatch(text) is not None
