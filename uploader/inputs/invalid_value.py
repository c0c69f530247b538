"""Why the text of an input is no value, and how much of it may be shown: a key may be pasted into any input."""

from __future__ import annotations

import re
from collections.abc import Mapping

from uploader.inputs.ci_platform import Kind

LONGEST_SHOWN = 80
# `$NAME`, `${NAME}`, `${{ … }}`, `$(…)`, with nothing before or behind it.
REFERENCE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}|\{\{.*\}\}|\(.*\))", re.ASCII | re.DOTALL)
EXPANDED: Mapping[Kind, str] = {
    "github": "`${{ secrets.NAME }}` or `${{ vars.NAME }}`; GitHub expands no `$NAME` in `with:`.",
    "gitlab": "a variable that this job has. GitLab leaves `$NAME` as it is where NAME is not defined, or is protected "
    "and the job's branch or tag is not (Settings, CI/CD, Variables): docs/GITLAB.md, Secrets.",
    "console": "the value itself. Nothing is expanded in single quotes or in an env file.",
}


class InvalidValue(ValueError):
    """The text can't be accepted: a reason that completes "the value …", and what would be accepted."""

    def __init__(self, reason: str, accepted: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.accepted = accepted


class NotExpanded(InvalidValue):
    """The text is a reference to a variable, which whoever started the run did not replace by what it holds."""

    def __init__(self) -> None:
        super().__init__("is the name of a variable, not its value: it was not expanded.")


def quoted(text: str) -> str:
    """The text for people: quoted, escaped, short; a long one, or one that looks like a key, is only described."""
    if len(text) > LONGEST_SHOWN or "PRIVATE KEY" in text or "private_key" in text:
        return f"A value of {len(text)} characters"
    return repr(text)


def require_public(text: str) -> None:
    """Raises `InvalidValue` for a credential, in plain or in base64, in an input that is shown or sent to a service."""
    if len(text) > LONGEST_SHOWN:
        from uploader.redaction import holds_credential  # only a long text can be one

        if holds_credential(text):
            raise InvalidValue("holds a key or another credential.", "a key only in `credentials`")
