"""Send one image to Play Games: the icon of an achievement or a leaderboard.

Google marks the method deprecated and is removing it, so it is in no current discovery document;
the source is developer.android.com/games/services/publishing/upload.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial

from uploader.errors import ApiError, Problems
from uploader.files.artifacts import Artifacts
from uploader.inputs.records import CommonInputs
from uploader.services import batch, media_types
from uploader.services.base import Context, Endpoint, Flow, Outcome, Prepared, Upload
from uploader.services.catalogue import expand

_PATH = "/games/v1configuration/images/{resourceId}/imageType/{imageType}"
_DEPRECATED = (
    "Google has deprecated image uploads to Play Games and is removing them; use the Play Console "
    "instead."
)
_GONE = {404, 405, 410, 501}


def prepare(
    inputs: CommonInputs,
    files: Artifacts,
    resource_id: str,
    image_type: str,
    metadata: str,
) -> Prepared:
    """Check that there is one image, and what it is for. Raises InputError with every problem."""
    problems = Problems()
    batch.require(problems, resource_id=resource_id, image_type=image_type)
    # `metadata` may have the resource of the image, which must not be that of another image. It can
    # be sent without a file.
    resource = batch.read_metadata(metadata, problems)
    if files or not resource:
        batch.require_one(files, "Play Games", problems)
    fields = (
        ("resourceId", "resource-id", resource_id),
        ("imageType", "image-type", image_type),
    )
    for field, name, value in fields:
        if resource.get(field, value) != value:
            what = f"`{field}` is not what `{name}` says."
            problems.add("metadata", what, "the same, or leave it out")
    path = expand(_PATH, {"resourceId": resource_id, "imageType": image_type})
    endpoint = Endpoint(
        id="gamesConfiguration.imageConfigurations.upload",
        root="https://www.googleapis.com",
        path=path,
        upload_path="/upload" + path,
        media_types=("image/*",),
        scopes=("https://www.googleapis.com/auth/androidpublisher",),
        max_size=15 << 20,
        idempotent=True,  # a resource has one image of each type
        session_lifetime=timedelta(days=1),
        id_fields=("resourceId",),
        id_promised=True,
    )
    types = endpoint.media_types
    uploads = tuple(
        Upload(endpoint, file, media_types.choose(file, types), resource or None)
        for file in files
    )
    for file in files:
        if file.size is None:
            what = f"{file.name} is a stream; whether it is an image can't be checked."
            problems.add("files", what, "an image file")
    if files or problems:
        prepared = batch.prepare_uploads(inputs, uploads, problems)
        if not inputs.dry_run:
            prepared = replace(prepared, flow=partial(_send, uploads[0]))
    else:
        prepared = batch.metadata_alone(inputs, endpoint, resource)
    flow = partial(_run_flow, prepared.flow)
    return replace(prepared, warnings=(_DEPRECATED,), flow=flow)


def _send(upload: Upload, context: Context) -> Outcome:
    """Upload the image. The summary links to it if the service states its address."""
    result = context.upload(upload)
    resource_id = upload.endpoint.identify(result.resource)
    summary = f"{upload.artifact.name} is the image of {resource_id}."
    url = result.resource.get("url")
    if not isinstance(url, str):
        return Outcome(summary)
    return Outcome(summary, links=(("Image", url),))


def _run_flow(flow: Flow, context: Context) -> Outcome:
    """Carry out the flow, and give a refusal its likely cause and a hint."""
    try:
        return flow(context)
    except ApiError as refused:
        if refused.status not in _GONE:
            raise
        # A missing method and a missing resource look alike.
        raise refused.with_advice(
            cause="There is no achievement or leaderboard of this `resource-id`, or Google has "
            "removed the method.",
            hint="Check the id in the Play Console; if it is right, upload the image there by "
            "hand.",
        ) from refused
