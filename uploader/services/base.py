"""Define what a service is made of: endpoints, requests and uploads as values, and the context of a
run.

A target is a function that is given a `Context` and returns an `Outcome`. It makes its requests,
uploads and waits with the methods of the context, one plain call after the other; they raise what
goes wrong. The context of a real run is the engine in `transfer`.
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
    from uploader.services.completion import Completion, Pairs
    from uploader.services.release_facts import ReleaseFacts

T = TypeVar("T")
Json: TypeAlias = Any
JsonObject: TypeAlias = Mapping[str, Json]
Dialect = Literal["content-range", "goog-upload"]
Cells: TypeAlias = tuple[str, ...]
"""The texts of one row of a table."""
Series: TypeAlias = tuple[str, tuple[float, ...]]
"""The name of a line in a chart, and its values."""
PassingReason: TypeAlias = Callable[[ApiError], str]
"""Returns why a refusal will pass by itself; empty for one that will not."""
Recall: TypeAlias = Callable[[str], str | None]
"""Returns what the journal holds under a name, None if nothing."""


@dataclass(frozen=True)
class Endpoint:
    """One upload method of one API: where it is, what it accepts, and how requests to it behave.

    - `root`: scheme and host, which `api-endpoint` replaces as a whole.
    - `path`, `upload_path`: with every parameter filled in and escaped.
    - `max_size`: in bytes.
    - `idempotent`: sending the same request twice has one effect (a replacement), not two (an
      addition, a mail).
    - `empty_response`: a success has no body.
    - `at_most_once`: a second effect is worse than none (a mail), so not even a lost session is
      started again once everything may have arrived.
    - `looked_up`: the service lists what it has, and the flow or the upload's `search` finds out
      there whether a file arrived.
    - `lookup`: the path, with its query, that shows what an idempotent request made, if a
      precondition refuses its repeat (412).
    - `id_fields`: the dotted paths under which a response may have the identifier, the best first.
    - `id_promised`: a response without an identifier is no success.
    - `partial`: the request chooses the fields of the response, which may have none of the others.
    - `response_digest`: the digest that responses state.
    - `completion`: how to read from a response whether the service is done with the file; without
      it every success is the end.
    """

    id: str
    root: str
    path: str
    upload_path: str
    media_types: tuple[str, ...]
    scopes: tuple[str, ...]
    http_method: str = "POST"
    query: Pairs = ()
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
        """Whether a second upload makes a second thing, and only a person can find out about the
        first.
        """
        return not self.idempotent and not self.looked_up

    def identify(self, resource: JsonObject) -> str:
        """Return the identifier in a response as text; empty if it has none of `id_fields`."""
        if self.completion:
            resource = self.completion.resource(resource)
        return identifier(resource, self.id_fields)


@dataclass(frozen=True)
class Call:
    """One JSON request to an API.

    A success that is not a JSON object counts as a lost response, and so does one with none of the
    `promised` members.

    - `idempotent`: the call is retried. Any other call whose response is lost (or is a 5xx) ends as
      `OutcomeUnknown`.
    - `retry_on`: returns why a refusal passes by itself (a concurrent update); empty for any other.
    - `closing`: the call cleans up. It has no body, and is sent once, even after a signal.
    - `may_be_empty`: a success is documented without a body, and comes to {}.
    - `ask_twice`: an answer of {} is believed only if the service gives it twice. Google leaves out
      what is empty, so {} may be a list without entries.
    - `gives_up`: the call is made even after another app of the run has failed, to give something
      up.
    - `changes`: the resource that the call changes, if the service limits simultaneous changes.
    - `about`: the app to name in the log, if the run is about several.
    - `retry_for`: for how many seconds the call may be retried; None for the usual time.
    """

    method: str
    root: str
    path: str
    query: Pairs = ()
    json: Json | None = None
    idempotent: bool = True
    what: str = ""
    retry_on: PassingReason | None = None
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
    """How to find out whether an upload whose response was lost has arrived.

    `call` lists what is there. `find` is given the response, and returns the resource of the
    upload, None if it is not listed.
    """

    call: Call
    find: Callable[[Json], JsonObject | None]


@dataclass(frozen=True)
class Upload:
    """One file for one endpoint.

    `retry_on` and `changes` are those of `Call`: after a refusal that passes by itself the whole
    upload starts over. If it is not known whether the upload arrived, and `search` does not find
    it, it starts over as well; without `search` it ends in doubt. If it is `quiet`, no progress is
    shown: the flow logs the result of several such files together.
    """

    endpoint: Endpoint
    artifact: Artifact
    media_type: str
    metadata: JsonObject | None = None
    retry_on: PassingReason | None = None
    search: Search | None = None
    changes: str = ""
    quiet: bool = False


@dataclass(frozen=True)
class Download:
    """One file from a service, for the workspace or for the spool of what only the run needs.

    `path` includes the query, and `max_size` is in bytes. `check` is given the complete file before
    the file gets its name: it returns which of the `endings` is added to the name, or raises an
    error if the file is not to be kept. A `public` file is fetched without a token. `sha256` is the
    digest that the service states, if it does; a file that has it already is not fetched. The
    download is given up at the first interruption after `seconds`. `retry_on` is that of `Call`.
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
    retry_on: PassingReason | None = None


