"""Compares the digests and the size that the service states with the bytes that were sent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from uploader.errors import ApiError, IntegrityError, OutcomeUnknown, TemporaryError
from uploader.http.messages import Request, Response, TransportError
from uploader.protocol import stated_digests
from uploader.protocol.responses import as_answer
from uploader.protocol.stated_digests import Claim
from uploader.transfer.api_client import as_reason
from uploader.upload.sender import FileSender
from uploader.upload.sources import FileSource, Source


def prove(sender: FileSender, response: Response) -> None:
    """Complete the upload with the response that ended it, and check what that states about the
    file. Raises `IntegrityError` with both digests, or both sizes, if they differ.
    """
    upload = sender.upload
    source = sender.source
    upload.complete(response.json() or {})
    upload.sha256 = source.digests()["sha256"]
    stated = stated_digests.claims(upload.resource, response.headers)
    comparable = _comparable(stated, source)
    difference = _difference(sender, upload.resource, comparable)
    if difference:
        raise IntegrityError(
            f"{upload.name} arrived damaged: {difference}.",
            cause="The data was altered in transit, or the service stored something else.",
            hint="Do not use what was stored. Run again, and report it to Google if it happens "
            "again.",
            code="damaged-in-transit",
        )
    if stated and not comparable:
        sender.warning(
            "none of the digests that the service states was computed for the stream."
        )


def look_up_stored(sender: FileSender, refused: ApiError) -> Response:
    """Look whether an attempt whose response was lost has stored the file, and return the response
    with the object.

    If the lost attempt was obeyed, the precondition of its repeat fails (412). Someone else's
    change has the same effect, so the refusal does not say whether the file is there; the object
    shows it. Raises `refused` if it is not about a precondition, and `OutcomeUnknown` unless the
    object holds the bytes of the file and its `generation` has changed.
    """
    if refused.status != 412 or not sender.upload.job.endpoint.lookup:
        raise refused
    sender.info(
        "The precondition failed (412), perhaps due to an attempt whose answer was lost; "
        "checking the object."
    )
    try:
        response = _look_up(sender)
    except (ApiError, TemporaryError) as error:
        raise _unknown(sender.upload.name, refused, as_reason(error)) from None
    doubt = _doubt_about(sender, response)
    if doubt:
        raise _unknown(sender.upload.name, refused, doubt)
    sender.info(
        "The object holds exactly the bytes of this file: nothing is left to send."
    )
    return response


def _look_up(sender: FileSender) -> Response:
    client = sender.client
    endpoint = sender.upload.job.endpoint
    request = Request("GET", client.url(endpoint.root, endpoint.lookup))

    def attempt() -> Response | TransportError:
        response = client.exchange(request, path=endpoint.lookup)
        return as_answer(response, ("name", "id", "generation"))

    return client.request_with_retries(
        attempt, sender.retrier, "the lookup of the object"
    )


def _doubt_about(sender: FileSender, response: Response) -> str:
    """Return why the object may not be what this upload stored; empty if it surely is."""
    resource = response.json() or {}
    stated = stated_digests.claims(resource, response.headers)
    comparable = _comparable(stated, sender.source)
    if not comparable:
        return "the service states no digest of the object's contents"
    difference = _difference(sender, resource, comparable)
    if difference:
        return difference
    query = dict(sender.upload.job.endpoint.query)
    if str(resource.get("generation")) == query.get("ifGenerationMatch"):
        return "the object is still the one that was to be replaced"
    return ""


def _comparable(stated: Collection[Claim], source: Source) -> tuple[Claim, ...]:
    """Return the stated digests that are worth comparing (see `stated_digests.decisive`). A stream
    can't be read again, so for a stream only those count that were computed while it was sent.
    """
    computed = source.digests()
    decisive = stated_digests.decisive(stated, computed)
    if isinstance(source, FileSource):
        return decisive
    return tuple(claim for claim in decisive if claim.algorithm in computed)


def _difference(
    sender: FileSender, resource: Mapping[str, Any], claims: Iterable[Claim]
) -> str:
    """Return how what the service has differs from what was sent, as the middle of a sentence;
    empty if it does not.
    """
    size = sender.upload.size
    source = sender.source
    stated_size = stated_digests.stated_size(resource)
    if stated_size is not None and stated_size != size:
        return f"the service reports {stated_size} bytes, {size} were sent"
    computed = source.digests()
    for claim in claims:
        actual = computed.get(claim.algorithm)
        if actual is None and isinstance(source, FileSource):
            actual = source.digest(claim.algorithm)
        if actual != claim.value:
            return (
                f"the service reports {claim.field} {claim.value}, but what was sent "
                f"has {actual}"
            )
    return ""


def _unknown(name: str, refused: ApiError, why: str) -> OutcomeUnknown:
    """Return the error that says what was refused, and that the outcome is unknown."""
    return OutcomeUnknown(
        f"It is not known whether {name} was stored: the answer to one attempt was lost, "
        f"and the next was refused ({refused.status}: {refused.message.rstrip('.')}); {why}.",
        cause="Either the attempt whose answer was lost or someone else wrote the object.",
        hint="Compare the object with the file before you run again, perhaps with another "
        "precondition.",
    )
