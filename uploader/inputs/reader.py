"""Read the inputs of a run from its command line, its environment and the env file. All mistakes
are collected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from uploader.errors import Problem, Problems
from uploader.inputs import command_line, parsers
from uploader.inputs.command_line import Arguments
from uploader.inputs.other_tools import answers, mistake, nearly, printable, squash
from uploader.inputs.parsers import (
    EXPANDED,
    NOT_EXPANDED,
    InvalidValue,
    is_reference,
    quote,
)
from uploader.inputs.platform import DOTENV, ID_TOKEN, Kind, Platform, detect
from uploader.inputs.records import Inputs
from uploader.inputs.specs import (
    CREDENTIALS,
    METHOD,
    SPECS,
    STATE_KEY,
    TARGETS,
    WORKLOAD_IDENTITY_PROVIDER,
    InputSpec,
)

if TYPE_CHECKING:
    from dotenv.parser import Binding

ENV_FILE = "UPLOADER_ENV_FILE"
ENV_FILE_FORM = "UTF-8 text of NAME=value lines, at most 1 MiB."
MAX_SIZE = 1 << 20  # characters of an env file
MAX_LISTED = 10  # lines of an env file that are wrong
# python-dotenv looks for a comment after whitespace, in a time quadratic in its length
LONG_BLANK = re.compile(r"\s{257}")
# the outputs of an earlier job, which GitLab sets as variables `UPLOADER_…` in this one
OUTPUTS = (
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
    "RELEASE_RESULT",
    "TESTING_URL",
    "CONSOLE_URL",
    "SERVED",
    "SERVED_FILE",
)
# these are only checked once the login itself is right
OF_LOGIN = ("service-account", "impersonate-user")
# fastlane, Gradle Play Publisher
OTHER_TOOLS = re.compile(r"SUPPLY_(\w+)|(ANDROID_PUBLISHER_CREDENTIALS)", re.ASCII)

# Nothing but what separates the items of a list, or stands around one: `,`, `""`, `[]`.
NOTHING = re.compile(r"[\s,\[\]{}\"']*")
WHY_EMPTY: Mapping[Kind, str] = {
    "github": "The expression in the workflow (`${{ … }}`) probably has no value in this run: its "
    "name is misspelt, or the step that sets it was skipped.",
    "gitlab": "The variable that it comes from probably has no value in this job.",
    "console": "The variable that it comes from (`$NAME`) is probably not set here.",
}


class Place(NamedTuple):
    """Where an input is given, as messages name it, and the text there."""

    name: str
    text: str


# The places where each input has a value, by its name; the first one counts.
Given = Mapping[str, Sequence[Place]]
# The first place where an input is empty, by its name, if that is a mistake.
Emptied = Mapping[str, Place]


class Line(NamedTuple):
    """A line of the env file: its number, counted from 1, and the trimmed value."""

    number: int
    text: str


class Name(NamedTuple):
    """The name of a variable, its file and line if it is in the env file, else "", and whether its
    value is empty.
    """

    text: str
    line: str
    empty: bool


@dataclass(frozen=True)
class Sources:
    """Whatever was given to this run, with trimmed texts, which may be empty.

    `options` are those of the command line, `environment` the variables. `env_file` is the path of
    the env file, and `lines` has its lines by variable.
    """

    options: Mapping[str, str]
    environment: Mapping[str, str]
    env_file: str
    lines: Mapping[str, Line]

    @property
    def file_name(self) -> str:
        """The name of the env file in messages."""
        return Path(self.env_file).name

    def own_variables(self) -> dict[str, str]:
        """Return the variables of the environment whose names begin like ours and that have a
        text.
        """
        variables = {}
        for name, text in self.environment.items():
            is_ours = name.startswith(("INPUT_", "UPLOADER_"))
            if is_ours and text:
                variables[name] = text
        return variables

    def file_variables(self) -> dict[str, str]:
        """Return the variables of the env file that have a text."""
        variables = {}
        for name, line in self.lines.items():
            if line.text:
                variables[name] = line.text
        return variables

    def texts_by_place(self) -> dict[str, str]:
        """Return every text by the name that its place has in messages."""
        texts = {}
        for name, line in self.lines.items():
            texts[f"{name} in {self.file_name}"] = line.text
        texts.update(self.environment)
        texts.update(self.options)
        return texts

    def texts_of_user(self) -> list[str]:
        """Return every text that may contain a key."""
        return [
            *self.file_variables().values(),
            *self.own_variables().values(),
            *self.options.values(),
        ]

    def names(self) -> list[Name]:
        """Return the names of all variables."""
        names = []
        for name, text in self.environment.items():
            is_empty = text == ""
            names.append(Name(name, "", is_empty))
        for name, line in self.lines.items():
            where = f"{self.file_name} line {line.number}"
            is_empty = line.text == ""
            names.append(Name(name, where, is_empty))
        return names


def read(
    environ: Mapping[str, str], argv: Sequence[str]
) -> tuple[Inputs, tuple[Problem, ...]]:
    """Return every input, and the problems with them; `argv` is without the program's name.

    A wrong value leaves the default in place and adds a `Problem`. The only file that is opened is
    the env file. With `--help` or `--version` nothing else is read, since nothing else will be
    done.
    """
    problems = Problems()
    arguments = command_line.read_arguments(argv, problems)
    if arguments.show:
        return Inputs(show=arguments.show), ()
    sources = _collect(environ, arguments, problems)
    own = sources.own_variables()
    variables = {**sources.file_variables(), **own}
    platform = detect(environ, variables)

    given, emptied = _find_places(sources, problems)
    values = _parse_values(given, platform, problems)
    target = values.get("target", "")
    _refuse_emptied(emptied, given, target, platform.kind, problems)
    has_no_target = not given["target"]
    _check_names(sources.names(), has_no_target, platform, problems)
    is_bare_call = not own and not argv
    if is_bare_call and platform.kind == "console" and not problems:
        return Inputs(show="usage"), ()

    if not target and "target" not in problems.names:
        accepted = ", ".join(TARGETS) + ", or a method's id."
        problems.add("target", "is required but was not given.", accepted)
    if target:
        _warn_of_unused(target, values, platform, problems)
    lasting_state = _add_platform_defaults(values, platform)
    key_file = platform.google_application_credentials
    if is_reference(key_file):
        problems.add(
            "GOOGLE_APPLICATION_CREDENTIALS",
            f"{quote(key_file)} {NOT_EXPANDED}",
            EXPANDED[platform.kind],
        )
    # In GitHub's workflows the inputs have the names that the messages have.
    names: Mapping[str, str] = {}
    if platform.kind != "github":
        names = _names(given, emptied, argv)
    credential_files: tuple[Path, ...] = ()
    if sources.env_file:
        credential_files = (Path(sources.env_file),)
    inputs = Inputs(
        values=values,
        platform=platform,
        lasting_state=lasting_state,
        names=names,
        texts=(*sources.texts_of_user(), key_file),
        credential_files=credential_files,
        warnings=tuple(problems.warnings),
    )
    return inputs, tuple(problems)


def _collect(
    environ: Mapping[str, str], arguments: Arguments, problems: Problems
) -> Sources:
    """Read the env file, if there is one, and trim the variables."""
    environment = {name: text.strip() for name, text in environ.items()}
    path = arguments.env_file or environment.get(ENV_FILE, "")
    lines: Mapping[str, Line] = {}
    if path:
        lines = read_env_file(path, problems)
    return Sources(arguments.options, environment, path, lines)


def read_env_file(path: str, problems: Problems) -> Mapping[str, Line]:
    """Read the file that the user named, and return its lines by variable.

    The text of a line may be empty. If a variable stands in several lines, the last one counts, as
    in a shell.
    """
    lines: dict[str, Line] = {}
    wrong_lines: list[str] = []
    for binding in _parse_env_file(path, problems):
        number = _number_of(binding)
        if binding.error:
            wrong_lines.append(f"line {number}")
        elif binding.key:
            text = binding.value or ""
            lines[binding.key] = Line(number, text.strip())
    if wrong_lines:
        listed = ", ".join(wrong_lines[:MAX_LISTED])
        problems.add(
            "--env-file",
            f"{quote(path)} has lines that are not NAME=value: {listed}.",
            ENV_FILE_FORM,
        )
    return lines


def _number_of(binding: Binding) -> int:
    """Return the number of a line, counted from 1."""
    original = binding.original
    # The parser counts the blank lines before a line as a part of it.
    blank_size = len(original.string) - len(original.string.lstrip())
    blank = original.string[:blank_size]
    return original.line + blank.count("\n")


def _parse_env_file(path: str, problems: Problems) -> Sequence[Binding]:
    """Read the lines of an env file; one that can't be read adds a problem instead."""
    reason = "it is not UTF-8 text of at most 1 MiB, with at most 256 spaces in a row."
    try:
        # python-dotenv: only a run with an env file needs it
        from dotenv.parser import parse_stream

        with Path(path).open(encoding="utf-8") as stream:
            content = stream.read(MAX_SIZE + 1)
        if len(content) <= MAX_SIZE and not LONG_BLANK.search(content):
            return list(parse_stream(StringIO(content)))
    except ImportError:
        reason = (
            "the Python module dotenv, which reads it, is missing: run `pip install .`."
        )
    except OSError as error:
        reason = f"{error.strerror}."
    except ValueError:  # not UTF-8, or a NUL in the path
        pass
    # Any input may be in the file, so that none is reported as missing as well.
    every_input = tuple(spec.name for spec in SPECS)
    problems.add(
        "--env-file",
        f"{quote(path)} can't be read: {reason}",
        ENV_FILE_FORM,
        every_input,
    )
    return ()


