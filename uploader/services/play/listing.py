"""The store listing and the images directory in fastlane's layout: a push makes Play's listing
equal to the directory, a pull (target `play-listing-pull`) the directory equal to the listing and
the release notes that are live.

A push sends only what differs, by digest and in order. Where an answer was lost, or does not show
by a digest that it is Google Play's, it looks at the place once more: no screenshot may be doubled
or left behind. A pull
reads everything in an edit first, which is deleted before the first file is written; files that
Google Play does not have are left as they are, and told.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, BinaryIO, TypeAlias

from uploader.errors import (
    ApiError,
    InputError,
    IntegrityError,
    Problem,
    Problems,
    ProtocolError,
    ReleaseRefused,
)
from uploader.files.android.limits import IMAGE_RULES, MAX_BYTES, MAX_SCREENSHOTS
from uploader.files.android.listing import IMAGE_ENDINGS, SINGLE, TEXTS, StoreFiles, image_ending
from uploader.files.android.notes import is_language_name, normalised
from uploader.files.artifacts import Artifact, Artifacts
from uploader.files.destination import Destination
from uploader.files.workspace import Workspace, printable
from uploader.hosts import image_host
from uploader.inputs.parsers import LAST_RELEASE, PACKAGE
from uploader.inputs.records import ListingPullInputs
from uploader.results import FileResult
from uploader.services import batch
from uploader.services.base import (
    Context,
    Download,
    Downloaded,
    Outcome,
    Prepared,
    Search,
    Section,
    Upload,
)
from uploader.services.play import client, model
from uploader.services.play.client import Edit, entries
from uploader.services.play.edit_lifecycle import ReleaseEdit, read_and_deleted, unfinished
from uploader.services.play.known_errors import explained
from uploader.services.play.model import Release, Releases
from uploader.services.play.plan import ImageChange, TextChange
from uploader.text import plural

MAX_WORKERS = 4  # as many as may change one edit at a time
_MAX_NAMED = 20  # files in one sentence
_EDIT = (
    "an edit of its own, which closes any other edit that this account has open for the app; "
    "`existing-edit-id` reads in that edit"
)

Name: TypeAlias = tuple[str, str]  # language, image type
Images: TypeAlias = Sequence[Mapping[str, Any]]  # as Play lists them


@dataclass(frozen=True)
class Place:
    """One image type in one language: what is to be sent, what is there already, and the ids of
    what is to go.

    `images` are those of the directory, `expected` the digests of all that will be there, each as
    often. `doubtful` says that Google Play seemed to have none there, in a language that has a
    listing: an answer of a proxy's may look like that.
    """

    language: str
    type: str
    images: Artifacts
    missing: tuple[Upload, ...]
    reused: tuple[FileResult, ...]
    unwanted: tuple[str, ...]
    expected: Counter[str]
    change: ImageChange | None
    doubtful: bool = False


@dataclass(frozen=True)
class ListingDifference:
    """What has to be done to make the store listing equal to the directory.

    `texts` are the directory's, of each language in which one differs; `new_languages` have no
    listing yet.
    """

    texts: Mapping[str, Mapping[str, str]]
    new_languages: frozenset[str]
    text_changes: tuple[TextChange, ...]
    places: tuple[Place, ...]

    @property
    def changes_anything(self) -> bool:
        """Whether something has to be done at all."""
        return bool(self.texts) or any(place.change for place in self.places)


def compare(edit: ReleaseEdit, listing: StoreFiles) -> ListingDifference:
    """Return what differs between the directory and the edit. Changes nothing."""
    prune = edit.job.prune_images
    listed = {str(entry.get("language", "")): entry for entry in edit.api.listed("listings")}
    changes = _text_changes(listing, listed)
    texts = {change.language: listing.texts[change.language] for change in changes}
    new_languages = frozenset(texts).difference(listed)
    names = list(listing.images)
    if prune != "false":
        names = _with_places_to_prune(names, [*listing.texts, *listed])
    read = partial(_read_images, edit, listing, new_languages)
    images = edit.context.together([partial(read, name) for name in names])
    live = dict(zip(names, images, strict=True))
    if prune == "true":
        beyond = {
            name: len(found) for name, found in live.items() if found and name not in listing.images
        }
        if beyond:
            _keep_beyond(edit, listing, beyond)
        names = [name for name in names if name not in beyond]
    places = []
    for name in names:
        place = _place(edit, name, listing.images.get(name, ()), live[name])
        doubtful = not live[name] and name[0] not in new_languages
        places.append(replace(place, doubtful=doubtful))
    return ListingDifference(texts, new_languages, tuple(changes), tuple(places))


def _text_changes(listing: StoreFiles, listed: Mapping[str, Mapping[str, Any]]) -> list[TextChange]:
    """Return the texts of the directory that are not as Google Play has them."""
    changes = []
    for language, texts in listing.texts.items():
        live = listed.get(language, {})
        for name, text in texts.items():
            before = str(live.get(name, ""))
            if normalised(before) != text:
                changes.append(TextChange(language, name, before, text))
    return changes


def _with_places_to_prune(names: Sequence[Name], languages: Iterable[str]) -> list[Name]:
    """Return every place that may have something to prune, the directory's own first."""
    all_languages = dict.fromkeys([*(language for language, _ in names), *languages])
    places = [(language, kind) for language in all_languages for kind in IMAGE_RULES]
    return list(dict.fromkeys([*names, *places]))


