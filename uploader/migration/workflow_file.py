"""Finds uploads in a GitHub workflow, a composite action or a GitLab CI file.

PyYAML's composer makes a graph of nodes with their lines: nothing is built from it, an alias is one node more, and each
node is looked at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from uploader.errors import InputError, Problem
from uploader.inputs.other_tools import ToolId
from uploader.migration import command_lines
from uploader.migration.found_upload import FoundUpload, Given, Leftover, below

if TYPE_CHECKING:
    from yaml import Node

# The repositories of actions, beside every fork that keeps the name upload-google-play.
_ACTIONS: Mapping[str, ToolId] = {
    "kevinrohn/github-action-upload-play-store": "play-action",
    "google-github-actions/upload-cloud-storage": "storage",
}
_FORK = re.compile(r"[\w.-]+/(?:[\w.-]*-)?upload-google-play", re.ASCII)
_FASTLANE_ACTION = "maierj/fastlane-action"
_STEP_KEEPS = ("name", "id", "if", "continue-on-error", "timeout-minutes")
_JOB_KEEPS = ("stage", "when", "resource_group", "environment", "allow_failure")
_STEP_PARTS = ("uses", "with", "run", "shell", "working-directory", "env")
_JOB_PARTS = ("script", "before_script", "after_script", "variables", "image", "artifacts", "cache", "retry")
# Where each tool looks for its key by itself, and the setting that means the same.
_KEYS = {
    "gradle": ("ANDROID_PUBLISHER_CREDENTIALS", "ANDROID_PUBLISHER_CREDENTIALS"),
    "codemagic": ("GOOGLE_PLAY_SERVICE_ACCOUNT_CREDENTIALS", "--credentials"),
    "fastlane": ("SUPPLY_JSON_KEY_DATA", "json_key_data"),
}
Pairs: TypeAlias = Mapping[str, "tuple[Node, Node]"]
Frame: TypeAlias = tuple[Given, ...]
Leftovers: TypeAlias = tuple[Leftover, ...]


def uploads(text: str) -> tuple[bool, tuple[FoundUpload, ...]]:
    """Whether it is GitLab's file, and every upload. Raises `InputError` for what is no YAML."""
    found: list[FoundUpload] = []
    gitlab = False
    for document in _documents(text):
        top = _pairs(document)
        if {"jobs", "runs", "uses", "steps", "on"} & top.keys() or not top:
            found += _github(document, top)
        else:
            gitlab = True
            found += _gitlab(top)
    return gitlab, tuple(found)


