"""The emulator on the command line: `python -m google_emulator --port 0 --port-file FILE --key-file
FILE`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from google_emulator import reference_tables
from google_emulator.atomic_file import write_atomically
from google_emulator.emulator import Emulator
from google_emulator.faults import read_plan


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m google_emulator", description=__doc__
    )
    parser.add_argument(
        "--port",
        type=int,
        default=0,
        help="port on 127.0.0.1; 0 (the default) takes a free one",
    )
    parser.add_argument(
        "--port-file", type=Path, help="write the port here once it is known"
    )
    parser.add_argument(
        "--key-file", type=Path, help="write a service-account key here, mode 0600"
    )
    parser.add_argument(
        "--oidc-file",
        type=Path,
        help="write what a keyless login needs here, as JSON, mode 0600",
    )
    parser.add_argument(
        "--faults",
        default="[]",
        metavar="JSON|FILE",
        help='a list, or {"faults": [], "config": {}}',
    )
    parser.add_argument(
        "--root",
        type=Path,
        help="keep uploaded bytes here instead of a temporary folder",
    )
    parser.add_argument(
        "--tls",
        nargs="?",
        const="",
        metavar="DIR",
        help="answer for Google's own hosts, too: certificate, key and variables go here (or into "
        "a temporary folder)",
    )
    parser.add_argument(
        "--reference",
        action="store_true",
        help="print every fault, setting, operation and path",
    )
    parser.add_argument(
        "--tls-port",
        type=int,
        default=0,
        help="with --tls: port of the proxy; 0 takes a free one",
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT, or print the reference. Return the exit code: 2 if the faults
    or the configuration are wrong, or the port or a file can't be had.
    """
    options = _parser().parse_args(argv)
    if options.reference:
        sys.stdout.write(reference_tables.text())
        return 0
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        faults, config = read_plan(options.faults)
        with Emulator(
            faults, config=config, root=options.root, port=options.port
        ) as emulator:
            _serve(emulator, options, stop)
    # OverflowError: a port over 65535; ImportError: cryptography is too old for --tls.
    except (ValueError, TypeError, OSError, OverflowError, ImportError) as error:
        sys.stderr.write(f"emulator: {error}\n")
        return 2
    return 0


def _serve(
    emulator: Emulator, options: argparse.Namespace, stop: threading.Event
) -> None:
    """Write and print what clients wait for, the port file last, then wait for the end. Raises
    `OSError` or `ValueError`.
    """
    with contextlib.ExitStack() as stack:
        announcement = f"listening on {emulator.url}\n"
        if options.tls is not None:
            # Imported only here, since older versions of cryptography can't write a truststore
            # for Java.
            from google_emulator.google_hosts import shell_lines

            folder = options.tls or stack.enter_context(
                tempfile.TemporaryDirectory(prefix="google-emulator-")
            )
            announcement += shell_lines(
                emulator.serve_google_hosts(Path(folder), options.tls_port)
            )
        if options.key_file:
            write_atomically(options.key_file, _json(emulator.key))
        if options.oidc_file:
            # The variables and inputs of a job that logs in without a key.
            keyless = {
                "ACTIONS_ID_TOKEN_REQUEST_URL": emulator.oidc_url,
                "ACTIONS_ID_TOKEN_REQUEST_TOKEN": emulator.oidc_request_token,
                "workload-identity-provider": emulator.provider,
                "service-account": emulator.service_account,
            }
            write_atomically(options.oidc_file, _json(keyless))
        if options.port_file:
            write_atomically(options.port_file, f"{emulator.port}\n".encode())
        sys.stdout.write(announcement)
        sys.stdout.flush()
        stop.wait()


def _json(value: Mapping[str, str]) -> bytes:
    return json.dumps(value, indent=2).encode() + b"\n"


if __name__ == "__main__":
    sys.exit(main())
