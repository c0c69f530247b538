"""What Google refuses for what is in a file, a message or a name: pictures, attachments, testers,
buckets.
"""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pytest

from google_emulator import specimens
from tests.google_emulator.conftest import StartEmulator
from tests.support.emulator_client import EmulatorClient, Reply

OBJECTS = "/upload/storage/v1/b/{}/o?uploadType=media&name=app.zip"


def png(folder: Path, *, alpha: bool = False) -> bytes:
    """A picture of one dot."""
    specimens.make_image(folder / "dot.png", 1, 1, alpha=alpha)
    return (folder / "dot.png").read_bytes()


def picture(client: EmulatorClient, edit: str, kind: str, data: bytes) -> Reply:
    return client.upload(f"{edit}/listings/en-US/{kind}", data, "image/png")


@pytest.mark.parametrize(
    ("kind", "alpha", "status"),
    [
        ("featureGraphic", True, 400),
        ("featureGraphic", False, 200),
        ("icon", True, 200),
    ],
)
def test_a_feature_graphic_has_no_alpha_channel(
    client: EmulatorClient, tmp_path: Path, kind: str, alpha: bool, status: int
) -> None:
    edit = client.edit()
    assert picture(client, edit, kind, png(tmp_path, alpha=alpha)).status == status
    images = client.request("GET", f"{edit}/listings/en-US/{kind}").json
    assert bool(images) == (status == 200)


@pytest.mark.parametrize(
    ("count", "status"), [(0, 200), (1, 400), (2, 200)], ids=["none", "one", "two"]
)
def test_a_language_with_screenshots_has_two(
    start_emulator: StartEmulator, tmp_path: Path, count: int, status: int
) -> None:
    """Of whatever devices. A listing without any is an app's that is not published yet."""
    client = start_emulator(min_screenshots=2)
    edit = client.edit()
    for kind in ("phoneScreenshots", "sevenInchScreenshots")[:count]:
        assert picture(client, edit, kind, png(tmp_path)).status == 200
    assert client.request("POST", f"{edit}:commit", b"").status == status


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("qa@googlegroups.com", 200),
        ("qa@example.com", 200),
        ("max@gmail.com", 400),
        ("qa", 400),
    ],
)
def test_testers_are_groups(client: EmulatorClient, address: str, status: int) -> None:
    testers = f"{client.edit()}/testers/alpha"
    assert (
        client.request("PUT", testers, json={"googleGroups": [address]}).status
        == status
    )


def message(attachment: str) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = (
        "me@example.com",
        "you@example.com",
        "Build",
    )
    mail.set_content("Here it is.")
    mail.add_attachment(b"bytes", "application", "octet-stream", filename=attachment)
    return bytes(mail)


@pytest.mark.parametrize(
    ("attachment", "action", "status"),
    [
        ("app.apk", "messages/send", 400),
        ("App.APK", "messages/send", 400),
        ("app.aab", "messages/send", 200),
        ("app.apk", "drafts", 200),
    ],
)
def test_an_apk_is_sent_to_nobody_by_mail(
    client: EmulatorClient, attachment: str, action: str, status: int
) -> None:
    """A draft may have one; it can't be sent."""
    path = f"/upload/gmail/v1/users/me/{action}?uploadType=media"
    headers = {"Content-Type": "message/rfc822"}
    reply = client.request("POST", path, message(attachment), headers)
    assert reply.status == status
    if action == "drafts":
        draft = {"id": reply.json["id"]}
        assert (
            client.request("POST", "/gmail/v1/users/me/drafts/send", json=draft).status
            == 400
        )
    assert len(client.emulator.state()["messages"]) == (
        status == 200 and action != "drafts"
    )


@pytest.mark.parametrize(
    ("bucket", "status"),
    [
        ("my-releases", 200),
        ("releases.example.com", 200),
        ("My-Releases", 400),
        ("-releases", 400),
        ("releases_", 400),
        ("goog-releases", 400),
        ("my-google-releases", 400),
        ("192.168.1.1", 400),
        ("a" * 64, 400),
    ],
)
def test_a_bucket_has_a_name_that_one_can_have(
    client: EmulatorClient, bucket: str, status: int
) -> None:
    headers = {"Content-Type": "application/zip"}
    reply = client.request("POST", OBJECTS.format(bucket), b"bytes", headers)
    assert reply.status == status
    if status == 400:
        assert (reply.message, reply.reason) == (
            f"Invalid bucket name: '{bucket}'",
            "invalid",
        )
