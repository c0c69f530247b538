"""Hypothesis strategies for what a server may say, from sensible to hostile, and the moves that it
answers.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from uploader.http.headers import Headers
from uploader.http.messages import Response, Span
from uploader.protocol.session import Move, QueryOffset, Send, Start

NUMBERS = st.integers(0, 10**20).map(str)
RANGES = st.builds(
    "{}{}-{}".format,
    st.sampled_from(["", "bytes=", "bytes = ", "items="]),
    NUMBERS,
    NUMBERS,
)
WORDS = st.sampled_from(
    [
        "active",
        "final",
        "cancelled",
        "ACTIVE",
        "Final",
        "",
        "finalised",
        "bytes=0-",
        "-1",
        "https://",
    ]
)
VALUES = st.one_of(st.text(max_size=40), NUMBERS, RANGES, WORDS)
BODIES = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        [
            b"",
            b"{}",
            b'{"id":"1"}',
            b'{"error":{}}',
            b'{"error":{"errors":[1,{"reason":3}]}}',
            b"[" * 5000,
        ]
    ),
)
STATUSES = st.one_of(
    st.integers(100, 599),
    st.sampled_from([200, 201, 308, 401, 403, 404, 410, 429, 500, 503]),
)
MOVES: st.SearchStrategy[Move] = st.sampled_from(
    [
        Start(),
        QueryOffset(),
        Send(Span(0, 10), final=False),
        Send(Span(0, 10), final=True),
        Send(Span(5, 5), final=True),
    ]
)


def responses(names: Sequence[str]) -> st.SearchStrategy[Response]:
    """Answers that bear some of these headers, with any values."""
    headers = st.dictionaries(
        st.sampled_from(list(names)), VALUES, max_size=len(names)
    ).map(Headers)
    return st.builds(Response, STATUSES, headers, BODIES, st.booleans())
