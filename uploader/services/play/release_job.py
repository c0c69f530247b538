"""A release job: what one run asks of Google Play for one app, after all offline checks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

from uploader.files.android.listing import StoreFiles
from uploader.files.artifacts import Artifact
from uploader.inputs.specs import ImagesPrune

if TYPE_CHECKING:
    from uploader.services.play.client import SupplementaryKind
    from uploader.services.play.model import Notes
    from uploader.services.play.review import ReviewGoal
    from uploader.services.play.universal_apk import UniversalApkGoal
    from uploader.services.play.verify_goal import VerifyGoal

WHAT: Mapping[str, str] = {
    "mapping": "mapping",
    "symbols": "native symbols",
    "main": "main expansion file",
    "patch": "patch expansion file",
}
"""The kinds of supplementary files, in words."""
IN_THE_LIBRARY = (
    "An artifact enters the app's library of bundles when a release with it is committed, even as "
    "a draft: `tracks: internal` with `status: draft`."
)
"""What to do about a bundle that is to be released later."""


@dataclass(frozen=True)
class ReleaseOptions:
    """What a release is to have, apart from its version codes.

    An empty text or None leaves a field as it is.
    """

    status: str = ""
    fraction: float | None = None
    name: str = ""
    notes: Notes = ()
    priority: int | None = None
    countries: tuple[str, ...] = ()

    @property
    def new_status(self) -> str:
        """The status that was given, or the one that follows from a fraction; else empty."""
        if not self.status and self.fraction is not None:
            return "inProgress"
        return self.status


@dataclass(frozen=True)
class SupplementaryFile:
    """A file that goes with an artifact.

    `file` is the file itself, the version code whose file is used, or `bundle` if the bundle
    contains it.
    """

    kind: SupplementaryKind
    file: Artifact | int | Literal["bundle"]
    version_code: int

    @property
    def purpose(self) -> str:
        """The purpose of the change that puts the file into an edit."""
        return f"{self.kind}:{self.version_code}"


@dataclass(frozen=True)
class ReleaseJob:
    """One release job, for one app.

    - `artifacts`: they have their manifests.
    - `notes`, `names`: release notes and release names by track; those of all other tracks are
      under None. Notes without a language are for the app's default one.
    - `notes_left_out`: what was cut off of notes that were too long.
    - `copy_notes`: the notes of the release on the track are used instead.
    - `retain_last`: the versions of the last completed release stay in the release.
    - `testers`: the Google Groups of the `tester_tracks`.
    - `rollout`: the job looks at a release on the track, and takes it further or halts it.
    - `rehearsal`: everything happens in the emulator.
    - `apps_in_run`: how many apps the run releases.

    Without artifacts, the release is taken from `promote_from` (all of it, or only the
    `promote_version_codes`), made of the `retained` version codes, or it is the one that is on the
    track already.
    """

    package: str
    artifacts: tuple[Artifact, ...] = ()
    tracks: tuple[str, ...] = ()
    options: ReleaseOptions = ReleaseOptions()
    default_name: str = ""
    notes: Mapping[str | None, Notes] = field(default_factory=dict)
    notes_left_out: Mapping[str | None, Notes] = field(default_factory=dict)
    names: Mapping[str | None, str] = field(default_factory=dict)
    copy_notes: bool = False
    testers: tuple[str, ...] = ()
    tester_tracks: tuple[str, ...] = ()
    retained: tuple[str, ...] = ()
    retain_last: bool = False
    supplementary: tuple[SupplementaryFile, ...] = ()
    listing: StoreFiles | None = None
    prune_images: ImagesPrune = "false"
    promote_from: str = ""
    promote_version_codes: tuple[str, ...] = ()
    create_tracks: bool = False
    replace_rollout: bool = False
    reuse: bool = True
    existing_edit: str = ""
    commit: bool = True
    dry_run: bool = False
    rehearsal: bool = False
    rollout: bool = False
    not_sent_for_review: Literal["auto", "true", "false"] = "auto"
    cancel_review: bool = False
    lasting_state: bool = False
    review: ReviewGoal | None = None
    universal_apk: UniversalApkGoal | None = None
    verify: VerifyGoal | None = None
    apps_in_run: int = 1

    @property
    def codes(self) -> tuple[str, ...]:
        """The version codes of the artifacts, in the order of `files`."""
        return tuple(str(version_code(artifact)) for artifact in self.artifacts)

    @property
    def one_of_several(self) -> bool:
        """Whether the run releases other apps as well."""
        return self.apps_in_run > 1

    @property
    def commits(self) -> bool:
        """Whether the run publishes anything."""
        return self.commit and not self.dry_run

    @property
    def version_name(self) -> str:
        """The version names of the artifacts, joined by `+`. Google Play gives it to a release that
        has no other name.
        """
        names: dict[str, None] = {}  # an ordered set
        for artifact in self.artifacts:
            manifest = artifact.manifest
            if manifest and manifest.version_name:
                names[manifest.version_name] = None
        return "+".join(names)

    def notes_of(self, track: str) -> Notes:
        """Return the release notes for a track."""
        return self.notes.get(track, self.notes.get(None, ()))

    @property
    def needs_default_language(self) -> bool:
        """Whether there are release notes without a language."""
        if self.copy_notes:
            return False
        for track in self.tracks:
            for language, _ in self.notes_of(track):
                if not language:
                    return True
        return False

    def purposes(self, sha256: Callable[[Artifact], str]) -> frozenset[str]:
        """Return what the job may change in an edit, as the journal names it.

        A later run replaces a mapping, symbols, an expansion file or a track that differs, and
        notices an artifact with other bytes by its digest. The name of a change that it would only
        add to has a digest of what is wished.
        """
        purposes = set()
        for code in self.codes:
            purposes.add(self.artifact_purpose(code))
        for companion in self.supplementary:
            if companion.file != "bundle":
                purposes.add(companion.purpose)
        for track in self.tracks:
            purposes.add(self.track_purpose(track))
            if self.create_tracks:
                purposes.add(self.new_track_purpose(track))
        for track in self.tester_tracks:
            purposes.add(self.testers_purpose(track))
        if self.listing:
            purposes.add(self.listing_purpose(sha256))
        return frozenset(purposes)

    def listing_purpose(self, sha256: Callable[[Artifact], str]) -> str:
        """Return the purpose of all changes to the store listing, with a digest of the texts, of
        the images in their order, and of what is pruned.
        """
        listing = self.listing
        if listing is None:
            listing = StoreFiles()
        texts: dict[str, dict[str, str]] = {}
        for language, by_field in listing.texts.items():
            texts[language] = dict(by_field)
        images = {}
        for place, files in listing.images.items():
            images["/".join(place)] = [sha256(image) for image in files]
        return f"listing:{_digest([texts, images, self.prune_images])}"

    @staticmethod
    def artifact_purpose(code: int | str) -> str:
        """Return the purpose of the upload of an artifact with a version code."""
        return f"artifact:{code}"

    @staticmethod
    def track_purpose(track: str) -> str:
        """Return the purpose of the change to a track's releases."""
        return f"track:{track}"

    @staticmethod
    def new_track_purpose(track: str) -> str:
        """Return the purpose of the creation of a track."""
        return f"new-track:{track}"

    def testers_purpose(self, track: str) -> str:
        """Return the purpose of the change to a track's testers."""
        return f"testers:{track}:{_digest(sorted(self.testers))}"

    @property
    def wish(self) -> str:
        """A digest of everything that decides what the releases on the tracks will be.

        Two jobs with the same digest ask for the same releases. What only checks a release, or says
        how the edit is committed, is left out.
        """
        notes = [[str(track), list(texts)] for track, texts in self.notes.items()]
        names = [[str(track), name] for track, name in self.names.items()]
        source = [
            self.codes,
            self.promote_from,
            self.promote_version_codes,
            self.retained,
            self.retain_last,
            self.copy_notes,
        ]
        options = asdict(self.options)
        return _digest(
            [options, source, self.default_name, sorted(notes), sorted(names)]
        )

    @property
    def promotion(self) -> str:
        """The source of a promotion and its version codes; empty if the job is no promotion."""
        return " ".join((self.promote_from, *self.promote_version_codes))

    @property
    def memory(self) -> str:
        """The name under which the journal keeps the edit.

        Dry runs have other names, so that they never continue in the edit of a release.
        """
        kind = "edit"
        if self.rollout and self.dry_run:
            kind = "look"
        elif self.rollout:
            kind = "rollout"
        elif self.dry_run:
            kind = "rehearsal"
        return f"{kind}:{self.package}"


def _digest(value: object) -> str:
    """Return the SHA-256 of a JSON value in hex. The order of names in it makes no difference."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def version_code(artifact: Artifact) -> int:
    """Return the version code in an artifact's manifest, 0 if it could not be read."""
    if artifact.manifest is None:
        return 0
    return artifact.manifest.version_code
