"""Starts the program: a signal is heard before anything else is loaded, and ends the run that begins then."""

# Not signal itself, whose enumerations take 3 ms in which Ctrl-C would show a traceback.
import _signal as signals  # type: ignore[import-not-found]  # typeshed knows the public name only
import gc

GC_THRESHOLD = 50_000  # allocations before the first collection: modules stay anyway, and a look at them costs 12 ms


def main() -> None:
    """Runs the program as the environment and the command line say, and ends the process with its exit code.

    As process 1 of a container a program without handlers would not receive these signals at all. A hang-up that is
    ignored stays so: the program was started by nohup.
    """
    numbers = [signals.SIGINT, signals.SIGTERM]
    if signals.getsignal(signals.SIGHUP) != signals.SIG_IGN:
        numbers.append(signals.SIGHUP)
    received: list[int] = []
    for number in numbers:
        signals.signal(number, lambda number, _: received.append(number))
    gc.set_threshold(GC_THRESHOLD)
    from uploader import main as process  # what takes the time in which a signal must be heard

    process.main(numbers, received)


if __name__ == "__main__":
    main()
