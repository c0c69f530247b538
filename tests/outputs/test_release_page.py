"""What the summary draws of a release: the shares, the notes, the store listing, where it came
from. Nothing that files or servers say becomes markup, and no image is taken from elsewhere.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from tests.outputs.test_summary import page
from tests.support.platforms import hostile, tables
from uploader.inputs.provenance import Provenance, of_github, of_gitlab
from uploader.outputs.markdown import Escaper
from uploader.outputs.pictures import committed_images, live_image
from uploader.outputs.release_page import listing, notes, shares
from uploader.outputs.word_diff import word_diff
from uploader.redaction import Redactor
from uploader.results import FileResult
from uploader.services.base import Section
from uploader.services.release_facts import (
    ChangedImages,
    ChangedText,
    ReleaseFacts,
    TrackFacts,
    VersionShare,
)

PLAIN = Escaper(Redactor(["hunter2-hunter2"]))
COMMIT = "5f0e1c2d3b4a59687766554433221100ffeeddcc"
RAW = f"https://github.com/example/shop/raw/{COMMIT}/"
LIVE = "https://play-lh.googleusercontent.com/abc"
ICON = "listing/en-US/images/icon.png"


def test_shares_are_bars_of_versions() -> None:
    """One bar for each track, in which every version that has users can be seen. Beside a halted
    version, which nobody else gets, the completed one has the shade that it had during the rollout.
    """
    rollout = (VersionShare("1.4.2 (42)", 0.01), VersionShare("1.4.1 (41)", 0.99))
    halted = (VersionShare("42", 0.0), VersionShare("41", 1.0))
    facts = ReleaseFacts(
        (
            TrackFacts("production", "", "", "", rollout),
            TrackFacts("beta", "", "", "", halted),
        )
    )
    assert shares(facts, PLAIN).split("\n\n") == [
        (
            f"**production, now:** `▓{'░' * 19}` "
            "▓ 1.4.2 (42) 1&#160;% · ░ 1.4.1 (41) 99&#160;%"
        ),
        (
            f"**beta, now:** `{'░' * 20}` ░ 41 100&#160;% · "
            "42 halted: who has it keeps it, and nobody else gets it"
        ),
    ]


def test_bar_of_three_versions_has_three_shades() -> None:
    """More than three have no bar."""
    parts = [
        VersionShare("43", 0.001),
        VersionShare("42", 0.5),
        VersionShare("41", 0.499),
    ]
    track = TrackFacts("beta", "", "", "", tuple(parts))
    bar = f"▓{'▒' * 10}{'░' * 9}"
    told = "▓ 43 0.1&#160;% · ▒ 42 50&#160;% · ░ 41 49.9&#160;%"
    assert shares(ReleaseFacts((track,)), PLAIN) == f"**beta, now:** `{bar}` {told}"
    four = TrackFacts("beta", "", "", "", (VersionShare("44", 0.25), *parts))
    assert shares(ReleaseFacts((four,)), PLAIN).startswith(
        "**beta, now:** 44 25&#160;% · 43 0.1"
    )


def test_shares_that_are_planned_are_told_as_such() -> None:
    """After a refusal and in a dry run, and before a review, nobody takes them for what is live."""
    track = TrackFacts("production", "", "", "", (VersionShare("42", 1.0),))
    told = shares(ReleaseFacts((track,), in_review=True), PLAIN)
    assert told.startswith("**production, after the review:**")
    assert shares(ReleaseFacts((track,), planned=True), PLAIN).startswith(
        "**production, planned:**"
    )


def test_notes_are_told_in_full_and_folded_by_language() -> None:
    """Line by line; those that change as a comparison, many languages in one fold."""
    new = ChangedText("en-US", "notes", "", "Starts faster.\n\nCrashes <less>.")
    changed = ChangedText("de-DE", "notes", "Startet schnell.", "Startet schneller.")
    told = notes(ReleaseFacts(notes=(new, changed)), PLAIN)
    assert told.startswith(
        "<details><summary>Release notes en-US (31 characters)</summary>\n\n"
    )
    assert "Starts faster.<br>\n<br>\nCrashes &#60;less&#62;.\n" in told
    assert "Release notes de-DE (changed)</summary>" in told
    assert "Startet <del>schnell</del><ins>schneller</ins>." in told
    many = tuple(ChangedText(f"l{number}", "notes", "", "x") for number in range(6))
    folded = notes(ReleaseFacts(notes=many), PLAIN)
    assert folded.startswith(
        "<details><summary>Release notes in 6 languages</summary>\n\n<details>"
    )


LISTING = ReleaseFacts(
    texts=(
        ChangedText("fr-FR", "title", "", "Boutique"),
        ChangedText("en-US", "title", "Shop", "Shop | on the road"),
    ),
    images=(
        ChangedImages("en-US", "icon", (ICON,), (LIVE,), 1),
        ChangedImages("fr-FR", "phoneScreenshots", tuple("12345678"), kept=0),
    ),
    listing_files=frozenset({ICON, *"12345678"}),
)


def test_listing_that_is_planned_is_told_as_such() -> None:
    """After a refusal nobody takes it for what is live."""
    planned = replace(LISTING, planned=True)
    assert listing(planned, {}, PLAIN).startswith("### Store listing, planned\n")


def test_listing_has_a_row_for_each_language() -> None:
    """Additions have a plus, changed texts show their words, and images stand beside one another
    where they have an address.
    """
    header, english, french = tables(listing(LISTING, {ICON: RAW + ICON}, PLAIN))[0]
    assert [cell.replace("&#160;", "") for cell in header] == [
        "Language",
        "Icon",
        "Phone",
        "Texts",
    ]
    before = f'<img src="{LIVE}" height="40" alt="before">'
    after = f'<img src="{RAW}{ICON}" height="40" alt="after">'
    assert english == [
        "en&#45;US".replace("&#45;", "-"),
        f"+1, -1<br>{before}&#160;→&#160;{after}",
        "",
        "~ title: Shop<ins> &#124; on the road</ins>",
    ]
    assert french == ["fr-FR", "", "+8", "+ title: Boutique"]


def test_images_of_the_listing_are_not_listed_once_more() -> None:
    """They are counted; one that failed is told all the same."""
    files = [FileResult(name, 5, reused=name == "1") for name in (ICON, "1", "2")]
    files.append(FileResult("3", 5, error="not reached"))
    section = Section("Changes", (), (("Review",),), facts=LISTING)
    text = page(files=tuple(files), sections=(section,))
    assert [row[0] for row in tables(text)[0]] == ["File", "`3`"]
    assert "\n2 images sent, 1 there already, 1 removed\n" in text
    planned = replace(section, facts=replace(LISTING, planned=True))
    assert ", 1 to be removed\n" in page(files=tuple(files), sections=(planned,))


@given(hostile, hostile)
def test_texts_of_the_listing_and_notes_stay_text(before: str, after: str) -> None:
    """No text makes an element, a cell or a line of its own."""
    text = ChangedText("en-US", "title", before, after)
    note = ChangedText(before, "notes", before, after)
    image = ChangedImages(after, "icon", (before,), (after,), 1)
    facts = ReleaseFacts(
        (TrackFacts(before, "", "", "", (VersionShare(after, 0.5),)),),
        (note,),
        (text,),
        (image,),
    )
    drawn = listing(facts, {before: RAW + "x"}, PLAIN)
    told = f"{shares(facts, PLAIN)}\n\n{drawn}\n\n{notes(facts, PLAIN)}"
    elements = set(re.findall(r"<[^>]*>", told))
    assert elements <= {
        f'<img src="{RAW}x" height="40" alt="after">',
        *(
            "<details>",
            "</details>",
            "<summary>",
            "</summary>",
            "<br>",
            "<code>",
            "</code>",
        ),
        *("<ins>", "</ins>", "<del>", "</del>", "<!-- -->"),
    }
    assert "](" not in told
    assert all(len(row) == len(table[0]) for table in tables(drawn) for row in table)


def test_word_diff_shows_what_is_beside_a_change() -> None:
    """A long stretch that is the same is left out in its middle, and no secret is cut in two."""
    same = "".join(f"word{number} " for number in range(60))
    told = word_diff(f"{same}old {same}", f"{same}new {same}", PLAIN)
    assert told.count("<del>old</del><ins>new</ins>") == 1
    assert len(told) < 200
    assert "hunter2" not in word_diff("a", "a hunter2-hunter2 b", PLAIN)


def test_word_diff_shows_what_changes_late_in_a_long_text() -> None:
    """However long what comes before the change is."""
    same = "word " * 1900
    told = word_diff(f"{same}old end", f"{same}new end", PLAIN)
    assert told.endswith(" word <del>old</del><ins>new</ins> end")
    assert len(told) < 200


def test_word_diff_of_long_texts_without_a_common_word_has_both() -> None:
    """Neither is cut: they are nowhere else on the page."""
    old = "a " * 1600
    new = "b " * 1600
    told = word_diff(old, new, PLAIN)
    assert told == f"<del>{old.strip()}</del><ins>{new.strip()}</ins>"


def test_word_diff_says_of_a_change_that_it_can_not_show_that_there_is_one() -> None:
    """Blanks at the end of a line, or what comes after 20,000 characters."""
    told = "(changed only in blanks, or beyond what is shown here)"
    assert word_diff("One\ntwo", "One  \ntwo", PLAIN) == f"One &#8629; two {told}"
    assert word_diff(f"{'x ' * 20_000}a", f"{'x ' * 20_000}b", PLAIN).endswith(
        f" {told}"
    )


@pytest.mark.parametrize(
    "url",
    [
        "http://play-lh.googleusercontent.com/abc",
        "https://play-lh.googleusercontent.com.e.vil/abc",
        "https://e.vil/abc",
        'https://play-lh.googleusercontent.com/a"onerror=x',
        "https://play-lh.googleusercontent.com/a?q=1",
        "javascript:alert(1)",
        "",
    ],
)
def test_image_from_elsewhere_is_not_shown(url: str) -> None:
    """Only from the hosts at which Google serves images, and only at a plain address."""
    assert live_image(url) == ""
    assert live_image(LIVE) == LIVE


def git(folder: Path, *arguments: str) -> str:
    """The output of a Git command, whoever the user is."""
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    command = ["git", *author, *arguments]
    done = subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


IMAGES = ("same.png", "a/same.png", "a/changed.png", "b/c/same.png")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clone of a repository with a few images, as a CI system makes it."""
    origin = tmp_path / "origin"
    for name in IMAGES:
        file = origin / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(name.encode())
    git(origin, "init", "--quiet", "--initial-branch=main")
    git(origin, "add", ".")
    git(origin, "commit", "--quiet", "--message=Images")
    git(tmp_path, "clone", "--quiet", str(origin), "checkout")
    return tmp_path / "checkout"


