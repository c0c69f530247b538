"""Every way in which a run can end other than well, as a tree.

UploaderError               exit   1  a fault of the program itself
├── OutputsNotWritten              1  everything was done, but later steps get no outputs
├── InputError                     2  an input is wrong, nothing was sent
├── CredentialsError               3  no credentials, not authenticated, not permitted
│   └── SetupIncomplete               something is missing for a release, such as a permission
├── ServiceError                   4  the service refused or can't be trusted
│   ├── ApiError                      the service said no, in its own words
│   ├── ReleaseRefused                this program said no, for what the service holds
│   ├── ProtocolError                 the service broke the protocol
│   ├── UntrustedHost                 a host that must not see the token, or can't prove who it is
│   └── OutcomeUnknown                a request that may not be repeated may have been received
├── IntegrityError                 5  the file changed, or what arrived is not what was sent
├── ReleaseTrouble                 6  the release itself is in trouble: rejected, or halted
├── TemporaryError                75  retries spent, the session is kept
├── Stopped                       75  another task failed, and the run ends with that failure
└── Interrupted            130 / 143  SIGINT; SIGTERM and SIGHUP

An error does not change. Code that catches one and knows more about it raises another:
`raise error.with_advice(hint="…") from error`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from uploader.text import sentence

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")


class UploaderError(Exception):
    """A fault of the program itself, or of what it needs to run.

    What happened, the likely cause and what to do are separate sentences, which each reporter lays
    out in its own way. `code` names the error for programs, in kebab-case; it never changes, and is
    that of the class unless the error has its own. `session_kept`: an upload that the error ended
    stays in the journal, and a run with the same state folder continues it. `commit_in_doubt`: the
    commit of one of several apps may have happened.
    """

    exit_code: int = 1
    title = "Upload failed"  # a word or two for the kind of failure
    code: str = "internal-error"
    # Only an `Interrupted` can be that.
    unanswered = False
    session_kept = False
    commit_in_doubt = False
    # what happened in detail, one line each, if one sentence can't say it
    details: tuple[str, ...] = ()
    what: str
    cause: str
    hint: str

    def __init__(
        self,
        what: str,
        *,
        cause: str = "",
        hint: str = "",
        code: str = "",
    ) -> None:
        super().__init__(what)
        vars(self).update(
            what=what,
            cause=cause,
            hint=hint,
            code=code or self.code,
        )

    def __setattr__(self, name: str, value: object) -> None:
        # `__init__` sets attributes in `vars(self)`; Python sets `__traceback__` and the like of an
        # error that it raises.
        if not name.startswith("__"):
            raise AttributeError(
                f"errors do not change: make another with another `{name}`"
            )
        super().__setattr__(name, value)

    def with_advice(
        self,
        *,
        cause: str | None = None,
        hint: str | None = None,
        also: str = "",
        code: str = "",
    ) -> Self:
        """Return the same error with another cause or hint, or another code.

        `also` is appended to the hint.
        """
        if cause is None:
            cause = self.cause
        if hint is None:
            hint = self.hint
        if also:
            hint = f"{hint} {also}".strip()
        return self._copy_with(
            cause=cause,
            hint=hint,
            code=code or self.code,
        )

    def with_what(self, what: str) -> Self:
        """Return the same error with another sentence about what happened."""
        return self._copy_with(what=what)

    def with_commit_in_doubt(self) -> Self:
        """Return the same error of a run in which the commit of an app may have happened."""
        return self._copy_with(commit_in_doubt=True)

    def _copy_with(self, **facts: object) -> Self:
        """Return a copy of the error with some facts changed. It keeps the errors that led to it,
        and gets a traceback of its own once it is raised.

        `copy.copy` would call `__init__`, which has other arguments in each kind of error.
        """
        other = type(self).__new__(type(self), facts.get("what", self.what))
        vars(other).update(vars(self) | facts)
        other.__cause__ = self.__cause__
        other.__context__ = self.__context__
        other.__suppress_context__ = self.__suppress_context__
        return other

    def __init_subclass__(
        cls,
        *,
        exit_code: int = 0,
        title: str = "",
        code: str = "",
    ) -> None:
        if exit_code:
            cls.exit_code = exit_code
        if title:
            cls.title = title
        if code:
            cls.code = code

    def __str__(self) -> str:
        texts = (self.what, *self.details, self.cause, self.hint)
        return " ".join(sentence(text) for text in texts if text)


class OutputsNotWritten(
    UploaderError, title="Outputs not written", code="outputs-not-written"
):
    """Everything was done, but the outputs for later steps could not be written."""

    def __init__(self, done: str) -> None:
        super().__init__(
            f"The outputs could not be written. Everything else is done: {done}",
            cause="The file for them can't be written, as a warning above says, so that later "
            "steps would find none.",
            hint="Take the values from the log, and make the file writable before the job runs "
            "again. A new run repeats what adds something, such as a mail; another attempt of "
            "this run finds it done, if `state-dir` is kept.",
        )


@dataclass(frozen=True)
class Problem:
    """One mistake in the inputs: which input, what is wrong with what was given, what is accepted.

    `covers` are the inputs that a foreign or misspelt name stands for, so that these are not
    reported as missing, too. `code` is the error's code if the mistake has one of its own.
    """

    name: str
    what: str
    accepted: str = ""
    covers: tuple[str, ...] = ()
    code: str = ""

    def __str__(self) -> str:
        text = f"{self.name}: {self.what}"
        if self.accepted:
            text += f" Accepted: {self.accepted}"
        return text


class InputError(
    UploaderError, exit_code=2, title="Invalid input", code="invalid-input"
):
    """One or more inputs are wrong; nothing was sent. All mistakes of a run travel together."""

    problems: tuple[Problem, ...]

    def __init__(self, *problems: Problem) -> None:
        names = list(dict.fromkeys(problem.name for problem in problems))
        lines = tuple(str(problem) for problem in problems)
        if len(names) > 1:
            what = f"{len(names)} inputs are wrong."
        elif len(problems) > 1:
            what = f"{len(problems)} mistakes in {names[0]}."
        else:
            what = "".join(lines)
        codes = {problem.code for problem in problems}
        code = ""
        if len(codes) == 1:
            code = codes.pop()
        super().__init__(
            what, hint="Nothing was sent. Correct the inputs and run again.", code=code
        )
        vars(self).update(problems=problems)
        if len(lines) > 1:
            vars(self).update(details=lines)


class Problems:
    """All mistakes in a run's inputs, each once, and `warnings`, which do not end the run.

    A check that can go on after a mistake adds it here; one that can't raises InputError, whose
    problems `collect` adds.
    """

    def __init__(self, problems: Iterable[Problem] = ()) -> None:
        self._problems = dict.fromkeys(problems)
        self.warnings: list[str] = []

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._problems)

    def __len__(self) -> int:
        return len(self._problems)

    @property
    def names(self) -> set[str]:
        """Every input that is known to be wrong."""
        names: set[str] = set()
        for problem in self:
            names.add(problem.name)
            names.update(problem.covers)
        return names

    def add(
        self,
        name: str,
        what: str,
        accepted: str = "",
        covers: tuple[str, ...] = (),
        code: str = "",
    ) -> None:
        """Add one mistake, described as in `Problem`."""
        self.extend([Problem(name, what, accepted, covers, code)])

    def extend(self, problems: Iterable[Problem]) -> None:
        """Add several mistakes."""
        self._problems.update(dict.fromkeys(problems))

    def warn(self, text: str) -> None:
        """Add a sentence about what is odd, but may be intended."""
        self.warnings.append(text)

    def collect(self, check: Callable[[], T], *, skip_known: bool = False) -> T | None:
        """Return the check's value, or None if it raised InputError, whose problems are added.

        With `skip_known` an input that was found wrong before is not reported again by this check.
        """
        known: set[str] = set()
        if skip_known:
            known = self.names
        try:
            return check()
        except InputError as error:
            self.extend(
                problem for problem in error.problems if problem.name not in known
            )
            return None

    def raise_if_any(self) -> None:
        """Raise InputError with every mistake so far, if there is one."""
        if self._problems:
            raise InputError(*self._problems)


class CredentialsError(
    UploaderError, exit_code=3, title="Access denied", code="access-denied"
):
    """There are no credentials, they were not accepted, or they do not permit the action."""

    session_kept = True


class SetupIncomplete(
    CredentialsError, title="Setup incomplete", code="setup-incomplete"
):
    """Something is missing for a release, such as a permission or a track."""


class ServiceError(
    UploaderError, exit_code=4, title="Service error", code="service-error"
):
    """The service refused, broke the protocol, or can't be trusted with the request."""


