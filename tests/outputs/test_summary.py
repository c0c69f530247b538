"""The job summary: what a release engineer wants to see, and nothing that text from outside could
make of the page.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.platforms import hostile, reading, tables, workflow_commands
from uploader.errors import ApiError, InputError, Interrupted, Problem, ReleaseTrouble
from uploader.outputs.charts import MAX_NAME
from uploader.outputs.markdown import link, unbroken
from uploader.outputs.report import Report
from uploader.outputs.summary import LIMIT, render
from uploader.redaction import Redactor
from uploader.results import FileResult, TimelineEvent
from uploader.services.base import Chart, Heading, Section

MIB = 1024 * 1024
SHA = "0123456789abcdef" * 4
BUNDLE = FileResult(
    "out/app-release.aab",
    30 * MIB,
    SHA,
    "edit-7",
    {"versionCode": 278},
    attempts=3,
    bytes_uploaded=30 * MIB,
    retries=2,
    seconds=10.0,
    version="1.4.2 (278)",
    timeline=(
        TimelineEvent(0.5, "sent", "", 4.0, 12 * MIB),
        TimelineEvent(4.5, "wait", "503: again in 2 s", 2.0),
        TimelineEvent(6.5, "sent", "", 3.5, 18 * MIB),
        TimelineEvent(10.0, "done", "version 278"),
    ),
)
RELEASE = Report(
    "Version 278 is on internal, beta.",
    "play",
    "ok",
    files=(BUNDLE,),
    outputs={"edit-id": "edit-7", "version-code": "278", "download-url": ""},
    links=(
        (
            "The app in the Play Console",
            "https://play.google.com/console/developers/app?id=com.example&x=(1)",
        ),
    ),
    sections=(
        Section(
            "Changes",
            (),
            (
                ("Track beta",),
                ("  + 1.4.2 (278): draft",),
                ("  - 277: halted",),
                ("```",),
            ),
        ),
        Section("Review", ("Track", "Name", "State"), (("beta", "", "in review"),)),
    ),
    warnings=("beta had a draft: it stays.",),
)


def page(report: Report = RELEASE, **changes: Any) -> str:
    return render(replace(report, **changes), Redactor(["hunter2-hunter2"]))


def test_table_of_what_was_sent() -> None:
    """File, version, size and result stand in one row for each file; what was sent again is said
    where it was.
    """
    header, row = tables(page())[0]
    assert header == ["File", "Version", "Size", "Result"]
    assert [reading(cell) for cell in row] == [
        "out/app-release.aab",
        "1.4.2 (278)",
        "30.0\xa0MiB",
        "sent after 2 retries",
    ]
    resumed = replace(BUNDLE, retries=1, bytes_resent=3 * MIB, resumed_from=8 * MIB)
    result = "sent after 1 retry, resumed at 8.0 MiB, 3.0 MiB of it sent again"
    assert tables(page(files=(resumed,)))[0][1][-1] == result
    other = replace(BUNDLE, retries=0, version="", id="file-7")
    header, row = tables(page(files=(other,)))[0]
    assert (header[1], row[1], row[3]) == ("Id", "`file-7`", "sent")


def test_rest_of_the_page() -> None:
    """Link, changes as a diff, tables, warnings, outputs that have a value and digests follow the
    files.
    """
    text = page()
    assert text.startswith("## ✅ Version 278 is on internal, beta\n\nTarget: `play`\n")
    assert (
        "[The app in the Play "
        "Console](<https://play.google.com/console/developers/app?id=com.example&x=%281%29>)"
        in text
    )
    assert "- ⚠️ beta had a draft: it stays." in text
    assert (
        "### Changes\n\n```diff\nTrack beta\n+ 1.4.2 (278): draft\n- 277: halted\n'''\n```\n"
        in text
    )
    sent, review, outputs, digests = tables(text)
    assert sent[0][0] == "File"
    assert review == [["Track", "State"], ["beta", "in review"]]
    assert outputs == [
        ["Output", "Value"],
        ["`edit-id`", "`edit-7`"],
        ["`version-code`", "`278`"],
    ]
    assert digests == [["SHA-256", "File"], [f"`{SHA}`", "`out/app-release.aab`"]]


def chart(text: str) -> list[str]:
    """The lines of the page's chart below its settings."""
    lines = text.split("```mermaid\n")[1].partition("\n```")[0].splitlines()
    assert json.loads(lines[0].removeprefix("%%{init: ").removesuffix("}%%"))["gantt"][
        "leftPadding"
    ]
    assert lines[1:3] == ["gantt", "    dateFormat x"]
    return [line.strip() for line in lines[3:]]


