"""Play's rules in memory, as strict as the documents have them.

The model answers a `Call` or an `Upload` without a network. Any step can be made to fail before or
after it has taken effect, so that a lost answer and a refusal are told apart.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from uploader.errors import ApiError
from uploader.files.android.manifest import Kind, Manifest
from uploader.files.artifacts import Artifact
from uploader.services.base import Call, Upload

PACKAGE = "com.example.app"
_PATH = re.compile(
    r"/androidpublisher/v3/applications/[\w.]+/(?:edits(?:/([^/:]+))?|(?=tracks/|generatedApks/))(.*)"
)
STANDARD = ("production", "beta", "alpha", "internal")
BY_HAND = (
    "Changes cannot be sent for review automatically. Please set the query parameter "
    "changesNotSentForReview to true. Once committed, the changes in this edit can be sent for "
    "review from the Google Play Console UI."
)
AUTOMATIC = (
    "Changes are sent for review automatically. The query parameter changesNotSentForReview must "
    "not be set."
)


def artifact(
    code: int,
    content: bytes = b"bytes",
    *,
    kind: Kind = "bundle",
    name: str = "",
    package: str = PACKAGE,
) -> Artifact:
    """A bundle or an APK whose manifest is known."""
    name = name or f"app-{code}.{'aab' if kind == 'bundle' else 'apk'}"
    manifest = Manifest(package, code, f"{code}.0", kind=kind)
    return Artifact(name, name, len(content), manifest=manifest, data=content)


def plain(name: str, content: bytes) -> Artifact:
    """Any other file."""
    return Artifact(name, name, len(content), data=content)


def sha256(file: Artifact) -> str:
    return hashlib.sha256(
        file.path.read_bytes() if file.data is None else file.data
    ).hexdigest()


def refused(status: int, message: str, reason: str = "") -> ApiError:
    """A refusal as the engine words it."""
    return ApiError(
        f"The service refused it ({status}): {message}",
        status=status,
        reason=reason,
        message=message,
    )


def release(*codes: int, status: str = "completed", **more: Any) -> dict[str, Any]:
    """A release as Play writes it."""
    return {"versionCodes": [str(code) for code in codes], "status": status, **more}


@dataclass
class State:
    """What is live, or what an edit holds."""

    bundles: dict[int, str] = field(default_factory=dict)
    apks: dict[int, str] = field(default_factory=dict)
    tracks: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    listings: dict[str, dict[str, Any]] = field(default_factory=dict)
    images: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    supplementary: dict[tuple[int, str], Any] = field(default_factory=dict)
    testers: dict[str, list[str]] = field(default_factory=dict)

    def copy(self) -> State:
        """One that changes by itself; releases, listings and images are never changed in place."""
        tracks = {track: list(found) for track, found in self.tracks.items()}
        images = {place: list(found) for place, found in self.images.items()}
        files = (dict(self.bundles), dict(self.apks))
        return State(
            *files,
            tracks,
            dict(self.listings),
            images,
            dict(self.supplementary),
            dict(self.testers),
        )

    @property
    def content(self) -> str:
        """All of it in one line, so that two can be compared; an image counts by its digest, not by
        its id.
        """
        images = {
            place: [one["sha256"] for one in found]
            for place, found in self.images.items()
            if found
        }
        parts = (
            self.bundles,
            self.apks,
            self.tracks,
            self.listings,
            images,
            self.supplementary,
            self.testers,
        )
        return " ".join(repr(sorted(part.items())) for part in parts)


@dataclass(frozen=True)
class Commit:
    """A commit that took effect: what was live before and after, and how it was asked for."""

    edit: str
    before: State
    after: State
    query: dict[str, str]


@dataclass
class Fault:
    """Fails the next step of a name: before its effect, or after it."""

    name: str
    error: BaseException
    after: bool = False
    effect: Callable[[], None] | None = None
    skip: int = 0


class Play:
    """One app on Play, one account."""

    def __init__(self, **tracks: list[dict[str, Any]]) -> None:
        self.live = State()
        self.review = "either"  # "by hand" and "automatic" refuse the other way
        self.in_review = False
        # where it is set, any other track but the standard ones is unknown
        self.closed_tracks: set[str] | None = None
        self.faults: list[Fault] = []
        self.calls: list[str] = []
        self.uploads: list[str] = []
        self.edits: dict[str, State] = {}
        self.closed: dict[str, str] = {}
        self.commits: list[Commit] = []
        self.taken: list[State] = []  # edits as others committed them
        # a committed edit is not told apart from one that never was
        self.forgetful = False
        for track, releases in tracks.items():
            self.live.tracks[track] = releases
            for one in releases:
                self.live.bundles |= {
                    int(code): f"digest of {code}" for code in one["versionCodes"]
                }

    # --- what tests do to it ----------------------------------------------------------------------

    def fail(self, name: str, error: BaseException, **how: Any) -> None:
        """The next `name` (insert, upload bundles, PUT tracks, commit, …) fails; `after=True`: it
        took effect.
        """
        self.faults.append(Fault(name, error, **how))

    def close_edits(self, why: str = "This Edit has been deleted.") -> None:
        """What a commit by somebody else, or a change in the console, does to all open edits."""
        self.closed |= dict.fromkeys(self.edits, why)
        self.edits.clear()

    def commit_of_others(self, track: str = "others", code: int = 77) -> None:
        """Another account's release: it is live, and every open edit is invalid."""
        self.live = self.live.copy()
        self.live.bundles[code] = "digest of others"
        self.live.tracks[track] = [release(code)]
        self.close_edits(
            "A change was made to the application outside of this Edit, please create a new edit."
        )

    def take(self, edit: str) -> None:
        """Somebody who knows the edit's id commits it as it is."""
        if edit in self.edits:
            self.live = self.edits.pop(edit)
            self.taken.append(self.live.copy())
            self.closed[edit] = "This edit has already been committed."
            self.close_edits()

    def count(self, name: str) -> int:
        """How many calls of a name arrived."""
        return self.calls.count(name)

    def open_edit(self) -> str:
        """Somebody with the same account opens an edit; its id."""
        path = f"/androidpublisher/v3/applications/{PACKAGE}/edits"
        edit: str = self.response(Call("POST", "https://play.example", path))["id"]
        return edit

    # --- what it does -----------------------------------------------------------------------------

    def response(self, step: Call | Upload) -> Any:
        """The answer to a step, or the error that the engine throws."""
        name = call_name(step)
        self.calls.append(name)
        fault = next((one for one in self.faults if one.name == name), None)
        if fault and fault.skip:
            fault.skip -= 1
            fault = None
        if fault:
            self.faults.remove(fault)
            if fault.effect:
                fault.effect()
            if not fault.after:
                raise fault.error
        result = self.do(step)
        if fault:
            raise fault.error
        return result

    def do(self, step: Call | Upload) -> Any:
        """What a step does and is answered when nothing goes wrong on the way."""
        edit, rest = edit_of(step)
        if not edit:
            return self._outside(rest) if rest else self._insert()
        if edit not in self.edits:
            why = self.closed.get(edit, "Edit not found.")
            raise refused(400 if "committed" in why else 404, why)
        state = self.edits[edit]
        if isinstance(step, Upload):
            return self._upload(state, rest, step)
        match call_name(step).split():
            case ["GET" | "validate"]:
                return {"id": edit}
            case ["DELETE"]:
                return self._delete(edit)
            case ["commit"]:
                return self._commit(edit, dict(step.query))
            case ["GET", "bundles"]:
                return {
                    "bundles": [
                        {"versionCode": code, "sha256": sha}
                        for code, sha in state.bundles.items()
                    ]
                }
            case ["GET", "apks"]:
                apks = state.apks.items()
                return {
                    "apks": [
                        {"versionCode": code, "binary": {"sha256": sha}}
                        for code, sha in apks
                    ]
                }
            case name:
                return self._content(state, name, rest, step)

    def _outside(self, rest: str) -> Any:
        """What is told without an edit: the releases of a track; that no APKs are generated yet."""
        kind, name = rest.split("/")[:2]
        if kind == "generatedApks":
            return {}
        found = self.live.tracks.get(unquote(name), [])
        artifacts = [
            [{"versionCode": int(code)} for code in one["versionCodes"]]
            for one in found
        ]
        state = "RELEASE_LIFECYCLE_STATE_PUBLISHED"
        return {
            "releases": [
                {"activeArtifacts": one, "releaseLifecycleState": state}
                for one in artifacts
            ]
        }

    def _insert(self) -> Any:
        self.close_edits()  # a new edit invalidates the account's other ones
        number = str(len(self.closed) + 1)
        self.edits[number] = self.live.copy()
        return {"id": number, "expiryTimeSeconds": "1"}

    def _content(self, state: State, name: list[str], rest: str, step: Call) -> Any:
        match name:
            case ["GET", "tracks"] if rest == "/tracks":
                names = dict.fromkeys(
                    (*STANDARD, *(self.closed_tracks or ()), *state.tracks)
                )
                return {
                    "tracks": [
                        self._track(state, "GET", track, None) for track in names
                    ]
                }
            case ["POST", "tracks"]:
                return self._create_track(state, step.json)
            case [method, "tracks"]:
                return self._track(
                    state, method, unquote(rest.split("/")[2]), step.json
                )
            case [method, "listings"]:
                return self._listing(state, method, rest, step.json)
            case [method, "testers"]:
                track = unquote(rest.split("/")[2])
                if method == "PUT" and step.json is not None:
                    state.testers[track] = step.json["googleGroups"]
                return {"googleGroups": state.testers.get(track, [])}
            case ["GET", "details"]:
                return {"defaultLanguage": "en-US"}
            case ["PATCH", "apks"]:
                _, _, code, _, kind = rest.split("/")
                assert step.json is not None
                state.supplementary[int(code), kind] = step.json["referencesVersion"]
                return {}
        raise AssertionError(name)

    def _delete(self, edit: str) -> Any:
        del self.edits[edit]
        self.closed[edit] = "This Edit has been deleted."
        return {}

    def _upload(self, state: State, rest: str, step: Upload) -> Any:
        file = step.artifact
        self.uploads.append(file.name)
        parts = rest.strip("/").split("/")
        assert any(
            kind in (step.media_type, "image/*") for kind in step.endpoint.media_types
        )
        if parts[0] in ("bundles", "apks") and len(parts) == 1:
            assert file.manifest
            code = file.manifest.version_code
            if code in state.bundles or code in state.apks:
                raise refused(
                    403,
                    f"Version code {code} has already been used.",
                    "apkUpgradeVersionConflict",
                )
            (state.bundles if parts[0] == "bundles" else state.apks)[code] = sha256(
                file
            )
            response = {"versionCode": code, "sha256": sha256(file)}
            return (
                response
                if parts[0] == "bundles"
                else {"versionCode": code, "binary": {"sha256": sha256(file)}}
            )
        if parts[0] == "apks":
            assert int(parts[1]) in state.bundles | state.apks
            state.supplementary[int(parts[1]), parts[3]] = sha256(file)
            return {}
        language, kind = parts[1:]
        images = state.images.setdefault((language, kind), [])
        image = {"id": f"image{len(self.uploads)}", "sha256": sha256(file)}
        images.append(image)
        return {"image": image}

    def _create_track(self, state: State, config: Any) -> Any:
        track = config["track"]
        assert config["type"] == "CLOSED_TESTING"
        if track in {*STANDARD, *(self.closed_tracks or ()), *state.tracks}:
            raise refused(409, f"Track {track} already exists.", "alreadyExists")
        state.tracks[track] = []
        return {"track": track}

    def _track(self, state: State, method: str, track: str, body: Any) -> Any:
        known = {*STANDARD, *(self.closed_tracks or ()), *state.tracks}
        if self.closed_tracks is not None and track not in known:
            raise refused(404, f"Track not found: {track}.", "trackNotFound")
        if method == "PUT":
            _check_track(state, body["releases"])
            assert body["track"] == track
            state.tracks[track] = [dict(one) for one in body["releases"]]
        return {"track": track, "releases": list(state.tracks.get(track, []))}

    def _listing(self, state: State, method: str, rest: str, body: Any) -> Any:
        parts = rest.strip("/").split("/")
        if len(parts) == 1:
            return {"listings": list(state.listings.values())}
        if method == "PUT":
            assert state.listings.get(parts[1], {}).keys() <= body.keys(), (
                "texts that the folder lacks are lost"
            )
            state.listings[parts[1]] = body
            return body
        if method == "PATCH":
            state.listings[parts[1]] = {**state.listings[parts[1]], **body}
            return state.listings[parts[1]]
        place = (parts[1], parts[2])
        if method == "DELETE":
            state.images[place] = [
                image for image in state.images[place] if image["id"] != parts[3]
            ]
            return {}
        return {"images": list(state.images.get(place, []))}

    def _commit(self, edit: str, query: dict[str, str]) -> Any:
        by_hand = query.get("changesNotSentForReview") == "true"
        if self.review == "by hand" and not by_hand:
            raise refused(400, BY_HAND, "badRequest")
        if self.review == "automatic" and "changesNotSentForReview" in query:
            raise refused(400, AUTOMATIC, "badRequest")
        if self.in_review and query["changesInReviewBehavior"] == "ERROR_IF_IN_REVIEW":
            raise refused(
                400, "Changes are already in review.", "CHANGES_ALREADY_IN_REVIEW"
            )
        before, self.live = self.live, self.edits.pop(edit)
        self.commits.append(Commit(edit, before.copy(), self.live.copy(), query))
        self.closed[edit] = (
            "Edit not found."
            if self.forgetful
            else "This edit has already been committed."
        )
        self.close_edits()
        return {"id": edit}


