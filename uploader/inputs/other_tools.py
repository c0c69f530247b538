"""The inputs of the tools that people come from, and what each is here: the only table of it.

The answer to a foreign input in a workflow and the tables of docs/MIGRATION.md are read from it. A
name that differs from ours in hyphens, underscores and capitals alone (packageName) is answered without its row here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from uploader.inputs.play_tools import CODEMAGIC, FASTLANE, GRADLE, KEY, PLAY_ACTION, OtherInput, row

ToolId = Literal["play-action", "fastlane", "gradle", "codemagic", "storage", "mail", "login"]


@dataclass(frozen=True)
class Tool:
    """A tool by its title on the page, with its inputs."""

    title: str
    rows: tuple[OtherInput, ...]

    def find(self, name: str) -> OtherInput | None:
        """The row of an input."""
        return next((row for row in self.rows if name in row.names), None)


_STORAGE = (
    row("credentials", "`credentials`", "or the keyless login, without a step before this one"),
    row("path", "`files`", "a folder is `dir/**`"),
    row(
        "destination", "`params`", "`bucket: NAME`, and `name: PREFIX/`", "`params`, as `bucket: NAME` and `name: PATH`"
    ),
    row("bucket", "`params`", "other actions", "`params`, as `bucket: NAME`"),
    row("glob", "`files`", "`dir/*.zip`", "`files`, with a pattern such as `dir/*.zip`"),
    row("predefinedAcl", "`params`", "`predefinedAcl: NAME`", "`params`, as `predefinedAcl: NAME`"),
    row("attachments, filename", "`files`", "other actions"),
    row("mimeType, contentType", "`media-type`", "other actions"),
    row("folderId", "`metadata`", '`{"parents": ["ID"]}`, for Google Drive', '`metadata`, as `{"parents": ["ID"]}`'),
)

_MAIL = (
    *(row(name, f"`mail-{name}`") for name in ("to", "from", "cc", "bcc", "subject", "body")),
    row("html_body", "`mail-html`"),
)
_LOGIN = (
    row("workload_identity_provider", "`workload-identity-provider`"),
    row("service_account", "`service-account`"),
    row("credentials_json", "`credentials`", "", KEY),
    row(
        "refresh-token, client-secret",
        "`credentials`",
        "as an `authorized_user` configuration",
        "`credentials`; a refresh token goes there as an `authorized_user` configuration",
    ),
)

TOOLS: dict[ToolId, Tool] = {
    "play-action": Tool("r0adkll/upload-google-play", PLAY_ACTION),
    "fastlane": Tool("fastlane supply", FASTLANE),
    "gradle": Tool("Gradle Play Publisher", GRADLE),
    "codemagic": Tool("google-play bundles publish", CODEMAGIC),
    "storage": Tool("google-github-actions/upload-cloud-storage", _STORAGE),
    "mail": Tool("mail actions", _MAIL),
    "login": Tool("google-github-actions/auth and other logins", _LOGIN),
}

# What each name is here, for names that a variable can have; the first tool that has a name wins.
ANSWERS: dict[str, str] = {}
for _tool in TOOLS.values():
    for _each in _tool.rows:
        for _name in _each.names:
            if re.fullmatch(r"\w[\w-]*", _name):
                ANSWERS.setdefault(_name, _each.response)
