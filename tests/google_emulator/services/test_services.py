"""Gmail, Play Games, Cloud Storage, Drive, and any other upload method."""

from __future__ import annotations

import json

import pytest

from tests.support.emulator_client import STORAGE, EmulatorClient, Reply

MAIL = b"From: me@example.com\r\nTo: you@example.com\r\nSubject: Hello\r\n\r\nText\r\n"
GMAIL = "/upload/gmail/v1/users/me"


def mail(
    client: EmulatorClient,
    path: str,
    data: bytes = MAIL,
    method: str = "POST",
    metadata: object = None,
) -> Reply:
    """A mail sent resumable, as the program does it."""
    body = b"" if metadata is None else json.dumps(metadata).encode()
    headers = {
        "X-Upload-Content-Type": "message/rfc822",
        "Content-Type": "application/json",
    }
    start = client.request(method, f"{GMAIL}{path}?uploadType=resumable", body, headers)
    return client.put(start.header("Location"), data) if start.status == 200 else start


def effects(client: EmulatorClient) -> dict[str, int]:
    found: dict[str, int] = client.emulator.state()["effects"]
    return found


def test_mail_has_its_rules(client: EmulatorClient) -> None:
    """Recipients, headers, the media type, the size and whose mailbox it is are checked."""
    assert (
        mail(client, "/messages/send", b"Subject: x\r\n\r\n").message
        == "Recipient address required"
    )
    assert mail(client, "/messages", b"\r\n\r\nno headers").status == 400
    path = f"{GMAIL}/messages/send?uploadType=resumable"
    assert (
        client.request(
            "POST", path, b"", {"X-Upload-Content-Type": "text/plain"}
        ).status
        == 400
    )
    large = {
        "X-Upload-Content-Type": "message/rfc822",
        "X-Upload-Content-Length": "36700161",
    }
    assert client.request("POST", path, b"", large).status == 413
    assert client.request(
        "POST", path.replace("/me/", "/you@example.com/"), b"", large
    ).status in (
        403,
        413,
    )
    assert mail(client, "/drafts/gone", method="PUT").status == 404
    assert (
        client.request(
            "POST", "/gmail/v1/users/me/drafts/send", json={"id": "gone"}
        ).status
        == 404
    )
    assert client.emulator.state()["messages"] == []


@pytest.mark.parametrize("stated", ["text/html", "text/html; charset=utf-8"])
def test_media_of_another_type_than_its_metadata_is_refused(
    client: EmulatorClient, stated: str
) -> None:
    """At the start of a session and in multipart, in Google's words; the same type, or none, is
    accepted.
    """
    metadata = json.dumps({"name": "x", "contentType": stated}).encode()

    def start(**headers: str) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        path = f"{STORAGE}?uploadType=resumable"
        return client.request(
            "POST", path, metadata, {"Content-Type": "application/json", **named}
        )

    def multipart(kind: str) -> Reply:
        parts = [
            b"Content-Type: application/json\r\n\r\n" + metadata,
            f"Content-Type: {kind}\r\n\r\nx".encode(),
        ]
        body = b"".join(b"--b\r\n" + part + b"\r\n" for part in parts) + b"--b--"
        headers = {"Content-Type": "multipart/related; boundary=b"}
        return client.request("POST", f"{STORAGE}?uploadType=multipart", body, headers)

    for refused in (start(X_Upload_Content_Type="text/plain"), multipart("text/plain")):
        assert refused.status == 400
        words = (
            "Content-Type specified in the upload (text/plain) does not match Content-Type "
            "specified in metadata "
        )
        assert refused.message.startswith(f"{words}({stated}).")
    for accepted in (start(X_Upload_Content_Type=stated), start(), multipart(stated)):
        assert accepted.status == 200
    done = client.put(start().header("Location"), b"x")
    assert (done.status, done.json["contentType"]) == (200, stated)
