"""Tells a precondition that this run's own lost try has failed (412) from one that somebody else did: the object shows.

A request that is obeyed makes the precondition of its repeat false. Where its answer is lost, the refusal of the repeat
says neither that the file is there nor that it is not.
"""

from __future__ import annotations

from uploader.errors import ApiError, OutcomeUnknown, TemporaryError
from uploader.http.messages import Request, Response
from uploader.transfer.api_client import as_reason
from uploader.transfer.file_transfer import FileTransfer

FAILED = 412


def look_up(transfer: FileTransfer, refused: ApiError) -> Response:
    """The object that stands where the file was sent, after a refusal that followed a lost answer.

    Raises `refused` where it is none of a precondition or no answer was lost before it, and `OutcomeUnknown` where the
    object can't be had.
    """
    endpoint, client = transfer.job.endpoint, transfer.client
    if refused.status != FAILED or not transfer.in_doubt or not endpoint.lookup:
        raise refused
    request = Request("GET", client.url(endpoint.root, endpoint.lookup))
    transfer.info(
        "The precondition failed (412), perhaps due to an attempt whose answer was lost; checking the object."
    )
    try:
        return client.request_with_retries(
            lambda: client.exchange(request, path=endpoint.lookup),
            transfer.retrier,
            "the lookup of the object",
            idempotent=True,
            lost=lambda _: refused,
        )
    except (ApiError, TemporaryError) as error:
        raise _unknown(transfer, refused, as_reason(error)) from None


def require_own(transfer: FileTransfer, refused: ApiError, response: Response, difference: str) -> None:
    """Raises `OutcomeUnknown` unless the object holds the bytes of the file, and its `generation` changed.

    `difference` is what makes its bytes others, empty where they are the same.
    """
    before = dict(transfer.job.endpoint.query).get("ifGenerationMatch")
    if not difference and str((response.json() or {}).get("generation")) == before:
        difference = "the object is still the one that was to be replaced"
    if difference:
        raise _unknown(transfer, refused, difference)
    transfer.info("The object holds exactly the bytes of this file: nothing is left to send.")


def _unknown(transfer: FileTransfer, refused: ApiError, why: str) -> OutcomeUnknown:
    """The error that says both: what was refused, and what is not known."""
    return OutcomeUnknown(
        f"It is not known whether {transfer.name} was stored: the answer to one attempt was lost, "
        f"and the next was refused ({refused.status}: {refused.message.rstrip('.')}); {why}.",
        cause="Either the attempt whose answer was lost or somebody else wrote the object.",
        hint="Compare the object with the file before you run again, perhaps with another precondition.",
    )
