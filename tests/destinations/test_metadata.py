"""Metadata of a mail and of a Play Games image: along with the bytes by every way of sending, or
instead of them.
"""

from __future__ import annotations

import base64
import json
import signal
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import pytest

from tests.destinations.conftest import Begin
from tests.support.destinations import USER, a_draft
from tests.support.emulator_client import PACKAGE, EmulatorClient
from tests.support.job import Job

MAIL = b"From: me@example.com\r\nTo: a@example.com\r\nSubject: Hi\r\n\r\nIt is out.\r\n"


def encoded(message: bytes) -> str:
    """A message as Gmail's JSON holds one."""
    return base64.urlsafe_b64encode(message).decode()


RAW = encoded(MAIL)
FOR_USER = {"target": "gmail", "impersonate-user": USER}
WRITTEN = {
    **FOR_USER,
    "mail-from": USER,
    "mail-to": "a@example.com",
    "mail-subject": "Hi",
    "mail-body": "It is out.",
}
LABELS = {"threadId": "t1", "labelIds": ["INBOX", "Label_7"]}
ICON = {
    "target": "play-games",
    "resource-id": "CgkI",
    "image-type": "ACHIEVEMENT_ICON",
    "files": "icon.png",
}
PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)


def with_draft(job: Job, action: str) -> dict[str, str]:
    """The draft that two of the actions need."""
    return a_draft(job.emulator) if action in ("draft-update", "draft-send") else {}


@pytest.mark.parametrize("protocol", ["auto", "multipart"])
@pytest.mark.parametrize(
    "action", ["send", "insert", "import", "draft", "draft-update", "draft-send"]
)
def test_a_mail_takes_its_labels_and_its_thread(
    job: Job, action: str, protocol: str
) -> None:
    """The resource goes along as it was given: of a message itself, of a draft the message in
    it.
    """
    draft = with_draft(job, action)
    given: dict[str, Any] = (
        {"message": LABELS} if action.startswith("draft") else LABELS
    )
    ended = job.succeed(
        {
            **WRITTEN,
            **draft,
            "gmail-action": action,
            "metadata": json.dumps(given),
            "upload-protocol": protocol,
        }
    )
    state = job.emulator.state()
    stored = state["objects"][-1]
    assert stored["protocol"] == (
        "multipart" if protocol == "multipart" else "resumable"
    )
    assert stored["metadata"] == {
        **given,
        **({"id": draft["draft-id"]} if action == "draft-send" else {}),
    }
    [made] = [draft["message"] for draft in state["drafts"]] or state["messages"]
    assert (made["threadId"], made["labelIds"]) == ("t1", LABELS["labelIds"])
    assert ended.outputs["thread-id"] == "t1"


@pytest.mark.parametrize(
    "action", ["send", "insert", "import", "draft", "draft-update", "draft-send"]
)
def test_a_message_in_the_metadata_needs_no_upload(job: Job, action: str) -> None:
    """The metadata alone goes to the method's standard URI, and its answer becomes the outputs."""
    draft = with_draft(job, action)
    before = job.emulator.state()["requests"].get("upload", 0)
    message = {"raw": RAW, "threadId": "t1"}
    given: dict[str, Any] = (
        {"message": message} if action.startswith("draft") else message
    )
    ended = job.succeed(
        {**FOR_USER, **draft, "gmail-action": action, "metadata": json.dumps(given)}
    )
    state = job.emulator.state()
    assert state["requests"].get("upload", 0) == before
    [made] = [draft["message"] for draft in state["drafts"]] or state["messages"]
    assert (made["id"], made["subject"], made["threadId"]) == (
        ended.outputs["message-id"],
        "Hi",
        "t1",
    )
    assert state["effects"].get(action) == 1
    assert (
        ended.outputs["id"]
        == ended.outputs["ids"]
        == ended.outputs.get("draft-id", made["id"])
    )
    assert ended.outputs["attempts"] == "0"


