"""Finds what a Fastfile's lanes give to `upload_to_play_store`, `supply` and internal app sharing."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from uploader.migration.expressions import Lexemes, Scope, fallback
from uploader.migration.found_upload import FoundUpload, Given, Leftover
from uploader.migration.lexer import LONGEST_VALUE, closing, lexemes, split, statement_end

SHARING = "upload_to_play_store_internal_app_sharing"
ACTIONS = ("upload_to_play_store", "supply", SHARING)


def uploads(text: str, path: str) -> Iterator[FoundUpload]:
    """Every upload of a Fastfile; fastlane's paths begin in the folder that holds the folder `fastlane`."""
    found = lexemes(text, "ruby")
    folder = posixpath.dirname(path)
    folder = posixpath.dirname(folder) if posixpath.basename(folder) in {"fastlane", ".fastlane"} else folder
    lane, names, index = "", dict[str, Lexemes](), 0
    while index < len(found):
        word, after = found[index], [lexeme.text for lexeme in found[index + 1 : index + 3]]
        before = found[index - 1].text if index else ""
        index += 1
        if word.text in {"lane", "private_lane"} and len(after) == 2:
            lane = after[1]
        elif word.kind == "word" and after[:1] == ["="]:
            names[word.text] = found[index + 1 : statement_end(found, index + 1, LONGEST_VALUE)]
        elif word.kind == "word" and word.text in ACTIONS and before not in {".", ":", "def", "[", "{", "&"}:
            arguments, index = _arguments(found, index)
            given, leftovers = _given(arguments, text, Scope("", "", names))
            title = word.text + (f" in lane {lane}" if lane else "")
            yield FoundUpload("fastlane", word.line, title, given, folder, (), leftovers)


def _arguments(found: Lexemes, start: int) -> tuple[Lexemes, int]:
    """What stands in the brackets, or to the end of the line, and where it ends; a comma at the end goes on."""
    if found[start : start + 1] and found[start].text == "(":
        end = closing(found, start)
        return found[start + 1 : end], end
    end = statement_end(found, start)
    while start < end < len(found) and found[end - 1].text == ",":
        end = statement_end(found, end + 1)
    return found[start:end], end


def _given(arguments: Lexemes, text: str, scope: Scope) -> tuple[tuple[Given, ...], tuple[Leftover, ...]]:
    given, leftovers = [], []
    for argument in split(arguments):
        name, value = _pair(argument)
        line, code = argument[0].line, text[argument[0].start : argument[-1].end]
        if not name:
            leftovers.append(Leftover(line, code, "only Ruby can tell what this gives"))
        elif [lexeme.text for lexeme in value] != ["nil"]:
            known = scope.value(value)
            given.append(Given(name, fallback(value), line, code) if known is None else Given(name, known, line))
    return tuple(given), tuple(leftovers)


def _pair(argument: Lexemes) -> tuple[str, Lexemes]:
    """The name and the value of `name: value`, `:name => value` or `"name" => value`; no name for anything else."""
    words = [lexeme.text for lexeme in argument[:3]]
    if words[1:2] == [":"]:
        return words[0], argument[2:]
    if words[2:3] == ["=>"] and words[0] == ":":
        return words[1], argument[3:]
    return (words[0], argument[2:]) if words[1:2] == ["=>"] else ("", ())
