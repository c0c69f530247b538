"""Google's own hosts on loopback: a proxy that answers for each of them over TLS, and refuses every other host.

A client that was given nothing but the proxy and the certificate speaks to `www.googleapis.com` as ever. Only CONNECT
is taken (RFC 9110, section 9.3.6), and nothing is ever passed on: there is no way through it to anywhere.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import ssl

from google_emulator.config import Config
from google_emulator.http.framing import LINE_LIMIT
from google_emulator.server import Connection, Server
from google_emulator.traffic import Traffic

PATIENCE = 30.0  # seconds in which a client has said which host it wants, and has shaken hands
_GOOGLE = re.compile(r"((?:[\w-]+\.)*googleapis\.com|accounts\.google\.com|(?:[\w-]+\.)+googleusercontent\.com):443")


class HttpsProxy(Server):
    """The proxy's listening socket on loopback; `respond` is set before it is started, as with every `Server`."""

    def __init__(self, port: int, config: Config, traffic: Traffic, context: ssl.SSLContext) -> None:
        super().__init__(port, config, traffic, GoogleConnection)
        self.context = context


class GoogleConnection(Connection):
    """One connection to one of Google's hosts; a client that does not trust the certificate is no error here."""

    server: HttpsProxy

    def handle(self) -> None:
        """Takes CONNECT and the handshake, then serves requests as on any other connection."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.connection.settimeout(PATIENCE)
            if not (host := self._connect()):
                return
            self.root = f"https://{host}"
            self.connection = self.server.context.wrap_socket(self.connection, server_side=True)
            self.connection.settimeout(None)
            self.rfile = self.connection.makefile("rb", self.rbufsize)
            super().handle()

    def finish(self) -> None:
        """Closes the encrypted socket, which is not the one that the server opened."""
        super().finish()
        self.connection.close()

    def _connect(self) -> str:
        """The host that a client asked for, after it was told that it may go on; empty when it may not."""
        line = self.rfile.readline(LINE_LIMIT).decode("latin-1").split()
        http.client.parse_headers(self.rfile)
        wanted = line[1].lower() if len(line) == 3 and line[0] == "CONNECT" else ""
        found = _GOOGLE.fullmatch(wanted)
        if found is None:
            asked = ascii(" ".join(line[:2])[:200])
            text = f"Only CONNECT to port 443 of Google's API hosts is answered here, not {asked}.\n"
            head = f"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\n"
            self.connection.sendall(f"{head}Connection: close\r\n\r\n{text}".encode())
            return ""
        self.connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return found[1]
