"""Play's edits with their rules, in Google's words."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from google_emulator.http.response import ApiError
from google_emulator.services.play.artifact_files import ArtifactIdentity, read_identity
from google_emulator.specimens import make_apk, make_bundle
from tests.google_emulator.conftest import StartEmulator
from tests.support.emulator_client import PACKAGE, EmulatorClient, Reply
from tests.support.real_artifacts import LARGE, SMALL, real_apk

PNG = b"\x89PNG\r\n\x1a\n"
LIVE = {
    PACKAGE: {
        "tracks": {"production": [{"status": "completed", "versionCodes": [7]}]},
        "used": [5],
    }
}


@pytest.fixture
def bundle(tmp_path: Path) -> bytes:
    make_bundle(tmp_path / "app.aab", PACKAGE, 8, "1.0")
    return (tmp_path / "app.aab").read_bytes()


@pytest.fixture
def apk(tmp_path: Path) -> bytes:
    make_apk(tmp_path / "app.apk", PACKAGE, 9, "1.0")
    return (tmp_path / "app.apk").read_bytes()


def release(*codes: int, **changed: Any) -> dict[str, Any]:
    return {
        "status": "completed",
        "versionCodes": [str(code) for code in codes],
        **changed,
    }


def put_track(
    client: EmulatorClient,
    edit: str,
    *releases: dict[str, Any],
    track: str = "production",
) -> Reply:
    return client.request(
        "PUT",
        f"{edit}/tracks/{track}",
        json={"track": track, "releases": list(releases)},
    )


def commit(client: EmulatorClient, edit: str, query: str = "") -> Reply:
    return client.request("POST", f"{edit}:commit{query}", b"")


def test_a_release_from_edit_to_track(client: EmulatorClient, bundle: bytes) -> None:
    """After insert, upload, track, validate and commit it is live, and the state says so."""
    edit = client.edit()
    uploaded = client.upload(f"{edit}/bundles", bundle)
    digests = {
        "sha1": hashlib.sha1(bundle).hexdigest(),
        "sha256": hashlib.sha256(bundle).hexdigest(),
    }
    assert uploaded.json == {"versionCode": 8, **digests}
    assert put_track(client, edit, release(8)).status == 200
    assert client.request("POST", f"{edit}:validate", b"").status == 200
    assert client.emulator.state()["tracks"] == {PACKAGE: {}}
    assert commit(client, edit).json["id"] == edit.rpartition("/")[2]
    state = client.emulator.state()
    assert state["tracks"][PACKAGE]["production"] == [release(8, name="1.0")]
    assert [one["id"] for one in state["edits"]["committed"]] == [
        edit.rpartition("/")[2]
    ]
    assert client.request("GET", f"{client.edit()}/bundles").json["bundles"] == [
        {"versionCode": 8, **digests}
    ]


def test_a_real_apk_is_read() -> None:
    """An APK that nobody here built tells who it is and that it is a debug build; without a version
    it is refused.
    """
    read = read_identity(real_apk(LARGE), "apk")
    assert read == ArtifactIdentity(
        "io.appium.uiautomator2.server", 278, "10.6.6", debuggable=True
    )
    with pytest.raises(ApiError, match="cannot be analyzed"):
        read_identity(real_apk(SMALL), "apk")


def test_an_edit_ends_by_its_commit_its_deletion_or_the_commit_of_another(
    client: EmulatorClient,
) -> None:
    """Afterwards it can't be used any more, in Google's words for each."""
    edit, other, deleted = client.edit(), client.edit(), client.edit()
    assert client.request("DELETE", deleted).status == 204
    assert commit(client, deleted).message == "This Edit has been deleted."
    assert client.emulator.state()["edits"]["deleted"]
    assert commit(client, other).status == 200
    assert commit(client, other).reason == "editAlreadyCommitted"
    reply = client.request("GET", edit)
    assert reply.status == 400
    assert reply.message.startswith(
        "A change was made to the application outside of this Edit"
    )


def test_unknown_and_forbidden_apps(start_emulator: StartEmulator) -> None:
    """Where so configured, a package is unknown (404) or not the account's (403)."""
    client = start_emulator(any_app=False, apps=LIVE, denied=["com.denied"])
    unknown = client.request(
        "POST", "/androidpublisher/v3/applications/com.unknown/edits", json={}
    )
    denied = client.request(
        "POST", "/androidpublisher/v3/applications/com.denied/edits", json={}
    )
    assert (unknown.status, unknown.message) == (404, "Package not found: com.unknown.")
    assert (denied.status, denied.message) == (
        403,
        "The caller does not have permission",
    )


