"""Makes everything that people read about inputs and outputs from the tables: both actions,
GitLab's component and pages.

`python -m scripts.make_reference` writes them all; `tests/test_contract.py` checks that they are up
to date.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from uploader.inputs import SPECS, InputSpec
from uploader.inputs.other_tools import Row, tools
from uploader.inputs.records import Record

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 112
# The text between two comment lines of this kind is generated; everything else in a file is written
# by hand.
MADE = r"(?ms)^([^\n]*made-by-scripts:{part}\b[^\n]*\n)(.*?)(^[^\n]*end:{part}\b)"

OUTPUTS: Mapping[str, str] = {
    "id": "The resource id of the first file.",
    "ids": "The resource ids of all files, separated by commas, in the order of `files`.",
    "edit-id": "The Play edit of one app. Empty after a dry run, after most failures, or if "
    "nothing had to change.",
    "committed": "`true` if everything that was asked for is committed on Google Play, or nothing "
    "had to be changed; `false` if the run saw that it is not, and in every rehearsal; empty if "
    "that is not known: nothing was compared yet, or the answer to a commit was lost.",
    "sent-for-review": "`true` if what was committed was sent for review; `false` if a person has "
    "to send it in the Play Console; empty if that is not known, and in every rehearsal.",
    "rehearsal": "`true` if the run used the embedded emulator (`api-endpoint: emulator`), "
    "otherwise `false`.",
    "version-code": "The highest version code.",
    "version-codes": "All version codes, separated by commas.",
    "next-version-code": "One more than the highest version code ever uploaded to any track. From "
    "`play-status`.",
    "user-fraction": "The share of users who get the staged release. Empty if it is not staged.",
    "lifecycle": "The review state of the release, in Google Play's words: `IN_REVIEW`, "
    "`APPROVED_NOT_PUBLISHED`, `PUBLISHED` and others.",
    "apps": "Several apps: one line of JSON with `committed`, `version-codes`, `edit-id` and "
    "`failure` of each, and `served` if that was compared.",
    "status": "What is on the tracks: one line of JSON with an object for each track, or, with "
    "several apps, for each app.",
    "universal-apk": "The path of the universal APK, once it has been checked. Several are "
    "separated by commas.",
    "universal-apk-sha256": "The SHA-256 of the universal APK.",
    "decision": "What `play-rollout` did: `stepped`, `completed`, `held`, `halted` or `nothing`.",
    "served": "`play-verify` and `verify`: `same`, `protected`, `changed` or `unverified`; of "
    "several bundles and apps, the worst. Empty if it may be worse, since not all could be "
    "compared.",
    "served-file": "The path of `uploader-served.json` in the workspace, an in-toto statement "
    "about what was compared.",
    "plan": "What a dry run would change, as one line of JSON; with several apps, an object for "
    "each.",
    "download-url": "Internal app sharing: the download URL of the first file. Firebase App "
    "Distribution: that of the build, which works for an hour.",
    "download-urls": "Internal app sharing: all download URLs, separated by commas.",
    "certificate-fingerprint": "Internal app sharing: the fingerprint of the certificate that "
    "signed the first file.",
    "sha256": "Internal app sharing: the SHA-256 of the first file.",
    "release-result": "Firebase App Distribution: `created`, `updated`, or `unmodified` if the "
    "same build was already there.",
    "testing-url": "Firebase App Distribution: the release for its testers.",
    "console-url": "Firebase App Distribution: the release in the Firebase console.",
    "message-id": "The Gmail message.",
    "thread-id": "The Gmail thread.",
    "draft-id": "The Gmail draft.",
    "bytes-uploaded": "File bytes that this run uploaded and the server confirmed, even into an "
    "edit that was lost.",
    "bytes-resent": "Bytes that were sent more than once.",
    "attempts": "The number of requests that carried file data.",
    "resumed": "`true` if an upload of an earlier run was continued, otherwise `false`.",
    "failure": "A stable error code, such as `track-not-found`. Empty after a success.",
    "results-file": "The path of `uploader-results.json` in the workspace, an array with one "
    "object for each upload.",
}

# Secrets are not inputs of the component, since anyone can read its values in the pipeline: they
# stay masked variables. GitLab has no job summary.
LEFT_OUT = ("credentials", "state-key", "job-summary")
DEFAULTS = {"state-dir": ".uploader-state"}
DESCRIPTIONS = {  # of inputs that mean something else in GitLab
    "workload-identity-provider": "Keyless login: the resource name of the provider that trusts "
    "GitLab's OIDC token.",
    "state-dir": "The folder in which unfinished uploads are kept, sealed, and cached for the next "
    "run.",
    "shard": "Only this part of the files, such as 2/5. With `parallel:` each job takes its own "
    "part automatically.",
}

# These inputs decide where secrets go. An earlier job's dotenv report can set any variable of the
# job, but no option. Their values become part of a shell line, so `WORD` allows no quotes, blanks
# or parentheses.
OPTIONS = (
    "api-endpoint",
    "workload-identity-provider",
    "service-account",
    "impersonate-user",
)
WORD = r"^[\w$@+.:/\[\]-]*$"

# An earlier job's dotenv report can set any variable that the program, Python or a library obeys.
# So the component keeps only these variables and its own inputs, and unsets all others. BASH_ENV,
# ENV and LD_PRELOAD have taken effect in the job's shell by then.
KEPT = (
    "UPLOADER_*",
    "CI|CI_COMMIT_TAG|CI_DEBUG_TRACE|CI_JOB_ID|CI_JOB_NAME|CI_NODE_INDEX|CI_NODE_TOTAL|CI_PIPELINE_ID",
    "CI_PROJECT_DIR|GITLAB_CI",
    "HOME|PATH|PWD|TMPDIR|LANG|LC_ALL|TERM|NO_COLOR",
    "AWS_REGION|AWS_DEFAULT_REGION|AWS_ACCESS_KEY_ID|AWS_SECRET_ACCESS_KEY|AWS_SESSION_TOKEN",
    "BASHOPTS|BASH_VERSINFO|EUID|IFS|PPID|SHELLOPTS|UID",  # bash refuses to unset its own
)
# Further variables of the program that the component unsets.
NO_INPUTS = ("DOTENV", "ENV_FILE", "STATE_KEY")
# in the image; without an image, the program is found in PATH
PROGRAM = "/app/bin/uploader"


def action(before: str) -> str:
    """Return action.yml with inputs and outputs from the tables."""
    return replaced(
        before,
        {"inputs": "".join((*_action_inputs(), "\noutputs:\n", *_action_outputs()))},
    )


def native(before: str) -> str:
    """Return the composite action. The runner passes no INPUT_ variables to its steps, so they are
    named here.
    """
    outputs = _action_outputs(value="    value: ${{{{ steps.run.outputs.{name} }}}}\n")
    passed = (
        f"        INPUT_{spec.attribute.upper()}: ${{{{ inputs.{spec.name} }}}}\n"
        for spec in SPECS
    )
    inputs = "".join((*_action_inputs(), "\noutputs:\n", *outputs))
    return replaced(before, {"inputs": inputs, "variables": "".join(passed)})


def component(before: str) -> str:
    """Return the GitLab CI/CD component with its inputs, and with the lines that pass them to the
    program.
    """
    included = [spec for spec in SPECS if spec.name not in LEFT_OUT]
    inputs = (line for spec in included for line in _component_input(spec))
    named = [spec for spec in included if spec.name not in OPTIONS]
    variables = (
        f"    UPLOADER_{spec.attribute.upper()}: $[[ inputs.{spec.name} ]]\n"
        for spec in named
    )
    return replaced(
        before,
        {
            "inputs": "".join(inputs),
            "variables": "".join((*variables, *_component_script())),
        },
    )


def reference(before: str) -> str:
    """Return docs/REFERENCE.md with a table for each group of inputs, and one for the outputs."""
    tables = []
    for group, specs in groupby(SPECS, key=lambda spec: spec.group):
        rows = ((f"`{spec.name}`", spec.help, _default(spec)) for spec in specs)
        tables.append(
            f"\n### {group.value}\n\n{table(('input', 'meaning', 'default'), rows)}"
        )
    inputs = "\n".join(tables)
    outputs = table(
        ("output", "value"),
        ((f"`{name}`", meaning) for name, meaning in OUTPUTS.items()),
    )
    return replaced(before, {"inputs": inputs + "\n", "outputs": f"\n{outputs}\n"})


def migration(before: str) -> str:
    """Return docs/MIGRATION.md with a table for each tool in it: every input, its equivalent here,
    and a remark.
    """
    return replaced(
        before,
        {
            name: _tool(tool.title, tool.rows)
            for name, tool in tools().items()
            if f"made-by-scripts:{name}-" in before
        },
    )


# The generated files, each with the function that makes its new text from the present one.
FILES: Mapping[str, Callable[[str], str]] = {
    "action.yml": action,
    "native/action.yml": native,
    "templates/upload.yml": component,
    "docs/REFERENCE.md": reference,
    "docs/MIGRATION.md": migration,
}


def replaced(text: str, parts: Mapping[str, str]) -> str:
    """Return the text with the parts between marks replaced. Raises ValueError if the marks of a
    part are missing.
    """
    for part, made in parts.items():
        head, begin, _, end, tail = re.split(MADE.format(part=part), text)
        text = head + begin + made + end + tail
    return text


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table in Markdown, without the pipe at the end of a line, which Markdown does not
    need.
    """
    return "".join(
        f"{' | '.join(row).rstrip(' |')}\n"
        for row in (header, ("---",) * len(header), *rows)
    )