def test_timeline_shows_attempts_waits_and_bytes() -> None:
    """A Mermaid chart has one bar for each attempt and wait, from 0 on, in thousandths of the unit
    of its axis.
    """
    assert chart(page()) == [
        "axisFormat %s s",
        "tickInterval 1000millisecond",
        "todayMarker off",
        "section app-release.aab",
        "12.0 MiB sent :active, 0, 4000",
        "waited 2.0 s, 503, again in 2 s :done, 4000, 6000",
        "18.0 MiB sent, version 278 :active, 6000, 9500",
    ]


def test_timeline_is_folded_where_every_file_arrived() -> None:
    """One of a file that failed, or was stopped, is seen at once."""
    folded = "<details><summary>Timeline</summary>\n\n```mermaid\n"
    text = page()
    assert folded in text
    assert (
        text.split(folded)[1]
        .split("\n```\n", 1)[1]
        .startswith("\nBlue: sending · grey: waiting\n\n</details>\n")
    )
    failed = replace(BUNDLE, error="The connection broke.")
    text = page(files=(failed,), outcome="failed", error=ApiError("No.", status=400))
    assert "\n### Timeline\n\n```mermaid\n" in text
    assert folded not in text


def test_outputs_that_say_nothing_have_no_row() -> None:
    """What every run has that sent its files at once, and a list that has one thing alone."""
    usual = {
        "id": "278",
        "ids": "278",
        "committed": "false",
        "version-code": "278",
        "version-codes": "278",
        "bytes-resent": "0",
        "attempts": "1",
        "resumed": "false",
        "rehearsal": "false",
        "plan": "{}",
        "apps": "{}",
        "failure": "",
    }
    rows = tables(page(outputs=usual))[2][1:]
    assert [name for name, _ in rows] == ["`id`", "`committed`", "`version-code`"]
    unusual = {
        "id": "1",
        "ids": "1,2",
        "bytes-uploaded": "7",
        "bytes-resent": "8",
        "attempts": "2",
        "resumed": "true",
        "rehearsal": "true",
    }
    rows = tables(page(outputs=unusual))[2][1:]
    assert {name.strip("`"): value.strip("`") for name, value in rows} == unusual


def test_timeline_keeps_what_went_otherwise() -> None:
    """Requests that follow one another are one bar; no wait and no new beginning between them is
    left out.
    """
    chunks = [
        TimelineEvent(float(second), "sent", "", 1.0, MIB) for second in range(30)
    ]
    middle = [
        TimelineEvent(30.0, "wait", "503", 2.0),
        TimelineEvent(32.0, "restarted", "the session is gone"),
    ]
    moments = [
        *chunks,
        *middle,
        replace(chunks[0], at=33.0),
        replace(chunks[0], at=34.0),
    ]
    assert chart(page(files=(replace(BUNDLE, timeline=tuple(moments)),)))[4:] == [
        "30.0 MiB sent in 30 requests :active, 0, 30000",
        "waited 2.0 s, 503 :done, 30000, 32000",
        "starting over, the session is gone :crit, milestone, 32000, 32001",
        "2.0 MiB sent in 2 requests :active, 33000, 35000",
    ]


