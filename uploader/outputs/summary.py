"""Renders the page that a run leaves in the CI system: what was sent where, how long it took, and what came of it.

Pure: a report goes in, Markdown comes out, never more than the platform takes. Failures stand first, so that what is
left out of a long page is what went well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from uploader.errors import UploaderError
from uploader.outputs.markdown import code, link, table, text
from uploader.outputs.progress import speed
from uploader.outputs.short_names import short_names
from uploader.outputs.timeline import timeline
from uploader.redaction import Redactor
from uploader.results import FileResult
from uploader.services.base import Section
from uploader.text import format_size, sentence

LIMIT: Final = 1000 * 1024  # bytes of the whole page; GitHub drops a summary of more than 1 MiB
CELL: Final = 300  # characters of outside text in one cell
NAME: Final = 28  # of a file's name in the table; the full path stands beside the full digest
ROWS: Final = 10  # of a table; the rest is folded
SENTENCE: Final = 2000  # characters of an error or a warning
BULLETS: Final = 50
IN_TABLES: Final = ("plan", "status")  # outputs that the page's own tables show better

_BANNERS: Final = {
    "ok": "## ✅ ",
    "failed": "## ❌ ",
    "dry-run": "# NOTHING WAS PUBLISHED\n\n**Dry run.** ",
    "rehearsal": "# NOTHING WAS PUBLISHED\n\n**Rehearsal against the embedded emulator.** ",
}


@dataclass(frozen=True)
class Report:
    """What the page is made of. A dry run or a rehearsal that failed keeps its `outcome` and has an `error`."""

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
    tracks: tuple[str, ...] = ()


def render(report: Report, redactor: Redactor, limit: int = LIMIT) -> str:
    """The page as GitHub's Markdown, at most `limit` bytes; blocks that don't fit are left out, which the page says."""
    return _Page(report, redactor, limit).render()


class _Page:
    def __init__(self, report: Report, redactor: Redactor, limit: int) -> None:
        self._report = report
        self._redactor = redactor
        self._limit = limit
        self._files = sorted(report.files, key=lambda file: not file.error)  # stable: else in the order of `files`
        paths = [self._line(file.path, SENTENCE) for file in self._files]
        shortened = zip(paths, short_names(paths, NAME), strict=True)
        self._names = [path if len(path) <= NAME else name for path, name in shortened]

    def render(self) -> str:
        """Blocks in the order in which they are read, as long as there is room."""
        note = (
            "\n\nSome of this page was left out to stay within the size limit; see the log and `uploader-results.json`."
        )
        head = f"{_BANNERS[self._report.outcome]}{self._text(self._report.headline)}"
        where = f" at {self._code(self._report.endpoint)}" if self._report.endpoint else ""
        page, complete = f"{head}\n\nTarget: {self._code(self._report.target)}{where}", True
        for block in self._blocks():
            if _bytes(page) + _bytes(block) + _bytes(note) + 3 <= self._limit:
                page += f"\n\n{block}"
            else:
                complete = False
        return f"{page}{'' if complete else note}\n"

    def _blocks(self) -> Iterable[str]:
        blocks = [self._problem(), self._links(), self._sent()]
        blocks += [self._section(section) for section in self._report.sections]
        blocks += ["\n".join(self._bullets(self._report.warnings, "⚠️")), timeline(self._report.files, self._redactor)]
        blocks += [self._outputs(), self._digests()]
        return filter(None, blocks)

    def _problem(self) -> str:
        """What happened, why, and what to do, each on a line of its own; then each of several mistakes."""
        error = self._report.error
        if error is None:
            return ""
        parts = (("What happened", error.what), ("Likely cause", error.cause), ("What to do", error.hint))
        lines = [f"> **{label}:** {self._text(sentence(words), SENTENCE)}<br>" for label, words in parts if words]
        return "\n".join([*lines, *([""] if error.details else []), *self._bullets(error.details, "❌")])

    def _links(self) -> str:
        return " · ".join(link(self._line(label, CELL), self._line(url, SENTENCE)) for label, url in self._report.links)

    def _sent(self) -> str:
        """The table of what was sent; tracks have a column where a file has any."""
        header = ["File", "Size", "Version code or id", "SHA-256", "Speed", "Retries", "Track", "Result"]
        rows = [self._file(*each) for each in zip(self._names, self._files, strict=True)]
        if not any(row[-2] for row in rows):
            header, rows = [*header[:-2], header[-1]], [(*row[:-2], row[-1]) for row in rows]
        return self._folded(header, rows, "files")

    def _file(self, name: str, file: FileResult) -> tuple[str, ...]:
        version = "" if file.error else file.resource.get("versionCode")
        pace = speed(file.bytes_sent, file.seconds) if file.bytes_sent and math.isfinite(file.seconds) else ""
        return (
            self._code(name),
            _unbroken(format_size(file.bytes)),
            self._code(str(version or file.id)),
            self._code(file.sha256[:12]),
            _unbroken(pace),
            str(file.retries),
            self._text(", ".join(self._report.tracks)) if version else "",
            self._result(file),
        )

    def _result(self, file: FileResult) -> str:
        if file.error:
            what = self._report.error.what if self._report.error else ""
            before, told, _ = file.error.partition(what) if what else (file.error, "", "")
            return f"❌ {self._text(before or 'failed,')}{' see above' if told else ''}"
        if file.reused:
            return "was there already"
        if self._report.outcome == "dry-run":
            return "checked, then deleted with the edit"
        return "sent" if file.resumed_from is None else f"sent, resumed at {format_size(file.resumed_from)}"

    def _section(self, section: Section) -> str:
        rows = [tuple(map(self._text, row)) for row in section.rows]
        body = self._folded(list(map(self._text, section.header)), rows, "rows")
        return f"### {self._text(section.title)}\n\n{body}" if body else ""

    def _folded(self, header: list[str], rows: Sequence[tuple[str, ...]], what: str) -> str:
        """A table whose first rows are seen at once, and the others after a click."""
        rest = self._table(header, rows[ROWS:], what, earlier=ROWS)
        more = _details(f"{len(rows) - ROWS} more {what}", rest)
        return "\n\n".join(filter(None, (self._table(header, rows[:ROWS], what), more)))

    def _bullets(self, texts: Sequence[str], mark: str) -> list[str]:
        lines = [f"- {mark} {self._text(words, SENTENCE)}" for words in texts[:BULLETS]]
        return lines + ([f"- and {len(texts) - BULLETS} more"] if len(texts) > BULLETS else [])

    def _outputs(self) -> str:
        outputs = ((name, value) for name, value in self._report.outputs.items() if value and name not in IN_TABLES)
        rows = [(self._code(name), self._code(value)) for name, value in outputs]
        return _details("Outputs", self._table(["Output", "Value"], rows, "outputs"))

    def _digests(self) -> str:
        rows = [(self._code(file.sha256), self._code(file.path)) for file in self._files if file.sha256]
        return _details("SHA-256 in full", self._table(["SHA-256", "File"], rows, "files"))

    def _table(self, header: list[str], rows: Sequence[tuple[str, ...]], what: str, earlier: int = 0) -> str:
        """At most a quarter of the page; says how many rows are missing. Empty without rows."""
        if not rows:
            return ""
        body, shown = table(header, rows, self._limit // 4)
        missing = f"\n\n{earlier + shown} of {earlier + len(rows)} {what} are shown; the results file has all."
        return body if shown == len(rows) else f"{body}{missing}"

    def _line(self, outside: str, limit: int) -> str:
        return self._redactor.one_line(outside, limit).strip()

    def _text(self, outside: str, limit: int = CELL) -> str:
        return text(self._line(outside, limit))

    def _code(self, outside: str) -> str:
        return code(self._line(outside, CELL))


def _details(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>" if body else ""


def _unbroken(quantity: str) -> str:
    """A number with its unit on one line, however narrow the column."""
    return quantity.replace(" ", "&#160;")


def _bytes(block: str) -> int:
    return len(block.encode("utf-8"))