def _find_places(sources: Sources, problems: Problems) -> tuple[Given, Emptied]:
    """Return the places where each input has a value, and the first one where it is empty, for
    inputs that refuse an empty text.

    The places are searched in this order: the option, the variables, the env file. Every text is a
    value that is not empty, not the word for leaving the input out and not the default that
    action.yml passes; the first one counts. If there is none, the places with that default are
    returned. An empty place after a value is left out.
    """
    texts = sources.texts_by_place()
    given: dict[str, list[Place]] = {}
    emptied: dict[str, Place] = {}
    for spec in SPECS:
        variable = spec.variables[-1]
        in_file = f"{variable} in {sources.file_name}"
        names = (spec.option, *spec.variables, in_file)
        places = _Places(spec)
        # Without a hyphen in the name two of the variables are the same.
        for name in dict.fromkeys(names):
            if name in texts:
                place = Place(name, texts[name])
                places.add(place)
        if places.emptied:
            emptied[spec.name] = places.emptied
        if not places.values:
            given[spec.name] = places.defaults
            continue
        given[spec.name] = places.values
        if places.omissions or places.defaults:
            used = places.values[0]
            _warn_of_word(spec, used, places.omissions, problems)
    return given, emptied


class _Places:
    """Where one input is given, in the order of precedence.

    `values` are the places with a value, of which the first counts. For an input that refuses an
    empty text, `defaults` are the places that seem to have the default of action.yml, `omissions`
    those outside the action where a person wrote the word for leaving the input out, and `emptied`
    is the first place that is empty, if no value comes before it.
    """

    def __init__(self, spec: InputSpec[Any]) -> None:
        self._spec = spec
        self.values: list[Place] = []
        self.defaults: list[Place] = []
        self.omissions: list[Place] = []
        self.emptied: Place | None = None

    def add(self, place: Place) -> None:
        """Add a place by its name and by what its text says; some add nothing."""
        spec = self._spec
        text = place.text
        from_action = place.name.startswith("INPUT_")
        is_action_default = from_action and text == spec.default
        if _is_empty(spec, text):
            is_first = self.emptied is None and not self.values
            if spec.refuse_empty and is_first:
                self.emptied = place
        elif _says_left_out(spec, text):
            # The runner passes the default of action.yml as if somebody had written it.
            if not from_action:
                self.omissions.append(place)
        elif spec.refuse_empty and is_action_default:
            self.defaults.append(place)
        else:
            self.values.append(place)


