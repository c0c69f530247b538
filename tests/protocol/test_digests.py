"""What services say of the bytes they hold, in every form that Google's APIs use."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uploader.http.headers import Headers
from uploader.protocol.stated_digests import Claim, claims, decisive

DATA = b"the bytes"
HEX = {name: hashlib.new(name, DATA).hexdigest() for name in ("md5", "sha1", "sha256")}
B64 = {
    name: base64.b64encode(bytes.fromhex(value)).decode() for name, value in HEX.items()
}
URL_SAFE = base64.urlsafe_b64encode(hashlib.sha256(DATA).digest()).decode()

FORMS: list[tuple[str, dict[str, Any], dict[str, str], list[Claim]]] = [
    (
        "a bundle",
        {"versionCode": 1, "sha1": HEX["sha1"]},
        {},
        [Claim("sha1", HEX["sha1"], "sha1")],
    ),
    (
        "an APK",
        {"binary": {"sha256": HEX["sha256"]}},
        {},
        [Claim("sha256", HEX["sha256"], "sha256")],
    ),
    (
        "a listing image",
        {"image": {"sha1": HEX["sha1"]}},
        {},
        [Claim("sha1", HEX["sha1"], "sha1")],
    ),
    (
        "Drive",
        {"md5Checksum": HEX["md5"]},
        {},
        [Claim("md5", HEX["md5"], "md5Checksum")],
    ),
    (
        "Drive, sha256",
        {"sha256Checksum": HEX["sha256"]},
        {},
        [Claim("sha256", HEX["sha256"], "sha256Checksum")],
    ),
    (
        "Cloud Storage",
        {"md5Hash": B64["md5"]},
        {},
        [Claim("md5", HEX["md5"], "md5Hash")],
    ),
    (
        "Cloud Storage, crc32c",
        {"crc32c": "yZRlqg=="},
        {},
        [Claim("crc32c", "c99465aa", "crc32c")],
    ),
    (
        "upper case",
        {"sha256": HEX["sha256"].upper()},
        {},
        [Claim("sha256", HEX["sha256"], "sha256")],
    ),
    (
        "base64 where hex is usual",
        {"sha256": B64["sha256"]},
        {},
        [Claim("sha256", HEX["sha256"], "sha256")],
    ),
    (
        "the web's base64",
        {"sha256": URL_SAFE},
        {},
        [Claim("sha256", HEX["sha256"], "sha256")],
    ),
    (
        "a header",
        {},
        {"X-Goog-Hash": f"crc32c=yZRlqg==, md5={B64['md5']}"},
        [
            Claim("crc32c", "c99465aa", "x-goog-hash"),
            Claim("md5", HEX["md5"], "x-goog-hash"),
        ],
    ),
    (
        "nonsense stays and matches nothing",
        {"sha1": "no digest"},
        {},
        [Claim("sha1", "no digest", "sha1")],
    ),
    (
        "a digest of another length",
        {"sha1": HEX["md5"]},
        {},
        [Claim("sha1", HEX["md5"], "sha1")],
    ),
    ("nothing", {"id": "1"}, {"Date": "now"}, []),
    (
        "empty and other types",
        {"sha1": "", "sha256": 7, "md5Hash": None, "binary": [HEX["sha1"]]},
        {},
        [],
    ),
    (
        "people's own words are no claims",
        {"metadata": {"sha1": "a commit"}, "properties": {"sha256": "x"}},
        {},
        [],
    ),
]


@pytest.mark.parametrize(
    ("resource", "headers", "found"),
    [form[1:] for form in FORMS],
    ids=[form[0] for form in FORMS],
)
def test_every_form_is_found(
    resource: dict[str, Any], headers: dict[str, str], found: list[Claim]
) -> None:
    """Hex or base64, at the top, in `binary` or `image`, or in a header."""
    assert list(claims(resource, Headers(headers))) == found


@pytest.mark.parametrize(
    ("stated", "computed", "checked"),
    [
        ("sha1 sha256", "sha256", "sha256"),
        ("md5 crc32c", "sha256 crc32c", "crc32c"),
        ("md5 crc32c", "sha256 md5", "md5"),
        ("md5 crc32c", "sha256", "crc32c"),
        ("md5 sha1 md5", "sha256", "sha1"),
        ("md5 md5", "sha256", "md5 md5"),
        ("", "sha256", ""),
    ],
)
def test_what_was_computed_is_checked_and_otherwise_the_best(
    stated: str, computed: str, checked: str
) -> None:
    """All that say something of a digest that is there; of the others only what is worth another
    reading.
    """
    found = decisive(
        [Claim(name, "value", "field") for name in stated.split()], computed.split()
    )
    assert " ".join(claim.algorithm for claim in found) == checked


KEYS = st.sampled_from(["sha1", "sha256", "md5Hash", "binary", "image", "x"])
JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=50),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
)


@pytest.mark.slow
@given(st.dictionaries(KEYS, JSON), st.text(max_size=60))
def test_no_resource_raises(resource: dict[str, Any], header: str) -> None:
    """Whatever JSON and header a server sends, the claims are text."""
    assert all(
        isinstance(claim.value, str)
        for claim in claims(resource, Headers({"x-goog-hash": header}))
    )
