"""Every input that fuzzing has kept, and some drawn here, run through its target without the fuzzer."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path
from types import FrameType

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as some

from tests.fuzz.targets import PARSERS, TARGETS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "uploader"
CORPUS = Path(__file__).resolve().parent / "corpus"
# What takes bytes or text apart, as code writes it.
TOOLS = re.compile(
    r"json\.loads|yaml\.load|.*\.unpack(_from)?|zipfile\.ZipFile|zlib\.\w+|base64\.b64decode|bytes\.fromhex|.*\.decode"
    r"|parse_stream|BytesHeaderParser|BytesParser"
)
NOT_FOREIGN = {
    "files/workspace.py": "makes a file's name printable",
    "outputs/reporter.py": "writes our own text in the stream's encoding",
}


@pytest.mark.parametrize("target", TARGETS)
def test_the_corpus_holds(target: str) -> None:
    """What once was found, or covered something new, still breaks no law."""
    files = sorted((CORPUS / target).iterdir())
    assert len(files) > 3
    for file in files:
        TARGETS[target](file.read_bytes())


@pytest.mark.parametrize("target", TARGETS)
@given(data=some.binary(max_size=300))
def test_any_bytes_hold(target: str, data: bytes) -> None:
    """No bytes at all break a law."""
    TARGETS[target](data)


def test_the_corpus_stays_small() -> None:
    """It is made of many small files, a few kilobytes each, and no finding is left unanswered."""
    files = [path for path in CORPUS.rglob("*") if path.is_file()]
    assert all(path.stat().st_size <= 8192 for path in files)
    assert sum(path.stat().st_size for path in files) < 1_000_000
    assert not [path for path in files if path.name.startswith("crash-")]


# The list of parsers


@cache
def reached(target: str) -> frozenset[str]:
    """The modules of the program in which the target's corpus calls a function."""
    found = set()

    def called(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            found.add(frame.f_code.co_filename)

    sys.setprofile(called)
    try:
        for file in sorted((CORPUS / target).iterdir()):
            TARGETS[target](file.read_bytes())
    finally:
        sys.setprofile(None)
    paths = map(Path, found)
    return frozenset(path.relative_to(PACKAGE).as_posix() for path in paths if path.is_relative_to(PACKAGE))


@pytest.mark.parametrize("module", PARSERS)
def test_every_parser_has_a_target_that_reaches_it(module: str) -> None:
    """Each target that is named for a parser really runs it."""
    assert PARSERS[module]
    for target in PARSERS[module]:
        assert module in reached(target)


def test_every_target_is_for_a_parser() -> None:
    """A target that nothing is named for would be run for nothing."""
    assert {target for targets in PARSERS.values() for target in targets} == set(TARGETS)


def test_every_module_that_takes_bytes_apart_is_a_parser() -> None:
    """A new parser can't do without a target: the tools of the trade are found wherever they are used."""
    users = set()
    for path in PACKAGE.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        names = [ast.unparse(node) for node in nodes if isinstance(node, (ast.Attribute, ast.Name))]
        if any(TOOLS.fullmatch(name) for name in names):
            users.add(path.relative_to(PACKAGE).as_posix())
    assert set(NOT_FOREIGN) <= users
    assert users <= {*PARSERS, *NOT_FOREIGN}


def test_the_nightly_corpus_is_where_the_fuzzer_works() -> None:
    """The workflow restores, saves and hands out the folder that `python -m tests.fuzz` writes its finds to."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "fuzz.yml").read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    paths = [step["with"]["path"] for step in job["steps"] if "path" in step.get("with", {})]
    work = re.findall(r'WORK = .* / "(.+)" / "(.+)"', (ROOT / "tests" / "fuzz" / "__main__.py").read_text())
    assert paths[:3] == ["/".join(work[0])] * 3
    (seconds,) = (int(found) for step in job["steps"] for found in re.findall(r"SECONDS=(\d+)", step.get("run", "")))
    assert len(TARGETS) * seconds / 60 < 0.9 * job["timeout-minutes"]
