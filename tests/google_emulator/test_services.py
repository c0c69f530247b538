"""Gmail, Play Games, Cloud Storage, Drive, and any other upload method."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest

from tests.support.emulator_client import STORAGE, Reply, Talk

MAIL = b"From: me@example.com\r\nTo: you@example.com\r\nSubject: Hello\r\n\r\nText\r\n"
GMAIL = "/upload/gmail/v1/users/me"


def mail(talk: Talk, path: str, data: bytes = MAIL, method: str = "POST", metadata: object = None) -> Reply:
    """A mail sent resumable, as the program does it."""
    body = b"" if metadata is None else json.dumps(metadata).encode()
    headers = {"X-Upload-Content-Type": "message/rfc822", "Content-Type": "application/json"}
    start = talk.ask(method, f"{GMAIL}{path}?uploadType=resumable", body, headers)
    return talk.put(start.header("Location"), data) if start.status == 200 else start


def effects(talk: Talk) -> dict[str, int]:
    found: dict[str, int] = talk.emulator.state()["effects"]
    return found


def test_a_message_is_sent(talk: Talk) -> None:
    """The resource has ids and labels; the state what was sent and to whom."""
    sent = mail(talk, "/messages/send", metadata={"threadId": "t1"}).json
    [message] = talk.emulator.state()["messages"]
    assert (sent["threadId"], sent["labelIds"], sent["id"]) == ("t1", ["SENT"], message["id"])
    assert (message["to"], message["subject"], message["user"]) == (["you@example.com"], "Hello", "me@example.com")
    assert message["sha256"] == hashlib.sha256(MAIL).hexdigest()


def test_a_message_sent_twice_is_visible(talk: Talk) -> None:
    """Each effect is counted, insert and import apart from send."""
    for path in ("/messages/send", "/messages/send", "/messages", "/messages/import"):
        mail(talk, path)
    assert effects(talk) == {"send": 2, "insert": 1, "import": 1}
    assert len(talk.emulator.state()["messages"]) == 4


def test_a_draft_from_creation_to_sending(talk: Talk) -> None:
    """create, update by PUT, get, send with new bytes or as it is; a sent draft is gone."""
    draft = mail(talk, "/drafts").json
    updated = mail(talk, f"/drafts/{draft['id']}", MAIL + b"more", method="PUT")
    assert (updated.status, updated.json["id"]) == (200, draft["id"])
    assert updated.json["message"]["id"] != draft["message"]["id"]
    assert talk.ask("GET", f"/gmail/v1/users/me/drafts/{draft['id']}").json == updated.json
    assert mail(talk, "/drafts/send", metadata={"id": draft["id"]}).json["labelIds"] == ["SENT"]
    assert mail(talk, f"/drafts/{draft['id']}", method="PUT").status == 404
    other = mail(talk, "/drafts").json["id"]
    assert talk.ask("POST", "/gmail/v1/users/me/drafts/send", json={"id": other}).json["labelIds"] == ["SENT"]
    assert talk.ask("POST", "/gmail/v1/users/me/drafts/send", json={"id": other}).status == 404
    assert effects(talk) == {"draft": 2, "draft-update": 1, "draft-send": 2}


def test_a_message_inside_json(talk: Talk) -> None:
    """The call without media takes the message as base64url."""
    raw = base64.urlsafe_b64encode(MAIL).decode()
    sent = talk.ask("POST", "/gmail/v1/users/me/messages/send", json={"raw": raw}).json
    assert talk.ask("GET", f"/gmail/v1/users/me/messages/{sent['id']}").json == sent


def test_mail_has_its_rules(talk: Talk) -> None:
    """Recipients, headers, the media type, the size and whose mailbox it is are checked."""
    assert mail(talk, "/messages/send", b"Subject: x\r\n\r\n").message == "Recipient address required"
    assert mail(talk, "/messages", b"\r\n\r\nno headers").status == 400
    path = f"{GMAIL}/messages/send?uploadType=resumable"
    assert talk.ask("POST", path, b"", {"X-Upload-Content-Type": "text/plain"}).status == 400
    large = {"X-Upload-Content-Type": "message/rfc822", "X-Upload-Content-Length": "36700161"}
    assert talk.ask("POST", path, b"", large).status == 413
    assert talk.ask("POST", path.replace("/me/", "/you@example.com/"), b"", large).status in (403, 413)
    assert talk.emulator.state()["messages"] == []


def test_a_service_account_has_no_mailbox(talk: Talk) -> None:
    """Without domain-wide delegation Gmail says `Precondition check failed.`"""
    talk.token = talk.emulator.token("gmail.send")
    assert mail(talk, "/messages/send").message == "Precondition check failed."


def test_another_mailbox_is_not_opened(talk: Talk) -> None:
    """The user in the path is `me` or the user acted for."""
    other = talk.ask("GET", "/gmail/v1/users/you@example.com/drafts/1")
    assert (other.status, other.message) == (403, "Delegation denied for me@example.com")


@pytest.mark.parametrize(
    ("scope", "path", "status"),
    [
        ("gmail.send", "/messages/send", 201),
        ("gmail.insert", "/messages", 201),
        ("gmail.compose", "/drafts", 201),
        ("gmail.send", "/messages", 403),
        ("gmail.send", "/drafts", 403),
        ("gmail.insert", "/messages/send", 403),
    ],
)
def test_each_action_has_its_scope(talk: Talk, scope: str, path: str, status: int) -> None:
    """The narrowest scopes are enough, and others are not."""
    talk.token = talk.emulator.token(scope, user="me@example.com")
    assert mail(talk, path).status == status


def test_an_image_of_play_games(talk: Talk) -> None:
    """The answer has kind, url, resourceId and imageType."""
    path = "/upload/games/v1configuration/images/Cgk/imageType/ACHIEVEMENT_ICON?uploadType=media"
    reply = talk.ask("POST", path, b"\x89PNG", {"Content-Type": "image/png"})
    assert (reply.json["kind"], reply.json["resourceId"]) == ("gamesConfiguration#imageConfiguration", "Cgk")
    assert reply.json["imageType"] == "ACHIEVEMENT_ICON"
    wrong = talk.ask("POST", path.replace("ACHIEVEMENT", "HERO"), b"\x89PNG", {"Content-Type": "image/png"})
    assert wrong.status == 400


def test_a_storage_object(talk: Talk) -> None:
    """Name, size, md5Hash and crc32c as Cloud Storage writes them; the object can be asked for."""
    done = talk.put(talk.begin(f"{STORAGE}?name=a/b.txt", size=9), b"123456789").json
    assert (done["name"], done["bucket"], done["size"]) == ("a/b.txt", "bucket", "9")
    assert (done["md5Hash"], done["crc32c"]) == ("JfnnlDI7RTiF9RgfG2JNCw==", "4waSgw==")
    assert talk.ask("GET", "/storage/v1/b/bucket/o/a%2Fb.txt").json == done
    assert talk.ask("GET", "/storage/v1/b/bucket/o/other").status == 404


def test_a_storage_object_has_its_conditions(talk: Talk) -> None:
    """A name is required; ifGenerationMatch and a claimed md5Hash are checked."""
    text = {"Content-Type": "text/plain"}
    media = f"{STORAGE}?uploadType=media"
    assert talk.ask("POST", media, b"x", text).status == 400
    first = talk.ask("POST", f"{media}&name=x&ifGenerationMatch=0", b"x", text)
    assert first.status == 200
    assert talk.ask("POST", f"{media}&name=x&ifGenerationMatch=0", b"x", text).status == 412
    again = f"{media}&name=x&ifGenerationMatch={first.json['generation']}"
    assert talk.ask("POST", again, b"y", text).json["generation"] != first.json["generation"]
    start = talk.ask("POST", f"{STORAGE}?uploadType=resumable", json={"name": "z", "md5Hash": "AAAA"})
    assert talk.put(start.header("Location"), b"abc").status == 400


def test_a_drive_file_is_created_and_replaced(talk: Talk) -> None:
    """Create adds a file, update replaces its bytes and keeps its id; `fields` chooses what is shown."""
    start = talk.ask("POST", "/upload/drive/v3/files?uploadType=resumable", json={"name": "n", "parents": ["p"]})
    created = talk.put(start.header("Location"), b"abc").json
    assert set(created) == {"kind", "id", "name", "mimeType"}
    path = f"/upload/drive/v3/files/{created['id']}"
    updated = talk.ask("PATCH", f"{path}?uploadType=media&fields=id,name,md5Checksum", b"d", {"Content-Type": "x/y"})
    assert updated.json == {"id": created["id"], "name": "n", "md5Checksum": hashlib.md5(b"d").hexdigest()}
    assert talk.ask("GET", f"/drive/v3/files/{created['id']}?fields=*").json["size"] == "1"
    assert talk.ask("PATCH", path + "x?uploadType=media", b"d").status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_any_method_gets_a_plausible_resource(talk: Talk, method: str) -> None:
    """An upload path without rules of its own takes bytes and answers with id, name, size and digests."""
    path = "/upload/v1/projects/p/apps/a/releases:upload?uploadType=media"
    done = talk.ask(method, path, b"abc", {"Content-Type": "application/zip"}).json
    assert (done["size"], done["sha256"]) == ("3", hashlib.sha256(b"abc").hexdigest())
    assert {"id", "name", "md5Hash"} <= set(done)


def test_a_known_path_keeps_to_its_method(talk: Talk) -> None:
    """A method of the documents is not reached by another verb."""
    assert talk.ask("PUT", f"{STORAGE}?uploadType=media&name=x", b"x").status == 404
