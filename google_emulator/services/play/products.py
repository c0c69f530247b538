"""inappproducts and monetization.subscriptions: what is sold in an app, kept as it was sent; no edit is needed.

Reference: developers.google.com/android-publisher/api-ref/rest/v3/inappproducts and monetization.subscriptions.
"""

from __future__ import annotations

from dataclasses import dataclass

from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Json, Response, invalid_argument
from google_emulator.http.routes import Route
from google_emulator.protocol.uploads import Service
from google_emulator.services.play.store import APPLICATIONS, PlayStore


@dataclass(frozen=True)
class ProductKind:
    """A collection: its segment of the path, Google's name of it, the field that is the key, the list's field.

    `creates` is the method that adds one.
    """

    segment: str
    method: str
    key: str
    listed: str
    creates: str


KINDS = (
    ProductKind("inappproducts", "androidpublisher.inappproducts", "sku", "inappproduct", "insert"),
    ProductKind("subscriptions", "androidpublisher.monetization.subscriptions", "productId", "subscriptions", "create"),
)


class ProductsApi(Service):
    """One kind of products of all apps."""

    def __init__(self, store: PlayStore, kind: ProductKind) -> None:
        self._store = store
        self._kind = kind
        method, path = kind.method, f"{APPLICATIONS}/{{package}}/{kind.segment}"
        one = path + "/{product}"
        self.routes = [
            Route(f"{method}.list", "GET", path, self._list),
            Route(f"{method}.{kind.creates}", "POST", path, self._create),
            Route(f"{method}.get", "GET", one, lambda request: self._products(request)[self._key(request)]),
            Route(f"{method}.patch", "PATCH", one, self._change),
            Route(f"{method}.delete", "DELETE", one, self._delete),
            *([Route(f"{method}.update", "PUT", one, self._change)] if kind.creates == "insert" else []),
        ]

    def _products(self, request: Request) -> dict[str, dict[str, Json]]:
        return self._store.app(request.params["package"]).products.setdefault(self._kind.segment, {})

    def _key(self, request: Request) -> str:
        """Which product the path names. Raises `ApiError` 404 for one that is not there."""
        key = request.params["product"]
        if key not in self._products(request):
            raise ApiError(404, f"No product was found for {key}.")
        return key

    def _list(self, request: Request) -> Json:
        found = list(self._products(request).values())
        return {self._kind.listed: found} if found else {}

    def _create(self, request: Request) -> Json:
        key = request.query.get(self._kind.key) or request.json().get(self._kind.key)
        if not isinstance(key, str) or not key:
            raise invalid_argument(f"A product must have a {self._kind.key}.", self._kind.key)
        if key in self._products(request):
            raise ApiError(409, f"Product {key} already exists.", "alreadyExists", status_name="ALREADY_EXISTS")
        return self._keep(request, key, {})

    def _change(self, request: Request) -> Json:
        if request.flag("allowMissing"):
            self._products(request).setdefault(request.params["product"], {})
        key = self._key(request)
        return self._keep(request, key, self._products(request)[key] if request.method == "PATCH" else {})

    def _keep(self, request: Request, key: str, before: dict[str, Json]) -> Json:
        given = {name: value for name, value in request.json().items() if value is not None}
        kept = {**before, **given, "packageName": request.params["package"], self._kind.key: key}
        self._products(request)[key] = kept
        return kept

    def _delete(self, request: Request) -> Response:
        del self._products(request)[self._key(request)]
        return Response(204)
