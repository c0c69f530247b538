"""The environment becomes frozen `Inputs`: this folder is the one place that knows the names of variables.

`table` says what there is, `parse` what a text means, `platform` where the program runs, `strangers` what to answer to
names that are not ours. All mistakes of one run are collected; none of them raises.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from uploader.errors import Problem
from uploader.inputs import parse
from uploader.inputs.platform import DOTENV, ID_TOKEN, Platform, detect
from uploader.inputs.relevance import ignored
from uploader.inputs.table import TARGETS, Field, Inputs, Show, table

if TYPE_CHECKING:
    from dotenv.parser import Original

__all__ = ["TARGETS", "Field", "Inputs", "Platform", "addressed", "read", "table", "usage"]

ENV_FILE = "UPLOADER_ENV_FILE"
LARGEST_ENV_FILE = 1 << 20  # characters
ENV_FILE_ACCEPTED = "UTF-8 text of NAME=value lines, at most 1 MiB."
OUTPUTS = (
    *("ID", "IDS", "EDIT_ID", "COMMITTED", "VERSION_CODE", "VERSION_CODES", "DOWNLOAD_URL", "DOWNLOAD_URLS"),
    *("MESSAGE_ID", "THREAD_ID", "DRAFT_ID", "BYTES_UPLOADED", "BYTES_RESENT", "ATTEMPTS", "RESUMED", "RESULTS_FILE"),
    *("CERTIFICATE_FINGERPRINT", "SHA256"),
)
HEADINGS = {
    "target": "Every target",
    "upload-protocol": "The transfer",
    "shard": "Files and machines",
    "package-name": "Google Play",
    "gmail-action": "Gmail (`files` are the attachments)",
    "resource-id": "Play Games, OTA, any upload method",
}
USAGE = """\
usage: uploader [--help] [--version] [--env-file PATH]

Uploads release artifacts to Google, every byte exactly once. What to do is read from the environment; the input
`package-name` is the variable UPLOADER_PACKAGE_NAME, or `package-name` under `with:` in a GitHub workflow. An env file
is read only where it is named, and the environment goes before it. Lists are separated by newlines or commas.
"""
OPTIONS = "`--help`, `--version`, `--env-file PATH`."
POSITIONAL = Problem(
    "arguments",
    "the program was called with arguments, but takes only options. Under GitLab CI the image's entrypoint gets the "
    'runner\'s shell as arguments: clear it with `image: {name: …, entrypoint: [""]}` and call `uploader` in `script`.',
    OPTIONS,
)


def read(environ: Mapping[str, str], argv: Sequence[str]) -> tuple[Inputs, tuple[Problem, ...]]:
    """Reads everything that was asked for; `argv` is without the program's name.

    A wrong value leaves the default in place and adds a `Problem`. The only file that is opened is the env file. With
    `--help` or `--version` nothing else is looked at, since nothing else will be done.
    """
    options, problems = _options(argv)
    if options.show:
        return Inputs(show=options.show), ()
    from_file = _env_file(options.path or environ.get(ENV_FILE, "").strip(), problems)
    own = dict(_own(environ, from_file))
    platform = detect(environ, own)
    values, warnings = _values(own, problems)
    _strangers(own, environ, platform, problems, warnings)
    if "target" not in values and not any("target" in problem.names for problem in problems):
        problems.append(Problem("target", "is required and was not given.", ", ".join(TARGETS) + ", or a method's id."))
    reported = OUTPUTS if platform.kind == "gitlab" else ()  # by an earlier job, not given to this one
    warnings += ignored({name: value for name, value in values.items() if name.upper() not in reported})
    _complete(values, platform)
    return Inputs(**values, platform=platform, warnings=tuple(warnings)), tuple(problems)


def addressed(problems: Sequence[Problem], platform: Platform) -> tuple[Problem, ...]:
    """The same problems; in a shell each input is also called as it is given there."""
    if platform.kind != "console":
        return tuple(problems)
    variables = {field.name: f"{field.name} ({field.variables[-1]})" for field in table()}
    return tuple(problem._replace(name=variables.get(problem.name, problem.name)) for problem in problems)


def usage() -> str:
    """The text of `--help`, from the table."""
    lines = [USAGE]
    for field in table():
        if field.name in HEADINGS:
            lines.append(f"{HEADINGS[field.name]}:")
        default = f" Default: {field.default}." if field.default else ""
        lines.append(f"  {field.name:28} {field.help.replace('`', '')}{default}")
    return "\n".join(lines)


class _Options(NamedTuple):
    show: Show = ""
    path: str = ""


def _options(argv: Sequence[str]) -> tuple[_Options, list[Problem]]:
    """The three options; argparse would cost more time than all inputs together, and exits in its own words.

    What follows an unknown option is taken for its value.
    """
    path, problems, unknown, words = "", list[Problem](), list[str](), iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if word in ("--help", "-h", "--version"):
            return _Options(show="version" if word == "--version" else "help"), []
        if name == "--env-file":
            path = value if equals else next(words, "")
            if not path:
                problems.append(Problem("--env-file", "names no file.", OPTIONS))
        elif word.startswith("-"):
            unknown.append(name)
        elif not unknown:
            return _Options(path=path), [*problems, POSITIONAL]  # the rest belongs to the same foreign command line
    return _Options(path=path), problems + ([_no_options(unknown)] if unknown else [])


def _no_options(unknown: Sequence[str]) -> Problem:
    """One mistake, however many options: the inputs that were meant are not missing besides."""
    names = ", ".join(parse.shown(name) for name in unknown)
    what = f"no option of this program: {names}. Inputs are environment variables, such as UPLOADER_TARGET=play."
    return Problem("arguments", what, OPTIONS, covers=tuple(name.lstrip("-") for name in unknown))


def _env_file(path: str, problems: list[Problem]) -> Mapping[str, str | None]:
    """The variables of the named file; nothing is searched for, and nothing in it is expanded."""
    if not path:
        return {}
    from io import StringIO

    try:
        from dotenv.parser import parse_stream  # an env file is rare: nobody else pays for python-dotenv

        bindings = list(parse_stream(StringIO(_content(path))))
    except ModuleNotFoundError as error:
        problems.append(_unread(f"the Python module {error.name}, which reads it, is missing: `pip install .` has it."))
        return {}
    except (OSError, ValueError) as error:  # ValueError: too large, not UTF-8, or a NUL in the path
        reason = getattr(error, "strerror", None) or "it is no such text"
        problems.append(_unread(f"{parse.shown(path)} can't be read: {reason}."))
        return {}
    if wrong := [f"line {_line(binding.original)}" for binding in bindings if binding.error]:
        what = f"{parse.shown(path)} holds what is not NAME=value: {', '.join(wrong[:10])}."
        problems.append(Problem("--env-file", what, ENV_FILE_ACCEPTED))
    return {binding.key: binding.value for binding in bindings if binding.key is not None}


def _unread(what: str) -> Problem:
    """The one mistake of an env file that can't be read: any input may stand in it, so none is missing besides."""
    return Problem("--env-file", what, ENV_FILE_ACCEPTED, covers=tuple(field.name for field in table()))