def _default(spec: InputSpec[Any]) -> str:
    """Return the default of an input for the reference: the word for it, and what it means if it is
    not a value.
    """
    if spec.name == "target":
        return "required"
    word = f"`{spec.written_default}`" if spec.written_default else ""
    return ": ".join(part for part in (word, spec.otherwise) if part)


def _tool(title: str, rows: Iterable[Row]) -> str:
    rows = (row for row in rows if row.remark not in ("other actions", "the same"))
    named = (
        (", ".join(name if " " in name else f"`{name}`" for name in row.names), row)
        for row in rows
    )
    return table(
        (title, "here", "remarks"),
        ((names, row.here, row.remark) for names, row in named),
    )


def _action_inputs() -> Iterator[str]:
    for spec in SPECS:
        yield f"  {spec.name}:\n    description: >-\n{_plain(_described(spec), 6)}\n"
        yield f"    required: {str(spec.name == 'target').lower()}\n"
        if spec.written_default:
            yield f"    default: '{spec.written_default}'\n"


def _action_outputs(value: str = "") -> Iterator[str]:
    for name, meaning in OUTPUTS.items():
        yield f"  {name}:\n    description: >-\n{_plain(meaning, 6)}\n"
        yield value.format(name=name)


def _component_script() -> Iterator[str]:
    """Yield the lines that start the program. The inputs in `OPTIONS` are passed as options, so
    that variables of these names have no effect.
    """
    options = {name: name.replace("-", "_") for name in OPTIONS}
    given = {
        name: name.replace("-", "_")
        for name in ("proxy", "ca-file", "state-key", *OPTIONS)
    }
    yield "  script:\n"
    yield (
        "    # Not as variables: a dotenv report of an earlier job could set those, and so say "
        "where secrets go.\n"
    )
    yield "    - |\n"
    yield from (
        f'      {variable}="$[[ inputs.{name} ]]"\n' for name, variable in given.items()
    )
    yield from _component_notices()
    yield from _component_cleaning(given.values())
    yield '      if [ -n "$proxy" ]; then export HTTPS_PROXY="$proxy"; fi\n'
    yield '      if [ -n "$ca_file" ]; then export REQUESTS_CA_BUNDLE="$ca_file"; fi\n'
    yield '      if [ -n "$state_key" ]; then export UPLOADER_STATE_KEY="$state_key"; fi\n'
    yield '      if [ -n "$workload_identity_provider" ]; then unset UPLOADER_CREDENTIALS; fi\n'
    # These are passed even if empty, because the program refuses an empty text.
    emptied = {spec.name for spec in SPECS if spec.refuse_empty}
    words = (
        f'--{name} "${variable}"'
        if name in emptied
        else f'${{{variable}:+--{name} "${variable}"}}'
        for name, variable in options.items()
    )
    yield f"      uploader={PROGRAM}\n"
    yield '      [ -x "$uploader" ] || uploader=uploader\n'
    yield " \\\n        ".join(('      "$uploader"', *words)) + "\n"


