"""What a service is made of: endpoints, requests and uploads as values, and the context of a run.

A target is a function that is given a `Context` and returns an `Outcome`. It makes its requests,
uploads and waits by the methods of the context, one plain call after the other; what goes wrong is
raised by them. The context of a real run is the engine in `transfer`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Protocol, TypeAlias, TypeVar

from uploader.errors import ApiError, UploaderError
from uploader.protocol.resources import identifier

if TYPE_CHECKING:
    from uploader.files.artifacts import Artifact
    from uploader.files.destination import Destination
    from uploader.files.spool import SpooledFile
    from uploader.results import FileResult, Results
    from uploader.services.completion import Completion
    from uploader.services.release_facts import ReleaseFacts

T = TypeVar("T")
Json: TypeAlias = Any
Dialect = Literal["content-range", "goog-upload"]


@dataclass(frozen=True)
class Endpoint:
    """One upload method of one API: where it is, what it accepts, and how it may be spoken to.

    `root` is scheme and host, replaced as a whole by `api-endpoint`; `path` and `upload_path` have
    every parameter filled in and escaped. `max_size` is in bytes. `idempotent`: sending the same
    request twice leaves one effect (a replace), not two (an add, a mail). `empty_response`: success
    has no body. `at_most_once`: a second effect is worse than none (a mail), so even a lost session
    is not begun again once everything may have arrived. `looked_up`: the service lists what it has,
    and the flow or the upload's `search` finds out there whether a file arrived. `lookup` is the
    path (with its query) that shows what an idempotent request made, where a precondition then
    refuses its repeat (412). `id_fields` are the dotted paths under which a response may hold the
    identifier, the best first; where it is `id_promised`, a response without one is no success.
    `partial`: the request chooses the fields of the response, which may have none of them.
    `response_digest` is the digest that responses state. `completion` says how answers tell whether
    the service is through with the file; without it every success is the end.
    """

    id: str
    root: str
    path: str
    upload_path: str
    media_types: tuple[str, ...]
    scopes: tuple[str, ...]
    http_method: str = "POST"
    query: tuple[tuple[str, str], ...] = ()
    max_size: int | None = None
    dialect: Dialect = "content-range"
    simple: bool = True
    multipart: bool = True
    resumable: bool = True
    idempotent: bool = False
    empty_response: bool = False
    at_most_once: bool = False
    looked_up: bool = False
    lookup: str = ""
    session_lifetime: timedelta = timedelta(days=7)
    id_fields: tuple[str, ...] = ("id", "name", "versionCode")
    id_promised: bool = False
    partial: bool = False
    response_digest: str = ""
    completion: Completion | None = None

    @property
    def adds(self) -> bool:
        """Whether a second upload makes a second thing, and nobody but a person can find out about
        the first.
        """
        return not self.idempotent and not self.looked_up

    def identify(self, resource: Mapping[str, Json]) -> str:
        """The identifier that a response holds, as text; empty when it has none of `id_fields`."""
        if self.completion:
            resource = self.completion.resource(resource)
        return identifier(resource, self.id_fields)


@dataclass(frozen=True)
class Call:
    """One JSON request to an API.

    An `idempotent` call is retried; any other whose response is lost (or is a 5xx) ends as
    `OutcomeUnknown`. `retry_on` says why a refusal passes by itself (a concurrent update), and is
    empty for every other. A `closing` call cleans up: it has no body and is sent, once, even after
    a signal.

    A success that is no object counts as a lost response, and so does one that has none of the
    `promised` members. Where success is documented without a body the response `may_be_empty`, and
    comes to {}. Google leaves out what is empty, so a list without entries may be {}. With
    `ask_twice` it is believed only if the service says so two times. What `gives_up` something is
    done even after another app of the run has failed. `changes` names the resource that it
    changes, if the service limits simultaneous changes to it. `about` is the app whose name the log
    has, where the run is about several. `retry_for` is how many seconds it may be retried, None as
    long as any other.
    """

    method: str
    root: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    json: Json | None = None
    idempotent: bool = True
    what: str = ""
    retry_on: Callable[[ApiError], str] | None = None
    closing: bool = False
    promised: tuple[str, ...] = ()
    may_be_empty: bool = False
    ask_twice: bool = False
    gives_up: bool = False
    changes: str = ""
    about: str = ""
    retry_for: float | None = None


@dataclass(frozen=True)
class Search:
    """How to see whether an upload whose response is lost arrived: a call that lists what is there.

    `find` is given its response, and returns the resource of the upload, None where it is not
    there.
    """

    call: Call
    find: Callable[[Json], Mapping[str, Json] | None]


@dataclass(frozen=True)
class Upload:
    """One file for one endpoint.

    `retry_on` is that of `Call`: after a refusal that passes by itself the whole upload starts
    over. With `search` it starts over as well where nobody knows whether it arrived and it is not
    found, instead of ending in doubt. `changes` is that of `Call`. Of one that is `quiet` no
    progress is shown: the flow logs what came of several such files together.
    """

    endpoint: Endpoint
    artifact: Artifact
    media_type: str
    metadata: Mapping[str, Json] | None = None
    retry_on: Callable[[ApiError], str] | None = None
    search: Search | None = None
    changes: str = ""
    quiet: bool = False


@dataclass(frozen=True)
class Download:
    """One file from a service into the workspace, or into the spool of what only the run needs.

    `path` is with its query, `max_size` in bytes. `check` reads the whole file before it gets its
    name, raises what keeps it from getting one, and returns what of `endings` comes behind it. A
    `public` file is fetched without a token. `sha256` is what the service says of its bytes, if it
    does; a file that has them already is not fetched. After `seconds` it is given up at the next
    break. `retry_on` is as for a call.
    """

    root: str
    path: str
    destination: Destination | SpooledFile
    max_size: int
    what: str
    check: Callable[[BinaryIO], str]
    endings: tuple[str, ...] = ("",)
    public: bool = False
    sha256: str = ""
    seconds: float = 6 * 3600.0  # 10 GiB at 500 KB a second
    retry_on: Callable[[ApiError], str] | None = None


@dataclass(frozen=True)
class Downloaded:
    """A file that is there whole: its path, its SHA-256, and the bytes that it took, 0 where it was
    there already.
    """

    path: str
    sha256: str
    size: int


@dataclass(frozen=True)
class Chart:
    """A chart for the job summary: a bar for each label, which is `over` or not, and lines with
    their names; all values are percentages. `note` is a sentence below it.
    """

    title: str
    labels: tuple[str, ...]
    bars: tuple[float, ...]
    over: tuple[bool, ...]
    lines: tuple[tuple[str, tuple[float, ...]], ...]
    note: str = ""


@dataclass(frozen=True)
class Section:
    """A table for the job summary that only the service can know; without a header its rows are the
    lines of a diff.

    `facts` is what the summary draws of a release beside its diff. One that is `folded` is seen
    after a click.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    charts: tuple[Chart, ...] = ()
    facts: ReleaseFacts | None = None
    folded: bool = False

    @property
    def table(self) -> tuple[tuple[str, ...], ...]:
        """The header and the rows, without the columns in which no row has anything."""
        columns = []
        for column in zip(self.header, *self.rows, strict=True):
            _, *cells = column
            if any(cells):
                columns.append(column)
        return tuple(zip(*columns, strict=True))

    def lines(self) -> list[str]:
        """The table as people read it in a log: columns one below the other, with their
        headings.
        """
        table = self.table
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = []
        for row in table:
            cells = map(str.ljust, row, widths)
            lines.append("  ".join(cells).rstrip())
        return lines


