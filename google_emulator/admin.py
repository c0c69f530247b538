"""The emulator's own addresses: they return its state, and take more faults, scripts and actions of
people while it runs.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict

from google_emulator.backend import Backend
from google_emulator.clock import timestamp
from google_emulator.faults import FaultInjector
from google_emulator.http.request import Request, not_found
from google_emulator.http.response import ApiError, Json, Response, json_response
from google_emulator.protocol.uploads import CompletedUpload, Session
from google_emulator.services.play.store import AppContent, PlayStore
from google_emulator.traffic import Traffic

ADMIN_PATH = "/__emulator/"
_LOOPBACK = re.compile(
    r"(?:(?:127(?:\.\d{1,3}){3}|localhost|\[::1\])(?::\d+)?)?", re.IGNORECASE
)


class Admin:
    """`GET /__emulator/state`, and the addresses beside it that take a POST. No fault applies to
    them.

    They need no access token. If the emulator has an admin `token`, they require it as
    `Authorization: Bearer`.
    """

    def __init__(
        self, backend: Backend, faults: FaultInjector, traffic: Traffic, token: str = ""
    ) -> None:
        self._token = token
        self._faults = faults
        self._backend = backend
        self._traffic = traffic
        self._controls: Mapping[str, Callable[[dict[str, Json]], Json]] = {
            "faults": self._add_faults,
            "clock": lambda wanted: {
                "time": timestamp(
                    backend.clock.advance(float(wanted.get("advance", 0)))
                )
            },
            "console": lambda wanted: backend.console.carry_out(
                wanted.get("operations", [])
            ),
            "lifecycle": backend.lifecycle.script,
            "vitals": backend.vitals.script,
        }

    def respond(self, request: Request) -> Response:
        """Return the response to a request for one of these paths. Raises `ApiError` 403 if a web
        page can have sent it or the admin token is missing, 404 for an unknown path, 400 for
        contents that can't be used.
        """
        if request.header("Origin") or not _LOOPBACK.fullmatch(request.header("Host")):
            raise ApiError(
                403, "The emulator's own addresses are for programs on this machine."
            )
        given = request.header("Authorization").removeprefix("Bearer ").encode()
        if self._token and not hmac.compare_digest(given, self._token.encode()):
            raise ApiError(
                403,
                "The addresses of this emulator are for the program that started it.",
            )
        request.read_payload()
        name = request.path.removeprefix(ADMIN_PATH)
        if (request.method, name) == ("GET", "state"):
            return json_response(describe(self._backend, self._faults, self._traffic))
        if request.method != "POST" or name not in self._controls:
            return not_found(request)
        try:
            return json_response(self._controls[name](request.json()) or {})
        except (ValueError, TypeError, AttributeError) as error:
            raise ApiError(400, str(error)) from None

    def _add_faults(self, wanted: dict[str, Json]) -> dict[str, Json]:
        self._faults.add(wanted.get("faults", []))
        return {"waiting": self._faults.waiting()}


def describe(
    backend: Backend, faults: FaultInjector, traffic: Traffic
) -> dict[str, Json]:
    """Return everything that the emulator holds, without secrets. Sizes are in bytes, digests in
    hexadecimal.
    """
    now = backend.clock()
    with backend.lock:
        drive = {
            f"drive/{file_id}": file for file_id, file in backend.drive.files.items()
        }
        return {
            **_play(backend.play),
            "reviews": {
                package: {
                    track: [
                        {"versionCodes": list(review.codes), "state": review.state(now)}
                        for review in reviews
                    ]
                    for track, reviews in backend.lifecycle.reviews_of(app).items()
                }
                for package, app in backend.play.apps.items()
            },
            "time": timestamp(now),
            "objects": [_upload(upload) for upload in backend.uploads.completed],
            "sessions": [
                _session(session) for session in list(backend.uploads.sessions.values())
            ],
            "messages": list(backend.gmail.messages),
            "drafts": list(backend.gmail.drafts.values()),
            "effects": dict(backend.gmail.effects),
            "files": {**backend.storage.objects, **drive},
            "packages": list(backend.over_the_air.packages),
            "gameImages": dict(backend.games.images),
            "releases": {
                name: asdict(release)
                for name, release in backend.app_distribution.releases.items()
            },
            "tokens": [
                {
                    "email": token.email,
                    "subject": token.subject,
                    "scopes": list(token.scopes),
                }
                for token in list(backend.authority.tokens.values())
            ],
            "requests": dict(sorted(traffic.requests.items())),
            "connections": traffic.connections,
            "bytes_received": traffic.bytes_received,
            "bytes_discarded": traffic.bytes_discarded,
            "faults": {"fired": list(faults.receipts), "waiting": faults.waiting()},
        }


def _play(store: PlayStore) -> dict[str, Json]:
    edits: dict[str, list[Json]] = {"open": [], "committed": [], "deleted": []}
    for edit in list(store.edits.values()):
        parameters = (
            {"commitParameters": edit.commit_query} if edit.state == "committed" else {}
        )
        shown = {
            "id": edit.id,
            "packageName": edit.package,
            **_content(edit.content),
            **parameters,
        }
        edits[edit.state].append(shown)
    apps = store.apps.items()
    return {
        "edits": edits,
        "tracks": {package: app.live.tracks for package, app in apps},
        "apps": {
            package: {**_content(app.live), "usedVersionCodes": sorted(app.used)}
            for package, app in apps
        },
        "dataSafety": {
            package: app.data_safety for package, app in apps if app.data_safety
        },
    }


def _content(content: AppContent) -> dict[str, Json]:
    return {
        "tracks": content.tracks,
        "artifacts": [
            {
                "versionCode": artifact.code,
                "kind": artifact.kind,
                "sha256": artifact.sha256,
                "size": artifact.size,
            }
            for artifact in content.artifacts.values()
        ],
        "testers": content.testers,
        "listings": content.listings,
        "images": {
            f"{language}/{kind}": images
            for (language, kind), images in content.images.items()
            if images
        },
        "expansionFiles": {
            f"{code}/{kind}": file for (code, kind), file in content.expansion.items()
        },
        "deobfuscationFiles": {
            f"{code}/{kind}": file for (code, kind), file in content.symbols.items()
        },
    }


def _upload(upload: CompletedUpload) -> dict[str, Json]:
    return {
        "method": upload.method.id,
        "http_method": upload.request.method,
        "path": upload.request.path,
        "protocol": upload.protocol,
        "media_type": upload.media.content_type,
        "size": upload.media.blob.size,
        **upload.media.blob.digests(),
        "metadata": upload.media.metadata,
        "resource": upload.resource,
        "account": upload.request.account,
        "file": str(upload.media.blob.path),
        "requests": upload.requests,
        "bytes_received": upload.received,
    }


def _session(session: Session) -> dict[str, Json]:
    return {
        "method": session.method.id,
        "path": session.started.path,
        "state": session.state,
        "protocol": session.dialect,
        "stored": session.blob.size,
        "total": session.total,
        "requests": session.requests,
        "bytes_received": session.received,
        "bytes_repeated": session.repeated,
        "uneven_chunks": session.uneven_chunks,
    }
