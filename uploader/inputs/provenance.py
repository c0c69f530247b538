"""What the CI system says of the commit that a run is about, and of who started it.

The variables are only shown to people and decide nothing. A variable that does not have the form
which the system gives it counts as absent.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from uploader.hosts import origin

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REPOSITORY = re.compile(r"[\w.-]{1,100}/[\w.-]{1,100}", re.ASCII)
_LOGIN = re.compile(r"[\w.-]{1,100}(?:\[bot\])?", re.ASCII)
_TAG = re.compile(r"[!-~]{1,255}")
_PATH = re.compile(r"(?:/[\w.-]+){2,20}", re.ASCII)


@dataclass(frozen=True)
class Provenance:
    """The tag, the commit and the login of who started the run; empty if they are not known.

    `commit_url` is the commit's page on the CI system's own server, and `raw_url` the address below
    which GitHub serves the files of the commit.
    """

    tag: str = ""
    commit: str = ""
    started_by: str = ""
    commit_url: str = ""
    raw_url: str = ""

    @property
    def in_words(self) -> str:
        """All that is known, for a line of the log."""
        words: list[str] = []
        if self.tag:
            words.append(f"tag {self.tag}")
        if self.commit:
            short_commit = self.commit[:8]
            words.append(f"commit {short_commit}")
        if self.started_by:
            words.append(f"started by {self.started_by}")
        return ", ".join(words)


def of_github(get: Callable[[str], str]) -> Provenance:
    """Return what GitHub's runner says. The addresses are empty unless its server uses https."""
    tag = ""
    if get("GITHUB_REF_TYPE") == "tag":
        tag = get("GITHUB_REF_NAME")
    login = get("GITHUB_TRIGGERING_ACTOR")
    if not login:
        login = get("GITHUB_ACTOR")
    commit = _accept(_COMMIT, get("GITHUB_SHA"))
    repository = _accept(_REPOSITORY, get("GITHUB_REPOSITORY"))
    server = get("GITHUB_SERVER_URL").rstrip("/")
    commit_url = ""
    raw_url = ""
    if commit and repository and _is_root(server):
        page = f"{server}/{repository}"
        commit_url = f"{page}/commit/{commit}"
        raw_url = f"{page}/raw/{commit}/"
    return Provenance(
        tag=_accept(_TAG, tag),
        commit=commit,
        started_by=_accept(_LOGIN, login),
        commit_url=commit_url,
        raw_url=raw_url,
    )


def of_gitlab(get: Callable[[str], str]) -> Provenance:
    """Return what GitLab's runner says."""
    commit = _accept(_COMMIT, get("CI_COMMIT_SHA"))
    server = get("CI_SERVER_URL").rstrip("/")
    project = get("CI_PROJECT_URL")
    path = ""
    if project.startswith(server):
        path = project.removeprefix(server)
    commit_url = ""
    if commit and _PATH.fullmatch(path) and _is_root(server):
        commit_url = f"{project}/-/commit/{commit}"
    return Provenance(
        tag=_accept(_TAG, get("CI_COMMIT_TAG")),
        commit=commit,
        started_by=_accept(_LOGIN, get("GITLAB_USER_LOGIN")),
        commit_url=commit_url,
    )


def _accept(pattern: re.Pattern[str], value: str) -> str:
    """Return the value if it has the form of the pattern, else nothing."""
    if pattern.fullmatch(value):
        return value
    return ""


def _is_root(url: str) -> bool:
    """Return whether a URL is that of a server, with https and without a path."""
    if "?" in url or "#" in url:
        return False
    if origin(url).scheme != "https":
        return False
    # Only `https://` has slashes.
    return url.count("/") == 2
