"""Push and pull the store listing, as an images directory in fastlane's layout.

A push makes Google Play's listing equal to the directory. It sends only what differs, compared by
digest and order. If a response was lost, or has no digest that proves it to be Google Play's, the
images of that type and language are listed once more, so that no screenshot is doubled or left
behind.

A pull (target `play-listing-pull`) makes the directory equal to the listing and to the release
notes that are live. It reads everything in an edit first, and deletes the edit before it writes
the first file. Files that Google Play does not have are left as they are and named in a warning.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
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
from uploader.files.android.listing import (
    IMAGE_ENDINGS,
    SINGLE,
    TEXTS,
    StoreFiles,
    image_ending,
)
from uploader.files.android.notes import is_language_name, normalise
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
from uploader.services.play import (
    SCOPE,
    client,
    model,
)
from uploader.services.play.client import Edit
from uploader.services.play.edit_lifecycle import (
    ReleaseEdit,
    find_unfinished_edit,
    read_and_delete,
)
from uploader.services.play.known_errors import explain
from uploader.services.play.model import ListedImage, Release, Releases
from uploader.services.play.plan import ImageChange, TextChange
from uploader.text import plural

MAX_WORKERS = 4  # Google Play takes no more simultaneous changes of one edit
_MAX_NAMED = 20  # files in one sentence
_EDIT = (
    "an edit of its own, which closes any other edit that this account has open for the app; "
    "`existing-edit-id` reads in that edit"
)

_IMAGES_ACCEPTED = (
    "a folder that has the images, or `images-prune: everywhere` to remove them"
)

Name: TypeAlias = tuple[str, str]  # language, image type
Images: TypeAlias = Sequence[ListedImage]  # in the order in which they are shown


@dataclass(frozen=True)
class Place:
    """One image type in one language, and what has to be done about its images.

    `images` are those of the directory. `missing` are the uploads to make, `reused` the images that
    are on Google Play already, and `unwanted` the ids of those to delete. `expected` counts the
    digests that the place will have in the end. `doubtful` means that Google Play listed no image
    here although the language has a listing: a proxy's answer may look like that.
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

    @property
    def name(self) -> Name:
        """The language and the image type."""
        return self.language, self.type


@dataclass(frozen=True)
class ListingDifference:
    """What has to be done to make the store listing equal to the directory.

    `texts` has all texts of the directory for each language in which at least one differs.
    `new_languages` are those of them that have no listing yet.
    """

    texts: Mapping[str, Mapping[str, str]]
    new_languages: frozenset[str]
    text_changes: tuple[TextChange, ...]
    places: tuple[Place, ...]

    @property
    def changes_anything(self) -> bool:
        """Whether anything has to be done."""
        if self.texts:
            return True
        return any(place.change for place in self.places)


def compare(edit: ReleaseEdit, listing: StoreFiles) -> ListingDifference:
    """Return what differs between the directory and the edit. Nothing is changed."""
    prune = edit.job.prune_images
    listed = {}
    for entry in edit.api.list_entries("listings"):
        language = str(entry.get("language", ""))
        listed[language] = entry
    changes = _text_changes(listing, listed)
    texts = {}
    for change in changes:
        texts[change.language] = listing.texts[change.language]
    new_languages = frozenset(texts).difference(listed)
    names = list(listing.images)
    if prune != "false":
        languages = (*listing.texts, *listed)
        names = _with_places_to_prune(names, languages)
    live = _read_places(edit, listing, new_languages, names)
    if prune == "true":
        names = _without_places_beyond(edit, listing, live)
    places = []
    for name in names:
        language, _ = name
        images = listing.images.get(name, ())
        listed_images = live[name]
        place = _place(edit, name, images, listed_images)
        if not listed_images and language not in new_languages:
            place = replace(place, doubtful=True)
        places.append(place)
    return ListingDifference(
        texts,
        new_languages,
        tuple(changes),
        tuple(places),
    )


def _read_places(
    edit: ReleaseEdit,
    listing: StoreFiles,
    new_languages: Collection[str],
    names: Sequence[Name],
) -> dict[Name, Images]:
    """Return the images of each place, as Google Play lists them."""
    reads = [
        partial(
            _read_images,
            edit,
            listing,
            new_languages,
            name,
        )
        for name in names
    ]
    images = edit.context.together(reads)
    return dict(zip(names, images, strict=True))


