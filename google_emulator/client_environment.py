"""What leads an unchanged client to the emulator: variables that its HTTP library reads, and the files they name."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from google_emulator.atomic_file import write_atomically
from google_emulator.certificates import TRUSTSTORE_PASSWORD, Certificates

# Which variable is whose: OpenSSL (Ruby, Python's ssl) and Go; requests; Node; httplib2 (Google's Python client); curl.
TRUST = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "HTTPLIB2_CA_CERTS", "CURL_CA_BUNDLE")
# Ruby's HTTP libraries ask for the proxy of http whatever the scheme. What runs on loopback itself is reached directly.
PROXIES = ("HTTPS_PROXY", "HTTP_PROXY")
LINES = ((*PROXIES, "NO_PROXY"), TRUST, ("JAVA_TOOL_OPTIONS",), ("GOOGLE_APPLICATION_CREDENTIALS",))


def write_environment(folder: Path, port: int, certificates: Certificates, key: Mapping[str, str]) -> dict[str, str]:
    """Writes the files of a client into `folder`; the variables that name them, which `env` there holds line by line.

    `port` is the proxy's. Raises `OSError` when a file can't be written, `ValueError` for a folder whose path can't be
    written into variables that separate by blanks.
    """
    folder = folder.resolve()
    if not re.fullmatch(r"[\w/.@:+-]+", str(folder)):
        raise ValueError(f"the folder {folder} can't be named in variables: its path has blanks or special characters")
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
    write_atomically(folder / "ca.pem", certificates.authority)
    write_atomically(folder / "ca.p12", certificates.truststore)
    write_atomically(folder / "key.json", json.dumps(key, indent=2).encode() + b"\n")
    write_atomically(folder / "java.options", "".join(f"-D{name}={value}\n" for name, value in java.items()).encode())
    write_atomically(folder / "env", "".join(f"{name}={value}\n" for name, value in environment.items()).encode())
    return environment


def shell_lines(environment: Mapping[str, str]) -> str:
    """The variables as four lines for a shell: the proxy, whom to trust, the same for Java, the key."""
    return "".join("export " + " ".join(f"{name}={environment[name]}" for name in names) + "\n" for names in LINES)
