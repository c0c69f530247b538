"""Progress in a log and on a terminal: enough to see that it moves, never a frame that a log can't
show.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.followed_upload import followed, send_up_to, upload_of
from tests.support.platforms import where
from uploader.errors import UploaderError
from uploader.outputs import LogReporter, make_reporter
from uploader.outputs.progress import ProgressLines
from uploader.text import share

MIB = 1024 * 1024


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class Log:
    """Lines of progress of one upload, and the clock that they go by."""

    def __init__(self, total: int | None) -> None:
        self.clock = Clock()
        self.lines: list[str] = []
        self.upload = upload_of("app.aab", total, self.clock)
        self.upload.add_listener(
            ProgressLines(self.lines.append, "app.aab", self.upload)
        )

    def sent(self, seconds: float, offset: int) -> list[str]:
        self.clock.seconds = seconds
        send_up_to(self.upload, offset)
        return self.lines

    def stored(self, seconds: float, offset: int) -> list[str]:
        self.clock.seconds = seconds
        self.upload.confirm(offset)
        return self.lines


def test_line_at_every_tenth() -> None:
    """A slow upload in one request is told at every tenth of what is sent, without a word on what
    is stored.
    """
    log = Log(100 * MIB)
    for second in range(1, 101):
        log.sent(second, second * MIB)
    log.upload.finish()
    assert len(log.lines) == 11
    assert log.lines[0] == "app.aab: 10.0 of 100.0 MiB sent, 1.0 MiB/s"
    assert log.lines[-1] == "app.aab: 100.0 MiB stored in 100.0 s, 1.0 MiB/s"


def test_line_after_half_a_minute() -> None:
    """Where a tenth takes long, a line comes every thirty seconds, even if nothing moved."""
    log = Log(1000 * MIB)
    assert log.sent(29, MIB) == []
    assert log.sent(30, MIB) == ["app.aab: 1.0 of 1000.0 MiB sent, 34.1 KiB/s"]
    assert len(log.sent(59, MIB)) == 1
    assert len(log.sent(60, MIB)) == 2


def test_fast_upload_is_one_line() -> None:
    """A file that is through within a second has its last line only, so that a thousand files stay
    readable.
    """
    log = Log(100)
    for offset in range(0, 101, 10):
        log.sent(offset / 200, offset)
    log.upload.finish()
    assert log.lines == ["app.aab: 100 B stored in 0.5 s, 200 B/s"]


def test_unknown_total_is_told_by_time() -> None:
    """A stream has no tenths: its bytes are told every thirty seconds."""
    log = Log(None)
    assert log.sent(10, 5 * MIB) == []
    assert log.sent(30, 15 * MIB) == ["app.aab: 15.0 MiB sent, 512.0 KiB/s"]
    log.upload.find_end(15 * MIB)
    log.upload.finish()
    assert log.lines[1:] == ["app.aab: 15.0 MiB stored in 30.0 s, 512.0 KiB/s"]


def test_sent_and_stored_are_two_numbers() -> None:
    """What is stored is what the server said, also when that is less than was sent; what is sent
    counts each byte.
    """
    log = Log(8 * MIB)
    log.sent(1, 5 * MIB)
    log.stored(2, 5 * MIB)
    assert log.sent(3, 7 * MIB)[1:] == [
        "app.aab: 5.0 of 8.0 MiB stored (7.0 MiB sent), 2.3 MiB/s"
    ]
    assert log.stored(4, 5 * MIB)[2:] == [
        "app.aab: 5.0 of 8.0 MiB stored (7.0 MiB sent), 1.8 MiB/s"
    ]
    log.sent(10, 8 * MIB)
    assert log.lines[3:] == [
        "app.aab: 5.0 of 8.0 MiB stored (10.0 MiB sent), 1.0 MiB/s"
    ]
    log.upload.finish()
    assert log.lines[4:] == [
        "app.aab: 8.0 MiB stored in 10.0 s (10.0 MiB sent), 1.0 MiB/s"
    ]


def test_failed_upload_says_where_it_stopped() -> None:
    """An upload that ends badly says what the server confirmed beside what was sent; later calls
    say nothing.
    """
    log, other = Log(100 * MIB), Log(100 * MIB)
    log.sent(0.5, 20 * MIB)
    log.upload.fail(UploaderError("stopped"))
    log.upload.finish()
    assert log.sent(99, 90 * MIB) == [
        "app.aab: stopped, nothing confirmed as stored (20.0 MiB sent)"
    ]
    other.sent(0.1, 10 * MIB)
    other.stored(0.2, 8 * MIB)
    other.upload.fail(UploaderError("stopped"))
    assert other.lines == ["app.aab: stopped, 8.0 of 100.0 MiB stored (10.0 MiB sent)"]


@given(
    st.integers(0, 10**6),
    st.lists(
        st.tuples(st.floats(0, 40), st.booleans(), st.integers(0, 10**6)), max_size=50
    ),
)
def test_lines_are_few_and_never_claim_what_the_server_did_not_say(
    total: int, moves: list[tuple[float, bool, int]]
) -> None:
    """Whatever the offsets do, no second has two lines, and each `stored` is the last that the
    server said.
    """
    log, said = Log(total), 0
    for seconds, is_stored, offset in moves:
        before, said = len(log.lines), offset if is_stored else said
        (log.stored if is_stored else log.sent)(log.clock.seconds + seconds, offset)
        claims = [line for line in log.lines[before:] if " stored" in line]
        assert all(
            said and line.startswith(f"app.aab: {share(said, total)} stored")
            for line in claims
        )
    assert len(log.lines) <= log.clock.seconds + 1


class Terminal:
    """A real pseudo-terminal as stderr of a console reporter."""

    def __init__(self, columns: int = 80) -> None:
        self.far, near = os.openpty()
        fcntl.ioctl(near, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        self.err = os.fdopen(near, "w", encoding="utf-8")
        self.out = io.StringIO()
        self.reporter: LogReporter = make_reporter(
            where(Path(), "console"), stdout=self.out, stderr=self.err
        )

    def close(self) -> str:
        """Hang up; the answer is everything that the terminal was sent."""
        self.err.close()
        shown = b""
        # how a terminal says that nobody writes to it any more
        with contextlib.suppress(OSError):
            while data := os.read(self.far, 4096):
                shown += data
        os.close(self.far)
        return shown.decode("utf-8")


def test_bar_on_a_terminal() -> None:
    """On a terminal a tqdm bar moves, with what is stored beside it, and text goes to stdout."""
    terminal = Terminal()
    upload = followed(terminal.reporter, 100 * MIB)
    send_up_to(upload, 50 * MIB)
    upload.confirm(40 * MIB)
    terminal.reporter.info("between")
    send_up_to(upload, 100 * MIB)
    upload.finish()
    frames = terminal.close()
    assert "\r" in frames
    told = r"app\.aab: 100\.0 of 100\.0 MiB stored \(110\.0 MiB sent\), "
    assert re.search(rf"100% \|\S+\| {told}", frames)
    assert terminal.out.getvalue() == "between\n"


def test_a_small_file_has_no_bar() -> None:
    """It goes at once: one line says that it is stored."""
    terminal = Terminal()
    followed(terminal.reporter, MIB).finish()
    assert terminal.close() == ""
    assert terminal.out.getvalue().startswith("app.aab: 1.0 MiB stored in ")


def test_terminal_without_a_width_gets_lines() -> None:
    """A terminal that can't say how wide it is, as some CI systems make, gets lines instead of an
    invisible bar.
    """
    terminal = Terminal(columns=0)
    followed(terminal.reporter, 100).finish()
    terminal.close()
    assert terminal.out.getvalue().startswith("app.aab: 100 B stored in ")


def test_terminal_that_goes_away_does_not_end_the_upload() -> None:
    """When the terminal is closed in mid-upload the bar and the words are let go, and nothing is
    raised.
    """
    terminal = Terminal()
    upload = followed(terminal.reporter, 100 * MIB)
    os.close(terminal.far)
    for offset in range(0, 100 * MIB, MIB):
        send_up_to(upload, offset)
    terminal.reporter.error(UploaderError("nobody hears this"))
    upload.finish()
    with pytest.raises(OSError, match="Input/output error"):
        terminal.err.close()


def test_no_bar_without_a_terminal() -> None:
    """In a pipe the console speaks in lines, and tqdm is not even loaded."""
    program = (
        "import sys; from types import SimpleNamespace as P; from uploader.outputs import "
        "make_reporter\nupload = P(name='app.aab', size=10, position=10, stored=10, bytes_sent=10, "
        "seconds=0.0)\nprogress = make_reporter(P(kind='console', debug=False, "
        "color=True)).show_progress(upload)\nprogress.progressed(); upload.seconds = 0.04; "
        "progress.finished(); sys.exit('tqdm' in sys.modules)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert re.fullmatch(r"app\.aab: 10 B stored in 0\.0 s, .*/s\n", ended.stdout)
