"""The steps of a release that are not GitHub's own: the commit and tags that users get, and the
notes.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from uploader import __version__

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
IMAGE = "ghcr.io/owner/name@sha256:" + "0" * 64
FILES = (
    "README.md",
    "action.yml",
    "docs/GITLAB.md",
    "examples/gitlab/job.yml",
    "templates/upload.yml",
)
SCRIPTS = tuple(
    f"scripts/{name}"
    for name in ("release-commit", "release-notes", "stamp", "signed_commit.py")
)


def git(repository: Path, *args: str, stdin: str = "", **environ: str) -> str:
    """What git prints, without its final newline."""
    done = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *args],
        cwd=repository,
        env={**os.environ, **environ},
        input=stdin,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def script(
    repository: Path, name: str, *args: str, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Runs one of the project's scripts in another checkout."""
    command = ["sh", f"scripts/{name}", *args]
    environment = {**os.environ, **environ}
    return subprocess.run(
        command,
        cwd=repository,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )


class GitDatabase(BaseHTTPRequestHandler):
    """GitHub's trees, commits and refs on a real repository, as docs.github.com/rest/git says."""

    repository: ClassVar[Path]
    signs: ClassVar[bool]

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def do_POST(self) -> None:
        """One object is made; a ref that exists is refused."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        made = self.make(self.path.removeprefix("/repos/owner/name/git/"), body)
        self.send_response(200 if made else 422)
        self.end_headers()
        self.wfile.write(
            json.dumps(
                made or {"message": "Reference already exists, or does not"}
            ).encode()
        )

    do_PATCH = do_POST  # noqa: N815 - the name that http.server calls

    def make(self, what: str, body: dict[str, Any]) -> dict[str, Any]:
        """What GitHub answers; nothing where it refuses."""
        if what == "trees":
            index = {"GIT_INDEX_FILE": str(self.repository / "stand-in.index")}
            git(self.repository, "read-tree", body["base_tree"], **index)
            for entry in body["tree"]:
                blob = git(
                    self.repository,
                    "hash-object",
                    "-w",
                    "--stdin",
                    stdin=entry["content"],
                )
                added = f"{entry['mode']},{blob},{entry['path']}"
                git(
                    self.repository,
                    "update-index",
                    "--add",
                    "--cacheinfo",
                    added,
                    **index,
                )
            return {"sha": git(self.repository, "write-tree", **index)}
        if what == "commits":
            parents = [f"-p{parent}" for parent in body["parents"]]
            sha = git(
                self.repository,
                "commit-tree",
                body["tree"],
                *parents,
                "-m",
                body["message"],
            )
            signed = self.signs and not {"author", "committer"} & body.keys()
            return {
                "sha": sha,
                "verification": {
                    "verified": signed,
                    "reason": "valid" if signed else "unsigned",
                },
            }
        ref = body.get("ref", what)
        if bool(git(self.repository, "for-each-ref", ref)) != (self.command == "PATCH"):
            return {}
        git(self.repository, "update-ref", ref, body["sha"])
        return {"ref": ref}


@contextlib.contextmanager
def github(repository: Path, *, signs: bool) -> Iterator[dict[str, str]]:
    """GitHub over `repository`; gives the variables by which a job finds it."""
    handler = type(
        "Handler", (GitDatabase,), {"repository": repository / ".git", "signs": signs}
    )
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}"
        yield {
            "GITHUB_API_URL": address,
            "GITHUB_REPOSITORY": "owner/name",
            "GH_TOKEN": "a token",
        }
        server.shutdown()
        thread.join()


def release(
    repository: Path, version: str, image: str = IMAGE, *, signs: bool = True
) -> str:
    """Makes a release's commit in a clean checkout, as the workflow does; the answer is why not, or
    nothing.
    """
    git(repository, "checkout", "--quiet", "--force", "main")
    with github(repository, signs=signs) as variables:
        done = script(repository, "release-commit", version, image, **variables)
    return done.stderr or "refused" if done.returncode else ""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with what a release reads, and nothing else."""
    for file in (*FILES, *SCRIPTS):
        (tmp_path / file).parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(ROOT / file, tmp_path / file)
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message=first")
    return tmp_path