@dataclass(frozen=True)
class Heading:
    """What became of a release, or would in a dry run, in one line without a full stop.

    `mark` says at a glance how that is: `attention` is for what is left to a person. `why` is the
    reason in full, where the text has it in a few words. `pages` are the pages of the Play Console
    that one needs next, as it calls them.
    """

    text: str
    mark: Literal["done", "held", "halted", "attention"] = "done"
    why: str = ""
    pages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What a flow returns: a sentence, links and tables for the summary; `trouble` ends the run as
    an error does.

    The `heading` of the summary has the sentence in short, where it is long. `todo` is what is left
    to a person. `remarks` are the sentences of the headline that have to be told of each app where
    a run is about several.
    """

    headline: str
    links: tuple[tuple[str, str], ...] = ()
    sections: tuple[Section, ...] = ()
    trouble: UploaderError | None = None
    remarks: str = ""
    heading: Heading | None = None
    todo: str = ""


class Backoff(Protocol):
    """The waits between several looks at the same thing, on the schedule of retries."""

    def wait(self, why: str) -> None:
        """Waits before the next look, longer each time; `why` is logged.

        Raises TemporaryError when no retry is left, and Interrupted after a signal.
        """


class Poll(Protocol):
    """The waits for something that takes its time, at growing intervals."""

    @property
    def left(self) -> float:
        """Seconds until time is up."""

    def wait(self, why: str) -> bool:
        """Waits before the next look and returns True; returns False at once when time is up.

        `why` is logged. Raises Interrupted after a signal.
        """


class Context(Protocol):
    """The run that a target is part of: the network, the waits, the log, the outputs, the
    journal.
    """

    def call(self, call: Call) -> dict[str, Json]:
        """Makes one JSON request and returns the object in its response.

        Raises ApiError in the service's own words, CredentialsError, TemporaryError when the
        retries are spent, OutcomeUnknown where a call that is not idempotent may have been obeyed,
        and Interrupted after a signal.
        """

    def expect(self, uploads: Sequence[Upload]) -> None:
        """Gives files their places in the results, as not reached until they are uploaded."""

    def begin(self, upload: Upload) -> None:
        """Starts the upload session of a file that `upload` is to send, so that it can send the
        bytes at once; does nothing where the file needs no new session.

        What goes wrong is kept for `upload`. A session that is not used expires by itself.
        """

    def upload(self, upload: Upload) -> FileResult:
        """Uploads one file. Raises what went wrong, which stands in the results as well."""

    def upload_all(
        self, uploads: Sequence[Upload], max_in_flight: int | None = None
    ) -> tuple[FileResult, ...]:
        """Uploads independent files, several at a time, and returns their results in order.

        All are tried: what went wrong with one stands in its result. `max_in_flight` is the
        service's limit where `concurrency` is `auto`. Raises Interrupted after a signal.
        """

    def download(self, download: Download) -> Downloaded:
        """Fetches one file."""

    def backoff(self) -> Backoff:
        """Begins a series of waits on the schedule of retries."""

    def poll(self, seconds: float, first: float = ...) -> Poll:
        """Begins a series of waits that ends after so many seconds; the first wait takes `first`
        seconds.
        """

    def together(self, work: Sequence[Callable[[], T]]) -> list[T]:
        """Does several things at the same time, waits for all, and returns their results in order.

        A failure stops the others at their next request, block or wait. Once all have ended, it
        raises the one that counts most (see `tasks.together`).
        """

    def check_running(self) -> None:
        """Raises Interrupted after a signal, and Stopped or the like where something that is done
        at the same time has failed: for work that makes no request for long.
        """

    def info(self, text: str) -> None:
        """Logs a sentence."""

    def warning(self, text: str) -> None:
        """Logs a sentence that deserves attention."""

    def show(
        self, title: str, lines: Sequence[str], sections: tuple[Section, ...] = ()
    ) -> None:
        """Logs what is about to change, and keeps it in `sections` for the summary of a run that
        ends badly.
        """

    def publish(self, outputs: Mapping[str, str], ids: tuple[str, ...] = ()) -> None:
        """Makes outputs known as soon as they are true; `ids` where the resource ids are not those
        of the uploads.
        """

    def remember(self, name: str, value: str | None) -> None:
        """Keeps a value in the journal for the next run of the same job; None forgets it."""

    def recall(self, name: str) -> str | None:
        """What an earlier run of the same job remembered."""

    def forget_uploads(self, upload_path: str) -> None:
        """Forgets every upload session below this path, because what they belong to is over."""

    def reused(self, result: FileResult) -> None:
        """Adds the result of a file that the service had already and that is not sent."""

    def arrange(self, paths: Sequence[str]) -> None:
        """Puts the results of these files first, in this order."""

    def identified(
        self, result: FileResult, answer: Mapping[str, Json] | None = None
    ) -> None:
        """Replaces an upload's result by one with what its own response did not tell (an id, an
        error).

        `answer` stands from now on for the upload's response in the journal, so that the next run
        goes on from there; without it the next run sends the file again after an error.
        """

    def discarded(
        self,
        why: str,
        files: frozenset[str] = frozenset(),
        outputs: tuple[str, ...] = (),
        among: Results | None = None,
    ) -> None:
        """Takes back what was uploaded, and `files` that were there before; `outputs` are no longer
        true.

        `among` are the results that it is about, where not all.
        """

    def now(self) -> float:
        """The time as the service has it, in seconds since the epoch."""

    def sha256(self, artifact: Artifact) -> str:
        """The SHA-256 of a file's bytes in lower-case hex, to compare it with what the service
        has.
        """

    def write(self, destination: Destination, data: bytes) -> bool:
        """Makes a file hold exactly these bytes; False where it did already."""


Flow: TypeAlias = Callable[[Context], Outcome]


@dataclass(frozen=True)
class Prepared:
    """A target whose checks have passed: its plan, a step a line, and the flow that carries it out.

    `apps` are those that it is about on Google Play, each with the version codes of its artifacts.
    `unsettled` is for a run that can't log in and look: given what recalls the journal's values, it
    says what an earlier run may have done. `sends_files` is false where the files are only looked
    at, so that a failure leaves none of them unsent.
    """

    lines: tuple[str, ...]
    scopes: tuple[str, ...]
    flow: Flow
    warnings: tuple[str, ...] = ()
    apps: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    unsettled: Callable[[Callable[[str], str | None]], str] = lambda _: ""
    sends_files: bool = True