def _read_images(
    edit: ReleaseEdit, listing: StoreFiles, new_languages: Collection[str], name: Name
) -> Images:
    """Return the images of one place, as Google Play lists them."""
    if name[0] in new_languages:
        return []  # there are none yet, and Google Play may not answer for the language
    # What is not in the directory is only counted.
    only_counted = edit.job.prune_images == "true" and name not in listing.images
    return edit.api.images(*name, ask_twice=not only_counted)


def _keep_beyond(edit: ReleaseEdit, listing: StoreFiles, beyond: Mapping[Name, int]) -> None:
    """Tells which live images stay because the directory has none in their place; `beyond` counts
    them.

    Raises InputError where the images of the directory seem to be missing by mistake.
    """
    accepted = "a folder that has the images, or `images-prune: everywhere` to remove them"
    count = plural(sum(beyond.values()), "live image")
    languages = plural(len({language for language, _ in beyond}), "language")
    if not listing.images:
        icons = ", icons among them" if any(kind == "icon" for _, kind in beyond) else ""
        what = (
            f"the folder has no image at all, while Google Play has {count} of {languages}{icons}. "
            "Nothing was changed. Are the images in Git LFS, or in .gitignore?"
        )
        raise InputError(Problem("images-prune", what, accepted))
    problems = Problems()
    for language, kind in listing.empty:
        if number := beyond.get((language, kind), 0):
            what = (
                f"{language} {kind} would be left empty: its folder has no image, and Google Play "
                f"has {number}. Nothing was changed. Are the images in Git LFS, or in .gitignore?"
            )
            problems.add("images-prune", what, accepted)
    problems.raise_if_any()
    places = [f"{language} {kind} ({number})" for (language, kind), number in beyond.items()]
    named = ", ".join(places[:_MAX_NAMED]) + (", …" if len(places) > _MAX_NAMED else "")
    edit.context.warning(
        f"images-prune: kept {count} of {languages}, because the folder has none in their place: "
        f"{named}. `images-prune: everywhere` removes them."
    )


def synchronise(edit: ReleaseEdit, difference: ListingDifference) -> None:
    """Texts first, since an image needs the listing of its language; then the images."""
    write_texts = [partial(_write_texts, edit, difference, name) for name in difference.texts]
    edit.context.together(write_texts)
    for place in difference.places:
        for result in place.reused:
            edit.context.reused(result)
    places = [place for place in difference.places if place.change]
    doubtful = _change_images(edit, places)
    waits = edit.context.backoff()
    while unsettled := _unsettled(edit, doubtful):
        waits.wait("the images on Google Play are not those that were sent")
        _change_images(edit, unsettled)
        doubtful = unsettled


def _write_texts(edit: ReleaseEdit, difference: ListingDifference, language: str) -> None:
    texts = difference.texts[language]
    edit.changing(edit.job.listing_purpose(edit.context.sha256))
    if language in difference.new_languages:
        edit.api.create_listing(language, texts)
    else:
        edit.api.change_listing(language, texts)
    changes = [change for change in difference.text_changes if change.language == language]
    fields = ", ".join(change.field for change in changes)
    edit.context.info(f"Listing {language}: {fields} changed.")


