"""Makes the inputs and outputs of action.yml, and all of native/action.yml, from the table of inputs and its texts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

from scripts.output_meanings import OUTPUTS
from uploader.inputs import Field, fields
from uploader.inputs.input_meanings import COMPUTED, MEANINGS

ROOT = Path(__file__).resolve().parent.parent
ACTION = ROOT / "action.yml"
NATIVE = ROOT / "native" / "action.yml"
WIDTH = 112
INPUTS = "\ninputs:\n"  # the line of action.yml below which everything is made

HEAD = """\
# Made by scripts/make_actions.py: the action for runners without Docker, macOS among them. It installs the locked
# dependencies with the runner's own Python and runs the same program with the same inputs and outputs.
name: Google release uploader (native)
description: >-
  Uploads release artifacts to Google Play, Gmail and other Google services, on runners without Docker.
author: google-release-uploader
"""
RUNS = """
runs:
  using: composite
  steps:
    - id: run
      shell: sh
      run: exec sh "$GITHUB_ACTION_PATH/run"
      env:
"""


def action(before: str) -> str:
    """action.yml with its inputs and outputs made anew; what stands above them stays."""
    head, mark, _ = before.partition(INPUTS)
    return head + mark + "".join((*_inputs(), "\noutputs:\n", *_outputs()))


def native() -> str:
    """The whole composite action. The runner passes no INPUT_ variables to its steps, so that they are named here."""
    outputs = _outputs(value="      value: ${{{{ steps.run.outputs.{name} }}}}\n")
    passed = (f"        INPUT_{field.attribute.upper()}: ${{{{ inputs.{field.name} }}}}\n" for field in fields())
    return "".join((HEAD, INPUTS, *_inputs(), "\noutputs:\n", *outputs, RUNS, *passed))


def _inputs() -> Iterator[str]:
    for field in fields():
        yield f"  {field.name}:\n    description: >-\n{plain(described(field), 6)}\n"
        yield f"    required: {str(field.name == 'target').lower()}\n"
        yield f"    default: '{field.default}'\n" if field.default else ""


def _outputs(value: str = "") -> Iterator[str]:
    for name, meaning in OUTPUTS.items():
        yield f"  {name}:\n    description: >-\n{plain(meaning, 6)}\n"
        yield value.format(name=name)[2:] if value else ""


def described(field: Field) -> str:
    """What an input means, and what counts without it where that can't be written as a default."""
    computed = COMPUTED.get(field.name)
    return MEANINGS[field.name] + (f" Without it: {computed}." if computed else "")


def plain(text: str, indent: int) -> str:
    """A folded YAML text, without the marks of Markdown."""
    filled = textwrap.fill(text.replace("`", ""), WIDTH - indent, break_long_words=False, break_on_hyphens=False)
    return textwrap.indent(filled, " " * indent)


if __name__ == "__main__":
    ACTION.write_text(action(ACTION.read_text(encoding="utf-8")), encoding="utf-8")
    NATIVE.write_text(native(), encoding="utf-8")