def _warn_of_word(
    spec: InputSpec[Any],
    used: Place,
    omissions: Sequence[Place],
    problems: Problems,
) -> None:
    """Warn that a value is used although another place leaves the input out, by the word for that
    or by its default.
    """
    default = f"`{spec.written_default}`, which counts as not given"
    if omissions:
        omission = omissions[0]
        what = f"{omission.name} says {default}"
    else:
        what = f"`{spec.name}` has its default, {default}"
    problems.warn(f"{what}: {used.name} is used.")


def _is_empty(spec: InputSpec[Any], text: str) -> bool:
    """Return whether a text is empty.

    If an empty text is a mistake, so are separators, quotes or brackets alone, and words like null,
    unless the text is too long for a line.
    """
    trimmed = text.strip()
    if not spec.refuse_empty or len(text) >= parsers.MAX_LINE:
        return not trimmed
    if trimmed in parsers.NO_VALUE:
        return True
    return NOTHING.fullmatch(text) is not None


def _says_left_out(spec: InputSpec[Any], text: str) -> bool:
    """Return whether a text is the word for leaving the input out. An input that has a default has
    no such word.
    """
    if spec.refuse_empty is None or spec.default:
        return False
    return text.strip() == spec.refuse_empty.word


def _refuse_emptied(
    emptied: Emptied,
    given: Given,
    target: str,
    kind: Kind,
    problems: Problems,
) -> None:
    """Add a problem for each input that is empty by mistake, if the target reads it.

    If the target is missing or wrong, it counts as one that reads all of them.
    """
    reader = target if target in TARGETS else METHOD
    for spec in SPECS:
        rule = spec.refuse_empty
        place = emptied.get(spec.name)
        if rule is None or place is None:
            continue
        targets = rule.targets or spec.targets
        if target and reader not in targets:
            continue
        text = place.text.strip()
        says_nothing = "is empty"
        if text in parsers.NO_VALUE:
            says_nothing = f"is `{text}`, which says nothing"
        consequence = f", so {rule.effect}"
        places = given[spec.name]
        if places:
            other = places[0]
            consequence = f" in {place.name}, which takes precedence over {other.name}"
        accepted = f"{rule.accepted}."
        if kind == "github" and target not in rule.required_by:
            expression = f"`${{{{ … || '{rule.word}' }}}}`"
            accepted += f" For an expression without a value: {expression}."
        why = WHY_EMPTY[kind]
        problems.add(
            spec.name,
            f"{says_nothing}{consequence}. {why}",
            accepted,
        )