def _change_images(edit: ReleaseEdit, places: Sequence[Place]) -> list[Place]:
    """Remove what is to go, then send what is missing.

    Returns the places that have to be looked at once more: not every answer about them has shown
    that it is Google Play's.
    """
    if not places:
        return []
    edit.changing(edit.job.listing_purpose(edit.context.sha256))
    edit.context.together([partial(_remove_images, edit, place) for place in places])
    for place in places:
        edit.context.expect(place.missing)
    queue = _ImageQueue(places)
    edit.context.together([partial(queue.send, edit)] * MAX_WORKERS)
    return [
        place for place in places if place.doubtful or place.unwanted or not queue.is_proven(place)
    ]


def _remove_images(edit: ReleaseEdit, place: Place) -> None:
    for image in place.unwanted:
        _remove_image(edit, place, image)
    if place.unwanted:
        removed = plural(len(place.unwanted), "image")
        edit.context.info(f"{place.language} {place.type}: {removed} removed.")


def _remove_image(edit: ReleaseEdit, place: Place, image: str) -> None:
    try:
        edit.api.delete_image(place.language, place.type, image)
    except ApiError as refused:
        if refused.status != 404:  # a repeated deletion finds nothing any more
            raise


class _ImageQueue:
    """The images that are missing in several places, for several workers.

    Images of one place are shown in the order of their arrival, so one of them is sent after the
    other. The place that has most images left comes first, so that the longest place does not
    finish last.
    """

    def __init__(self, places: Sequence[Place]) -> None:
        self._left = {(place.language, place.type): list(place.missing) for place in places}
        self._results: dict[Name, list[FileResult]] = {name: [] for name in self._left}
        self._in_work: set[Name] = set()
        self._lock = threading.Lock()

    def send(self, edit: ReleaseEdit) -> None:
        """Send one image after the other, until every place that has images left is being worked
        on.
        """
        while (name := self._take()) is not None:
            upload = self._left[name].pop(0)
            self._results[name].append(edit.context.upload(upload))
            if not self._left[name]:
                language, kind = name
                sent = plural(len(self._results[name]), "image")
                edit.context.info(f"{language} {kind}: {sent} sent.")
            with self._lock:
                self._in_work.remove(name)

    def _take(self) -> Name | None:
        """Take the place that has most images left, of those that no other worker is at."""
        with self._lock:
            free = [name for name in self._left if self._left[name] and name not in self._in_work]
            if not free:
                return None
            longest = max(free, key=lambda name: len(self._left[name]))
            self._in_work.add(longest)
            return longest

    def is_proven(self, place: Place) -> bool:
        """Whether each image of a place was answered at its first attempt, with its digest."""
        return all(map(_is_proven, self._results[place.language, place.type]))


def _is_proven(result: FileResult) -> bool:
    image = result.resource.get("image")
    if not isinstance(image, Mapping) or result.attempts + result.retries > 1:
        return False
    return _sha256(image) == result.sha256


def _unsettled(edit: ReleaseEdit, places: Iterable[Place]) -> list[Place]:
    """The places where there is something else than there should be, each with what is to be done
    about it.
    """
    changed = list(places)
    lists = edit.context.together(
        [partial(edit.api.images, place.language, place.type) for place in changed]
    )
    unsettled = []
    for place, listed in zip(changed, lists, strict=True):
        found = Counter(map(_sha256, listed))
        if found == place.expected:
            continue
        if place.expected - found:
            # What was stored a moment ago is missing: that is no answer of Google Play's, which is
            # asked again.
            unsettled.append(replace(place, missing=(), unwanted=()))
            continue
        again = _place(edit, (place.language, place.type), place.images, listed)
        if again.change:
            unsettled.append(again)
    return unsettled


