"""From a request to its response: which operation it is, whether a fault is due, who sent it, and
what is done.

The order is that of a real front end: faults stand for the network and the load balancer, so they
come before the check of the token; then come authentication and the service's own rules.
"""

from __future__ import annotations

from collections.abc import Callable
from email.utils import formatdate
from typing import TypeAlias

from google_emulator.admin import ADMIN_PATH, Admin
from google_emulator.backend import Backend
from google_emulator.faults import FaultInjector
from google_emulator.http.partial_response import read_fields, selected
from google_emulator.http.request import Request, not_found
from google_emulator.http.response import (
    ApiError,
    Response,
    api_disabled,
    json_response,
)
from google_emulator.http.routes import Route, match_path, operation_names
from google_emulator.protocol import content_range, goog_upload
from google_emulator.protocol.content_range import ContentRangeDialect
from google_emulator.protocol.goog_upload import GoogUploadDialect
from google_emulator.protocol.uploads import UploadMethod
from google_emulator.traffic import Traffic

Carry: TypeAlias = Callable[[Request], Response]


class Router:
    """The way from any request to its response. If several operations match, the first of the
    backend counts.
    """

    def __init__(
        self,
        backend: Backend,
        faults: FaultInjector,
        traffic: Traffic,
        admin_token: str = "",
    ) -> None:
        self._backend = backend
        self._faults = faults
        self._admin = Admin(backend, faults, traffic, admin_token)
        self._traffic = traffic
        self._content_range = ContentRangeDialect(backend.uploads)
        self._goog_upload = GoogUploadDialect(backend.uploads, backend.config)

    def respond(self, request: Request) -> Response:
        """Return the response to one request.

        Raises `Interrupted` if a fault ends the request, `Disconnected` if the client goes away.
        """
        if request.path.startswith(ADMIN_PATH):
            return _respond(self._admin.respond, request)
        handler = self._resolve(request)
        try:
            response = self._faults.respond(
                request, lambda request: self._dated(_respond(handler, request))
            )
            if (
                response.status == 308
                and request.header("X-GUploader-No-308").lower() == "yes"
            ):
                # For clients whose HTTP library would follow a 308, such as Google's Go client.
                response.status = 200
                response.set_header("X-Http-Status-Code-Override", "308")
            return response
        finally:
            self._traffic.finished(request)

    def _dated(self, response: Response) -> Response:
        response.headers.append(
            ("Date", formatdate(self._backend.clock(), usegmt=True))
        )
        return response

    def _resolve(self, request: Request) -> Carry:
        # Google's Java client sends PATCH, and GET with a long query, as POST.
        if request.method == "POST":
            request.method = request.header("X-HTTP-Method-Override").upper() or "POST"
        path = request.path
        if path.startswith("/resumable/upload/"):
            path = path.removeprefix("/resumable")
        return (
            self._resolve_upload(request, path)
            if path.startswith("/upload/")
            else self._resolve_call(request, path)
        )

    def _resolve_call(self, request: Request, path: str) -> Carry:
        for route in self._backend.routes:
            if (
                route.method == request.method
                and (params := match_path(route.template, path)) is not None
            ):
                request.params = params
                request.operations = operation_names(route.id) | {"any", "api"}
                return lambda request: self._call(request, route)
        request.operations = frozenset({"any"})
        return not_found

    def _resolve_upload(self, request: Request, path: str) -> Carry:
        method = self._find_upload(request, path)
        if method is None:
            request.operations = frozenset({"any", "upload"})
            return not_found
        goog = goog_upload.is_goog_upload(request)
        steps = (
            goog_upload.protocol_steps(request)
            if goog
            else content_range.protocol_steps(request)
        )
        wide = {"any", "upload", *(step.partition(".")[0] for step in steps)}
        request.operations = operation_names(method.id) | steps | wide
        return lambda request: self._upload(request, method, goog=goog)

    def _find_upload(self, request: Request, path: str) -> UploadMethod | None:
        """Return the upload method of a path; None if there is none for the HTTP method. Requests
        to an open session may have any HTTP method.
        """
        for method in self._backend.upload_methods:
            if (params := match_path(method.template, path)) is not None:
                request.params = params
                return (
                    method
                    if "upload_id" in request.query or request.method in method.methods
                    else None
                )
        return None

    def _call(self, request: Request, route: Route) -> Response:
        request.read_payload()
        if route.scopes is not None:
            request.take_form()
            self._backend.authority.authorize(request, route.scopes)
            self._check_enabled(route.id)
        fields = read_fields(request.query.get("fields") or route.fields)
        with self._backend.lock:
            result = route.handler(request)
            return (
                result
                if isinstance(result, Response)
                else json_response(selected(result, fields))
            )

    def _check_enabled(self, method_id: str) -> None:
        """Raise `ApiError` 403 for a method of an API that is not enabled in the account's
        project.
        """
        host = f"{method_id.partition('.')[0]}.googleapis.com"
        if host in self._backend.config.disabled_apis:
            raise api_disabled(host)

    def _upload(
        self, request: Request, method: UploadMethod, *, goog: bool
    ) -> Response:
        # As Cloud Storage's documents say, the URI of a session is a credential, so a request to it
        # needs no token.
        if "upload_id" not in request.query or request.header("Authorization"):
            self._backend.authority.authorize(request, method.scopes)
            self._check_enabled(method.id)
        if goog:
            return self._goog_upload.upload(request, method)
        if not method.upload_type:
            raise ApiError(400, "This method requires X-Goog-Upload headers.")
        return self._content_range.upload(request, method)


def _respond(handler: Carry, request: Request) -> Response:
    try:
        return handler(request)
    except ApiError as error:
        return error.response()