@pytest.mark.parametrize("by_id", [False, True])
def test_a_signal_before_the_answer_makes_no_second_mail(
    begin: Begin, by_id: bool
) -> None:
    """A run that is stopped while Gmail works says what is not known, and the next one does not
    send in silence.
    """
    job = begin({"on": "gmail.users.messages.send", "do": "slow-answer", "seconds": 30})
    method = (
        {"target": "gmail.users.messages.send", "params": "userId: me"} if by_id else {}
    )
    given = {**FOR_USER, **method, "metadata": json.dumps({"raw": RAW})}
    stopped = (
        job.start(given)
        .when(lambda state: bool(state["messages"]))
        .send(signal.SIGTERM)
        .end()
    )
    assert (stopped.code, stopped.outputs["failure"]) == (143, "terminated")
    assert "It is not known whether" in stopped.log
    doubtful = job.run(given)
    assert (doubtful.code, doubtful.outputs["failure"]) == (4, "outcome-unknown")
    assert "still has to be sent" in doubtful.log
    assert len(job.emulator.state()["messages"]) == 1


def test_a_mail_by_a_methods_id_is_sent_once(begin: Begin) -> None:
    """Where all of it was sent and the session is gone, nobody can say whether it went out, and it
    is not sent anew.
    """
    lost = {"on": "gmail.users.messages.send+resumable.put", "do": "answer-lost"}
    job = begin(lost, {"on": "resumable.query", "do": "session-lost"})
    (job.workspace / "m.eml").write_bytes(MAIL)
    target = {
        "target": "gmail.users.messages.send",
        "impersonate-user": USER,
        "params": "userId: me",
        "files": "m.eml",
    }
    ended = job.run(target)
    assert (ended.code, ended.outputs["failure"]) == (4, "outcome-unknown")
    assert len(job.emulator.state()["messages"]) == 1


def test_a_message_in_the_metadata_goes_once(begin: Begin) -> None:
    """The answer is lost behind the effect: exit code 4, and nothing is repeated."""
    job = begin({"on": "gmail.users.messages.send", "do": "answer-lost"})
    job.fail(4, {**FOR_USER, "metadata": json.dumps({"raw": RAW})})
    assert len(job.emulator.state()["messages"]) == 1


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            {**WRITTEN, "metadata": '{"message": {"threadId": "t1"}}'},
            "`message` in the wrong place",
        ),
        (
            {**WRITTEN, "gmail-action": "draft", "metadata": '{"threadId": "t1"}'},
            "`threadId` in the wrong place",
        ),
        ({**WRITTEN, "metadata": "[]"}, "not a map"),
        (
            {**WRITTEN, "metadata": '{"threadId": 5}'},
            "`threadId` is not the id of a thread",
        ),
        (
            {**WRITTEN, "metadata": '{"labelIds": "INBOX"}'},
            "`labelIds` is not a list of labels",
        ),
        (
            {**WRITTEN, "metadata": json.dumps({"raw": RAW})},
            "contains a message in `raw`",
        ),
        ({**FOR_USER, "metadata": '{"raw": "?"}'}, "not base64url"),
        ({**FOR_USER, "metadata": '{"raw": ""}'}, "can't be read"),
        (
            {
                **FOR_USER,
                "metadata": json.dumps(
                    {"raw": encoded(b"Subject: Hi\r\n\r\nIt is out.")}
                ),
            },
            "no recipient",
        ),
        (
            {
                **WRITTEN,
                "gmail-action": "draft-send",
                "draft-id": "r1",
                "metadata": '{"id": "r2"}',
            },
            "`draft-id` names",
        ),
        (
            {**ICON, "metadata": '{"resourceId": "other"}'},
            "`resourceId` is not what `resource-id` says",
        ),
        (
            {**ICON, "metadata": '{"imageType": "LEADERBOARD_ICON"}'},
            "`imageType` is not what",
        ),
        ({**ICON, "metadata": "{}}"}, "not JSON"),
    ],
)
def test_wrong_metadata_is_told_before_anything_is_sent(
    job: Job, given: Mapping[str, str], why: str
) -> None:
    """What the service would pass over in silence, or refuse, is exit code 2 and no request."""
    (job.workspace / "icon.png").write_bytes(PNG)
    ended = job.fail(2, given)
    [error] = [line for line in ended.log.splitlines() if line.startswith("::error")]
    assert "metadata" in error
    assert why in error
    assert "mail-" not in error
    assert job.emulator.state()["requests"] == {}


