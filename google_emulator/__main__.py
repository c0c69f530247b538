"""The emulator on the command line: `python -m google_emulator --port 0 --port-file FILE --key-file FILE`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from google_emulator.emulator import Emulator
from google_emulator.faults.fault_plan import read_plan


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m google_emulator", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 (the default) takes a free one")
    parser.add_argument("--port-file", type=Path, help="write the port here once it is known")
    parser.add_argument("--key-file", type=Path, help="write a service-account key here, mode 0600")
    parser.add_argument("--oidc-file", type=Path, help="write what a keyless login needs here, as JSON, mode 0600")
    parser.add_argument("--faults", default="[]", metavar="JSON|FILE", help='a list, or {"faults": [], "config": {}}')
    parser.add_argument("--root", type=Path, help="keep uploaded bytes here instead of a temporary folder")
    return parser


def write_atomically(path: Path, text: str) -> None:
    """Writes a file that appears whole, readable by its owner alone."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600 by its contract
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    Path(name).replace(path)


def _keyless(emulator: Emulator) -> dict[str, str]:
    """The variables and inputs of a job that logs in without a key."""
    return {
        "ACTIONS_ID_TOKEN_REQUEST_URL": emulator.oidc_url,
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": emulator.oidc_request_token,
        "workload-identity-provider": emulator.provider,
        "service-account": emulator.service_account,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Serves until SIGTERM or SIGINT; 2 when the faults or the configuration are wrong."""
    options = _parser().parse_args(argv)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        faults, config = read_plan(options.faults)
        emulator = Emulator(faults, config=config, root=options.root, port=options.port)
    except (ValueError, TypeError, OSError, OverflowError) as error:  # the last: a port beyond 65535
        sys.stderr.write(f"emulator: {error}\n")
        return 2
    with emulator:
        if options.key_file:
            write_atomically(options.key_file, json.dumps(emulator.key, indent=2) + "\n")
        if options.oidc_file:
            write_atomically(options.oidc_file, json.dumps(_keyless(emulator), indent=2) + "\n")
        if options.port_file:
            write_atomically(options.port_file, f"{emulator.port}\n")
        sys.stdout.write(f"listening on {emulator.url}\n")
        sys.stdout.flush()
        stop.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