class ApiError(ServiceError, title="Refused", code="refused"):
    """The service answered with an error of its own; `status` is HTTP's, `reason` and `message` are
    the service's.
    """

    status: int
    reason: str
    message: str
    body: Mapping[str, Any]

    def __init__(
        self,
        what: str,
        *,
        status: int,
        reason: str = "",
        message: str = "",
        body: Mapping[str, Any] | None = None,
        cause: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(what, cause=cause, hint=hint)
        vars(self).update(
            status=status,
            reason=reason,
            message=message,
            body=body or {},
        )


class ReleaseRefused(ServiceError, title="Release not made", code="release-not-made"):
    """What was asked for does not fit what the service holds, so this program did not ask for
    it.
    """


class ProtocolError(ServiceError, code="protocol-error"):
    """The server said something that the protocol does not allow; going on could corrupt the
    upload.
    """


class UntrustedHost(ServiceError, title="Host not trusted", code="host-not-trusted"):
    """A host that must not receive the bearer token: not the service's own, or without a trusted
    certificate.
    """


class OutcomeUnknown(ServiceError, title="Outcome unknown", code="outcome-unknown"):
    """A request with an effect may have been processed, but its response was lost, so it is not
    repeated.
    """

    def __init__(
        self,
        what: str,
        *,
        cause: str = "",
        hint: str = "",
        session_kept: bool = False,
    ) -> None:
        super().__init__(what, cause=cause, hint=hint)
        vars(self).update(session_kept=session_kept)


class IntegrityError(
    UploaderError, exit_code=5, title="Integrity error", code="integrity-error"
):
    """The file changed during the upload, or the digest of what arrived differs from what was
    sent.
    """


class ReleaseTrouble(
    UploaderError, exit_code=6, title="Release in trouble", code="release-in-trouble"
):
    """The release itself is in trouble: rejected by the review, or halted by the gate or by
    people.
    """


class TemporaryError(
    UploaderError, exit_code=75, title="Temporary failure", code="temporary-failure"
):
    """The retries are spent; what was stored so far is kept, and running again goes on from
    there.
    """

    session_kept = True


class Stopped(
    UploaderError, exit_code=75, title="Not finished", code="temporary-failure"
):
    """Raised in a task to end it, because another task of its group has failed. That failure is
    what the run ends with.
    """

    session_kept = True

    def __init__(self) -> None:
        super().__init__("Not finished, because another part of the run failed.")


class Interrupted(UploaderError, title="Cancelled", code="interrupted"):
    """The run was told to stop by a signal, as CI systems send it to a job that is cancelled or has
    reached its time limit. `exit_code` is 130 for SIGINT and 143 for every other signal.

    `unanswered` is true if a request was sent whole and its answer was not waited for; `in_doubt`
    if an upload may be complete, a repeat would add a second one, and a later run can't count on
    finding out.
    """

    session_kept = True
    signal_number: int
    signal_name: str  # `SIGTERM`
    in_doubt: bool

    def __init__(
        self,
        signal_number: int,
        *,
        hint: str = "Run again.",
        unanswered: bool = False,
        in_doubt: bool = False,
    ) -> None:
        names = {1: "SIGHUP", 2: "SIGINT", 15: "SIGTERM"}
        name = names.get(signal_number, f"signal {signal_number}")
        code = "terminated"
        exit_code = 143
        if signal_number == 2:
            code = "interrupted"
            exit_code = 130
        super().__init__(
            f"The job was cancelled ({name}).",
            hint=hint,
            code=code,
        )
        vars(self).update(
            signal_number=signal_number,
            signal_name=name,
            exit_code=exit_code,
            unanswered=unanswered,
            in_doubt=in_doubt,
        )


def missing_module(error: ImportError) -> UploaderError:
    """Return the error for a module that can't be imported.

    It is one of Python's own that this system does not have, or the program runs from a checkout
    without its dependencies.
    """
    if str(error.name).partition(".")[0] in sys.stdlib_module_names:
        return UploaderError(
            f"This Python has no module {error.name}.",
            cause=f"The program runs on Linux and macOS; this is {sys.platform}.",
            hint="Run the upload in a Linux job, or on Windows in WSL.",
            code="missing-dependency",
        )
    what = f"A Python module can't be loaded: {error}."
    if isinstance(error, ModuleNotFoundError):
        what = f"The Python module {error.name} is missing."
    return UploaderError(
        what,
        cause="The program was started with a Python that does not have its dependencies.",
        hint="Install them with `pip install .` in the checkout, ideally in a virtual environment, "
        "or use the image.",
        code="missing-dependency",
    )
