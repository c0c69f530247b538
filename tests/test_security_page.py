"""docs/SECURITY.md promises nothing that no test holds the program to, and leaves out no host that the code knows."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from scripts import make_security_page as page
from uploader.inputs import TARGETS

ROOT = Path(__file__).resolve().parent.parent
TEXT = page.PAGE.read_text(encoding="utf-8")
MARKED = """
import pytest

@pytest.mark.threat("server", "lies"{more})
@pytest.mark.parametrize("value", [1])
def test_it_is_not_believed(value): ...
"""


def marked(folder: Path, more: str = "", *, attacker: str = "server") -> list[page.Proof]:
    """The proofs in a folder with one marked test."""
    text = MARKED.replace("{more}", more).replace("server", attacker)
    (folder / "test_lies.py").write_text(text, encoding="utf-8")
    return list(page.proofs(folder))


def test_the_page_is_up_to_date() -> None:
    """The tables are what the marked tests and the code say now: `python -m scripts.make_security_page` renews them."""
    assert page.renewed(TEXT) == TEXT


def test_a_marked_test_is_a_row(tmp_path: Path) -> None:
    """Who, what, the rule and the test; a further test of the same attack stands in the same row."""
    (proof,) = marked(tmp_path, ', rule="a" " rule"')
    assert proof == page.Proof("server", "lies", "a rule", "test_it_is_not_believed")
    *_, row = page.threats([proof, replace(proof, rule="", test="test_nor_is_that")]).splitlines()
    assert row == f"| {page.ATTACKERS['server']} | lies | a rule | `test_it_is_not_believed`, `test_nor_is_that` |"


@pytest.mark.parametrize("more", [', "more"', ", rule=RULE", ', cure="none"', ", rule=1, because=2"])
def test_a_mark_that_is_not_written_out_is_refused(tmp_path: Path, more: str) -> None:
    """What a program would have to be run to know, or what the table has no column for."""
    with pytest.raises(ValueError, match="test_it_is_not_believed"):
        marked(tmp_path, more)


def test_an_attack_has_one_rule_and_a_known_attacker(tmp_path: Path) -> None:
    """None told, or two different ones, or an attacker of another spelling is a mistake and no row."""
    (proof,) = marked(tmp_path)
    with pytest.raises(ValueError, match="exactly one rule"):
        page.threats([proof])
    with pytest.raises(ValueError, match="exactly one rule"):
        page.threats([replace(proof, rule="one"), replace(proof, rule="another")])
    with pytest.raises(ValueError, match="sevrer"):
        page.threats(marked(tmp_path, ', rule="a rule"', attacker="sevrer"))


def test_every_attacker_is_held_off_by_some_test() -> None:
    """A kind of attacker without a row would be a promise without a proof."""
    assert {proof.who for proof in page.proofs()} == set(page.ATTACKERS)


# Hosts

# What the code names and never talks to.
NAMED = {
    "127.0.0.1": "the embedded emulator",
    "iam.googleapis.com": "the audience of a token",
    "github.com": "a link for people",
    "play.google.com": "links for people",
    "support.google.com": "a link for people",
    "developer.android.com": "links for people",
    "schemas.android.com": "the namespace of a manifest",
    "www.googleapis.com": "scopes, and the host of Play Games and Drive, which is on the page",
}


def test_every_target_has_its_host() -> None:
    """Each target of its own is in the table, with at least one root that its code is written with."""
    assert set(page.TARGETS) == set(TARGETS)
    assert all(page.roots(page.SERVICES / module) for module in page.TARGETS.values())


def test_every_host_in_the_code_is_on_the_page() -> None:
    """One that is on no list is a host that a rule for outgoing traffic would miss."""
    texts = [text for file in (ROOT / "uploader").rglob("*.py") for text in page.constants(file)]
    hosts = {host for text in texts for host in re.findall(r"https?://([\w-]+(?:\.[\w-]+)+)", text)}
    assert {"sts.googleapis.com", "oauth2.googleapis.com", "iamcredentials.googleapis.com"} <= hosts
    assert set(NAMED) <= hosts
    assert not {host for host in hosts - set(NAMED) if f"`{host}`" not in TEXT}


def test_the_hosts_that_google_auth_asks_are_on_the_page() -> None:
    """Its metadata server and its endpoints, as its own modules name them."""
    from google.auth import aws, external_account, iam, impersonated_credentials
    from google.auth.compute_engine import _metadata

    asked = [aws.__file__, external_account.__file__, iam.__file__, impersonated_credentials.__file__]
    texts = [text for file in (*asked, _metadata.__file__) for text in page.constants(Path(file))]
    hosts = {host for text in texts for host in re.findall(r"^(?:https?://)?([\w.-]+\.(?:com|internal|254))\b", text)}
    assert "metadata.google.internal" in hosts
    assert not {host for host in hosts - {"www.googleapis.com"} if f"`{host}`" not in TEXT}


def test_its_links_lead_somewhere() -> None:
    """Each names a file of the repository."""
    links = re.findall(r"\]\(([^)#]+)", TEXT)
    assert links
    assert all((ROOT / "docs" / link).is_file() for link in links)
