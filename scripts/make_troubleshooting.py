"""Writes what a run can end with into docs/TROUBLESHOOTING.md: every failure code, with the
messages that have it.

`python -m scripts.make_troubleshooting` takes them from the program's tables, and from its source
wherever an error is made; what is known only during a run is an ellipsis.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from scripts.make_reference import ROOT, replaced
from uploader import errors
from uploader.auth.google import CAUSES
from uploader.auth.oidc import NO_TOKEN
from uploader.errors import (
    ApiError,
    CredentialsError,
    InputError,
    Interrupted,
    TemporaryError,
    UploaderError,
)
from uploader.retry import ADVICE
from uploader.services.play.known_errors import KNOWN_ERRORS

DOCUMENT = ROOT / "docs" / "TROUBLESHOOTING.md"
KINDS: dict[str, type[UploaderError]] = {
    one.__name__: one
    for one in vars(errors).values()
    if isinstance(one, type) and issubclass(one, UploaderError)
}
MADE: dict[str, type[UploaderError]] = {
    **KINDS,
    "add": InputError,
    "wrong": InputError,
    "wait": TemporaryError,
}
# all that these folders say
SUBJECTS = {"login": "auth", "network": "http", "files": "files", "state": "state"}
CAUGHT = ("BrokenPipeError", "HTTPException", "TimeoutError")  # what these say is shown to nobody
UNKNOWN = "…"
Message = tuple[int, str, str]  # exit code, failure code, words


def renewed(text: str) -> str:
    """The document with everything in it made again that is made here."""
    found = sorted(messages(), key=lambda one: one[:2])
    exits = {code: number for number, code, _ in reversed(found)}
    parts = {f"exit-{number}": "" for number in sorted(set(exits.values()))}
    for code, number in sorted(exits.items()):
        lines = dict.fromkeys(words for _, its, words in found if its == code and words)
        also = dict.fromkeys(
            f"Also with exit code {one}." for one, its, _ in found if its == code and one != number
        )
        # messages with one hint share it
        made = "\n\n".join((f"\n### {code}", *also, *lines)) + "\n"
        parts[f"exit-{number}"] += re.sub(
            r"(?m)^(\*.*\*) (\S.*)\n\n(?=\*.*\* \2$)", r"\1\\\n", made
        )
    told = " ".join(words for *_, words in found)
    for subject, folder in SUBJECTS.items():
        paths = sorted((ROOT / "uploader" / folder).glob("*.py"))
        texts = dict.fromkeys(text for path in paths for text in Source(path).texts())
        parts[subject] = (
            "\n```text\n" + "".join(f"{one}\n" for one in texts if one not in told) + "```\n"
        )
    return replaced(text, {part: f"{made}\n" for part, made in parts.items()})


def messages() -> Iterator[Message]:
    """Everything that a run can end with: the kinds of errors, the program's tables, and what its
    source makes.
    """
    kinds = [kind for kind in KINDS.values() if kind is not Interrupted]
    yield from (
        (kind.exit_code, kind.code, re.split("[;.]", " ".join(str(kind.__doc__).split()))[0] + ".")
        for kind in kinds
    )
    yield from ((end.exit_code, end.code, str(end)) for end in map(Interrupted, (2, 15)))
    for known in KNOWN_ERRORS:
        exit_code = CredentialsError.exit_code if known.permission else ApiError.exit_code
        yield exit_code, known.code, f"*{known.words}* {known.hint}"
    yield from (
        (CredentialsError.exit_code, "no-id-token", f"*{what}* {hint}")
        for what, _, hint in NO_TOKEN.values()
    )
    yield from (
        (CredentialsError.exit_code, code, f"*{said}*: {' '.join(advice)}")
        for code, said, *advice in CAUSES
    )
    yield from (
        (TemporaryError.exit_code, code, " ".join(advice)) for code, advice in ADVICE.items()
    )
    for path in sorted((ROOT / "uploader").rglob("*.py")):
        yield from Source(path).errors()


class Source:
    """One file of the program."""

    def __init__(self, path: Path) -> None:
        self.module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        self.nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        assigned = [node for node in self.nodes if isinstance(node, ast.Assign)]
        self.assigned = sorted(assigned, key=lambda node: node.lineno, reverse=True)

    def errors(self) -> Iterator[Message]:
        """The errors that are made in this file, each with its remedy, or its cause where it has
        none.
        """
        for call in (node for node in self.nodes if isinstance(node, ast.Call)):
            kind = MADE.get(ast.unparse(call.func).rpartition(".")[2])
            told = {word.arg: self.text(word.value, call.lineno) for word in call.keywords}
            given = [self.text(one, call.lineno) for one in call.args]
            code = told.get("code") or (kind.code if kind else "")
            if kind in (None, Interrupted) or UNKNOWN in code:
                continue
            if kind is not InputError:
                advice = next(
                    (
                        told[name]
                        for name in ("hint", "cause")
                        if re.search(r"\w", told.get(name, ""))
                    ),
                    "",
                )
                what = [f"*{each}*" for each in given if re.search(r"\w", each)]
                yield kind.exit_code, code, " ".join((*what[:1], advice)) if advice else ""
            elif "code" in told:
                accepted = f" Accepted: {given.pop()}." if len(given) > 1 else ""
                yield kind.exit_code, code, f"*{': '.join(given)}*{accepted}"

    def texts(self) -> Iterator[str]:
        """Every text of three words or more that the file holds, but for descriptions and for what
        is accepted.
        """
        left_out = [node.value for node in self.nodes if isinstance(node, ast.Expr)]
        left_out += [
            part for node in self.nodes if isinstance(node, ast.JoinedStr) for part in node.values
        ]
        calls = [node for node in self.nodes if isinstance(node, ast.Call)]
        left_out += [
            part for call in calls if ast.unparse(call.func) in CAUGHT for part in call.args
        ]
        left_out += [
            part for call in calls if ast.unparse(call.func).startswith("re.") for part in call.args
        ]
        left_out += [call.args[2] for call in calls if len(call.args) > 2]
        left_out += [word.value for call in calls for word in call.keywords if word.arg == "cause"]
        left_out += [
            one.value for one in self.assigned if "accepted" in ast.unparse(one.targets[0]).lower()
        ]
        for node in self.nodes:
            if isinstance(node, ast.Constant | ast.JoinedStr) and node not in left_out:
                text = re.sub(r"\{\w+\}", UNKNOWN, self.text(node, node.lineno)).strip()
                if _is_message(text):
                    yield text

    def text(self, node: ast.expr, line: int) -> str:
        """What an expression says, as far as the source tells."""
        if isinstance(node, ast.FormattedValue):
            named = isinstance(node.value, ast.Name) and node.value.id.isupper()
            return self.text(node.value, line) if named else UNKNOWN
        if isinstance(node, ast.Constant):
            return str(node.value)
        if isinstance(node, ast.JoinedStr):
            return "".join(self.text(part, line) for part in node.values)
        if isinstance(node, ast.IfExp):
            return " / ".join(
                filter(None, (self.text(node.body, line), self.text(node.orelse, line)))
            )
        if isinstance(node, ast.BoolOp):
            return self.text(node.values[-1], line)
        if isinstance(node, ast.Name):
            before = [
                one
                for one in self.assigned
                if ast.unparse(one.targets[0]) == node.id and one.lineno < line
            ]
            known = getattr(self.module, node.id, None)
            return (
                self.text(before[0].value, before[0].lineno)
                if before and not known
                else str(known or UNKNOWN)
            )
        return UNKNOWN


def _is_message(text: str) -> bool:
    """Whether a text says something by itself: three words, no half of a quotation, not just the
    name of a thing.
    """
    words = len(re.findall(r"(?<!\S)[a-z']+(?!\S)", text))
    parts = text.split("`")
    is_whole = len(parts) % 2 == 1 and not any(part.startswith((",", " ")) for part in parts[1::2])
    is_name = text.startswith(("a ", "an ")) and not text.endswith(".")
    return words > 2 and is_whole and not is_name and not text.startswith("b'")


if __name__ == "__main__":
    DOCUMENT.write_text(renewed(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
