"""Text that people and programs will see: without secrets, without what deceives the eye, in linear
time.
"""

from __future__ import annotations

import base64
import json
import re
import time
import unicodedata
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.platforms import hostile
from uploader.redaction import (
    LIMIT,
    Redactor,
    credentials_in,
    holds_credential,
    session_words,
    without_session,
)

KEY = (
    "-----BEGIN PRIVATE "
    "KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nAASCBKcwggSjAgEAAoIBAQ+/w==\n-----END PRIVATE KEY-----\n"
)
secret_texts = st.text(
    alphabet=st.characters(codec="utf-8", exclude_categories=("C", "Z")),
    min_size=8,
    max_size=40,
)


@given(secret_texts, hostile, hostile)
def test_secret_never_shows(secret: str, before: str, after: str) -> None:
    """Wherever a secret stands in a text, it is replaced, and the text around it stays."""
    cleaned = Redactor([secret]).hide(f"{before}\n{secret}\n{after}")
    assert secret not in cleaned
    assert "\n***\n" in cleaned


@pytest.mark.parametrize(
    "form",
    [
        lambda secret: json.dumps({"key": secret}),
        lambda secret: json.dumps({"key": secret}, ensure_ascii=False),
        lambda secret: json.dumps(json.dumps({"key": secret})),
        repr,
        lambda secret: quote(secret, safe=""),
        quote_plus,
        lambda secret: re.sub(
            "%..", lambda escape: escape.group().lower(), quote(secret, safe="")
        ),
        lambda secret: base64.b64encode(secret.encode()).decode(),
        lambda secret: base64.urlsafe_b64encode(b"a" + secret.encode()).decode(),
        lambda secret: base64.b64encode(b"me:" + secret.encode() + b"!").decode(),
    ],
    ids=[
        "json",
        "json-utf8",
        "json-in-json",
        "repr",
        "url",
        "form",
        "url-lower",
        "base64",
        "base64-shifted",
        "basic-auth",
    ],
)
@pytest.mark.parametrize(
    "secret",
    ["s3cr3t/with=signs&ümlaut", 'quo"ted\\back/slash'],
    ids=["signs", "quotes"],
)
def test_encoded_forms_are_masked(form: object, secret: str) -> None:
    """A secret is recognised as JSON, percent-encoded and inside base64, at each of base64's three
    alignments.
    """
    assert callable(form)
    encoded = form(secret)
    shown = Redactor([secret]).hide(encoded)
    assert "***" in shown
    assert len(shown) < len(encoded)
    assert "s3cr3t" not in shown
    assert "slash" not in shown


def test_lines_of_a_key_are_masked_one_by_one() -> None:
    """A tool that prints a private key line by line, or with written line breaks, gives nothing
    away.
    """
    redactor = Redactor([KEY])
    for line in KEY.splitlines()[1:]:
        assert redactor.clean(f"> {line} <") == "> *** <"
    assert "MII" not in redactor.clean(json.dumps(KEY))


@pytest.mark.parametrize("trivial", ["", "{", "}", " \n ", "{\n}", "true", "a\nb\nc"])
def test_trivial_strings_are_not_masked(trivial: str) -> None:
    """Masking a brace or a word would blacken every line of the log, so values that short are left
    alone.
    """
    text = '{"a": true, "b": [1], "c": null}'
    assert Redactor([trivial]).clean(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "PUT https://www.googleapis.com/upload/x?uploadType=resumable&upload_id=ABg5-UxQ&x=1",
            "PUT https://www.googleapis.com/upload/x?uploadType=resumable&upload_id=***&x=1",
        ),
        ("?upload_token=abc&b", "?upload_token=***&b"),
        ("next=%3Fupload_id%3DABg5", "next=%3Fupload_id%3D***"),
        (
            '{"access_token": "abc", "expires_in": 3599}',
            '{"access_token": "***", "expires_in": 3599}',
        ),
        ('{\\"id_token\\":\\"abc\\"}', '{\\"id_token\\":\\"***\\"}'),
        ("X-GUploader-UploadID: ABg5-UxQ", "X-GUploader-UploadID: ***"),
        ("Authorization: Bearer abcdefgh.ijkl", "Authorization: Bearer ***"),
        ("token ya29.c.b0Aaek-x_y end", "token *** end"),
        ("refresh 1//0abcdefghijklmnopqrstuv end", "refresh *** end"),
        ("jwt eyJhbGciOiJSUzI1.eyJpc3MiOiJ4.c2ln end", "jwt *** end"),
        (
            "grant=x&assertion%3DeyJhbGciOiJSUzI1.eyJpc3MiOiJ4.c2ln",
            "grant=x&assertion%3D***",
        ),
        ("sent%3DeyJhbGciOiJSUzI1.eyJpc3MiOiJ4.c2ln end", "sent%3D*** end"),
        (f"key {KEY.strip()} end", "key *** end"),
        (f"key {KEY[:50]}", "key ***"),
    ],
)
def test_credentials_are_known_by_their_shape(text: str, shown: str) -> None:
    """Session URIs, tokens, assertions and private keys are masked although nobody named them."""
    assert Redactor().clean(text) == shown


ENDPOINT = (
    "https://www.googleapis.com/upload/storage/v1/b/bucket/o?name=a-name-of-an-object"
)