class Console:
    """Several apps on Play, by their package names: each has its own edits, and knows nothing of
    the others.
    """

    def __init__(self, apps: Mapping[str, Play]) -> None:
        self.apps = dict(apps)

    def response(self, step: Call | Upload) -> Any:
        """The answer of the app that the step is about."""
        return self.apps[app_of(step)].response(step)


def app_of(step: Call | Upload) -> str:
    """The package name of the app that a step is about."""
    return (step.path if isinstance(step, Call) else step.endpoint.path).split("/")[4]


def edit_of(step: Call | Upload) -> tuple[str, str]:
    """The id of the edit that a step is about, empty for a new one, and the rest of its path."""
    path = step.path if isinstance(step, Call) else step.endpoint.path
    found = _PATH.fullmatch(path)
    assert found, path
    return found[1] or "", found[2]


def call_name(step: Call | Upload) -> str:
    """What a step is called here: insert, upload bundles, PUT tracks, commit, …; GET and DELETE are
    about the edit.
    """
    edit, rest = edit_of(step)
    if not edit:
        return (
            (
                "GET live releases"
                if rest.startswith("tracks/")
                else "GET generated APKs"
            )
            if rest
            else "insert"
        )
    if rest.startswith(":"):
        return rest[1:]
    method = step.method if isinstance(step, Call) else "upload"
    parts = rest.strip("/").split("/")
    kind = (
        parts[2]
        if len(parts) > 3 and parts[2].endswith("Files") and method == "upload"
        else parts[0]
    )
    return f"{method} {kind}".strip()


def _check_track(state: State, releases: list[dict[str, Any]]) -> None:
    by_status = [one["status"] for one in releases]
    if by_status.count("completed") > 1:
        raise refused(400, "Only one completed release is allowed.")
    if by_status.count("inProgress") + by_status.count("halted") > 1:
        raise refused(400, "Too many staged releases specified.")
    for one in releases:
        fits = {"inProgress": {True}, "halted": {True, False}}.get(
            one["status"], {False}
        )
        assert all(isinstance(code, str) for code in one["versionCodes"])
        if (
            not {int(code) for code in one["versionCodes"]}
            <= state.bundles.keys() | state.apks.keys()
        ):
            raise refused(400, "Version code is not known.")
        if ("userFraction" in one) not in fits:
            raise refused(400, "User fraction does not fit the status.")
