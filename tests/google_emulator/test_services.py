"""Gmail, Play Games, Cloud Storage, Drive, and any other upload method."""

from __future__ import annotations

import hashlib
import json

import pytest

from tests.support.emulator_client import STORAGE, EmulatorClient, Reply

MAIL = b"From: me@example.com\r\nTo: you@example.com\r\nSubject: Hello\r\n\r\nText\r\n"
GMAIL = "/upload/gmail/v1/users/me"


def mail(client: EmulatorClient, path: str, data: bytes = MAIL, method: str = "POST", metadata: object = None) -> Reply:
    """A mail sent resumable, as the program does it."""
    body = b"" if metadata is None else json.dumps(metadata).encode()
    headers = {"X-Upload-Content-Type": "message/rfc822", "Content-Type": "application/json"}
    start = client.request(method, f"{GMAIL}{path}?uploadType=resumable", body, headers)
    return client.put(start.header("Location"), data) if start.status == 200 else start


def effects(client: EmulatorClient) -> dict[str, int]:
    found: dict[str, int] = client.emulator.state()["effects"]
    return found


def test_a_message_is_sent(client: EmulatorClient) -> None:
    """The resource has ids and labels; the state what was sent and to whom."""
    sent = mail(client, "/messages/send", metadata={"threadId": "t1"}).json
    [message] = client.emulator.state()["messages"]
    assert (sent["threadId"], sent["labelIds"], sent["id"]) == ("t1", ["SENT"], message["id"])
    assert (message["to"], message["subject"], message["user"]) == (["you@example.com"], "Hello", "me@example.com")
    assert message["sha256"] == hashlib.sha256(MAIL).hexdigest()


def test_a_draft_from_creation_to_sending(client: EmulatorClient) -> None:
    """create, update by PUT, get, send with new bytes or as it is; a sent draft is gone."""
    draft = mail(client, "/drafts").json
    updated = mail(client, f"/drafts/{draft['id']}", MAIL + b"more", method="PUT")
    assert (updated.status, updated.json["id"]) == (200, draft["id"])
    assert updated.json["message"]["id"] != draft["message"]["id"]
    assert client.request("GET", f"/gmail/v1/users/me/drafts/{draft['id']}").json == updated.json
    assert mail(client, "/drafts/send", metadata={"id": draft["id"]}).json["labelIds"] == ["SENT"]
    assert mail(client, f"/drafts/{draft['id']}", method="PUT").status == 404
    other = mail(client, "/drafts").json["id"]
    assert client.request("POST", "/gmail/v1/users/me/drafts/send", json={"id": other}).json["labelIds"] == ["SENT"]
    assert client.request("POST", "/gmail/v1/users/me/drafts/send", json={"id": other}).status == 404
    assert effects(client) == {"draft": 2, "draft-update": 1, "draft-send": 2}


def test_mail_has_its_rules(client: EmulatorClient) -> None:
    """Recipients, headers, the media type, the size and whose mailbox it is are checked."""
    assert mail(client, "/messages/send", b"Subject: x\r\n\r\n").message == "Recipient address required"
    assert mail(client, "/messages", b"\r\n\r\nno headers").status == 400
    path = f"{GMAIL}/messages/send?uploadType=resumable"
    assert client.request("POST", path, b"", {"X-Upload-Content-Type": "text/plain"}).status == 400
    large = {"X-Upload-Content-Type": "message/rfc822", "X-Upload-Content-Length": "36700161"}
    assert client.request("POST", path, b"", large).status == 413
    assert client.request("POST", path.replace("/me/", "/you@example.com/"), b"", large).status in (403, 413)
    assert client.emulator.state()["messages"] == []


def test_a_service_account_has_no_mailbox(client: EmulatorClient) -> None:
    """Without domain-wide delegation Gmail says `Precondition check failed.`"""
    client.token = client.emulator.token("gmail.send")
    assert mail(client, "/messages/send").message == "Precondition check failed."


def test_an_image_of_play_games(client: EmulatorClient) -> None:
    """The answer has kind, url, resourceId and imageType."""
    path = "/upload/games/v1configuration/images/Cgk/imageType/ACHIEVEMENT_ICON?uploadType=media"
    reply = client.request("POST", path, b"\x89PNG", {"Content-Type": "image/png"})
    assert (reply.json["kind"], reply.json["resourceId"]) == ("gamesConfiguration#imageConfiguration", "Cgk")
    assert reply.json["imageType"] == "ACHIEVEMENT_ICON"
    wrong = client.request("POST", path.replace("ACHIEVEMENT", "HERO"), b"\x89PNG", {"Content-Type": "image/png"})
    assert wrong.status == 400
    again = client.request("POST", path, b"\x89PNG2", {"Content-Type": "image/png"}).json
    assert client.emulator.state()["gameImages"] == {"Cgk/ACHIEVEMENT_ICON": again}


