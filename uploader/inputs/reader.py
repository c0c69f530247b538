"""Reads the inputs of a run from its command line, its environment and the env file; all mistakes
are collected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from uploader.errors import Problem, Problems
from uploader.inputs import command_line, parsers
from uploader.inputs.other_tools import answers, mistake, nearly, printable, squashed
from uploader.inputs.parsers import EXPANDED, NOT_EXPANDED, InvalidValue, is_reference, quoted
from uploader.inputs.platform import DOTENV, ID_TOKEN, Kind, Platform, detect
from uploader.inputs.table import METHOD, TARGETS, Field, Inputs, fields

ENV_FILE = "UPLOADER_ENV_FILE"
MAX_SIZE = 1 << 20  # characters of an env file
# python-dotenv needs the square of its length to look for a comment behind it
LONG_BLANK = re.compile(r"\s{257}")
OUTPUTS = (  # which GitLab sets in a later job
    "ID",
    "IDS",
    "EDIT_ID",
    "COMMITTED",
    "VERSION_CODE",
    "VERSION_CODES",
    "PLAN",
    "DOWNLOAD_URL",
    "DOWNLOAD_URLS",
    "MESSAGE_ID",
    "THREAD_ID",
    "DRAFT_ID",
    "BYTES_UPLOADED",
    "BYTES_RESENT",
    "ATTEMPTS",
    "RESUMED",
    "RESULTS_FILE",
    "CERTIFICATE_FINGERPRINT",
    "SHA256",
    "REHEARSAL",
    "FAILURE",
    "NEXT_VERSION_CODE",
    "LIFECYCLE",
    "DECISION",
    "UNIVERSAL_APK_SHA256",
    "SENT_FOR_REVIEW",
    "APPS",
)
# whether they fit is known once the login itself is right
OF_LOGIN = ("service-account", "impersonate-user")
# fastlane, Gradle Play Publisher
OTHER_TOOLS = re.compile(r"SUPPLY_(\w+)|(ANDROID_PUBLISHER_CREDENTIALS)", re.ASCII)

# Nothing but what separates the items of a list, or stands around one: `,`, `""`, `[]`.
NOTHING = re.compile(r"[\s,\[\]{}\"']*")
WHY_EMPTY: Mapping[Kind, str] = {
    "github": "The expression in the workflow (`${{ … }}`) probably has no value in this run: its "
    "name is misspelt, or the step that sets it was skipped.",
    "gitlab": "The variable that it is made of probably has no value in this job.",
    "console": "The variable that it is made of (`$NAME`) is probably not set here.",
}

# By the name of an input, the places in which it stands and its text there; the first counts.
Given = Mapping[str, Sequence[tuple[str, str]]]


class Name(NamedTuple):
    """The name of a variable, with its line where it stands in the env file, and whether its text
    is empty.
    """

    text: str
    line: str = ""
    empty: bool = False


class Emptied(NamedTuple):
    """An input that says nothing: the place in which it stands, and its text there (`null` says
    nothing, too).
    """

    place: str
    text: str


def read(environ: Mapping[str, str], argv: Sequence[str]) -> tuple[Inputs, tuple[Problem, ...]]:
    """Reads every input; `argv` is without the program's name.

    A wrong value leaves the default in place and adds a `Problem`. The only file that is opened is
    the env file. With `--help` or `--version` nothing else is read, since nothing else will be
    done.
    """
    problems = Problems()
    show, path, options = command_line.options(argv, problems)
    if show:
        return Inputs(show=show), ()
    path = path or environ.get(ENV_FILE, "").strip()
    file = Path(path).name
    lines = read_env_file(path, problems) if path else {}
    everything = {name: text.strip() for name, text in environ.items()}
    variables = {name: text for name, text in everything.items() if text}
    own = {
        name: text for name, text in variables.items() if name.startswith(("INPUT_", "UPLOADER_"))
    }
    filled = {name: line for name, line in lines.items() if line[1]}
    in_file = {name: text for name, (_, text) in filled.items()}
    texts = {**{f"{name} in {file}": text for name, text in in_file.items()}, **own, **options}
    written = {
        **{f"{name} in {file}": text for name, (_, text) in lines.items()},
        **everything,
        **options,
    }
    given, emptied = _places(written, file, problems)
    platform = detect(environ, in_file | own)
    values = _values(given, platform, problems)
    _refuse_emptied(emptied, given, values.get("target", ""), platform.kind, problems)
    names = [Name(name, empty=not text) for name, text in everything.items()]
    names += [
        Name(name, f"{file} line {number}", empty=not text)
        for name, (number, text) in lines.items()
    ]
    _check_names(names, not given["target"], platform, problems)
    if not own and not argv and platform.kind == "console" and not problems:
        return Inputs(show="usage"), ()
    if "target" not in values and "target" not in problems.names:
        problems.add(
            "target", "is required but was not given.", ", ".join(TARGETS) + ", or a method's id."
        )
    _warn_of_unused(values, platform, problems)
    _add_platform_defaults(values, platform)
    if is_reference(key := platform.google_application_credentials):
        problems.add(
            "GOOGLE_APPLICATION_CREDENTIALS",
            f"{quoted(key)} {NOT_EXPANDED}",
            EXPANDED[platform.kind],
        )
    found = Inputs(
        **values,
        platform=platform,
        tag=platform.tag,
        impersonated="impersonate_user" in values,
        # GitHub has our names
        names=_names(given, emptied, argv) if platform.kind != "github" else {},
        texts=(*texts.values(), key),
        credential_files=(Path(path),) if path else (),
        warnings=tuple(problems.warnings),
    )
    return found, tuple(problems)


def read_env_file(path: str, problems: Problems) -> Mapping[str, tuple[int, str]]:
    """What the file that the user named has, by variable: the number of the line, and the value,
    perhaps an empty one.

    Where a variable stands in several lines, the last one counts, as in a shell.
    """
    found, wrong, lines = dict[str, tuple[int, str]](), list[str](), None
    reason = "it is not UTF-8 text of at most 1 MiB, with at most 256 blanks in a row."
    accepted = "UTF-8 text of NAME=value lines, at most 1 MiB."
    try:
        # python-dotenv: only a run with an env file needs it
        from dotenv.parser import parse_stream

        with Path(path).open(encoding="utf-8") as stream:
            content = stream.read(MAX_SIZE + 1)
        if len(content) <= MAX_SIZE and not LONG_BLANK.search(content):
            lines = list(parse_stream(StringIO(content)))
    except ImportError:
        reason = "the Python module dotenv, which reads it, is missing: run `pip install .`."
    except OSError as error:
        reason = f"{error.strerror}."
    except ValueError:  # not UTF-8, or a NUL in the path
        pass
    if lines is None:  # any input may be in the file, so that none is missing as well
        every = tuple(field.name for field in fields())
        problems.add("--env-file", f"{quoted(path)} can't be read: {reason}", accepted, every)
    for line in lines or ():
        written, text = line.original.string, (line.value or "").strip()
        # It begins with the blank lines before it.
        number = line.original.line + written[: len(written) - len(written.lstrip())].count("\n")
        if line.error:
            wrong.append(f"line {number}")
        elif line.key:
            found[line.key] = number, text
    if wrong:
        what = f"{quoted(path)} has lines that are not NAME=value: {', '.join(wrong[:10])}."
        problems.add("--env-file", what, accepted)
    return found


def _places(
    texts: Mapping[str, str], file: str, problems: Problems
) -> tuple[dict[str, list[tuple[str, str]]], dict[str, Emptied]]:
    """Where each input is given, by its name, and each whose first text is a mistake because it
    says nothing.

    `texts` are all texts by their places, empty ones too; `file` is the name of the env file.
    """
    given: dict[str, list[tuple[str, str]]] = {}
    emptied: dict[str, Emptied] = {}
    for field in fields():
        found: list[tuple[str, str]] = []
        defaults: list[tuple[str, str]] = []  # of action.yml, as far as can be seen
        # the places in which a person wrote the word for leaving the input out
        left_out: list[str] = []
        # Without a hyphen two of the variables are the same.
        for place in dict.fromkeys(
            (field.option, *field.variables, f"{field.variables[-1]} in {file}")
        ):
            text = texts.get(place)
            if text is None:
                continue
            from_action = place.startswith("INPUT_")
            if _is_empty(field, text):
                if field.left_out and not found:
                    emptied.setdefault(field.name, Emptied(place, text))
            elif _says_left_out(field, text):
                if not from_action:
                    left_out.append(place)
            elif field.left_out and from_action and text == field.default:
                defaults.append((place, text))
            else:
                found.append((place, text))
        if found and (left_out or defaults):
            _warn_of_word(field, found[0][0], left_out, problems)
        given[field.name] = found or defaults
    return given, emptied


def _warn_of_word(field: Field, used: str, left_out: Sequence[str], problems: Problems) -> None:
    """Says which of two places counts where the other one has the word, or the default, that stands
    for neither.
    """
    if left_out:
        what = f"{left_out[0]} says `{field.written_default}`, which counts as not given"
    else:
        what = (
            f"`{field.name}` has its default, `{field.written_default}`, which counts as not given"
        )
    problems.warn(f"{what}: {used} is used.")


def _is_empty(field: Field, text: str) -> bool:
    """Whether a text says nothing; where that is a mistake, so do separators, quotes, brackets, and
    words like null.
    """
    if field.left_out and len(text) < parsers.MAX_LINE:
        return NOTHING.fullmatch(text) is not None or text.strip() in parsers.NO_VALUE
    return not text.strip()


def _says_left_out(field: Field, text: str) -> bool:
    """Whether a text is the word for leaving the input out; a default that is a value is given like
    any other.
    """
    return field.left_out is not None and not field.default and text.strip() == field.left_out.word


def _refuse_emptied(
    emptied: Mapping[str, Emptied], given: Given, target: str, kind: Kind, problems: Problems
) -> None:
    """Adds a mistake for each input that says nothing, where the target reads it; an unknown target
    reads all.
    """
    reader = target if target in TARGETS else METHOD
    for field in fields():
        left_out = field.left_out
        if left_out is None or field.name not in emptied:
            continue
        readers = left_out.targets or field.group.targets
        if target and readers and reader not in readers:
            continue
        place, text = emptied[field.name]
        says_nothing = (
            f"is `{text.strip()}`, which says nothing"
            if text.strip() in parsers.NO_VALUE
            else "is empty"
        )
        if given[field.name]:
            other, _ = given[field.name][0]
            what = f"{says_nothing} in {place}, which goes before {other}. {WHY_EMPTY[kind]}"
        else:
            what = f"{says_nothing}, so {left_out.effect}. {WHY_EMPTY[kind]}"
        accepted = f"{left_out.accepted}."
        if kind == "github" and target not in left_out.required_by:
            accepted += f" For an expression without a value: `${{{{ … || '{left_out.word}' }}}}`."
        problems.add(field.name, what, accepted)


def _names(given: Given, emptied: Mapping[str, Emptied], argv: Sequence[str]) -> Mapping[str, str]:
    """How each input is called where this run was started: as it was given, or would be."""
    words = [
        word for before, word in zip(("", *argv), argv, strict=False) if before != "--env-file"
    ]
    typed = any(not word.startswith("--env-file") for word in words)
    names = {
        field.name: field.option if typed and field.is_option else field.variables[-1]
        for field in fields()
    }
    names |= {name: places[0][0].split()[0] for name, places in given.items() if places}
    return names | {name: empty.place.split()[0] for name, empty in emptied.items()}


def _values(given: Given, platform: Platform, problems: Problems) -> dict[str, Any]:
    """The parsed values by attribute, with a warning wherever something else was given as well."""
    values: dict[str, Any] = {}
    secrets = [text for field in fields() if field.secret for _, text in given[field.name]]
    for field in fields():
        if not given[field.name]:
            continue
        (place, text), *others = given[field.name]
        for other, ignored in others:
            if ignored != text:
                problems.warn(f"{other} is ignored: {place} takes precedence.")
        try:
            if not field.secret:
                parsers.require_public(text)
            values[field.attribute] = field.parse(parsers.text(text))
        except InvalidValue as invalid:
            unexpanded = invalid.reason == NOT_EXPANDED
            accepted = (
                EXPANDED[platform.kind]
                if unexpanded
                else invalid.accepted and invalid.accepted + "."
            )
            # No credential looks like a reference, but a `state-key` may; a secret may be pasted
            # into any input.
            public = not field.secret and not any(secret in text for secret in secrets)
            shown = (
                quoted(text)
                if public or (unexpanded and field.name != "state-key")
                else "The value"
            )
            # which repeats it
            reason = invalid.reason if public else invalid.reason.partition(" Did you mean")[0]
            covers = OF_LOGIN if field.name in ("credentials", "workload-identity-provider") else ()
            problems.add(field.name, f"{shown} {reason}", accepted, covers)
            if field.name == "state-key":  # a wrong one is a secret all the same, to be masked
                values[field.attribute] = text
    return values


def _check_names(
    names: Iterable[Name], alone: bool, platform: Platform, problems: Problems
) -> None:
    """Names that are not ours: another tool's input or a misspelt one is a mistake, another
    `UPLOADER_…` a warning.

    A name one letter off must not pass in silence, with or without a value: `dry-rum: true` would
    publish. Beyond that nobody can tell whose a variable is; under GitHub an unknown input is a
    warning too. Values are not looked at: any may be a key. `alone`: nothing else says what to do.
    """
    known = {ENV_FILE, DOTENV, ID_TOKEN, *(name for field in fields() for name in field.variables)}
    # the outputs of an earlier job are in the environment of this one
    if platform.kind == "gitlab":
        known.update(f"UPLOADER_{name}" for name in OUTPUTS)
    for name, where, empty in names:
        prefix, _, plain = name.replace("-", "_", 1).partition("_")
        prefixed = prefix.upper() == "UPLOADER"
        if name in known:
            continue
        if other := OTHER_TOOLS.fullmatch(name):  # of another step perhaps
            if empty:
                continue
            _, answer = answers().get(squashed(other[1] or name), ("", ""))
            if answer and alone:
                problems.add(where or name, f"is another tool's variable. {answer}")
            elif answer:
                problems.warn(f"{name} is another tool's variable and is ignored. {answer}")
        elif where and (meant := nearly(plain if prefixed else name)):
            problems.add(where, f"did you mean `{meant.variables[-1]}`?", covers=(meant.name,))
        elif (prefix == "INPUT" and not where) or prefixed:
            if problem := mistake(name, plain, "with" if prefix == "INPUT" else "variable"):
                problems.extend([replace(problem, name=where or problem.name)])
            elif not empty and (
                prefix == "UPLOADER" or (prefix == "INPUT" and platform.kind == "github")
            ):
                problems.warn(f"{printable(name)} is not an input of this program and is ignored.")


def _warn_of_unused(values: Mapping[str, Any], platform: Platform, problems: Problems) -> None:
    """One warning that names what was given, differs from its default, and is not read by the
    target.
    """
    target = values.get("target")
    if not target:
        return
    reader, defaults = target if target in TARGETS else METHOD, Inputs()
    # of an earlier job, not given to this one
    outputs = OUTPUTS if platform.kind == "gitlab" else ()
    names = [
        f"`{field.name}`"
        for field in fields()
        if reader not in (field.group.targets or (reader,))
        and field.attribute.upper() not in outputs
        and values.get(field.attribute, default := getattr(defaults, field.attribute)) != default
    ]
    if names:
        problems.warn(f"Not read by `target: {target}`, and ignored: {', '.join(names)}.")


def _add_platform_defaults(values: dict[str, Any], platform: Platform) -> None:
    """The defaults that depend on where the program runs: GitLab's part of a parallel job, and the
    state's folder.
    """
    if "shard" not in values and platform.node:
        with suppress(InvalidValue):  # a job that is not parallel has no index
            values["shard"] = parsers.shard(platform.node)
    home = platform.temp or platform.state_home
    # A CI job's folder for temporary files goes with the machine; a person's own folders are there
    # tomorrow.
    values["lasting_state"] = "state_dir" in values or (platform.keeps_home and not platform.temp)
    if "state_dir" in values:
        values["state_dir"] = platform.workspace / values["state_dir"]
    elif home:
        values["state_dir"] = home / "uploader"
