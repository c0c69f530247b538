"""Starts the program for `python -m uploader`, the console script and entrypoint.py."""

from __future__ import annotations

import signal

TYPE_CHECKING = False  # not that of typing, whose import would come before the handlers
if TYPE_CHECKING:
    from collections.abc import Callable

    from uploader.cancellation import Cancellation
    from uploader.clock import Clock


def main(make_clock: Callable[[Cancellation], Clock] | None = None) -> None:
    """Runs the program as the environment and the command line say, and ends the process with its
    exit code.

    The clock is the real one unless a test brings another.

    As process 1 of a container a program without handlers would not receive these signals at all. A
    hang-up that is ignored stays so: the program was started by nohup.
    """
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    received: list[int] = []
    for number in numbers:
        signal.signal(number, lambda number, _: received.append(number))
    # a signal that comes while the program is loaded ends the run that begins then
    from uploader import cli

    cli.main(numbers, received, make_clock)


if __name__ == "__main__":
    main()
