"""Writes two tables into docs/TROUBLESHOOTING.md: Google Play's messages, and every code of the output `failure`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from scripts.make_reference import ROOT, replaced, table
from uploader import errors
from uploader.auth.google import CAUSES
from uploader.errors import ApiError, CredentialsError, InputError, Interrupted, TemporaryError, UploaderError
from uploader.retry import ADVICE
from uploader.services.play.known_errors import KNOWN_ERRORS

EXIT = {True: CredentialsError.exit_code, False: ApiError.exit_code}
DOCUMENT = ROOT / "docs" / "TROUBLESHOOTING.md"


def renewed(text: str) -> str:
    """The document with its tables made again."""
    words = ((one.words, one.cause, one.hint, str(EXIT[one.permission]), f"`{one.code}`") for one in KNOWN_ERRORS)
    messages = (tuple(cell.replace("|", "\\|") for cell in row) for row in words)
    codes = ((str(number), ", ".join(f"`{code}`" for code in codes)) for number, codes in failures().items())
    header = ("Google's words", "likely cause", "what to do", "exit", "`failure`")
    return replaced(text, {"messages": table(header, messages), "failures": table(("exit", "`failure`"), codes)})


def failures() -> dict[int, list[str]]:
    """Every code that a run can end with, by exit code: those of the kinds of errors first, then particular ones."""
    kinds = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, UploaderError)]
    found = [(one.exit_code, one.code) for one in kinds if one is not Interrupted]
    found += [(end.exit_code, end.code) for end in map(Interrupted, (2, 15))]
    particular = [(EXIT[known.permission], known.code) for known in KNOWN_ERRORS]
    particular += [(TemporaryError.exit_code, code) for code in ADVICE]
    particular += [(CredentialsError.exit_code, code) for code, *_ in CAUSES]
    particular += [given for file in (ROOT / "uploader").rglob("*.py") for given in _given(file)]
    by_exit: dict[int, list[str]] = {}
    for number, code in dict.fromkeys((*found, *sorted(particular))):
        by_exit.setdefault(number, []).append(code)
    return dict(sorted(by_exit.items()))


def _given(file: Path) -> Iterator[tuple[int, str]]:
    """The codes that are given to an error, or to a problem with an input, where it is made."""
    for call in (node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.Call)):
        kind = getattr(errors, ast.unparse(call.func), InputError)
        for word in call.keywords:
            if word.arg == "code" and isinstance(word.value, ast.Constant):
                yield getattr(kind, "exit_code", InputError.exit_code), str(word.value.value)


if __name__ == "__main__":
    DOCUMENT.write_text(renewed(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