def _without_places_beyond(
    edit: ReleaseEdit, listing: StoreFiles, live: Mapping[Name, Images]
) -> list[Name]:
    """Return the places without those that have live images and none in the directory: their images
    stay live.

    Raises InputError if the images of the directory seem to be missing by mistake.
    """
    names = []
    beyond = {}
    for name, images in live.items():
        if images and name not in listing.images:
            beyond[name] = len(images)
        else:
            names.append(name)
    if beyond:
        _keep_beyond(edit, listing, beyond)
    return names


def _text_changes(
    listing: StoreFiles, listed: Mapping[str, Mapping[str, Any]]
) -> list[TextChange]:
    """Return the texts of the directory that differ from those on Google Play."""
    changes = []
    for language, texts in listing.texts.items():
        live = listed.get(language, {})
        for name, text in texts.items():
            before = str(live.get(name, ""))
            if normalise(before) != text:
                changes.append(TextChange(language, name, before, text))
    return changes


def _with_places_to_prune(
    names: Sequence[Name], languages: Iterable[str]
) -> list[Name]:
    """Return every place that may have something to prune, the named ones first.

    These are all image types in the languages of the named places and in `languages`.
    """
    all_languages = [language for language, _ in names]
    all_languages += languages
    places = dict.fromkeys(names)  # an ordered set
    for language in dict.fromkeys(all_languages):
        for kind in IMAGE_RULES:
            places[language, kind] = None
    return list(places)


def _read_images(
    edit: ReleaseEdit,
    listing: StoreFiles,
    new_languages: Collection[str],
    name: Name,
) -> Images:
    """Return the images of one place, as Google Play lists them."""
    language, kind = name
    if language in new_languages:
        return []  # there are none yet, and Google Play may not answer for the language
    # If the directory has no images here, those that are live are only counted: the answer that
    # there are none does not have to be asked for twice.
    only_counted = edit.job.prune_images == "true" and name not in listing.images
    return edit.api.images(language, kind, ask_twice=not only_counted)


def _keep_beyond(
    edit: ReleaseEdit, listing: StoreFiles, beyond: Mapping[Name, int]
) -> None:
    """Warn of the live images that stay because the directory has none in their place.

    `beyond` has the number of these images by place. Raises InputError if the images of the
    directory seem to be missing by mistake.
    """
    languages_beyond = set()
    kinds_beyond = set()
    places = []
    for (language, kind), number in beyond.items():
        languages_beyond.add(language)
        kinds_beyond.add(kind)
        places.append(f"{language} {kind} ({number})")
    count = plural(sum(beyond.values()), "live image")
    languages = plural(len(languages_beyond), "language")
    if not listing.images:
        icons = ""
        if "icon" in kinds_beyond:
            icons = ", icons among them"
        what = (
            f"the folder has no image at all, while Google Play has {count} of {languages}{icons}. "
            "Nothing was changed. Are the images in Git LFS, or in .gitignore?"
        )
        raise InputError(Problem("images-prune", what, _IMAGES_ACCEPTED))
    _refuse_empty_folders(listing, beyond)
    names = _first_names(places)
    edit.context.warning(
        f"images-prune: kept {count} of {languages}, because the folder has none in their place: "
        f"{names}. `images-prune: everywhere` removes them."
    )


def _first_names(names: Sequence[str]) -> str:
    """Return the first names of a list in one line, with an ellipsis if there are more."""
    line = ", ".join(names[:_MAX_NAMED])
    if len(names) > _MAX_NAMED:
        line += ", …"
    return line


def _refuse_empty_folders(listing: StoreFiles, beyond: Mapping[Name, int]) -> None:
    """Raise InputError if a folder for images is empty, and Google Play has images there."""
    problems = Problems()
    for language, kind in listing.empty:
        number = beyond.get((language, kind), 0)
        if number:
            what = (
                f"{language} {kind} would be left empty: its folder has no image, and Google Play "
                f"has {number}. Nothing was changed. Are the images in Git LFS, or in .gitignore?"
            )
            problems.add("images-prune", what, _IMAGES_ACCEPTED)
    problems.raise_if_any()