def _place(edit: ReleaseEdit, name: Name, images: Artifacts, there: Images) -> Place:
    """Return what has to be sent to one place. What is there already is kept, and the rest pruned
    if that was asked.
    """
    digests = [edit.context.sha256(image) for image in images]
    spots = _spots(edit, name, there, digests)
    unwanted = _unwanted(edit, there, spots, digests)
    removed = Counter(map(_sha256, unwanted))
    kept = Counter(map(_sha256, there)) - removed
    uploads: list[Upload] = []
    reused: list[FileResult] = []
    added: list[str] = []
    moved: list[str] = []  # removed and sent again: for people an image that changes its place
    sent: Counter[str] = Counter()
    for image, digest, spot in zip(images, digests, spots, strict=True):
        if spot is not None:
            reused.append(_reused(image, digest, there[spot]))
            continue
        before = kept[digest] + sent[digest]
        uploads.append(_upload(edit, name, image, digest, before))
        sent[digest] += 1
        if removed[digest]:
            removed[digest] -= 1
            moved.append(image.name)
        else:
            added.append(image.name)
    single = name[1] in SINGLE
    # An image of a type that has one takes the place of the one that is there.
    replaced = len(there) if single and added else removed.total()
    staying = len(there) - replaced - len(moved)
    change = None
    if uploads or unwanted:
        change = ImageChange(*name, tuple(added), tuple(moved), replaced, staying)
    expected = sent if single and sent else kept + sent
    ids = [str(image.get("id", "")) for image in unwanted]
    gone = tuple(filter(None, ids))
    return Place(*name, images, tuple(uploads), tuple(reused), gone, expected, change)


def _unwanted(
    edit: ReleaseEdit, there: Images, spots: Sequence[int | None], digests: Sequence[str]
) -> list[Mapping[str, Any]]:
    """Return the images of a place that are to go; `spots` are those of the images that stay."""
    others = [image for spot, image in enumerate(there) if spot not in spots]
    if edit.job.prune_images != "false":
        return others
    if edit.job.listing_purpose(edit.context.sha256) not in edit.uncommitted:
        return []
    # This job was at work here, and a repeat of an image of its own is what a lost answer left
    # behind.
    return [image for image in others if _sha256(image) in digests]


def _upload(edit: ReleaseEdit, name: Name, image: Artifact, digest: str, before: int) -> Upload:
    """Return the upload of an image; `before` says how often the place has it already."""
    find = partial(_added, digest=digest, before=before)
    return edit.api.image(*name, image, Search(edit.api.list_of_images(*name), find))


def _reused(image: Artifact, digest: str, live: Mapping[str, Any]) -> FileResult:
    """Return the result of an image that is there already."""
    name = str(live.get("id", ""))
    return FileResult(image.name, image.size or 0, digest, name, live, reused=True)


def _added(response: object, digest: str, before: int) -> Mapping[str, Any] | None:
    """The image with this digest in the list of its place, if there are more of them than `before`
    it was sent.
    """
    found = [image for image in entries(response, "images") if _sha256(image) == digest]
    return found[-1] if len(found) > before else None


def _spots(
    edit: ReleaseEdit, name: Name, there: Images, digests: Iterable[str]
) -> list[int | None]:
    """Where on Play each of the images is, None for one that is missing; one wanted twice has to be
    there twice.

    Images are shown in the order of their arrival: what stands wrong has to come again, if it may
    be removed.
    """
    free: dict[str, list[int]] = {}
    for spot, known in enumerate(there):
        free.setdefault(_sha256(known), []).append(spot)
    spots = [free[digest].pop(0) if free.get(digest) else None for digest in digests]
    pairs = enumerate(pairwise([-1, *spots]))
    right = next(
        (number for number, (one, after) in pairs if one is None or after is None or after < one),
        len(spots),
    )
    wrong = sum(spot is not None for spot in spots[right:])
    if wrong and edit.job.prune_images != "false":
        edit.context.info(
            f"{' '.join(name)}: uploading {plural(wrong, 'image')} again to restore the order."
        )
        return [*spots[:right], *(None for _ in spots[right:])]
    if wrong:
        text = (
            "the order on Google Play will differ from that of the directory, because new images "
            "come last"
        )
        edit.context.warning(f"{' '.join(name)}: {text}; `images-prune: true` restores it.")
    return spots


def _sha256(image: Mapping[str, Any]) -> str:
    return str(image.get("sha256", "")).lower()


def prepare(inputs: ListingPullInputs, files: Artifacts, workspace: Workspace) -> Prepared:
    """Checks the inputs. Raises InputError with every problem."""
    problems = Problems()
    package = batch.one_app(inputs.package_name, problems)
    folder = inputs.images_directory.replace(PACKAGE, package or PACKAGE)
    notes = inputs.whats_new_directory.replace(PACKAGE, package or PACKAGE)
    if files:
        problems.add("files", "a pull sends no files.", "no files")
    batch.require(problems, package_name=package, images_directory=folder)
    if notes == LAST_RELEASE:
        problems.add("whats-new-directory", "names no folder.", "the folder to write to")
    notes = notes or folder
    for name, path in (("images-directory", folder), ("whats-new-directory", notes)):
        if path:
            problems.collect(Destination(workspace, name, f"{path}/en-US/title.txt").check)
    problems.raise_if_any()
    track, edit = "".join(inputs.tracks[:1]), inputs.existing_edit_id
    pull = Pull(package, workspace, folder, notes, track, edit, inputs.common.dry_run)
    lines = (
        f"read the store listing of {package} in {f'edit {edit}' if edit else _EDIT}",
        f"write it to {printable(folder)}",
        f"write the notes of the newest release on {track or 'production'} to {printable(notes)}",
    )
    return Prepared(lines, (client.SCOPE,), pull.flow, apps={package: ()})


