"""Finds uploads in a GitHub workflow, a composite action or a GitLab CI file; each node is looked at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from uploader.inputs.other_tools import ToolId
from uploader.migration import command_lines
from uploader.migration.found_upload import FoundUpload, Given, Leftover, expanded, lane
from uploader.migration.yaml_nodes import Entry, Members, documents, items, line, members, plain, settings, text, texts

if TYPE_CHECKING:
    from yaml import Node

# The repositories of actions, beside every fork that keeps the name upload-google-play.
_ACTIONS: Mapping[str, ToolId] = {
    "kevinrohn/github-action-upload-play-store": "play-action",
    "google-github-actions/upload-cloud-storage": "storage",
}
_FORK = re.compile(r"[\w.-]+/(?:[\w.-]*-)?upload-google-play", re.ASCII)
_FASTLANE_ACTION = "maierj/fastlane-action"
# Where each tool looks for its key by itself, and the setting that means the same.
_KEYS: Mapping[ToolId, tuple[str, str]] = {
    "gradle": ("ANDROID_PUBLISHER_CREDENTIALS", "ANDROID_PUBLISHER_CREDENTIALS"),
    "codemagic": ("GOOGLE_PLAY_SERVICE_ACCOUNT_CREDENTIALS", "--credentials"),
    "fastlane": ("SUPPLY_JSON_KEY_DATA", "json_key_data"),
}
_STEP_STAYS = ("name", "id", "if", "continue-on-error", "timeout-minutes")
_STEP_GOES = ("uses", "with", "run", "shell", "working-directory", "env")
_JOB_STAYS = ("stage", "when", "only", "except", "rules", "needs", "tags", "environment", "resource_group")
_JOB_GOES = ("script", "before_script", "after_script", "variables", "image", "artifacts", "cache", "retry")
Surroundings: TypeAlias = tuple[tuple[tuple[str, object], ...], tuple[Leftover, ...]]


def uploads(content: str) -> tuple[bool, tuple[FoundUpload, ...]]:
    """Whether it is GitLab's file, and every upload. Raises `InputError` for what is no YAML."""
    found: list[FoundUpload] = []
    gitlab = False
    for document in documents(content):
        top = members(document)
        if {"jobs", "runs", "uses", "run", "steps", "on"} & top.keys() or not top:
            found += _github(document, top)
        else:
            gitlab = True
            found += _gitlab(top)
    return gitlab, tuple(found)


def _github(document: Node, top: Members) -> Iterator[FoundUpload]:
    """The steps, wherever they stand, each with the variables that hold for it."""
    waiting: list[tuple[Node, Mapping[str, str]]] = [(document, {})]
    seen: set[int] = set()
    folder = _folder(top, "")
    while waiting:
        node, env = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        found = members(node)
        env = {**env, **_variables(found.get("env"))} if "env" in found else env
        if "uses" in found or "run" in found:
            yield from _step(found, env, _folder(found, folder))
        else:
            children = [child for _, child in found.values()] or items(node)
            waiting += [(child, env) for child in reversed(children)]


def _folder(found: Members, default: str) -> str:
    """Where commands run: `working-directory`, of the step or among the defaults."""
    if "defaults" in found:
        run = members(found["defaults"][1]).get("run")
        found = members(run[1] if run else None)
    return text(found["working-directory"][1]) if "working-directory" in found else default


def _step(found: Members, env: Mapping[str, str], folder: str) -> Iterator[FoundUpload]:
    around = _surroundings(found, _STEP_STAYS, _STEP_GOES)
    if "uses" in found:
        key, value = found["uses"]
        given = tuple(Given(*setting) for setting in settings(found.get("with")))
        repository = text(value).partition("@")[0].lower()
        tool = "play-action" if _FORK.fullmatch(repository) else _ACTIONS.get(repository)
        if tool:
            yield _placed(FoundUpload(tool, line(key), text(value), given), env, around)
        elif repository == _FASTLANE_ACTION:
            values = {each.name: each.value for each in given}
            what = f"{text(value)}, lane: {values.get('lane', '')}"
            yield lane(values.get("subdirectory", ""), line(key), what)
    else:
        for upload in command_lines.uploads(texts(found["run"][1]), folder, env):
            yield _placed(upload, env, around)


def _gitlab(top: Members) -> Iterator[FoundUpload]:
    shared = _expanded(top.get("variables"))
    for name, (_, job) in top.items():
        found = members(job)
        env = {**shared, **_expanded(found.get("variables"))} if "variables" in found else shared
        stays, leftovers = _surroundings(found, _JOB_STAYS, _JOB_GOES)
        script = [one for part in ("before_script", "script") if part in found for one in texts(found[part][1])]
        for upload in command_lines.uploads(script, "", env):
            yield _placed(upload, env, ((("job", name), *stays), leftovers))


def _variables(entry: Entry | None) -> dict[str, str]:
    return {name: value for name, value, _ in settings(entry)}


def _expanded(entry: Entry | None) -> dict[str, str]:
    """GitLab's variables, which may hold others."""
    return {name: expanded(value) for name, value in _variables(entry).items()}


def _placed(upload: FoundUpload, env: Mapping[str, str], around: Surroundings) -> FoundUpload:
    """An upload with what its surroundings give to it; a lane has no place of its own."""
    if not upload.title:
        return upload
    name, setting = _KEYS.get(upload.tool, ("", ""))
    key = (Given(setting, env[name], upload.line),) if env.get(name) else ()
    stays, leftovers = around
    return upload._replace(given=(*upload.given, *key), frame=stays, leftovers=(*upload.leftovers, *leftovers))


def _surroundings(found: Members, stays: tuple[str, ...], goes: tuple[str, ...]) -> Surroundings:
    """What stays of the step or the job, and what the reader has to look at."""
    frame, leftovers = list[tuple[str, object]](), list[Leftover]()
    for name, (key, value) in found.items():
        known = plain(value) if name in stays else None
        if known is not None:
            frame.append((name, known))
        elif name not in goes:
            leftovers.append(Leftover(line(key), name, "it stands around the upload: take it over by hand"))
    return tuple(frame), tuple(leftovers)
