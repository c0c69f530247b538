"""Where the bearer token may go: its endpoint's origin and Google's API hosts over https, by no
trick elsewhere.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uploader.hosts import image_host, trusted
from uploader.upload.resumable import absolute

PLAY = "https://androidpublisher.googleapis.com/upload/x"
LOOPBACK = "http://127.0.0.1:8080/upload/x"

# Addresses at which the token could change or delete what is no upload.
ELSEWHERE = [
    "/drive/v3/files/1",
    "/androidpublisher/v3/applications/a.b/edits/1?upload_id=1",
    "",
    "/",
    "/upload",
    "/uploads/x",
    "/UPLOAD/x",
    "//upload/x",
    "/x/upload/x",
    "/resumable/x",
    "/upload/../drive/v3/files/1",
    "/upload/./../drive/v3/files/1",
    "/upload/x/..",
    "/upload/%2e%2e/drive/v3/files/1",
    "/upload/%252E./drive/v3/files/1",
    "/upload/..%2fdrive/v3/files/1",
    "/upload/..%5cdrive/v3/files/1",
]

TRUSTED = [
    ("https://androidpublisher.googleapis.com/upload/x?upload_id=1", PLAY),
    ("https://www.googleapis.com/upload/x?upload_id=1", PLAY),
    ("https://storage.europe-west4.rep.googleapis.com/upload/x", PLAY),
    ("https://googleapis.com/upload/x", PLAY),
    ("https://WWW.GOOGLEAPIS.COM/upload/x", PLAY),
    ("HTTPS://www.googleapis.com/upload/x", PLAY),
    ("https://www.googleapis.com:443/upload/x", PLAY),
    ("https://www.googleapis.com/resumable/upload/drive/v3/files?upload_id=1", PLAY),
    (
        "https://www.googleapis.com/upload/storage/v1/b/b/o?name=a%2F..%2Fb&upload_id=1",
        PLAY,
    ),
    ("http://127.0.0.1:8080/session", LOOPBACK),
    ("https://www.googleapis.com/upload/x", LOOPBACK),
    ("https://proxy.example:8443/session", "https://proxy.example:8443/upload/x"),
    ("https://proxy.example/session", "https://proxy.example:443/upload/x"),
    ("http://[::1]:8080/session", "http://[::1]:8080/x"),
]
FOREIGN = [
    ("http://www.googleapis.com/upload", PLAY),
    ("https://www.googleapis.com:8443/upload", PLAY),
    ("https://www.googleapis.com:0/upload", PLAY),
    ("https://evilgoogleapis.com/upload", PLAY),
    ("https://googleapis.com.evil.com/upload", PLAY),
    ("https://googleapis.com.", PLAY),
    ("https://www.googleapis.co/upload", PLAY),
    ("https://evil.com/www.googleapis.com", PLAY),
    ("https://evil.com?.googleapis.com", PLAY),
    ("https://evil.com#.googleapis.com", PLAY),
    ("https://evil.com\\.googleapis.com", PLAY),
    ("https://evil.com\\@www.googleapis.com", PLAY),
    ("https:\\\\www.googleapis.com", PLAY),
    ("https://evil.com;.googleapis.com", PLAY),
    ("https://evil.com%2f.googleapis.com", PLAY),
    ("https://evil.com%00.googleapis.com", PLAY),
    ("https://www.googleapis.com@evil.com", PLAY),
    ("https://user@www.googleapis.com/upload", PLAY),
    ("https://user:password@www.googleapis.com/upload", PLAY),
    ("https://@www.googleapis.com/upload", PLAY),
    ("https://www.googleapis.com:443@evil.com/", PLAY),
    ("https://www.googleapis.com:44x/", PLAY),
    ("https://www.googleapis.com:99999/", PLAY),
    ("https://[www.googleapis.com/", PLAY),
    ("https://www.google\u0430pis.com/", PLAY),
    ("https://www\u3002googleapis.com/", PLAY),
    ("https://www.googleapis.com\u2100/", PLAY),
    ("https://evil.com\t.googleapis.com/", PLAY),
    ("https://www.googleapis.com/\r\nHost: evil.com", PLAY),
    (" https://www.googleapis.com/", PLAY),
    ("https://www.googleapis.com/a b", PLAY),
    ("https:///upload", PLAY),
    ("https:www.googleapis.com/upload", PLAY),
    ("//www.googleapis.com/upload", PLAY),
    ("/upload", PLAY),
    *((f"https://www.googleapis.com{path}", PLAY) for path in ELSEWHERE),
    *((f"https://androidpublisher.googleapis.com{path}", PLAY) for path in ELSEWHERE),
    *((f"https://www.googleapis.com{path}", LOOPBACK) for path in ELSEWHERE),
    ("", PLAY),
    ("file:///etc/passwd", PLAY),
    ("ftp://www.googleapis.com/", PLAY),
    ("http://127.0.0.1:8081/session", LOOPBACK),
    ("https://127.0.0.1:8080/session", LOOPBACK),
    ("http://localhost:8080/session", LOOPBACK),
    ("http://127.0.0.2:8080/session", LOOPBACK),
    ("http://127.1:8080/session", LOOPBACK),
    ("https://other.example:8443/session", "https://proxy.example:8443/upload/x"),
    ("http://proxy.example:8443/session", "https://proxy.example:8443/upload/x"),
]


@pytest.mark.parametrize(("uri", "endpoint"), TRUSTED)
def test_may_see_the_token(uri: str, endpoint: str) -> None:
    """The endpoint itself, and https on a host below googleapis.com at its usual port."""
    assert trusted(uri, endpoint)


@pytest.mark.parametrize(("uri", "endpoint"), FOREIGN)
def test_must_not_see_the_token(uri: str, endpoint: str) -> None:
    """Another scheme, host or port, however it is dressed up."""
    assert not trusted(uri, endpoint)


@pytest.mark.parametrize(
    ("location", "whole"),
    [
        ("https://www.googleapis.com/s", "https://www.googleapis.com/s"),
        (
            "/upload/x?upload_id=1",
            "https://androidpublisher.googleapis.com/upload/x?upload_id=1",
        ),
        (
            "?upload_id=1",
            "https://androidpublisher.googleapis.com/upload/x?upload_id=1",
        ),
        ("//evil.com/s", "https://evil.com/s"),
        ("https://[broken", "https://[broken"),
    ],
)
def test_a_relative_location_belongs_to_the_endpoint(location: str, whole: str) -> None:
    """RFC 9110, section 10.2.2: a Location may be relative to the request's address."""
    assert absolute(location, PLAY) == whole


