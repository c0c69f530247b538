"""Renders the page that a run leaves in the CI system: what was sent where, how long it took, and
what came of it.

Pure: a report goes in, GitHub's Markdown comes out, never more than the platform takes. Failures
stand first, so that what is left out of a long page is what went well.

Text from outside stays text: no markup, no HTML, no link, no mention. Characters that could mean
anything are written as numeric character references, which Markdown never takes for structure
(CommonMark 0.30, section 6.2). GitHub looks for mentions and mail addresses once these are
resolved, so an empty comment stands behind an at sign. Mermaid, which draws the timeline, has no
escape that holds everywhere: there text keeps letters, digits and a few signs alone.
"""

from __future__ import annotations

import json
import os.path
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal
from urllib.parse import quote, urlsplit

from uploader import __version__
from uploader.errors import UploaderError
from uploader.redaction import Redactor
from uploader.results import FileResult, TimelineEvent
from uploader.services.base import Chart, Section
from uploader.text import format_size, sentence

# A release names its owner here; a checkout does not know it, and its page has no address.
_REPOSITORY = "https://github.com/OWNER/google-release-uploader"
_PAGE = f"{_REPOSITORY}/blob/v{__version__}/docs/TROUBLESHOOTING.md"
TROUBLESHOOTING = "" if "/owner/" in _REPOSITORY.lower() else _PAGE
LIMIT = 1000 * 1024  # bytes of the whole page; GitHub drops a summary of more than 1 MiB
MAX_CELL = 300  # characters of outside text in one cell
MAX_NAME = 28  # of a file's name in the table; the full path stands beside the full digest
MAX_ROWS, MAX_LINES = 10, 40  # of a table, of a diff; the rest is folded
MAX_SENTENCE = 2000  # characters of an error or a warning
MAX_BULLETS = 50
MAX_CHARTED = 12  # files in the timeline, and events of one file, its first and its last ones
QUIET = 30.0  # seconds; a run in which nothing happened, and that was over sooner, has no timeline
MAX_TICKS = 10  # on its axis
IN_TABLES = ("plan", "status")  # outputs that the page's own tables show better
OMITTED = (
    "\n\nSome of this page was left out to stay within the size limit; see the log and "
    "`uploader-results.json`."
)

_BANNERS = {
    "ok": "## ✅ ",
    "failed": "## ❌ ",
    "dry-run": "# NOTHING WAS PUBLISHED\n\n**Dry run.** ",
    "rehearsal": "# NOTHING WAS PUBLISHED\n\n**Rehearsal against the embedded emulator.** ",
}
# Beside letters and digits, what means nothing in the middle of a line. A colon is harmless before
# a blank only (else it may be an address or an emoji), a dot everywhere but after www.
_MARKUP = re.compile(r"[^\w .,;'()/%=?+\"-]|_|(?<=www)\.(?=\S)", re.IGNORECASE)
_PLAIN_CODE = re.compile(r"[\w.,:@+=/()%~-](?:[\w .,:@+=/()%~-]*[\w.,:@+=/()%~-])?")
_IN_BACKTICKS = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_URL_CHARACTERS = "/:?#@!$&*+,=%~-._"  # no semicolon: none can end a character reference


@dataclass(frozen=True)
class Report:
    """What the page is made of. A dry run or a rehearsal that failed keeps its `outcome` and has an
    `error`.
    """

    headline: str
    target: str
    outcome: Literal["ok", "failed", "dry-run", "rehearsal"]
    endpoint: str = ""
    files: tuple[FileResult, ...] = ()
    outputs: Mapping[str, str] = field(default_factory=dict)
    links: tuple[tuple[str, str], ...] = ()
    sections: tuple[Section, ...] = ()
    warnings: tuple[str, ...] = ()
    error: UploaderError | None = None
    troubleshooting: str = TROUBLESHOOTING  # the page about failures, where its address is known


def render(report: Report, redactor: Redactor, limit: int = LIMIT) -> str:
    """The page as GitHub's Markdown, at most `limit` bytes; blocks that don't fit are left out,
    which the page says.
    """
    return _Page(report, redactor, limit).render()


