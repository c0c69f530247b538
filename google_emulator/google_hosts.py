"""Google's own hosts on loopback: a proxy that answers for each of them over TLS and refuses every
other host.

The HTTP libraries of clients read variables that name the proxy and a certificate, so a client that
talks to `www.googleapis.com` needs no change. The proxy accepts only CONNECT (RFC 9110, section
9.3.6) and never forwards anything. The certificate is signed by an authority that is made for it,
whose key is not kept.
"""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import json
import re
import ssl
import tempfile
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12Certificate,
    serialize_java_truststore,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from google_emulator.atomic_file import write_atomically
from google_emulator.config import Config
from google_emulator.http.wire import LINE_LIMIT
from google_emulator.server import Connection, Server
from google_emulator.traffic import Traffic

HOSTS = (
    "googleapis.com",
    "*.googleapis.com",
    "*.storage.googleapis.com",
    "accounts.google.com",
    "*.googleusercontent.com",
)
TRUSTSTORE_PASSWORD = "changeit"  # noqa: S105  # what Java expects of a truststore; nothing in it is secret
LIFETIME = timedelta(days=30)
_SKEW = timedelta(hours=1)


def make_certificates() -> tuple[x509.Certificate, ssl.SSLContext]:
    """Return the certificate of a new authority, and a TLS context for a server with a certificate
    for `HOSTS` and 127.0.0.1.
    """
    authority_key, key = (
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP256R1()),
    )
    name = x509.Name(
        [
            x509.NameAttribute(
                NameOID.COMMON_NAME, "google_emulator (no authority of Google's)"
            )
        ]
    )
    authority = (
        _builder(name, name, authority_key.public_key(), authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(authority_key, SHA256())
    )
    leaf = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOSTS[1])])
    loopback = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        _builder(leaf, name, key.public_key(), authority_key.public_key())
        .add_extension(
            x509.SubjectAlternativeName([*map(x509.DNSName, HOSTS), loopback]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
        )
        .sign(authority_key, SHA256())
    )
    chain = certificate.public_bytes(Encoding.PEM) + authority.public_bytes(
        Encoding.PEM
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # `ssl` reads keys only from a file. This one has mode 0600 and exists only for a moment.
    with tempfile.NamedTemporaryFile() as file:
        file.write(secret + chain)
        file.flush()
        context.load_cert_chain(Path(file.name))
    return authority, context


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    issuer_key: ec.EllipticCurvePublicKey,
) -> x509.CertificateBuilder:
    """Return a builder with what both certificates have: names, keys, a serial number and a
    validity, which began an hour ago for clients whose clock is slow.
    """
    now = datetime.now(timezone.utc)
    return (
        x509.CertificateBuilder(
            issuer,
            subject,
            key,
            x509.random_serial_number(),
            now - _SKEW,
            now + LIFETIME,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key),
            critical=False,
        )
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


# The readers of these variables, in this order: OpenSSL (Ruby, Python's ssl) and Go; requests;
# Node; httplib2 (Google's Python client); curl.
TRUST = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "HTTPLIB2_CA_CERTS",
    "CURL_CA_BUNDLE",
)
# Ruby's HTTP libraries use HTTP_PROXY for every scheme. Servers on loopback are reached directly,
# by NO_PROXY.
PROXIES = ("HTTPS_PROXY", "HTTP_PROXY")
LINES = (
    (*PROXIES, "NO_PROXY"),
    TRUST,
    ("JAVA_TOOL_OPTIONS",),
    ("GOOGLE_APPLICATION_CREDENTIALS",),
)


