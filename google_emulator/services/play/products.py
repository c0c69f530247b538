"""inappproducts and monetization.subscriptions: what is sold in an app, kept as it was sent; no edit is needed.

Reference: developers.google.com/android-publisher/api-ref/rest/v3/inappproducts and monetization.subscriptions.
"""

from __future__ import annotations

from dataclasses import dataclass

from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Json, Response, invalid_argument, json_response
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
        self._path = f"{APPLICATIONS}/{{package}}/{kind.segment}"
        method, one = self._kind.method, self._path + "/{product}"
        update = [Route(f"{method}.update", "PUT", one, self._change)] if self._kind.creates == "insert" else []
        self.routes = [
            Route(f"{method}.list", "GET", self._path, self._list),
            Route(f"{method}.{self._kind.creates}", "POST", self._path, self._create),
            Route(f"{method}.get", "GET", one, self._get),
            Route(f"{method}.patch", "PATCH", one, self._change),
            Route(f"{method}.delete", "DELETE", one, self._delete),
            *update,
        ]

    def _products(self, request: Request) -> dict[str, dict[str, Json]]:
        return self._store.app(request.params["package"]).products.setdefault(self._kind.segment, {})

    def _known(self, request: Request) -> tuple[dict[str, dict[str, Json]], str]:
        """The products, and which of them the path names. Raises `ApiError` 404 for one that is not there."""
        products, key = self._products(request), request.params["product"]
        if key not in products:
            raise ApiError(404, f"No product was found for {key}.")
        return products, key

    def _list(self, request: Request) -> Response:
        found = list(self._products(request).values())
        return json_response({self._kind.listed: found} if found else {})

    def _get(self, request: Request) -> Response:
        products, key = self._known(request)
        return json_response(products[key])

    def _create(self, request: Request) -> Response:
        products, sent = self._products(request), _given(request)
        key = request.query.get(self._kind.key) or sent.get(self._kind.key)
        if not isinstance(key, str) or not key:
            raise invalid_argument(f"A product must have a {self._kind.key}.", self._kind.key)
        if key in products:
            raise ApiError(409, f"Product {key} already exists.", "alreadyExists", status_name="ALREADY_EXISTS")
        return self._keep(request, key, sent)

    def _change(self, request: Request) -> Response:
        if request.flag("allowMissing"):
            self._products(request).setdefault(request.params["product"], {})
        products, key = self._known(request)
        before = products[key] if request.method == "PATCH" else {}
        return self._keep(request, key, {**before, **_given(request)})

    def _keep(self, request: Request, key: str, product: dict[str, Json]) -> Response:
        kept = {**product, "packageName": request.params["package"], self._kind.key: key}
        self._products(request)[key] = kept
        return json_response(kept)

    def _delete(self, request: Request) -> Response:
        products, key = self._known(request)
        del products[key]
        return Response(204)


def _given(request: Request) -> dict[str, Json]:
    return {name: value for name, value in request.json().items() if value is not None}
