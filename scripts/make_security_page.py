"""Writes two tables into docs/SECURITY.md: the threats, from the tests that hold them off, and the hosts of a run.

A test is marked with `@pytest.mark.threat(who, attack, rule=...)`: `who` is a key of `ATTACKERS`, `attack` what they
may try, `rule` what stands against it. Tests with the same attack share a row, and one of them tells the rule.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from uploader.services import method_catalogue

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "SECURITY.md"
MARK = "<!-- made by scripts/make_security_page.py: {part}, {which} -->\n"
SERVICES = ROOT / "uploader" / "services"
# Each target of its own, and the module or folder in which it is.
TARGETS: Final = {
    "play": "play",
    "play-status": "play",
    "play-rollout": "play",
    "play-listing-pull": "play",
    "play-internal-sharing": "internal_sharing",
    "gmail": "mail",
    "play-games": "play_games",
    "ota": "ota",
}
MEASURES: Final = SERVICES / "play" / "reporting_api"  # beside what goes to Google Play itself
MEASURING: Final = {"play-rollout"}
ATTACKERS: Final = {
    "committer": "who commits to the workspace, or opens a pull request",
    "server": "a server, a proxy, someone in between",
    "configuration": "who hands over a credential configuration",
    "state": "who can read or change the cache or `state-dir`",
    "neighbour": "another step, or another job on the machine",
    "reader": "who reads the log, an output, the summary",
    "dependency": "who publishes a dependency, an action, an image",
    "mistake": "nobody: a mistake in the workflow",
}


@dataclass(frozen=True)
class Proof:
    """One test that is marked with a threat; `rule` is empty where another test of the same attack tells it."""

    who: str
    attack: str
    rule: str
    test: str


def proofs(folder: Path = ROOT / "tests") -> Iterator[Proof]:
    """Every mark of a threat, in the order of files and lines. Raises ValueError for one that is not written out."""
    for path in sorted(folder.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            for mark in node.decorator_list:
                if ast.unparse(mark).partition("(")[0] == "pytest.mark.threat":
                    yield _proof(mark, node.name, path)


def _proof(mark: ast.expr, test: str, path: Path) -> Proof:
    call = mark if isinstance(mark, ast.Call) else ast.Call(mark, [], [])
    try:
        who, attack = map(ast.literal_eval, call.args)
        named = {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in call.keywords}
        return Proof(who, attack, named.pop("rule", ""), test, **named)
    except (ValueError, TypeError):
        raise ValueError(f"{path.name}: the threat of {test} must be two texts, and a `rule` at most.") from None


def threats(found: Iterable[Proof]) -> str:
    """The table of threats. Raises ValueError for an unknown attacker, and for an attack without exactly one rule."""
    rows: dict[tuple[str, str], list[Proof]] = {}
    for proof in found:
        rows.setdefault((proof.who, proof.attack), []).append(proof)
    order = list(ATTACKERS)
    lines = []
    for who, attack in sorted(rows, key=lambda row: (order.index(row[0]), row[1])):
        members = rows[who, attack]
        rules = {proof.rule for proof in members} - {""}
        if len(rules) != 1:
            raise ValueError(f"{attack!r} needs exactly one rule, and has {len(rules)}.")
        tests = ", ".join(f"`{name}`" for name in sorted({proof.test for proof in members}))
        lines.append((ATTACKERS[who], attack, rules.pop(), tests))
    return _table(("who", "what they may try", "what stands against it", "held by"), lines)


def hosts() -> str:
    """The table of the hosts that each target's own requests go to."""
    found = {target: roots(SERVICES / module) for target, module in TARGETS.items()}
    for target in found.keys() - MEASURING:
        found[target] -= roots(MEASURES)
    rows = [(f"`{target}`", _code(hosts_of)) for target, hosts_of in found.items()]
    apis = {
        (method.id.partition(".")[0], method.root)
        for method in map(method_catalogue.find, method_catalogue.targets())
        if method
    }
    under_its_name = {api for api, root in apis if root == f"https://{api}.googleapis.com"}
    rows.append((f"a method of {_code(under_its_name)}", "that name before `.googleapis.com`"))
    rows += [(f"a method of `{api}`", _code([root])) for api, root in sorted(apis) if api not in under_its_name]
    return _table(("target", "host"), rows)


def roots(module: Path) -> set[str]:
    """Every root URL that a module, or a folder of them, is written with: a scheme and a host without a path."""
    files = sorted(module.rglob("*.py")) or [module.with_suffix(".py")]
    return {text for file in files for text in constants(file) if re.fullmatch(r"https://[a-z.]+", text)}


def constants(file: Path) -> Iterator[str]:
    """Every text that the code of a file holds, but for its docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value


def renewed(text: str) -> str:
    """The page with both tables made anew. Raises ValueError when a mark around one of them is missing."""
    for part, table in (("threats", threats(proofs())), ("hosts", hosts())):
        begin, end = (MARK.format(part=part, which=which) for which in ("begin", "end"))
        head, rest = text.split(begin)
        _, tail = rest.split(end)
        text = head + begin + table + end + tail
    return text


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name.removeprefix('https://')}`" for name in sorted(names))


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (header, ("---",) * len(header), *rows))


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
