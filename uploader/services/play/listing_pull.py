"""The target `play-listing-pull`: the store listing and the release notes that are live, as files in fastlane's layout.

What is written is what a push of the same folder leaves unchanged. Everything is read in an edit first, which is
deleted before the first file is written. Files that Google Play does not have are left as they are, and told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from uploader.errors import ApiError, IntegrityError, ProtocolError, ReleaseRefused
from uploader.files.android.limits import IMAGE_RULES, MAX_BYTES, MAX_SCREENSHOTS
from uploader.files.android.listing import IMAGE_ENDINGS, SINGLE, TEXTS, image_ending
from uploader.files.android.notes import is_language_name
from uploader.files.artifacts import Artifact
from uploader.files.destination import Destination
from uploader.files.workspace import Workspace, printable
from uploader.http.hosts import image_host
from uploader.input_problems import Problems
from uploader.inputs import Inputs
from uploader.inputs.parse_play import LAST_RELEASE
from uploader.services.base import Download, Downloaded, Flow, Note, Outcome, Prepared, Section, Steps, Write
from uploader.services.play import edit_api, tracks
from uploader.services.play.edit_api import Edit, Release, entries
from uploader.services.play.edits import read_and_deleted, unfinished
from uploader.services.play.known_errors import explained
from uploader.text import plural

_MOST_LANGUAGES = 250  # three times as many as Google Play knows
_MOST_NAMED = 20  # files in one sentence
_WARNING = (
    "The listing is read in an edit of its own, and Google Play then closes any other edit that this account has open "
    "for the app. `existing-edit-id` reads in that edit."
)


@dataclass(frozen=True)
class PullJob:
    """What is pulled: the listing into one folder, the notes of the newest release on a track into another."""

    package: str
    workspace: Workspace
    listing: str
    notes: str
    track: str = ""
    existing_edit: str = ""
    dry_run: bool = False


@dataclass(frozen=True)
class PulledText:
    """One text for one file."""

    language: str
    destination: Destination
    text: str


@dataclass(frozen=True)
class PulledImage:
    """One image for one file, whose ending its content decides: where it is served, and its digest."""

    language: str
    destination: Destination
    root: str
    path: str
    sha256: str


def prepare(inputs: Inputs, files: tuple[Artifact, ...]) -> Prepared:
    """Checks the inputs. Raises InputError with every problem."""
    problems, workspace = Problems(), Workspace.of(inputs)
    if files:
        problems.add("files", "a pull sends no files.", "no files")
    if not inputs.package_name:
        problems.add("package-name", "is required for this target.")
    if not inputs.images_directory:
        problems.add("images-directory", "is required for this target.", "the folder to write to")
    if inputs.whats_new_directory == LAST_RELEASE:
        problems.add("whats-new-directory", "names no folder.", "the folder to write to")
    notes = inputs.whats_new_directory or inputs.images_directory
    for name, folder in (("images-directory", inputs.images_directory), ("whats-new-directory", notes)):
        problems.collect(Destination(workspace, name, f"{folder}/en-US/title.txt").check)
    problems.raise_if_any()
    track, edit = "".join(inputs.tracks[:1]), inputs.existing_edit_id
    job = PullJob(inputs.package_name, workspace, inputs.images_directory, notes, track, edit, inputs.dry_run)
    where = f"edit {edit}" if edit else "an edit that is deleted at once"
    lines = (
        f"read the store listing of {job.package} in {where}",
        f"write it to {printable(job.listing)}",
        f"write the notes of the newest release on {track or 'production'} to {printable(notes)}",
    )
    return Prepared(lines, (edit_api.SCOPE,), lambda _: flow(job), () if edit else (_WARNING,), job.package)


def flow(job: PullJob) -> Flow:
    """Reads everything, then writes what differs; every refusal leaves with its cause and its cure."""
    try:
        texts, images = yield from _content(job)
    except ApiError as refused:
        raise explained(refused) from None
    if job.dry_run:
        return Outcome(f"{job.package}: {plural(len(texts) + len(images), 'file')} would be pulled; none is written.")
    written = yield from _write_texts(texts)
    fetched, damaged = yield from _fetch_images(images)
    yield from _tell_left(job, {one.destination.path for one in texts} | set(fetched))
    changed = {*written, *(path for path, size in fetched.items() if size)}
    total = len(texts) + len(fetched)
    told = f"{plural(len(changed), 'file')} written, {total - len(changed)} unchanged"
    trouble = _damaged(damaged) if damaged else None
    return Outcome(f"{job.package}: {told}.", sections=(_section(texts, images),), trouble=trouble)


def _content(job: PullJob) -> Steps[tuple[list[PulledText], list[PulledImage]]]:
    if job.existing_edit:
        return (yield from _read(job, Edit(job.package, job.existing_edit)))
    if kept := (yield from unfinished(job.package)):
        raise ReleaseRefused(
            f"Edit {kept} of an unfinished release is open, and opening another would close it.",
            cause="An earlier run of the job left it to be continued.",
            hint=f"Run the release again first, or set `existing-edit-id: {kept}` to read what would be live with it.",
            code="release-unfinished",
        )
    edit = edit_api.inserted(job.package, (yield edit_api.insert(job.package)))
    return (yield from read_and_deleted(edit, lambda edit: _read(job, edit)))


def _read(job: PullJob, edit: Edit) -> Steps[tuple[list[PulledText], list[PulledImage]]]:
    listed = entries((yield edit.listed("listings")), "listings")
    if len(listed) > _MOST_LANGUAGES:
        raise ProtocolError(
            f"Google Play returned listings in {len(listed)} languages, more than Google Play supports."
        )
    texts: list[PulledText] = []
    images: list[PulledImage] = []
    for entry in listed:
        language = yield from _language(entry)
        if language:
            texts += _texts(job, language, entry)
            for kind in IMAGE_RULES:
                found = entries((yield edit.images(language, kind)), "images")
                images += _images(job, language, kind, found)
    texts += yield from _notes(job, edit)
    return texts, images


def _language(entry: Mapping[str, Any]) -> Steps[str]:
    """The language of a text; empty where it is none, which could lead out of the folder."""
    language = str(entry.get("language", ""))
    if is_language_name(language):
        return language
    yield Note(
        f"Google Play returned a text in {printable(language)[:50]!r}, which is not a language; left out.", "warning"
    )
    return ""


def _texts(job: PullJob, language: str, entry: Mapping[str, Any]) -> Iterable[PulledText]:
    for name, field in TEXTS.items():
        text = entry.get(field, "")
        if not isinstance(text, str):
            raise ProtocolError(f"Google Play returned the {language} listing in an undocumented format.")
        if text.strip():
            destination = Destination(job.workspace, "images-directory", f"{job.listing}/{language}/{name}")
            yield PulledText(language, destination, text)


def _images(job: PullJob, language: str, kind: str, found: Iterable[Mapping[str, Any]]) -> Iterable[PulledImage]:
    """The images of one type in their order; `=s0` asks for the image itself instead of a preview."""
    single = kind in SINGLE
    for number, image in enumerate(list(found)[: 1 if single else MAX_SCREENSHOTS], 1):
        path = f"{language}/images/{kind}" if single else f"{language}/images/{kind}/{number}_{language}"
        url, sha256 = str(image.get("url", "")), str(image.get("sha256", "")).lower()
        root = image_host(url)
        if not root:
            raise ProtocolError(
                f"Google Play names an image ({language}, {kind}) on a host that is not one of its image hosts.",
                cause="A proxy or a wrong `api-endpoint` answered instead of Google.",
                hint="Nothing was fetched from there. Check `api-endpoint` and the proxy settings.",
            )
        destination = Destination(job.workspace, "images-directory", f"{job.listing}/{path}")
        yield PulledImage(language, destination, root, f"/{url.split('/', 3)[-1]}=s0", sha256)


def _notes(job: PullJob, edit: Edit) -> Steps[list[PulledText]]:
    """The notes of the newest release, under its highest version code."""
    try:
        releases = edit_api.releases((yield edit.track(job.track or "production")))
    except ApiError as refused:
        if job.track or refused.status != 404:
            raise
        return []
    found: list[PulledText] = []
    newest: Release = max(releases, key=tracks.highest, default={})
    for language, text in tracks.notes_of(newest) if tracks.highest(newest) >= 0 else ():
        if (yield from _language({"language": language})) and text.strip():
            path = f"{job.notes}/{language}/changelogs/{tracks.highest(newest)}.txt"
            found.append(PulledText(language, Destination(job.workspace, "whats-new-directory", path), text))
    return found


def _write_texts(texts: Iterable[PulledText]) -> Steps[list[str]]:
    """The paths of those that differed."""
    written = []
    for one in texts:
        if (yield Write(one.destination, one.text.encode())):
            written.append(one.destination.path)
            yield Note(f"{one.destination.name} written.")
    return written


def _fetch_images(images: Iterable[PulledImage]) -> Steps[tuple[dict[str, int], list[IntegrityError]]]:
    """The paths of all that are there, with the bytes that each took; and what went wrong with the others."""
    fetched: dict[str, int] = {}
    damaged: list[IntegrityError] = []
    for image in images:
        try:
            file: Downloaded = yield _download(image)
        except IntegrityError as error:
            damaged.append(error)
            yield Note(error.what, "warning")
            continue
        fetched[file.path] = file.size
        if file.size:
            yield Note(f"{printable(file.path)} written.")
    return fetched, damaged


def _download(image: PulledImage) -> Download:
    return Download(
        image.root,
        image.path,
        image.destination,
        MAX_BYTES["image"],
        image.destination.name,
        _ending,
        tuple(IMAGE_ENDINGS.values()),
        public=True,
        sha256=image.sha256,
    )


def _ending(file: BinaryIO) -> str:
    """What the name of an image ends in, by its content. Raises IntegrityError for anything else."""
    found = image_ending(file.read(16))
    if not found:
        raise IntegrityError("An image of the listing is neither PNG nor JPEG by its content.", code="download-damaged")
    return found


def _damaged(errors: list[IntegrityError]) -> IntegrityError:
    return IntegrityError(
        f"{plural(len(errors), 'image')} could not be pulled: {errors[0].what}",
        cause=errors[0].cause,
        hint="The other files are written. Run again; report the error if it recurs.",
        code=errors[0].code,
    )


def _tell_left(job: PullJob, expected: set[str]) -> Steps[None]:
    """Names what Google Play does not have; a push would send it."""
    root = job.workspace.root / job.listing
    patterns = ("*/*.txt", "*/images/*.*", "*/images/*/*.*")
    found = (path.relative_to(root) for pattern in patterns for path in root.glob(pattern))
    left = sorted({f"{job.listing}/{path}" for path in found if is_language_name(path.parts[0])} - expected)
    if left:
        names = ", ".join(map(printable, left[:_MOST_NAMED])) + (", …" if len(left) > _MOST_NAMED else "")
        yield Note(f"Not on Google Play, and left as it is: {names}. A push would send it.", "warning")


def _section(texts: list[PulledText], images: list[PulledImage]) -> Section:
    languages = sorted({one.language for one in texts} | {one.language for one in images})
    rows = (
        (
            language,
            str(sum(one.language == language for one in texts)),
            str(sum(one.language == language for one in images)),
        )
        for language in languages
    )
    return Section("Pulled", ("Language", "Texts", "Images"), tuple(rows))