def synchronise(edit: ReleaseEdit, difference: ListingDifference) -> None:
    """Make the listing in the edit equal to the directory.

    The texts come first, since an image needs the listing of its language. Places whose images may
    not be as they were sent are listed again, and corrected until they are right. Raises
    TemporaryError when the retries are spent.
    """
    write_texts = [
        partial(_write_texts, edit, difference, name) for name in difference.texts
    ]
    edit.context.together(write_texts)
    for place in difference.places:
        for result in place.reused:
            edit.context.add_reused(result)
    places = [place for place in difference.places if place.change]
    unproven = _change_images(edit, places)
    waits = edit.context.backoff()
    while unsettled := _list_unsettled(edit, unproven):
        waits.wait("the images on Google Play are not those that were sent")
        _change_images(edit, unsettled)
        unproven = unsettled


def _write_texts(
    edit: ReleaseEdit, difference: ListingDifference, language: str
) -> None:
    """Create or change the listing of one language."""
    texts = difference.texts[language]
    purpose = edit.job.listing_purpose(edit.context.sha256)
    edit.begin_change(purpose)
    if language in difference.new_languages:
        edit.api.create_listing(language, texts)
    else:
        edit.api.change_listing(language, texts)
    changes = difference.text_changes
    fields = [change.field for change in changes if change.language == language]
    changed = ", ".join(fields)
    edit.context.info(f"Listing {language}: {changed} changed.")


def _change_images(edit: ReleaseEdit, places: Sequence[Place]) -> list[Place]:
    """Delete the unwanted images, then upload the missing ones.

    Returns the places that have to be listed once more, because their responses do not prove that
    Google Play has the images.
    """
    if not places:
        return []
    purpose = edit.job.listing_purpose(edit.context.sha256)
    edit.begin_change(purpose)
    removals = [partial(_remove_images, edit, place) for place in places]
    edit.context.together(removals)
    for place in places:
        edit.context.expect(place.missing)
    queue = _ImageQueue(places)
    worker = partial(queue.send, edit)
    edit.context.together([worker] * MAX_WORKERS)
    return [place for place in places if not queue.is_proven(place)]


def _remove_images(edit: ReleaseEdit, place: Place) -> None:
    """Delete the unwanted images of one place."""
    if not place.unwanted:
        return
    for image in place.unwanted:
        _remove_image(edit, place, image)
    removed = plural(len(place.unwanted), "image")
    edit.context.info(f"{place.language} {place.type}: {removed} removed.")


def _remove_image(edit: ReleaseEdit, place: Place, image: str) -> None:
    """Delete one image by its id, unless it is gone already."""
    try:
        edit.api.delete_image(place.language, place.type, image)
    except ApiError as refused:
        if refused.status != 404:  # a repeated deletion finds no image
            raise


class _ImageQueue:
    """The images that are missing in several places, for several workers.

    Google Play shows the images of a place in the order of their arrival, so they are sent one
    after the other. The place with most images left comes first, so that it does not finish long
    after the others.
    """

    def __init__(self, places: Sequence[Place]) -> None:
        self._left: dict[Name, list[Upload]] = {}
        self._results: dict[Name, list[FileResult]] = {}
        for place in places:
            self._left[place.name] = list(place.missing)
            self._results[place.name] = []
        self._in_work: set[Name] = set()
        self._lock = threading.Lock()

    def send(self, edit: ReleaseEdit) -> None:
        """Upload images until every place with images left is taken by another worker."""
        while (name := self._take()) is not None:
            uploads = self._left[name]
            results = self._results[name]
            upload = uploads.pop(0)
            result = edit.context.upload(upload)
            results.append(result)
            if not uploads:
                language, kind = name
                count = plural(len(results), "image")
                edit.context.info(f"{language} {kind}: {count} sent.")
            with self._lock:
                self._in_work.remove(name)

    def _take(self) -> Name | None:
        """Take the place with most images left among those that no other worker has; None if there
        is none.
        """
        with self._lock:
            free = []
            for name, uploads in self._left.items():
                if uploads and name not in self._in_work:
                    free.append(name)
            if not free:
                return None
            longest = max(free, key=self._count_left)
            self._in_work.add(longest)
            return longest

    def _count_left(self, name: Name) -> int:
        """Return how many images of a place are still to be sent."""
        return len(self._left[name])

    def is_proven(self, place: Place) -> bool:
        """Return whether the responses prove that the place has the expected images.

        They do if its images were listed before, none was deleted, and each upload was answered at
        its first attempt with the digest of the image.
        """
        if place.doubtful or place.unwanted:
            return False
        results = self._results[place.name]
        return all(map(_is_proven, results))