def _documents(text: str) -> list[Node]:
    import yaml  # 20 ms that only a YAML file is worth

    try:
        return list(yaml.compose_all(text, Loader=yaml.BaseLoader))
    except RecursionError:
        line = 0
    except (yaml.YAMLError, ValueError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", -1) + 1
    what = f"is not YAML{f', from line {line} on' if line else ''}." if line else "is nested too deeply to be read."
    raise InputError(Problem("FILE", what))


def _github(document: Node, top: Pairs) -> Iterator[FoundUpload]:
    """The steps, wherever they stand, each with the variables that hold for it."""
    waiting: list[tuple[Node, Mapping[str, str]]] = [(document, {})]
    seen: set[int] = set()
    folder = _folder(top)
    while waiting:
        node, env = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        pairs = _pairs(node)
        env = {**env, **_texts(pairs.get("env"))} if "env" in pairs else env
        if "uses" in pairs or "run" in pairs:
            yield from _step(pairs, env, _folder(pairs, folder))
        elif isinstance(node.value, list):
            children = [child for _, child in pairs.values()] if pairs else [one for one in node.value if _is_node(one)]
            waiting += [(child, env) for child in reversed(children)]


def _folder(pairs: Pairs, default: str = "") -> str:
    """Where commands run: `working-directory`, or that of `defaults`."""
    if "defaults" in pairs:
        run = _pairs(_pairs(pairs["defaults"][1]).get("run", (None, None))[1])
        return _folder(run, default)
    return _text(pairs["working-directory"][1]) if "working-directory" in pairs else default


def _step(pairs: Pairs, env: Mapping[str, str], folder: str) -> Iterator[FoundUpload]:
    frame, leftovers = _frame(pairs, _STEP_KEEPS, _STEP_PARTS)
    if "uses" in pairs:
        key, value = pairs["uses"]
        line, uses = _line(key), _text(value)
        repository = uses.partition("@")[0].lower()
        given = tuple(Given(name, text, at) for name, text, at in _settings(pairs.get("with")))
        tool = "play-action" if _FORK.fullmatch(repository) else _ACTIONS.get(repository)
        if tool:
            yield FoundUpload(tool, line, uses, given, "", frame, leftovers)
        elif repository == _FASTLANE_ACTION:
            yield _lane(given, line, uses)
    elif "run" in pairs:
        found = _script(pairs["run"][1], folder, env)
        for upload in found:
            yield upload._replace(
                given=(*upload.given, *_login(upload, env)), frame=frame, leftovers=(*upload.leftovers, *leftovers)
            )


def _lane(given: tuple[Given, ...], line: int, uses: str) -> FoundUpload:
    values = {each.name: each.value for each in given}
    file = below(values.get("subdirectory", ""), "fastlane/Fastfile")
    what = f"{uses}, lane: {values.get('lane', '')}"
    return FoundUpload(
        "fastlane", line, "", leftovers=(Leftover(line, what, f"it runs a lane: `uploader migrate {file}`"),)
    )


def _login(upload: FoundUpload, env: Mapping[str, str]) -> Iterator[Given]:
    """The key that the tool takes from its environment."""
    name, setting = _KEYS.get(upload.tool, ("", ""))
    if env.get(name) and upload.title:
        yield Given(setting, env[name], upload.line)


def _gitlab(top: Pairs) -> Iterator[FoundUpload]:
    shared = _texts(top.get("variables"))
    for name, (key, job) in top.items():
        pairs = _pairs(job)
        env = {**shared, **_texts(pairs.get("variables"))}
        frame, leftovers = _frame(pairs, _JOB_KEEPS, _JOB_PARTS)
        found: list[FoundUpload] = []
        folder = ""
        for part in ("before_script", "script", "after_script"):
            if part in pairs:
                found += _script(pairs[part][1], folder, env)
        for upload in found:
            title = (Given("job", name, _line(key)),)
            given = (*upload.given, *_login(upload, env))
            yield upload._replace(given=given, frame=(*title, *frame), leftovers=(*upload.leftovers, *leftovers))


def _frame(
    pairs: Pairs, keeps: tuple[str, ...], parts: tuple[str, ...]
) -> tuple[tuple[Given, ...], tuple[Leftover, ...]]:
    """What stays of the step or the job, and what has to be looked at."""
    frame, leftovers = [], []
    for name, (key, value) in pairs.items():
        if name in keeps and not isinstance(value.value, list):
            frame.append(Given(name, _text(value), _line(key)))
        elif name not in parts:
            leftovers.append(Leftover(_line(key), name, "it stands around the upload: take it over by hand"))
    return tuple(frame), tuple(leftovers)


def _script(node: Node, folder: str, env: Mapping[str, str]) -> Iterator[FoundUpload]:
    """A command, several in one text, or a list of them, which share the folder that `cd` changes to."""
    items = [node] if not isinstance(node.value, list) else [one for one in node.value if _is_node(one)]
    texts = [(_line(item) + (getattr(item, "style", None) in {"|", ">"}), _text(item)) for item in items]
    for line, text in texts:
        yield from command_lines.uploads(text, line, folder, env)
        for moved in re.findall(r"^cd +([\w./-]+)$", text, re.ASCII) if len(items) > 1 else ():
            folder = below(folder, moved)


def _settings(entry: tuple[Node, Node] | None) -> Iterator[tuple[str, str, int]]:
    for name, (key, value) in (_pairs(entry[1]) if entry else {}).items():
        if isinstance(value.value, list):
            yield name, "\n".join(_text(one) for one in value.value if _is_node(one)), _line(key)
        else:
            yield name, _text(value), _line(key)


def _texts(entry: tuple[Node, Node] | None) -> dict[str, str]:
    return {name: text for name, text, _ in _settings(entry)}


def _pairs(node: Node | None) -> dict[str, tuple[Node, Node]]:
    """The members of a mapping by name, its merged ones among them; nothing of another node."""
    import yaml  # loaded already by whoever made the node

    found: dict[str, tuple[Node, Node]] = {}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                found[key.value] = (key, value)
    return found


def _is_node(value: object) -> bool:
    return not isinstance(value, tuple)


def _text(node: Node) -> str:
    return node.value if isinstance(node.value, str) else ""


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1