def _names(given: Given, emptied: Emptied, argv: Sequence[str]) -> Mapping[str, str]:
    """Return what each input is called where this run was started: as it was given, or would be."""
    has_options = _has_options(argv)
    names = {}
    for spec in SPECS:
        emptied_place = emptied.get(spec.name)
        places = given[spec.name]
        if emptied_place:
            name = _variable_of(emptied_place)
        elif places:
            name = _variable_of(places[0])
        elif has_options:
            name = spec.public_name
        else:
            name = spec.variables[-1]
        names[spec.name] = name
    return names


def _variable_of(place: Place) -> str:
    """Return the variable or option of a place, without the env file."""
    return place.name.split()[0]


def _has_options(argv: Sequence[str]) -> bool:
    """Return whether the command line has anything besides the env file."""
    previous = ""
    for word in argv:
        is_env_file = previous == "--env-file"
        names_env_file = word.startswith("--env-file")
        if not is_env_file and not names_env_file:
            return True
        previous = word
    return False


def _parse_values(
    given: Given, platform: Platform, problems: Problems
) -> dict[str, Any]:
    """Return the parsed values by attribute, with a warning wherever something else was given as
    well.
    """
    values: dict[str, Any] = {}
    secrets = _secrets_in(given)
    for spec in SPECS:
        if not given[spec.name]:
            continue
        used, *others = given[spec.name]
        for other in others:
            if other.text != used.text:
                problems.warn(f"{other.name} is ignored: {used.name} takes precedence.")
        try:
            if not spec.secret:
                parsers.require_public(used.text)
            text = parsers.text(used.text)
            values[spec.attribute] = spec.parser(text)
        except InvalidValue as invalid:
            holds_secret = spec.secret or _holds_any(used.text, secrets)
            problem = _problem_of(
                spec,
                used.text,
                invalid,
                platform.kind,
                is_public=not holds_secret,
            )
            problems.extend([problem])
            # A `state-key` that is refused is still a secret and has to be masked.
            if spec is STATE_KEY:
                values[spec.attribute] = used.text
    return values


def _secrets_in(given: Given) -> list[str]:
    """Return the texts of the inputs that are secret."""
    secrets: list[str] = []
    for spec in SPECS:
        if spec.secret:
            places = given[spec.name]
            secrets.extend(place.text for place in places)
    return secrets


def _holds_any(text: str, secrets: Iterable[str]) -> bool:
    """Return whether a text contains a secret, which may have been pasted into any input."""
    return any(secret in text for secret in secrets)


def _problem_of(
    spec: InputSpec[Any],
    text: str,
    invalid: InvalidValue,
    kind: Kind,
    *,
    is_public: bool,
) -> Problem:
    """Return the problem with a value that its parser refuses. Only a public one is shown."""
    is_unexpanded = invalid.reason == NOT_EXPANDED
    accepted = ""
    if is_unexpanded:
        accepted = EXPANDED[kind]
    elif invalid.accepted:
        accepted = f"{invalid.accepted}."
    # No credential looks like a reference to a variable, but a `state-key` can.
    is_reference = is_unexpanded and spec is not STATE_KEY
    shown = "The value"
    if is_public or is_reference:
        shown = quote(text)
    reason = invalid.reason
    if not is_public:
        # The suggestion repeats a part of the value.
        reason = reason.partition(" Did you mean")[0]
    covers: tuple[str, ...] = ()
    if spec in (CREDENTIALS, WORKLOAD_IDENTITY_PROVIDER):
        covers = OF_LOGIN
    return Problem(
        spec.name,
        f"{shown} {reason}",
        accepted,
        covers=covers,
    )


