"""The console's reporter: what happened on stdout, what went wrong on stderr, nothing that a
terminal would obey.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.followed_upload import followed
from tests.support.platforms import hostile, where
from uploader.errors import ApiError, InputError, Problem, UploaderError
from uploader.outputs import make_reporter


def test_what_happened_and_what_went_wrong() -> None:
    """Titles, words and outputs go to stdout; warnings and the error, with cause and cure, to
    stderr.
    """
    out, err = io.StringIO(), io.StringIO()
    reporter = make_reporter(where(Path(), "console"), stdout=out, stderr=err)
    with reporter.group("Plan"):
        reporter.info("upload app.aab")
    reporter.debug("unasked")
    reporter.warning("slow")
    reporter.write_outputs({"edit-id": "42", "ids": "a\nb"})
    reporter.write_summary(lambda: "# Done")
    reporter.error(ApiError("No.", status=403, cause="No right.", hint="Ask."))
    assert (
        out.getvalue() == "Plan\nupload app.aab\n\nOutputs\nedit-id=42\nids=a\\nb\n\n"
    )
    assert err.getvalue() == "WARNING: slow\nERROR: No. No right. Ask.\n"


class Screen(io.StringIO):
    """A terminal, as far as the reporter asks."""

    def isatty(self) -> bool:
        return True


def test_the_last_line_on_a_terminal_is_the_result() -> None:
    """Its outputs are for CI; what changes and how it ended is in colour."""
    out = Screen()
    reporter = make_reporter(where(Path(), "console"), stdout=out, stderr=out)
    for line in (
        "  + 42: 5 %",
        "  - 40",
        "  ~ 41: 9 % -> all",
        "  = 39",
        "  -5 % of what",
    ):
        reporter.change(line)
    reporter.write_outputs({"edit-id": "42"})
    reporter.result("com.example is released.")
    assert out.getvalue().splitlines() == [
        "\x1b[32m  + 42: 5 %\x1b[0m",
        "\x1b[31m  - 40\x1b[0m",
        "\x1b[33m  ~ 41: 9 % -> all\x1b[0m",
        "  = 39",
        "  -5 % of what",
        "\x1b[32;1mcom.example is released.\x1b[0m",
    ]


def test_all_mistakes_are_listed() -> None:
    """Several wrong inputs are counted and listed one a line, in one place and once."""
    out, err = io.StringIO(), io.StringIO()
    problems = (
        Problem("files", "nothing matches."),
        Problem("tracks", "is missing.", "internal, …"),
    )
    make_reporter(where(Path(), "console"), stdout=out, stderr=err).error(
        InputError(*problems)
    )
    assert err.getvalue() == (
        "ERROR: 2 inputs are wrong. Nothing was sent. Correct the inputs and run again.\n"
        "- files: nothing matches.\n- tracks: is missing. Accepted: internal, …\n"
    )
    assert out.getvalue() == ""


@given(st.lists(hostile, max_size=4))
def test_terminal_obeys_nothing(texts: list[str]) -> None:
    """Text from outside reaches the terminal without escapes or returns, and its later lines are
    indented.
    """
    out = io.StringIO()
    reporter = make_reporter(where(Path(), "console"), stdout=out, stderr=out)
    for text in texts:
        reporter.info(f"said {text}")
    shown = out.getvalue()
    assert not set(shown) & set("\r\x1b\x85\x9b\u2028\u202e\u200b")
    assert all(line.startswith(("said ", "  ")) for line in shown.split("\n")[:-1])


@pytest.mark.parametrize("kind", ["github", "gitlab", "console"])
@given(hostile)
@example(
    "##vso[task.setvariable variable=x]y ##[error]z ##teamcity[buildStatus status='SUCCESS'] "
    "::error::w ###[a]"
)
def test_no_ci_system_finds_a_command_whichever_runs(kind: str, text: str) -> None:
    """Azure Pipelines runs the console's reporter, and obeys what stands anywhere in a line; so
    does TeamCity.
    """
    log = io.StringIO()
    reporter = make_reporter(
        where(Path(), kind, output_file=None, dotenv_file=None), stdout=log, stderr=log
    )
    with reporter.group(text):
        reporter.info(text)
        reporter.warning(text)
        followed(reporter, 1, text).finish()
        reporter.write_outputs({"id": text})
        reporter.error(UploaderError(text, cause=text, hint=text))
    told = log.getvalue()
    assert not re.search(r"##\w*\[", told)
    own = r"(?m)^::(group|endgroup|warning|error)( title=[\w ]+)?::"
    assert "::" not in (re.sub(own, "", told) if kind == "github" else told)


def test_stream_that_knows_little() -> None:
    """On a stream in ASCII what it lacks is escaped; on a full one words are lost and nothing
    else.
    """
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    make_reporter(where(Path(), "console"), stdout=out, stderr=out).info("Größe 日本")
    assert raw.getvalue() == rb"Gr\xf6\xdfe \u65e5\u672c" + b"\n"
    full = Path("/dev/full").open("w")  # noqa: SIM115 - closing it is what fails, and must not hide the assertion
    make_reporter(where(Path(), "console"), stdout=full, stderr=full).info("lost")
    with pytest.raises(OSError, match="No space left"):
        full.close()
