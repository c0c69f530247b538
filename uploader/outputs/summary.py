"""Renders the page that a run leaves in the CI system: what was sent where, how long it took, and
what came of it.

Pure: a report goes in, GitHub's Markdown comes out, never more than the platform takes. Failures
stand first, so that what is left out of a long page is what went well. Text from outside stays
text, as `markdown` and `charts` see to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from uploader.outputs.charts import MAX_NAME, bars, timeline
from uploader.outputs.markdown import MAX_SENTENCE, Escaper, details, diff, short_names, size_of
from uploader.outputs.opening import advice, opening, subject
from uploader.outputs.release_page import listing, notes, shares
from uploader.outputs.report import Report
from uploader.redaction import Redactor
from uploader.results import FileResult
from uploader.services.base import Section
from uploader.text import capitalised, format_size, plural

LIMIT = 1000 * 1024  # bytes of the whole page; GitHub drops a summary of more than 1 MiB
MAX_ROWS, MAX_LINES = 10, 40  # of a table, of a diff; the rest is folded
MAX_BULLETS = 50
IN_TABLES = ("plan", "status")  # outputs that the page's own tables show better
OMITTED = (
    "\n\nSome of this page was left out to stay within the size limit; see the log and "
    "`uploader-results.json`."
)


def render(report: Report, redactor: Redactor, limit: int = LIMIT) -> str:
    """The page as GitHub's Markdown, at most `limit` bytes; blocks that don't fit are left out,
    which the page says.
    """
    page = _Page(report, Escaper(redactor), limit)
    text = page.head()
    complete = True
    for block in filter(None, page.blocks()):
        if size_of(text) + size_of(block) + size_of(OMITTED) + 3 <= limit:
            text += f"\n\n{block}"
        else:
            complete = False
    return f"{text}{'' if complete else OMITTED}\n"


class _Page:
    """The parts of one page, in the order in which they are read."""

    def __init__(self, report: Report, escaper: Escaper, limit: int) -> None:
        self._report = report
        self._escaper = escaper
        self._limit = limit
        # stable: else in the order of `files`
        self._files = sorted(report.files, key=lambda file: not file.error)

    def head(self) -> str:
        """What became of the run, and which run it was."""
        report = self._report
        escaper = self._escaper
        lines = [opening(report, escaper), subject(report, escaper)]
        origin = self._run()
        if origin:
            lines.append(origin)
        return "\n\n".join(lines)

    def _run(self) -> str:
        """The commit that the run was about, who started it, and how long it took."""
        report, escaper = self._report, self._escaper
        origin = report.provenance
        parts = []
        if origin.tag:
            parts.append(f"tag {escaper.code(origin.tag)}")
        if origin.commit:
            parts.append(f"commit {escaper.link(f'`{origin.commit[:8]}`', origin.commit_url)}")
        if origin.started_by:
            parts.append(f"started by {escaper.text(origin.started_by)}")
        if report.seconds:
            whom = "answers" if report.endpoint else "Google"
            took = f"took {report.seconds:.1f} s, {report.waited:.1f} s of it waiting for {whom}"
            parts.append(took)
        return capitalised(" · ".join(parts))

    def blocks(self) -> Iterator[str]:
        """Everything below the head; what is more important comes first."""
        report = self._report
        yield from advice(report, self._escaper)
        yield "\n".join(self._bullets(report.error.details if report.error else (), "❌"))
        yield " · ".join(self._escaper.link(label, url) for label, url in report.links)
        facts = [section.facts for section in report.sections if section.facts]
        for one in facts if len(facts) == 1 else ():
            yield shares(one, self._escaper)
        yield self._sent()
        for section in report.sections:
            yield from self._section(section)
        yield "\n".join(self._bullets(report.warnings, "⚠️"))
        yield timeline(report.files, self._escaper.redactor)
        yield self._outputs()
        yield self._digests()

    def _outputs(self) -> str:
        """The outputs that have a value, folded."""
        rows = []
        for name, value in self._report.outputs.items():
            if value and name not in IN_TABLES:
                rows.append((self._escaper.code(name), self._escaper.code(value)))
        return details("Outputs", self._table(["Output", "Value"], rows, "outputs"))

    def _digests(self) -> str:
        """The digest of each file, folded."""
        digested = [file for file in self._files if file.sha256]
        rows = [
            (self._escaper.code(file.sha256), self._escaper.code(file.path)) for file in digested
        ]
        return details("SHA-256", self._table(["SHA-256", "File"], rows, "files"))

    def _sent(self) -> str:
        """The table of what was sent; a version or an id has a column where a file has one."""
        in_listing: set[str] = set()
        for section in self._report.sections:
            if section.facts:
                in_listing |= section.facts.listing_files
        # The listing's own table shows its images; one that failed is told here all the same.
        files = [file for file in self._files if file.error or file.path not in in_listing]
        paths = [self._escaper.line(file.path, MAX_SENTENCE) for file in files]
        shortened = zip(paths, short_names(paths, MAX_NAME), strict=True)
        names = [path if len(path) <= MAX_NAME else name for path, name in shortened]
        versions = any(file.version for file in files)
        header = ["File", "Version" if versions else "Id", "Size", "Result"]
        rows = [self._file(*each, versions=versions) for each in zip(names, files, strict=True)]
        if not any(row[1] for row in rows):
            header, rows = [header[0], *header[2:]], [(row[0], *row[2:]) for row in rows]
        return self._folded(header, rows, "files")

    def _file(self, name: str, file: FileResult, *, versions: bool) -> tuple[str, ...]:
        size = format_size(file.bytes).replace(" ", "&#160;")
        return (
            self._escaper.code(name),
            self._escaper.code(file.version if versions else file.id),
            size,
            self._result(file),
        )

    def _result(self, file: FileResult) -> str:
        if file.error and file.timeline and file.timeline[-1].kind == "interrupted":
            return f"⏸️ interrupted, {self._escaper.text(file.timeline[-1].text)}"
        if file.error:
            what = self._report.error.what if self._report.error else ""
            before, told, _ = file.error.partition(what) if what else (file.error, "", "")
            return f"❌ {self._escaper.text(before or 'failed,')}{' see above' if told else ''}"
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
        title = f"### {self._escaper.text(section.title)}"
        if not section.header:
            lines = [
                self._escaper.redactor.one_line(line, MAX_SENTENCE) for (line,) in section.rows
            ]
            lines = [re.sub("^  (?=[-+~=?] )", "", line) for line in lines]
            more = details(f"{len(lines) - MAX_LINES} more lines", diff(lines[MAX_LINES:]))
            changes = diff(lines[:MAX_LINES])
            drawn = self._listing(section)
            if section.folded:
                blocks = [*drawn, changes, more, self._notes(section)]
                body = "\n\n".join(filter(None, blocks))
                return [details(self._escaper.text(section.title), body)]
            changes = f"{title}\n\n{changes}" if changes else ""
            return [*drawn, changes, more, self._notes(section)]
        # empty where the section has no row
        table = [tuple(map(self._escaper.text, row)) for row in section.table]
        charts = [bars(chart, self._escaper.redactor) for chart in section.charts]
        return (
            ["\n\n".join([title, *charts, self._folded(list(table[0]), table[1:], "rows")])]
            if table
            else []
        )

    def _notes(self, section: Section) -> str:
        """The release notes in full, folded."""
        return notes(section.facts, self._escaper) if section.facts else ""

    def _listing(self, section: Section) -> list[str]:
        """What becomes of the store listing."""
        if section.facts is None:
            return []
        blocks = [listing(section.facts, self._report.pictures, self._escaper)]
        if section.facts.listing_files:
            blocks.append(self._listing_files(section.facts.listing_files))
        return blocks

    def _listing_files(self, paths: frozenset[str]) -> str:
        """How many images of the store listing were sent."""
        images = [file for file in self._files if file.path in paths and not file.error]
        there = sum(file.reused for file in images)
        sent = len(images) - there
        parts = [f"{plural(sent, 'image')} sent"] if sent else []
        if there:
            parts.append(f"{there} there already")
        return ", ".join(parts)

    def _folded(self, header: list[str], rows: Sequence[tuple[str, ...]], what: str) -> str:
        """A table whose first rows are seen at once, and the others after a click."""
        rest = self._table(header, rows[MAX_ROWS:], what, earlier=MAX_ROWS)
        more = details(f"{len(rows) - MAX_ROWS} more {what}", rest)
        return "\n\n".join(filter(None, (self._table(header, rows[:MAX_ROWS], what), more)))

    def _table(
        self, header: list[str], rows: Sequence[tuple[str, ...]], what: str, earlier: int = 0
    ) -> str:
        """Whole rows, at most a quarter of the page; says how many are missing. Empty without
        rows.
        """
        lines = [f"| {' | '.join(header)} |", f"| {' | '.join(['---'] * len(header))} |"]
        left = self._limit // 4 - sum(size_of(line) + 1 for line in lines)
        for row in rows:
            line = f"| {' | '.join((*row, *[''] * len(header))[: len(header)])} |"
            left -= size_of(line) + 1
            if left < 0:
                missing = f"{earlier + len(lines) - 2} of {earlier + len(rows)} {what} are shown"
                return "\n".join([*lines, "", f"{missing}; the results file has all."])
            lines.append(line)
        return "\n".join(lines) if rows else ""

    def _bullets(self, texts: Sequence[str], mark: str) -> list[str]:
        lines = [
            f"- {mark} {self._escaper.text(words, MAX_SENTENCE)}" for words in texts[:MAX_BULLETS]
        ]
        return lines + (
            [f"- and {len(texts) - MAX_BULLETS} more"] if len(texts) > MAX_BULLETS else []
        )
