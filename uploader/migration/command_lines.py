"""Finds uploads among the commands of a shell: fastlane, codemagic's `google-play`, Gradle Play Publisher's tasks."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile, takewhile

from uploader.inputs.other_tools import TOOLS
from uploader.migration.conversion import EXPRESSION
from uploader.migration.fastfile import ACTIONS, SHARING
from uploader.migration.found_upload import LONGEST, VARIABLE, FoundUpload, Given, below, expanded, lane

LONGEST_TASK = 200  # characters of its name
_OPEN, _CLOSE = "\ue000", "\ue001"  # around the number of an expression, which a shell would take apart
_STAND_IN = re.compile(f"{_OPEN}(\\d+){_CLOSE}", re.ASCII)
_FORGED = re.compile(f"[{_OPEN}{_CLOSE}]")
_BEFORE = ("bundle", "exec", "sudo", "npx", "time", "command", "env", "rbenv", "then", "do", "-", "@")
_SHORT = {"p": "package_name", "C": "version_code", "e": "release_status", "a": "track", "r": "rollout"} | {
    "m": "metadata_path",
    "j": "json_key",
    "c": "json_key_data",
    "b": "apk",
    "f": "aab",
    "d": "mapping",
}
_TASK = re.compile(
    r"(?:(?P<module>[:\w-]*):)?(?P<verb>publish|upload|promote)(?P<variant>[A-Z]\w*?)??(?P<what>"
    r"PrivateBundle|PrivateApk|Bundle|Apk|Artifact|Apps)",
    re.ASCII,
)


def uploads(
    script: Iterable[tuple[int, str]], folder: str = "", env: Mapping[str, str] | None = None
) -> Iterator[FoundUpload]:
    """Every upload of a script, given as texts with the numbers of their first lines; `env` are its variables."""
    expressions: list[str] = []

    def hide(found: re.Match[str]) -> str:
        expressions.append(found[0])
        return f"{_OPEN}{len(expressions) - 1}{_CLOSE}"

    for first, text in script:
        for line, words in _commands(EXPRESSION.sub(hide, _FORGED.sub("", text)), first):
            command = [_shown(word, expressions, env or {}) for word in words]
            if command[:1] in (["cd"], ["pushd"]) and len(command) == 2:
                folder = below(folder, command[1])
            yield from _upload(command, line, folder)


def _commands(script: str, first: int) -> Iterator[tuple[int, list[str]]]:
    """The words of each command, with the number of the line where it begins."""
    for line, text in _lines(script, first):
        yield from ((line, words) for words in _words(text))


def _lines(script: str, first: int) -> Iterator[tuple[int, str]]:
    """The lines with their numbers; one that ends with a backslash goes on."""
    pending: list[str] = []
    for number, line in enumerate(script.split("\n"), first):
        pending.append(line.removesuffix("\\"))
        if not line.endswith("\\"):
            yield number - len(pending) + 1, " ".join(pending)
            pending = []
    if pending:
        yield first, " ".join(pending)


def _words(line: str) -> list[list[str]]:
    """The words of each command of a line; none of a line whose quotes stay open."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()")
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    try:
        for word in lexer:
            if set(word) <= set(";&|()"):
                commands.append([])
            else:
                commands[-1].append(word)
    except ValueError:
        return []
    return commands


def _shown(word: str, expressions: Sequence[str], env: Mapping[str, str]) -> str:
    def value(name: str, otherwise: str) -> str:
        known = env.get(name, otherwise)
        return _FORGED.sub("", known) if len(known) <= LONGEST else otherwise

    word = value(word.removeprefix("@env:"), word) if word.startswith("@env:") else word
    word = VARIABLE.sub(lambda found: value(found[1], found[0]), expanded(word))
    return _STAND_IN.sub(lambda found: expressions[int(found[1])], word)


def _upload(words: Sequence[str], line: int, folder: str) -> Iterator[FoundUpload]:
    start = 0
    while start < len(words) and (words[start] in _BEFORE or re.match(r"\w+=", words[start])):
        start += 1
    program, rest = (posixpath.basename(words[start]), words[start + 1 :]) if start < len(words) else ("", ())
    if program == "fastlane":
        yield from _fastlane(rest, line, folder)
    elif program == "google-play" and {"bundles", "publish"} <= set(rest):
        given = tuple(_options(rest, line))
        yield FoundUpload("codemagic", line, "google-play bundles publish", given, folder)
    elif program in {"gradle", "gradlew", "gradlew.bat"}:
        yield from _gradle(rest, line, folder)


def _fastlane(words: Sequence[str], line: int, folder: str) -> Iterator[FoundUpload]:
    """`fastlane supply --aab x`, `fastlane run upload_to_play_store aab:x`; a lane is to be migrated by itself."""
    names = [word for word in words if word in ACTIONS]
    if names:
        pairs = [word.partition(":") for word in words if re.match(r"[a-z_]+:", word)]
        given = [Given(name, value, line) for name, _, value in pairs] + list(_options(words, line))
        renamed = tuple(each._replace(name=_supply_name(each.name)) for each in given)
        title = SHARING if SHARING in names else f"fastlane {names[0]}"
        yield FoundUpload("fastlane", line, title, renamed, folder)
        return
    called = dropwhile(lambda word: word.startswith("-"), words)
    names = list(takewhile(lambda word: re.fullmatch(r"[a-z]\w*", word), called))  # the lane, and nothing given to it
    if names:
        yield lane(folder, line, f"fastlane {' '.join(names)}")


def _supply_name(name: str) -> str:
    plain = name.lstrip("-")
    return _SHORT.get(plain, plain) if len(plain) == 1 else plain.replace("-", "_")


def _options(words: Sequence[str], line: int) -> Iterator[Given]:
    """`--name value`, `--name=value`, `--name` alone, which is true."""
    for index, word in enumerate(words):
        if word.startswith("-") and word != "-":
            name, equals, value = word.partition("=")
            following = words[index + 1] if index + 1 < len(words) else "-"
            yield Given(name, value if equals else "true" if following.startswith("-") else following, line)


def _gradle(words: Sequence[str], line: int, folder: str) -> Iterator[FoundUpload]:
    """`./gradlew :app:publishReleaseBundle --track beta`, whose artifact lies where Gradle puts it."""
    options = {each.name: each._replace(name=_camel(each.name)) for each in _options(words, line)}
    given = tuple(each for each in options.values() if TOOLS["gradle"].find(each.name))
    for word in words:
        task = _TASK.fullmatch(word[:LONGEST_TASK])
        if not task:
            continue
        module = (task["module"] or "app").strip(":").replace(":", "/")
        kind = "apk" if "Apk" in task["what"] else "bundle"
        variant = task["variant"] or "Release"
        outputs = f"{module}/build/outputs/{kind}/{variant[:1].lower()}{variant[1:]}/*.{kind.replace('bundle', 'aab')}"
        files = () if task["verb"] == "promote" else (Given("artifacts", outputs, line),)
        yield FoundUpload("gradle", line, f"the task {word}", (*given, *files), folder)


def _camel(name: str) -> str:
    first, *others = name.lstrip("-").split("-")
    return first + "".join(part.capitalize() for part in others)
