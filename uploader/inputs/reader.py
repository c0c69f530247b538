"""Reads the inputs of a run from its environment, its command line and the env file named there.

All mistakes are collected; none of them raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from uploader.errors import Problem
from uploader.input_problems import Problems
from uploader.inputs import command_line, env_file, parse
from uploader.inputs.ci_platform import DOTENV, ID_TOKEN, Platform, detect
from uploader.inputs.input_table import METHOD, TARGETS, Field, Inputs, fields
from uploader.inputs.invalid_value import EXPANDED, REFERENCE, InvalidValue, NotExpanded, quoted, require_public

ENV_FILE = "UPLOADER_ENV_FILE"
OUTPUTS = (
    *("ID", "IDS", "EDIT_ID", "COMMITTED", "VERSION_CODE", "VERSION_CODES", "PLAN"),
    *("DOWNLOAD_URL", "DOWNLOAD_URLS"),
    *("MESSAGE_ID", "THREAD_ID", "DRAFT_ID", "BYTES_UPLOADED", "BYTES_RESENT", "ATTEMPTS", "RESUMED", "RESULTS_FILE"),
    *("CERTIFICATE_FINGERPRINT", "SHA256", "REHEARSAL", "FAILURE"),
    *("NEXT_VERSION_CODE", "LIFECYCLE", "DECISION", "UNIVERSAL_APK_SHA256"),
)


def read(environ: Mapping[str, str], argv: Sequence[str]) -> tuple[Inputs, tuple[Problem, ...]]:
    """Reads every input; `argv` is without the program's name.

    A wrong value leaves the default in place and adds a `Problem`. The only file that is opened is the env file. With
    `--help` or `--version` nothing else is read, since nothing else will be done.
    """
    problems = Problems()
    options = command_line.options(argv, problems)
    if options.show:
        return Inputs(show=options.show), ()
    path = options.env_file or environ.get(ENV_FILE, "").strip()
    variables = _variables(environ, options.inputs, env_file.read(path, problems) if path else {})
    platform = detect(environ, variables)
    if not variables and not argv and platform.kind == "console":
        return Inputs(show="usage"), ()
    values = _values(variables, platform, problems)
    _check_unknown(variables, environ, platform, problems)
    if "target" not in values and "target" not in problems.names:
        problems.add("target", "is required but was not given.", ", ".join(TARGETS) + ", or a method's id.")
    _warn_of_unused(values, platform, problems)
    _add_platform_defaults(values, platform)
    texts = (*variables.values(), platform.google_application_credentials)
    if REFERENCE.fullmatch(platform.google_application_credentials):
        what = f"{quoted(platform.google_application_credentials)} {NotExpanded().reason}"
        problems.add("GOOGLE_APPLICATION_CREDENTIALS", what, EXPANDED[platform.kind])
    files, warnings = ((Path(path),) if path else ()), tuple(problems.warnings)
    by_option = any(word.startswith("--") and not word.startswith("--env-file") for word in argv)
    names = _names(variables, platform, by_option=by_option)
    found = Inputs(**values, platform=platform, names=names, texts=texts, credential_files=files, warnings=warnings)
    return found, tuple(problems)


def _names(variables: Mapping[str, str], platform: Platform, *, by_option: bool) -> Mapping[str, str]:
    """How each input is called where this run was started: as it was given, or would be; GitHub has our names."""
    if platform.kind == "github":
        return {}
    given = {field: [name for name in field.places if name in variables] for field in fields()}
    unless = {field: field.option if by_option and field.is_option else field.variables[-1] for field in fields()}
    return {field.name: next(iter(names), unless[field]) for field, names in given.items()}


def _variables(environ: Mapping[str, str], options: Mapping[str, str], from_file: Mapping[str, str]) -> dict[str, str]:
    """Every variable and option that is meant for this program and not empty, trimmed. The file goes last."""
    replaced = {field.variables[-1] for field in fields() if field.option in options} if options else ()
    ours = [(name, value) for name, value in from_file.items() if name.startswith("UPLOADER_") and name not in replaced]
    ours += [*options.items()]
    ours += [(name, value) for name, value in environ.items() if name.startswith(("INPUT_", "UPLOADER_"))]
    return {name: value.strip() for name, value in ours if value.strip()}


def _values(variables: Mapping[str, str], platform: Platform, problems: Problems) -> dict[str, Any]:
    """The parsed values by attribute, with a warning wherever a second variable says something else."""
    values: dict[str, Any] = {}
    for field in fields():
        first, *others = [name for name in field.places if name in variables] or [""]
        for name in others:
            if variables[name] != variables[first]:
                problems.warn(f"{name} is ignored: {first} takes precedence.")
        if first:
            try:
                if not field.secret:
                    require_public(variables[first])
                values[field.attribute] = field.parse(parse.text(variables[first]))
            except InvalidValue as invalid:
                unexpanded = isinstance(invalid, NotExpanded)
                accepted = EXPANDED[platform.kind] if unexpanded else invalid.accepted and invalid.accepted + "."
                # No credential looks like a reference, but a `state-key` may.
                shown = unexpanded and field.attribute != "state_key"
                text = quoted(variables[first]) if shown else _quoted(field, variables[first], variables)
                problems.add(field.name, f"{text} {invalid.reason}", accepted)
                if field.attribute == "state_key":
                    values["state_key"] = variables[first]  # a secret all the same, to be masked
    return values


def _quoted(field: Field, text: str, variables: Mapping[str, str]) -> str:
    """The wrong value for people, unless it is a secret or contains one that was pasted into this input as well."""
    secrets = (variables[name] for other in fields() if other.secret for name in other.places if name in variables)
    hidden = field.secret or any(secret in text for secret in secrets)
    return "The value" if hidden else quoted(text)


def _check_unknown(
    variables: Mapping[str, str], environ: Mapping[str, str], platform: Platform, problems: Problems
) -> None:
    known = {ENV_FILE, DOTENV, ID_TOKEN, *(name for field in fields() for name in field.places)}
    if platform.kind == "gitlab":  # the outputs of an earlier job are in the environment of this one
        known.update(f"UPLOADER_{name}" for name in OUTPUTS)
    unknown = [name for name in variables if name not in known]
    other_tools = [name for name in environ if name.startswith("SUPPLY_") or name == "ANDROID_PUBLISHER_CREDENTIALS"]
    if unknown or other_tools:
        from uploader.inputs import unknown_inputs  # difflib and a input_table that a run with right names does without

        unknown_inputs.check(unknown, other_tools, platform.kind, problems)


def _warn_of_unused(values: Mapping[str, Any], platform: Platform, problems: Problems) -> None:
    """One warning that names what was given, differs from its default, and is not read by the target."""
    target = values.get("target")
    if not target:
        return
    reader, defaults = target if target in TARGETS else METHOD, Inputs()
    outputs = OUTPUTS if platform.kind == "gitlab" else ()  # of an earlier job, not given to this one
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
    """The defaults that depend on where the program runs: GitLab's part of a parallel job, and the state's folder."""
    if "shard" not in values and platform.node:
        with suppress(InvalidValue):  # a job that is not parallel has no index
            values["shard"] = parse.shard(platform.node)
    home = platform.temp or platform.state_home
    if "state_dir" in values:
        values["state_dir"] = platform.workspace / values["state_dir"]
    elif home:
        values["state_dir"] = home / "uploader"
