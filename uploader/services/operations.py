"""Wait until a service is done with the files that it has received, all of them together, and turn
its last answers into results.

`completion` knows what the answers mean. If the wait ends before the service is done, the last
answer stays in the journal, so that the next run continues to wait and sends nothing again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from uploader.errors import (
    ApiError,
    Interrupted,
    ProtocolError,
    ServiceError,
    Stopped,
    TemporaryError,
    UploaderError,
)
from uploader.protocol.resources import value_at
from uploader.results import FileResult
from uploader.services.base import Call, Context, Endpoint, Upload
from uploader.services.catalogue import expand, objection
from uploader.services.completion import Completion, Lookup, Reading, Stage
from uploader.text import plural

FIRST_WAIT = 1.0  # seconds; each wait is twice the last, up to 40 seconds
_SHOWN = 5  # files that a message names
_NOT_AGAIN = (
    "Run again, with the same `state-dir`: the next run continues to wait and sends nothing again. "
    "`wait-deadline` sets how long a run waits."
)


class _Awaited:
    """One file that the service has received: its last answer, what that means, and what went wrong
    when it was asked.
    """

    def __init__(
        self,
        upload: Upload,
        result: FileResult,
        completion: Completion,
    ) -> None:
        self.upload = upload
        self.result = result
        self.completion = completion
        self.answer: Mapping[str, Any] = result.resource
        self.reading = completion.read(self.answer)
        self.failure: UploaderError | None = None
        self._unanswered = ""  # why the last query was not answered
        self._names_nothing = False  # whether the answer lacks what a query has to name

    @property
    def is_open(self) -> bool:
        """Whether the service has to be asked again."""
        return self.failure is None and self.reading.stage is Stage.AT_WORK

    def look(self, context: Context, seconds: float) -> None:
        """Ask the service how far it is; `seconds` is how long the query may be retried.

        What goes wrong is kept as the failure. After a failure that passes by itself, the service
        is asked again after the next wait.
        """
        lookup = self.completion.lookup
        if lookup is None:
            self.failure = _not_told(self.result.path, self.reading)
            return
        try:
            source = self.completion.lookup_source(self.answer)
            call = _call(self.upload.endpoint, lookup, source)
        except ProtocolError as error:
            self.failure = error
            self._names_nothing = True
            return
        try:
            response = context.call(replace(call, retry_for=seconds))
        except (Interrupted, Stopped):
            raise
        except TemporaryError as error:
            self._unanswered = error.what
            return
        except UploaderError as error:
            self.failure = error
            return
        self._unanswered = ""
        answer = self.completion.as_answer(response)
        # The service said that it is at work, so it counts as such until it says something else.
        if self.completion.recognises(answer):
            self.answer = answer
            self.reading = self.completion.read(answer)

    def final_result(self, seconds: float) -> FileResult:
        """Return the result of the file; `seconds` is how long the run has waited for it."""
        failure = self.failure or self._failure(seconds)
        if failure is not None:
            return replace(
                self.result,
                id="",
                error=str(failure),
                failure=failure,
            )
        return replace(
            self.result,
            id=self.upload.endpoint.identify(self.answer),
            resource=self.completion.resource(self.answer),
        )

    def is_over(self, result: FileResult) -> bool:
        """Return whether the file has to be sent again: the service says that the upload failed, no
        longer knows it, or has never said by which name to ask about it.
        """
        if not result.error:
            return False
        if self._names_nothing:
            return True
        if isinstance(self.failure, ApiError):
            return self.failure.status in (404, 410)
        return self.failure is None and self.reading.stage is not Stage.AT_WORK

    def _failure(self, seconds: float) -> UploaderError | None:
        """Return the error that the last answer means; None if the service could use the file."""
        path = self.result.path
        reading = self.reading
        if reading.stage is Stage.FAILED:
            words = reading.words or "it gives no reason"
            return ServiceError(
                f"The upload of {path} arrived, but the service reports that it failed "
                f"({reading.name}): {words}",
                cause="The service received the file and could not use it.",
                hint="Correct what the service names, or look for the reason in its own console, "
                "then run again: the file will be sent again.",
                code="processing-failed",
            )
        if reading.stage is Stage.AT_WORK:
            cause = "It has received the file, but has not reported a result."
            if self._unanswered:
                cause += f" The last query was not answered: {self._unanswered}"
            return TemporaryError(
                f"The service is still processing {path} after {seconds:g} s.",
                cause=cause,
                hint=_NOT_AGAIN,
                code="processing-pending",
            )
        if reading.stage is Stage.UNKNOWN and reading.name:
            return _not_told(path, reading)
        return None


def settle(
    uploads: Sequence[Upload],
    results: Sequence[FileResult],
    seconds: float,
    context: Context,
) -> tuple[FileResult, ...]:
    """Return the results of all files once the service is done with those that it has received, or
    after so many seconds.

    The result of a file that the service could not use, or is still processing, has a failure.
    Raises Interrupted after a signal.
    """
    awaited = []
    for upload, result in zip(uploads, results, strict=True):
        completion = upload.endpoint.completion
        if completion and not result.error:
            awaited.append(_Awaited(upload, result, completion))
    _wait(awaited, seconds, context)
    settled = {}
    for file in awaited:
        result = file.final_result(seconds)
        if file.is_over(result):
            context.replace_result(result, None)
        else:
            context.replace_result(result, file.answer)
        settled[result.path] = result
    return tuple(settled.get(result.path, result) for result in results)


def _wait(awaited: Sequence[_Awaited], seconds: float, context: Context) -> None:
    """Ask about all files that are open, at growing intervals, until none is open or time is up."""
    poll = context.poll(seconds, FIRST_WAIT)
    still_open = [file for file in awaited if file.is_open]
    while True:
        seconds_left = poll.left
        looks = [partial(file.look, context, seconds_left) for file in still_open]
        context.together(looks)
        still_open = [file for file in still_open if file.is_open]
        if not still_open:
            return
        if not poll.wait(f"the service is still processing {_names(still_open)}"):
            return


def _names(awaited: Sequence[_Awaited]) -> str:
    """Return the files for a message: their names if they are few, else their number."""
    if len(awaited) > _SHOWN:
        return plural(len(awaited), "file")
    return ", ".join(file.result.path for file in awaited)


def _not_told(path: str, reading: Reading) -> ServiceError:
    """Return the error for a state that is not in the description of the service."""
    return ServiceError(
        f"It is not known whether the service could use {path}: it answers with the state "
        f"{reading.name[:100]}, which is not in its description.",
        cause="The service has states that this version of the program does not know.",
        hint="Check what the service has before you run again: the file would be sent again.",
        code="processing-state-unknown",
    )


def _call(endpoint: Endpoint, lookup: Lookup, answer: Mapping[str, Any]) -> Call:
    """Return the query for the result of an upload. Raises ProtocolError if the answer lacks what
    the query has to name.
    """
    values = {}
    for name, field in lookup.values:
        text = _text(answer, field)
        if objection(lookup.path, name, text):
            raise ProtocolError(
                f"The service answered {endpoint.id} without the {field} that is needed to ask for "
                "the result of the upload.",
                hint="Check what the service has before you run again: the file would be sent "
                "again.",
            )
        values[name] = text
    query = list(lookup.constants)
    for name, value in endpoint.query:
        if name in lookup.forwarded:
            query.append((name, value))
    for name, field in lookup.query:
        text = _text(answer, field)
        if text:
            query.append((name, text))
    return Call(
        "GET",
        endpoint.root,
        expand(lookup.path, values),
        tuple(query),
        what=f"the query for the result of the upload ({endpoint.id})",
    )


def _text(answer: Mapping[str, Any], field: str) -> str:
    """Return a text or number in an answer as text; empty if there is none."""
    value = value_at(answer, field)
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    return ""
