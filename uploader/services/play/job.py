"""What one run asks of Play, after all offline checks: frozen, complete, without a trace of where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from uploader.files.android.listing import StoreFiles
from uploader.files.artifacts import Artifact
from uploader.services.play.edit_api import CompanionKind
from uploader.services.play.review import ReviewGoal
from uploader.services.play.universal_apk import UniversalApkGoal

Notes: TypeAlias = tuple[tuple[str, str], ...]
Review = Literal["auto", "true", "false"]
WHAT: Mapping[str, str] = {
    "mapping": "mapping",
    "symbols": "native symbols",
    "main": "main expansion file",
    "patch": "patch expansion file",
}
"""What goes with an artifact, in words."""


@dataclass(frozen=True)
class ReleaseOptions:
    """What was asked for a release, apart from its version codes; an empty text or None leaves a field as it is."""

    status: str = ""
    fraction: float | None = None
    name: str = ""
    notes: Notes = ()
    priority: int | None = None
    countries: tuple[str, ...] = ()


@dataclass(frozen=True)
class Companion:
    """What goes with one artifact: a file; `bundle` = what the bundle itself has of it.

    For an expansion file it may be the version whose file is used, or `last-release`: the one that the last APK uses.
    """

    kind: CompanionKind
    file: Artifact | int | Literal["bundle", "last-release"]
    version_code: int

    @property
    def sent(self) -> bool:
        """Whether anything has to be told to Play."""
        return self.file != "bundle"

    def step(self) -> str:
        """What is done about it, in words."""
        code = self.version_code
        if self.file == "bundle":
            return f"version {code} has its own {WHAT[self.kind]} in the bundle"
        if isinstance(self.file, Artifact):
            return f"upload {WHAT[self.kind]} {self.file.name} for version {code}"
        of = "last APK" if self.file == "last-release" else f"version {self.file}"
        return f"let version {code} use the {WHAT[self.kind]} of {of}"


@dataclass(frozen=True)
class ReleaseJob:
    """One release job. `artifacts` carry their manifests; `notes` are release notes by track and `names` release names,
    under None those of every other track; `copy_notes` takes the notes of the release that is there instead. Notes
    without a language are for the app's default one. `retain_last` keeps the versions of the last completed release.
    `rollout` marks a look at a release that is there already.

    Without artifacts a release is taken from `promote_from` (all of it or the `promoted` version codes), made of the
    `retained` version codes, or it is the one that is on the track already.
    """

    package: str
    artifacts: tuple[Artifact, ...] = ()
    tracks: tuple[str, ...] = ()
    options: ReleaseOptions = ReleaseOptions()
    default_name: str = ""
    notes: Mapping[str | None, Notes] = field(default_factory=dict)
    names: Mapping[str | None, str] = field(default_factory=dict)
    copy_notes: bool = False
    retained: tuple[str, ...] = ()
    retain_last: bool = False
    companions: tuple[Companion, ...] = ()
    listing: StoreFiles | None = None
    prune_images: bool = False
    promote_from: str = ""
    promoted: tuple[str, ...] = ()
    replace_rollout: bool = False
    reuse: bool = True
    existing_edit: str = ""
    commit: bool = True
    dry_run: bool = False
    rollout: bool = False
    not_sent_for_review: Review = "auto"
    cancel_review: bool = False
    review: ReviewGoal | None = None
    universal_apk: UniversalApkGoal | None = None

    @property
    def codes(self) -> tuple[str, ...]:
        """The version codes of the artifacts, in the order of `files`."""
        return tuple(str(artifact.manifest.version_code) for artifact in self.artifacts if artifact.manifest)

    @property
    def purposes(self) -> frozenset[str]:
        """What the job may change in an edit, each under the name that the journal has for it."""
        places = [f"artifact:{code}" for code in self.codes]
        places += [f"{one.kind}:{one.version_code}" for one in self.companions if one.sent]
        listing = ["listing"] if self.listing else []
        return frozenset((*places, *(f"track:{track}" for track in self.tracks), *listing))

    @property
    def reads_edit_id(self) -> bool:
        """Whether a run of this kind can be told to work in a given edit.

        Not for a rollout: what an edit was opened on may be old by now, and a look is at what is live.
        """
        return not self.rollout

    @property
    def tense(self) -> str:
        """What to call the state that this run makes: what would be, what is in the edit, or what is from now on."""
        return "would be" if self.dry_run else "after" if self.commit else "in the edit"

    @property
    def memory(self) -> str:
        """The name under which the journal keeps the edit; a rehearsal never goes on in the edit of a release."""
        rehearsed, real = ("look", "rollout") if self.rollout else ("rehearsal", "edit")
        return f"{rehearsed if self.dry_run else real}:{self.package}"
