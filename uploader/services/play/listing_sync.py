"""Store texts and images made equal to the images directory, in its order: only what differs is sent, by digest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeAlias

from uploader.errors import ApiError
from uploader.files.android.limits import IMAGE_RULES
from uploader.files.android.listing import SINGLE, StoreFiles
from uploader.files.android.notes import normalised
from uploader.files.artifacts import Artifact
from uploader.results import FileResult
from uploader.services.base import Batch, Digest, Note, Reused, Steps, Upload
from uploader.services.media_types import choose
from uploader.services.play.edit_api import entries
from uploader.services.play.edits import ReleaseEdit
from uploader.services.play.known_errors import conflict
from uploader.services.play.plan import ImageChange, TextChange
from uploader.text import plural

IMAGES_AT_ONCE = 4  # they all change one edit, and Play refuses changes that meet (409)

Name: TypeAlias = tuple[str, str]  # language, image type
Images: TypeAlias = Sequence[Mapping[str, Any]]  # as Play lists them
Spots: TypeAlias = list[int | None]  # where each image of the directory stands on Play, None where it is missing


@dataclass(frozen=True)
class Place:
    """One image type in one language: what is to be sent, what is there already, and the ids of what is to go."""

    language: str
    type: str
    missing: tuple[Upload, ...]
    reused: tuple[FileResult, ...]
    unwanted: tuple[str, ...]
    change: ImageChange | None


@dataclass(frozen=True)
class ListingDifference:
    """What has to be done to make the store listing equal to the directory. `texts` are whole listings by language."""

    texts: Mapping[str, Mapping[str, Any]]
    text_changes: tuple[TextChange, ...]
    places: tuple[Place, ...]


def compare(edit: ReleaseEdit, listing: StoreFiles) -> Steps[ListingDifference]:
    """What differs between the directory and the edit. Changes nothing."""
    response = yield edit.api.listed("listings")
    listed = {str(entry.get("language", "")): entry for entry in entries(response, "listings")}
    changes = tuple(_text_changes(listing, listed))
    texts = {
        language: {**listed.get(language, {}), "language": language, **listing.texts[language]}
        for language in dict.fromkeys(change.language for change in changes)
    }
    names = _names(listing, listed) if edit.job.prune_images else list(listing.images)
    places = []
    for name in names:
        # A language that this run adds has no images yet, and Play may not answer for it.
        new = name[0] in texts and name[0] not in listed
        places.append((yield from _place(edit, name, listing.images.get(name, ()), new=new)))
    return ListingDifference(texts, changes, tuple(places))


def synchronise(edit: ReleaseEdit, difference: ListingDifference) -> Steps[None]:
    """Texts first, since an image needs the listing of its language; then the images."""
    for language, whole in difference.texts.items():
        yield from edit.changing("listing")
        yield edit.api.update_listing(language, whole)
        fields = ", ".join(change.field for change in difference.text_changes if change.language == language)
        yield Note(f"Listing {language}: {fields} changed.")
    for place in difference.places:
        for result in place.reused:
            yield Reused(result)
        yield from _prune(edit, place)
    # Two images of one type would race for their order; images of different places are independent of one another.
    for wave in zip_longest(*(place.missing for place in difference.places)):
        yield from _send(edit, [upload for upload in wave if upload])


def _text_changes(listing: StoreFiles, listed: Mapping[str, Mapping[str, Any]]) -> Iterator[TextChange]:
    for language, texts in listing.texts.items():
        before = listed.get(language, {})
        for name, text in texts.items():
            if normalised(str(before.get(name, ""))) != text:
                yield TextChange(language, name, str(before.get(name, "")), text)


def _names(listing: StoreFiles, listed: Iterable[str]) -> list[Name]:
    """Every place that may have something to prune: all image types of all languages, the directory's own first."""
    languages = dict.fromkeys([*(language for language, _ in listing.images), *listing.texts, *listed])
    everywhere = ((language, kind) for language in languages for kind in IMAGE_RULES)
    return list(dict.fromkeys([*listing.images, *everywhere]))