def test_a_version_code_is_used_once(
    start_emulator: StartEmulator, bundle: bytes
) -> None:
    """Twice in one edit, or after it was live: apkUpgradeVersionConflict. A deleted edit gives it
    back.
    """
    client = start_emulator()
    edit = client.edit()
    client.upload(f"{edit}/bundles", bundle)
    twice = client.upload(f"{edit}/bundles", bundle)
    assert (twice.status, twice.reason) == (403, "apkUpgradeVersionConflict")
    assert twice.message == "Version code 8 has already been used."
    client.request("DELETE", edit)
    edit = client.edit()
    assert client.upload(f"{edit}/bundles", bundle).status == 200
    commit(client, edit)
    assert (
        client.upload(f"{client.edit()}/bundles", bundle).reason
        == "apkUpgradeVersionConflict"
    )


def test_an_artifact_is_what_it_claims(
    client: EmulatorClient, bundle: bytes, apk: bytes, tmp_path: Path
) -> None:
    """Another app's artifact, an APK as a bundle, or no zip at all: refused, and nothing is in the
    edit.
    """
    make_bundle(tmp_path / "other.aab", "com.other", 8, "1.0")
    edit = client.edit()
    other = client.upload(f"{edit}/bundles", (tmp_path / "other.aab").read_bytes())
    assert (other.status, "com.other" in other.message) == (403, True)
    assert (
        "failed to run 'bundletool build-apks'"
        in client.upload(f"{edit}/bundles", apk).message
    )
    assert (
        client.upload(f"{edit}/apks", bundle).message
        == "APK cannot be analyzed using aapt dump badging."
    )
    assert client.upload(f"{edit}/bundles", b"no zip").status == 403
    assert client.upload(f"{edit}/bundles", bundle, "text/plain").status == 400
    assert client.request("GET", f"{edit}/bundles").json == {
        "kind": "androidpublisher#bundlesListResponse"
    }


@pytest.mark.parametrize(
    "wrong",
    [
        release(),
        release(99),
        release(7, status="done"),
        release(7, status="inProgress"),
        release(7, status="inProgress", userFraction=1),
        release(7, status="inProgress", userFraction=0),
        release(7, status="inProgress", userFraction="half"),
        release(7, status="statusUnspecified"),
        release(7, status=None),
        release(7, userFraction=0.5),
        release(7, status="draft", userFraction=0.5),
        release(7, inAppUpdatePriority=6),
        release(7, releaseNotes=[{"language": "en-US", "text": "x" * 501}]),
        release(7, releaseNotes=[{"language": "english!", "text": "x"}]),
        release(7, releaseNotes=[{"language": "en-US", "text": "x"}] * 2),
        release(7, countryTargeting={"countries": ["US"]}),
        release(
            7,
            status="inProgress",
            userFraction=0.5,
            countryTargeting={"countries": ["usa"]},
        ),
        release(7, rollout=0.5),
    ],
    ids=[
        "no version code",
        "unknown version code",
        "unknown status",
        "rollout without fraction",
        "fraction of 1",
        "fraction of 0",
        "fraction in words",
        "unspecified status",
        "no status",
        "completed with a fraction",
        "draft with a fraction",
        "priority above 5",
        "notes too long",
        "notes in no language",
        "notes twice in a language",
        "countries without a rollout",
        "country in lower case",
        "unknown field",
    ],
)
def test_a_release_obeys_the_rules(
    start_emulator: StartEmulator, wrong: dict[str, Any]
) -> None:
    """Each rule of a track release, broken: 400, and the track stays as it was."""
    client = start_emulator(apps=LIVE)
    edit = client.edit()
    assert put_track(client, edit, wrong).status == 400
    assert client.request("GET", f"{edit}/tracks/production").json["releases"] == [
        release(7)
    ]


