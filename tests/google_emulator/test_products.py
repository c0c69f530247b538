"""What is sold in an app: as Gradle Play Publisher and every other client writes it and reads it back."""

from __future__ import annotations

import pytest

from tests.support.emulator_client import PACKAGE, EmulatorClient

APP = f"/androidpublisher/v3/applications/{PACKAGE}"
KINDS = {"inappproducts": ("sku", "inappproduct"), "subscriptions": ("productId", "subscriptions")}


@pytest.mark.parametrize("kind", KINDS)
def test_products_come_and_go(client: EmulatorClient, kind: str) -> None:
    """Created, listed, changed by halves, deleted; nulls are left out."""
    key, listed = KINDS[kind]
    path = f"{APP}/{kind}"
    gems = {key: "gems", "packageName": PACKAGE, "listings": [{"languageCode": "en-US"}]}
    assert client.request("GET", path).json == {}
    assert client.request("POST", path, json={**gems, "packageName": None}).json == gems
    assert client.request("GET", path).json == {listed: [gems]}
    changed = {**gems, "status": "active"}
    assert client.request("PATCH", f"{path}/gems", json={"status": "active"}).json == changed
    assert client.request("GET", f"{path}/gems").json == changed
    assert client.request("DELETE", f"{path}/gems").status == 204
    assert client.request("GET", path).json == {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_product_that_is_not_there_is_created_first(client: EmulatorClient, kind: str) -> None:
    """404 to a change is what Gradle Play Publisher creates it after; a second one of the same id is refused."""
    path, key = f"{APP}/{kind}", KINDS[kind][0]
    assert client.request("PATCH", f"{path}/gems", json={}).status == 404
    assert client.request("POST", path, json={}).status == 400
    assert client.request("POST", path, json={key: "gems"}).status == 200
    assert client.request("POST", path, json={key: "gems"}).status == 409
    assert client.request("PATCH", f"{path}/coins?allowMissing=true", json={}).json[key] == "coins"


def test_an_update_replaces_a_product(client: EmulatorClient) -> None:
    """PUT leaves nothing of what was there; the id of a new subscription may stand in the query."""
    client.request("POST", f"{APP}/inappproducts", json={"sku": "gems", "status": "active"})
    replaced = client.request("PUT", f"{APP}/inappproducts/gems?autoConvertMissingPrices=true", json={}).json
    assert replaced == {"sku": "gems", "packageName": PACKAGE}
    created = client.request("POST", f"{APP}/subscriptions?productId=plus&regionsVersion.version=2022/02", json={})
    assert created.json["productId"] == "plus"
