"""Whose mailbox it is, and what stands in it: delegation, a message that was given whole, and a
draft's whole life.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.destinations.conftest import Begin
from tests.support.destinations import USER
from tests.support.job import Job

MAIL = {
    "target": "gmail",
    "mail-to": "Ann <ann@example.com>",
    "mail-subject": "s",
    "mail-body": "It is out.",
}
FOR_USER = {**MAIL, "impersonate-user": USER}


def test_the_mail_leaves_from_the_user_that_is_acted_for(job: Job) -> None:
    """The assertion names the user, the token is the user's, and the message is in the user's
    mailbox.
    """
    ended = job.succeed(FOR_USER)
    state = job.emulator.state()
    assert [token["subject"] for token in state["tokens"]] == [USER]
    assert [(message["user"], message["to"]) for message in state["messages"]] == [
        (USER, ["Ann <ann@example.com>"])
    ]
    assert f"Acting as {USER}" in ended.log


def test_without_a_user_the_error_names_the_remedy(job: Job) -> None:
    """A service account has no mailbox: Gmail's bare words come with the input that is missing."""
    ended = job.fail(4, MAIL)
    assert "Precondition check failed." in ended.log
    assert "`impersonate-user`" in ended.log
    assert job.emulator.state()["messages"] == []


@pytest.mark.parametrize("dry_run", ["true", "false"])
def test_without_delegation_no_request_reaches_gmail(
    begin: Begin, dry_run: str
) -> None:
    """An account that may not act for the user gets no token, and the error says where an
    administrator allows it.
    """
    job = begin(delegation=False)
    ended = job.fail(3, {**FOR_USER, "dry-run": dry_run})
    assert "Admin console" in ended.log
    assert job.emulator.state()["requests"] == {"any": 1, "api": 1, "oauth.token": 1}


def test_another_users_mailbox_is_not_open(job: Job) -> None:
    """The mailbox of somebody else is refused in Gmail's own words."""
    ended = job.fail(3, {**FOR_USER, "user-id": "you@example.com"})
    assert f"Delegation denied for {USER}" in ended.log


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_message_file_arrives_as_it_was_written(begin: Begin, end: bytes) -> None:
    """An .eml is sent as it is, with the line ends of RFC 5322, though the service fails after its
    work.
    """
    job = begin(
        {
            "on": "resumable.final",
            "do": "status-after-effect",
            "status": 503,
            "retry_after": 0,
        }
    )
    lines = [
        b"From: me@example.com",
        b"To: a@example.com",
        b"Subject: Hi",
        b"",
        b"Gr\xc3\xbc\xc3\x9fe",
        b".",
        b"",
    ]
    (job.workspace / "mail.eml").write_bytes(end.join(lines))
    ended = job.succeed(
        {"target": "gmail", "impersonate-user": USER, "message-file": "mail.eml"}
    )
    [message] = job.emulator.state()["messages"]
    assert Path(message["file"]).read_bytes() == b"\r\n".join(lines)
    assert ended.outputs["message-id"] == message["id"]


def test_a_draft_is_made_changed_and_sent_by_three_jobs(job: Job) -> None:
    """The draft's id goes from job to job; what is sent in the end is what the second one wrote,
    once.
    """
    drafted = job.run({**FOR_USER, "gmail-action": "draft"}).outputs["draft-id"]
    changed = job.run(
        {
            **FOR_USER,
            "gmail-action": "draft-update",
            "draft-id": drafted,
            "mail-subject": "Out now",
        }
    )
    assert changed.outputs["draft-id"] == drafted
    sent = job.succeed(
        {
            "target": "gmail",
            "impersonate-user": USER,
            "gmail-action": "draft-send",
            "draft-id": drafted,
        }
    )
    state = job.emulator.state()
    assert state["effects"] == {"draft": 1, "draft-update": 1, "draft-send": 1}
    assert [(message["id"], message["subject"]) for message in state["messages"]] == [
        (sent.outputs["message-id"], "Out now")
    ]
    assert state["drafts"] == []
