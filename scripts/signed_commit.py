"""Commits files through GitHub's API, which signs commits made with a workflow's own token, and
points refs to the commit.

    python3 -I scripts/signed_commit.py --message TEXT [--create REF] [--move REF] FILE...

The commit is HEAD with the FILEs of the working tree. REF is a full name, such as refs/tags/v1.
`--create` makes the ref, and fails if it exists; `--move` moves it, or makes it if it does not
exist. If GitHub did not sign the commit, no ref is changed.

It runs beside a token that may write, so it uses only the standard library. GITHUB_API_URL,
GITHUB_REPOSITORY and GH_TOKEN come from the environment. https://docs.github.com/rest/git
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

# the status of GitHub's answer to a change of a ref that does not exist
DOES_NOT_EXIST = 422
TIMEOUT = 60  # seconds, for each request


def call(method: str, path: str, body: dict[str, Any]) -> Any:
    """Send a request to GitHub and return the JSON of its answer. Raises `urllib.error.HTTPError`
    unless it succeeds.
    """
    request = urllib.request.Request(  # noqa: S310 - the runner names the address
        f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/git/{path}",
        method=method,
        data=json.dumps(body).encode(),
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {os.environ['GH_TOKEN']}",
            "Content-Type": "application/json",
            "X-GitHub-Api-Version": "2022-11-28",
        },
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:  # noqa: S310 - the runner names the address
        return json.load(response)


def commit(message: str, files: list[str]) -> str:
    """Create a signed commit on HEAD and return its hash. It names no author, since GitHub signs
    only commits of the token itself.
    """
    head, tree = (
        subprocess.check_output(["git", "rev-parse", name], text=True).strip()
        for name in ("HEAD", "HEAD:")
    )
    changed = [
        {
            "path": file,
            "mode": mode(file),
            "type": "blob",
            "content": Path(file).read_bytes().decode(),
        }
        for file in files
    ]
    new_tree = call("POST", "trees", {"base_tree": tree, "tree": changed})["sha"]
    made = call(
        "POST", "commits", {"message": message, "tree": new_tree, "parents": [head]}
    )
    if not made["verification"]["verified"]:
        sys.exit(f"GitHub did not sign the commit: {made['verification']['reason']}.")
    return str(made["sha"])


def mode(file: str) -> str:
    """Return the file's mode in the index, which the new commit keeps; that of a plain file if the
    index does not have it.
    """
    staged = subprocess.check_output(
        ["git", "ls-files", "--stage", "--", file], text=True
    )
    return staged.partition(" ")[0] or "100644"


def create(ref: str, sha: str) -> None:
    """Create a ref. Raises `urllib.error.HTTPError` if it exists."""
    call("POST", "refs", {"ref": ref, "sha": sha})


def move(ref: str, sha: str) -> None:
    """Point a ref to another commit, or create it."""
    try:
        call("PATCH", ref, {"sha": sha, "force": True})
    except urllib.error.HTTPError as error:
        if error.code != DOES_NOT_EXIST:
            raise
        create(ref, sha)


def main() -> None:
    """Read the command line and create the commit and its refs; exit with GitHub's own words if it
    refuses.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--message", required=True)
    parser.add_argument("--create", metavar="REF")
    parser.add_argument("--move", metavar="REF")
    parser.add_argument("files", nargs="+", metavar="FILE")
    given = parser.parse_args()
    try:
        sha = commit(given.message, given.files)
        if given.create:
            create(given.create, sha)
        if given.move:
            move(given.move, sha)
    except urllib.error.HTTPError as error:
        sys.exit(
            f"{error.url}: {error.code} {error.read(500).decode(errors='replace')}"
        )


if __name__ == "__main__":
    main()
