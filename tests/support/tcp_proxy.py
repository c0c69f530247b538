"""A server in the middle, which passes everything on to the emulator except what a test wants
answered otherwise.
"""

from __future__ import annotations

import contextlib
import io
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from google_emulator import Emulator
from tests.support import secret_watch
from tests.support.job import Job
from tests.support.raw_server import read_request
from uploader import cli


@dataclass
class Middle:
    """Stands before the emulator; a request whose head matches `pattern` is met with `answer`
    instead.

    `url` is where it listens, `met` how many it answered itself, `head` the last of them.
    """

    emulator: Emulator
    pattern: str = "nothing"
    response: Callable[[socket.socket], None] = socket.socket.close
    met: int = 0
    head: bytes = b""
    url: str = ""

    def serve(self, connection: socket.socket) -> None:
        head, body = read_request(connection)
        if re.match(self.pattern, head.decode("latin-1"), re.IGNORECASE):
            self.met += 1
            self.head = head
            self.response(connection)
            return
        with socket.create_connection(("127.0.0.1", self.emulator.port)) as real:
            real.sendall(
                head.replace(b"Connection: keep-alive", b"Connection: close")
                + b"\r\n\r\n"
                + body
            )
            while part := real.recv(1 << 20):
                connection.sendall(part)


@dataclass
class Place:
    """One workspace, one emulator behind a middle, and a host elsewhere that must never hear of
    anything.
    """

    folder: Path
    middle: Middle
    elsewhere: str
    heard: list[bytes] = field(default_factory=list)

    def run(self, inputs: dict[str, str]) -> tuple[int, str]:
        """One whole run inside this process: its exit code and its log."""
        emulator = self.middle.emulator
        environ = Job(self.folder / "workspace", emulator).environment(
            {**inputs, "api-endpoint": self.middle.url}
        )
        log = io.StringIO()
        with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
            code = cli.run(environ, [])
        written = secret_watch.files(
            self.folder / "workspace.private",
            self.folder / "workspace/uploader-results.json",
        )
        channels = {"the log": log.getvalue().encode(), **dict(written)}
        assert not secret_watch.leaks(emulator, channels)
        return code, log.getvalue()