def test_what_everybody_has_is_not_halted_on_the_internal_track(
    start_emulator: StartEmulator,
) -> None:
    """The internal track has no rollouts: 400 in Google's words, and the release stays as it
    was.
    """
    client = start_emulator(
        apps={
            PACKAGE: {
                "artifacts": [{"versionCode": 7}],
                "tracks": {"internal": [release(7)]},
            }
        }
    )
    edit = client.edit()
    reply = put_track(client, edit, release(7, status="halted"), track="internal")
    assert (reply.status, reply.message.startswith("Cannot halt release")) == (
        400,
        True,
    )
    assert client.request("GET", f"{edit}/tracks/internal").json["releases"] == [
        release(7)
    ]


def test_a_track_has_one_release_of_each_status(start_emulator: StartEmulator) -> None:
    """Two completed releases, or one version code in two: refused; completed and inProgress stand
    side by side.
    """
    client = start_emulator(
        apps={PACKAGE: {"artifacts": [{"versionCode": code} for code in (7, 8)]}}
    )
    edit = client.edit()
    rollout = {"status": "inProgress", "userFraction": 0.1}
    assert put_track(client, edit, release(7), release(8)).status == 400
    assert put_track(client, edit, release(7), release(7, **rollout)).status == 400
    assert put_track(client, edit, release(7), release(8, **rollout)).status == 200


def test_a_release_may_retain_a_version_of_the_one_before_it(
    start_emulator: StartEmulator,
) -> None:
    """A staged one of the completed one, a draft of both; with nothing of its own it is refused."""
    client = start_emulator(
        apps={PACKAGE: {"artifacts": [{"versionCode": code} for code in (7, 8, 9)]}}
    )
    edit = client.edit()
    rollout = {"status": "inProgress", "userFraction": 0.1}
    staged = release(8, 7, **rollout)
    assert put_track(client, edit, release(7), staged).status == 200
    halted = {**staged, "status": "halted"}
    assert put_track(client, edit, release(7), halted).status == 200
    draft = release(9, 8, status="draft")
    assert put_track(client, edit, release(7), staged, draft).status == 200
    assert put_track(client, edit, release(7, 8), release(7, **rollout)).status == 400
    assert put_track(client, edit, staged, release(8, 7)).status == 400
    assert put_track(client, edit, staged, release(8, status="draft")).status == 400


def test_custom_tracks(start_emulator: StartEmulator) -> None:
    """Form-factor tracks are there; where so configured, a custom track has to be created first."""
    client = start_emulator(apps=LIVE, any_track=False)
    edit = client.edit()
    assert put_track(client, edit, release(7), track="wear:beta").status == 200
    assert put_track(client, edit, release(7), track="friends").status == 404
    created = {"track": "friends", "type": "CLOSED_TESTING", "formFactor": "DEFAULT"}
    assert client.request("POST", f"{edit}/tracks", json=created).json == {
        "track": "friends"
    }
    assert client.request("POST", f"{edit}/tracks", json=created).status == 409
    assert put_track(client, edit, release(7), track="friends").status == 200
    names = [
        track["track"]
        for track in client.request("GET", f"{edit}/tracks").json["tracks"]
    ]
    assert names == ["production", "beta", "alpha", "internal", "wear:beta", "friends"]


NOT_SENT = "?changesNotSentForReview=true"
BY_HAND = (
    "Changes cannot be sent for review automatically. Please set the query parameter "
    "changesNotSentForReview to true. Once committed, the changes in this edit can be sent for "
    "review from the Google Play Console UI."
)
BY_ITSELF = (
    "Changes are sent for review automatically. The query parameter changesNotSentForReview must "
    "not be set."
)


@pytest.mark.parametrize(
    ("review", "wrong", "right", "words"),
    [("manual", "", NOT_SENT, BY_HAND), ("automatic", NOT_SENT, "", BY_ITSELF)],
)
def test_a_review_wants_its_parameter_or_forbids_it(
    start_emulator: StartEmulator, review: str, wrong: str, right: str, words: str
) -> None:
    """Google's refusals, word for word; the edit stays usable."""
    client = start_emulator(review=review)
    edit = client.edit()
    assert commit(client, edit, wrong).message == words
    assert commit(client, edit, right).status == 200


