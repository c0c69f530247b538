"""The command line, made from the table of inputs: every input that is not a secret is an option.
Also the texts of `--help` and `--version`.
"""

from __future__ import annotations

import argparse
import os
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import PurePath
from typing import Any

from uploader import __version__
from uploader.errors import Problem, Problems
from uploader.inputs.other_tools import mistake
from uploader.inputs.parsers import InvalidValue, nearest
from uploader.inputs.records import Show
from uploader.inputs.specs import SPECS, TARGETS, InputSpec

OPTIONS = (
    "an input by its name, such as `--tracks internal`; `--env-file PATH`, `--help`, "
    "`--version`."
)
ENTRYPOINT = (
    "the program was called with arguments, but takes only options. Under GitLab CI the image's "
    "entrypoint gets the runner's shell as arguments: clear it with `image: {name: …, entrypoint: "
    '[""]}` and call `uploader` in `script`.'
)
# the lists whose items are names of files
PATHS = ("files", "apks", "mapping-file", "debug-symbols")
ARTIFACT = re.compile(
    r"[\w .+@~/*?-]{1,200}\.(?:aab|apks?|zip|obb|eml|png|jpe?g|txt|html?|pdf|csv)"
)

DOCS = "https://github.com/OWNER/google-release-uploader/blob/main/docs"
USAGE = """\
usage: uploader [--INPUT VALUE ...] [--env-file PATH]
       uploader --help | --version

Uploads release artifacts to Google, and resumes interrupted uploads.

  uploader --target play --files app-release.aab --tracks internal
"""
SHORT = f"""\
{USAGE}
Put the service-account key into the variable UPLOADER_CREDENTIALS, as JSON, base64 or a path. To
try it without an account, add --api-endpoint emulator. `uploader --help` lists every input.

ERROR: target: is required but was not given. Nothing was sent.
"""
HELP = f"""\
{USAGE}\
  uploader --target play --package-name com.example.app --promote-from internal \\
           --tracks production --user-fraction 5%
  uploader --target play-rollout --package-name com.example.app --tracks production \\
           --rollout-steps 5%,20%,100%

The second promotes the release on the internal track; the third takes its rollout one step further
each time. With --api-endpoint emulator each is a rehearsal in the embedded emulator: no account is
needed, nothing is published.
METHODS, every other value of --target: {DOCS}/METHODS.md

Every input below is an option and an environment variable: --package-name is UPLOADER_PACKAGE_NAME,
or `package-name` under `with:` in a GitHub workflow. If both are set, the option wins; --env-file
comes last, and no other file is read for variables. The secrets (credentials, state-key) are
variables only. Lists are separated by newlines or commas, or given as several words.
"""
EXIT_CODES = f"""\
Exit codes:
  0    done
  1    an error in the program itself, or a missing Python module
  2    an input is wrong; nothing was sent
  3    no credentials, not authenticated, or not permitted
  4    the service refused the request, or can't be trusted
  5    the file changed, or the server has something other than what was sent
  6    the release was rejected or halted
  75   a temporary failure: run again to continue
  130  interrupted; 143 terminated

Every input and output: {DOCS}/REFERENCE.md
"""


@dataclass(frozen=True, repr=False)
class Arguments:
    """What was given on the command line: a text to show, the path of an env file, and the texts of
    inputs by option. If there is a text to show, nothing else counts.
    """

    show: Show = ""
    env_file: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


def read_arguments(argv: Sequence[str], problems: Problems) -> Arguments:
    """Read the arguments of the command line; every mistake is added to the problems."""
    if not argv:
        # Making the parser takes longer than reading all the other inputs of a job.
        return Arguments()
    if _is_call_of_shell(argv):
        problems.add("arguments", ENTRYPOINT, OPTIONS, covers=("target",))
        return Arguments()
    try:
        arguments, strays = _parser().parse_known_args(argv)
    except argparse.ArgumentError:
        # Its message is left out, since it would repeat the value.
        problems.add("arguments", "an option that takes no value has one.", OPTIONS)
        return Arguments()
    if arguments.show:
        return Arguments(arguments.show)
    given: dict[str, str] = {}
    misplaced_files: list[str] = []
    for spec in SPECS:
        uses = getattr(arguments, spec.attribute)
        if not uses:
            continue
        own_words: list[str] = []
        misplaced: list[str] = []
        for word in _words(uses):
            if _is_misplaced(spec, word):
                misplaced.append(word)
            else:
                own_words.append(word)
        misplaced_files += misplaced
        # An option that is followed only by misplaced files gets one message, that of the files.
        if own_words or not misplaced:
            _add(spec, own_words, len(uses) > 1, given, problems)
    env_file = _env_file(arguments.env_file, problems)
    strays = [word for word in strays if word != "--"]
    _report_strays(strays, misplaced_files, problems)
    return Arguments(env_file=env_file, options=given)


def _is_call_of_shell(argv: Sequence[str]) -> bool:
    """Return whether the arguments are those with which GitLab's runner starts a shell."""
    if not argv:
        return False
    return PurePath(argv[0]).name in ("sh", "bash") or "-c" in argv


def _parser() -> argparse.ArgumentParser:
    """Make the parser. It accepts each option without its value, and several times, so that all
    mistakes are reported together.
    """
    parser = argparse.ArgumentParser(
        add_help=False,
        allow_abbrev=False,
        exit_on_error=False,
    )
    parser.add_argument(
        "--help",
        "-h",
        dest="show",
        action="store_const",
        const="help",
        default="",
    )
    parser.add_argument(
        "--version",
        dest="show",
        action="store_const",
        const="version",
    )
    parser.add_argument(
        "--env-file",
        nargs="?",
        const="",
        action="append",
        default=[],
    )
    for spec in SPECS:
        if spec.is_list:
            parser.add_argument(
                spec.option,
                nargs="*",
                action="append",
                default=[],
            )
        else:
            const = "true" if spec.is_switch else ""
            parser.add_argument(
                spec.option,
                nargs="?",
                const=const,
                action="append",
                default=[],
            )
    return parser


