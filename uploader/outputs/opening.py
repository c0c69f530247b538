"""The top of the summary: what became of the release, in one line, and what to do.

The service's own reason for a refusal is shown; details that only help with debugging, such as the
number of an edit or a status code, are folded. No text is shortened here unless the page has all of
it elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from uploader.errors import ApiError, InputError, Interrupted, UploaderError
from uploader.outputs.markdown import MAX_CELL, Escaper, alert, details, link
from uploader.outputs.report import Report
from uploader.services.base import Heading
from uploader.text import capitalise, sentence

MAX_HEADING = 120  # characters of a sentence from outside in a heading
MAX_APPS = 10  # that are named
_MARKS = {
    "done": "✅",
    "held": "⏸️",
    "halted": "🛑",
    "attention": "⚠️",
}
_NOTHING_PUBLISHED = "NOTHING WAS PUBLISHED"
_BANNERS = {
    "dry-run": f"# {_NOTHING_PUBLISHED}\n\n**Dry run.** ",
    "rehearsal": f"# {_NOTHING_PUBLISHED}\n\n**Rehearsal against the embedded emulator.** ",
}
# details that only help with debugging: an edit's number, the code of an answer
_TECHNICAL = re.compile(r"\bedit \d{5,}|\(\d{3}(?:, \w+)?\)")
_APP_PAGES = "https://play.google.com/console/developers/app"
# The pages of the Play Console that advice names. Their addresses need neither the number of the
# developer nor that of the app: the Play Console asks which app is meant.
_PAGES = {
    "Android vitals": f"{_APP_PAGES}/vitals/metrics/overview",
    "App content": f"{_APP_PAGES}/app-content/summary",
    "Latest releases and bundles": f"{_APP_PAGES}/releases/overview",
    "Publishing overview": f"{_APP_PAGES}/publishing",
    "Users and permissions": "https://play.google.com/console/developers/users-and-permissions",
}


def opening(report: Report, escaper: Escaper) -> str:
    """Return the heading of the page."""
    heading = _heading(report)
    if heading and report.outcome == "dry-run":
        mark = "📝"
        if heading.mark == "halted":
            mark = "🛑"
        words = escaper.text(heading.text)
        title = f"## {mark} Dry run: {words}"
        return f"{title}\n\n**{_NOTHING_PUBLISHED}.**"
    if report.outcome in _BANNERS:
        banner = _BANNERS[report.outcome]
        words = escaper.text(_summary_line(report))
        return f"{banner}{words}"
    if heading is None:
        return _without_release(report, escaper)
    mark = _MARKS[heading.mark]
    words = escaper.text(heading.text)
    return f"## {mark} {words}"


def subject(report: Report, escaper: Escaper) -> str:
    """Return the line that names the app and the target of the run."""
    parts = []
    packages = report.apps[:MAX_APPS]
    names = [escaper.code(package) for package in packages]
    more = len(report.apps) - MAX_APPS
    if more > 0:
        names.append(f"and {more} more")
    if len(names) > 1:
        apps = ", ".join(names)
        parts.append(f"Apps: {apps}")
    elif names:
        app = names[0]
        if report.app_title:
            title = escaper.text(report.app_title)
            app = f"{title} ({app})"
        parts.append(f"App: {app}")
    target = f"Target: {escaper.code(report.target)}"
    if report.endpoint:
        endpoint = escaper.code(report.endpoint)
        target += f" at {endpoint}"
    parts.append(target)
    return " · ".join(parts)


def _heading(report: Report) -> Heading | None:
    """Return what became of the release; None if that is unknown, or if the run failed after a
    release that was done.
    """
    heading = report.heading
    if heading is None:
        return None
    if report.error and heading.mark == "done":
        return None
    return heading


def _without_release(report: Report, escaper: Escaper) -> str:
    """Return the heading of a run that has no heading about a release."""
    if report.error is None:
        headline = _without_stop(report.headline)
        words = escaper.text(headline)
        return f"## ✅ {words}"
    mark = "❌"
    if isinstance(report.error, Interrupted):
        mark = "⏸️"
    failure = _failure(report, report.error)
    words = escaper.text(failure)
    return f"## {mark} {words}"


def _summary_line(report: Report) -> str:
    """Return what happened, in a sentence that is short enough for the top of the page."""
    error = report.error
    if error is None:
        return sentence(report.headline)
    if len(error.what) > MAX_CELL:
        return error.title
    return sentence(error.what)


def _failure(report: Report, error: UploaderError) -> str:
    """Return what did not happen, as far as the report knows it, and why, for a heading."""
    fate = report.fate
    reason = _known_reason(error)
    if not fate:
        return capitalise(reason) or _in_brief(error)
    if not reason and len(report.apps) > 1 and _message(error):
        # The fates of several apps are long, and the service's own words are shown below.
        return fate
    words = reason or _in_brief(error)
    # Several sentences still have their last full stop here.
    words = words.rstrip(".")
    return f"{fate}: {words}"


def _known_reason(error: UploaderError) -> str:
    """Return the reason for a failure if the table of errors has it, in a few words that begin in
    lower case; else "".
    """
    if _is_only_cancelled(error):
        return "the job was cancelled"
    if isinstance(error, InputError):
        return ""
    # The table is large, and most runs don't need it.
    from uploader import error_table

    return error_table.briefly(error.code)


def _is_quoted(error: UploaderError) -> bool:
    """Return whether the cause only repeats the service's own message, which the page quotes."""
    if not _message(error):
        return False
    from uploader import error_table

    return error_table.is_said_by_google(error.code)


def _is_only_cancelled(error: UploaderError) -> bool:
    """Return whether a failure says nothing except that the job was cancelled."""
    if not isinstance(error, Interrupted):
        return False
    only_cancelled = Interrupted(error.signal_number)
    return error.what == only_cancelled.what