@given(
    st.text(max_size=80) | st.text(max_size=20).map("https://{}.googleapis.com".format)
)
def test_no_text_raises(uri: str) -> None:
    """A hostile text is foreign, never an exception; what is trusted is plain ASCII."""
    assert not trusted(absolute(uri, PLAY), PLAY) or absolute(uri, PLAY).isascii()


@pytest.mark.parametrize(
    ("url", "root"),
    [
        (
            "https://play-lh.googleusercontent.com/a=s0",
            "https://play-lh.googleusercontent.com",
        ),
        ("https://LH3.ggpht.com:443/a", "https://lh3.ggpht.com"),
        ("http://play-lh.googleusercontent.com/a", ""),
        ("https://play-lh.googleusercontent.com:8443/a", ""),
        ("https://play-lh.googleusercontent.com.example.net/a", ""),
        ("https://example.net/play-lh.googleusercontent.com", ""),
        ("https://me@play-lh.googleusercontent.com/a", ""),
        ("https://evilgoogleusercontent.com/a", ""),
        ("https://googleusercontent.com/a", ""),
        ("https://169.254.169.254/a", ""),
        ("file:///etc/passwd", ""),
        ("", ""),
    ],
)
def test_images_come_from_googles_image_hosts_alone(url: str, root: str) -> None:
    """Over https, at the usual port, whatever else the URL says."""
    assert image_host(url) == root