def _is_proven(result: FileResult) -> bool:
    """Return whether there was only one attempt, and its response has the digest of the image."""
    if result.attempts + result.retries > 1:
        return False
    image = result.resource.get("image")
    if not isinstance(image, Mapping):
        return False
    stored = ListedImage.from_json(image)
    return stored.sha256 == result.sha256


def _list_unsettled(edit: ReleaseEdit, places: Sequence[Place]) -> list[Place]:
    """List places again, and return those whose images are not the expected ones, with what is
    still to be done.
    """
    reads = [partial(edit.api.images, *place.name) for place in places]
    lists = edit.context.together(reads)
    unsettled = []
    for place, listed in zip(places, lists, strict=True):
        digests = _digests(listed)
        if digests == place.expected:
            continue
        if place.expected - digests:
            # Google Play may not list an image yet that it has just stored, so nothing is changed
            # before the next look.
            place_to_list = replace(place, missing=(), unwanted=())
            unsettled.append(place_to_list)
            continue
        correction = _place(edit, place.name, place.images, listed)
        if correction.change:
            unsettled.append(correction)
    return unsettled


def _digests(images: Images) -> Counter[str]:
    """Count how often each digest occurs."""
    return Counter(image.sha256 for image in images)


def _place(
    edit: ReleaseEdit,
    name: Name,
    images: Artifacts,
    live: Images,
) -> Place:
    """Compare one place: `images` are those of the directory, `live` those on Google Play."""
    digests = [edit.context.sha256(image) for image in images]
    spots = _spots(edit, name, live, digests)
    unwanted = _images_to_delete(edit, live, spots, digests)
    kept = _digests(live) - _digests(unwanted)
    uploads: list[Upload] = []
    reused: list[FileResult] = []
    sent: list[Artifact] = []
    sent_digests: Counter[str] = Counter()
    for image, digest, spot in zip(images, digests, spots, strict=True):
        if spot is not None:
            reused.append(_reused_result(image, digest, live[spot]))
            continue
        before = kept[digest] + sent_digests[digest]
        uploads.append(_upload(edit, name, image, digest, before))
        sent.append(image)
        sent_digests[digest] += 1
    expected = kept + sent_digests
    if _is_single(name) and sent:
        expected = sent_digests  # the upload replaces the image that is there
    change = None
    if uploads or unwanted:
        change = _image_change(edit, name, sent, unwanted, live)
    return Place(
        *name,
        images=images,
        missing=tuple(uploads),
        reused=tuple(reused),
        unwanted=tuple(image.id for image in unwanted if image.id),
        expected=expected,
        change=change,
    )


def _is_single(name: Name) -> bool:
    """Return whether a place has one image, which an upload replaces."""
    _, kind = name
    return kind in SINGLE


def _image_change(
    edit: ReleaseEdit,
    name: Name,
    sent: Sequence[Artifact],
    unwanted: Sequence[ListedImage],
    live: Images,
) -> ImageChange:
    """Return the change of a place for the plan: its images `sent`, and unwanted ones deleted.

    An image that is deleted and uploaded again is one that has moved.
    """
    removed = _digests(unwanted)
    added = []
    moved = []
    for image in sent:
        digest = edit.context.sha256(image)
        if removed[digest]:
            removed[digest] -= 1
            moved.append(image.name)
        else:
            added.append(image.name)
    replaced = removed.total()
    going = [image for image in unwanted if removed[image.sha256]]
    if _is_single(name) and added:
        replaced = len(live)
        going = list(live)
    staying = len(live) - replaced - len(moved)
    addresses = tuple(image.url for image in going)
    return ImageChange(
        *name,
        tuple(added),
        tuple(moved),
        replaced,
        staying,
        addresses,
    )


def _images_to_delete(
    edit: ReleaseEdit,
    live: Images,
    spots: Sequence[int | None],
    digests: Sequence[str],
) -> list[ListedImage]:
    """Return the live images to delete; `spots` are the positions of the images that stay."""
    others = []
    for spot, image in enumerate(live):
        if spot not in spots:
            others.append(image)
    if edit.job.prune_images != "false":
        return others
    purpose = edit.job.listing_purpose(edit.context.sha256)
    if purpose not in edit.uncommitted:
        return []
    # This job has changed images in this edit, so a second copy of an image was left behind by an
    # upload whose response was lost.
    return [image for image in others if image.sha256 in digests]