@pytest.mark.parametrize(
    "secret",
    [
        "ABg5-UxQ_lDp7e0v1fCk2mNw",
        "x/ABg5-UxQ_lDp7e0v1",
        "ABg5-UxQ_lDp7e0v1.0123456789abcdef",
        "AAAABBBBCCCCDDDD%2F0",
    ],
)
def test_what_is_secret_of_a_session_is_decided_in_one_place(secret: str) -> None:
    """What a log masks of a session's address is masked in a response as well, and no word of the
    endpoint.
    """
    uri = f"{ENDPOINT}&upload_id={secret}"
    redactor = Redactor()
    redactor.add_session(uri, ENDPOINT)
    words = session_words(uri, ENDPOINT)
    assert words
    for word in words:
        assert redactor.hide(f"session {word} of bucket") == "session *** of bucket"
        assert (
            without_session(f'{{"a": "{word}"}}'.encode(), uri, ENDPOINT)
            == b'{"a": "***"}'
        )
    for whole in (
        uri,
        uri.removeprefix("https://www.googleapis.com"),
        json.dumps(uri).replace("/", "\\/"),
    ):
        assert secret.encode() not in without_session(whole.encode(), uri, ENDPOINT)
    assert (
        without_session(b"a-name-of-an-object", uri, ENDPOINT) == b"a-name-of-an-object"
    )


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("a\rb", r"a\rb"),
        ("\x9b31m", r"\x9b31m"),
        ("app\u202ebaa.exe", "app<U+202E>baa.exe"),
        ("a\u200bb\ufeff", "a<U+200B>b<U+FEFF>"),
        ("caf\udce9", r"caf\xe9"),
        ("\U000e0041", "<U+E0041>"),
        ("tab\tand\nnewline", "tab\tand\nnewline"),
    ],
)
def test_deceptive_characters_become_visible(raw: str, shown: str) -> None:
    """Escapes, carriage returns, bidirectional and zero-width characters and undecodable bytes are
    written out.
    """
    assert Redactor().clean(raw) == shown


@given(hostile)
def test_one_line_is_one_printable_line(text: str) -> None:
    """Whatever goes in, what comes out is one line of UTF-8 without control, format or surrogate
    characters.
    """
    line = Redactor().one_line(text)
    assert len(f"{line}|".splitlines()) == 1
    assert not {unicodedata.category(character) for character in line} & {
        "Cc",
        "Cf",
        "Cs",
        "Zl",
        "Zp",
    }
    line.encode("utf-8")


def test_overlapping_secrets_leave_no_rest() -> None:
    """Where two secrets overlap in a text, neither end of them is left beside the mask."""
    assert Redactor(["abcdefgh", "efghijklmn"]).clean("-abcdefghijklmn-") == "-***-"


@pytest.mark.parametrize("offset", range(-3, 30))
def test_secret_on_the_cut_does_not_show(offset: int) -> None:
    """A secret that lies across the length limit is masked like any other."""
    secret = "0123456789abcdefghijklmn"
    shown = Redactor([secret]).clean("x" * (LIMIT - offset) + secret + "x" * 9000)
    assert shown.endswith("…")
    assert not set("0123456789abcdef") & set(shown)


@pytest.mark.parametrize(
    "unit",
    [
        "eyJ",
        "eyJaaaaaaaa.",
        "-----BEGIN PRIVATE KEY-----",
        "-----END ",
        '"access_token":"',
        "upload_id=",
        "\x1b",
        "1//a",
        "a",
    ],
)
def test_hostile_text_costs_linear_time(unit: str) -> None:
    """Ten megabytes made to be awkward are cleaned at once: only so much of a text is looked at,
    each part once.
    """
    redactor = Redactor([KEY, "a" * 40])
    began = time.thread_time()
    shown = redactor.one_line(unit * (10_000_000 // len(unit)))
    assert time.thread_time() - began < 1
    assert len(shown) < 10 * LIMIT


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("client_secret=abc", []),
        ("no secret at all, " * 100, []),
        ("word " * 100, []),
        ("MIIBIjANBgkq", []),
        ("ya29.abcdefghijklmnop", ["ya29.abcdefghijklmnop"]),
        ("=" * 300, []),
        ("a" * 301, []),
    ],
)
def test_words_are_no_credentials(text: str, found: list[str]) -> None:
    """A mail may speak of a client's secret; what is short, or plain text, is not masked wherever
    it stands.
    """
    assert list(credentials_in(text)) == found


PEM = (
    "-----BEGIN PRIVATE KEY-----\n"
    + "Ab3/" * 16
    + "\n"
    + "Cd4+" * 16
    + "\n"
    + "Ef5/" * 8
    + "Ef5=\n-----END PRIVATE KEY-----\n"
)


@pytest.mark.parametrize(
    "text",
    [
        "Use GOCSPX-" + "Ab3_" * 7,
        "token: 1//0g" + "Ab3_" * 24,
        '{"token": "1\\/\\/0g' + "Ab3_" * 24 + '"}',
        "ya29." + "a0Ab_" * 30,
        PEM,
        "The key:\n\n" + PEM,
        PEM[:200],
        PEM.replace("\n", "\\n"),
        "> " + PEM.replace("\n", "\n> "),
        base64.b64encode(PEM.encode()).decode(),
    ],
    ids=range(10),
)
def test_a_credential_in_a_text_is_found(text: str) -> None:
    """A PEM key as a whole is made of nothing but what base64 is made of, too."""
    assert holds_credential(text)


@pytest.mark.parametrize(
    "text",
    [
        "Imports a PRIVATE KEY again. " * 10,
        (
            "A key begins with -----BEGIN PRIVATE KEY-----, then comes base64, then -----END "
            "PRIVATE KEY-----."
        ),
        "See https://example.com/1//0-is-not-one-but-a-very-long-path-of-somebody-else",
        "#define ONE 1//" + "-" * 60,
        (
            "A client's secret begins with GOCSPX-, an access token with ya29.a0Ab, a refresh "
            "token with 1//0g."
        ),
        "A long text about nothing. " * 100,
    ],
    ids=range(6),
)
def test_a_text_about_credentials_holds_none(text: str) -> None:
    """A note may say what was done with a key, and a page how one begins."""
    assert not holds_credential(text)
