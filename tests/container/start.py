"""Runs inside the image: how long Python alone takes, and the program until its first request. Prints JSON, seconds.

It stands alone, since the image holds neither the tests nor anything that only they need.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

TIMES = 7


def main() -> None:
    """Measures by turns, and prints the medians."""
    listener = socket.create_server(("127.0.0.1", 0))
    env = environment(listener.getsockname()[1])
    bare, first = [], []
    for _ in range(TIMES):
        began = time.monotonic()
        subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)
        bare.append(time.monotonic() - began)
        first.append(until_first_request(listener, env))
    print(json.dumps({"python": sorted(bare)[TIMES // 2], "first_request": sorted(first)[TIMES // 2]}))  # noqa: T201  # its output is its result


def until_first_request(listener: socket.socket, env: dict[str, str]) -> float:
    """Seconds from the start of the process to the first byte that reaches the token endpoint."""
    began = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-I", "/app/entrypoint.py"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    connection, _ = listener.accept()
    with connection:
        connection.recv(1)
        seconds = time.monotonic() - began
        child.kill()
        child.wait()
    return seconds


def environment(port: int) -> dict[str, str]:
    """A job for a Cloud Storage object, with a key whose token comes from this process."""
    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    account = {
        "type": "service_account",
        "client_email": "start@example.iam.gserviceaccount.com",
        "private_key_id": "1",
        "private_key": pem,
        "token_uri": f"http://127.0.0.1:{port}/token",
    }
    return {
        "PATH": os.environ["PATH"],
        "HOME": "/tmp",  # the image's own, and nothing is written there
        "UPLOADER_TARGET": "storage.objects.insert",
        "UPLOADER_PARAMS": '{"bucket": "b"}',
        "UPLOADER_FILES": "/app/entrypoint.py",
        "UPLOADER_ALLOW_OUTSIDE_WORKSPACE": "true",
        "UPLOADER_CREDENTIALS": json.dumps(account),
    }


if __name__ == "__main__":
    main()
