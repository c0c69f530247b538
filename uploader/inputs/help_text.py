"""What is shown instead of a run: the help, the short usage, and the completion of a shell, all from the table."""

from __future__ import annotations

import re
import textwrap
from itertools import groupby
from typing import Literal, get_args, get_origin, get_type_hints

from uploader import __version__
from uploader.inputs.input_meanings import COMPUTED, short
from uploader.inputs.input_table import TARGETS, Field, Inputs, Show, fields

WORDS = ("--help", "--version", "--env-file", "--completion")
EXAMPLE = "uploader --target play --files app-release.aab --tracks internal"
USAGE = f"""\
usage: uploader [--INPUT VALUE ...] [--env-file PATH]
       uploader --help | --version | --completion bash|zsh

Uploads release artifacts to Google, and resumes interrupted uploads.

  {EXAMPLE}
"""
SHORT = f"""\
{USAGE}
Put the service-account key into the variable UPLOADER_CREDENTIALS, as JSON, base64 or a path. To try it without an
account, add --api-endpoint emulator. `uploader --help` lists every input.

ERROR: target: is required but was not given. Nothing was sent.
"""
HELP = f"""\
{USAGE}
Every input below is an option and an environment variable: --package-name is UPLOADER_PACKAGE_NAME, or `package-name`
under `with:` in a GitHub workflow. If both are set, the variable wins; --env-file comes last, and no other file is
read for variables. The secrets (credentials, state-key) are variables only. Lists are separated by newlines or commas,
or given as several words.
"""
EXIT_CODES = """\
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

Every input and output: https://github.com/OWNER/google-release-uploader/blob/main/docs/REFERENCE.md
"""
BASH = """\
_uploader() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
    case $before in
{choices}
        {files}) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
        *) mapfile -t COMPREPLY < <(compgen -W '{options}' -- "$word") ;;
    esac
}}
complete -F _uploader uploader
"""
ZSH = """\
#compdef uploader
_uploader() {{
    _arguments \\
        '--help[show the help]' '--version[show the version]' '--env-file[a file of NAME=value lines]:file:_files' \\
{lines}
}}
compdef _uploader uploader
"""


def text(show: Show) -> str:
    """The text that was asked for, with its final newline."""
    made = {"version": _version, "usage": lambda: SHORT, "help": _help, "bash": _bash, "zsh": _zsh}
    return made[show]()


def _version() -> str:
    return f"uploader {__version__}\n"


def _help() -> str:
    lines = [HELP]
    for heading, group in groupby(fields(), key=lambda field: field.group.heading):
        lines.append(f"{heading.replace('`', '')}:")
        lines += (line for field in group for line in _entry(field))
        lines.append("")
    return "\n".join((*lines, EXIT_CODES))


def _entry(field: Field) -> list[str]:
    default = field.default or COMPUTED.get(field.name, "").replace("`", "")
    meaning = f"{short(field.name)} Default: {default}." if default else short(field.name)
    first, *rest = textwrap.wrap(meaning, 88, break_long_words=False, break_on_hyphens=False)
    return [f"  {field.name:28} {first}", *(f"{'':31}{line}" for line in rest)]


def _choices(field: Field) -> tuple[str, ...]:
    """The words that an input takes, where it takes no others."""
    hint = get_type_hints(Inputs)[field.attribute]
    if field.name == "target":
        return TARGETS
    if hint is bool:
        return "true", "false"
    return tuple(filter(None, get_args(hint))) if get_origin(hint) is Literal else ()


def _bash() -> str:
    given = [field for field in fields() if field.is_option]
    choices = [f"        {field.option}) {_words(_choices(field))}" for field in given if _choices(field)]
    files = "|".join(("--env-file", *(field.option for field in given if _names_files(field))))
    options = " ".join((*WORDS, *(field.option for field in given)))
    return BASH.format(choices="\n".join(choices), files=files, options=options)


def _words(choices: tuple[str, ...]) -> str:
    return f"""mapfile -t COMPREPLY < <(compgen -W '{" ".join(choices)}' -- "$word") ;;"""


def _zsh() -> str:
    return ZSH.format(lines=" \\\n".join(f"        {_argument(field)}" for field in fields() if field.is_option))


def _argument(field: Field) -> str:
    """One line for zsh's `_arguments`: a list may be repeated."""
    meaning = re.sub(r"[][:\\]", r"\\\g<0>", short(field.name)).replace("'", "'\\''")
    values = "_files" if _names_files(field) else f"({' '.join(_choices(field))})"
    repeated = "*" if isinstance(getattr(Inputs(), field.attribute), tuple) else ""
    return f"'{repeated}{field.option}[{meaning}]:{field.name}:{values}'"


def _names_files(field: Field) -> bool:
    return field.name.endswith(("file", "files", "directory", "dir", "symbols", "apk", "main", "patch"))
