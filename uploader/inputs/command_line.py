"""The command line: three options and the text of `--help`; everything else is read from the environment."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from uploader.input_problems import Problems
from uploader.inputs.input_table import Show, fields
from uploader.inputs.invalid_value import quoted

USAGE = """\
usage: uploader [--help] [--version] [--env-file PATH]

Uploads release artifacts to Google. It resumes: what is stored is never sent again. What to do is read from the
environment; the input `package-name` is the variable UPLOADER_PACKAGE_NAME, or `package-name` under `with:` in a GitHub
workflow. An env file is read only if it is named, and the environment takes precedence over it. Lists are separated by
newlines or commas.
"""
OPTIONS = "`--help`, `--version`, `--env-file PATH`."
POSITIONAL = (
    "the program was called with arguments, but takes only options. Under GitLab CI the image's entrypoint gets the "
    'runner\'s shell as arguments: clear it with `image: {name: …, entrypoint: [""]}` and call `uploader` in `script`.'
)


class Options(NamedTuple):
    """What the command line asks for: a text to show instead of a run, or the path of an env file."""

    show: Show = ""
    env_file: str = ""


def options(argv: Sequence[str], problems: Problems) -> Options:
    """Reads the arguments. After `--help` or `--version` nothing else counts.

    What follows an unknown option is taken for its value.
    """
    path, unknown, words = "", list[str](), iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if word in ("--help", "-h", "--version"):
            return Options(show="version" if word == "--version" else "help")
        if name == "--env-file":
            path = value if equals else next(words, "")
            if not path:
                problems.add("--env-file", "needs the path of a file.", OPTIONS)
        elif word.startswith("-"):
            unknown.append(name)
        elif not unknown:
            problems.add("arguments", POSITIONAL, OPTIONS)
            break  # the rest belongs to the same foreign command line
    if unknown:
        names = ", ".join(map(quoted, unknown))
        what = f"unknown options: {names}. Inputs are environment variables, such as UPLOADER_TARGET=play."
        # One mistake, however many options: the inputs that were meant are not missing as well.
        problems.add("arguments", what, OPTIONS, covers=tuple(name.lstrip("-") for name in unknown))
    return Options(env_file=path)


def usage() -> str:
    """The text of `--help`, from the table."""
    from uploader.inputs.input_meanings import short  # texts that only the help needs

    lines = [USAGE]
    for heading, group in groupby(fields(), key=lambda field: field.group.heading):
        lines.append(f"{heading}:")
        for field in group:
            default = f" Default: {field.default}." if field.default else ""
            lines.append(f"  {field.name:28} {short(field.name)}{default}")
    return "\n".join(lines)