@pytest.mark.parametrize(
    ("protocol", "spoken"),
    [("auto", "multipart"), ("multipart", "multipart"), ("resumable", "resumable")],
)
def test_an_image_takes_its_resource(job: Job, protocol: str, spoken: str) -> None:
    """The image's resource goes along, by either way that carries one."""
    (job.workspace / "icon.png").write_bytes(PNG)
    resource = {"kind": "gamesConfiguration#imageConfiguration", "resourceId": "CgkI"}
    ended = job.succeed(
        {**ICON, "metadata": json.dumps(resource), "upload-protocol": protocol}
    )
    [stored] = job.emulator.state()["objects"]
    assert (stored["protocol"], stored["metadata"]) == (spoken, resource)
    assert ended.outputs["id"] == "CgkI"


@pytest.mark.parametrize("protocol", ["simple", "multipart"])
@pytest.mark.parametrize(
    "fault", [{"do": "status-after-effect", "retry_after": 0}, {"do": "answer-lost"}]
)
def test_an_image_is_sent_again(
    begin: Begin, protocol: str, fault: Mapping[str, Any]
) -> None:
    """A resource has one image of each type, so what may have been received is repeated: two
    requests, one image.
    """
    job = begin({"on": "upload", **fault})
    (job.workspace / "icon.png").write_bytes(PNG)
    ended = job.succeed({**ICON, "upload-protocol": protocol})
    state = job.emulator.state()
    assert [stored["protocol"] for stored in state["objects"]] == [protocol] * 2
    assert list(state["gameImages"]) == ["CgkI/ACHIEVEMENT_ICON"]
    assert ended.outputs["attempts"] == "2"


def test_the_resource_of_an_icon_needs_no_picture(job: Job) -> None:
    """The metadata alone goes to the image's own address, and its response becomes the outputs."""
    alone = {
        **{name: value for name, value in ICON.items() if name != "files"},
        "metadata": '{"resourceId": "CgkI"}',
    }
    rehearsed = job.run({**alone, "dry-run": "true"})
    assert "Would send the metadata alone to gamesConfiguration" in rehearsed.log
    assert job.emulator.state()["gameImages"] == {}
    ended = job.run(alone)
    assert (ended.code, ended.outputs["id"]) == (0, "CgkI"), ended.log
    state = job.emulator.state()
    assert list(state["gameImages"]) == ["CgkI/ACHIEVEMENT_ICON"]
    assert state["requests"].get("upload", 0) == 0


def test_the_resource_of_an_image_of_a_listing_needs_no_picture(job: Job) -> None:
    """Play's images are told their metadata alone at their own address, in an edit that somebody
    opened.
    """
    with closing(EmulatorClient(job.emulator)) as talk:
        edits = f"/androidpublisher/v3/applications/{PACKAGE}/edits"
        edit = talk.request("POST", edits, json={}).json["id"]
        place = f"{edits}/{edit}/listings/en-US/icon"
        talk.request(
            "PUT",
            f"{edits}/{edit}/listings/en-US",
            json={"language": "en-US", "title": "App"},
        )
        made = talk.request(
            "POST",
            f"/upload{place}?uploadType=media",
            PNG,
            {"Content-Type": "image/png"},
        )
    params = f"{{packageName: {PACKAGE}, editId: '{edit}', language: en-US, imageType: icon}}"
    before = job.emulator.state()["requests"]["upload"]
    ended = job.run(
        {
            "target": "androidpublisher.edits.images.upload",
            "params": params,
            "metadata": '{"image": {}}',
        }
    )
    assert (ended.code, ended.outputs["id"]) == (0, made.json["image"]["id"]), ended.log
    assert job.emulator.state()["requests"]["upload"] == before
