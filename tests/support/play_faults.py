"""A Play whose calls go wrong as planned, and all that can go wrong at one: the material of the
exhaustive walk.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tests.support.fake_play import (
    AUTOMATIC,
    BY_HAND,
    Play,
    call_name,
    edit_of,
    refused,
    sha256,
)
from tests.support.play_driver import Killed
from uploader.errors import (
    ApiError,
    CredentialsError,
    Interrupted,
    OutcomeUnknown,
    ProtocolError,
    TemporaryError,
)
from uploader.services.base import Call, Upload
from uploader.services.play.known_errors import (
    EDIT_GONE,
    KNOWN_ERRORS,
    TRACK_MISSING,
    VERSION_TAKEN,
    KnownError,
)

Step = Call | Upload


@dataclass(frozen=True)
class Fault:
    """One thing that can go wrong at a call. `again` says whether it is also tried as the second of
    two.
    """

    name: str
    happen: Callable[[FaultyPlay, Step], Any]
    fits: Callable[[str], bool] = lambda _: True
    again: bool = True


class FaultyPlay(Play):
    """A Play whose calls go wrong as planned, by their number. It knows what the job must not do,
    and says so.
    """

    def __init__(self, **tracks: list[dict[str, Any]]) -> None:
        super().__init__(**tracks)
        self.plan: dict[int, Fault] = {}
        self.opened: set[str] = set()  # by the program, which was told the id
        self.deleted: set[str] = set()  # by the program, in this run
        self.named: set[str] = set()  # in any output or log
        # edits with a commit of which the program does not know what became
        self.unanswered: set[str] = set()
        # a commit that takes its time: before which call it arrives
        self.late: tuple[int, Call] | None = None
        self.demanded = False  # Google said that changesNotSentForReview has to be set
        self.announced = False  # the validation of this run said so

    def begin(self) -> None:
        """A run begins."""
        self._arrive()
        self.calls, self.deleted, self.demanded, self.announced = (
            [],
            set(),
            False,
            False,
        )

    @property
    def under_way(self) -> bool:
        """Whether a commit may still arrive."""
        return self.late is not None and edit_of(self.late[1])[0] in self.edits

    def _arrive(self) -> None:
        """The commit that took its time takes effect, if its edit is still open."""
        if self.late and self.under_way:
            with suppress(ApiError):
                self.do(self.late[1])
        self.late = None

    def response(self, step: Step) -> Any:
        """The answer to a step, or what was planned for it."""
        if self.late and len(self.calls) >= self.late[0]:
            self._arrive()
        name, edit = call_name(step), edit_of(step)[0]
        fault = self.plan.pop(len(self.calls), None)
        self.calls.append(name)
        if name == "DELETE":
            assert edit not in self.unanswered, (
                "an edit that may have been committed is deleted"
            )
            self.deleted.add(edit)
        if name == "commit" and isinstance(step, Call):
            self.unanswered.add(edit)
            assert dict(step.query).get("changesNotSentForReview", "") == (
                "true" if self.demanded else ""
            )
            assert dict(step.query)["changesInReviewBehavior"] == "ERROR_IF_IN_REVIEW"
        if (
            name == "upload listings"
            and isinstance(step, Upload)
            and edit in self.edits
        ):
            shown = [
                image["sha256"]
                for found in self.edits[edit].images.values()
                for image in found
            ]
            assert sha256(step.artifact) not in shown, (
                "an image that the edit has is sent again"
            )
        try:
            response = fault.happen(self, step) if fault else self.do(step)
        except ApiError as error:
            self._heard(name, edit, error.message)
            raise
        self._heard(name, edit)
        if name == "insert":
            self.opened.add(response["id"])
        return response

    def _heard(self, name: str, edit: str, words: str = "") -> None:
        if name in ("GET", "commit"):
            self.unanswered.discard(edit)
        if name == "insert" or words == AUTOMATIC:
            self.demanded = False
        elif name == "commit" and words == BY_HAND:
            self.demanded = True
        elif name == "validate" and words == BY_HAND:
            self.announced = True

    def copy(self) -> FaultyPlay:
        """One that goes on by itself."""
        other = FaultyPlay()
        vars(other).update(
            {
                name: value.copy() if hasattr(value, "copy") else value
                for name, value in vars(self).items()
            }
        )
        other.edits = {edit: state.copy() for edit, state in self.edits.items()}
        return other

    @property
    def position(self) -> str:
        """All that its future depends on."""
        edits = {edit: state.content for edit, state in self.edits.items()}
        facts = (
            sorted(self.closed.items()),
            sorted(self.opened),
            sorted(self.unanswered),
            sorted(self.deleted),
        )
        return (
            f"{self.live.content} {edits} {facts} {self.review} {self.under_way} "
            f"{len(self.commits)}"
        )


# --- what can go wrong ----------------------------------------------------------------------------


def error(
    name: str,
    make: Callable[[], BaseException],
    *,
    effect: bool,
    fits: Callable[[str], bool] | None = None,
) -> Fault:
    """A call that ends so, after its effect or without any."""

    def happen(play: FaultyPlay, step: Step) -> Any:
        failure = make()
        response = (
            play.do(step) if effect or _denies_what_is_there(step, failure) else {}
        )
        if response.get("releases"):
            return response
        raise failure

    return Fault(
        f"{name}, {'after the effect' if effect else 'without effect'}",
        happen,
        fits or (lambda _: True),
    )


def refusal(known: KnownError, status: int = 0) -> Fault:
    """One of Google's refusals, without any effect."""
    number = status or (
        404
        if known is TRACK_MISSING
        else 403
        if known.permission or known is VERSION_TAKEN
        else 400
    )
    reason = known.reasons[0] if known.reasons else ""

    def make() -> BaseException:
        words = BY_HAND if BY_HAND.startswith(known.words) else known.words
        return refused(number, words, reason)

    return replace(error(f"refused: {known.words}", make, effect=False), again=False)