@dataclass(frozen=True)
class Downloaded:
    """A downloaded file. `size` is the number of bytes that were fetched, 0 if the file was there
    already.
    """

    path: str
    sha256: str
    size: int


@dataclass(frozen=True)
class Chart:
    """A chart for the job summary: a bar for each label, which is `over` a limit or not, and named
    lines. All values are percentages. `note` is a sentence below the chart.
    """

    title: str
    labels: tuple[str, ...]
    bars: tuple[float, ...]
    over: tuple[bool, ...]
    lines: tuple[Series, ...]
    note: str = ""


@dataclass(frozen=True)
class Section:
    """A table of a service for the job summary. Without a header, its rows are the lines of a diff.

    `facts` is what the summary draws of a release beside its diff. A `folded` table is shown after
    a click.
    """

    title: str
    header: Cells
    rows: tuple[Cells, ...]
    charts: tuple[Chart, ...] = ()
    facts: ReleaseFacts | None = None
    folded: bool = False

    @property
    def table(self) -> tuple[Cells, ...]:
        """The header and the rows, without the columns in which no row has anything."""
        shown = []
        columns = zip(self.header, *self.rows, strict=True)
        for column in columns:
            _, *cells = column
            if any(cells):
                shown.append(column)
        return tuple(zip(*shown, strict=True))

    def lines(self) -> list[str]:
        """Return the table for a log, with a heading and aligned columns."""
        table = self.table
        columns = zip(*table, strict=True)
        widths = [max(map(len, column)) for column in columns]
        lines = []
        for row in table:
            cells = map(str.ljust, row, widths)
            line = "  ".join(cells)
            lines.append(line.rstrip())
        return lines