def write_environment(
    folder: Path, port: int, authority: x509.Certificate, key: Mapping[str, str]
) -> dict[str, str]:
    """Write the files that a client needs into `folder`, and return the variables that name them.
    The file `env` there has the same variables, one a line.

    `port` is the proxy's. Raises `OSError` if a file can't be written, `ValueError` if the path of
    the folder has blanks or special characters, which some of the variables can't hold.
    """
    folder = folder.resolve()
    if not re.fullmatch(r"[\w/.@:+-]+", str(folder)):
        raise ValueError(
            f"the folder {folder} can't be named in variables: its path has blanks or "
            "special characters"
        )
    folder.mkdir(parents=True, exist_ok=True)
    java = {
        "https.proxyHost": "127.0.0.1",
        "https.proxyPort": port,
        "javax.net.ssl.trustStore": folder / "ca.p12",
        "javax.net.ssl.trustStorePassword": TRUSTSTORE_PASSWORD,
    }
    environment = {
        **dict.fromkeys(PROXIES, f"http://127.0.0.1:{port}"),
        "NO_PROXY": "127.0.0.1,localhost",
        **dict.fromkeys(TRUST, str(folder / "ca.pem")),
        "JAVA_TOOL_OPTIONS": f"-XX:VMOptionsFile={folder / 'java.options'}",
        "GOOGLE_APPLICATION_CREDENTIALS": str(folder / "key.json"),
    }
    java_trusts, password = (
        [PKCS12Certificate(authority, b"google_emulator")],
        TRUSTSTORE_PASSWORD.encode(),
    )
    truststore = serialize_java_truststore(
        java_trusts, BestAvailableEncryption(password)
    )
    write_atomically(folder / "ca.pem", authority.public_bytes(Encoding.PEM))
    write_atomically(folder / "ca.p12", truststore)
    write_atomically(folder / "key.json", json.dumps(key, indent=2).encode() + b"\n")
    write_atomically(
        folder / "java.options",
        "".join(f"-D{name}={value}\n" for name, value in java.items()).encode(),
    )
    write_atomically(
        folder / "env",
        "".join(f"{name}={value}\n" for name, value in environment.items()).encode(),
    )
    return environment


def shell_lines(environment: Mapping[str, str]) -> str:
    """Return the variables as four lines for a shell: the proxies, the certificate, Java's options
    and the key.
    """
    return "".join(
        "export " + " ".join(f"{name}={environment[name]}" for name in names) + "\n"
        for names in LINES
    )


# seconds that each read and write may take until the TLS handshake is done
PATIENCE = 30.0
_GOOGLE = re.compile(
    r"((?:[\w-]+\.)*googleapis\.com|accounts\.google\.com|(?:[\w-]+\.)+googleusercontent\.com):443"
)


class HttpsProxy(Server):
    """The proxy's listening socket on loopback. As with every `Server`, `respond` is set before the
    start.
    """

    def __init__(
        self, port: int, config: Config, traffic: Traffic, context: ssl.SSLContext
    ) -> None:
        super().__init__(port, config, traffic, GoogleConnection)
        self.context = context


class GoogleConnection(Connection):
    """One connection to one of Google's hosts. A client that does not trust the certificate is not
    an error here.
    """

    server: HttpsProxy

    def handle(self) -> None:
        """Accept CONNECT and do the TLS handshake, then serve requests as on any other
        connection.
        """
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.connection.settimeout(PATIENCE)
            if not (host := self._connect()):
                return
            self.root = f"https://{host}"
            self.connection = self.server.context.wrap_socket(
                self.connection, server_side=True
            )
            self.connection.settimeout(None)
            self.rfile = self.connection.makefile("rb", self.rbufsize)
            super().handle()

    def finish(self) -> None:
        """Close the encrypted socket, which is not the one that the server opened."""
        super().finish()
        self.connection.close()

    def _connect(self) -> str:
        """Answer CONNECT and return the host that the client asked for; empty if the host was
        refused.
        """
        line = self.rfile.readline(LINE_LIMIT).decode("latin-1").split()
        http.client.parse_headers(self.rfile)
        wanted = line[1].lower() if len(line) == 3 and line[0] == "CONNECT" else ""
        found = _GOOGLE.fullmatch(wanted)
        if found is None:
            asked = ascii(" ".join(line[:2])[:200])
            text = (
                "Only CONNECT to port 443 of Google's API hosts is answered here, not "
                f"{asked}.\n"
            )
            head = (
                "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: "
                f"{len(text)}\r\n"
            )
            self.connection.sendall(f"{head}Connection: close\r\n\r\n{text}".encode())
            return ""
        self.connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return found[1]
