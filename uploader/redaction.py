r"""Hides secrets in text as ***, and makes characters visible that could deceive a reader.

Everything that reaches a log, an output, a summary or a results file passes through here once.
Nothing is left out silently: a control character is shown as `\x1b`, a bidirectional or zero-width
one as `<U+202E>`, a cut as an ellipsis.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias
from urllib.parse import quote, quote_plus

SecretSpan: TypeAlias = tuple[int, int]
"""Where a secret begins in a text, and where it ends."""

MASK: Final = "***"
# characters that people are shown of one text; the rest of a hostile answer is cut
LIMIT: Final = 64 * 1024
# characters; masking a shorter secret would mask ordinary words, and masking `{` every JSON
SHORTEST: Final = 6
# the same for what is only a part of a secret: a line, or an encoded form
SHORTEST_PART: Final = 8
# a word of a session's URI that may identify the session
_LONG_WORD: Final = re.compile(r"[\w-]{16,}")
# characters that are read beyond the limit, so that a credential at the cut is still recognised
_MARGIN: Final = 8 * 1024

_NAMES: Final = (
    "(?:upload_?id|upload_?token|(?:access|id|refresh|oauth|subject)_?token|assertion"
    "|client_secret|private_key|x-goog-signature)"
)
# The shapes of Google's own secrets: how they begin, their alphabets, and how many characters real
# ones have at least. Shorter ones are examples in documents, and are masked as well.
_ACCESS_PREFIX: Final = r"ya29\."
_REFRESH_PREFIX: Final = "1//"
_CLIENT_PREFIX: Final = "GOCSPX-"
_GOOGLE: Final = {
    "a Google access token": re.compile(rf"{_ACCESS_PREFIX}[\w.-]{{60}}", re.ASCII),
    "a Google refresh token": re.compile(
        rf"(?<![\w/+]){_REFRESH_PREFIX}0[\w-]{{38}}", re.ASCII
    ),
    "the secret of a Google OAuth client": re.compile(
        rf"{_CLIENT_PREFIX}[\w-]{{24}}", re.ASCII
    ),
}
_KEY_LABEL: Final = "[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?"
_KEY_BEGINS: Final = re.compile(rf"-{{4,5}} ?BEGIN {_KEY_LABEL} ?-{{4,5}}")
# characters behind the first line of a key in which its body is looked for
_KEY_HEADERS: Final = 400
# enough for the beginning of a body: the shortest private key has 64 characters
_KEY_BODY: Final = re.compile(r"[A-Za-z0-9+/]{40}")

# Credentials that are recognised by their shape. Each pattern either starts where a token can begin
# only once, or consumes what it has looked at, so that the search is linear in the text. Group
# `secret` is what is masked.
_PATTERNS: Final = (
    # session URIs and whatever else carries its authority in a query, a form or a JSON member
    rf"(?i){_NAMES}(?:=|%3D)(?P<secret>[^\s&\"'<>\\]+)",
    rf"(?i)[\"']{_NAMES}\\?[\"']\s{{0,4}}:\s{{0,4}}\\?[\"'](?P<secret>(?:[^\"'\\]|\\[^\"'])+)",
    r"(?i)x-guploader-uploadid[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?P<secret>[\w-]+)",
    r"(?i)\bbearer\s{1,4}(?P<secret>[\w.~+/=-]{8,})",
    # access tokens, refresh tokens, client secrets, signed JSON web tokens
    rf"(?P<secret>{_ACCESS_PREFIX}[\w.-]+)",
    rf"\b(?P<secret>{_REFRESH_PREFIX}[\w-]{{20,}})",
    rf"(?P<secret>{_CLIENT_PREFIX}[\w-]{{8,}})",
    r"(?:(?<![\w-])|(?<=%3D)|(?<=%3d))(?P<secret>eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)",
    # a private key, also one whose line breaks are written as \n, also one without an end
    (
        r"(?P<secret>-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?s:.*?)"
        r"(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z))"
    ),
)
_SHAPES: Final = tuple(map(re.compile, _PATTERNS))

# characters; a shorter text after `token=` may be an ordinary word
SHORTEST_CREDENTIAL: Final = 16
SHORTEST_KEY: Final = 256  # characters of base64
_BASE64: Final = re.compile(r"[\w+/=\s-]+", re.ASCII)
# between the two alphabets of base64 (RFC 4648, sections 4 and 5)
_STANDARD_BASE64: Final = str.maketrans("-_", "+/")
_URL_BASE64: Final = str.maketrans("+/", "-_")
_SECRET_FIELD: Final = re.compile(
    r'"(?:private_key|refresh_token|client_secret)"\s{0,4}:'
)
# A private key without its first and last line: an ASN.1 sequence of more than 255 bytes in base64
# (X.690, 8.1.3).
_DER: Final = re.compile(
    r"(?<![\w+/])(?P<secret>MI[IJ](?:[\w+/=-]|\s+(?=[\w+/=-]{20}))*)", re.ASCII
)

# Control characters (C0 but tab and newline, DEL, C1), soft hyphen, blank fillers, zero-width and
# bidirectional marks, line and paragraph separators, invisible operators, interlinear marks, tags,
# and what is left of undecodable bytes.
_DECEPTIVE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_BREAK: Final = re.compile(r"[\n\t]")
_ESCAPED_BREAK: Final = re.compile(r"(?<!\\)\\+n")
_WORD: Final = re.compile(r"\w{4}")
_ESCAPE: Final = re.compile("%..")
_NAMED: Final = {
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
}


def parts(secret: str) -> tuple[str, ...]:
    """Return the pieces of a secret that must not be visible: all of it, and each of its lines,
    unless they are trivially short.
    """
    whole = secret.strip()
    pieces: list[str] = []
    if len(whole) >= SHORTEST:
        pieces.append(whole)
    lines = whole.splitlines()
    if len(lines) < 2:
        return tuple(pieces)
    for raw_line in lines:
        line = raw_line.strip()
        if len(line) < SHORTEST_PART:
            continue
        if _WORD.search(line):
            pieces.append(line)
    return tuple(dict.fromkeys(pieces))


def credentials_in(text: str) -> Iterator[str]:
    """Yield whatever in `text` has the shape of a credential, in plain text or in base64, with its
    original line breaks.
    """
    yield from _matches(_DER, text, SHORTEST_KEY)
    for shape in _SHAPES:
        yield from _matches(shape, text, SHORTEST_CREDENTIAL)
    if not _may_be_encoded_key(text):
        return
    decoded = _decode(text)
    encoded = tuple(credentials_in(decoded))
    if encoded:
        yield text
        yield from encoded


def _matches(shape: re.Pattern[str], text: str, shortest: int) -> Iterator[str]:
    """Yield the secrets of a shape that have at least so many characters."""
    for match in shape.finditer(text):
        secret = match["secret"]
        if len(secret) >= shortest:
            yield _ESCAPED_BREAK.sub("\n", secret)


def holds_credential(text: str) -> bool:
    """Return whether `text` contains a private key, a credential configuration or a secret of
    Google's, in plain text or in base64.
    """
    if _holds_plain_credential(text):
        return True
    # A key in PEM is not base64 as a whole, so it can't get here.
    if not _may_be_encoded_key(text):
        return False
    decoded = _decode(text)
    return _holds_plain_credential(decoded)


def _may_be_encoded_key(text: str) -> bool:
    """Return whether the whole text is base64, and long enough for a key."""
    if len(text) < SHORTEST_KEY:
        return False
    return _BASE64.fullmatch(text) is not None


def _holds_plain_credential(text: str) -> bool:
    """Return whether `text` contains a credential in plain text."""
    if _SECRET_FIELD.search(text):
        return True
    if google_secret(text):
        return True
    return holds_private_key(text)


def google_secret(text: str) -> str:
    """Return the kind of Google's secret that is in `text`, judging by its shape; empty if there is
    none.
    """
    # Some programs write `/` in JSON as `\/`.
    plain = text.replace(r"\/", "/")
    for kind, shape in _GOOGLE.items():
        if shape.search(plain):
            return kind
    return ""


def holds_private_key(text: str) -> bool:
    """Return whether a private key in PEM begins in `text`. It may be cut off."""
    for first_line in _KEY_BEGINS.finditer(text):
        start = first_line.end()
        end = start + _KEY_HEADERS
        following = text[start:end]
        body, _, _ = following.partition("----")
        if _KEY_BODY.search(body):
            return True
    return False


def _decode(text: str) -> str:
    """Decode base64 in either alphabet, up to the last complete group of four characters."""
    compact = "".join(text.split())
    standard = compact.translate(_STANDARD_BASE64)
    unpadded, _, _ = standard.partition("=")
    incomplete = len(unpadded) % 4
    stop = len(unpadded) - incomplete
    data = base64.b64decode(unpadded[:stop])
    return data.decode("utf-8", "replace")


def session_words(uri: str, endpoint: str) -> set[str]:
    """Return the parts of a session URI that let others write into the session: every long word
    that its endpoint's public URL does not have.

    This is the only place that decides it, both for what is shown and for what is kept of a
    response.
    """
    words = _LONG_WORD.findall(uri)
    return {word for word in words if word not in endpoint}


def without_session(text: bytes, uri: str, endpoint: str) -> bytes:
    """Return `text` with the session's URI, with or without its host, and each of its
    `session_words` as ***.
    """
    _, _, without_scheme = uri.partition("://")
    _, _, path = without_scheme.partition("/")
    forms = (uri, f"/{path}")
    secrets = [form for form in forms if len(form) >= SHORTEST_PART]
    words = session_words(uri, endpoint)
    # The longest word comes first, because one may contain another.
    secrets += sorted(words, key=len, reverse=True)
    mask = MASK.encode()
    for secret in secrets:
        plain = secret.encode(errors="replace")
        in_json = plain.replace(b"/", b"\\/")  # as some programs write it
        text = text.replace(plain, mask)
        text = text.replace(in_json, mask)
    return text


class Redactor:
    """Knows the secrets of a run and hides them in text. Several threads may use it, and add
    secrets.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._forms: tuple[str, ...] = ()  # shortest first
        self._parts: set[str] = set()  # those that the forms were made of
        self._session_words: set[str] = set()
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """Mask `secret` from now on, with its lines and its JSON, base64 and URL forms, unless
        trivially short.
        """
        forms: set[str] = set()
        new_parts: list[str] = []
        for part in parts(secret):
            # A secret may be added more than once, such as a key.
            if part in self._parts:
                continue
            new_parts.append(part)
            forms.add(part)
            for form in _encoded_forms(part):
                if len(form) >= SHORTEST_PART:
                    forms.add(form)
        with self._lock:
            self._parts.update(new_parts)
            forms.update(self._forms)
            by_length = sorted(forms, key=len)
            # A new tuple each time, because other threads may be reading the old one.
            self._forms = tuple(by_length)

    def add_session(self, uri: str, endpoint: str) -> None:
        """Mask every long word of a session URI that its endpoint's public URL does not have.

        A run may have thousands of sessions. Each word is an entry in a set, so the time for a text
        does not depend on their number.
        """
        self._session_words |= session_words(uri, endpoint)

    def knows(self, part: str) -> bool:
        """Return whether `part` is masked already."""
        return part in self._forms

    def hide(self, text: str, limit: int | None = None) -> str:
        """Return `text` for programs: secrets as ***, otherwise unchanged, cut after `limit`
        characters.
        """
        length = len(text)
        end = length
        if limit is not None:
            end = min(limit, length)
        is_cut = end < length
        # No secret is so short, and nothing that has the shape of one.
        is_too_short = length < SHORTEST
        if is_too_short and not is_cut:
            return text
        spans = self._secret_spans(text, end)
        pieces: list[str] = []
        offset = 0
        for start, stop in _merge(spans):
            if start >= end:
                break
            pieces.append(text[offset:start])
            pieces.append(MASK)
            offset = stop
        pieces.append(text[offset:end])
        if is_cut:
            pieces.append("…")
        return "".join(pieces)

    def _secret_spans(self, text: str, end: int) -> list[SecretSpan]:
        """Return where secrets begin and end in `text` up to `end`, in no order. They may
        overlap.
        """
        forms = self._forms
        # Enough is read beyond the end that a credential at the cut is complete.
        margin = _MARGIN
        if forms:
            longest = forms[-1]
            margin = max(margin, len(longest))
        window = text[: end + margin]
        spans = list(_spans(window, forms))
        known_words = self._session_words
        if known_words:
            for match in _LONG_WORD.finditer(window):
                word = match.group()
                if word in known_words:
                    spans.append(match.span())
        return spans

    def clean(self, text: str, limit: int = LIMIT) -> str:
        """Return `text` for people: secrets as ***, deceptive characters made visible, newlines and
        tabs as they are.
        """
        without_secrets = self.hide(text, limit)
        return _DECEPTIVE.sub(_visible, without_secrets)

    def one_line(self, text: str, limit: int = LIMIT) -> str:
        r"""Return `text` as `clean` does, on one line: newlines as `\n`, tabs as `\t`."""
        cleaned = self.clean(text, limit)
        return _BREAK.sub(_visible, cleaned)


