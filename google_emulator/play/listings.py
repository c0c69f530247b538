"""edits.listings and edits.images: the store's texts and pictures, language by language."""

from __future__ import annotations

from google_emulator.answers import Answer, Json, Refusal, as_json
from google_emulator.exchange import Exchange
from google_emulator.play.edits import BASE, open_edit
from google_emulator.play.tracks import LANGUAGE
from google_emulator.router import Media, Route, UploadMethod

TEXT_LIMITS = {"title": 30, "shortDescription": 80, "fullDescription": 4000}
SCREENSHOTS = ("phoneScreenshots", "sevenInchScreenshots", "tenInchScreenshots", "tvScreenshots", "wearScreenshots")
SINGLE = ("icon", "featureGraphic", "tvBanner")
MOST_SCREENSHOTS = 8
_LISTINGS = BASE + "/{edit}/listings"
_LISTING = _LISTINGS + "/{language}"
_IMAGES = _LISTING + "/{type}"


def _language(x: Exchange) -> str:
    language = x.params["language"]
    if not LANGUAGE.fullmatch(language):
        raise Refusal(400, f"Invalid language: {language!r}.", "invalidLanguage", domain="androidpublisher")
    return language


def _list(x: Exchange) -> Answer:
    found = list(open_edit(x).content.listings.values())
    return as_json({"kind": "androidpublisher#listingsListResponse", "listings": found})


def _get(x: Exchange) -> Answer:
    listing = open_edit(x).content.listings.get(_language(x))
    if listing is None:
        raise Refusal(404, "No listing was found for this language.", "listingNotFound", domain="androidpublisher")
    return as_json(listing)


def _set(x: Exchange, before: dict[str, Json]) -> Answer:
    language = _language(x)
    listing = {**before, **x.json(), "language": language}
    unknown = sorted(set(listing) - {*TEXT_LIMITS, "video", "language"})
    if unknown:
        raise Refusal(400, f'Invalid JSON payload received. Unknown name "{unknown[0]}": Cannot find field.')
    for name, limit in TEXT_LIMITS.items():
        if len(str(listing.get(name, ""))) > limit:
            raise Refusal(400, f"The {name} is too long; the limit is {limit} characters.", "listingTextTooLong")
    open_edit(x).content.listings[language] = listing
    return as_json(listing)


def _update(x: Exchange) -> Answer:
    return _set(x, {})


def _patch(x: Exchange) -> Answer:
    return _set(x, open_edit(x).content.listings.get(_language(x), {}))


def _delete(x: Exchange) -> Answer:
    open_edit(x).content.listings.pop(_language(x), None)
    return Answer(204)


def _delete_all(x: Exchange) -> Answer:
    open_edit(x).content.listings.clear()
    return Answer(204)


def _images(x: Exchange) -> list[dict[str, Json]]:
    """The images of one language and type in the edit, as a list that may be changed."""
    if x.params["type"] not in (*SCREENSHOTS, *SINGLE):
        raise Refusal(400, f"Invalid value at 'image_type' (TYPE_ENUM), \"{x.params['type']}\"")
    return open_edit(x).content.images.setdefault((_language(x), x.params["type"]), [])


def _list_images(x: Exchange) -> Answer:
    found = _images(x)
    return as_json({"images": found} if found else {})


def _check_image(x: Exchange) -> None:
    if len(_images(x)) >= MOST_SCREENSHOTS and x.params["type"] in SCREENSHOTS:
        raise Refusal(403, f"At most {MOST_SCREENSHOTS} images of this type are allowed.", "tooManyImages")


def _add_image(x: Exchange, media: Media) -> dict[str, Json]:
    _check_image(x)
    images = _images(x)
    number = str(x.world.number())
    image = {
        "id": number,
        "url": f"https://play-lh.googleusercontent.com/{number}",
        "sha1": media.blob.hex("sha1"),
        "sha256": media.blob.hex("sha256"),
    }
    if x.params["type"] in SINGLE:
        images.clear()
    images.append(image)
    return {"image": image}


def _delete_image(x: Exchange) -> Answer:
    images = _images(x)
    kept = [image for image in images if image["id"] != x.params["image"]]
    if len(kept) == len(images):
        raise Refusal(404, "No such image.", "imageNotFound", domain="androidpublisher")
    images[:] = kept
    return Answer(204)


def _delete_images(x: Exchange) -> Answer:
    images = _images(x)
    deleted = list(images)
    images.clear()
    return as_json({"deleted": deleted} if deleted else {})


def _details(x: Exchange) -> Answer:
    return as_json(open_edit(x).content.details)


def _set_details(x: Exchange) -> Answer:
    details = open_edit(x).content.details
    if x.method == "PUT":
        details.clear()
    details.update(x.json())
    return as_json(details)


ROUTES = (
    Route("androidpublisher.edits.listings.list", "GET", _LISTINGS, _list),
    Route("androidpublisher.edits.listings.deleteall", "DELETE", _LISTINGS, _delete_all),
    Route("androidpublisher.edits.listings.get", "GET", _LISTING, _get),
    Route("androidpublisher.edits.listings.update", "PUT", _LISTING, _update),
    Route("androidpublisher.edits.listings.patch", "PATCH", _LISTING, _patch),
    Route("androidpublisher.edits.listings.delete", "DELETE", _LISTING, _delete),
    Route("androidpublisher.edits.images.list", "GET", _IMAGES, _list_images),
    Route("androidpublisher.edits.images.deleteall", "DELETE", _IMAGES, _delete_images),
    Route("androidpublisher.edits.images.delete", "DELETE", _IMAGES + "/{image}", _delete_image),
    Route("androidpublisher.edits.details.get", "GET", BASE + "/{edit}/details", _details),
    Route("androidpublisher.edits.details.update", "PUT", BASE + "/{edit}/details", _set_details),
    Route("androidpublisher.edits.details.patch", "PATCH", BASE + "/{edit}/details", _set_details),
)
UPLOADS = (
    UploadMethod(
        "androidpublisher.edits.images.upload",
        "/upload" + _IMAGES,
        _add_image,
        _check_image,
        accept=("image/*",),
        limit=15 << 20,
        algorithms=("sha1", "sha256"),
    ),
)
