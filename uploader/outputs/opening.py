"""The top of the summary: what became of the release, in one line, and what to do.

Details that only help to find a fault, such as the number of an edit or a status code, are folded.
No text is shortened here unless the page has all of it elsewhere.
"""

from __future__ import annotations

import re

from uploader import error_table
from uploader.errors import ApiError, UploaderError
from uploader.outputs.markdown import MAX_CELL, Escaper, alert, details, link
from uploader.outputs.report import Report
from uploader.services.base import Heading
from uploader.text import sentence

MAX_HEADING = 120  # characters of a sentence from outside in a heading
_MARKS = {"done": "✅", "held": "⏸️", "halted": "🛑", "attention": "⚠️"}
_NOTHING_PUBLISHED = "NOTHING WAS PUBLISHED"
_BANNERS = {
    "dry-run": f"# {_NOTHING_PUBLISHED}\n\n**Dry run.** ",
    "rehearsal": f"# {_NOTHING_PUBLISHED}\n\n**Rehearsal against the embedded emulator.** ",
}
# what is of use to somebody who looks for a fault: an edit's number, the code of an answer
_TECHNICAL = re.compile(r"\bedit \d{5,}|\(\d{3}(?:, \w+)?\)")
_APP_PAGES = "https://play.google.com/console/developers/app"
# The pages of the Play Console that advice names. Their addresses need neither the number of the
# developer nor that of the app: the Play Console asks which app is meant.
_PAGES = {
    "App content": f"{_APP_PAGES}/app-content/summary",
    "Publishing overview": f"{_APP_PAGES}/publishing",
    "Users and permissions": "https://play.google.com/console/developers/users-and-permissions",
}
_VITALS = f"{_APP_PAGES}/vitals/metrics/overview"


def opening(report: Report, escaper: Escaper) -> str:
    """The heading."""
    heading = _heading(report)
    if report.outcome in _BANNERS and not (heading and report.outcome == "dry-run"):
        return f"{_BANNERS[report.outcome]}{escaper.text(_told(report))}"
    if heading is None:
        return f"## ❌ {escaper.text(_failure(report))}" if report.error else _good(report, escaper)
    words = escaper.text(heading.text)
    if report.outcome == "dry-run":
        mark = "🛑" if heading.mark == "halted" else "📝"
        return f"## {mark} Dry run: {words}\n\n**{_NOTHING_PUBLISHED}.**"
    return f"## {_MARKS[heading.mark]} {words}"


def _heading(report: Report) -> Heading | None:
    """What became of the release, unless the failure of the run is what counts."""
    heading = report.heading
    if report.error and heading and heading.mark == "done":
        return None
    return heading


def _good(report: Report, escaper: Escaper) -> str:
    return f"## ✅ {escaper.text(sentence(report.headline))}"


def _told(report: Report) -> str:
    """What happened, in a sentence that is short enough for the top of the page."""
    error = report.error
    if error and len(error.what) > MAX_CELL:
        return error.title
    return sentence(error.what if error else report.headline)


def _failure(report: Report) -> str:
    """What did not happen, and why, in a few words."""
    assert report.error, "the run failed"
    words = _in_brief(report.error)
    if report.fate:
        return f"{report.fate}: {words.rstrip('.')}"
    return words


def _in_brief(error: UploaderError) -> str:
    """Why the run failed, as short as it can be said."""
    known = error_table.briefly(error.code)
    if known:
        return known
    if isinstance(error, ApiError) and 0 < len(error.message) <= MAX_HEADING:
        return sentence(error.message)
    first = error.what.partition("; ")[0]
    if len(first) <= MAX_HEADING and not _TECHNICAL.search(first):
        return sentence(first)
    return error.title


def advice(report: Report, escaper: Escaper) -> list[str]:
    """The blocks below the heading: what to do, and why, and what is folded."""
    told = opening(report, escaper)
    if report.error:
        return _of_failure(report, report.error, told, escaper)
    blocks = []
    more = _more_than_heading(report)
    if report.todo:
        paragraphs = [f"**What to do:** {escaper.prose(report.todo)}", *_console_pages(report.todo)]
        blocks.append(alert("IMPORTANT", paragraphs))
    if report.heading and report.heading.mark == "held":
        vitals = link("Android vitals in the Play Console", _VITALS)
        blocks.append(alert("NOTE", [escaper.prose(more), vitals]))
    elif more:
        blocks.append(escaper.prose(more))
    return blocks


def _more_than_heading(report: Report) -> str:
    """What the last line of the log says beyond the heading."""
    if report.heading is None or report.outcome == "rehearsal":
        return "" if len(report.headline) <= MAX_CELL else report.headline
    before, heading, after = report.headline.partition(report.heading.text)
    return after.lstrip(". ") if heading else before


def _of_failure(report: Report, error: UploaderError, told: str, escaper: Escaper) -> list[str]:
    """What to do first, then why; in full what happened, where the heading does not say it."""
    happened = escaper.prose(sentence(error.what))
    technical = bool(_TECHNICAL.search(error.what))
    shown = escaper.text(error.what.rstrip("."), len(error.what)) in told
    parts = [
        ("What happened", "" if technical or shown else error.what),
        ("What to do", error.hint),
        ("Likely cause", error.cause),
    ]
    paragraphs = [
        f"**{label}:** {escaper.prose(sentence(words))}" for label, words in parts if words
    ]
    page = report.troubleshooting
    code = link(f"`{error.code}`", f"{page}#{error.code}" if page else "")
    pages = _console_pages(f"{error.hint} {error.cause}")
    paragraphs.append(" · ".join([f"**Failure:** {code}", *pages]))
    folded = details("What happened, with codes and numbers", happened)
    return [alert("CAUTION", paragraphs), folded if technical and not shown else ""]


def _console_pages(words: str) -> list[str]:
    """A link to each page of the Play Console that is named."""
    return [link(f"{name} in the Play Console", _PAGES[name]) for name in _PAGES if name in words]
