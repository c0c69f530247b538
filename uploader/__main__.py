"""Starts the program for `python -m uploader`, the console script and entrypoint.py."""

import signal


def main() -> None:
    """Runs the program as the environment and the command line say, and ends the process with its
    exit code.

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

    cli.main(numbers, received)


if __name__ == "__main__":
    main()
