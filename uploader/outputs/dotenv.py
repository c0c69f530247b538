"""Output values as a dotenv report: what GitLab reads, and any other runner to which `UPLOADER_DOTENV` names a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from uploader.redaction import Redactor

LIMIT: Final = 5 * 1024 - 1  # bytes; GitLab wants fewer than 5 KiB
PREFIX: Final = "UPLOADER_"


def report(outputs: Mapping[str, str], redactor: Redactor) -> tuple[list[str], list[str]]:
    """The lines of the report, and the names of the outputs that were left out so that the rest fits.

    The longest go first: the short ones, single ids, always stay. A value stands on one line.
    """
    lines = {name: _line(name, redactor.one_line(value).strip()) for name, value in outputs.items()}
    left_out: list[str] = []
    while sum(len(line.encode("utf-8")) for line in lines.values()) > LIMIT:
        left_out.append(max(lines, key=lambda name: len(lines[name].encode("utf-8"))))
        del lines[left_out[-1]]
    return list(lines.values()), left_out


def _line(name: str, value: str) -> str:
    return f"{PREFIX}{re.sub('[^A-Z0-9]', '_', name.upper())}={value}\n"
