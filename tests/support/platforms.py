"""What the platforms make of what the program writes: parsers from GitHub's runner, GitLab and the
GFM specification.

An independent witness: nothing here is shared with the program, and each parser is as strict as its
platform.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st

COMMANDS = {
    "debug",
    "notice",
    "warning",
    "error",
    "group",
    "endgroup",
    "add-mask",
    "stop-commands",
    "set-output",
    "echo",
}
FRAGMENTS = (
    "##vso[task.x]",
    "##teamcity[x]",
    "::error::",
    "::add-mask::",
    "##[error]",
    "##[",
    "::",
    ":",
    "\r",
    "\n",
    "\r\n",
    "\t",
    "%0A",
    "%",
    "|",
    "\\",
    "\\|",
    "`",
    "``",
    "<img src=x>",
    "</code>",
    "</details>",
    "<!--",
    "@octocat",
    "](https://e.vil)",
    "[x]",
    "https://e.vil",
    "www.e.vil",
    "me@e.vil",
    "\x1b[31m",
    "\x85",
    "\u2028",
    "\u202e",
    "\u200b",
    "\udcff",
    "&lt;",
    "*b*",
    "_i_",
    "~",
    "#1",
    "$x$",
    "é",
    "日本",
    " ",
    "=",
    "<<",
    ",",
    ";",
    "\x00",
    "UPLOADER_X=1",
    "```",
    "- ",
    "section_start:1:a",
    "\x0b",
    "\u3000",
)

hostile = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=6), max_size=8).map(
    "".join
)


@dataclass(frozen=True)
class Command:
    """A workflow command that the runner found in the log."""

    name: str
    data: str
    properties: dict[str, str] = field(default_factory=dict)


def where(folder: Path, kind: str, **facts: Any) -> Any:
    """The facts that a reporter reads of its platform, with real files in `folder`."""
    files = {
        "output_file": folder / "output",
        "summary_file": folder / "summary",
        "dotenv_file": None if kind == "github" else folder / "uploader.env",
    }
    common = {
        "kind": kind,
        "takes_masks": kind == "github",
        "workspace": folder,
        "debug": False,
        "color": True,
    }
    return SimpleNamespace(**{**common, **files, **facts})


def workflow_commands(log: str) -> list[Command]:
    """Every command that GitHub's runner would obey in this log, in either of its two forms."""
    found = (_colons(line) or _brackets(line) for line in re.split(r"\r\n|\r|\n", log))
    return [command for command in found if command]


def _colons(line: str) -> Command | None:
    match = re.match(r"::([^ ]*?)(?: (.*?))?::(.*)", line.lstrip(), re.DOTALL)
    if not match or match.group(1) not in COMMANDS:
        return None
    pairs = (
        pair.partition("=")
        for pair in (match.group(2) or "").strip().split(",")
        if "=" in pair
    )
    properties = {
        key: _unescaped(value, {"%3A": ":", "%2C": ","}) for key, _, value in pairs
    }
    return Command(match.group(1), _unescaped(match.group(3), {}), properties)


def _brackets(line: str) -> Command | None:
    match = re.search(r"##\[([^\] ]*)[^\]]*\](.*)", line, re.DOTALL)
    return (
        Command(match.group(1), match.group(2))
        if match and match.group(1) in COMMANDS
        else None
    )


def _unescaped(text: str, more: dict[str, str]) -> str:
    for token, meaning in {"%0D": "\r", "%0A": "\n", **more, "%25": "%"}.items():
        text = text.replace(token, meaning)
    return text


def file_commands(content: bytes) -> dict[str, str]:
    """The step outputs that GitHub's runner reads from this file; raises ValueError where it would
    fail the step.
    """
    lines = iter(content.decode("utf-8").split("\n"))
    values: dict[str, str] = {}
    for line in lines:
        equals, heredoc = line.find("="), line.find("<<")
        if not line:
            continue
        if equals >= 0 and (heredoc < 0 or equals < heredoc):
            name, _, values[name] = line.partition("=")
        elif heredoc > 0 and line[heredoc + 2 :]:
            values[line[:heredoc]] = "\n".join(_until(lines, line[heredoc + 2 :]))
        else:
            raise ValueError(f"Invalid format {line!r}")
    return values


def _until(lines: Iterator[str], delimiter: str) -> Iterator[str]:
    for line in lines:
        if line == delimiter:
            return
        yield line
    raise ValueError(f"Matching delimiter not found {delimiter!r}")


def dotenv_report(content: bytes) -> dict[str, str]:
    """The variables that GitLab reads from a dotenv report; raises ValueError where it would reject
    the report.
    """
    if len(content) >= 5 * 1024:
        raise ValueError("Dotenv Artifact Too Big")
    pairs = [
        re.fullmatch(r"([A-Za-z0-9_]+?)=(.*)\n", line)
        for line in content.decode("utf-8").splitlines(keepends=True)
    ]
    if None in pairs or len(pairs) > 20:
        raise ValueError("Invalid Format")
    return {pair.group(1): pair.group(2).strip() for pair in pairs if pair}


def tables(markdown: str) -> list[list[list[str]]]:
    """The tables of a page as rows of raw cells, split as the GFM specification (4.10) says; rows
    keep their count.
    """
    found: list[list[list[str]]] = []
    inside = False
    for line in markdown.split("\n"):
        if line.startswith("|"):
            cells = [
                cell.strip() for cell in re.findall(r"((?:\\.|[^\\|])*)\|", line[1:])
            ]
            found = [*found, []] if not inside else found
            found[-1].append(cells)
        inside = line.startswith("|")
    return [[rows[0], *rows[2:]] for rows in found]


def reading(inline: str) -> str:
    """What a reader sees of a stretch of Markdown that should hold no markup; raises ValueError
    where it holds some.
    """
    spans = re.split(r"(?<!`)`([^`\n]+)`(?!`)", inline)
    return "".join(
        part if number % 2 else _reading_of_words(part)
        for number, part in enumerate(spans)
    )


def _reading_of_words(outside_of_spans: str) -> str:
    elements = re.sub(r"<code>((?:[^<>`]|<!-- -->)*)</code>", r"\1", outside_of_spans)
    words = re.sub("&#64;<!-- -->", "&#0064;", elements)
    if re.search(
        r"&#64;|[<>`*_~\[\]\\|$@{}\n^]|#(?!\d+;)|&(?!#\d+;)|:(?=\S)|www\.", words
    ):
        raise ValueError(f"Markup in {words!r}")
    # html.unescape drops noncharacters such as U+FDD0, which browsers keep.
    return re.sub(r"&#(\d+);", lambda reference: chr(int(reference[1])), words)