def addresses(checkout: Path, *paths: str, commit: str = "") -> dict[str, str]:
    """The addresses of images, in the commit that is checked out unless another is given."""
    facts = [ReleaseFacts(images=(ChangedImages("en-US", "icon", paths),))]
    return committed_images(
        facts, RAW, commit or git(checkout, "rev-parse", "HEAD"), checkout
    )


@pytest.mark.parametrize("head", ["branch", "packed", "commit"])
def test_image_has_an_address_where_the_commit_has_it_as_it_is(
    checkout: Path, head: str
) -> None:
    """One that the job made or changed has none: GitHub would show another, or nothing."""
    if head == "packed":
        git(checkout, "pack-refs", "--all")
    elif head == "commit":
        git(checkout, "checkout", "--quiet", "--detach", "HEAD")
    (checkout / "a" / "changed.png").write_bytes(b"other")
    (checkout / "made.png").write_bytes(b"made")
    found = addresses(checkout, *IMAGES, "made.png")
    unchanged = ["a/same.png", "b/c/same.png", "same.png"]
    assert found == {name: RAW + name for name in unchanged}


def test_image_that_is_staged_and_not_committed_has_no_address(checkout: Path) -> None:
    """The commit lacks it, or has another image there."""
    (checkout / "a" / "changed.png").write_bytes(b"other")
    git(checkout, "add", "a/changed.png")
    assert set(addresses(checkout, *IMAGES)) == {"b/c/same.png"}