def test_timeline_shows_how_long_an_answer_took() -> None:
    """The wait for the response to a request is a bar of its own; of many requests in a row it is
    told in words.
    """
    request = TimelineEvent(0.0, "sent", "", 4.0, 12 * MIB)
    answer = TimelineEvent(4.0, "answer", "", 1.5)
    stored = TimelineEvent(5.5, "done", "stored and checked")
    resumed = TimelineEvent(0.0, "resumed", "at 1.0 MiB")
    assert chart(
        page(files=(replace(BUNDLE, timeline=(resumed, request, answer, stored)),))
    )[5:] == [
        "12.0 MiB sent :active, 0, 4000",
        "answer after 1.5 s, stored and checked :done, 4000, 5500",
    ]
    several = []
    for number in range(4):
        several += [
            replace(request, at=5.5 * number),
            replace(answer, at=5.5 * number + 4),
        ]
    few = chart(page(files=(replace(BUNDLE, timeline=(resumed, *several[:6])),)))
    assert len(few[5:]) == 6
    many = chart(page(files=(replace(BUNDLE, timeline=(resumed, *several)),)))
    assert many[5:] == [
        "48.0 MiB sent in 4 requests, 6.0 s of it waiting for answers :active, 0, 22000",
    ]


def test_timeline_says_what_its_colours_mean_and_can_be_read_in_dark_mode() -> None:
    """Words beside a bar have the colour of the page's theme, those in it are dark on a light bar;
    what no bar has is not explained.
    """
    text = page()
    settings = json.loads(text.split("%%{init: ")[1].partition("}%%")[0])
    assert "fill: inherit" in settings["themeCSS"]
    assert settings["themeVariables"]["taskTextDarkColor"] == "#1f2328"
    assert "\n```\n\nBlue: sending · grey: waiting\n" in text


def test_resumed_upload_shows_what_the_earlier_run_had_sent() -> None:
    """As a bar below the timeline: one part for each of the two runs."""
    resumed = replace(
        BUNDLE,
        resumed_from=12 * MIB,
        bytes_uploaded=18 * MIB,
        timeline=(
            TimelineEvent(0.0, "resumed", "at 12.0 MiB, sent by an earlier run"),
        ),
    )
    text = page(files=(resumed,))
    assert chart(text)[4:] == [
        "resumed at 12.0 MiB, sent by an earlier run :milestone, 0, 1"
    ]
    bar = "░░░░░░░░▓▓▓▓▓▓▓▓▓▓▓▓"
    told = "░ 12.0 MiB sent by an earlier run · ▓ 18.0 MiB by this one"
    assert f"`app-release.aab` `{bar}` {told}\n" in text


def test_interrupted_upload_has_not_failed() -> None:
    """Neither the table nor the timeline calls it so where a later run goes on with it."""
    ended = TimelineEvent(4.0, "interrupted", "8.0 of 30.0 MiB received and kept")
    error = Interrupted(15)
    file = replace(BUNDLE, error=error.what, timeline=(BUNDLE.timeline[0], ended))
    text = page(files=(file,), outcome="failed", error=error)
    told = "stopped, 8.0 of 30.0 MiB received and kept"
    assert tables(text)[0][1][-1] == f"⏸️ {told}"
    assert chart(text)[-1] == f"{told} :done, milestone, 3500, 3501"


@pytest.mark.parametrize("outcome", ["dry-run", "rehearsal"])
def test_nothing_was_published_in_large_letters(outcome: str) -> None:
    """A dry run and a rehearsal begin with a heading that nobody can miss, also when they fail."""
    for error in (None, ApiError("No.", status=403)):
        assert page(outcome=outcome, error=error).startswith(
            "# NOTHING WAS PUBLISHED\n"
        )


def test_failure_says_what_why_and_what_to_do() -> None:
    """A failed run shows Google's words once, the likely cause, the cure and the code; what failed
    comes first.
    """
    files = BUNDLE, FileResult("bad.apk", 5, error="not reached")
    error = ApiError(
        "Google said: Precondition check failed.",
        status=400,
        cause="No app.",
        hint="Create it.",
    )
    text = page(
        outcome="failed",
        headline=error.what,
        files=files,
        error=error,
        troubleshooting="https://x.example/T.md",
    )
    assert text.startswith("## ❌ Google said: Precondition check failed\n")
    assert text.count("Precondition") == 1
    assert (
        "> [!CAUTION]\n> **What to do:** Create it.\n>\n> **Likely cause:** No app.\n>\n"
        "> **Failure:** [`refused`](<https://x.example/T.md#refused>)\n\n"
    ) in text
    assert "> **Failure:** `refused`\n" in page(error=error)
    assert [row[0] for row in tables(text)[0]] == [
        "File",
        "`bad.apk`",
        "`out/app-release.aab`",
    ]
    assert tables(text)[0][1][-1] == "❌ not reached"