def _line(original: Original) -> int:
    """The number of a line; python-dotenv counts from the blank lines before it."""
    text = original.string
    return original.line + text[: len(text) - len(text.lstrip())].count("\n")


def _content(path: str) -> str:
    with Path(path).open(encoding="utf-8") as stream:
        content = stream.read(LARGEST_ENV_FILE + 1)
    if len(content) > LARGEST_ENV_FILE:
        raise ValueError
    return content


def _own(environ: Mapping[str, str], from_file: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    """Everything that seems to be meant for this program and is not empty, trimmed; the environment goes first."""
    for name, value in from_file.items():
        if name.startswith("UPLOADER_") and (value or "").strip() and not environ.get(name, "").strip():
            yield name, (value or "").strip()
    for name, text in environ.items():
        if name.startswith(("INPUT_", "UPLOADER_")) and text.strip():
            yield name, text.strip()


def _values(own: Mapping[str, str], problems: list[Problem]) -> tuple[dict[str, Any], list[str]]:
    """The parsed values by attribute, and a warning wherever a second variable says something else."""
    values: dict[str, Any] = {}
    warnings: list[str] = []
    for field in table():
        first, *others = [name for name in field.variables if name in own] or [""]
        warnings += (f"{name} is ignored: {first} goes before it." for name in others if own[name] != own[first])
        if first:
            try:
                values[field.attribute] = field.parse(parse.text(own[first]))
            except parse.Wrong as wrong:
                accepted = wrong.accepted and wrong.accepted + "."
                problems.append(Problem(field.name, f"{_shown(field, own[first], own)} {wrong.reason}", accepted))
    return values, warnings


def _shown(field: Field, text: str, own: Mapping[str, str]) -> str:
    """The wrong value for people, unless it is a secret or holds one that was pasted into this input as well."""
    secrets = (own[name] for other in table() if other.secret for name in other.variables if name in own)
    hidden = field.secret or any(secret in text for secret in secrets)
    return "The value" if hidden else parse.shown(text)


def _complete(values: dict[str, Any], platform: Platform) -> None:
    """The defaults that depend on where the program runs: GitLab's part of a parallel job, and the state's folder."""
    if "shard" not in values and platform.node:
        with contextlib.suppress(parse.Wrong):  # a job that is not parallel has no index
            values["shard"] = parse.shard(platform.node)
    home = platform.temp or platform.state_home
    if "state_dir" in values:
        values["state_dir"] = platform.workspace / values["state_dir"]
    elif home:
        values["state_dir"] = home / "uploader"


def _strangers(
    own: Mapping[str, str],
    environ: Mapping[str, str],
    platform: Platform,
    problems: list[Problem],
    warnings: list[str],
) -> None:
    """Names that are not ours: another tool's, or misspelt ones."""
    known = {ENV_FILE, DOTENV, ID_TOKEN, *(name for field in table() for name in field.variables)}
    if platform.kind == "gitlab":  # what an earlier job of ours reported is in the environment of this one
        known.update(f"UPLOADER_{name}" for name in OUTPUTS)
    unknown = [name for name in own if name not in known]
    neighbours = [name for name in environ if name.startswith("SUPPLY_") or name == "ANDROID_PUBLISHER_CREDENTIALS"]
    if unknown or neighbours:
        from uploader.inputs import unknown_inputs  # a run without such names does not pay for the table

        unknown_inputs.judge(unknown, neighbours, platform.kind, problems, warnings)