def test_image_of_another_commit_has_no_address(checkout: Path) -> None:
    """The job checked out something else than what the run is about, or committed more."""
    assert addresses(checkout, *IMAGES, commit=COMMIT) == {}
    commit = git(checkout, "rev-parse", "HEAD")
    git(checkout, "commit", "--quiet", "--allow-empty", "--message=More")
    assert addresses(checkout, *IMAGES, commit=commit) == {}


def test_images_have_no_address_without_a_checkout(checkout: Path) -> None:
    """Or with an index that is in another format, or broken."""
    commit = git(checkout, "rev-parse", "HEAD")
    facts = [ReleaseFacts(images=(ChangedImages("en-US", "icon", IMAGES),))]
    assert committed_images(facts, "", commit, checkout) == {}
    assert committed_images(facts, RAW, commit, checkout / "elsewhere") == {}
    index = checkout / ".git" / "index"
    whole = index.read_bytes()
    for broken in (b"", whole[:100], whole[:-60], whole.replace(b"DIRC", b"XXXX", 1)):
        index.write_bytes(broken)
        assert addresses(checkout, *IMAGES, commit=commit) == {}


@pytest.mark.parametrize("name", ["HEAD", "index", "../same.png"])
def test_a_named_pipe_in_the_checkout_does_not_hold_the_run(
    checkout: Path, name: str
) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    file = checkout / ".git" / name
    file.unlink()
    os.mkfifo(file)
    assert addresses(checkout, "same.png", commit=commit) == {}