def test_long_story_of_a_failure_stands_below_its_kind() -> None:
    """A headline holds a sentence; what is longer is told in full below the kind of failure."""
    what = f"The rollout is halted: {'above the limit, ' * 30}says Google."
    text = page(outcome="failed", headline=what, error=ReleaseTrouble(what))
    assert text.startswith("## ❌ Release in trouble\n")
    assert f"> **What happened:** {what}\n" in text


def test_heading_says_what_became_of_the_release() -> None:
    """It has a mark for each fate; the sentence of the log follows where it says more."""
    marks = {"done": "✅", "held": "⏸️", "halted": "🛑", "attention": "⚠️"}
    for mark, shown in marks.items():
        heading = Heading("1.4.2 (42) stays at 5 %: too few users", mark)  # type: ignore[arg-type]  # every mark
        assert page(heading=heading).startswith(
            f"## {shown} 1.4.2 (42) stays at 5 %: too few users\n"
        )
    told = "com.example.app 1.4.2 (42) is released on beta. 41 was halted on beta."
    text = page(heading=Heading("1.4.2 (42) is released on beta"), headline=told)
    assert text.startswith(
        "## ✅ 1.4.2 (42) is released on beta\n\nTarget: `play`\n\n41 was halted"
    )
    text = page(
        heading=Heading("1.4.2 (42) is at 10 %"), headline="It goes from 5 % to 10 %."
    )
    assert "\n\nIt goes from 5 % to 10 %.\n\n" in text


def test_what_a_heading_leaves_out_is_a_note_with_the_pages_to_look_at() -> None:
    """Nothing in it is said twice; of a release that failed the pages stand beside the code."""
    vitals, releases = "Android vitals", "Latest releases and bundles"
    console = "https://play.google.com/console/developers/app"
    links = {
        vitals: f"[{vitals} in the Play Console](<{console}/vitals/metrics/overview>)",
        releases: f"[{releases} in the Play Console](<{console}/releases/overview>)",
    }
    text = "1.4.2 (42) stays at 5 %: too few users"
    held = Heading(text, "held", "Too few users have this release", (vitals,))
    told = page(headline=f"com.example.app on beta: {text}.", heading=held)
    assert (
        f"## ⏸️ {text}\n\nTarget: `play`\n\n"
        f"> [!NOTE]\n> Too few users have this release.\n>\n> {links[vitals]}\n" in told
    )
    without_why = Heading(text, "held", pages=(vitals,))
    told = page(headline=f"com.example.app on beta: {text}.", heading=without_why)
    assert f"> [!NOTE]\n> {links[vitals]}\n" in told
    halted = Heading("1.4.2 (42) halted at 5 %", "halted", pages=(vitals, releases))
    trouble = ReleaseTrouble("It is halted.", code="rollout-halted")
    told = page(outcome="failed", error=trouble, heading=halted)
    assert f"`rollout-halted` · {links[vitals]} · {links[releases]}\n" in told
    assert "[!NOTE]" not in told


def test_heading_of_a_dry_run_says_what_would_be() -> None:
    """Nobody takes it for a release: the words that nothing was published are large below it."""
    text = page(
        outcome="dry-run", heading=Heading("1.4.2 (42) would go to 10 % of production")
    )
    assert text.startswith(
        "## 📝 Dry run: 1.4.2 (42) would go to 10 % of production\n\n**NOTHING WAS PUBLISHED.**\n"
    )
    halted = Heading("1.4.2 (42) would be halted at 5 %", "halted")
    text = page(outcome="dry-run", heading=halted, error=ReleaseTrouble("It is bad."))
    assert text.startswith("## 🛑 Dry run: 1.4.2 (42) would be halted at 5 %\n")


