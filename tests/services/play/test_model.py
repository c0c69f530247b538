"""The values of Google Play's tracks: what is read of their JSON, and what goes back as it came."""

from __future__ import annotations

from typing import Any

import pytest

from uploader.errors import ProtocolError
from uploader.services.play.model import (
    REST_OF_WORLD,
    ListedArtifact,
    ListedImage,
    Release,
    TrackName,
    all_version_codes,
    find_same_versions,
    having_status,
    is_same_share,
    is_smaller_share,
    newest,
)

FULL: dict[str, Any] = {
    "name": "Spring",
    "versionCodes": ["41", "42"],
    "status": "inProgress",
    "userFraction": 0.1,
    "releaseNotes": [{"language": "en-US", "text": "New."}],
    "inAppUpdatePriority": 2,
    "countryTargeting": {"countries": ["DE", "FR"], "includeRestOfWorld": True},
}


def test_every_field_that_decisions_depend_on_is_read() -> None:
    release = Release.from_json(FULL)
    assert release.name == "Spring"
    assert release.version_codes == ("41", "42")
    assert release.highest_version_code == 42
    assert release.status == "inProgress"
    assert release.user_fraction == 0.1
    assert release.notes == (("en-US", "New."),)
    assert release.priority == 2
    assert release.countries == ("DE", "FR", REST_OF_WORLD)


def test_what_is_absent_has_a_value_that_says_so() -> None:
    release = Release.from_json({})
    assert release.name == ""
    assert release.version_codes == ()
    assert release.highest_version_code == -1
    assert release.status == ""
    assert release.user_fraction is None
    assert release.notes == ()
    assert release.priority == 0
    assert release.countries == ()
    assert not release.targets_countries
    assert not release.states_notes


def test_null_is_absent() -> None:
    release = Release.from_json(dict.fromkeys(FULL))
    assert release.name == ""
    assert release.version_codes == ()
    assert release.status == ""
    assert release.user_fraction is None
    assert release.comparable() == {}


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param({**FULL, "a new field": [{"deep": None}]}, id="unknown field"),
        pytest.param(
            {**FULL, "versionCodes": [41, "42"]}, id="version code as a number"
        ),
        pytest.param({**FULL, "userFraction": None}, id="null"),
        pytest.param(
            {**FULL, "releaseNotes": [{"language": "de", "sound": 1}, 7]},
            id="odd notes",
        ),
        pytest.param(
            {**FULL, "countryTargeting": {"planets": ["Mars"]}}, id="odd targeting"
        ),
        pytest.param({**FULL, "status": "aStatusOfTomorrow"}, id="unknown status"),
        pytest.param({}, id="nothing"),
    ],
)
def test_what_was_read_goes_back_as_it_came(entry: dict[str, Any]) -> None:
    assert Release.from_json(entry).to_json() == entry


@pytest.mark.parametrize(
    ("changed", "fields"),
    [
        pytest.param(
            lambda release: release.with_status("halted"),
            {"status": "halted"},
            id="status",
        ),
        pytest.param(
            lambda release: release.with_user_fraction(0.5),
            {"userFraction": 0.5},
            id="fraction",
        ),
        pytest.param(
            lambda release: release.with_version_codes(("7",)),
            {"versionCodes": ["7"]},
            id="codes",
        ),
        pytest.param(
            lambda release: release.with_name("Fall"), {"name": "Fall"}, id="name"
        ),
        pytest.param(
            lambda release: release.with_notes([("de", "Neu.")]),
            {"releaseNotes": [{"language": "de", "text": "Neu."}]},
            id="notes",
        ),
        pytest.param(
            lambda release: release.with_priority(0),
            {"inAppUpdatePriority": 0},
            id="priority",
        ),
        pytest.param(
            lambda release: release.with_countries(("DE", REST_OF_WORLD)),
            {"countryTargeting": {"countries": ["DE"], "includeRestOfWorld": True}},
            id="countries",
        ),
    ],
)
def test_a_change_leaves_all_other_fields_as_they_came(
    changed: Any, fields: Any
) -> None:
    entry = {**FULL, "a new field": 1}
    release = Release.from_json(entry)
    assert changed(release).to_json() == {**entry, **fields}
    assert release.to_json() == entry


