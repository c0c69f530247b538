"""The table of errors and the program have the same codes, exit codes and sentences."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from uploader import errors
from uploader.error_table import ENTRIES, Entry
from uploader.errors import InputError, Interrupted, UploaderError

ROOT = Path(__file__).resolve().parent.parent
KINDS = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, UploaderError)
}
OWN = [entry for entry in ENTRIES if entry.source in ("", "input")]
# Where a sentence of the table need not be one text of the program: at values, alternatives,
# quoted words, addresses, and the names of inputs and variables.
JOINTS = re.compile(
    r"^\*[a-z-]+: |…| / |[*`]|https?://\S+|\{\w+\}|\b[A-Z][A-Z_]{5,}\b|Accepted: "
)


@cache
def program() -> tuple[list[ast.Call], list[ast.Constant]]:
    """Every call and every constant in the source of the program."""
    calls: list[ast.Call] = []
    constants: list[ast.Constant] = []
    for path in sorted((ROOT / "uploader").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                calls.append(node)
            elif isinstance(node, ast.Constant):
                constants.append(node)
    return calls, constants


def texts_in(nodes: Iterable[ast.AST]) -> list[str]:
    """The texts among these nodes."""
    constants = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return [value for value in constants if isinstance(value, str)]


@cache
def program_texts() -> str:
    """Every text of the program, a line each."""
    _, constants = program()
    return "\n".join(texts_in(constants))


@cache
def raised() -> list[tuple[str, int, str]]:
    """Each error that is made, as far as its code stands there or is that of its kind: code, exit
    code, and the longest text of the sentence, empty where the document has none of it.

    What is no kind of error adds to the mistakes in the inputs.
    """
    found = []
    calls, _ = program()
    for node in calls:
        kind = KINDS.get(ast.unparse(node.func))
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        code = keywords.get("code", ast.Constant(kind.code) if kind else None)
        by_signal = kind is Interrupted
        if by_signal or not isinstance(code, ast.Constant) or not code.value:
            continue
        sentence = node.args[:1] if kind and {"cause", "hint"} & keywords.keys() else []
        texts = [text for part in sentence for text in texts_in(ast.walk(part))]
        texts = [text for text in texts if len(text.split()) > 2]
        exit_code = (kind or InputError).exit_code
        found.append((str(code.value), exit_code, max(texts, key=len, default="")))
    return found


def foreign_parts(sentence: str) -> list[str]:
    """The parts of a sentence that are no text of the program."""
    parts = [part.strip(" .") for part in JOINTS.split(sentence)]
    return [part for part in parts if part not in program_texts()]


def message(entry: Entry) -> list[str]:
    """What the table has of an entry that the log says."""
    return entry.texts.get("log", "").strip().splitlines()


def test_a_code_that_is_raised_is_in_the_table() -> None:
    codes = {(code, exit_code) for code, exit_code, _ in raised()}
    assert len(codes) > 50
    assert sorted(codes - {(entry.code, entry.exit_code) for entry in OWN}) == []


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_kind_of_error_is_in_the_table(kind: type[UploaderError]) -> None:
    ends = [kind(2), kind(15)] if issubclass(kind, Interrupted) else [kind]
    for end in ends:
        entries = [entry for entry in OWN if entry.code == end.code]
        assert [entry.exit_code for entry in entries] == [end.exit_code]
        meaning = entries[0].texts["meaning"]
        assert meaning == str(end) if isinstance(end, Interrupted) else meaning


@pytest.mark.parametrize("entry", OWN, ids=lambda entry: entry.code)
def test_a_code_in_the_table_is_raised(entry: Entry) -> None:
    by_kind = {(kind.code, kind.exit_code) for kind in KINDS.values()}
    by_signal = {(end.code, end.exit_code) for end in map(Interrupted, (2, 15))}
    by_code = {(code, exit_code) for code, exit_code, _ in raised()}
    assert (entry.code, entry.exit_code) in by_kind | by_signal | by_code


@pytest.mark.parametrize(
    "entry",
    [entry for entry in ENTRIES if entry.source == "network"],
    ids=lambda entry: entry.code,
)
def test_a_code_of_the_network_in_the_table_is_given(entry: Entry) -> None:
    assert entry.code in program_texts().splitlines()


@pytest.mark.parametrize(
    "entry", [entry for entry in OWN if message(entry)], ids=lambda e: e.code
)
def test_a_sentence_in_the_table_is_one_of_the_program(entry: Entry) -> None:
    for line in message(entry):
        assert not foreign_parts(line)


def test_a_sentence_of_the_program_is_in_the_table() -> None:
    sentences = {(code, text) for code, _, text in raised() if text}
    assert len(sentences) > 50
    missing = []
    for code, text in sorted(sentences):
        entries = [entry for entry in OWN if entry.code == code]
        lines = [line for entry in entries for line in message(entry)]
        if text.strip(" .") not in "\n".join(lines):
            missing.append((code, text))
    assert missing == []


def test_what_else_the_document_lists_is_said_by_the_program() -> None:
    document = (ROOT / "docs" / "TROUBLESHOOTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```text\n(.*?)```", document, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(lines) > 100
    assert not [line for line in lines if foreign_parts(line)]
