"""Which versions of a track are public, asked without an edit: what a shared edit holds beside them is not live yet."""

from __future__ import annotations

from uploader.errors import ProtocolError, Refused, TemporaryError
from uploader.services.base import Call, Steps
from uploader.services.play.edit_api import ROOT, entries
from uploader.services.uri_template import expand

_PATH = "/androidpublisher/v3/applications/{package}/tracks/{track}/releases"
_PUBLISHED = "RELEASE_LIFECYCLE_STATE_PUBLISHED"


def live_versions(package: str, track: str) -> Steps[frozenset[str] | None]:
    """The version codes that are published on the track; None where Play does not tell, which ends no run."""
    path = expand(_PATH, {"package": package, "track": track})
    try:
        answer = yield Call("GET", ROOT, path, what=f"what is live on track {track}")
        published = [one for one in entries(answer, "releases") if one.get("releaseLifecycleState") == _PUBLISHED]
        artifacts = [artifact for one in published for artifact in entries(one, "activeArtifacts")]
    except (ProtocolError, Refused, TemporaryError):
        return None
    codes = (str(artifact.get("versionCode")) for artifact in artifacts)
    return frozenset(code for code in codes if code.isascii() and code.isdigit())
