"""edits.tracks: list, get, create, update, patch; an update replaces the releases of a track."""

from __future__ import annotations

from google_emulator.config import Config
from google_emulator.http.errors import ApiError, invalid_argument
from google_emulator.http.request import Request
from google_emulator.http.response import Json, Response, json_response
from google_emulator.http.routes import Route
from google_emulator.services.payload_rules import EnumRule, MessageRule, read_message, text
from google_emulator.services.play.model import STANDARD_TRACKS, Edit
from google_emulator.services.play.paths import EDIT, check_track
from google_emulator.services.play.release_rules import check_halts, checked_releases, read_track
from google_emulator.services.play.store import PlayStore

_TRACKS = EDIT + "/tracks"
_TRACK = _TRACKS + "/{track}"
_FORM_FACTORS = ("FORM_FACTOR_UNSPECIFIED", "DEFAULT", "WEAR", "AUTOMOTIVE")
_TYPES = ("TRACK_TYPE_UNSPECIFIED", "CLOSED_TESTING")
_PREFIXES = {"DEFAULT": "", "WEAR": "wear:", "AUTOMOTIVE": "automotive:"}
_ENUMS = "google.play.publishingapi.v3."
_TRACK_CONFIG = MessageRule(
    {
        "track": text,
        "type": EnumRule(_ENUMS + "TrackType", _TYPES),
        "formFactor": EnumRule(_ENUMS + "FormFactor", _FORM_FACTORS),
    }
)


class TracksApi:
    """The tracks of an edit."""

    def __init__(self, store: PlayStore, config: Config) -> None:
        self._store = store
        self._config = config

    def routes(self) -> list[Route]:
        """The calls that this API serves."""
        return [
            Route("androidpublisher.edits.tracks.list", "GET", _TRACKS, self._list),
            Route("androidpublisher.edits.tracks.create", "POST", _TRACKS, self._create),
            Route("androidpublisher.edits.tracks.get", "GET", _TRACK, self._get),
            Route("androidpublisher.edits.tracks.update", "PUT", _TRACK, self._update),
            Route("androidpublisher.edits.tracks.patch", "PATCH", _TRACK, self._patch),
        ]

    def _list(self, request: Request) -> Response:
        tracks = self._store.open_edit(request).content.tracks
        names = dict.fromkeys((*STANDARD_TRACKS, *tracks))
        found = [_resource(name, tracks.get(name)) for name in names]
        return json_response({"kind": "androidpublisher#tracksListResponse", "tracks": found})

    def _find(self, request: Request) -> tuple[Edit, str]:
        """The edit and the name of the track in the path. Raises `ApiError` 404 for a track that does not exist."""
        edit, name = self._store.open_edit(request), request.params["track"]
        check_track(name, edit.content, self._config)
        return edit, name

    def _get(self, request: Request) -> Response:
        edit, name = self._find(request)
        return json_response(_resource(name, edit.content.tracks.get(name)))

    def _create(self, request: Request) -> Response:
        edit = self._store.open_edit(request)
        wanted = read_message(request.json(), _TRACK_CONFIG, "track_config")
        name, prefix = wanted.get("track", ""), _PREFIXES.get(wanted.get("formFactor", _FORM_FACTORS[1]))
        if wanted.get("type") != _TYPES[1] or prefix is None:
            raise invalid_argument(
                "A new track has the type CLOSED_TESTING and one of the form factors.", "track_config"
            )
        if not name.removeprefix(prefix) or not name.startswith(prefix) or (":" in name and not prefix):
            raise invalid_argument(f"{name!r} is no name of a track of this form factor.", "track_config.track")
        if name in edit.content.tracks or name.removeprefix(prefix) in STANDARD_TRACKS:
            raise ApiError(409, f"Track {name} already exists.", "alreadyExists", status_name="ALREADY_EXISTS")
        edit.content.tracks[name] = []
        return json_response(_resource(name, None))

    def _replace(self, request: Request, *, keep_absent: bool) -> Response:
        edit, name = self._find(request)
        wanted = read_track(request.json())
        if wanted.get("track", name if keep_absent else "") != name:
            raise ApiError(400, "Track names in request path and request body must match.")
        if "releases" in wanted or not keep_absent:
            releases = checked_releases(edit.content, name, wanted.get("releases", []), self._store.today())
            check_halts(name, edit.content.tracks.get(name, []), releases)
            edit.content.tracks[name] = releases
        return json_response(_resource(name, edit.content.tracks.get(name)))

    def _update(self, request: Request) -> Response:
        return self._replace(request, keep_absent=False)

    def _patch(self, request: Request) -> Response:
        return self._replace(request, keep_absent=True)


def _resource(name: str, releases: list[dict[str, Json]] | None) -> dict[str, Json]:
    return {"track": name, "releases": releases} if releases else {"track": name}