@dataclass(frozen=True)
class Pull:
    """What is pulled: the listing into one folder, the notes of the newest release on a track into
    another.

    `texts` and `images` are what was read, each with its language and the file that it is for.
    """

    package: str
    workspace: Workspace
    listing: str
    notes: str
    track: str
    existing_edit: str
    dry_run: bool
    texts: list[tuple[str, Destination, str]] = field(default_factory=list)
    images: list[tuple[str, Download]] = field(default_factory=list)

    def flow(self, context: Context) -> Outcome:
        """Reads everything, then writes what differs; every refusal leaves with its cause and its
        remedy.
        """
        try:
            if self.existing_edit:
                self._read(context, Edit(context, self.package, self.existing_edit))
            else:
                if kept := unfinished(self.package, context):
                    raise ReleaseRefused(
                        f"Edit {kept} of an unfinished release is open, and opening another would "
                        "close it.",
                        cause="An earlier run of the job left it to be continued.",
                        hint=f"Run the release again first, or set `existing-edit-id: {kept}` to "
                        "read what would be live with it.",
                        code="release-unfinished",
                    )
                edit = client.insert(context, self.package)
                read_and_deleted(edit, partial(self._read, context), context)
        except ApiError as refused:
            raise explained(refused) from None
        if self.dry_run:
            count = plural(len(self.texts) + len(self.images), "file")
            return Outcome(f"{self.package}: {count} would be pulled; none is written.")
        return self._write(context)

    def _read(self, context: Context, edit: Edit) -> None:
        """Read the listing, and the notes of the newest release, which are under its highest
        version code.
        """
        on_track: list[Releases] = []

        def read_listing() -> None:
            self._read_listing(context, edit)

        def read_track() -> None:
            on_track.append(self._releases(edit))

        context.together([read_listing, read_track])
        newest = model.newest(on_track[0]) if on_track[0] else Release()
        for language, text in newest.notes if newest.highest_version_code >= 0 else ():
            if _is_language(language, context):
                path = f"{self.notes}/{language}/changelogs/{newest.highest_version_code}.txt"
                self._add_text(language, "whats-new-directory", path, text)

    def _releases(self, edit: Edit) -> Releases:
        """Return the releases of the track; none where an app has no production yet."""
        try:
            return edit.track(self.track or "production")
        except ApiError as refused:
            if self.track or refused.status != 404:
                raise
            return ()

    def _read_listing(self, context: Context, edit: Edit) -> None:
        languages = []
        for entry in edit.listed("listings"):
            language = str(entry.get("language", ""))
            if not _is_language(language, context):
                continue
            for name, field_name in TEXTS.items():
                if not isinstance(text := entry.get(field_name, ""), str):
                    raise ProtocolError(
                        f"Google Play returned the {language} listing in an undocumented format."
                    )
                self._add_text(
                    language, "images-directory", f"{self.listing}/{language}/{name}", text
                )
            languages.append(language)
        names = [(language, kind) for language in languages for kind in IMAGE_RULES]
        lists = context.together([partial(edit.images, *name) for name in names])
        for (language, kind), images in zip(names, lists, strict=True):
            self._add_images(language, kind, images)

    def _add_text(self, language: str, name: str, path: str, text: str) -> None:
        if text.strip():
            self.texts.append((language, Destination(self.workspace, name, path), text))

    def _add_images(self, language: str, kind: str, found: Images) -> None:
        """The images of one type in their order; `=s0` asks for the image itself instead of a
        preview.
        """
        for number, image in enumerate(found[: 1 if kind in SINGLE else MAX_SCREENSHOTS], 1):
            url = str(image.get("url", ""))
            root, place = image_host(url), f"/{url.split('/', 3)[-1]}=s0"
            if not root:
                raise ProtocolError(
                    f"Google Play names an image ({language}, {kind}) on a host that is not one of "
                    "its image hosts.",
                    cause="A proxy or a wrong `api-endpoint` answered instead of Google.",
                    hint="Nothing was fetched from there. Check `api-endpoint` and the proxy "
                    "settings.",
                )
            path = f"{self.listing}/{language}/images/{kind}" + (
                "" if kind in SINGLE else f"/{number}_{language}"
            )
            to = Destination(self.workspace, "images-directory", path)
            endings, sha256 = tuple(IMAGE_ENDINGS.values()), _sha256(image)
            sent = Download(
                root,
                place,
                to,
                MAX_BYTES["image"],
                to.name,
                _ending,
                endings,
                public=True,
                sha256=sha256,
            )
            self.images.append((language, sent))

    def _write(self, context: Context) -> Outcome:
        """Writes the texts and fetches the images, those that differ; an image that is damaged ends
        the run badly.
        """
        expected: set[str] = set()
        written: list[str] = []
        damaged: list[IntegrityError] = []
        for _, destination, text in self.texts:
            expected.add(destination.path)
            if context.write(destination, text.encode()):
                written.append(destination.name)
                context.info(f"{destination.name} written.")
        downloads = [partial(_download, context, image) for _, image in self.images]
        for file in context.together(downloads):
            if isinstance(file, IntegrityError):
                damaged.append(file)
                continue
            expected.add(file.path)
            if file.size:
                written.append(file.path)
        self._warn_of_others(expected, context)
        unchanged = len(self.texts) + len(self.images) - len(damaged) - len(written)
        headline = f"{self.package}: {plural(len(written), 'file')} written, {unchanged} unchanged."
        return Outcome(headline, sections=(self._table(),), trouble=_trouble(damaged))

    def _warn_of_others(self, expected: Collection[str], context: Context) -> None:
        """Name the files of the folder that Google Play does not have: a push would send them."""
        root = self.workspace.root / self.listing
        others: set[str] = set()
        for pattern in ("*/*.txt", "*/images/*.*", "*/images/*/*.*"):
            for path in root.glob(pattern):
                inside = path.relative_to(root)
                name = f"{self.listing}/{inside}"
                if is_language_name(inside.parts[0]) and name not in expected:
                    others.add(name)
        if not others:
            return
        names = ", ".join(map(printable, sorted(others)[:_MAX_NAMED]))
        if len(others) > _MAX_NAMED:
            names += ", …"
        context.warning(f"Not on Google Play, and left as it is: {names}. A push would send it.")

    def _table(self) -> Section:
        """Return how many texts and images were pulled in each language."""
        texts = Counter(language for language, _, _ in self.texts)
        images = Counter(language for language, _ in self.images)
        languages = sorted({*texts, *images})
        rows = [(name, str(texts[name]), str(images[name])) for name in languages]
        return Section("Pulled", ("Language", "Texts", "Images"), tuple(rows))


