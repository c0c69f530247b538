"""Requests as real clients send them: Play takes the forms and the JSON that Google's own servers
take.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from google_emulator.http.request import PAYLOAD_LIMIT
from tests.google_emulator.conftest import StartEmulator
from tests.support.emulator_client import APP, PACKAGE, EmulatorClient, Reply

FORM = {"Content-Type": "application/x-www-form-urlencoded; charset=UTF-8"}
JSON = {"Content-Type": "application/json; charset=UTF-8"}
LIVE = {
    PACKAGE: {
        "artifacts": [
            {"versionCode": 7, "versionName": "1.7"},
            {"versionCode": 8, "versionName": "1.8"},
        ]
    }
}
RELEASE = {"status": "completed", "versionCodes": ["7"], "name": "1.7"}


@pytest.fixture
def client(start_emulator: StartEmulator) -> EmulatorClient:
    """An app with two artifacts in its library."""
    return start_emulator(apps=LIVE)


def put_release(client: EmulatorClient, **release: Any) -> Reply:
    wanted = {"status": "completed", "versionCodes": ["7"], **release}
    path = f"{client.edit()}/tracks/production"
    return client.request(
        "PUT", path, json={"track": "production", "releases": [wanted]}
    )


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"null\n"], ids=["nothing", "object", "null"]
)
def test_an_edit_needs_no_resource(client: EmulatorClient, body: bytes) -> None:
    """Java and Node send nothing, Python an empty object, Go null."""
    assert client.request("POST", f"{APP}/edits", body, JSON).status == 200


def test_the_query_of_a_post_may_be_a_form(start_emulator: StartEmulator) -> None:
    """google-apis-core puts the parameters of a commit into its body: they count, and are logged,
    as the query's.
    """
    client = start_emulator(review="manual")
    edit = client.edit()
    assert client.request("POST", f"{edit}:commit", b"alt=json", FORM).status == 400
    form = b"alt=json&changesNotSentForReview=true"
    assert client.request("POST", f"{edit}:commit", form, FORM).status == 200
    [committed] = client.emulator.state()["edits"]["committed"]
    assert committed["commitParameters"] == {
        "alt": "json",
        "changesNotSentForReview": "true",
    }
    assert (client.emulator.requests[-1].query, client.emulator.requests[-1].body) == (
        form.decode(),
        b"",
    )


def test_a_body_may_be_compressed(client: EmulatorClient) -> None:
    """Google's Java client compresses its JSON; nonsense is refused, and so is what grows without
    end.
    """
    details = f"{client.edit()}/details"
    packed = {**JSON, "Content-Encoding": "gzip"}
    body = gzip.compress(json.dumps({"contactEmail": "a@example.com"}).encode())
    assert (
        client.request("PATCH", details, body, packed).json["contactEmail"]
        == "a@example.com"
    )
    assert client.request("PATCH", details, b"{}", packed).status == 400
    assert client.request("PATCH", details, body[:-9], packed).status == 400
    assert (
        client.request(
            "PATCH", details, gzip.compress(bytes(PAYLOAD_LIMIT + 1)), packed
        ).status
        == 413
    )
    assert (
        client.request("PATCH", details, b"{}", {"Content-Encoding": "identity"}).status
        == 200
    )


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"versionCodes": [7]}, {}),
        ({"versionCodes": [7.0]}, {}),
        ({"versionCodes": "7"}, {}),
        ({"inAppUpdatePriority": "3"}, {"inAppUpdatePriority": 3}),
        ({"inAppUpdatePriority": 2.0}, {"inAppUpdatePriority": 2}),
        ({"inAppUpdatePriority": 0}, {}),
        (
            {"status": "inProgress", "userFraction": "0.1"},
            {"status": "inProgress", "userFraction": 0.1},
        ),
        (
            {
                "releaseNotes": None,
                "name": None,
                "userFraction": None,
                "countryTargeting": None,
            },
            {},
        ),
        ({"releaseNotes": [], "name": ""}, {}),
        (
            {"releaseNotes": {"language": "en-US", "text": "hi"}},
            {"releaseNotes": [{"language": "en-US", "text": "hi"}]},
        ),
    ],
)
def test_json_is_read_as_google_reads_it(
    client: EmulatorClient, sent: dict[str, Any], kept: dict[str, Any]
) -> None:
    """Numbers as texts, whole numbers with a point, one value for a list; what is null or empty is
    not given back.
    """
    assert put_release(client, **sent).json["releases"] == [{**RELEASE, **kept}]


STATUS = "(type.googleapis.com/google.play.publishingapi.v3.Release.Status)"


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (
            {"status": "Completed"},
            f"Invalid value at '%s.status' {STATUS}, \"Completed\"",
        ),
        ({"status": ""}, f"Invalid value at '%s.status' {STATUS}, \"\""),
        ({"status": True}, f"Invalid value at '%s.status' {STATUS}, true"),
        (
            {"versionCodes": ["[5]"]},
            "Invalid value at '%s.version_codes[0]' (TYPE_INT64), \"[5]\"",
        ),
        (
            {"inAppUpdatePriority": 2.5},
            "Invalid value at '%s.in_app_update_priority' (TYPE_INT32), 2.5",
        ),
        ({"name": 7}, "Invalid value at '%s.name' (TYPE_STRING), 7"),
        (
            {"userFraction": True},
            "Invalid value at '%s.user_fraction' (TYPE_DOUBLE), true",
        ),
        (
            {"userFraction": [0.5]},
            "Unknown name \"user_fraction\" at '%s': Proto field is not repeating, cannot start",
        ),
        (
            {"rollout": 0.5},
            "Invalid JSON payload received. Unknown name \"rollout\" at '%s': Cannot find field.",
        ),
        (
            {"countryTargeting": {"includeRestOfWorld": "perhaps"}},
            (
                "Invalid value at '%s.country_targeting.include_rest_of_world' (TYPE_BOOL), "
                '"perhaps"'
            ),
        ),
    ],
)
def test_what_is_no_release_is_refused_in_googles_words(
    client: EmulatorClient, sent: dict[str, Any], words: str
) -> None:
    """The path of the field, its type and the value: r0adkll/upload-google-play#85,
    android-play-publisher-api#75.
    """
    reply = put_release(client, **sent)
    assert (reply.status, reply.json["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert words % "track_config.releases[0]" in reply.message


def test_the_track_of_the_body_is_that_of_the_path(client: EmulatorClient) -> None:
    """In Google's words (googlesamples/android-play-publisher-api#59); without it an update is
    refused as well.
    """
    edit = client.edit()
    bodies: list[dict[str, Any]] = [{"track": "alpha"}, {"releases": []}]
    for body in bodies:
        reply = client.request("PUT", f"{edit}/tracks/beta", json=body)
        assert (reply.status, reply.message) == (
            400,
            "Track names in request path and request body must match.",
        )
    assert client.request("PATCH", f"{edit}/tracks/beta", json={}).status == 200