@pytest.mark.parametrize("stated", ["text/html", "text/html; charset=utf-8"])
def test_media_of_another_type_than_its_metadata_is_refused(client: EmulatorClient, stated: str) -> None:
    """At the start of a session and in multipart, in Google's words; the same type, or none, is accepted."""
    metadata = json.dumps({"name": "x", "contentType": stated}).encode()

    def start(**headers: str) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        path = f"{STORAGE}?uploadType=resumable"
        return client.request("POST", path, metadata, {"Content-Type": "application/json", **named})

    def multipart(kind: str) -> Reply:
        parts = [b"Content-Type: application/json\r\n\r\n" + metadata, f"Content-Type: {kind}\r\n\r\nx".encode()]
        body = b"".join(b"--b\r\n" + part + b"\r\n" for part in parts) + b"--b--"
        headers = {"Content-Type": "multipart/related; boundary=b"}
        return client.request("POST", f"{STORAGE}?uploadType=multipart", body, headers)

    for refused in (start(X_Upload_Content_Type="text/plain"), multipart("text/plain")):
        assert refused.status == 400
        words = "Content-Type specified in the upload (text/plain) does not match Content-Type specified in metadata "
        assert refused.message.startswith(f"{words}({stated}).")
    for accepted in (start(X_Upload_Content_Type=stated), start(), multipart(stated)):
        assert accepted.status == 200
    done = client.put(start().header("Location"), b"x")
    assert (done.status, done.json["contentType"]) == (200, stated)


def test_a_storage_object(client: EmulatorClient) -> None:
    """Name, size, md5Hash and crc32c as Cloud Storage writes them; the object can be asked for."""
    done = client.put(client.start_session(f"{STORAGE}?name=a/b.txt", size=9), b"123456789").json
    assert (done["name"], done["bucket"], done["size"]) == ("a/b.txt", "bucket", "9")
    assert (done["md5Hash"], done["crc32c"]) == ("JfnnlDI7RTiF9RgfG2JNCw==", "4waSgw==")
    assert client.request("GET", "/storage/v1/b/bucket/o/a%2Fb.txt").json == done
    assert client.request("GET", "/storage/v1/b/bucket/o/other").status == 404


def test_a_storage_object_has_its_conditions(client: EmulatorClient) -> None:
    """A name is required; ifGenerationMatch and a claimed md5Hash are checked."""
    text = {"Content-Type": "text/plain"}
    media = f"{STORAGE}?uploadType=media"
    assert client.request("POST", media, b"x", text).status == 400
    first = client.request("POST", f"{media}&name=x&ifGenerationMatch=0", b"x", text)
    assert first.status == 200
    assert client.request("POST", f"{media}&name=x&ifGenerationMatch=0", b"x", text).status == 412
    again = f"{media}&name=x&ifGenerationMatch={first.json['generation']}"
    assert client.request("POST", again, b"y", text).json["generation"] != first.json["generation"]
    start = client.request("POST", f"{STORAGE}?uploadType=resumable", json={"name": "z", "md5Hash": "AAAA"})
    assert client.put(start.header("Location"), b"abc").status == 400


def test_a_drive_file_is_created_and_replaced(client: EmulatorClient) -> None:
    """Create adds a file, update replaces its bytes and keeps its id; `fields` chooses what is shown."""
    start = client.request("POST", "/upload/drive/v3/files?uploadType=resumable", json={"name": "n", "parents": ["p"]})
    created = client.put(start.header("Location"), b"abc").json
    assert set(created) == {"kind", "id", "name", "mimeType"}
    path = f"/upload/drive/v3/files/{created['id']}"
    updated = client.request(
        "PATCH", f"{path}?uploadType=media&fields=id,name,md5Checksum", b"d", {"Content-Type": "x/y"}
    )
    assert updated.json == {"id": created["id"], "name": "n", "md5Checksum": hashlib.md5(b"d").hexdigest()}
    assert client.request("GET", f"/drive/v3/files/{created['id']}?fields=*").json["size"] == "1"
    assert client.request("PATCH", path + "x?uploadType=media", b"d").status == 404