def _trouble(damaged: Sequence[IntegrityError]) -> IntegrityError | None:
    """Return what a pull with damaged images ends with."""
    if not damaged:
        return None
    first = damaged[0]
    return IntegrityError(
        f"{plural(len(damaged), 'image')} could not be pulled: {first.what}",
        cause=first.cause,
        hint="The other files are written. Run again; report the error if it recurs.",
        code=first.code,
    )


def _download(context: Context, image: Download) -> Downloaded | IntegrityError:
    """Fetch one image of a listing. Returns, and tells, what is wrong with one that is damaged."""
    try:
        file = context.download(image)
    except IntegrityError as error:
        context.warning(error.what)
        return error
    if file.size:
        context.info(f"{printable(file.path)} written.")
    return file


def _is_language(language: str, context: Context) -> bool:
    """Whether a text is in a language; what is none could lead out of the folder."""
    if not is_language_name(language):
        shown = f"{printable(language)[:50]!r}"
        context.warning(
            f"Google Play returned a text in {shown}, which is not a language; left out."
        )
    return is_language_name(language)


def _ending(file: BinaryIO) -> str:
    """What the name of an image ends in, by its content. Raises IntegrityError for anything
    else.
    """
    found = image_ending(file.read(16))
    if not found:
        raise IntegrityError(
            "An image of the listing is neither PNG nor JPEG by its content.",
            code="download-damaged",
        )
    return found
