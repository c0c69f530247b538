"""From a request to its answer: which operation it is, whether a fault is due, who asks, and what is done.

The order is that of a real front end: faults stand for the network and the load balancer, so they come before the token
is looked at; then authentication, then the service's own rules.
"""

from __future__ import annotations

from collections.abc import Callable

from google_emulator import uploads_a, uploads_b
from google_emulator.answers import Answer, Json, Refusal, as_json
from google_emulator.exchange import PAYLOAD_LIMIT, Exchange, json_object
from google_emulator.faults import Fault
from google_emulator.router import Route, UploadMethod, find_route, find_upload, names_of
from google_emulator.routes import ROUTES, UPLOADS
from google_emulator.state import describe

OWN = "/__emulator/"


def answer(x: Exchange) -> Answer:
    """The answer to one request. Raises `Cut` when a fault ends it otherwise, `Vanished` when the client goes away."""
    if x.path.startswith(OWN):
        return _refusable(x, _own)
    handle = _resolve(x)
    fault = x.world.faults.take(x.names)
    try:
        if fault is None:
            return _refusable(x, handle)
        return _with_fault(x, handle, fault)
    finally:
        if fault is not None:
            x.world.faults.settle(fault)
        x.world.count(x.names, x.body.received)


def _with_fault(x: Exchange, handle: Callable[[Exchange], Answer], fault: Fault) -> Answer:
    x.world.faults.before(fault, x)
    return x.world.faults.after(fault, x, _refusable(x, handle))


def _refusable(x: Exchange, handle: Callable[[Exchange], Answer]) -> Answer:
    try:
        return handle(x)
    except Refusal as refusal:
        return refusal.answer()


def _resolve(x: Exchange) -> Callable[[Exchange], Answer]:
    """Names the operation, by method, path and headers alone, and finds who carries it out."""
    path = x.path.removeprefix("/resumable") if x.path.startswith("/resumable/upload/") else x.path
    if path.startswith("/upload/"):
        return _resolve_upload(x, path)
    found = find_route(ROUTES, x.method, path)
    if found is None:
        x.names = frozenset({"any"})
        return _not_found
    route, x.params = found
    x.names = names_of(route.id) | {"any", "api"}
    return lambda x: _call(x, route)


def _resolve_upload(x: Exchange, path: str) -> Callable[[Exchange], Answer]:
    goog = uploads_b.speaks(x)
    found = find_upload(UPLOADS, x.method, path, any_method="upload_id" in x.query)
    if found is None:
        x.names = frozenset({"any", "upload"})
        return _not_found
    method, x.params = found
    steps = uploads_b.steps_of(x) if goog else uploads_a.steps_of(x)
    wide = {"any", "upload", *(step.partition(".")[0] for step in steps)}
    x.names = names_of(method.id) | steps | wide
    return lambda x: _upload(x, method, goog=goog)


def _not_found(x: Exchange) -> Answer:
    raise Refusal(404, f"The requested URL {x.path} was not found on this server.")


def _call(x: Exchange, route: Route) -> Answer:
    x.payload = x.body.read_all(PAYLOAD_LIMIT)
    if route.scopes is not None:
        x.token = x.world.authority.authorize(x, route.scopes)
    with x.world.lock:
        return route.handler(x)


def _upload(x: Exchange, method: UploadMethod, *, goog: bool) -> Answer:
    x.token = x.world.authority.authorize(x, method.scopes)
    if goog:
        return uploads_b.upload(x, method)
    if not method.legacy:
        raise Refusal(400, "This method is spoken to with X-Goog-Upload headers.")
    return uploads_a.upload(x, method)


def _own(x: Exchange) -> Answer:
    """The emulator's own door: its state, and more faults while it runs."""
    payload = x.body.read_all(PAYLOAD_LIMIT)
    if (x.method, x.path) == ("GET", OWN + "state"):
        return as_json(describe(x.world))
    if (x.method, x.path) == ("POST", OWN + "faults"):
        return _add_faults(x, json_object(payload))
    return _not_found(x)


def _add_faults(x: Exchange, wanted: dict[str, Json]) -> Answer:
    try:
        x.world.faults.add(wanted.get("faults", []))
    except (ValueError, TypeError, AttributeError) as error:
        raise Refusal(400, str(error)) from None
    return as_json({"waiting": x.world.faults.waiting()})