def test_heading_of_a_trouble_is_that_of_the_release() -> None:
    """A halt is what became of the release, a refusal after it is not."""
    halted = Heading("1.4.2 (42) halted at 5 %", "halted")
    failed: dict[str, Any] = {
        "outcome": "failed",
        "error": ReleaseTrouble("The rollout is halted."),
    }
    assert page(heading=halted, **failed).startswith("## 🛑 1.4.2 (42) halted at 5 %\n")
    done = Heading("1.4.2 (42) is released on beta")
    assert page(heading=done, **failed).startswith("## ❌ The rollout is halted\n")


def test_refusal_is_brief_and_its_codes_are_folded() -> None:
    """What Google Play wants is in the heading, Google's own sentence in the open, the page of the
    Play Console beside the code, and the number of the edit and the answer's code in a fold.
    """
    message = "You must complete the health declaration form."
    what = f"The service refused the commit of edit {'7' * 20} (400, badRequest): {message}"
    error = ApiError(
        what, status=400, message=message, hint="Fill it in, under App content."
    )
    error = error.with_advice(code="health-declaration")
    text = page(outcome="failed", headline=what, error=error, fate="Not released")
    assert text.startswith(
        "## ❌ Not released: Google Play wants the health declaration\n"
    )
    console = "https://play.google.com/console/developers/app/app-content/summary"
    assert (
        f"`health-declaration` · [App content in the Play Console](<{console}>)\n"
        in text
    )
    assert (
        f"> [!CAUTION]\n> **Google says:** {message}\n>\n> **What to do:** Fill it in"
        in text
    )
    title = "<details><summary>What happened, with codes and numbers</summary>\n\n"
    assert f"{title}{what}\n\n</details>" in text
    assert "What happened:" not in text


@pytest.mark.parametrize(
    ("code", "is_shown"),
    [("artifact-debug-certificate", False), ("package-not-found", True)],
)
def test_a_cause_that_the_quoted_message_gives_is_left_out(
    code: str, is_shown: bool
) -> None:
    """One that says more than Google's message stays."""
    message = "The upload is refused for its signature."
    what = f"The service refused app.aab (403, forbidden): {message}"
    error = ApiError(what, status=403, message=message, cause="The cause.")
    text = page(outcome="failed", error=error.with_advice(code=code))
    assert ("**Likely cause:** The cause." in text) is is_shown


def test_refusal_whose_words_are_the_heading_does_not_repeat_them() -> None:
    """Google's sentence is told once where the heading has all of it."""
    what = (
        f"The service refused the commit of edit {'7' * 20} (403, forbidden): No quota"
    )
    text = page(outcome="failed", error=ApiError(what, status=403, message="No quota"))
    assert text.startswith("## ❌ No quota\n")
    assert "Google says" not in text


def test_first_lines_name_the_app() -> None:
    """By its package, and by its title where that is known; of many apps the first ten."""
    shop = "com.example.shop"
    assert "\n\nApp: `com.example.shop` · Target: `play`\n" in page(apps=(shop,))
    text = page(apps=(shop,), app_title="Shop & Co")
    assert "\n\nApp: Shop &#38; Co (`com.example.shop`) · Target: `play`\n" in text
    text = page(apps=("a.b", "a.c"), app_title="Shop", endpoint="http://127.0.0.1:1")
    assert "\n\nApps: `a.b`, `a.c` · Target: `play` at `http://127.0.0.1:1`\n" in text
    many = tuple(f"a.b{number}" for number in range(12))
    assert ", `a.b9`, and 2 more · Target: `play`\n" in page(apps=many)


def test_run_that_was_told_to_stop_has_not_failed() -> None:
    """It has the mark of a pause, what to do is no word of caution, and nobody has to know signals.
    What a signal kept from happening is told in full.
    """
    text = page(outcome="failed", error=Interrupted(15), fate="Not released")
    assert text.startswith("## ⏸️ Not released: the job was cancelled\n")
    assert (
        "> [!IMPORTANT]\n> **What to do:** Run again.\n>\n"
        "> **Failure:** `terminated` (SIGTERM)\n" in text
    )
    text = page(outcome="failed", error=Interrupted(2))
    assert text.startswith("## ⏸️ The job was cancelled\n")
    error = Interrupted(2).with_what(
        "It is NOT halted. The job was cancelled (SIGINT)."
    )
    text = page(outcome="failed", error=error)
    assert text.startswith("## ⏸️ It is NOT halted. The job was cancelled (SIGINT).\n")


