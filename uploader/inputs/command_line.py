"""The command line, made from the table: every input that is no secret is an option; and what is
shown of them.
"""

from __future__ import annotations

import argparse
import os
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import PurePath

from uploader import __version__
from uploader.errors import Problem, Problems
from uploader.inputs.other_tools import mistake
from uploader.inputs.parsers import InvalidValue, nearest
from uploader.inputs.table import TARGETS, Field, Show, fields

OPTIONS = (
    "an input by its name, such as `--tracks internal`; `--env-file PATH`, `--help`, `--version`."
)
ENTRYPOINT = (
    "the program was called with arguments, but takes only options. Under GitLab CI the image's "
    "entrypoint gets the runner's shell as arguments: clear it with `image: {name: …, entrypoint: "
    '[""]}` and call `uploader` in `script`.'
)
PATHS = ("files", "mapping-file", "debug-symbols")  # the lists whose words name files
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


def options(argv: Sequence[str], problems: Problems) -> tuple[Show, str, Mapping[str, str]]:
    """Reads the arguments: a text to show, with which nothing else counts; an env file's path;
    inputs as `--tracks`.
    """
    if argv and (PurePath(argv[0]).name in ("sh", "bash") or "-c" in argv):
        problems.add("arguments", ENTRYPOINT, OPTIONS, covers=("target",))
        return "", "", {}
    # Each option may lack its value or come twice, so that all mistakes are told together.
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--help", "-h", dest="show", action="store_const", const="help", default="")
    parser.add_argument("--version", dest="show", action="store_const", const="version")
    parser.add_argument("--env-file", nargs="?", const="", action="append", default=[])
    for field in fields():
        nargs, const = ("*", None) if field.many else ("?", "true" if field.switch else "")
        parser.add_argument(field.option, nargs=nargs, const=const, action="append", default=[])
    try:
        found, strays = parser.parse_known_args(argv)
    except argparse.ArgumentError:  # whose message would repeat what was given
        problems.add("arguments", "an option that takes no value has one.", OPTIONS)
        return "", "", {}
    if found.show:
        return found.show, "", {}
    given, files = dict[str, str](), list[str]()
    for field in fields():
        if values := getattr(found, field.attribute):
            words = [
                word for each in values for word in ([each] if isinstance(each, str) else each)
            ]
            misplaced = [word for word in words if _misplaced(field, word)]
            files += misplaced
            if not misplaced or misplaced != words:
                _add(
                    field,
                    [word for word in words if word not in misplaced],
                    len(values) > 1,
                    given,
                    problems,
                )
    if len(found.env_file) > 1 or "" in found.env_file:
        what = "was given twice." if len(found.env_file) > 1 else "needs the path of a file."
        problems.add("--env-file", what, OPTIONS)
    _tell_strays((word for word in strays if word != "--"), files, problems)
    return "", "".join(found.env_file[-1:]), given


def _misplaced(field: Field, word: str) -> bool:
    """Whether a file stands behind an option that takes none, as what comes last on a command line
    often does.
    """
    if field.switch:
        return not _is_value(field, word) and _is_file(word)
    return field.many and field.name not in PATHS and ARTIFACT.fullmatch(word) is not None


def _is_value(field: Field, word: str) -> bool:
    """Whether the field takes the word."""
    try:
        field.parse(word)
    except InvalidValue:
        return False
    return True


def _add(
    field: Field, words: list[str], again: bool, given: dict[str, str], problems: Problems
) -> None:
    """One input with its value; lists add up, anything else is given once, a secret never."""
    if not field.is_option:
        what = (
            "is not an option: other users of the machine could read it in the list of processes."
        )
        accepted = f"`{field.variables[-1]}` in the environment or in the file of `--env-file`."
    elif field.left_out and not "".join(words).strip():
        given[field.option] = ""  # the reader says what is wrong with it
        return
    elif not words or "" in words:
        what, accepted = "needs a value.", OPTIONS
    elif again and not field.many:
        what, accepted = "was given twice.", "one value"
    elif field.switch and not _is_value(field, words[0]):  # the word may be a part of a key
        what, accepted = (
            "is followed by a word that it does not take.",
            "`true`, `false`, or no value at all.",
        )
    else:
        given[field.option] = "\n".join(words)
        return
    problems.add(field.option, what, accepted, (field.name,))


def _tell_strays(words: Iterable[str], files: list[str], problems: Problems) -> None:
    """What is neither an option nor the value of one, repeated only where it can't be a part of a
    key.
    """
    behind_unknown = False  # what follows an option that nobody knows is taken for its values
    for word in words:
        name = word.partition("=")[0]
        if word.startswith("-") and word != "-":
            behind_unknown = True
            shown = (
                repr(name)
                if re.fullmatch(r"--?[A-Za-z][\w-]{0,40}", name)
                else "what begins with a dash"
            )
            problem = mistake(name, name.lstrip("-"), "option")
            what = f"{shown} is not an option.{nearest(name, ('--env-file',))}"
            problems.extend([problem or Problem("arguments", what, OPTIONS)])
        elif _is_file(word) and not behind_unknown:
            files.append(word)
        elif word in TARGETS and not behind_unknown:
            problems.add("arguments", f"did you mean `--target {word}`?", OPTIONS, ("target",))
        elif not behind_unknown:
            what = (
                "a word is neither an option nor the value of one. A value with blanks in it needs "
                "quotes."
            )
            problems.add("arguments", what, OPTIONS)
    if files:
        problems.add("arguments", f"did you mean `--files {' '.join(files)}`?", OPTIONS, ("files",))


def _is_file(word: str) -> bool:
    return ARTIFACT.fullmatch(word) is not None or os.path.exists(word)  # noqa: PTH110  # takes any text


def text(show: Show) -> str:
    """The text that was asked for, with its final newline."""
    if show != "help":
        return f"uploader {__version__}\n" if show == "version" else SHORT
    lines = [HELP]
    for heading, group in groupby(fields(), key=lambda field: field.group.heading):
        lines.append(f"{heading.replace('`', '')}:")
        for field in group:
            default = field.written_default or field.otherwise.replace("`", "")
            meaning = f"{field.short} Default: {default}." if default else field.short
            first, *rest = textwrap.wrap(
                meaning, 86, break_long_words=False, break_on_hyphens=False
            )
            name = field.option if field.is_option else field.variables[-1]
            lines += [f"  {name:30} {first}", *(f"{'':33}{line}" for line in rest)]
        lines.append("")
    return "\n".join([*lines, EXIT_CODES])