def _words(uses: Iterable[str | list[str]]) -> list[str]:
    """Return the words that follow an option, over all its uses."""
    words: list[str] = []
    for use in uses:
        if isinstance(use, str):
            words.append(use)
        else:
            words += use
    return words


def _env_file(paths: Sequence[str], problems: Problems) -> str:
    """Return the path of the env file, "" if there is none. A second one, or one without a path, is
    added to the problems.
    """
    if not paths:
        return ""
    if len(paths) > 1:
        problems.add("--env-file", "was given twice.", OPTIONS)
    elif "" in paths:
        problems.add("--env-file", "needs the path of a file.", OPTIONS)
    return paths[-1]


def _is_misplaced(spec: InputSpec[Any], word: str) -> bool:
    """Return whether a word is a file's name that follows an option which takes none. This happens
    often with the last words of a command line.
    """
    if spec.is_switch:
        return not _is_value(spec, word) and _is_file(word)
    if spec.is_list and spec.name not in PATHS:
        return ARTIFACT.fullmatch(word) is not None
    return False


def _is_value(spec: InputSpec[Any], word: str) -> bool:
    """Return whether the input takes the word."""
    try:
        spec.parser(word)
    except InvalidValue:
        return False
    return True


def _add(
    spec: InputSpec[Any],
    words: list[str],
    again: bool,
    given: dict[str, str],
    problems: Problems,
) -> None:
    """Add the value of one input to `given`, or a problem. The values of lists add up; any other
    input may be given once, a secret never. `again` says that the option was used several times.
    """
    accepted = OPTIONS
    if not spec.option_allowed:
        what = (
            "is not an option: other users of the machine could read it in the list of "
            "processes."
        )
        accepted = (
            f"`{spec.variables[-1]}` in the environment or in the file of `--env-file`."
        )
    elif spec.refuse_empty and not "".join(words).strip():
        given[spec.option] = ""  # the reader says what is wrong with it
        return
    elif not words or "" in words:
        what = "needs a value."
    elif again and not spec.is_list:
        what = "was given twice."
        accepted = "one value"
    elif spec.is_switch and not _is_value(spec, words[0]):
        # The word is not shown, since it may be part of a key.
        what = "is followed by a word that it does not accept."
        accepted = "`true`, `false`, or no value at all."
    else:
        given[spec.option] = "\n".join(words)
        return
    problems.add(spec.option, what, accepted, (spec.name,))


def _report_strays(words: Iterable[str], files: list[str], problems: Problems) -> None:
    """Add a problem for each word that is neither an option nor the value of one.

    A word is repeated only if it can't be part of a key. `files` are those that follow options
    which take none; those among the words are added to them.
    """
    # The words that follow an unknown option are taken for its values.
    behind_unknown = False
    for word in words:
        if word.startswith("-") and word != "-":
            behind_unknown = True
            problems.extend([_unknown_option(word.partition("=")[0])])
        elif behind_unknown:
            continue
        elif _is_file(word):
            files.append(word)
        elif word in TARGETS:
            problems.add(
                "arguments",
                f"did you mean `--target {word}`?",
                OPTIONS,
                ("target",),
            )
        else:
            what = (
                "a word is neither an option nor the value of one. A value with spaces in it needs "
                "quotes."
            )
            problems.add("arguments", what, OPTIONS)
    if files:
        problems.add(
            "arguments",
            f"did you mean `--files {' '.join(files)}`?",
            OPTIONS,
            ("files",),
        )


def _unknown_option(name: str) -> Problem:
    """Return the problem with an option that does not exist."""
    problem = mistake(name, name.lstrip("-"), "option")
    if problem:
        return problem
    shown = "what begins with a dash"
    if re.fullmatch(r"--?[A-Za-z][\w-]{0,40}", name):
        shown = repr(name)
    what = f"{shown} is not an option.{nearest(name, ('--env-file',))}"
    return Problem("arguments", what, OPTIONS)


def _is_file(word: str) -> bool:
    """Return whether a word is the name of a file, by its form or because there is one."""
    if ARTIFACT.fullmatch(word):
        return True
    return os.path.exists(word)  # noqa: PTH110  # takes any text


def text(show: Show) -> str:
    """Return the text that was asked for, with its final newline."""
    if show == "version":
        return f"uploader {__version__}\n"
    if show != "help":
        return SHORT
    lines = [HELP]
    for group, specs in groupby(SPECS, key=lambda spec: spec.group):
        lines.append(f"{group.value.replace('`', '')}:")
        for spec in specs:
            lines += _help_entry(spec)
        lines.append("")
    return "\n".join([*lines, EXIT_CODES])


def _help_entry(spec: InputSpec[Any]) -> list[str]:
    """Return the lines of one input in the help."""
    summary = spec.summary
    default = spec.written_default or spec.otherwise.replace("`", "")
    if default:
        summary += f" Default: {default}."
    first, *rest = textwrap.wrap(
        summary,
        86,
        break_long_words=False,
        break_on_hyphens=False,
    )
    indented = [f"{'':33}{line}" for line in rest]
    return [f"  {spec.public_name:30} {first}", *indented]
