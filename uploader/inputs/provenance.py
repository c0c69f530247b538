"""What the CI system says of the commit that a run is about, and of who started it.

The variables are for people to read, and decide nothing. One that is not in the form which the
system gives it counts as absent.
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
    """The tag, the commit and the login of who started the run; empty where they are not known.

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
        parts = (("tag", self.tag), ("commit", self.commit[:8]), ("started by", self.started_by))
        return ", ".join(f"{name} {value}" for name, value in parts if value)


def of_github(get: Callable[[str], str]) -> Provenance:
    """Return what GitHub's runner says; the pages are only known of one whose server is https."""
    commit = _checked(_COMMIT, get("GITHUB_SHA"))
    tag = get("GITHUB_REF_NAME") if get("GITHUB_REF_TYPE") == "tag" else ""
    login = get("GITHUB_TRIGGERING_ACTOR") or get("GITHUB_ACTOR")
    server = get("GITHUB_SERVER_URL").rstrip("/")
    repository = _checked(_REPOSITORY, get("GITHUB_REPOSITORY"))
    commit_url = raw_url = ""
    if commit and repository and _is_root(server):
        commit_url = f"{server}/{repository}/commit/{commit}"
        raw_url = f"{server}/{repository}/raw/{commit}/"
    return Provenance(_checked(_TAG, tag), commit, _checked(_LOGIN, login), commit_url, raw_url)


def of_gitlab(get: Callable[[str], str]) -> Provenance:
    """Return what GitLab's runner says."""
    commit = _checked(_COMMIT, get("CI_COMMIT_SHA"))
    server = get("CI_SERVER_URL").rstrip("/")
    project = get("CI_PROJECT_URL")
    path = project.removeprefix(server)
    commit_url = ""
    if commit and _is_root(server) and path != project and _PATH.fullmatch(path):
        commit_url = f"{project}/-/commit/{commit}"
    tag = _checked(_TAG, get("CI_COMMIT_TAG"))
    return Provenance(tag, commit, _checked(_LOGIN, get("GITLAB_USER_LOGIN")), commit_url)


def _checked(pattern: re.Pattern[str], value: str) -> str:
    return value if pattern.fullmatch(value) else ""


def _is_root(url: str) -> bool:
    """Whether a URL is that of a server, with https and without a path."""
    found = origin(url)
    return found.scheme == "https" and url.count("/") == 2 and "?" not in url and "#" not in url
