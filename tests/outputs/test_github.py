"""GitHub's reporter, read back by a parser of the runner's own rules."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.followed_upload import followed
from tests.support.platforms import (
    Command,
    file_commands,
    hostile,
    where,
    workflow_commands,
)
from uploader.errors import (
    ApiError,
    InputError,
    Problem,
    UploaderError,
)
from uploader.outputs import make_reporter
from uploader.outputs.github import LIMIT, MAX_ANNOTATIONS
from uploader.redaction import Redactor


class Heard:
    """A reporter and what it said."""

    def __init__(self, folder: Path, **facts: object) -> None:
        self.log = io.StringIO()
        self.reporter = make_reporter(where(folder, "github", **facts), stdout=self.log)

    @property
    def commands(self) -> list[Command]:
        return workflow_commands(self.log.getvalue())


@pytest.fixture
def heard(tmp_path: Path) -> Heard:
    return Heard(tmp_path)


@given(hostile, hostile)
def test_text_from_outside_commands_nothing(text: str, name: str) -> None:
    """Whatever a server or a file name says, the runner finds no command but the program's own, and
    no line but its.
    """
    heard = Heard(Path())
    heard.reporter.info(text)
    with heard.reporter.group(text):
        followed(heard.reporter, 10, name).finish()
    heard.reporter.debug(text)
    heard.reporter.warning(text)
    heard.reporter.error(UploaderError(text, cause=text, hint=text))
    heard.reporter.error(UploaderError(text, cause=text, hint=text))
    assert [command.name for command in heard.commands] == [
        "group",
        "endgroup",
        "debug",
        "warning",
        "error",
    ]
    assert "\r" not in heard.log.getvalue()


@given(st.text("%\r\n:,; =aé", max_size=12))
@example("100%0A and %25")
def test_data_survives_the_runner(text: str) -> None:
    """The runner unescapes exactly what was said, percent signs included; only blanks keep colons
    apart.
    """
    heard = Heard(Path())
    heard.reporter.warning(text)
    (command,) = heard.commands
    assert command.data.replace(" ", "") == Redactor().one_line(text).replace(" ", "")


def test_one_error_annotation_with_cause_and_cure(heard: Heard) -> None:
    """A run has one error annotation that says what happened, why, and what to do; later errors are
    plain lines.
    """
    heard.reporter.error(
        ApiError(
            "Not published: 100% no.",
            status=403,
            cause="No right, it seems.",
            hint="Ask for it.",
        )
    )
    heard.reporter.error(UploaderError("And the edit stays."))
    (command,) = heard.commands
    assert command.name == "error"
    assert command.properties == {"title": "Refused"}
    assert command.data == "Not published: 100% no. No right, it seems. Ask for it."
    assert "\nError: And the edit stays.\n" in heard.log.getvalue()


def test_all_mistakes_stand_in_one_annotation(heard: Heard) -> None:
    """Several wrong inputs stand in the one annotation, each on a line of its own, and nowhere
    else.
    """
    heard.reporter.error(
        InputError(
            Problem("files", "nothing matches."), Problem("tracks", "is missing.")
        )
    )
    (command,) = heard.commands
    assert command.data == (
        "2 inputs are wrong. Nothing was sent. Correct the inputs and run again.\n"
        "- files: nothing matches.\n- tracks: is missing."
    )
    assert heard.log.getvalue().count("\n") == 1


@pytest.mark.parametrize(
    "letter", ["x", "\x1b", "\u202e"], ids=["plain", "escape", "bidirectional"]
)
def test_long_error_keeps_its_cure(heard: Heard, letter: str) -> None:
    """An annotation that GitHub would cut loses its middle, never what the reader has to do."""
    heard.reporter.error(
        UploaderError(letter * 100_000, cause=letter * 100_000, hint="Do this.")
    )
    (command,) = heard.commands
    assert 1000 < len(command.data) <= 4096
    assert command.data.endswith(" Do this.")


def test_warnings_beyond_the_limit_are_lines(heard: Heard) -> None:
    """GitHub shows ten annotations of a type; the eleventh warning is a plain line instead of
    lost.
    """
    for number in range(MAX_ANNOTATIONS + 1):
        heard.reporter.warning(f"number {number}")
    assert len(heard.commands) == MAX_ANNOTATIONS
    assert heard.log.getvalue().endswith("\nWarning: number 10\n")


def test_groups_always_end_and_some_stay_open(heard: Heard) -> None:
    """A group that an error leaves is closed; what has to be read stands open below its title."""
    with pytest.raises(UploaderError), heard.reporter.group("Upload"):
        raise UploaderError("stop")
    with heard.reporter.group("Changes", folded=False):
        heard.reporter.info("+ 42")
    assert heard.log.getvalue() == "::group::Upload\n::endgroup::\nChanges\n+ 42\n\n"


def test_secrets_are_masked_line_by_line(heard: Heard) -> None:
    """The runner learns each line of a secret, braces excepted, once; the log never shows it
    elsewhere.
    """
    secret = '{\n  "private_key": "abc%def-ghi"\n}'
    heard.reporter.mask(secret)
    heard.reporter.mask(secret)
    assert heard.commands == [Command("add-mask", '"private_key": "abc%def-ghi"')]
    heard.log.truncate(heard.log.seek(0))
    heard.reporter.info(f"it is {secret}")
    assert heard.log.getvalue() == "it is ***\n"


def test_a_log_that_no_runner_watches_is_told_no_secret(tmp_path: Path) -> None:
    """There the line that is to mask a secret would show it; this run's own log hides it all the
    same.
    """
    heard = Heard(tmp_path, takes_masks=False)
    heard.reporter.mask("a secret of the house")
    heard.reporter.info("it is a secret of the house")
    assert heard.log.getvalue() == "it is ***\n"


@pytest.mark.parametrize(
    ("secret", "told"),
    [
        ("short", []),
        ("sixsix", ["sixsix"]),
        ("{\n}\n", []),
        ("first line of it\r\n}\r\nsecond line", ["first line of it", "second line"]),
        ("one%0Aline::add-mask::x", ["one%0Aline::add-mask::x"]),
    ],
    ids=["too short to hide", "the shortest", "braces", "lines", "a command in it"],
)
def test_the_runner_is_told_whole_lines_and_no_trifles(
    heard: Heard, secret: str, told: list[str]
) -> None:
    """Each is one command on one line; a brace would be masked in every JSON that other steps
    print.
    """
    heard.reporter.mask(secret)
    assert heard.commands == [Command("add-mask", part) for part in told]
    assert heard.log.getvalue().count("\n") == len(told)


@given(
    st.dictionaries(
        st.sampled_from(["id", "ids", "edit-id", "version-code", "download-url"]),
        hostile,
    )
)
def test_outputs_arrive(
    tmp_path_factory: pytest.TempPathFactory, outputs: dict[str, str]
) -> None:
    """Whatever the values hold, the runner reads back the same names with the values, cleaned and
    nothing else.
    """
    folder = tmp_path_factory.mktemp("outputs")
    (folder / "output").write_text("before=1")
    heard = Heard(folder)
    heard.reporter.write_outputs(outputs)
    expected = {name: Redactor().clean(value) for name, value in outputs.items()}
    assert file_commands((folder / "output").read_bytes()) == {
        "before": "1",
        **expected,
    }
    assert [command.name for command in heard.commands] == ["group", "endgroup"]


def test_output_that_github_would_drop_is_left_out(
    heard: Heard, tmp_path: Path
) -> None:
    """One value over GitHub's limit would cost all of them: it is left out with a warning, never
    cut.
    """
    heard.reporter.write_outputs({"ids": "x" * (LIMIT + 1), "edit-id": "3"})
    assert file_commands((tmp_path / "output").read_bytes()) == {"edit-id": "3"}
    assert [command.name for command in heard.commands] == [
        "group",
        "endgroup",
        "warning",
    ]


def test_secret_in_an_output_is_masked(heard: Heard, tmp_path: Path) -> None:
    """An output never carries a secret, nor a session URI's authority."""
    heard.reporter.mask("hunter2-hunter2")
    heard.reporter.write_outputs(
        {"id": "hunter2-hunter2", "download-url": "https://x.example/?upload_id=AB-c"}
    )
    written = file_commands((tmp_path / "output").read_bytes())
    assert written == {"id": "***", "download-url": "https://x.example/?upload_id=***"}


@pytest.mark.parametrize(
    "output_file",
    [None, Path("/proc/none/output"), Path("/")],
    ids=["unset", "missing", "folder"],
)
def test_output_file_that_cannot_be_written(
    tmp_path: Path, output_file: Path | None
) -> None:
    """Outputs that can't be handed over are one warning, and their values stand in the log."""
    heard = Heard(tmp_path, output_file=output_file, summary_file=output_file)
    heard.reporter.write_outputs({"edit-id": "42"})
    heard.reporter.write_summary(lambda: "# Done")
    warnings = [command.data for command in heard.commands if command.name == "warning"]
    assert len(warnings) == 2
    assert warnings[0].startswith("The outputs")
    assert warnings[1].startswith("The job summary")
    assert "\nedit-id=42\n" in heard.log.getvalue()


def test_summary_is_appended_without_secrets(heard: Heard, tmp_path: Path) -> None:
    """The summary goes behind what the step wrote before, and secrets in it are masked."""
    (tmp_path / "summary").write_text("# Before\n")
    heard.reporter.mask("hunter2-hunter2")
    heard.reporter.write_summary(lambda: "# After hunter2-hunter2\n")
    assert (tmp_path / "summary").read_text() == "# Before\n# After ***\n"
