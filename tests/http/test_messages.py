"""Requests, responses and headers as values: names in any case, lengths that add up, JSON that may be none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uploader.http.messages import Body, Headers, Response, Span


def test_header_names_have_any_case_and_values_are_stripped() -> None:
    """RFC 9110, section 5.1; of several the first counts."""
    headers = Headers([("X-GOOG-Upload-status", " active "), ("x-goog-upload-status", "final")])
    assert headers.get("X-Goog-Upload-Status") == "active"
    assert headers.get("X-Other") is None


def test_a_body_is_as_long_as_its_parts() -> None:
    """Prefix, span and suffix make the Content-Length."""
    assert Body(b"abc", Span(10, 30), b"de").size == 25
    assert Body().size == 0


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"id": 1}', {"id": 1}),
        (b"{}", {}),
        (b"", None),
        (b"[]", None),
        (b"null", None),
        (b'"x"', None),
        (b"<html>", None),
    ],
)
def test_only_an_object_is_json_here(body: bytes, value: object) -> None:
    """Every resource is an object; anything else is no answer of the service."""
    assert Response(200, body=body).json() == value


@given(st.binary(max_size=300) | st.integers(1, 200_000).map(lambda depth: b"[" * depth))
def test_no_body_raises(body: bytes) -> None:
    """Broken encodings and absurd depths are no objects, not exceptions."""
    value = Response(200, body=body).json()
    assert value is None or isinstance(value, dict)
