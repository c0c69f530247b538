"""Names of inputs in messages: as they are called where the run was started, whoever words the message."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAMED = re.compile(r"`([a-z]+(?:-[a-z]+)*)(?:: ([^`]+))?`")


def renamed(text: str, names: Mapping[str, str], assign: str) -> str:
    """The text with every input in backticks under its name of `names`; one with a value is written with `assign`.

    With `UPLOADER_STATUS` for `status` and `=` to assign, a message about `status: draft` has `UPLOADER_STATUS=draft`.
    """

    def name(found: re.Match[str]) -> str:
        here = names.get(found[1])
        return found[0] if here is None else f"`{here}{assign}{found[2]}`" if found[2] else f"`{here}`"

    return _NAMED.sub(name, text) if names else text
