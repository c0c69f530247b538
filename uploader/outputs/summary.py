"""Render the page that a run leaves in the CI system: what was sent where, how long it took, and
what came of it.

Pure: a report goes in, GitHub's Markdown comes out, never more than the platform takes. Failures
come first, so that what is left out of a long page is what went well. `markdown` and `charts`
ensure that text from outside stays text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from uploader.errors import Interrupted
from uploader.outputs.charts import MAX_NAME, bars, timeline
from uploader.outputs.markdown import (
    MAX_SENTENCE,
    Escaper,
    details,
    diff,
    short_names,
    size_of,
    table_row,
    unbroken,
)
from uploader.outputs.opening import advice, opening, subject
from uploader.outputs.release_page import listing, notes, shares
from uploader.outputs.report import Report
from uploader.redaction import Redactor
from uploader.results import FileResult
from uploader.services.base import Section
from uploader.services.release_facts import ReleaseFacts
from uploader.text import capitalise, format_size, plural

# bytes of the whole page; GitHub drops a summary of more than 1 MiB
LIMIT = 1000 * 1024
MAX_ROWS = 10  # of a table; the rest is folded
MAX_LINES = 40  # of a diff; the rest is folded
MAX_BULLETS = 50
# seconds of waiting; less would be shown as none
SHORTEST_SHOWN = 0.05
# outputs that the page's own tables show better
IN_TABLES = ("plan", "status", "apps")
# The values of outputs if nothing unusual happened, or no file was sent. They are not shown.
USUAL = {
    "bytes-uploaded": ("0",),
    "bytes-resent": ("0",),
    "attempts": ("0", "1"),
    "resumed": ("false",),
    "rehearsal": ("false",),
}
# The output with one value, by the output that lists all. A list of only that value is not shown.
OF_ONE = {
    "ids": "id",
    "version-codes": "version-code",
    "download-urls": "download-url",
}
OMITTED = (
    "\n\nSome of this page was left out to stay within the size limit; see the log and "
    "`uploader-results.json`."
)


def render(
    report: Report,
    redactor: Redactor,
    limit: int = LIMIT,
) -> str:
    """Return the page as GitHub's Markdown, at most `limit` bytes. Blocks that don't fit are left
    out, and the page says so.
    """
    page = _Page(report, Escaper(redactor), limit)
    text = page.head()
    is_complete = True
    for block in page.blocks():
        if not block:
            continue
        # with the empty line before the block, and the line break that ends the page
        needed = size_of(text) + size_of(block) + 3
        needed += size_of(OMITTED)
        if needed <= limit:
            text += f"\n\n{block}"
        else:
            is_complete = False
    if not is_complete:
        text += OMITTED
    return f"{text}\n"


class _Page:
    """The parts of one page, in the order in which they are read."""

    def __init__(
        self,
        report: Report,
        escaper: Escaper,
        limit: int,
    ) -> None:
        self._report = report
        self._escaper = escaper
        self._limit = limit
        # Failed files come first; otherwise the order is that of `files`.
        self._files = sorted(report.files, key=lambda file: not file.error)

    def head(self) -> str:
        """Return what became of the run, and which run it was."""
        report = self._report
        escaper = self._escaper
        lines = [
            opening(report, escaper),
            subject(report, escaper),
        ]
        origin = self._run()
        if origin:
            lines.append(origin)
        return "\n\n".join(lines)

    def _run(self) -> str:
        """Return the commit that the run was about, who started it, and how long it took."""
        report = self._report
        escaper = self._escaper
        origin = report.provenance
        parts = []
        if origin.tag:
            tag = escaper.code(origin.tag)
            parts.append(f"tag {tag}")
        if origin.commit:
            short_sha = origin.commit[:8]
            commit = escaper.link(f"`{short_sha}`", origin.commit_url)
            parts.append(f"commit {commit}")
        if origin.started_by:
            person = escaper.text(origin.started_by)
            parts.append(f"started by {person}")
        if report.seconds:
            whom = "Google"
            if report.endpoint:
                whom = "answers"
            duration = f"took {report.seconds:.1f} s"
            if report.waited >= SHORTEST_SHOWN:
                duration += f", {report.waited:.1f} s of it waiting for {whom}"
            parts.append(duration)
        return capitalise(" · ".join(parts))

    def blocks(self) -> Iterator[str]:
        """Yield the blocks below the head, the most important first. A block can be empty."""
        report = self._report
        yield from advice(report, self._escaper)
        if report.error:
            yield self._bullets(report.error.details, "❌")
        links = [self._escaper.link(label, url) for label, url in report.links]
        yield " · ".join(links)
        yield self._shares()
        yield self._sent_files()
        for section in report.sections:
            yield from self._section(section)
        yield self._bullets(report.warnings, "⚠️")
        yield self._timeline()
        yield self._outputs()
        yield self._digests()

    def _shares(self) -> str:
        """Return the share of users who are offered each version; "" for a run about several apps,
        since the table of apps has the shares, and for a failed run that only planned them.
        """
        report = self._report
        facts = [section.facts for section in report.sections if section.facts]
        if len(facts) != 1:
            return ""
        (release,) = facts
        if report.outcome == "failed" and release.planned:
            # Planned shares would be mistaken for what users have, or for how much of a file was
            # sent.
            return ""
        return shares(release, self._escaper)

    def _timeline(self) -> str:
        """Return the timeline of the uploads; folded if every file arrived."""
        files = self._report.files
        chart = timeline(files, self._escaper.redactor)
        if not chart:
            return ""
        errors = [file.error for file in files]
        if any(errors):
            return f"### Timeline\n\n{chart}"
        return details("Timeline", chart)

    def _outputs(self) -> str:
        """Return the outputs that are unusual and not on the page yet, folded."""
        escaper = self._escaper
        outputs = self._report.outputs
        rows = []
        for name, value in outputs.items():
            if _says_something(name, outputs):
                output = escaper.code(name)
                shown = escaper.code(value)
                rows.append((output, shown))
        header = ["Output", "Value"]
        table = self._table(header, rows, "outputs")
        return details("Outputs", table)

    def _digests(self) -> str:
        """Return the digest of each file, folded."""
        escaper = self._escaper
        rows = []
        for file in self._files:
            if file.sha256:
                digest = escaper.code(file.sha256)
                path = escaper.code(file.path)
                rows.append((digest, path))
        header = ["SHA-256", "File"]
        table = self._table(header, rows, "files")
        return details("SHA-256", table)

    def _sent_files(self) -> str:
        """Return the table of what was sent, with a column for the versions, or else the ids, if
        any file has one.
        """
        files = self._files_outside_listing()
        names = self._names(files)
        kind = "Version"
        identifiers = [file.version for file in files]
        if not any(identifiers):
            kind = "Id"
            identifiers = [file.id for file in files]
        has_identifiers = any(identifiers)
        header = ["File", "Size", "Result"]
        if has_identifiers:
            header.insert(1, kind)
        rows = []
        for name, identifier, file in zip(names, identifiers, files, strict=True):
            row = [
                self._escaper.code(name),
                _size(file),
                self._result(file),
            ]
            if has_identifiers:
                shown = self._escaper.code(identifier)
                row.insert(1, shown)
            rows.append(tuple(row))
        return self._fold_rows(header, rows, "files")

    def _files_outside_listing(self) -> list[FileResult]:
        """Return the files for the table of files: all but the images of the listing, which has a
        table of its own. An image that failed is included.
        """
        in_listing: set[str] = set()
        for section in self._report.sections:
            if section.facts:
                in_listing |= section.facts.listing_files
        return [
            file for file in self._files if file.error or file.path not in in_listing
        ]

    def _names(self, files: Sequence[FileResult]) -> list[str]:
        """Return the paths of files; those that are long are shortened."""
        paths = [self._escaper.line(file.path, MAX_SENTENCE) for file in files]
        names = short_names(paths, MAX_NAME)
        for place, path in enumerate(paths):
            if len(path) <= MAX_NAME:
                names[place] = path
        return names

    def _result(self, file: FileResult) -> str:
        """Return what became of a file."""
        if file.error:
            return self._failure(file)
        if file.reused:
            return "was there already"
        result = "sent"
        if self._report.outcome == "dry-run":
            result = "checked, then deleted with the edit"
        if file.retries == 1:
            result += " after 1 retry"
        elif file.retries:
            result += f" after {file.retries} retries"
        if file.resumed_from is not None:
            offset = format_size(file.resumed_from)
            result += f", resumed at {offset}"
        if file.bytes_resent:
            resent = format_size(file.bytes_resent)
            result += f", {resent} of it sent again"
        return result

    def _failure(self, file: FileResult) -> str:
        """Return why a file was not sent, without repeating what the top of the page says."""
        escaper = self._escaper
        if file.timeline:
            last = file.timeline[-1]
            if last.kind == "interrupted":
                reason = escaper.text(last.text)
                return f"⏸️ stopped, {reason}"
        error = self._report.error
        mark = "❌"
        if isinstance(error, Interrupted):
            mark = "⏸️"
        what = ""
        if error:
            what = error.what
        if not what or what not in file.error:
            reason = escaper.text(file.error)
            return f"{mark} {reason}"
        before, _, _ = file.error.partition(what)
        if not before:
            before = "failed,"
        beginning = escaper.text(before)
        return f"{mark} {beginning} see above"

    def _section(self, section: Section) -> list[str]:
        """Return the blocks of a section: its charts above its table, or a diff."""
        if section.header:
            return [self._measurements(section)]
        title = self._escaper.text(section.title)
        blocks = self._listing(section)
        lines = self._diff_lines(section)
        changes = diff(lines[:MAX_LINES])
        if changes and not section.folded:
            changes = f"### {title}\n\n{changes}"
        blocks.append(changes)
        more_lines = lines[MAX_LINES:]
        count = len(more_lines)
        more_changes = diff(more_lines)
        blocks.append(details(f"{count} more lines", more_changes))
        if section.facts:
            blocks.append(notes(section.facts, self._escaper))
        if not section.folded:
            return blocks
        body = "\n\n".join(block for block in blocks if block)
        return [details(title, body)]

    def _diff_lines(self, section: Section) -> list[str]:
        """Return the lines of a plan, with their signs at the beginning, where GitHub looks for
        them.
        """
        lines = []
        for (row,) in section.rows:
            line = self._escaper.redactor.one_line(row, MAX_SENTENCE)
            unindented = re.sub("^  (?=[-+~=?] )", "", line)
            lines.append(unindented)
        return lines

    def _measurements(self, section: Section) -> str:
        """Return the charts of a section above its table; "" if the table has no row."""
        if not section.table:
            return ""
        title = self._escaper.text(section.title)
        redactor = self._escaper.redactor
        blocks = [f"### {title}"]
        blocks += [bars(chart, redactor) for chart in section.charts]
        header, *rows = map(self._cells, section.table)
        table = self._fold_rows(header, rows, "rows")
        blocks.append(table)
        return "\n\n".join(blocks)

    def _cells(self, row: Sequence[str]) -> tuple[str, ...]:
        cells = []
        for cell in row:
            shown = self._escaper.text(cell)
            cells.append(unbroken(shown))
        return tuple(cells)

    def _listing(self, section: Section) -> list[str]:
        """Return the table of the changes of the store listing, and a line about its images."""
        if section.facts is None:
            return []
        pictures = self._report.pictures
        table = listing(section.facts, pictures, self._escaper)
        images = self._listing_images(section.facts)
        return [table, images]

    def _listing_images(self, facts: ReleaseFacts) -> str:
        """Return how many images of the store listing were sent, were there, and were removed."""
        sent = 0
        reused = 0
        for file in self._files:
            if file.error or file.path not in facts.listing_files:
                continue
            if file.reused:
                reused += 1
            else:
                sent += 1
        removed = sum(image.removed for image in facts.images)
        parts = []
        if sent:
            images = plural(sent, "image")
            parts.append(f"{images} sent")
        if reused:
            parts.append(f"{reused} there already")
        if removed and facts.planned:
            parts.append(f"{removed} to be removed")
        elif removed:
            parts.append(f"{removed} removed")
        return ", ".join(parts)

    def _fold_rows(
        self,
        header: Sequence[str],
        rows: Sequence[tuple[str, ...]],
        what: str,
    ) -> str:
        """Return a table whose first rows are visible; the others are folded."""
        first_rows = rows[:MAX_ROWS]
        table = self._table(header, first_rows, what)
        more_rows = rows[MAX_ROWS:]
        if not more_rows:
            return table
        more_table = self._table(
            header,
            more_rows,
            what,
            earlier=MAX_ROWS,
        )
        count = len(more_rows)
        folded = details(f"{count} more {what}", more_table)
        return f"{table}\n\n{folded}"

    def _table(
        self,
        header: Sequence[str],
        rows: Sequence[tuple[str, ...]],
        what: str,
        earlier: int = 0,
    ) -> str:
        """Return a table of at most a quarter of the page; "" without rows. If rows are left out, a
        line below it says so. `earlier` is how many rows are in a table above it.
        """
        if not rows:
            return ""
        rule = ["---"] * len(header)
        lines = [
            table_row(header),
            table_row(rule),
        ]
        size = size_of("\n".join(lines))
        limit = self._limit // 4
        for number, row in enumerate(rows):
            line = table_row(row)
            size += 1 + size_of(line)
            if size >= limit:
                last = earlier + number
                count = earlier + len(rows)
                shown = f"{last} of {count} {what} are shown"
                lines += ["", f"{shown}; the results file has all."]
                break
            lines.append(line)
        return "\n".join(lines)

    def _bullets(self, texts: Sequence[str], mark: str) -> str:
        """Return a list of sentences, each after a mark."""
        lines = []
        for words in texts[:MAX_BULLETS]:
            shown = self._escaper.text(words, MAX_SENTENCE)
            lines.append(f"- {mark} {shown}")
        more = len(texts) - MAX_BULLETS
        if more > 0:
            lines.append(f"- and {more} more")
        return "\n".join(lines)


def _says_something(name: str, outputs: Mapping[str, str]) -> bool:
    """Return whether an output has a value that is neither usual nor on the page already."""
    value = outputs[name]
    if not value:
        return False
    if name in IN_TABLES:
        return False
    if name in USUAL and value in USUAL[name]:
        return False
    if name in OF_ONE:
        name_of_one = OF_ONE[name]
        return value != outputs.get(name_of_one)
    return True


def _size(file: FileResult) -> str:
    size = format_size(file.bytes)
    return size.replace(" ", "&#160;")