def test_a_release_without_a_fraction_has_no_such_field() -> None:
    assert (
        "userFraction" not in Release.from_json(FULL).without_user_fraction().to_json()
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("versionCodes", "42"),
        ("versionCodes", {"42": 1}),
        ("versionCodes", ["-1"]),
        ("versionCodes", ["4.2"]),
        ("versionCodes", [True]),
        ("versionCodes", [None]),
        ("versionCodes", [["42"]]),
        ("versionCodes", ["9" * 20]),
        ("userFraction", "0.1"),
        ("userFraction", -0.1),
        ("userFraction", 1.1),
        ("userFraction", float("nan")),
        ("status", ["completed"]),
        ("status", 1),
        ("name", {}),
    ],
)
def test_a_field_in_an_undocumented_form_is_an_error_of_the_protocol(
    field: str, value: object
) -> None:
    with pytest.raises(ProtocolError, match="a release in an undocumented format"):
        Release.from_json({**FULL, field: value})


@pytest.mark.parametrize(
    "notes", ["New.", {"en-US": "New."}, 7, [7, None, ["en-US", "New."]]]
)
def test_notes_in_an_undocumented_form_are_not_read(notes: object) -> None:
    assert Release.from_json({"releaseNotes": notes}).notes == ()


def test_a_note_with_odd_values_is_read_as_text() -> None:
    notes = [{"language": {}, "text": [1]}, {"text": "New."}]
    assert Release.from_json({"releaseNotes": notes}).notes == (
        ("{}", "[1]"),
        ("", "New."),
    )


@pytest.mark.parametrize("targeting", ["DE", ["DE"], 7, {"countries": "DE"}])
def test_countries_in_an_undocumented_form_are_said_but_not_read(
    targeting: object,
) -> None:
    release = Release.from_json({"countryTargeting": targeting})
    assert release.targets_countries
    assert release.countries == ()


def test_a_priority_in_an_undocumented_form_is_zero() -> None:
    assert Release.from_json({"inAppUpdatePriority": "5"}).priority == 0


def test_two_spellings_of_the_same_release_compare_equal() -> None:
    reported = {**FULL, "versionCodes": [42, "41"], "track": None}
    assert Release(reported).comparable() == Release(FULL).comparable()


def test_status_and_fraction_are_taken_from_another_release_as_far_as_it_has_them() -> (
    None
):
    halted = Release.of(["7"], "halted")
    taken = Release.from_json(FULL).with_status_and_fraction_of(halted)
    assert taken.status == "halted"
    assert taken.user_fraction is None
    assert taken.version_codes == ("41", "42")


def test_a_release_covers_another_whose_versions_it_has_all() -> None:
    both = Release.of(["41", "42"])
    assert both.covers(Release.of(["41"]))
    assert not Release.of(["41"]).covers(both)
    assert not both.covers(Release())


def test_releases_are_found_by_status_versions_and_age() -> None:
    completed = Release.of(["41"], "completed")
    staged = Release.of(["43", "42"], "inProgress", 0.1)
    releases = (completed, staged)
    assert having_status(releases, "inProgress", "halted") == [staged]
    assert find_same_versions(releases, Release.of(["42", "43"])) == staged
    assert find_same_versions(releases, Release.of(["42"])) is None
    assert all_version_codes(releases) == ["41", "43", "42"]
    assert newest(releases) == staged


