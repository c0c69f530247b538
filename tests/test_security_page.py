"""docs/SECURITY.md promises nothing that no test holds the program to."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "SECURITY.md").read_text(encoding="utf-8")
TESTS = {
    node.name
    for path in (ROOT / "tests").rglob("test_*.py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.FunctionDef)
}
THREATS = re.findall(r"^\| (?!threat|what|---)([^|]+) \| [^|]+ \| ([^|]+) \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("threat", "held"), THREATS, ids=lambda text: text[:30])
def test_each_threat_names_tests_that_exist(threat: str, held: str) -> None:
    """A row's last column is a list of tests, or of one link to where the matter is told."""
    names = re.findall(r"`(test_\w+)`", held)
    assert names or "](" in held, threat
    assert set(names) <= TESTS


def test_its_links_lead_somewhere() -> None:
    """Each names a file of the repository."""
    links = re.findall(r"\]\(([^)#]+)", PAGE)
    assert links
    assert all((ROOT / "docs" / link).is_file() for link in links)