def _denies_what_is_there(step: Step, failure: BaseException) -> bool:
    """Whether it would deny a track, or an image that is to be deleted: one with releases, and an
    image, is there.
    """
    names = ("GET tracks", "DELETE listings")
    return (
        call_name(step) in names
        and isinstance(failure, ApiError)
        and failure.status == 404
    )


def closed(
    name: str, happens: Callable[[FaultyPlay, str], None], *, again: bool = True
) -> Fault:
    """Somebody else does something just before the call."""

    def happen(play: FaultyPlay, step: Step) -> Any:
        happens(play, edit_of(step)[0])
        return play.do(step)

    return Fault(name, happen, lambda call: call != "insert", again)


def twice(play: FaultyPlay, step: Step) -> Any:
    """The answer is lost on the way, and the engine repeats the call."""
    play.do(step)
    return play.do(step)


def slow(calls: int) -> Callable[[FaultyPlay, Step], Any]:
    """The commit takes effect only before one of the calls after it, or when the run has ended."""

    def happen(play: FaultyPlay, step: Step) -> Any:
        assert isinstance(step, Call)
        play.late = (len(play.calls) + calls, step)
        raise OutcomeUnknown("Lost.")

    return happen


def _lossy(call: str) -> bool:
    return call == "commit" or call.startswith("upload")


REFUSALS = [refusal(known) for known in KNOWN_ERRORS if known is not EDIT_GONE]
NOT_PERMITTED = error(
    "not permitted", lambda: CredentialsError("The token is not valid."), effect=False
)
OTHERS = [
    error("refused", lambda: refused(400, "Invalid request."), effect=False),
    error("refused as not found", lambda: refused(404, "Not found."), effect=False),
    NOT_PERMITTED,
    error(
        "concurrent update",
        lambda: refused(409, "The object is being updated concurrently."),
        effect=False,
    ),
    Fault(
        "the answer is lost, and the call repeated",
        twice,
        lambda call: not _lossy(call),
    ),
    *(
        error(
            "the answer is lost",
            lambda: OutcomeUnknown("Lost."),
            effect=effect,
            fits=_lossy,
        )
        for effect in (True, False)
    ),
    *(
        error(
            f"refused as {number}",
            partial(refused, number, "No."),
            effect=True,
            fits=lambda call: call == "commit",
        )
        for number in (404, 410)
    ),
    Fault(
        "the answer is lost, and the commit arrives late",
        slow(1),
        lambda call: call == "commit",
    ),
    Fault(
        "the answer is lost, and the commit arrives after the run",
        slow(1000),
        lambda call: call == "commit",
    ),
    Fault(
        "the answer to the commit is {}",
        lambda play, step: play.do(step) and {},
        lambda call: call == "commit",
    ),
    Fault(
        "the commit is answered {} by another",
        lambda *_: {},
        lambda call: call == "commit",
    ),
    error(
        "the answer is in another form",
        lambda: ProtocolError("Not as documented."),
        effect=True,
    ),
    *(
        error(
            "5xx to the end",
            lambda: TemporaryError("Gave up after 5 retries without progress."),
            effect=effect,
            fits=lambda call: call != "commit",
        )
        for effect in (True, False)
    ),
    error(
        "the retries are spent before the commit was sent",
        lambda: TemporaryError("No progress."),
        effect=False,
        fits=lambda call: call == "commit",
    ),
    *(
        error("a signal", lambda: Interrupted(15), effect=effect)
        for effect in (True, False)
    ),
    *(error("killed", Killed, effect=effect) for effect in (True, False)),
    closed("another edit is opened", lambda play, _: play.close_edits()),
    closed(
        "the edit expires",
        lambda play, _: play.close_edits(
            "This edit has expired, please create a new Edit."
        ),
        again=False,
    ),
    closed(
        "nobody knows the edit",
        lambda play, _: play.close_edits("Edit not found."),
        again=False,
    ),
    closed("another edit is committed", lambda play, _: play.commit_of_others()),
    closed("somebody commits this edit", lambda play, edit: play.take(edit)),
]
REVIEW = [
    replace(one, again=True, fits=lambda call: call in ("commit", "validate"))
    for one in REFUSALS
    if "for review automatically" in one.name
]
TAKEN = [
    replace(one, again=True, fits=lambda call: call.startswith("upload"))
    for one in REFUSALS
    if "already been used" in one.name
]
FIRST = (*REFUSALS, *OTHERS)
SECOND = tuple(one for one in (*OTHERS, *REVIEW, *TAKEN) if one.again)