def _upload(
    edit: ReleaseEdit,
    name: Name,
    image: Artifact,
    digest: str,
    before: int,
) -> Upload:
    """Return the upload of an image; `before` says how often the place has it already."""
    language, kind = name
    search = Search(
        edit.api.list_of_images(language, kind),
        partial(_find_added, digest=digest, before=before),
    )
    return edit.api.image(language, kind, image, search)


def _reused_result(image: Artifact, digest: str, live: ListedImage) -> FileResult:
    """Return the result of an image that is on Google Play already."""
    return FileResult(
        image.name,
        image.size or 0,
        digest,
        live.id,
        live.json,
        reused=True,
    )


def _find_added(response: object, digest: str, before: int) -> Mapping[str, Any] | None:
    """Return the last image with this digest in the list of its place; None if the list has it no
    more than `before` times.
    """
    listed = client.images(response)
    copies = [image for image in listed if image.sha256 == digest]
    if len(copies) <= before:
        return None
    last = copies[-1]
    return last.json


def _spots(
    edit: ReleaseEdit,
    name: Name,
    live: Images,
    digests: Sequence[str],
) -> list[int | None]:
    """Return the position on Google Play of each image, None for one that has to be uploaded.

    An image that the directory has twice needs two positions. Google Play shows images in the order
    of their arrival: if live images may be deleted, all images from the first one that is out of
    order have to be uploaded again.
    """
    free: dict[str, list[int]] = {}
    for spot, image in enumerate(live):
        positions = free.setdefault(image.sha256, [])
        positions.append(spot)
    spots: list[int | None] = []
    for digest in digests:
        positions = free.get(digest, [])
        if positions:
            spots.append(positions.pop(0))
        else:
            spots.append(None)
    in_order = _count_in_order(spots)
    rest = spots[in_order:]
    misplaced = len(rest) - rest.count(None)
    if not misplaced:
        return spots
    place = " ".join(name)
    if edit.job.prune_images == "false":
        text = (
            "the order on Google Play will differ from that of the directory, because new images "
            "come last"
        )
        edit.context.warning(f"{place}: {text}; `images-prune: true` restores it.")
        return spots
    images = plural(misplaced, "image")
    edit.context.info(f"{place}: uploading {images} again to restore the order.")
    sent_again: list[int | None] = [None] * len(rest)
    return spots[:in_order] + sent_again


def _count_in_order(spots: Sequence[int | None]) -> int:
    """Return how many positions at the beginning of the list are known and ascending."""
    previous = -1
    for number, spot in enumerate(spots):
        if spot is None or spot < previous:
            return number
        previous = spot
    return len(spots)


def prepare(
    inputs: ListingPullInputs, files: Artifacts, workspace: Workspace
) -> Prepared:
    """Check the inputs of a pull. Raises InputError with every problem."""
    problems = Problems()
    package = batch.one_app(inputs.package_name, problems)
    app = package or PACKAGE
    folder = inputs.images_directory.replace(PACKAGE, app)
    notes = inputs.whats_new_directory.replace(PACKAGE, app)
    if files:
        problems.add("files", "a pull sends no files.", "no files")
    batch.require(problems, package_name=package, images_directory=folder)
    if notes == LAST_RELEASE:
        problems.add(
            "whats-new-directory", "names no folder.", "the folder to write to"
        )
    if not notes:
        notes = folder
    folders = (
        ("images-directory", folder),
        ("whats-new-directory", notes),
    )
    for name, path in folders:
        if path:
            example = Destination(workspace, name, f"{path}/en-US/title.txt")
            problems.collect(example.check)
    problems.raise_if_any()
    track = ""
    if inputs.tracks:
        track = inputs.tracks[0]
    pull = Pull(
        package,
        workspace,
        listing=folder,
        notes=notes,
        track=track,
        existing_edit=inputs.existing_edit_id,
        dry_run=inputs.common.dry_run,
    )
    return Prepared(pull.plan, (SCOPE,), pull.flow, apps={package: ()})


