"""Waits until a service is through with the files that it has taken, all of them together, and
makes of what it then says the result of each.

`completion` knows what the answers mean. A wait that ends before the service does leaves the first
answer in the journal, so that the next run goes on waiting and sends nothing again.
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
    """One file that the service has taken: its last answer, what that says, and what went wrong
    with the question.
    """

    def __init__(
        self, upload: Upload, result: FileResult, completion: Completion
    ) -> None:
        self.upload = upload
        self.result = result
        self.completion = completion
        self.answer: Mapping[str, Any] = result.resource
        self.reading = completion.read(self.answer)
        self.failure: UploaderError | None = None
        self._unanswered = ""  # why the last question has no answer
        self._names_nothing = False  # whether the answer has nothing by which to ask

    @property
    def is_open(self) -> bool:
        """Whether the service has to be asked again."""
        return self.failure is None and self.reading.stage is Stage.AT_WORK

    def look(self, context: Context, seconds: float) -> None:
        """Ask the service how far it is, and for so many seconds again where that fails.

        What goes wrong is kept as the failure, except what passes by itself: then the service is
        asked again after the next wait.
        """
        lookup = self.completion.lookup
        if lookup is None:
            self.failure = _not_told(self.result.path, self.reading)
            return
        try:
            asked_about = self.completion.asked_about(self.answer)
            call = _call(self.upload.endpoint, lookup, asked_about)
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
        # The service said that it is at work; until it says something else, it is.
        if self.completion.says_something(answer):
            self.answer = answer
            self.reading = self.completion.read(answer)

    def concluded(self, seconds: float) -> FileResult:
        """Return what came of the file; `seconds` is how long was waited for it."""
        failure = self.failure or self._failure(seconds)
        if failure is not None:
            return replace(self.result, id="", error=str(failure), failure=failure)
        return replace(
            self.result,
            id=self.upload.endpoint.identify(self.answer),
            resource=self.completion.resource(self.answer),
        )

    def is_over(self, result: FileResult) -> bool:
        """Whether nothing can be heard of the upload any more, so that the file has to be sent
        again: the service says that it failed, does not know it any more, or has never said by
        what name it knows it.
        """
        if not result.error:
            return False
        if self._names_nothing:
            return True
        if isinstance(self.failure, ApiError):
            return self.failure.status in (404, 410)
        return self.failure is None and self.reading.stage is not Stage.AT_WORK

    def _failure(self, seconds: float) -> UploaderError | None:
        """Return the error that the last answer stands for; None where the file was taken."""
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
        if reading.stage is Stage.UNTOLD and reading.name:
            return _not_told(path, reading)
        return None


def settle(
    uploads: Sequence[Upload],
    results: Sequence[FileResult],
    seconds: float,
    context: Context,
) -> tuple[FileResult, ...]:
    """Return the results of all files once the service is through with those that it has taken, or
    so many seconds have passed.

    What the service could not use, or is still at work on, has a failure in its result. Raises
    Interrupted after a signal.
    """
    awaited = [
        _Awaited(upload, result, upload.endpoint.completion)
        for upload, result in zip(uploads, results, strict=True)
        if upload.endpoint.completion and not result.error
    ]
    _wait(awaited, seconds, context)
    settled = {}
    for file in awaited:
        result = file.concluded(seconds)
        last_answer = None if file.is_over(result) else file.answer
        context.identified(result, last_answer)
        settled[result.path] = result
    return tuple(settled.get(result.path, result) for result in results)


def _wait(awaited: Sequence[_Awaited], seconds: float, context: Context) -> None:
    """Ask about all that are open, at growing intervals, until none is or the time is up."""
    poll = context.poll(seconds, FIRST_WAIT)
    while True:
        still_open = [file for file in awaited if file.is_open]
        seconds_left = poll.left
        context.together(
            [partial(file.look, context, seconds_left) for file in still_open]
        )
        still_open = [file for file in still_open if file.is_open]
        if not still_open:
            return
        if not poll.wait(f"the service is still processing {_names(still_open)}"):
            return


def _names(awaited: Sequence[_Awaited]) -> str:
    """Return the files for a message, by name where they are few."""
    if len(awaited) > _SHOWN:
        return plural(len(awaited), "file")
    return ", ".join(file.result.path for file in awaited)


def _not_told(path: str, reading: Reading) -> ServiceError:
    return ServiceError(
        f"It is not known whether the service could use {path}: it answers with the state "
        f"{reading.name[:100]}, which is not in its description.",
        cause="The service has states that this version of the program does not know.",
        hint="Check what the service has before you run again: the file would be sent again.",
        code="processing-state-unknown",
    )


def _call(endpoint: Endpoint, lookup: Lookup, answer: Mapping[str, Any]) -> Call:
    """Return the request that asks about an upload. Raises ProtocolError for an answer without what
    it has to name.
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
    value = value_at(answer, field)
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    return ""