@dataclass(frozen=True)
class Heading:
    """What became of a release, or would become of it in a dry run, in one line without a full
    stop.

    `mark` chooses the symbol before it: `attention` is for what is left to a person. `why` is the
    reason in full, if the text has it in a few words. `pages` are the pages of the Play Console
    that a person needs next, by their names there.
    """

    text: str
    mark: Literal["done", "held", "halted", "attention"] = "done"
    why: str = ""
    pages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The result of a flow: a sentence, and links and tables for the summary.

    `trouble` ends the run as an error does. `heading` is a short form of the headline. `todo` is
    what is left to a person. `remarks` are the sentences of the headline that a run about several
    apps has to repeat for each app.
    """

    headline: str
    links: Pairs = ()
    sections: tuple[Section, ...] = ()
    trouble: UploaderError | None = None
    remarks: str = ""
    heading: Heading | None = None
    todo: str = ""


class Backoff(Protocol):
    """The waits between several looks at the same thing, on the schedule of retries."""

    def wait(self, why: str) -> None:
        """Wait before the next look, longer each time; `why` is logged.

        Raises TemporaryError when no retry is left, and Interrupted after a signal.
        """


class Poll(Protocol):
    """The waits for something that takes its time, at growing intervals."""

    @property
    def left(self) -> float:
        """Seconds until time is up."""

    def wait(self, why: str) -> bool:
        """Wait before the next look and return True; return False at once if time is up.

        `why` is logged. Raises Interrupted after a signal.
        """


class Context(Protocol):
    """The run that a target is part of: the network, the waits, the log, the outputs, the
    journal.
    """

    def call(self, call: Call) -> dict[str, Json]:
        """Make one JSON request, and return the object in its response.

        Raises ApiError in the service's own words, CredentialsError, TemporaryError when the
        retries are spent, OutcomeUnknown if a call that is not idempotent may have had its effect,
        and Interrupted after a signal.
        """

    def expect(self, uploads: Sequence[Upload]) -> None:
        """Give files their places in the results; they count as not sent until they are
        uploaded.
        """

    def begin(self, upload: Upload) -> None:
        """Start the upload session of a file, so that `upload` can send the bytes at once. Nothing
        is done for a file that needs no new session.

        What goes wrong is kept for `upload`. A session that is not used expires by itself.
        """

    def upload(self, upload: Upload) -> FileResult:
        """Upload one file. Raises what went wrong, which is in the results as well."""

    def upload_all(
        self, uploads: Sequence[Upload], max_in_flight: int | None = None
    ) -> tuple[FileResult, ...]:
        """Upload independent files, several at a time, and return their results in order.

        All are tried: what goes wrong with one of them is in its result. `max_in_flight` is the
        service's limit for `concurrency: auto`. Raises Interrupted after a signal.
        """

    def download(self, download: Download) -> Downloaded:
        """Fetch one file."""

    def backoff(self) -> Backoff:
        """Begin a series of waits on the schedule of retries."""

    def poll(self, seconds: float, first: float = ...) -> Poll:
        """Begin a series of waits that ends after so many seconds; the first wait takes `first`
        seconds.
        """

    def together(self, work: Sequence[Callable[[], T]]) -> list[T]:
        """Do several things at the same time, wait for all, and return their results in order.

        A failure stops the others at their next request, block or wait. Once all have ended, it
        raises the one that counts most (see `tasks.together`).
        """

    def check_running(self) -> None:
        """Raise Interrupted after a signal, and Stopped or the like if something that is done at
        the same time has failed. It is for work that makes no request for long.
        """

    def info(self, text: str) -> None:
        """Log a sentence."""

    def warning(self, text: str) -> None:
        """Log a sentence that deserves attention."""

    def show(
        self,
        title: str,
        lines: Sequence[str],
        sections: tuple[Section, ...] = (),
    ) -> None:
        """Log what is about to change. The `sections` are kept for the summary of a run that
        fails.
        """

    def publish(self, outputs: Mapping[str, str], ids: tuple[str, ...] = ()) -> None:
        """Publish outputs as soon as they are true; `ids` are given if the resource ids are not
        those of the uploads.
        """

    def remember(self, name: str, value: str | None) -> None:
        """Keep a value in the journal for the next run of the same job; None forgets it."""

    def recall(self, name: str) -> str | None:
        """Return what this run or an earlier one of the same job has kept; None if nothing."""

    def forget_uploads(self, upload_path: str) -> None:
        """Forget every upload session below this path, because what they belong to is over."""

    def add_reused(self, result: FileResult) -> None:
        """Add the result of a file that the service has already, and that is not sent."""

    def arrange(self, paths: Sequence[str]) -> None:
        """Put the results of these files first, in this order."""

    def replace_result(
        self, result: FileResult, answer: JsonObject | None = None
    ) -> None:
        """Replace an upload's result by one with what its own response did not say (an id, an
        error).

        `answer` replaces the upload's response in the journal, so that the next run continues from
        there. Without it the next run sends the file again after an error.
        """

    def mark_discarded(
        self,
        why: str,
        files: frozenset[str] = frozenset(),
        outputs: tuple[str, ...] = (),
        among: Results | None = None,
    ) -> None:
        """Mark uploads as discarded, and reused results if their path is in `files`. The `outputs`
        are no longer true.

        Only the results in `among` are marked, if that is given.
        """

    def now(self) -> float:
        """Return the time by the service's clock, in seconds since the epoch."""

    def sha256(self, artifact: Artifact) -> str:
        """Return the SHA-256 of a file's bytes in lower-case hex, to compare it with what the
        service has.
        """

    def write(self, destination: Destination, data: bytes) -> bool:
        """Make a file have exactly these bytes; return False if it had them already."""


Flow: TypeAlias = Callable[[Context], Outcome]


@dataclass(frozen=True)
class Prepared:
    """A target whose checks have passed: its plan, one step per line, and the flow that carries it
    out.

    `apps` are those that it is about on Google Play, each with the version codes of its artifacts.
    `unsettled` is for a run that can't log in: it is given a function that recalls values of the
    journal, and says what an earlier run may have done. `sends_files` is False if the files are
    only read, so that none of them counts as unsent after a failure.
    """

    lines: tuple[str, ...]
    scopes: tuple[str, ...]
    flow: Flow
    warnings: tuple[str, ...] = ()
    apps: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    unsettled: Callable[[Recall], str] = lambda _: ""
    sends_files: bool = True