def _spans(text: str, forms: tuple[str, ...]) -> Iterator[SecretSpan]:
    """Yield where forms of a secret, and texts in the shape of one, begin and end in `text`."""
    for form in forms:
        # The forms after this one are at least as long. Most texts are shorter than most forms.
        if len(form) > len(text):
            break
        start = text.find(form)
        while start >= 0:
            stop = start + len(form)
            yield start, stop
            start = text.find(form, stop)
    for shape in _SHAPES:
        for match in shape.finditer(text):
            yield match.span("secret")


def _merge(spans: Iterable[SecretSpan]) -> list[SecretSpan]:
    """Return the spans in order, with those joined that overlap or touch. Otherwise the rest of one
    secret could remain visible beside another.
    """
    in_order = sorted(spans)
    joined = in_order[:1]
    for start, stop in in_order[1:]:
        last_start, last_stop = joined[-1]
        if start > last_stop:
            joined.append((start, stop))
        elif stop > last_stop:
            joined[-1] = (last_start, stop)
    return joined


def _visible(match: re.Match[str]) -> str:
    """Return how a deceptive character is shown: by name, as the byte it was, or by its code
    point.
    """
    character = match.group()
    code = ord(character)
    # A byte of a file name that is not UTF-8 (PEP 383).
    if 0xDC80 <= code <= 0xDCFF:
        byte = code - 0xDC00
        return f"\\x{byte:02x}"
    if character in _NAMED:
        return _NAMED[character]
    if code < 0xA0:
        return f"\\x{code:02x}"
    return f"<U+{code:04X}>"


