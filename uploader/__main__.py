"""Starts the program for `python -m uploader`, the console script and entrypoint.py."""

import signal

from uploader.cancellation import Cancellation


def main() -> None:
    """Runs the program as the environment and the command line say, and ends the process with its exit code.

    As process 1 of a container a program without handlers would not receive these signals at all. A hang-up that is
    ignored stays so: the program was started by nohup.
    """
    cancellation = Cancellation()
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    for number in numbers:
        signal.signal(number, lambda number, _: cancellation.cancel(number))
    from uploader import cli  # a signal that comes while the program is loaded ends the run that begins then

    cli.main(cancellation, numbers)


if __name__ == "__main__":
    main()
