"""Requests that nobody sends on purpose: whatever is in them, the emulator answers, and not with a fault of its own."""

from __future__ import annotations

import io
import json
import re
import zipfile
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

import pytest

import google_emulator
from google_emulator.backend import Backend
from google_emulator.config import Config
from google_emulator.traffic import MAX_LOGGED_BYTES
from tests.support.emulator_client import APP, EmulatorClient

SOURCES = Path(google_emulator.__file__).parent.rglob("*.py")
NAMES = sorted({name for file in SOURCES for name in re.findall(r'"([A-Za-z]\w{1,30})"', file.read_text("utf-8"))})
VALUES: tuple[object, ...] = (True, -1, 10**400, "", "1" * 5000, "\r\nX: y", [], [[]], {}, {"id": {}})
PARAMETERS = ("com.example.app", "1" * 5000, "\u0661", "../..", "\0")


@pytest.mark.parametrize("value", VALUES, ids=lambda value: json.dumps(value)[:20])
def test_no_member_of_a_body_breaks_a_method(client: EmulatorClient, value: object, tmp_path: Path) -> None:
    """Every member that any method reads, as something else than it should be, for every method."""
    routes = Backend(Config.read({}), tmp_path, lambda: 0.0).routes
    edit = client.edit().rpartition("/")[2]
    known = {"package": "com.example.app", "edit": edit, "user": "me", "bucket": "bucket", "track": "beta"}
    known |= {"language": "en-US", "code": "7", "type": "icon"}
    for route in routes:
        path = re.sub(r"{(\w+)\+?}", lambda found: known.get(found[1], "1"), route.template)
        reply = client.request(route.method, path, json=dict.fromkeys(NAMES, value))
        assert reply.status != HTTPStatus.INTERNAL_SERVER_ERROR, f"{route.method} {path}"


@pytest.mark.parametrize("value", PARAMETERS, ids=lambda value: value[:10])
def test_no_parameter_breaks_a_method(client: EmulatorClient, value: str, tmp_path: Path) -> None:
    """Every parameter of a path and the common ones of a query, as something that nobody has made."""
    routes = Backend(Config.read({}), tmp_path, lambda: 0.0).routes
    edit, given = client.edit().rpartition("/")[2], quote(value, safe="")
    query = "&".join(f"{name}={given}" for name in ("pageToken", "maxResults", "pageSize", "startIndex", "token", "q"))
    known = {"package": "com.example.app", "edit": edit, "user": "me", "bucket": "bucket"}
    for route in routes:
        path = re.sub(r"{(\w+)\+?}", lambda found: known.get(found[1], given), route.template)
        reply = client.request(route.method, f"{path}?{query}", json={})
        assert reply.status != HTTPStatus.INTERNAL_SERVER_ERROR, f"{route.method} {path}"


def test_a_login_of_depth_is_refused(client: EmulatorClient) -> None:
    """A body that no parser follows is no login."""
    reply = client.request("POST", "/token", b"[" * 100_000, {"Content-Type": "application/json"})
    assert reply.status == 400


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_no_number_is_kept_that_json_does_not_have(client: EmulatorClient, number: str) -> None:
    """What one client wrote, each other one must be able to read."""
    reply = client.request("POST", "/drive/v3/files", f'{{"size": {number}}}'.encode())
    assert reply.status == 400


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_STORED])
@pytest.mark.parametrize("field", [30 + 40, 42])
def test_a_damaged_artifact_is_refused(client: EmulatorClient, method: int, field: int) -> None:
    """Nothing that a zip can hold is more than an artifact that can't be analysed."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        archive.writestr("base/manifest/AndroidManifest.xml", b"x" * 1000)
    data = bytearray(packed.getvalue())
    at = data.index(b"PK\1\2") + field if field == 42 else field
    data[at : at + 4] = b"\xff\xff\xff\x7f"  # of the content, or where the member is said to begin
    path = f"/upload{client.edit()}/bundles?uploadType=media"
    reply = client.request("POST", path, bytes(data), {"Content-Type": "application/octet-stream"})
    assert reply.status == 403


def test_large_bodies_are_not_kept_for_ever(client: EmulatorClient) -> None:
    """Of the requests that came, only so much is remembered as a machine has room for."""
    body = b'{"title": "' + b"a" * (9 << 20) + b'"}'
    for _ in range(MAX_LOGGED_BYTES // len(body) + 2):
        assert client.request("POST", f"{APP}/edits", body).status in (200, 400)
    assert sum(len(request.body or b"") for request in client.emulator.requests) <= MAX_LOGGED_BYTES
    assert client.emulator.requests