@dataclass(frozen=True)
class Pull:
    """A pull of the listing into the folder `listing`, and of the notes of the newest release on a
    track into the folder `notes`.

    Without a `track` production is meant. `texts` and `images` collect what was read, each with its
    language and the file to write.
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

    @property
    def plan(self) -> tuple[str, ...]:
        """The steps of the pull, one per line."""
        edit = _EDIT
        if self.existing_edit:
            edit = f"edit {self.existing_edit}"
        track = self.track or "production"
        notes = printable(self.notes)
        return (
            f"read the store listing of {self.package} in {edit}",
            f"write it to {printable(self.listing)}",
            f"write the notes of the newest release on {track} to {notes}",
        )

    def flow(self, context: Context) -> Outcome:
        """Read everything, then write what differs. Refusals get their cause and remedy."""
        try:
            if self.existing_edit:
                shared = Edit(context, self.package, self.existing_edit)
                self._read(context, shared)
            else:
                self._refuse_if_unfinished(context)
                edit = client.insert(context, self.package)
                read_and_delete(edit, partial(self._read, context), context)
        except ApiError as refused:
            raise explain(refused) from None
        if self.dry_run:
            count = plural(len(self.texts) + len(self.images), "file")
            return Outcome(f"{self.package}: {count} would be pulled; none is written.")
        return self._write(context)

    def _refuse_if_unfinished(self, context: Context) -> None:
        """Raise ReleaseRefused if a new edit would close that of an unfinished release."""
        kept = find_unfinished_edit(self.package, context)
        if kept:
            raise ReleaseRefused(
                f"Edit {kept} of an unfinished release is open, and opening another would "
                "close it.",
                cause="An earlier run of the job left it to be continued.",
                hint=f"Run the release again first, or set `existing-edit-id: {kept}` to "
                "see what would be live with it.",
                code="release-unfinished",
            )

    def _read(self, context: Context, edit: Edit) -> None:
        """Read the listing, and the notes of the newest release on the track."""
        releases: Releases = ()

        def read_listing() -> None:
            self._read_listing(context, edit)

        def read_track() -> None:
            nonlocal releases
            releases = self._releases(edit)

        context.together([read_listing, read_track])
        if releases:
            self._read_notes(context, model.newest(releases))

    def _read_notes(self, context: Context, newest: Release) -> None:
        """Add the notes of a release, whose files are named after its highest version code. A
        release without version codes is left out.
        """
        version_code = newest.highest_version_code
        if version_code < 0:
            return
        for language, text in newest.notes:
            if _is_language(language, context):
                path = f"{self.notes}/{language}/changelogs/{version_code}.txt"
                self._add_text(language, "whats-new-directory", path, text)

    def _releases(self, edit: Edit) -> Releases:
        """Return the releases of the track; none if the app has not used production yet."""
        try:
            return edit.track(self.track or "production")
        except ApiError as refused:
            if self.track or refused.status != 404:
                raise
            return ()

    def _read_listing(self, context: Context, edit: Edit) -> None:
        """Read the texts and the lists of images of every language."""
        languages = []
        for entry in edit.list_entries("listings"):
            language = str(entry.get("language", ""))
            if not _is_language(language, context):
                continue
            for name, field_name in TEXTS.items():
                text = entry.get(field_name, "")
                if not isinstance(text, str):
                    raise ProtocolError(
                        f"Google Play returned the {language} listing in an undocumented format."
                    )
                path = f"{self.listing}/{language}/{name}"
                self._add_text(language, "images-directory", path, text)
            languages.append(language)
        places = _with_places_to_prune((), languages)
        reads = [partial(edit.images, *place) for place in places]
        lists = context.together(reads)
        for (language, kind), images in zip(places, lists, strict=True):
            self._add_images(language, kind, images)

    def _add_text(
        self,
        language: str,
        name: str,
        path: str,
        text: str,
    ) -> None:
        """Add a text file to write, unless it would be blank; `name` is the input that names its
        folder.
        """
        if text.strip():
            destination = Destination(self.workspace, name, path)
            self.texts.append((language, destination, text))

    def _add_images(
        self,
        language: str,
        kind: str,
        images: Images,
    ) -> None:
        """Add the downloads of the images of one type, in their order."""
        folder = f"{self.listing}/{language}/images"
        if kind in SINGLE:
            for image in images[:1]:
                self._add_image(language, kind, image, f"{folder}/{kind}")
            return
        for number, image in enumerate(images[:MAX_SCREENSHOTS], 1):
            path = f"{folder}/{kind}/{number}_{language}"
            self._add_image(language, kind, image, path)

    def _add_image(
        self,
        language: str,
        kind: str,
        image: ListedImage,
        path: str,
    ) -> None:
        """Add the download of an image. `path` has no extension: the content decides on it.

        Raises ProtocolError for an address that is not on Google's image hosts.
        """
        root = image_host(image.url)
        if not root:
            raise ProtocolError(
                f"Google Play names an image ({language}, {kind}) on a host that is not one of "
                "its image hosts.",
                cause="A proxy or a wrong `api-endpoint` answered instead of Google.",
                hint="Nothing was fetched from there. Check `api-endpoint` and the proxy settings.",
            )
        url_path = image.url.split("/", 3)[-1]
        destination = Destination(self.workspace, "images-directory", path)
        download = Download(
            root,
            f"/{url_path}=s0",  # the image itself rather than a preview
            destination,
            MAX_BYTES["image"],
            f"the image {printable(destination.name)}",
            _ending,
            tuple(IMAGE_ENDINGS.values()),
            public=True,
            sha256=image.sha256,
        )
        self.images.append((language, download))

    def _write(self, context: Context) -> Outcome:
        """Write the texts and download the images that differ.

        The outcome has trouble if an image arrived damaged.
        """
        expected: set[str] = set()
        written = 0
        damaged: list[IntegrityError] = []
        for _, destination, text in self.texts:
            expected.add(destination.path)
            if context.write(destination, text.encode()):
                written += 1
                context.info(f"{destination.name} written.")
        downloads = [partial(_download, context, image) for _, image in self.images]
        for file in context.together(downloads):
            if isinstance(file, IntegrityError):
                damaged.append(file)
                continue
            expected.add(file.path)
            if file.size:  # it was fetched; one that was there already takes no bytes
                written += 1
        self._warn_of_others(expected, context)
        count = len(self.texts) + len(self.images)
        unchanged = count - len(damaged) - written
        files = plural(written, "file")
        headline = f"{self.package}: {files} written, {unchanged} unchanged."
        return Outcome(
            headline,
            sections=(self._table(),),
            trouble=_trouble(damaged),
        )

    def _warn_of_others(self, expected: Collection[str], context: Context) -> None:
        """Warn of files in the folder of the listing that Google Play does not have: a push would
        send them.
        """
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
        printable_names = list(map(printable, sorted(others)))
        names = _first_names(printable_names)
        context.warning(
            f"Not on Google Play, and left as it is: {names}. A push would send it."
        )

    def _table(self) -> Section:
        """Return a table of how many texts and images were pulled in each language."""
        texts: Counter[str] = Counter()
        images: Counter[str] = Counter()
        for language, _, _ in self.texts:
            texts[language] += 1
        for language, _ in self.images:
            images[language] += 1
        languages = sorted(texts.keys() | images.keys())
        rows = [(name, str(texts[name]), str(images[name])) for name in languages]
        return Section("Pulled", ("Language", "Texts", "Images"), tuple(rows))


def _trouble(damaged: Sequence[IntegrityError]) -> IntegrityError | None:
    """Return the error with which a pull with damaged images ends; None if none is damaged."""
    if not damaged:
        return None
    first = damaged[0]
    images = plural(len(damaged), "image")
    return IntegrityError(
        f"{images} could not be pulled: {first.what}",
        cause=first.cause,
        hint="The other files are written. Run again; report the error if it recurs.",
        code=first.code,
    )


def _download(context: Context, image: Download) -> Downloaded | IntegrityError:
    """Download one image of a listing. If it is damaged, warn of that and return what is wrong."""
    try:
        file = context.download(image)
    except IntegrityError as error:
        context.warning(error.what)
        return error
    if file.size:
        context.info(f"{printable(file.path)} written.")
    return file


def _is_language(language: str, context: Context) -> bool:
    """Return whether a name from Google Play is that of a language, and warn if it is not: the path
    of its files could lead out of the folder.
    """
    if is_language_name(language):
        return True
    shown = printable(language)[:50]
    context.warning(
        f"Google Play returned a text in {shown!r}, which is not a language; left out."
    )
    return False


def _ending(file: BinaryIO) -> str:
    """Return the extension for an image by its content. Raises IntegrityError if it is neither PNG
    nor JPEG.
    """
    ending = image_ending(file.read(16))
    if not ending:
        raise IntegrityError(
            "An image of the listing is neither PNG nor JPEG by its content.",
            code="download-damaged",
        )
    return ending