@pytest.mark.parametrize(
    "cancelling",
    ["", "?changesInReviewBehavior=CANCEL_IN_REVIEW_AND_SUBMIT"],
    ids=["default", "cancel"],
)
def test_a_review_in_flight(start_emulator: StartEmulator, cancelling: str) -> None:
    """ERROR_IF_IN_REVIEW refuses and leaves the edit; the default, which can also be given, cancels
    the review and passes.
    """
    client = start_emulator(in_review=True)
    edit = client.edit()
    assert (
        commit(client, edit, "?changesInReviewBehavior=ERROR_IF_IN_REVIEW").status
        == 400
    )
    assert commit(client, edit, "?changesInReviewBehavior=SOMETHING").status == 400
    assert commit(client, edit, cancelling).status == 200


def test_a_draft_app_takes_drafts_alone(start_emulator: StartEmulator) -> None:
    """Validation and commit refuse any other status, in Google's words."""
    client = start_emulator(
        draft_app=True, apps={PACKAGE: {"artifacts": [{"versionCode": 7}]}}
    )
    edit = client.edit()
    put_track(client, edit, release(7))
    assert (
        client.request("POST", f"{edit}:validate", b"").message
        == commit(client, edit).message
    )
    assert (
        commit(client, edit).message
        == "Only releases with status draft may be created on draft app."
    )
    put_track(client, edit, release(7, status="draft"))
    assert commit(client, edit).status == 200


def test_expansion_files_are_uploaded_or_referred_to(
    start_emulator: StartEmulator, apk: bytes
) -> None:
    """An expansion file has a size of its own, or is that of another version which has one."""
    client = start_emulator(
        apps={
            PACKAGE: {
                "artifacts": [{"versionCode": 3, "kind": "apk"}, {"versionCode": 4}]
            }
        }
    )
    edit = client.edit()
    client.upload(f"{edit}/apks", apk)
    main, patch = (
        f"{edit}/apks/9/expansionFiles/main",
        f"{edit}/apks/9/expansionFiles/patch",
    )
    assert client.request("GET", main).status == 404
    assert client.upload(f"{edit}/apks/3/expansionFiles/main", b"12345").json == {
        "expansionFile": {"fileSize": "5"}
    }
    assert client.request("PATCH", main, json={"referencesVersion": 3}).json == {
        "referencesVersion": 3
    }
    assert client.request("GET", main).json == {"referencesVersion": 3}
    assert client.request("PATCH", patch, json={"referencesVersion": 3}).status == 400
    assert client.upload(f"{edit}/apks/4/expansionFiles/main", b"x").status == 400


def test_images_come_and_go(client: EmulatorClient) -> None:
    """Each image has its digests; an icon is replaced by the next, of screenshots there are eight
    at most.
    """
    edit = client.edit()
    path = f"{edit}/listings/en-US/phoneScreenshots"
    images = [
        client.upload(path, PNG + bytes([number]), "image/png").json["image"]
        for number in range(8)
    ]
    assert images[0]["sha256"] == hashlib.sha256(PNG + b"\0").hexdigest()
    assert client.upload(path, PNG, "image/png").status == 403
    assert client.request("DELETE", f"{path}/{images[0]['id']}").status == 204
    assert client.request("DELETE", f"{path}/{images[0]['id']}").status == 404
    assert client.request("GET", path).json == {"images": images[1:]}
    assert client.request("DELETE", path).json == {"deleted": images[1:]}
    assert client.request("GET", path).json == {}
    icon = f"{edit}/listings/en-US/icon"
    client.upload(icon, PNG, "image/png")
    second = client.upload(icon, PNG + b"2", "image/png").json["image"]
    assert client.request("GET", icon).json == {"images": [second]}
    assert client.request("GET", f"{edit}/listings/en-US/posters").status == 400


