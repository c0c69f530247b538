"""The process around one run: its streams, its signals, its memory, and the exit code that the end
of a run becomes.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, NoReturn

from uploader import inputs
from uploader.cancellation import RUN_THREAD, Cancellation
from uploader.errors import InputError, UploaderError, missing_module
from uploader.inputs import command_line
from uploader.inputs.records import Show
from uploader.outputs import make_reporter
from uploader.redaction import credentials_in

try:
    import ctypes
except ImportError:  # a Python that was built without it
    ctypes = None  # type: ignore[assignment]  # asked for below

if TYPE_CHECKING:
    from uploader.clock import Clock

PR_SET_DUMPABLE = 4  # prctl(2)


def main(
    signals: Sequence[signal.Signals],
    received: Sequence[int],
    make_clock: Callable[[Cancellation], Clock] | None = None,
) -> NoReturn:
    """Run the program until its end or one of the `signals`, and end the process with the exit
    code.

    `received` are the signals that came before this call; after the end of the run they are
    ignored. The clock is the real one unless `make_clock` makes another, whose sleep has to end as
    soon as the run is asked to end.
    """
    cancellation = Cancellation()
    for number in signals:
        signal.signal(number, lambda number, _: cancellation.cancel(number))
    for early in received:
        cancellation.cancel(early)
    _open_streams()
    _drop_inherited_settings()
    _silence_libraries()
    # On Linux this keeps other processes of this user from reading the memory and the environment.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    clock = None
    if make_clock:
        clock = make_clock(cancellation)
    code = run(os.environ, sys.argv[1:], cancellation, clock)
    for number in signals:
        signal.signal(number, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        # Its reader may have gone away, which is no reason for another exit code.
        except OSError:  # noqa: PERF203  # each stream is tried
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    if any(thread.name == RUN_THREAD for thread in threading.enumerate()):
        # The run, or a worker that it waits for, hangs in a system call (a name is being resolved,
        # or nobody opens the other end of a pipe). On a normal exit the interpreter would wait for
        # workers, too.
        os._exit(code)
    sys.exit(code)


def run(
    environ: Mapping[str, str],
    argv: Sequence[str],
    cancellation: Cancellation | None = None,
    clock: Clock | None = None,
) -> int:
    """Carry out one whole run, until its end or its cancellation, and return the exit code. No
    exception leaves it.
    """
    given, problems = inputs.read(environ, argv)
    if given.show:
        return _show(given.show)
    reporter = make_reporter(given.platform, names=given.names)
    for secret in chain(given.secrets, *map(credentials_in, given.texts)):
        reporter.mask(secret)
    if given.platform.doubt:
        reporter.warning(given.platform.doubt)
    try:
        # Everything that needs installed packages is imported here, since one may be missing.
        from uploader.run import Run
    except ImportError as error:
        ended: UploaderError = missing_module(error)
        if problems:
            ended = InputError(*problems)
        if given.platform.kind != "console":
            reporter.write_outputs({"failure": ended.code})
        reporter.error(ended)
        return ended.exit_code
    one_run = Run(given, reporter, cancellation or Cancellation(), clock)
    return one_run.to_its_end(problems)


def _show(show: Show) -> int:
    """Write a text in the place of a run, and return the exit code."""
    # The usage is shown when no input was given, so nobody asked for it.
    unasked = show == "usage"
    stream = sys.stderr if unasked else sys.stdout
    with suppress(OSError):
        stream.write(command_line.text(show))
    if unasked:
        return InputError.exit_code
    return 0


def _drop_inherited_settings() -> None:
    """Reset inherited process settings that could expose secrets.

    With SSLKEYLOGFILE urllib3 and Python's ssl write the keys of every connection to a file, with
    which anyone who recorded the traffic could read the access tokens in it. GitLab's runner starts
    its jobs with the umask 0, under which new files and folders could be changed by every user of
    the machine; a stricter umask than 022 stays.
    """
    os.environ.pop("SSLKEYLOGFILE", None)
    inherited = os.umask(0o022)
    os.umask(inherited | 0o022)


def _silence_libraries() -> None:
    """Keep the messages and warnings of libraries out of the log of the run.

    They don't know what is secret (urllib3 names the whole URL in a warning), and their messages
    would not pass through the redactor. Without any handler Python prints warnings of loggers to
    the standard error itself.
    """
    logging.getLogger().addHandler(logging.NullHandler())
    logging.captureWarnings(True)


def _open_streams() -> None:
    """Reopen closed standard streams on /dev/null, so that no socket gets descriptor 0, 1 or 2.

    A closed standard input is opened for writing alone: reading it fails, instead of finding it
    empty. Output is blocking, even if another process that shares the stream has changed that.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        is_output = number > 0
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
            if is_output:
                setattr(sys, name, os.fdopen(number, "w"))
        elif is_output:
            with suppress(OSError):
                os.set_blocking(number, True)
