"""GitLab's reporter, its dotenv report read back by a parser of GitLab's own rules."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.platforms import dotenv_report, hostile, where, workflow_commands
from uploader.errors import TemporaryError, UploaderError
from uploader.inputs import SPECS
from uploader.outputs import LogReporter, make_reporter
from uploader.outputs.files import ALSO_INPUTS
from uploader.redaction import Redactor


def make(folder: Path, log: io.StringIO, **facts: object) -> LogReporter:
    return make_reporter(
        where(folder, "gitlab", **facts), stdout=log, now=lambda: 1_700_000_000.4
    )


def test_group_is_a_section() -> None:
    """A group is a section with a name of its own, opened and closed with the time, its title
    behind the marker.
    """
    log = io.StringIO()
    reporter = make(Path(), log)
    for title in ("Plan", "Upload"):
        with reporter.group(title):
            reporter.info("inside")
    assert log.getvalue() == (
        "section_start:1700000000:uploader_1\r\x1b[0KPlan\ninside\nsection_end:1700000000:uploader_1\r\x1b[0K\n"
        "section_start:1700000000:uploader_2\r\x1b[0KUpload\ninside\nsection_end:1700000000:uploader_2\r\x1b[0K\n"
    )


@given(hostile)
def test_text_from_outside_opens_no_section(text: str) -> None:
    """Whatever is said, sections, escapes and carriage returns in the log are the program's own."""
    log = io.StringIO()
    reporter = make(Path(), log, debug=True)
    with reporter.group(text):
        reporter.info(text)
        reporter.debug(text)
    reporter.warning(text)
    reporter.error(UploaderError(text))
    own = re.sub(
        r"(?m)^section_(start|end):1700000000:uploader_1\r\x1b\[0K|\x1b\[(33|31;1|0)m",
        "",
        log.getvalue(),
    )
    assert "\r" not in own
    assert "\x1b" not in own


def test_warnings_and_errors_say_so() -> None:
    """WARNING and ERROR stand at the beginning of their line, and nothing in the log is one of
    GitHub's commands.
    """
    log = io.StringIO()
    reporter = make(Path(), log)
    reporter.mask("hunter2-hunter2")
    reporter.warning("slow")
    reporter.error(TemporaryError("Not done.", cause="503.", hint="Run again."))
    assert (
        log.getvalue()
        == "\x1b[33mWARNING:\x1b[0m slow\n\x1b[31;1mERROR:\x1b[0m Not done. 503. Run again.\n"
    )
    assert not workflow_commands(log.getvalue())


@given(
    st.dictionaries(
        st.sampled_from(["id", "ids", "edit-id", "version-code", "download-url"]),
        hostile,
    )
)
def test_report_arrives(
    tmp_path_factory: pytest.TempPathFactory, outputs: dict[str, str]
) -> None:
    """Whatever the values hold, GitLab reads each as one line under its own key."""
    folder = tmp_path_factory.mktemp("report")
    make(folder, io.StringIO()).write_outputs(outputs)
    expected = {
        f"UPLOADER_{name.upper().replace('-', '_')}": Redactor().one_line(value).strip()
        for name, value in outputs.items()
    }
    assert dotenv_report((folder / "uploader.env").read_bytes()) == expected


@given(
    st.dictionaries(
        st.sampled_from(["id", "ids", "edit-id", "version-codes", "download-urls"]),
        st.text(max_size=4000),
    )
)
def test_report_is_never_too_big(
    tmp_path_factory: pytest.TempPathFactory, outputs: dict[str, str]
) -> None:
    """Values that GitLab's limit has no room for are left out, the longest first, and a warning
    names them.
    """
    folder, log = tmp_path_factory.mktemp("report"), io.StringIO()
    make(folder, log).write_outputs({**outputs, "id": "7"})
    report = dotenv_report((folder / "uploader.env").read_bytes())
    assert report["UPLOADER_ID"] == "7"
    assert log.getvalue().count("WARNING") == len({**outputs, "id": "7"}) - len(report)


@pytest.mark.parametrize(("size", "kept"), [(5 * 1024 - 1, True), (5 * 1024, False)])
def test_limit_of_the_report_to_the_byte(tmp_path: Path, size: int, kept: bool) -> None:
    """A report of one byte less than 5 KiB is written whole; one of 5 KiB, which GitLab rejects,
    loses its value.
    """
    make(tmp_path, io.StringIO()).write_outputs(
        {"ids": "x" * (size - len("UPLOADER_IDS=\n"))}
    )
    assert bool(dotenv_report((tmp_path / "uploader.env").read_bytes())) == kept


def test_an_output_that_would_be_an_input_stays_out_of_the_report(
    tmp_path: Path,
) -> None:
    """GitLab sets the report in every later job: a look at one release must not decide how the next
    is released.
    """
    log = io.StringIO()
    make(tmp_path, log).write_outputs(
        {"status": "{}", "user-fraction": "0.05", "lifecycle": "PUBLISHED"}
    )
    assert dotenv_report((tmp_path / "uploader.env").read_bytes()) == {
        "UPLOADER_LIFECYCLE": "PUBLISHED"
    }
    assert "\nuser-fraction=0.05\n" in log.getvalue()


def test_every_output_that_is_an_input_stays_out_of_the_report_but_a_draft() -> None:
    """A draft is made in one job to be sent in a later one; of all others the report would speak
    for people.
    """
    outputs = yaml.safe_load(Path("action.yml").read_text())["outputs"].keys()
    assert {spec.name for spec in SPECS} & outputs == ALSO_INPUTS | {"draft-id"}


@pytest.mark.parametrize(
    "dotenv_file", [Path("/proc/none/uploader.env"), Path("/dev/full")]
)
def test_report_that_cannot_be_written(tmp_path: Path, dotenv_file: Path) -> None:
    """A report that can't be written is one warning, and the values stand in the log."""
    log = io.StringIO()
    make(tmp_path, log, dotenv_file=dotenv_file).write_outputs({"edit-id": "42"})
    assert log.getvalue().count("WARNING") == 1
    assert "\nedit-id=42\n" in log.getvalue()
