"""Requests that nobody sends on purpose: whatever is in them, the emulator answers, and not with a
fault of its own.
"""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

import pytest

import google_emulator
from google_emulator.backend import Backend
from google_emulator.config import Config
from tests.support.emulator_client import EmulatorClient

SOURCES = Path(google_emulator.__file__).parent.rglob("*.py")
NAMES = sorted(
    {
        name
        for file in SOURCES
        for name in re.findall(r'"([A-Za-z]\w{1,30})"', file.read_text("utf-8"))
    }
)
VALUES: tuple[object, ...] = (
    True,
    -1,
    10**400,
    "",
    pytest.param("1" * 5000, marks=pytest.mark.slow, id='"1111111111111111111'),
    "\r\nX: y",
    [],
    [[]],
    {},
    {"id": {}},
)
PARAMETERS = ("com.example.app", "1" * 5000, "\u0661", "../..", "\0")


@pytest.mark.parametrize("value", VALUES, ids=lambda value: json.dumps(value)[:20])
def test_no_member_of_a_body_breaks_a_method(
    client: EmulatorClient, value: object, tmp_path: Path
) -> None:
    """Every member that any method reads, as something else than it should be, for every method."""
    routes = Backend(Config.read({}), tmp_path, lambda: 0.0).routes
    edit = client.edit().rpartition("/")[2]
    known = {
        "package": "com.example.app",
        "edit": edit,
        "user": "me",
        "bucket": "bucket",
        "track": "beta",
    }
    known |= {"language": "en-US", "code": "7", "type": "icon"}
    for route in routes:
        path = re.sub(
            r"{(\w+)\+?}", lambda found: known.get(found[1], "1"), route.template
        )
        reply = client.request(route.method, path, json=dict.fromkeys(NAMES, value))
        assert reply.status != HTTPStatus.INTERNAL_SERVER_ERROR, (
            f"{route.method} {path}"
        )


@pytest.mark.parametrize("value", PARAMETERS, ids=lambda value: value[:10])
def test_no_parameter_breaks_a_method(
    client: EmulatorClient, value: str, tmp_path: Path
) -> None:
    """Every parameter of a path and the common ones of a query, as something that nobody has
    made.
    """
    routes = Backend(Config.read({}), tmp_path, lambda: 0.0).routes
    edit, given = client.edit().rpartition("/")[2], quote(value, safe="")
    query = "&".join(
        f"{name}={given}"
        for name in ("pageToken", "maxResults", "pageSize", "startIndex", "token", "q")
    )
    known = {
        "package": "com.example.app",
        "edit": edit,
        "user": "me",
        "bucket": "bucket",
    }
    for route in routes:
        path = re.sub(
            r"{(\w+)\+?}", lambda found: known.get(found[1], given), route.template
        )
        reply = client.request(route.method, f"{path}?{query}", json={})
        assert reply.status != HTTPStatus.INTERNAL_SERVER_ERROR, (
            f"{route.method} {path}"
        )
