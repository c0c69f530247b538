"""What holds for media in every protocol: accepted types, size limits, and the record of what was stored."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from google_emulator.answers import Json, Refusal
from google_emulator.router import Media, UploadMethod
from google_emulator.world import StoredObject

if TYPE_CHECKING:
    from google_emulator.exchange import Exchange


def check_media(method: UploadMethod, content_type: str, size: int | None) -> None:
    """Refuses a media type that the method does not take (400) and a size above its limit (413)."""
    kind = content_type.partition(";")[0].strip().lower()
    if not any(fnmatchcase(kind, pattern) for pattern in method.accept):
        accepted = ", ".join(method.accept)
        raise Refusal(400, f"Media type '{kind}' is not supported. Valid media types: [{accepted}]", "badContent")
    if method.limit is not None and size is not None and size > method.limit:
        raise Refusal(413, f"Media size {size} exceeds the limit of {method.limit} bytes.", "uploadTooLarge")


def store(
    x: Exchange, method: UploadMethod, media: Media, protocol: str, http_method: str, received: int, requests: int
) -> dict[str, Json]:
    """Carries out the method's effect with complete media and writes it down; the answer is the resource."""
    with x.world.lock:
        resource = method.finish(x, media)
        x.world.objects.append(
            StoredObject(
                method=method.id,
                http_method=http_method,
                path=x.path,
                protocol=protocol,
                media_type=media.content_type,
                metadata=media.metadata,
                blob=media.blob,
                resource=resource,
                account=x.token.email if x.token else "",
                received=received,
                requests=requests,
            )
        )
    return resource