GITHUB = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "example/shop",
    "GITHUB_SHA": COMMIT,
    "GITHUB_REF_TYPE": "tag",
    "GITHUB_REF_NAME": "v1.4.2",
    "GITHUB_ACTOR": "octocat",
}
GITLAB = {
    "CI_SERVER_URL": "https://gitlab.example",
    "CI_PROJECT_URL": "https://gitlab.example/group/shop",
    "CI_COMMIT_SHA": COMMIT,
    "CI_COMMIT_TAG": "v1.4.2",
    "GITLAB_USER_LOGIN": "ada",
}


def test_ci_system_says_where_a_run_comes_from() -> None:
    """The tag, the commit with its page, and who started it, on the page of the summary."""
    found = of_github(lambda name: GITHUB.get(name, ""))
    address = f"https://github.com/example/shop/commit/{COMMIT}"
    assert found == Provenance("v1.4.2", COMMIT, "octocat", address, RAW)
    text = page(provenance=found, seconds=3.94, waited=0.11)
    assert (
        f"\n\nTag `v1.4.2` · commit [`5f0e1c2d`](<{address}>) · started by octocat · took 3.9 s, "
        "0.1 s of it waiting for Google\n"
    ) in text
    found = of_gitlab(lambda name: GITLAB.get(name, ""))
    assert found.commit_url == f"https://gitlab.example/group/shop/-/commit/{COMMIT}"
    assert found.in_words == "tag v1.4.2, commit 5f0e1c2d, started by ada"


@pytest.mark.parametrize(
    "changed",
    [
        {"GITHUB_SHA": "main"},
        {"GITHUB_SERVER_URL": "http://github.com"},
        {"GITHUB_SERVER_URL": "https://me@github.com"},
        {"GITHUB_SERVER_URL": "https://github.com/else"},
        {"GITHUB_REPOSITORY": "../../else"},
        {"CI_PROJECT_URL": "https://e.vil/group/shop"},
        {"CI_PROJECT_URL": "https://gitlab.example.e.vil/group/shop"},
        {"CI_SERVER_URL": "http://gitlab.example"},
    ],
    ids=lambda changed: " ".join(map("=".join, changed.items())),
)
def test_variable_in_another_form_gives_no_address(changed: dict[str, str]) -> None:
    """Whoever set it could lead people elsewhere."""
    read = of_github if "GITHUB" in next(iter(changed)) else of_gitlab
    found = read(lambda name: {**GITHUB, **GITLAB, **changed}.get(name, ""))
    assert (found.commit_url, found.raw_url) == ("", "")