@pytest.mark.parametrize(
    ("what", "message", "heading"),
    [
        ("Refused (403, forbidden): No quota", "No quota", "No quota"),
        (
            "Gave up on a.aab; last error: the server answered 503",
            "",
            "Gave up on a.aab",
        ),
        (f"The edit {'7' * 20} is gone", "", "Refused"),
        ("long " * 50, "", "Refused"),
    ],
    ids=["message", "first-clause", "number", "long"],
)
def test_heading_of_other_failures_is_short(
    what: str, message: str, heading: str
) -> None:
    """The service's own words, what happened, or else the kind of the failure."""
    error = ApiError(what, status=403, message=message)
    assert page(outcome="failed", error=error).startswith(f"## ❌ {heading}\n")
    told = page(outcome="failed", error=error, fate="Not released")
    assert told.startswith(f"## ❌ Not released: {heading}\n")


def test_what_did_not_happen_is_told_without_a_full_stop() -> None:
    """Neither one sentence of the service's own words ends with one, nor several."""
    for message in ("No quota.", "No quota. Ask for more."):
        what = f"Refused (403, forbidden): {message}"
        error = ApiError(what, status=403, message=message)
        text = page(outcome="failed", error=error, fate="Not released")
        heading, _, _ = text.partition("\n")
        assert heading == f"## ❌ Not released: {message[:-1]}"


def test_nothing_is_cut_that_stands_nowhere_else() -> None:
    """Behind many words stands the link that solves the problem, and it can be followed."""
    rest = (
        "//console.developers.google.com/apis/api/x.googleapis.com/overview?project=7"
    )
    address = f"Enable it by visiting https:{rest}"
    what = f"The rate is not known: {'the API has not been used. ' * 90}{address}"
    linked = f"[https&#58;{rest}](<https:{rest}>)"
    held = Heading("1 stays at 5 %: not known", "held", what)
    assert linked in page(headline=f"{held.text}.", heading=held)
    assert linked in page(outcome="failed", error=ReleaseTrouble(what))
    assert linked in page(outcome="failed", error=ReleaseTrouble("Short.", hint=what))
    evil = "Go to https://console.developers.google.com.e.vil/ or https://play.google.com/store now"
    assert "](<" not in page(outcome="failed", error=ReleaseTrouble(evil), links=())


def test_what_is_left_to_a_person_is_an_alert() -> None:
    """With a link to the page of the Play Console."""
    text = page(
        todo="Send it, under Publishing overview.", heading=Heading("1 is committed")
    )
    console = "https://play.google.com/console/developers/app/publishing"
    assert (
        "> [!IMPORTANT]\n> **What to do:** Send it, under Publishing overview.\n>\n"
        f"> [Publishing overview in the Play Console](<{console}>)\n"
    ) in text


def test_measurements_are_a_chart_above_their_table() -> None:
    """The bars that are over a limit are a series of another colour, and every limit is a line from
    edge to edge that has a name below the chart.
    """
    lines = (("limit 1.09 %", (1.09, 1.09)), ("1.5 times 41's", (0.9, 0.8)))
    rates = Chart(
        "Crash rate: in percent",
        ("01 Nov", "02 Nov"),
        (0.5, 2.1),
        (False, True),
        lines,
        "It is at least 1.8 %.",
    )
    table = Section(
        "Measurements", ("Day", "Rate"), (("1", "0.5 %"), ("2", "2.1 %")), (rates,)
    )
    text = page(sections=(table,))
    drawing, rest = text.split("```mermaid\n")[1].split("\n```", 1)
    assert drawing.splitlines()[1:] == [
        "xychart-beta",
        '    title "Crash rate, in percent"',
        '    x-axis [" ", "01 Nov", "02 Nov", "\u2800"]',
        "    y-axis 0 --> 2.31",
        "    bar [-1, 0.5, -1, -1]",
        "    bar [-1, -1, 2.1, -1]",
        "    line [1.09, 1.09, 1.09, 1.09]",
        "    line [0.9, 0.9, 0.8, 0.8]",
    ]
    legend = "Bars: grey within the limits, red over one · 🟧 limit 1.09 % · 🟪 1.5 times 41's"
    note = "It is at least 1.8 %."
    assert rest.startswith(f"\n\n{legend}\n\n{note}\n\n| Day | Rate |\n")


