"""The process around one run: its streams, its signals, and the exit code that every end of a run becomes."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import NoReturn

from uploader import inputs
from uploader.cancellation import Cancellation
from uploader.errors import InputError, Problem, UploaderError
from uploader.signals import cancel_on_signals, ignore_signals

PR_SET_DUMPABLE = 4  # prctl(2)


def main(signals: Sequence[int], received: Sequence[int]) -> NoReturn:
    """Runs the program until its end or one of the `signals`, and ends the process with the exit code.

    `received` are those that came before now. It removes temporary files and skips the rest of the interpreter's
    shutdown, which costs 40 ms for nothing.
    """
    _open_streams()
    _close_memory()
    cancellation = Cancellation()
    cancel_on_signals(signals, cancellation)
    for number in received:
        cancellation.cancel(number)
    code = run(os.environ, sys.argv[1:], cancellation)
    ignore_signals(signals)
    atexit._run_exitfuncs()  # noqa: SLF001  # what `os._exit` leaves out, and has no other name
    _flush()
    os._exit(code)


def run(environ: Mapping[str, str], argv: Sequence[str], cancellation: Cancellation | None = None) -> int:
    """One whole run, until its end or its cancellation: the exit code.

    No exception leaves it; RUNNER_DEBUG=1 shows where a fault of ours is.
    """
    given, problems = inputs.read(environ, argv)
    return _show(given.show) if given.show else _carry_out(given, problems, cancellation or Cancellation())


def _show(show: inputs.Show) -> int:
    """Tells the text that was asked for; how the program is used, too, where nothing was asked for."""
    from uploader.inputs import command_line

    with suppress(OSError):
        (sys.stderr if show == "usage" else sys.stdout).write(command_line.text(show))
    return InputError.exit_code if show == "usage" else 0


def _carry_out(given: inputs.Inputs, problems: Sequence[Problem], cancellation: Cancellation) -> int:
    """The run, with whatever goes wrong told in one place."""
    from uploader.outputs import make_reporter  # a help text is not reported
    from uploader.redaction import credentials_in
    from uploader.run import Run

    reporter = make_reporter(given.platform, names=given.names)
    for secret in chain(given.secrets, *map(credentials_in, given.texts)):
        reporter.mask(secret)
    this_run = Run(given, reporter, cancellation)
    try:
        this_run.carry_out(problems)
    except UploaderError as error:
        this_run.failed(error)
    except ImportError as error:
        this_run.failed(_missing(error))
    except Exception as error:  # noqa: BLE001  # the last line of defence: a traceback never reaches a user
        this_run.failed(_fault(error))
        if given.platform.debug:  # where it is asked for, redacted
            import traceback  # 2 ms that only a fault is worth

            reporter.info("".join(traceback.format_exception(error)))
    return this_run.finish()


def _open_streams() -> None:
    """Whoever closed a standard stream gets a run like any other; else a socket would take the stream's number.

    A closed input is no empty one: it can't be read. An output that a slow reader shares with us waits for the reader.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
            setattr(sys, name, os.fdopen(number, "w") if number else None)
        elif number:
            with suppress(OSError):
                os.set_blocking(number, True)


def _close_memory() -> None:
    """Lets no other process of the same user read the memory and the environment of this one, where Linux can."""
    with suppress(ImportError, OSError, AttributeError):
        import ctypes  # 2 ms, as the last thing before there are secrets

        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def _flush() -> None:
    """Flushes the output; a reader that has gone away is no reason for another exit code."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()


def _missing(error: ImportError) -> UploaderError:
    """A module of Python's own that this system does not have, or a checkout that is run without its dependencies."""
    if str(error.name).partition(".")[0] in sys.stdlib_module_names:
        return UploaderError(
            f"This Python has no module {error.name}.",
            cause=f"The program runs on Linux and macOS; this is {sys.platform}.",
            hint="Run the upload in a Linux job, or on Windows in WSL.",
            code="missing-dependency",
        )
    named = isinstance(error, ModuleNotFoundError)
    return UploaderError(
        f"The Python module {error.name} is missing." if named else f"A Python module can't be loaded: {error}.",
        cause="The program was started with a Python that does not have its dependencies.",
        hint="Install them with `pip install .` in the checkout, ideally in a virtual environment, or use the image.",
        code="missing-dependency",
    )


def _fault(error: Exception) -> UploaderError:
    """A fault of this program, reported without a traceback and without the message, which may hold anything."""
    return UploaderError(
        f"The program itself failed ({type(error).__name__}).",
        cause="This is a bug in the uploader, not in your inputs.",
        hint="Run again with RUNNER_DEBUG=1 for the details, and report them.",
    )