@pytest.mark.parametrize(
    ("text", "form_factor", "base"),
    [
        ("production", "", "production"),
        ("wear:production", "wear", "production"),
        ("wear:", "wear", ""),
        (":beta", "", "beta"),
        ("a:b:c", "a:b", "c"),
    ],
)
def test_a_track_of_a_form_factor_has_its_prefix(
    text: str, form_factor: str, base: str
) -> None:
    name = TrackName(text)
    assert (name.form_factor, name.base) == (form_factor, base)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("alpha", "beta"),
        ("wear:alpha", "wear:beta"),
        ("wear:", "wear:beta"),
        (":a", ":beta"),
    ],
)
def test_a_track_beside_another_has_the_same_prefix(text: str, other: str) -> None:
    assert TrackName(text).beside("beta") == other


def test_countries_are_compared_without_their_order() -> None:
    targeting = {"countries": ["FR", "DE"], "includeRestOfWorld": True}
    other = Release({**FULL, "countryTargeting": targeting})
    assert other.comparable() == Release(FULL).comparable()


def test_a_rest_of_the_world_that_is_not_included_may_be_left_out() -> None:
    explicit = Release(
        {"countryTargeting": {"countries": ["DE"], "includeRestOfWorld": False}}
    )
    short = Release({"countryTargeting": {"countries": ["DE"]}})
    assert explicit.comparable() == short.comparable()


def test_countries_of_an_unknown_form_are_compared_as_they_are() -> None:
    mars = Release({"countryTargeting": {"planets": ["Mars"]}})
    assert (
        mars.comparable()
        != Release({"countryTargeting": {"planets": ["Venus"]}}).comparable()
    )


def test_a_truth_value_is_no_user_fraction() -> None:
    with pytest.raises(ProtocolError):
        Release.from_json({"versionCodes": ["1"], "userFraction": True})


@pytest.mark.parametrize(
    ("share", "other", "same"),
    [
        pytest.param(0.05, 0.05, True, id="equal"),
        pytest.param(0.05, 0.0499999999, True, id="fewer-digits"),
        pytest.param(0.05, 0.051, False, id="another-share"),
        pytest.param(None, None, True, id="both-unknown"),
        pytest.param(0.05, None, False, id="one-unknown"),
    ],
)
def test_shares_are_the_same_as_far_as_google_play_keeps_their_digits(
    share: float | None, other: float | None, same: bool
) -> None:
    one = Release.of(("6",), "inProgress", share)
    another = Release.of(("6",), "inProgress", other)
    assert is_same_share(share, other) == same
    assert one.has_same_reach(another) == same


def test_a_share_with_fewer_digits_is_not_smaller() -> None:
    assert not is_smaller_share(0.0499999999, 0.05)
    assert is_smaller_share(0.049, 0.05)
    assert not is_smaller_share(0.05, 0.049)


def test_a_release_with_a_share_of_fewer_digits_has_all_that_was_sent() -> None:
    sent = Release.of(("6",), "inProgress", 0.05)
    assert Release.of(("6",), "inProgress", 0.0499999999).has_all_of(sent)
    assert not Release.of(("6",), "inProgress", 0.04).has_all_of(sent)
    assert not Release.of(("6",), "inProgress").has_all_of(sent)


def test_the_order_of_version_codes_has_no_meaning() -> None:
    release = Release.of(("41", "42"))
    assert release.has_same_versions(Release.of(("42", "41")))
    assert release.has_versions(("42", "41"))
    assert not release.has_versions(("42",))


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param({"versionCode": 42, "sha256": "AB12"}, id="bundle"),
        pytest.param({"versionCode": 42, "binary": {"sha256": "AB12"}}, id="apk"),
    ],
)
def test_an_artifact_is_listed_with_its_digest(entry: dict[str, Any]) -> None:
    assert ListedArtifact.from_json(entry) == ListedArtifact(42, "ab12", entry)


def test_an_entry_without_a_version_code_is_no_artifact() -> None:
    assert ListedArtifact.from_json({"sha256": "ab12"}) is None


def test_what_google_play_does_not_say_of_an_image_is_empty() -> None:
    assert ListedImage.from_json({}) == ListedImage("", "", "", {})