class _Page:
    def __init__(self, report: Report, redactor: Redactor, limit: int) -> None:
        self._report = report
        self._redactor = redactor
        self._limit = limit
        # enough for the headline to tell it
        self._short = report.error is None or len(report.error.what) <= MAX_CELL
        # stable: else in the order of `files`
        self._files = sorted(report.files, key=lambda file: not file.error)

    def render(self) -> str:
        """Blocks in the order in which they are read, as long as there is room."""
        report = self._report
        headline = self._text(
            report.error.title if report.error and not self._short else sentence(report.headline)
        )
        where = f" at {self._code(report.endpoint)}" if report.endpoint else ""
        page = f"{_BANNERS[report.outcome]}{headline}\n\nTarget: {self._code(report.target)}{where}"
        links = (
            link(self._line(label, MAX_CELL), self._line(url, MAX_SENTENCE))
            for label, url in report.links
        )
        sections = (block for section in report.sections for block in self._section(section))
        blocks = [self._problem(), " · ".join(links), self._sent(), *sections]
        blocks += [
            "\n".join(self._bullets(report.warnings, "⚠️")),
            timeline(report.files, self._redactor),
        ]
        outputs = (
            (name, value)
            for name, value in report.outputs.items()
            if value and name not in IN_TABLES
        )
        rows = [(self._code(name), self._code(value)) for name, value in outputs]
        blocks.append(_details("Outputs", self._table(["Output", "Value"], rows, "outputs")))
        rows = [
            (self._code(file.sha256), self._code(file.path)) for file in self._files if file.sha256
        ]
        blocks.append(_details("SHA-256", self._table(["SHA-256", "File"], rows, "files")))
        complete = True
        for block in filter(None, blocks):
            if _bytes(page) + _bytes(block) + _bytes(OMITTED) + 3 <= self._limit:
                page += f"\n\n{block}"
            else:
                complete = False
        return f"{page}{'' if complete else OMITTED}\n"

    def _problem(self) -> str:
        """Why it happened and what to do, each on a line of its own; then each of several
        mistakes.
        """
        error = self._report.error
        if error is None:
            return ""
        happened = "" if self._short else error.what
        parts = (
            ("What happened", happened),
            ("Likely cause", error.cause),
            ("What to do", error.hint),
        )
        lines = [
            f"> **{label}:** {self._text(sentence(words), MAX_SENTENCE)}<br>"
            for label, words in parts
            if words
        ]
        page = self._report.troubleshooting
        lines.append(
            f"> **Failure:** {link(f'`{error.code}`', f'{page}#{error.code}' if page else '')}<br>"
        )
        return "\n".join(
            [*lines, *([""] if error.details else []), *self._bullets(error.details, "❌")]
        )

    def _sent(self) -> str:
        """The table of what was sent; a version or an id has a column where a file has one."""
        paths = [self._line(file.path, MAX_SENTENCE) for file in self._files]
        shortened = zip(paths, short_names(paths, MAX_NAME), strict=True)
        names = [path if len(path) <= MAX_NAME else name for path, name in shortened]
        versions = any(file.version for file in self._files)
        header = ["File", "Version" if versions else "Id", "Size", "Result"]
        rows = [
            self._file(*each, versions=versions) for each in zip(names, self._files, strict=True)
        ]
        if not any(row[1] for row in rows):
            header, rows = [header[0], *header[2:]], [(row[0], *row[2:]) for row in rows]
        return self._folded(header, rows, "files")

    def _file(self, name: str, file: FileResult, *, versions: bool) -> tuple[str, ...]:
        size = format_size(file.bytes).replace(" ", "&#160;")
        return (
            self._code(name),
            self._code(file.version if versions else file.id),
            size,
            self._result(file),
        )

    def _result(self, file: FileResult) -> str:
        if file.error:
            what = self._report.error.what if self._report.error else ""
            before, told, _ = file.error.partition(what) if what else (file.error, "", "")
            return f"❌ {self._text(before or 'failed,')}{' see above' if told else ''}"
        if file.reused:
            return "was there already"
        done = (
            "checked, then deleted with the edit" if self._report.outcome == "dry-run" else "sent"
        )
        resumed = (
            "" if file.resumed_from is None else f"resumed at {format_size(file.resumed_from)}"
        )
        retried = (
            f" after {file.retries} {'retry' if file.retries == 1 else 'retries'}"
            if file.retries
            else ""
        )
        again = f"{format_size(file.bytes_resent)} of it sent again" if file.bytes_resent else ""
        return ", ".join(filter(None, (done + retried, resumed, again)))

    def _section(self, section: Section) -> list[str]:
        """The blocks of a section: its charts above its table, or a diff."""
        title = f"### {self._text(section.title)}"
        if not section.header:
            lines = [self._redactor.one_line(line, MAX_SENTENCE) for (line,) in section.rows]
            lines = [re.sub("^  (?=[-+~=?] )", "", line) for line in lines]
            more = _details(f"{len(lines) - MAX_LINES} more lines", _diff(lines[MAX_LINES:]))
            return [f"{title}\n\n{_diff(lines[:MAX_LINES])}", more] if lines else []
        # empty where the section has no row
        table = [tuple(map(self._text, row)) for row in section.table]
        charts = [bars(chart, self._redactor) for chart in section.charts]
        return (
            ["\n\n".join([title, *charts, self._folded(list(table[0]), table[1:], "rows")])]
            if table
            else []
        )

    def _folded(self, header: list[str], rows: Sequence[tuple[str, ...]], what: str) -> str:
        """A table whose first rows are seen at once, and the others after a click."""
        rest = self._table(header, rows[MAX_ROWS:], what, earlier=MAX_ROWS)
        more = _details(f"{len(rows) - MAX_ROWS} more {what}", rest)
        return "\n\n".join(filter(None, (self._table(header, rows[:MAX_ROWS], what), more)))

    def _table(
        self, header: list[str], rows: Sequence[tuple[str, ...]], what: str, earlier: int = 0
    ) -> str:
        """Whole rows, at most a quarter of the page; says how many are missing. Empty without
        rows.
        """
        lines = [f"| {' | '.join(header)} |", f"| {' | '.join(['---'] * len(header))} |"]
        left = self._limit // 4 - sum(_bytes(line) + 1 for line in lines)
        for row in rows:
            line = f"| {' | '.join((*row, *[''] * len(header))[: len(header)])} |"
            left -= _bytes(line) + 1
            if left < 0:
                missing = f"{earlier + len(lines) - 2} of {earlier + len(rows)} {what} are shown"
                return "\n".join([*lines, "", f"{missing}; the results file has all."])
            lines.append(line)
        return "\n".join(lines) if rows else ""

    def _bullets(self, texts: Sequence[str], mark: str) -> list[str]:
        lines = [f"- {mark} {self._text(words, MAX_SENTENCE)}" for words in texts[:MAX_BULLETS]]
        return lines + (
            [f"- and {len(texts) - MAX_BULLETS} more"] if len(texts) > MAX_BULLETS else []
        )

    def _line(self, outside: str, limit: int) -> str:
        return self._redactor.one_line(outside, limit).strip()

    def _text(self, outside: str, limit: int = MAX_CELL) -> str:
        return text(self._line(outside, limit))

    def _code(self, outside: str) -> str:
        return code(self._line(outside, MAX_CELL))