def test_both_tags_name_files_whose_image_is_pinned(checkout: Path) -> None:
    """Users of v1 and of v1.2.3 get the published image by digest; a released version never moves,
    the major does.
    """
    assert release(checkout, "v1.2.3") == ""
    for tag in ("v1", "v1.2.3"):
        changes = git(
            checkout,
            "diff",
            "--unified=0",
            "main",
            tag,
            "--",
            "action.yml",
            "templates",
        ).splitlines()
        assert [
            line
            for line in changes
            if line.startswith("+") and not line.startswith("+++")
        ] == [
            f"+  image: docker://{IMAGE}",
            f"+      default: {IMAGE}",
        ]
        assert tuple(git(checkout, "diff", "--name-only", "main", tag).split()) == FILES
        for page in ("README.md", "examples/gitlab/job.yml"):
            named = re.findall(
                r"name: (ghcr\.io\S+)(.*)", git(checkout, "show", f"{tag}:{page}")
            )
            assert set(named) == {(IMAGE, " # v1.2.3")}
        component = subprocess.run(
            ["git", "show", f"{tag}:templates/upload.yml"],
            cwd=checkout,
            check=True,
            capture_output=True,
        )
        hashed = base64.b64encode(hashlib.sha256(component.stdout).digest()).decode()
        page = git(checkout, "show", f"{tag}:docs/GITLAB.md")
        assert (
            f"/owner/name/v1.2.3/templates/upload.yml\n    integrity: sha256-{hashed}\n"
            in page
        )
        # a tag object would be one that nobody signed
        assert git(checkout, "cat-file", "-t", tag) == "commit"
    first = git(checkout, "rev-parse", "v1.2.3")
    assert "Reference already exists" in release(
        checkout, "v1.2.3", IMAGE.replace("0" * 64, "1" * 64)
    )
    assert release(checkout, "v1.3.0") == ""
    assert git(checkout, "rev-parse", "v1.2.3") == first
    assert (
        git(checkout, "rev-parse", "v1")
        == git(checkout, "rev-parse", "v1.3.0")
        != first
    )


def test_what_is_not_signed_or_not_pinned_is_not_released(checkout: Path) -> None:
    """Without GitHub's signature, or with a name that could come to mean another image, there is no
    tag.
    """
    assert (
        release(checkout, "v1.2.3", signs=False)
        == "GitHub did not sign the commit: unsigned.\n"
    )
    assert release(checkout, "v1.2.3", "ghcr.io/owner/name:v1.2.3")
    assert not git(checkout, "tag")


def test_no_user_meets_the_stand_in_for_the_owner(tmp_path: Path) -> None:
    """On a clone whose owner has capitals: every file says the real name, images have the lower
    case they need.
    """
    git(tmp_path, "clone", "--quiet", str(ROOT), "clone")
    clone = tmp_path / "clone"
    assert script(clone, "stamp", "a/b|d").returncode == 1
    assert script(clone, "stamp", "Octo-Org/Play.Uploader").returncode == 0
    left = subprocess.run(
        ["git", "grep", "-lIw", "OWNER"],
        cwd=clone,
        check=False,
        capture_output=True,
        text=True,
    )
    assert set(left.stdout.split()) <= {"scripts/stamp", "tests/test_release_steps.py"}
    assert "- uses: Octo-Org/Play.Uploader@v1" in (clone / "README.md").read_text()
    page = tmp_path / "summary"
    # what is released leads to the page about its failures, a checkout knows no address
    for program in (ROOT, clone):
        told = {
            **os.environ,
            "GITHUB_ACTIONS": "true",
            "INPUT_TARGET": "play",
            "GITHUB_STEP_SUMMARY": str(page),
        }
        subprocess.run(
            [sys.executable, program / "entrypoint.py"],
            cwd=tmp_path,
            env=told,
            check=False,
        )
    address = f"https://github.com/Octo-Org/Play.Uploader/blob/v{__version__}/docs/TROUBLESHOOTING.md#invalid-input"
    failures = re.findall(r"\*\*Failure:\*\* (\S+)", page.read_text())
    assert failures == ["`invalid-input`", f"[`invalid-input`](<{address}>)"]
    images = git(
        clone,
        "grep",
        "-hoIE",
        'ghcr[.]io/[^/ ]*/[^@:" ]*',
        "--",
        ":!tests",
        ":!scripts",
    ).splitlines()
    assert {image for image in images if "octo" in image.lower()} == {
        "ghcr.io/octo-org/play.uploader"
    }
    (default,) = re.findall(
        r"default: (ghcr[.]io/\S+)", (clone / "templates" / "upload.yml").read_text()
    )
    assert re.fullmatch(r"[a-z0-9./_-]+:v[0-9.]+", default)


def test_the_advice_to_verify_a_release_asks_who_made_it() -> None:
    """A signature of GitHub's is on every commit that is made on its pages; the author is the
    workflow's token.
    """
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    (asked,) = re.findall(r"--jq '(.*)'", page)
    assert {
        ".author.login",
        ".committer.login",
        ".commit.verification.verified",
    } <= set(asked.split(", "))
    assert "`github-actions[bot]`" in page
    assert "`web-flow`" in page
    message = re.search(
        r'--message "Release \$version(.*?)"',
        (ROOT / "scripts/release-commit").read_text(),
    )
    assert message
    assert f"`Release vX.Y.Z{message[1]}`" in page


def test_the_notes_are_the_changelogs_own(checkout: Path) -> None:
    """A release says what CHANGELOG.md says of that version; a version without a section can't be
    released.
    """
    (checkout / "CHANGELOG.md").write_text(
        "# Changelog\n\n## 1.10.0 - 2030\n\n- ten\n\n## 1.1.0 - 2029\n\n- one\n"
    )
    assert script(checkout, "release-notes", "v1.1.0").stdout.strip() == "- one"
    assert script(checkout, "release-notes", "v1.10.0").stdout.strip() == "- ten"
    assert script(checkout, "release-notes", "v1.1").returncode == 1