def _check_names(
    names: Iterable[Name],
    alone: bool,
    platform: Platform,
    problems: Problems,
) -> None:
    """Check the names that are not ours: each may be an input of another tool, or misspelt.

    A name that is one letter off must not be ignored silently, with or without a value: `dry-rum:
    true` would publish. Values are not looked at, since any may be a key. `alone` says that there
    is no target, so that variables of another tool were meant for this program.
    """
    ours = _own_names(platform.kind)
    for name in names:
        if name.text in ours:
            continue
        other_tool = OTHER_TOOLS.fullmatch(name.text)
        if other_tool is None:
            _check_unknown(name, platform.kind, problems)
        elif not name.empty:
            plain = other_tool[1] or name.text
            _report_other_tool(name, plain, alone, problems)


def _own_names(kind: Kind) -> set[str]:
    """Return the variables that are ours: those of inputs, and those of outputs if they are passed
    on.
    """
    names = {ENV_FILE, DOTENV, ID_TOKEN}
    for spec in SPECS:
        names.update(spec.variables)
    # The outputs of an earlier job are in the environment of this one.
    if kind == "gitlab":
        names.update(f"UPLOADER_{name}" for name in OUTPUTS)
    return names


def _report_other_tool(
    name: Name,
    plain: str,
    alone: bool,
    problems: Problems,
) -> None:
    """Add a problem for a variable of another tool if it is `alone`; else a warning, since it may
    be meant for another step.
    """
    answer = answers().get(squash(plain))
    if answer is None:
        return
    advice = answer.advice
    if alone:
        place = name.line or name.text
        problems.add(place, f"is another tool's variable. {advice}")
        return
    problems.warn(f"{name.text} is another tool's variable and is ignored. {advice}")


def _check_unknown(name: Name, kind: Kind, problems: Problems) -> None:
    """Add a problem if a name is nearly ours, and a warning if it was surely meant for us.

    For any other variable, it is not known whose it is.
    """
    written = name.text.replace("-", "_", 1)
    prefix, _, plain = written.partition("_")
    is_prefixed = prefix.upper() == "UPLOADER"
    if name.line:
        without_prefix = name.text
        if is_prefixed:
            without_prefix = plain
        meant = nearly(without_prefix)
        if meant:
            variable = meant.variables[-1]
            problems.add(
                name.line,
                f"did you mean `{variable}`?",
                covers=(meant.name,),
            )
            return
    is_variable = not name.line
    of_action = is_variable and prefix == "INPUT"
    if of_action:
        problem = mistake(name.text, plain, "with")
    elif is_prefixed:
        problem = mistake(name.text, plain, "variable")
    else:
        return
    if problem:
        if name.line:
            problem = replace(problem, name=name.line)
        problems.extend([problem])
        return
    # Under GitHub every `INPUT_` variable is an input of this step.
    of_this_step = of_action and kind == "github"
    surely_ours = prefix == "UPLOADER" or of_this_step
    if surely_ours and not name.empty:
        problems.warn(
            f"{printable(name.text)} is not an input of this program and is ignored."
        )


def _warn_of_unused(
    target: str,
    values: Mapping[str, Any],
    platform: Platform,
    problems: Problems,
) -> None:
    """Add one warning that names what was given but is not read by the target.

    An input that was given its default is not named.
    """
    reader = target if target in TARGETS else METHOD
    # GitLab sets the outputs of an earlier job as variables of this one: nobody gave them.
    outputs: tuple[str, ...] = ()
    if platform.kind == "gitlab":
        outputs = OUTPUTS
    unused = []
    for spec in SPECS:
        if reader in spec.targets:
            continue
        if spec.attribute.upper() in outputs:
            continue
        default = spec.default_value
        value = values.get(spec.attribute, default)
        if value != default:
            unused.append(f"`{spec.name}`")
    if unused:
        listed = ", ".join(unused)
        problems.warn(f"Not read by `target: {target}`, and ignored: {listed}.")


def _add_platform_defaults(values: dict[str, Any], platform: Platform) -> bool:
    """Add the defaults that depend on where the program runs, and return whether the state lasts.

    They are GitLab's part of a parallel job, and the folder of the state.
    """
    if "shard" not in values and platform.node:
        with suppress(InvalidValue):  # a job that is not parallel has no index
            values["shard"] = parsers.shard(platform.node)
    state_dir = values.get("state_dir")
    if state_dir is not None:
        values["state_dir"] = platform.workspace / state_dir
        return True
    home = platform.temp or platform.state_home
    if home:
        values["state_dir"] = home / "uploader"
    # A CI job's folder for temporary files is deleted with the machine; a person's own folders are
    # kept.
    return platform.keeps_home and not platform.temp
