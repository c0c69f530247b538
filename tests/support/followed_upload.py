"""An upload that nothing carries out: a test says what is sent and what is stored."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.support.transfer_harness import ITEMS
from uploader.files.artifacts import Artifact
from uploader.reporting import Reporter
from uploader.services.base import Upload
from uploader.upload.file_upload import FileUpload


def upload_of(
    name: str, size: int | None, monotonic: Callable[[], float] = time.monotonic
) -> FileUpload:
    """An upload of a file with this name and size."""
    job = Upload(ITEMS, Artifact(name, name, size), "application/octet-stream")
    return FileUpload(job, monotonic)


def followed(reporter: Reporter, size: int, name: str = "app.aab") -> FileUpload:
    """An upload whose progress a reporter shows."""
    upload = upload_of(name, size)
    upload.add_listener(reporter.show_progress(upload))
    return upload


def send_up_to(upload: FileUpload, offset: int) -> None:
    """Sends bytes up to `offset`; goes back there where more was sent already."""
    if offset < upload.position:
        upload.begin_request(offset)
    else:
        upload.count_sent(offset - upload.position)