def _component_notices() -> Iterator[str]:
    """Yield the lines that report variables which the component does not use."""
    yield (
        '      if [ -z "$proxy" ] && [ -n '
        '"${HTTPS_PROXY:-}${https_proxy:-}${ALL_PROXY:-}${all_proxy:-}" ]; then\n'
    )
    yield (
        "        echo \"The proxy in this job's variables is not used. Where one is needed, give "
        'the input proxy."\n'
    )
    yield "      fi\n"
    yield '      if [ -z "$state_key" ] && [ -n "${UPLOADER_STATE_KEY:-}" ]; then\n'
    yield (
        "        echo 'UPLOADER_STATE_KEY is not used. To resume with it, give state-key: "
        "$UPLOADER_STATE_KEY.'\n"
    )
    yield "      fi\n"


def _component_cleaning(own: Iterable[str]) -> Iterator[str]:
    """Yield the lines that unset every variable which others may have set. The shell itself lists
    the variables, not a program in PATH.

    The list is split into words: words that are no names are skipped, and a name within a value
    does no harm.
    """
    no_variables = {*LEFT_OUT, *OPTIONS} - {"credentials"}
    others = {spec.attribute.upper() for spec in SPECS if spec.name in no_variables}
    unused = [f"UPLOADER_{name}" for name in sorted({*NO_INPUTS, *others})]
    yield "      set -f\n"
    yield "      for name in $(export -p); do\n"
    yield '        name="${name%%=*}"\n'
    yield '        case "$name" in\n'
    yield "          ''|*[!A-Za-z0-9_]*|[0-9]*) ;;\n"
    for start in range(0, len(unused), 3):
        yield f'          {"|".join(unused[start : start + 3])}) unset "$name" ;;\n'
    yield from (
        f"          {names}) ;;\n" for names in (*KEPT, "|".join((*own, "name")))
    )
    yield '          *) unset "$name" ;;\n'
    yield "        esac\n"
    yield "      done\n"
    yield "      set +f\n"