def _place(edit: ReleaseEdit, name: Name, images: tuple[Artifact, ...], *, new: bool) -> Steps[Place]:
    """What has to be sent to one place; what is there already is kept, and the rest pruned if that was asked."""
    there = [] if new else entries((yield edit.api.images(*name)), "images")
    digests = []
    for image in images:
        digests.append((yield Digest(image)))  # noqa: PERF401  # a comprehension can't yield
    spots = yield from _ordered(edit, name, _spots(there, digests))
    endpoint, missing, reused = edit.api.upload_image(*name), [], []
    for image, digest, spot in zip(images, digests, spots, strict=True):
        if spot is None:
            media_type = choose(image, endpoint.media_types) or "image/png"
            missing.append((Upload(endpoint, image, media_type, retry_on=conflict), digest))
        else:
            known, size = there[spot], image.size or 0
            reused.append(FileResult(image.name, size, digest, str(known.get("id", "")), known, reused=True))
    unwanted = [one for spot, one in enumerate(there) if spot not in spots] if edit.job.prune_images else []
    ids = tuple(filter(None, (str(one.get("id", "")) for one in unwanted)))
    change = _image_change(name, there, missing, unwanted)
    return Place(*name, tuple(upload for upload, _ in missing), tuple(reused), ids, change)


def _image_change(
    name: Name, there: Images, missing: Sequence[tuple[Upload, str]], unwanted: Images
) -> ImageChange | None:
    """The same for people: an image that is removed and sent again is one that changes its place."""
    if not (missing or unwanted):
        return None
    gone = Counter(map(_sha256, unwanted))
    added: list[str] = []
    again: list[str] = []
    for upload, digest in missing:
        (again if gone[digest] else added).append(upload.artifact.name)
        gone[digest] -= gone[digest] > 0
    replaced = len(there) if name[1] in SINGLE and added else gone.total()
    return ImageChange(*name, tuple(added), tuple(again), replaced, len(there) - replaced - len(again))


def _spots(there: Sequence[Mapping[str, Any]], digests: Iterable[str]) -> Spots:
    """Where on Play each of the images is. One that is wanted twice has to be there twice."""
    free: dict[str, list[int]] = {}
    for spot, known in enumerate(there):
        free.setdefault(_sha256(known), []).append(spot)
    return [free[digest].pop(0) if free.get(digest) else None for digest in digests]


def _ordered(edit: ReleaseEdit, name: Name, spots: Spots) -> Steps[Spots]:
    """Images are shown in the order of their arrival: what stands wrong has to come again, if it may be removed."""
    right = _in_order(spots)
    wrong = sum(spot is not None for spot in spots[right:])
    if wrong and edit.job.prune_images:
        yield Note(f"{' '.join(name)}: uploading {plural(wrong, 'image')} again to restore the order.")
        return [*spots[:right], *(None for _ in spots[right:])]
    if wrong:
        text = "the order on Google Play will differ from that of the directory, because new images come last"
        yield Note(f"{' '.join(name)}: {text}; `images-prune: true` restores it.", "warning")
    return spots


def _in_order(spots: Spots) -> int:
    """How many of the images, from the first on, stand on Play one behind the other."""
    last = -1
    for number, spot in enumerate(spots):
        if spot is None or spot < last:
            return number
        last = spot
    return len(spots)


def _prune(edit: ReleaseEdit, place: Place) -> Steps[None]:
    for image in place.unwanted:
        yield from edit.changing("listing")
        try:
            yield edit.api.delete_image(place.language, place.type, image)
        except ApiError as refused:
            if refused.status != 404:  # a repeated deletion finds nothing any more
                raise
    if place.unwanted:
        yield Note(f"{place.language} {place.type}: {plural(len(place.unwanted), 'image')} removed.")


def _send(edit: ReleaseEdit, uploads: list[Upload]) -> Steps[None]:
    yield from edit.changing("listing")
    results = yield Batch(tuple(uploads), most=IMAGES_AT_ONCE)
    for result in results:
        if result.failure is not None:
            raise result.failure


def _sha256(image: Mapping[str, Any]) -> str:
    return str(image.get("sha256", "")).lower()
