"""Every upload path without rules of its own: any bytes are accepted and answered with a plausible
resource.
"""

from __future__ import annotations

import itertools

from google_emulator.http.request import Request
from google_emulator.http.response import Json
from google_emulator.protocol.uploads import Media, Service, UploadMethod


class GenericUpload(Service):
    """An API of which nothing is known but that it takes media."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        methods = ("POST", "PUT", "PATCH")
        self.uploads = [
            UploadMethod(
                "anything.upload",
                "{path+}",
                self._resource,
                methods=methods,
                scopes=(),
                algorithms=("md5",),
            )
        ]

    def _resource(self, _: Request, media: Media) -> dict[str, Json]:
        """Return a resource as most APIs would: the metadata, an id, and the size and digests of
        the bytes.
        """
        number = str(next(self._numbers))
        return {
            "id": number,
            "name": f"media/{number}",
            **media.metadata,
            "contentType": media.content_type,
            "size": str(media.blob.size),
            "md5Hash": media.blob.base64("md5"),
            "sha256": media.blob.hex("sha256"),
        }
