"""Starts the program for `python -m uploader`, the console script and entrypoint.py."""

from __future__ import annotations

import signal

# Not the one of `typing`, which would have to be imported before the handlers are set.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from uploader.cancellation import Cancellation
    from uploader.clock import Clock


def main(make_clock: Callable[[Cancellation], Clock] | None = None) -> None:
    """Run the program as the environment and the command line say, and end the process with its
    exit code.

    The clock is the real one unless a test brings another.

    The signal handlers are set before anything else is loaded: process 1 of a container does not
    receive signals that it has no handler for. If SIGHUP is ignored it stays ignored, since the
    program was started by nohup.
    """
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    received: list[int] = []
    for number in numbers:
        signal.signal(number, lambda number, _: received.append(number))
    # A signal that comes during this import ends the run as soon as it begins.
    from uploader import cli

    cli.main(numbers, received, make_clock)


if __name__ == "__main__":
    main()
