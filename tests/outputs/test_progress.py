"""Progress in a log and on a terminal: enough to see that it moves, never a frame that a log can't show."""

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
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.platforms import where
from uploader.errors import UploaderError
from uploader.outputs import LogReporter, make_reporter
from uploader.outputs.progress import ProgressLines
from uploader.text import format_size

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
        self.progress = ProgressLines(self.lines.append, "app.aab", total, self.clock)

    def at(self, seconds: float, offset: int) -> list[str]:
        self.clock.seconds = seconds
        self.progress.to(offset)
        return self.lines


def test_line_at_every_tenth() -> None:
    """A slow upload is told at every tenth, with size, total and speed."""
    log = Log(100 * MIB)
    for second in range(1, 101):
        log.at(second, second * MIB)
    log.progress.done(ok=True)
    assert len(log.lines) == 11
    assert log.lines[0] == "app.aab: 10 %, 10.0 MiB of 100.0 MiB, 1.0 MiB/s"
    assert log.lines[-1] == "app.aab: 100.0 MiB in 100.0 s, 1.0 MiB/s"


def test_line_after_half_a_minute() -> None:
    """Where a tenth takes long, a line comes every thirty seconds, even if nothing moved."""
    log = Log(1000 * MIB)
    assert log.at(29, MIB) == []
    assert log.at(30, MIB) == ["app.aab: 0 %, 1.0 MiB of 1000.0 MiB, 34.1 KiB/s"]
    assert len(log.at(59, MIB)) == 1
    assert len(log.at(60, MIB)) == 2


def test_fast_upload_is_one_line() -> None:
    """A file that is through within a second has its last line only, so that a thousand files stay readable."""
    log = Log(100)
    for offset in range(0, 101, 10):
        log.at(offset / 200, offset)
    log.progress.done(ok=True)
    assert log.lines == ["app.aab: 100 B in 0.5 s, 200 B/s"]


def test_unknown_total_is_told_by_time() -> None:
    """A stream has no percentage: its bytes are told every thirty seconds."""
    log = Log(None)
    assert log.at(10, 5 * MIB) == []
    assert log.at(30, 15 * MIB) == ["app.aab: 15.0 MiB, 512.0 KiB/s"]


def test_offset_that_goes_back_is_said_once_and_not_shown() -> None:
    """After a partial commit the log says how much was stored; what is shown never falls."""
    log = Log(100 * MIB)
    log.at(5, 50 * MIB)
    assert log.at(6, 40 * MIB)[1:] == ["app.aab: 40.0 MiB of 50.0 MiB were stored; the rest is sent again"]
    assert log.at(8, 45 * MIB)[2:] == []
    assert log.at(9, 60 * MIB)[2:] == ["app.aab: 60 %, 60.0 MiB of 100.0 MiB, 6.7 MiB/s"]


def test_failed_upload_says_where_it_stopped() -> None:
    """An upload that ends badly says how much was sent, which need not be stored; later calls say nothing."""
    log = Log(100 * MIB)
    log.clock.seconds = 0.5
    log.progress.to(20 * MIB)
    log.progress.done(ok=False)
    log.progress.done(ok=True)
    assert log.at(99, 90 * MIB) == ["app.aab: stopped, 20.0 MiB of 100.0 MiB had been sent"]


@given(st.integers(0, 10**6), st.lists(st.tuples(st.floats(0, 40), st.integers(0, 10**6)), max_size=50))
def test_percentages_only_grow_and_lines_are_few(total: int, moves: list[tuple[float, int]]) -> None:
    """Whatever the offsets do, shown percentages never fall, and no second has two lines of them."""
    log = Log(total)
    for seconds, offset in moves:
        log.at(log.clock.seconds + seconds, offset)
    shown = [int(match.group(1)) for line in log.lines if (match := re.search(r": (\d+) %", line))]
    assert shown == sorted(shown)
    assert len(shown) <= log.clock.seconds + 1


def test_four_uploads_at_once() -> None:
    """Four threads share a reporter: every line stands whole, and each upload ends once."""
    out = io.StringIO()
    reporter = make_reporter(where(Path(), "gitlab"), stdout=out)

    def upload(name: str) -> None:
        progress = reporter.progress(name, 1000)
        for offset in range(0, 1001, 10):
            progress.to(offset)
        progress.done(ok=True)

    threads = [threading.Thread(target=upload, args=(f"file-{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(line.split(":")[0] for line in out.getvalue().splitlines()) == [f"file-{n}" for n in range(4)]
    assert "\r" not in out.getvalue()


class Terminal:
    """A real pseudo-terminal as stderr of a console reporter."""

    def __init__(self, columns: int = 80) -> None:
        self.far, near = os.openpty()
        fcntl.ioctl(near, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        self.err = os.fdopen(near, "w", encoding="utf-8")
        self.out = io.StringIO()
        self.reporter: LogReporter = make_reporter(where(Path(), "console"), stdout=self.out, stderr=self.err)

    def close(self) -> str:
        """Hang up; the answer is everything that the terminal was sent."""
        self.err.close()
        shown = b""
        with contextlib.suppress(OSError):  # how a terminal says that nobody writes to it any more
            while data := os.read(self.far, 4096):
                shown += data
        os.close(self.far)
        return shown.decode("utf-8")


def test_bar_on_a_terminal() -> None:
    """On a terminal a tqdm bar moves, goes back never, and text goes to stdout beside it."""
    terminal = Terminal()
    progress = terminal.reporter.progress("app.aab", 100 * MIB)
    progress.to(50 * MIB)
    progress.to(40 * MIB)
    terminal.reporter.info("between")
    progress.to(100 * MIB)
    progress.done(ok=True)
    frames = terminal.close()
    assert "\r" in frames
    assert "app.aab: 100%" in frames
    assert terminal.out.getvalue() == "app.aab: 40.0 MiB of 50.0 MiB were stored; the rest is sent again\nbetween\n"


def test_terminal_without_a_width_gets_lines() -> None:
    """A terminal that can't say how wide it is, as some CI systems make, gets lines instead of an invisible bar."""
    terminal = Terminal(columns=0)
    terminal.reporter.progress("app.aab", 100).done(ok=True)
    terminal.close()
    assert terminal.out.getvalue().startswith("app.aab: 0 B in ")


def test_terminal_that_goes_away_does_not_end_the_upload() -> None:
    """When the terminal is closed in mid-upload the bar and the words are let go, and nothing is raised."""
    terminal = Terminal()
    progress = terminal.reporter.progress("app.aab", 100 * MIB)
    os.close(terminal.far)
    for offset in range(0, 100 * MIB, MIB):
        progress.to(offset)
    terminal.reporter.error(UploaderError("nobody hears this"))
    progress.done(ok=True)
    with pytest.raises(OSError, match="Input/output error"):
        terminal.err.close()


def test_no_bar_without_a_terminal() -> None:
    """In a pipe the console speaks in lines, and tqdm is not even loaded."""
    program = (
        "import sys; from types import SimpleNamespace as P; from uploader.outputs import make_reporter\n"
        "progress = make_reporter(P(kind='console', debug=False)).progress('app.aab', 10)\n"
        "progress.to(10); progress.done(True); sys.exit('tqdm' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert re.fullmatch(r"app\.aab: 10 B in 0\.0 s, .*/s\n", ended.stdout)


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (36_700_160, "35.0 MiB"),
        (50 << 30, "50.0 GiB"),
        (3 << 40, "3.0 TiB"),
    ],
)
def test_sizes_as_people_read_them(count: int, shown: str) -> None:
    """Sizes have a binary unit and one decimal."""
    assert format_size(count) == shown