def test_table_does_not_break_a_share_or_a_date() -> None:
    """A percent sign stays beside its number, and a date on one line."""
    table = Section(
        "Measurements", ("Day", "limit 1.09 %"), (("2026-11-23", "at least 2 %"),)
    )
    header, row = tables(page(sections=(table,)))[1]
    assert header == ["Day", "limit 1.09\xa0%"]
    assert row == ["2026\u201111\u201123", "at least 2\xa0%"]


def test_what_changes_has_a_colour() -> None:
    """GitHub colours a line with an exclamation mark, and none with a tilde."""
    section = Section("Changes", (), (("Track beta",), ("  ~ 42: 5 % -> 10 %",)))
    assert "```diff\nTrack beta\n! 42: 5 % -> 10 %\n```" in page(sections=(section,))


def test_file_that_a_stopped_run_did_not_reach_has_not_failed() -> None:
    """It has the mark of a pause, as the heading has."""
    file = replace(BUNDLE, error="Not reached.", timeline=())
    text = page(files=(file,), outcome="failed", error=Interrupted(15))
    assert tables(text)[0][1][-1] == "⏸️ Not reached."


def test_several_mistakes_are_a_list_below_a_short_headline() -> None:
    """The heading counts them, each has a line of its own, and a list without end is cut with a
    word on the rest.
    """
    error = InputError(
        *(Problem(f"input-{number}", "is wrong.") for number in range(60))
    )
    text = page(outcome="failed", headline=error.what, error=error)
    assert text.startswith("## ❌ 60 inputs are wrong\n")
    assert "> **Failure:** `invalid-input`\n\n- ❌ input-0: is wrong.\n" in text
    assert "- ❌ input-49: is wrong.\n- and 10 more\n" in text


@example(name="\ufdd0", words="\ufdd0")
@given(hostile.filter(lambda name: len(Redactor().one_line(name)) <= MAX_NAME), hostile)
def test_hostile_text_stays_text(name: str, words: str) -> None:
    """Every cell shows exactly its text, made printable, as words without markup, HTML, link or
    mention.
    """
    file = replace(
        BUNDLE, path=name, id=name, version=name, retries=0, error=words, timeline=()
    )
    text = page(
        files=(file,),
        sections=(Section("Tracks", ("A", "B"), ((words, name), ("a", "b"))),),
    )
    shown = [Redactor().one_line(value).strip() for value in (name, words)]
    # in fixed width, without the backticks
    prose = [re.sub("(?<!`)`([^`]+)`(?!`)", r"\1", value) for value in shown]
    cells = [unbroken(value) for value in prose]
    header, row = tables(text)[0]
    assert len(row) == len(header)
    assert reading(row[0]) == shown[0]
    assert len(row) == 3 or reading(row[1]) == shown[0]
    assert reading(row[-1]).removeprefix("❌").strip() == (
        prose[1].strip() if words else "sent"
    )
    assert [reading(cell) for cell in tables(text)[1][1]] == cells[::-1]


reports = st.builds(
    partial(replace, RELEASE),
    headline=hostile,
    target=hostile,
    outcome=st.sampled_from(["ok", "failed"]),
    outputs=st.builds(lambda value: {"id": value}, hostile),
    links=st.tuples(
        st.tuples(hostile, st.builds("https://x.example/{}".format, hostile) | hostile)
    ),
    warnings=st.tuples(hostile),
)