def _component_input(spec: InputSpec[Any]) -> Iterator[str]:
    """Yield one input of the component. GitLab requires every input without a default, so an
    optional one has the empty text.
    """
    default = DEFAULTS.get(spec.name, spec.written_default)
    kind = {bool: "boolean", int: "number"}.get(type(spec.default_value), "string")
    yield f"    {spec.name}:\n      description: >-\n"
    yield _plain(DESCRIPTIONS.get(spec.name) or _described(spec), 8) + "\n"
    yield f"      type: {kind}\n"
    if choices := _choices(spec):
        yield f"      options: {json.dumps(choices)}\n"
    if spec.name in OPTIONS:
        yield f"      regex: {WORD}\n"
    if spec.name != "target":
        literal = default if kind in ("boolean", "number") else json.dumps(default)
        yield f"      default: {literal}\n"


def _choices(spec: InputSpec[Any]) -> list[str]:
    """Return the words that an input of the component takes; empty if it takes any. The empty word
    is replaced by the word for leaving the input out.
    """
    hint = _types()[spec.attribute]
    if get_origin(hint) is not Literal:
        return []
    words = list(get_args(hint))
    if not spec.refuse_empty:
        return words
    return list(dict.fromkeys((spec.refuse_empty.word, *filter(None, words))))


@cache
def _types() -> Mapping[str, Any]:
    """Return the type of each input in the records."""
    types: dict[str, Any] = {}
    for record in get_args(Record):
        types |= get_type_hints(record)
    return types


def _described(spec: InputSpec[Any]) -> str:
    """Return what an input means, and what happens without it if that is not a default value."""
    return spec.help + (f" Without it: {spec.otherwise}." if spec.otherwise else "")


def _plain(text: str, indent: int) -> str:
    """Return a folded YAML text, without the backticks of Markdown."""
    filled = textwrap.fill(
        text.replace("`", ""),
        WIDTH - indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return textwrap.indent(filled, " " * indent)


if __name__ == "__main__":
    for name, make in FILES.items():
        file = ROOT / name
        file.write_text(make(file.read_text(encoding="utf-8")), encoding="utf-8")