def test_listings_have_their_limits(client: EmulatorClient) -> None:
    """Texts by language, replaced or merged, each within Google's length."""
    edit = client.edit()
    path = f"{edit}/listings/de-DE"
    assert client.request("GET", path).status == 404
    assert (
        client.request("PUT", path, json={"title": "T", "shortDescription": "S"}).json[
            "language"
        ]
        == "de-DE"
    )
    assert (
        client.request("PATCH", path, json={"title": "U"}).json["shortDescription"]
        == "S"
    )
    assert client.request("PATCH", path, json={"shortDescription": ""}).json == {
        "language": "de-DE",
        "title": "U",
    }
    assert client.request("PUT", path, json={"title": "V"}).json == {
        "language": "de-DE",
        "title": "V",
    }
    assert (
        client.request("PATCH", f"{edit}/listings/fr-FR", json={"title": "U"}).status
        == 404
    )
    assert client.request("PUT", path, json={"title": "x" * 31}).status == 400
    assert client.request("PUT", path, json={"subtitle": "x"}).status == 400
    assert len(client.request("GET", f"{edit}/listings").json["listings"]) == 1
    assert client.request("DELETE", path).status == 204
    assert client.request("DELETE", f"{edit}/listings").status == 204
    assert (
        client.request(
            "PUT", f"{edit}/details", json={"defaultLanguage": "de-DE"}
        ).status
        == 200
    )
    assert client.request("GET", f"{edit}/details").json == {"defaultLanguage": "de-DE"}


def test_internal_sharing_needs_no_edit(
    client: EmulatorClient, bundle: bytes, apk: bytes
) -> None:
    """A download URL, the certificate's fingerprint and the sha256; the version code stays
    unused.
    """
    base = f"/androidpublisher/v3/applications/internalappsharing/{PACKAGE}/artifacts"
    shared = client.upload(f"{base}/bundle", bundle).json
    assert shared["sha256"] == hashlib.sha256(bundle).hexdigest()
    assert shared["downloadUrl"].startswith("https://play.google.com/apps/test/")
    assert (
        client.upload(f"{base}/apk", apk).json["sha256"]
        == hashlib.sha256(apk).hexdigest()
    )
    assert client.upload(f"{client.edit()}/bundles", bundle).status == 200


TESTER = ["CAN_VIEW_NON_FINANCIAL_DATA", "CAN_MANAGE_TRACK_APKS"]


@pytest.mark.parametrize(
    ("granted", "track", "status"),
    [
        (TESTER, "internal", 200),
        (TESTER, "production", 403),
        (["CAN_MANAGE_PUBLIC_APKS"], "production", 200),
        (["CAN_MANAGE_PUBLIC_LISTING"], "internal", 403),
    ],
)
def test_a_commit_needs_the_permission_for_its_tracks(
    start_emulator: StartEmulator,
    bundle: bytes,
    granted: list[str],
    track: str,
    status: int,
) -> None:
    """The edit itself may be opened by whoever may change something."""
    client = start_emulator(permissions={"*": granted})
    edit = client.edit()
    client.upload(f"{edit}/bundles", bundle)
    put_track(client, edit, release(8), track=track)
    assert commit(client, edit).status == status


def test_who_may_only_view_opens_no_edit(start_emulator: StartEmulator) -> None:
    """Reading is still allowed; without any permission it is not."""
    client = start_emulator(
        permissions={PACKAGE: ["CAN_VIEW_NON_FINANCIAL_DATA"], "com.example.hidden": []}
    )
    applications = "/androidpublisher/v3/applications"
    assert (
        client.request("POST", f"{applications}/{PACKAGE}/edits", json={}).status == 403
    )
    releases = "tracks/production/releases"
    assert client.request("GET", f"{applications}/{PACKAGE}/{releases}").status == 200
    assert (
        client.request("GET", f"{applications}/com.example.hidden/{releases}").status
        == 403
    )


def test_a_disabled_api_refuses_calls_and_uploads(
    start_emulator: StartEmulator, bundle: bytes
) -> None:
    """In Google's words, with the reason of both lists."""
    client = start_emulator(disabled_apis=["androidpublisher.googleapis.com"])
    edits = f"/androidpublisher/v3/applications/{PACKAGE}/edits"
    for reply in (
        client.request("POST", edits, json={}),
        client.upload(f"{edits}/1/bundles", bundle),
    ):
        assert reply.status == 403
        assert (
            "has not been used in project 123456789 before or it is disabled"
            in reply.message
        )