@pytest.mark.slow
@given(reports)
def test_hostile_words_start_no_markup(report: Report) -> None:
    """No headline, warning, output or link makes HTML, a command or a block of its own."""
    text = render(report, Redactor())
    assert set(re.findall(r"(?<!\]\()<[^>]*>", text)) <= {
        "<details>",
        "<summary>",
        "</summary>",
        "</details>",
        "<code>",
        "</code>",
        "<!-- -->",
    }
    assert workflow_commands(text) == []
    assert "](<javascript" not in text
    assert not set(text) & set("\r\x1b\x85\u2028\u202e\u200b")


moments_of_any_kind = st.builds(
    TimelineEvent,
    at=st.floats(0, 1e9),
    kind=st.sampled_from(["sent", "wait", "failed"]),
    text=hostile,
    seconds=st.floats(0, 1e9),
)


@pytest.mark.slow
@given(st.lists(moments_of_any_kind, min_size=1, max_size=12))
def test_chart_is_well_formed(moments: list[TimelineEvent]) -> None:
    """Whatever a moment says and whenever it was, each line of the chart is a task with two
    increasing times.
    """
    text = page(files=(replace(BUNDLE, path="a:b\n```;#%%{", timeline=tuple(moments)),))
    if "```mermaid" not in text:  # nothing happened
        return
    assert chart(text)[3] == "section a, b_n, _"
    for line in chart(text)[4:]:
        task = re.fullmatch(
            r"(?:-?[\d.]+ [KMGT]?i?B sent|waited|failed)[\w .,()/+-]* :(?:[a-z, ]+, )?(\d+), (\d+)",
            line,
        )
        assert task
        assert int(task.group(1)) < int(task.group(2))


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "/relative",
        "file:///etc/passwd",
        "https://[",
        "data:text/html,x",
        "",
    ],
)
def test_link_to_nowhere_is_text(url: str) -> None:
    """Only web addresses become links."""
    assert link("label", url) == "label"


def test_secrets_do_not_reach_the_page() -> None:
    """A secret in any part of a report is masked, and so is a session URI's authority."""
    leak = "hunter2-hunter2"
    file = replace(
        BUNDLE,
        path=leak,
        id=leak,
        version=leak,
        error=leak,
        timeline=(TimelineEvent(0, "sent", leak, 1),),
    )
    text = page(
        headline=leak,
        target=leak,
        files=(file,),
        outputs={"id": leak},
        links=((leak, f"https://x.example/{leak}?upload_id=AB"),),
        sections=(
            Section(
                leak,
                (leak,),
                ((leak,),),
                (Chart(leak, (leak,), (1,), (True,), ((leak, (1,)),)),),
            ),
            Section(leak, (), ((leak,),)),
        ),
        warnings=(leak,),
        error=ApiError(leak, status=400, cause=leak),
    )
    assert leak not in text
    assert "upload_id=***" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["{}.png", "|`<&@" * 60 + "{}"], ids=["plain", "hostile"]
)
def test_ten_thousand_files_fit(name: str) -> None:
    """A page of ten thousand files stays below GitHub's limit, shows the failed ones, and says what
    is missing.
    """
    files = [replace(BUNDLE, path=name.format(number)) for number in range(10_000)]
    files[9_999] = replace(files[9_999], error="the one that failed")
    text = page(files=tuple(files))
    assert len(text.encode("utf-8")) <= LIMIT < MIB
    assert tables(text)[0][1][-1] == "❌ the one that failed"
    assert re.search(
        r"\n\d+ of 10000 files are shown; the results file has all\.", text
    )


@pytest.mark.slow
@given(st.integers(2_000, 12_000))
def test_small_page_leaves_out_blocks_and_says_so(limit: int) -> None:
    """Where the room is small the page has whole blocks only, the most important ones, and a word
    on the rest.
    """
    report = replace(RELEASE, files=(BUNDLE,) * 100, sections=RELEASE.sections * 200)
    text = render(report, Redactor(), limit)
    assert len(text.encode("utf-8")) <= limit
    assert "Some of this page was left out" in text
    assert all(len(row) == len(table[0]) for table in tables(text) for row in table)
