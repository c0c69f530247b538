"""The program against a server that nobody here wrote: gcp-storage-emulator, as Cloud Storage's `objects.insert`.

Only the token comes from the emulator of this project, since that server asks for none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from gcp_storage_emulator.server import create_server

from google_emulator import Emulator
from tests.support.job import Job
from tests.support.transfer_harness import GRANULE, data_of


@pytest.fixture(scope="module")
def stranger() -> Iterator[str]:
    """The server's root URL; it has one bucket."""
    server = create_server("127.0.0.1", 0, in_memory=True, default_bucket="bucket")
    with server:
        yield f"http://127.0.0.1:{server._api._httpd.server_port}"


def download(root: str, name: str) -> bytes:
    with urlopen(f"{root}/download/storage/v1/b/bucket/o/{name}?alt=media", timeout=10) as response:
        return bytes(response.read())


@pytest.mark.parametrize(
    "how",
    [
        {"upload-protocol": "resumable"},
        {"upload-protocol": "resumable", "chunk-size": "256KiB"},
        {"upload-protocol": "simple"},
        {"upload-protocol": "multipart", "metadata": '{"contentType": "application/zip"}'},
        {},
    ],
    ids=lambda how: "-".join(how.values()) or "auto",
)
def test_a_run_uploads_to_a_strangers_server(how: dict[str, str], stranger: str, tmp_path: Path) -> None:
    """The whole program, from its inputs to its outputs: the object is identical, and its digests were compared."""
    data = data_of(2 * GRANULE + 7)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "app.zip").write_bytes(data)
    with Emulator() as tokens:
        ended = Job(workspace, tokens).run(
            {
                "target": "storage.objects.insert",
                "params": '{"bucket": "bucket"}',
                "files": "app.zip",
                "api-endpoint": stranger,
                **how,
            }
        )
    assert ended.code == 0, ended.log
    assert download(stranger, "app.zip") == data
    assert ended.results[0]["resource"]["md5Hash"]
    assert ended.outputs["bytes-uploaded"] == str(len(data))
