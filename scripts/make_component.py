"""Makes templates/upload.yml, the GitLab CI/CD component, from the table of inputs and its texts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from scripts.make_actions import described, plain
from uploader import __version__
from uploader.inputs import Field, Inputs, fields

ROOT = Path(__file__).resolve().parent.parent
COMPONENT = ROOT / "templates" / "upload.yml"
IMAGE = f"ghcr.io/OWNER/google-release-uploader:v{__version__}"
# Secrets are no inputs of a component, whose values anyone may read in the pipeline: they stay masked variables.
# GitLab has no job summary.
LEFT_OUT = ("credentials", "state-key", "job-summary")
DEFAULTS = {"state-dir": ".uploader-state"}
DESCRIPTIONS = {  # where something else holds for GitLab alone
    "workload-identity-provider": "Keyless login: the resource name of the provider that trusts GitLab's OIDC token.",
    "state-dir": "The folder in which unfinished uploads are kept, sealed, and cached for the next run.",
    "shard": "Only this part of the files, such as 2/5. With `parallel:` each job takes its own part by itself.",
}

HEAD = f"""\
# Made by scripts/make_component.py. A job that uploads; give it secrets as masked variables of the project:
# UPLOADER_CREDENTIALS (a file, or base64), or none at all for a keyless login; UPLOADER_STATE_KEY for resuming keyless.
spec:
  inputs:
    job-name:
      description: The name of the job.
      default: upload
    stage:
      description: The stage of the job.
      default: deploy
    image:
      description: The image of the uploader. A released component names it by digest.
      default: {IMAGE}
    rules:
      description: When the job runs, as GitLab's `rules` say it. Unless given, for tags.
      type: array
      default:
        - if: $CI_COMMIT_TAG
    resource-group:
      description: Jobs of one group wait for each other. Google closes an edit when the same account opens another one.
      default: release
"""
JOB = """\
---
$[[ inputs.job-name ]]:
  stage: $[[ inputs.stage ]]
  image:
    name: $[[ inputs.image ]]
    entrypoint: [""]
  rules: $[[ inputs.rules ]]
  resource_group: $[[ inputs.resource-group ]]
  id_tokens:
    UPLOADER_ID_TOKEN:
      aud: https://iam.googleapis.com/$[[ inputs.workload-identity-provider ]]
  variables:
"""
TAIL = """\
  script:
    - uploader
  # A temporary failure keeps the upload; the next attempt goes on from there.
  retry:
    max: 2
    exit_codes: [75]
  cache:
    key: $[[ inputs.job-name ]]-$CI_COMMIT_REF_SLUG
    paths:
      - $[[ inputs.state-dir ]]
    when: always
  artifacts:
    when: always
    paths:
      - uploader-*.json
    reports:
      dotenv: uploader.env
"""


def component() -> str:
    """The whole file."""
    included = [field for field in fields() if field.name not in LEFT_OUT]
    inputs = (line for field in included for line in _declared(field))
    variables = (f"    UPLOADER_{field.attribute.upper()}: $[[ inputs.{field.name} ]]\n" for field in included)
    return "".join((HEAD, *inputs, JOB, *variables, TAIL))


def _declared(field: Field) -> Iterator[str]:
    """One input of the component. GitLab requires what has no default, so an optional one has the empty text."""
    kind, options = _typed(get_type_hints(Inputs)[field.attribute], field.default)
    description = DESCRIPTIONS.get(field.name) or described(field)
    yield f"    {field.name}:\n      description: >-\n"
    yield plain(description, 8) + "\n"
    yield f"      type: {kind}\n"
    yield f"      options: {json.dumps(options)}\n" if options else ""
    if field.name != "target":
        default = DEFAULTS.get(field.name, field.default)
        yield f"      default: {default if kind in ('boolean', 'number') else json.dumps(default)}\n"


def _typed(hint: Any, default: str) -> tuple[str, list[str]]:
    """The component's type, and what may be chosen from."""
    if get_origin(hint) is Literal:
        return "string", list(get_args(hint))
    if hint in (bool, int) and default:
        return {bool: "boolean", int: "number"}[hint], []
    return "string", []


if __name__ == "__main__":
    COMPONENT.parent.mkdir(exist_ok=True)
    COMPONENT.write_text(component(), encoding="utf-8")
