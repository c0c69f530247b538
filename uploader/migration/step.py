"""Writes what was converted: the step of a GitHub workflow, or a job of GitLab's, and below it what is left to do.

Everything goes through PyYAML's emitter or into a comment of one line, after redaction: no text of the file can begin
a line of its own, colour a terminal, or show a key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from uploader import __version__
from uploader.migration.conversion import Conversion, remark, shown, unfit
from uploader.migration.found_upload import Leftover

ACTION = "OWNER/google-release-uploader@v1"
IMAGE = f"ghcr.io/OWNER/google-release-uploader:v{__version__}"
MOST_LEFT = 200  # settings of one upload that are named
_REFERENCE = re.compile(r"\$\{\{ (?:env|secrets)\.(\w+) \}\}", re.ASCII)


def written(conversions: Sequence[Conversion], others: Sequence[Leftover], path: str, *, gitlab: bool) -> str:
    """The YAML of every upload of a file."""
    where = "jobs of .gitlab-ci.yml" if gitlab else "steps of a job, in the place of the old ones"
    parts = [f"# From {remark(path)}: {where}.\n"]
    jobs: set[str] = set()
    for conversion in conversions:
        upload = conversion.upload
        parts.append(f"\n# Line {upload.line}: {shown(upload.title)}\n")
        parts.append(_yaml(_job(conversion, jobs) if gitlab else [_step(conversion)]))
        parts.append(_comments("Left to you:", (*upload.leftovers, *conversion.leftovers), gitlab=gitlab))
    return "".join((*parts, "\n" if others else "", _comments("Found beside them:", others, gitlab=gitlab)))


def _comments(heading: str, leftovers: Sequence[Leftover], *, gitlab: bool) -> str:
    """A line for what stands in the file and one for what to do, each once, in the file's order."""

    def clean(text: str) -> str:
        return _REFERENCE.sub(r"$\1", text) if gitlab else text

    ordered = sorted(set(leftovers))
    lines = [
        f"#   line {left.line}: {clean(shown(left.what))}\n#     {clean(remark(left.why))}\n"
        for left in ordered[:MOST_LEFT]
    ]
    more = f"#   and {len(ordered) - MOST_LEFT} more\n" if len(ordered) > MOST_LEFT else ""
    return f"# {heading}\n{''.join(lines)}{more}" if lines else ""


def _step(conversion: Conversion) -> dict[str, Any]:
    return {"name": "Upload to Google", **_kept(conversion), "uses": ACTION, "with": conversion.inputs}


def _job(conversion: Conversion, taken: set[str]) -> dict[str, Any]:
    """A job by a name that none of the others has."""
    frame = _kept(conversion)
    name = first = frame.pop("job", "release")
    number = 1
    while name in taken:
        number += 1
        name = f"{first} {number}"
    taken.add(name)
    variables = {
        f"UPLOADER_{key.upper().replace('-', '_')}": _REFERENCE.sub(r"$\1", value)
        for key, value in conversion.inputs.items()
    }
    return {
        name: {
            **frame,
            "image": {"name": IMAGE, "entrypoint": [""]},
            "variables": variables,
            "script": ["uploader"],
            "retry": {"max": 2, "exit_codes": [75]},
            "artifacts": {"reports": {"dotenv": "uploader.env"}},
        }
    }


def _kept(conversion: Conversion) -> dict[str, Any]:
    """The settings around the upload that stay."""
    kept: dict[str, Any] = {}
    for name, value in conversion.upload.frame:
        reasons = {unfit(text) for text in _texts(value)} - {""}
        if reasons:
            conversion.add(f"not taken over: {min(reasons)}", name)
        else:
            kept[name] = value
    return kept


def _texts(value: object) -> Iterator[str]:
    """Every text in a value, the names of its members among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from _texts(member)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _yaml(value: object) -> str:
    import yaml  # 20 ms that only a result is worth

    class Dumper(yaml.SafeDumper):
        """Texts of several lines as blocks, items of lists indented."""

        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002  # PyYAML's own signature
            super().increase_indent(flow, indentless=not self.indents)

        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  # PyYAML's own signature
            return True

    def text(dumper: yaml.SafeDumper, data: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", data, style="|" if "\n" in data else None)

    Dumper.add_representer(str, text)
    options: Mapping[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": 1 << 20}
    dumped: str = yaml.dump(value, Dumper=Dumper, default_flow_style=False, **options)
    return dumped