def _encoded_forms(part: str) -> Iterator[str]:
    """Yield the other forms in which a piece of a secret is likely to appear in a text."""
    literal = repr(part)
    yield literal[1:-1]
    for ascii_only in (True, False):
        once = _in_json(part, ascii_only=ascii_only)
        yield once
        yield _in_json(once, ascii_only=ascii_only)  # JSON inside of JSON
    raw = part.encode("utf-8", "surrogatepass")
    in_urls = (
        quote(raw),
        quote(raw, safe=""),
        quote_plus(raw),
    )
    for quoted in in_urls:
        yield quoted
        yield _ESCAPE.sub(_in_lower_case, quoted)
    yield from _in_base64(raw)


def _in_base64(raw: bytes) -> Iterator[str]:
    """Yield how a secret looks in base64, in both alphabets, wherever it begins in what was
    encoded.
    """
    # The characters at both ends also depend on the bytes before and after the secret. For each of
    # the three places where it can begin in a group of three bytes, these are the characters that
    # depend on the secret alone.
    for shift in range(3):
        shifted = bytes(shift) + raw
        encoded = base64.b64encode(shifted).decode("ascii")
        shifted_bits = 8 * shift
        all_bits = 8 * len(shifted)
        first = (shifted_bits + 5) // 6
        stop = all_bits // 6
        core = encoded[first:stop]
        yield core
        yield core.translate(_URL_BASE64)


def _in_lower_case(escape: re.Match[str]) -> str:
    """Return an escape of a URL with its digits in lower case."""
    return escape.group().lower()


def _in_json(part: str, *, ascii_only: bool) -> str:
    """Return a text as it is inside a JSON string, without the quotes."""
    quoted = json.dumps(part, ensure_ascii=ascii_only)
    return quoted[1:-1]