def _in_brief(error: UploaderError) -> str:
    """Return why the run failed, in as few words as possible."""
    message = _message(error)
    if 0 < len(message) <= MAX_HEADING:
        return _without_stop(message)
    first, _, _ = error.what.partition("; ")
    if len(first) > MAX_HEADING:
        return error.title
    if _TECHNICAL.search(first):
        return error.title
    return _without_stop(first)


def _without_stop(words: str) -> str:
    """Return a sentence without its full stop, for a heading; several sentences keep theirs."""
    if ". " in words:
        return sentence(words)
    words = words.strip()
    return words.rstrip(".")


def _message(error: UploaderError) -> str:
    """Return the service's own words for why it refused; "" if it gave none."""
    if isinstance(error, ApiError):
        return error.message.strip()
    return ""


def advice(report: Report, escaper: Escaper) -> list[str]:
    """Return the blocks below the heading: what to do, why, and what is folded."""
    if report.error:
        return _of_failure(report, report.error, escaper)
    blocks = []
    more = _more_than_heading(report)
    if report.todo:
        todo = escaper.prose(report.todo)
        pages = _pages_in(report.todo)
        paragraphs = [f"**What to do:** {todo}"]
        paragraphs += _links_to(pages)
        blocks.append(alert("IMPORTANT", paragraphs))
    if more:
        blocks.append(escaper.prose(more))
    if report.heading:
        blocks.append(_note(report.heading, escaper))
    return blocks


def _note(heading: Heading, escaper: Escaper) -> str:
    """Return a block that explains the heading and says where to look; "" if there is nothing to
    add.
    """
    paragraphs = []
    if heading.why:
        reason = sentence(heading.why)
        paragraphs.append(escaper.prose(reason))
    links = _links_to(heading.pages)
    if links:
        paragraphs.append(" · ".join(links))
    return alert("NOTE", paragraphs)


def _more_than_heading(report: Report) -> str:
    """Return what the last line of the log says beyond the heading."""
    headline = report.headline
    if report.heading is None or report.outcome == "rehearsal":
        if len(headline) <= MAX_CELL:
            return ""
        return headline
    before, heading, after = headline.partition(report.heading.text)
    if heading:
        return after.lstrip(". ")
    return before


def _of_failure(
    report: Report,
    error: UploaderError,
    escaper: Escaper,
) -> list[str]:
    """Return the blocks about a failure: what happened unless the heading says it, what to do, and
    the likely cause. What only helps with debugging is folded.
    """
    paragraphs = _what_happened(report, error, escaper)
    if error.hint:
        hint = _paragraph("What to do", error.hint, escaper)
        paragraphs.append(hint)
    if error.cause and not _is_quoted(error):
        cause = _paragraph("Likely cause", error.cause, escaper)
        paragraphs.append(cause)
    links = _links_of_failure(report, error)
    paragraphs.append(" · ".join(links))
    kind = "CAUTION"
    if isinstance(error, Interrupted):
        # Nobody has done anything wrong.
        kind = "IMPORTANT"
    blocks = [alert(kind, paragraphs)]
    if not _TECHNICAL.search(error.what):
        return blocks
    if not _is_in_heading(error.what, report, escaper):
        happened = sentence(error.what)
        shown = escaper.prose(happened)
        folded = details("What happened, with codes and numbers", shown)
        blocks.append(folded)
    return blocks


def _links_of_failure(report: Report, error: UploaderError) -> list[str]:
    """Return the failure's code, as a link to what the documentation says about it, and links to
    the pages of the Play Console that the advice or the heading names.
    """
    address = report.troubleshooting
    if address:
        address += f"#{error.code}"
    code = link(f"`{error.code}`", address)
    failure = f"**Failure:** {code}"
    if isinstance(error, Interrupted):
        failure += f" ({error.signal_name})"
    pages = _pages_in(f"{error.hint} {error.cause}")
    if report.heading:
        pages += report.heading.pages
    links = [failure]
    links += _links_to(pages)
    return links


def _what_happened(
    report: Report,
    error: UploaderError,
    escaper: Escaper,
) -> list[str]:
    """Return what happened, unless the heading says it. If that has codes or numbers, return only
    the service's own words.
    """
    label = "What happened"
    words = error.what
    if _is_only_cancelled(error):
        # The heading says it, and the signal stands beside the failure's code.
        return []
    if _TECHNICAL.search(error.what):
        label = "Google says"
        words = _message(error)
        package, _, _ = error.what.partition(": ")
        is_one_of_several = len(report.apps) > 1 and package in report.apps
        if words and is_one_of_several:
            label += f" ({package})"
            return [_paragraph(label, words, escaper)]
    if not words:
        return []
    if _is_in_heading(words, report, escaper):
        return []
    return [_paragraph(label, words, escaper)]


def _is_in_heading(
    words: str,
    report: Report,
    escaper: Escaper,
) -> bool:
    without_stop = words.rstrip(".")
    shown = escaper.text(without_stop, len(words))
    return shown in opening(report, escaper)


def _paragraph(label: str, words: str, escaper: Escaper) -> str:
    shown = escaper.prose(sentence(words))
    return f"**{label}:** {shown}"


def _pages_in(words: str) -> list[str]:
    """Return the pages of the Play Console that are named in a text."""
    return [name for name in _PAGES if name in words]


def _links_to(pages: Iterable[str]) -> list[str]:
    """Return a link to each of these pages of the Play Console, once."""
    links = []
    for name in dict.fromkeys(pages):
        label = f"{name} in the Play Console"
        links.append(link(label, _PAGES[name]))
    return links
