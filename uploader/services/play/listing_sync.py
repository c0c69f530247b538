"""Store texts and images made equal to the images directory, in its order: only what differs is sent, by digest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, TypeAlias

from uploader.errors import Refused
from uploader.files.android.play_limits import IMAGE_RULES
from uploader.files.android.store_listing import StoreFiles
from uploader.files.artifacts import Artifact
from uploader.results import FileResult
from uploader.services.base import Batch, Digest, Note, Reused, Steps, Upload
from uploader.services.media_types import choose
from uploader.services.play.edit_api import entries
from uploader.services.play.known_errors import conflict
from uploader.services.play.release_edit import ReleaseEdit
from uploader.text import plural

Place: TypeAlias = tuple[str, str]  # language, image type
Spots: TypeAlias = list[int | None]  # where each image of the directory stands on Play, None where it is missing


def synchronise(edit: ReleaseEdit, listing: StoreFiles) -> Steps[None]:
    """Texts first, since an image needs the listing of its language; then the images."""
    answer = yield edit.api.listed("listings")
    listed = {str(entry.get("language", "")): entry for entry in entries(answer, "listings")}
    yield from _texts(edit, listing, listed)
    places = _places(listing, listed) if edit.job.prune_images else list(listing.images)
    missing: dict[Place, list[Upload]] = {}
    for place in places:
        missing[place] = yield from _place(edit, place, listing.images.get(place, ()))
    # Two images of one type would race for their order; images of different places are independent of one another.
    for wave in zip_longest(*missing.values()):
        yield from _send(edit, [upload for upload in wave if upload])


def _texts(edit: ReleaseEdit, listing: StoreFiles, listed: Mapping[str, Mapping[str, Any]]) -> Steps[None]:
    for language, texts in listing.texts.items():
        before = listed.get(language, {})
        different = [name for name, text in texts.items() if before.get(name, "") != text]
        if different:
            whole = {**before, "language": language, **texts}
            yield from edit.changing("listing")
            yield edit.api.update_listing(language, whole)
            yield Note(f"Listing {language}: {', '.join(different)} changed.")


def _places(listing: StoreFiles, listed: Iterable[str]) -> list[Place]:
    """Every place that may have something to prune: all image types of all languages, the directory's own first."""
    languages = dict.fromkeys([*(language for language, _ in listing.images), *listing.texts, *listed])
    everywhere = ((language, kind) for language in languages for kind in IMAGE_RULES)
    return list(dict.fromkeys([*listing.images, *everywhere]))


def _place(edit: ReleaseEdit, place: Place, images: tuple[Artifact, ...]) -> Steps[list[Upload]]:
    """What has to be sent to one place; what is there already is kept, and the rest pruned if that was asked."""
    there = entries((yield edit.api.images(*place)), "images")
    digests = []
    for image in images:
        digests.append((yield Digest(image)))  # noqa: PERF401  # a comprehension can't yield
    spots = yield from _ordered(edit, place, _spots(there, digests))
    missing = []
    for image, digest, spot in zip(images, digests, spots, strict=True):
        if spot is None:
            endpoint = edit.api.upload_image(*place)
            missing.append(
                Upload(endpoint, image, choose(image, endpoint.media_types) or "image/png", retry_on=conflict)
            )
        else:
            known, size = there[spot], image.size or 0
            yield Reused(FileResult(image.name, size, digest, str(known.get("id", "")), known, reused=True))
    if edit.job.prune_images:
        yield from _prune(edit, place, [str(one.get("id", "")) for spot, one in enumerate(there) if spot not in spots])
    return missing


def _spots(there: Sequence[Mapping[str, Any]], digests: Iterable[str]) -> Spots:
    """Where on Play each of the images is. One that is wanted twice has to be there twice."""
    free: dict[str, list[int]] = {}
    for spot, known in enumerate(there):
        free.setdefault(str(known.get("sha256", "")).lower(), []).append(spot)
    return [free[digest].pop(0) if free.get(digest) else None for digest in digests]


def _ordered(edit: ReleaseEdit, place: Place, spots: Spots) -> Steps[Spots]:
    """Images are shown in the order of their arrival: what stands wrong has to come again, if it may be removed."""
    right = _in_order(spots)
    wrong = sum(spot is not None for spot in spots[right:])
    if wrong and edit.job.prune_images:
        yield Note(f"{' '.join(place)}: uploading {plural(wrong, 'image')} again to restore the order.")
        return [*spots[:right], *(None for _ in spots[right:])]
    if wrong:
        text = "the order on Google Play will differ from that of the directory, because new images come last"
        yield Note(f"{' '.join(place)}: {text}; `images-prune: true` restores it.", "warning")
    return spots


def _in_order(spots: Spots) -> int:
    """How many of the images, from the first on, stand on Play one behind the other."""
    last = -1
    for number, spot in enumerate(spots):
        if spot is None or spot < last:
            return number
        last = spot
    return len(spots)


def _prune(edit: ReleaseEdit, place: Place, ids: list[str]) -> Steps[None]:
    for name in filter(None, ids):
        yield from edit.changing("listing")
        try:
            yield edit.api.delete_image(*place, name)
        except Refused as refused:
            if refused.status != 404:  # a repeated deletion finds nothing any more
                raise
    if ids:
        yield Note(f"{' '.join(place)}: {plural(len(ids), 'image')} removed.")


def _send(edit: ReleaseEdit, uploads: list[Upload]) -> Steps[None]:
    yield from edit.changing("listing")
    results = yield Batch(tuple(uploads))
    for result in results:
        if result.failure is not None:
            raise result.failure