def _details(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>" if body else ""


def _diff(lines: Sequence[str]) -> str:
    """Lines that GitHub colours by the sign before them; none of them ends the block."""
    return (
        "\n".join(["```diff", *(line.replace("```", "'''") for line in lines), "```"])
        if lines
        else ""
    )


def _bytes(block: str) -> int:
    return len(block.encode("utf-8"))


def text(outside: str) -> str:
    """Prose: the reader sees `outside` (one line) exactly, Markdown and HTML see nothing in it.

    Only what stands between two backticks is in fixed width, without them: so this program writes
    names.
    """
    parts = _IN_BACKTICKS.split(outside)
    escaped = (_MARKUP.sub(_reference, part).replace("&#58; ", ": ") for part in parts[::2])
    return "".join(
        part + each for part, each in zip(escaped, [*map(code, parts[1::2]), ""], strict=True)
    )


def code(outside: str) -> str:
    """A name or an identifier in fixed width; a code span where it is harmless, else `<code>` with
    references.
    """
    if not outside:
        return ""
    if _PLAIN_CODE.fullmatch(outside):
        return f"`{outside}`"
    return f"<code>{re.sub('[^A-Za-z0-9]', _reference, outside)}</code>"


def link(label: str, url: str) -> str:
    """A link, if `url` is an absolute web address; else the label alone, which can't lead anybody
    anywhere.
    """
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.scheme in {"https", "http"} and parts.netloc:
            return f"[{text(label)}](<{quote(url, safe=_URL_CHARACTERS)}>)"
    return text(label)


def _reference(match: re.Match[str]) -> str:
    return "&#64;<!-- -->" if match.group() == "@" else f"&#{ord(match.group())};"


def short_names(paths: Sequence[str], limit: int) -> list[str]:
    """The last part of each path, with folders where several end alike; its middle is left out
    beyond `limit`.
    """
    alike: dict[str, list[list[str]]] = defaultdict(list)
    for *folders, name in (path.split("/") for path in paths):
        alike[name].append(folders)
    shared = {name: len(os.path.commonprefix(each)) for name, each in alike.items()}  # noqa: RUF071  # of lists
    names = ["/".join(parts[shared[parts[-1]] :]) for parts in (path.split("/") for path in paths)]
    end = (limit - 3) // 2
    return [
        name if len(name) <= limit else f"{name[: limit - 3 - end]}...{name[-end:]}"
        for name in names
    ]


# The timeline: when which bytes travelled, and when a file had to wait
# from so many seconds on, so many each
_UNITS = ((300.0, 60.0, "min"), (2.0, 1.0, "s"), (0.0, 0.001, "ms"))
# By kind: the tags of the bar, and how the words in or beside it begin. Mermaid draws an active
# task in blue, one that is done in grey, and a critical one in red.
_EVENTS = {
    "sent": ("active, ", "{size} sent "),
    "answer": ("done, ", "answered after {seconds:.1f} s "),
    "wait": ("done, ", "waited {seconds:.1f} s, "),
    "resumed": ("milestone, ", "resumed "),
    "restarted": ("crit, milestone, ", "starting over, "),
    "done": ("done, milestone, ", ""),
    "failed": ("crit, milestone, ", "failed. "),
}
_REQUEST = ("sent", "answer")  # a request, and the wait for its response
_BARS = {
    "xyChart": {"width": 600, "height": 240},
    "themeVariables": {"xyChart": {"plotColorPalette": "#54aeff, #cf222e"}},  # the bars, the line
}


def timeline(files: Sequence[FileResult], redactor: Redactor) -> str:
    """A Mermaid chart: the files with the most to tell; empty where nothing happened."""
    timed = [file for file in files if file.timeline]
    told = [file for file in timed if _eventful(file.timeline)] or (
        timed if _span(timed)[1] >= QUIET else []
    )
    if not told:
        return ""
    # Failures, then what was retried most, then what took longest; those in the order in which they
    # were given.
    by_weight = sorted(told, key=lambda file: (not file.error, -file.retries, -file.seconds))
    chosen = set(map(id, by_weight[:MAX_CHARTED]))
    shown = [file for file in told if id(file) in chosen]
    more = (
        f"\n\nThe {MAX_CHARTED} files with the most to tell, of {len(told)}."
        if len(told) > MAX_CHARTED
        else ""
    )
    return f"### Timeline\n\n{_chart(shown, redactor)}{more}"


def _eventful(events: Sequence[TimelineEvent]) -> bool:
    """Whether more happened than an upload without a stop, or a failure before anything else."""
    kinds = [event.kind for event in events]
    return kinds != ["failed"] and not {*kinds} <= {"sent", "answer", "done"}


def _chart(files: Sequence[FileResult], redactor: Redactor) -> str:
    """The axis knows the time of day in the reader's zone, and seconds: the unit that fits is
    written as its second.
    """
    labels = short_names(
        [_words(redactor.one_line(file.path, MAX_SENTENCE)) for file in files], MAX_NAME
    )
    start, duration = _span(files)
    seconds, name = next((seconds, name) for least, seconds, name in _UNITS if duration >= least)
    steps = (digit * 10**power for power in range(20) for digit in (1, 2, 5))
    step = next(step for step in steps if duration / seconds <= MAX_TICKS * step)
    settings = {"gantt": {"leftPadding": 32 + 7 * max(map(len, labels))}}
    lines = ["```mermaid", f"%%{{init: {json.dumps(settings)}}}%%", "gantt", "    dateFormat x"]
    lines += [
        f"    axisFormat %s {name}",
        f"    tickInterval {1000 * step}millisecond",
        "    todayMarker off",
    ]
    for label, file in zip(labels, files, strict=True):
        lines.append(f"    section {label}")
        for event in _few(file.timeline):
            begin = round(1000 * (event.at - start) / seconds)
            end = begin + max(1, round(1000 * event.seconds / seconds))
            tags, words = _EVENTS[event.kind]
            words = words.format(size=format_size(event.bytes), seconds=event.seconds)
            said = _words(words + redactor.one_line(event.text, 60)).replace(" ,", ",")
            lines.append(f"    {said} :{tags}{begin}, {end}")
    return "\n".join([*lines, "```"])


def bars(chart: Chart, redactor: Redactor) -> str:
    """A Mermaid chart of percentages, the limit as a line and as the last bar: one point alone
    would make no line.
    """
    limit = chart.line[-1]
    labels = ", ".join(
        f'"{_words(redactor.one_line(label, 60))}"' for label in (*chart.labels, "limit")
    )
    values = (
        ", ".join(f"{number:g}" for number in (*each, limit)) for each in (chart.bars, chart.line)
    )
    top = 1.1 * max(*chart.bars, *chart.line) or 1
    lines = ["```mermaid", f"%%{{init: {json.dumps(_BARS)}}}%%", "xychart-beta"]
    lines += [
        f'    title "{_words(redactor.one_line(chart.title, 100))}"',
        f"    x-axis [{labels}]",
    ]
    return "\n".join(
        [
            *lines,
            f"    y-axis 0 --> {top:.4g}",
            "    bar [{}]\n    line [{}]".format(*values),
            "```",
        ]
    )


def _span(files: Sequence[FileResult]) -> tuple[float, float]:
    """When the first event was, and how many seconds lie between it and the end of the last."""
    events = [event for file in files for event in file.timeline]
    start = min((event.at for event in events), default=0.0)
    return start, max((event.at + event.seconds for event in events), default=0.0) - start


def _few(events: Sequence[TimelineEvent]) -> Sequence[TimelineEvent]:
    """Requests in a row as one bar; where that is still too much, everything but the requests."""
    few: list[TimelineEvent] = []
    for is_request, group in groupby(events, lambda event: event.kind in _REQUEST):
        neighbours = list(group)
        few += _joined(neighbours) if is_request else neighbours
    if len(few) > 1 and few[-1].kind == "done" and few[-2].kind in _REQUEST:
        few[-2:] = [replace(few[-2], text=f"{few[-2].text}, {few[-1].text}")]
    if len(few) > MAX_CHARTED:
        few = [event for event in few if event.kind not in _REQUEST]
    half = MAX_CHARTED // 2
    return few if len(few) <= MAX_CHARTED else [*few[:half], *few[-half:]]


def _joined(events: Sequence[TimelineEvent]) -> Sequence[TimelineEvent]:
    """Several requests as one event, of which a part was waiting; one with its answer as it is."""
    requests = sum(event.kind == "sent" for event in events)
    if requests == 1:
        return events
    first, last = events[0], events[-1]
    text = f"in {requests} requests"
    waited = sum(event.seconds for event in events if event.kind == "answer")
    if waited:
        text += f", {waited:.1f} s of it waiting for answers"
    seconds = last.at + last.seconds - first.at
    size = sum(event.bytes for event in events)
    return [TimelineEvent(first.at, "sent", text, seconds, size)]


def _words(outside: str) -> str:
    """What Mermaid takes for text, and for nothing else."""
    words = ", ".join(
        part.strip() for part in re.split("[:;]+", outside.replace("…", "...").replace("`", ""))
    )
    return re.sub(r"[^\w .,()/+-]+", "_", words).strip(" ,") or "_"
