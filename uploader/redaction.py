r"""The one place where text is made fit to be seen: secrets become ***, what could deceive a reader
becomes visible.

Everything that reaches a log, an output, a summary or a results file passes here once. Nothing is
dropped silently: a control character is shown as `\x1b`, a bidirectional or zero-width one as
`<U+202E>`, a cut as an ellipsis.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus

MASK: Final = "***"
# characters of one text that people will read; the rest of a hostile answer is cut
LIMIT: Final = 64 * 1024
SHORTEST: Final = 6  # a shorter value would mask ordinary words, and `{` would blacken every JSON
SHORTEST_PART: Final = 8  # the same for what is only a part of a secret: a line, or an encoded form
# what identifies a session is a word of its URI, and no shorter
_LONG_WORD: Final = re.compile(r"[\w-]{16,}")
# read beyond the limit, so that a credential on the cut is still recognised
_MARGIN: Final = 8 * 1024

_NAMES: Final = (
    "(?:upload_?id|upload_?token|(?:access|id|refresh|oauth|subject)_?token|assertion|client_secret|private_key"
    "|x-goog-signature)"
)
# Google's own secrets, by how they begin: what each is, its alphabet, and how many characters the
# real ones have at least. Shorter ones are masked all the same, and stand in documents as examples.
_ACCESS_TOKEN, _REFRESH_TOKEN, _CLIENT_SECRET = r"ya29\.", "1//", "GOCSPX-"
_GOOGLE: Final = {
    "a Google access token": re.compile(rf"{_ACCESS_TOKEN}[\w.-]{{60}}", re.ASCII),
    "a Google refresh token": re.compile(rf"(?<![\w/+]){_REFRESH_TOKEN}0[\w-]{{38}}", re.ASCII),
    "the secret of a Google OAuth client": re.compile(rf"{_CLIENT_SECRET}[\w-]{{24}}", re.ASCII),
}
_KEY_LABEL: Final = "[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?"
_KEY_BEGINS: Final = re.compile(rf"-{{4,5}} ?BEGIN {_KEY_LABEL} ?-{{4,5}}")
# characters between the first line of a key and its body, and a line of that
_KEY_HEADERS: Final = 400
_KEY_BODY: Final = re.compile(r"[A-Za-z0-9+/]{40}")  # the shortest private key: 64 characters

# Credentials that give themselves away by their shape. Each pattern either starts where a token can
# only begin once, or consumes what it has looked at, so that the search is linear in the text.
# Group `secret` is what is masked.
_SHAPES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # session URIs and whatever else carries its authority in a query, a form or a JSON member
        rf"(?i){_NAMES}(?:=|%3D)(?P<secret>[^\s&\"'<>\\]+)",
        rf"(?i)[\"']{_NAMES}\\?[\"']\s{{0,4}}:\s{{0,4}}\\?[\"'](?P<secret>(?:[^\"'\\]|\\[^\"'])+)",
        r"(?i)x-guploader-uploadid[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?P<secret>[\w-]+)",
        r"(?i)\bbearer\s{1,4}(?P<secret>[\w.~+/=-]{8,})",
        # access tokens, refresh tokens, client secrets, signed JSON web tokens
        rf"(?P<secret>{_ACCESS_TOKEN}[\w.-]+)",
        rf"\b(?P<secret>{_REFRESH_TOKEN}[\w-]{{20,}})",
        rf"(?P<secret>{_CLIENT_SECRET}[\w-]{{8,}})",
        r"(?:(?<![\w-])|(?<=%3D)|(?<=%3d))(?P<secret>eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)",
        # a private key, also one whose line breaks are written as \n, also one without an end
        (
            r"(?P<secret>-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?s:.*?)"
            r"(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z))"
        ),
    )
)

# characters; a shorter one that is given may be an ordinary word after `token=`
SHORTEST_CREDENTIAL: Final = 16
SHORTEST_KEY: Final = 256  # characters of base64
_BASE64: Final = re.compile(r"[\w+/=\s-]+", re.ASCII)
_SECRET_FIELD: Final = re.compile(r'"(?:private_key|refresh_token|client_secret)"\s{0,4}:')
# A private key without its first and last line: an ASN.1 sequence of more than 255 bytes in base64
# (X.690, 8.1.3).
_DER: Final = re.compile(
    r"(?<![\w+/])(?P<secret>MI[IJ](?:[\w+/=-]|\s+(?=[\w+/=-]{20}))*)", re.ASCII
)

# Control characters (C0 but tab and newline, DEL, C1), soft hyphen, blank fillers, zero-width and
# bidirectional marks, line and paragraph separators, invisible operators, interlinear marks, tags,
# and what is left of undecodable bytes.
_DECEPTIVE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_BREAK: Final = re.compile(r"[\n\t]")
_NAMED: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def parts(secret: str) -> tuple[str, ...]:
    """The pieces of a secret that must not be seen by themselves: all of it, and each line, unless
    trivially short.
    """
    whole = secret.strip()
    lines = [line.strip() for line in whole.splitlines()]
    long_enough = [
        line for line in lines if len(line) >= SHORTEST_PART and re.search(r"\w{4}", line)
    ]
    return tuple(
        dict.fromkeys(
            ([whole] if len(whole) >= SHORTEST else []) + (long_enough if len(lines) > 1 else [])
        )
    )


def credentials_in(text: str) -> Iterator[str]:
    """Whatever in `text` gives itself away as a credential, in plain or in base64, its line breaks
    as they were.
    """
    for shape, least in (
        (_DER, SHORTEST_KEY),
        *((shape, SHORTEST_CREDENTIAL) for shape in _SHAPES),
    ):
        for found in shape.finditer(text):
            if len(found["secret"]) >= least:
                yield re.sub(r"(?<!\\)\\+n", "\n", found["secret"])
    if len(text) >= SHORTEST_KEY and _BASE64.fullmatch(text):
        inside = tuple(credentials_in(_decoded(text)))
        yield from (text, *inside) if inside else ()


def holds_credential(text: str) -> bool:
    """Whether a private key, a credential configuration or a secret of Google's stands in `text`,
    also in base64.
    """
    texts = [text]
    # as a PEM key does, which is no base64 as a whole
    if len(text) >= SHORTEST_KEY and _BASE64.fullmatch(text):
        texts.append(_decoded(text))
    return any(
        _SECRET_FIELD.search(each) or google_secret(each) or holds_private_key(each)
        for each in texts
    )


def google_secret(text: str) -> str:
    """Which secret of Google's stands in `text`, told by its shape alone; empty where none does."""
    plain = text.replace(r"\/", "/")  # as some programs write JSON
    return next((kind for kind, shape in _GOOGLE.items() if shape.search(plain)), "")


def holds_private_key(text: str) -> bool:
    """Whether a private key in PEM begins in `text`; it may be cut off."""
    for begin in _KEY_BEGINS.finditer(text):
        start = begin.end()
        body, _, _ = text[start : start + _KEY_HEADERS].partition("----")
        if _KEY_BODY.search(body):
            return True
    return False


def _decoded(text: str) -> str:
    compact = "".join(text.split()).translate(str.maketrans("-_", "+/")).partition("=")[0]
    return base64.b64decode(compact[: len(compact) // 4 * 4]).decode("utf-8", "replace")


def session_words(uri: str, endpoint: str) -> set[str]:
    """What of a session URI lets others write into the session: every long word that its endpoint's
    public URL lacks.

    The only place that decides it, for what is shown and for what is kept of a response.
    """
    return {word for word in _LONG_WORD.findall(uri) if word not in endpoint}


def without_session(text: bytes, uri: str, endpoint: str) -> bytes:
    """`text` with every such word as ***, and the URI as a whole, with or without its host."""
    target = "/" + uri.partition("://")[2].partition("/")[2]
    wholes = [whole for whole in (uri, target) if len(whole) >= SHORTEST_PART]
    # one may hold another
    for secret in (*wholes, *sorted(session_words(uri, endpoint), key=len, reverse=True)):
        for form in (secret, secret.replace("/", "\\/")):
            text = text.replace(form.encode(errors="replace"), MASK.encode())
    return text


class Redactor:
    """Knows the secrets of a run and makes text fit to be seen. May be used and taught from several
    threads.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._forms: tuple[str, ...] = ()  # shortest first
        self._parts: set[str] = set()  # whose forms these are
        self._session_words: set[str] = set()
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """Mask `secret` from now on, with its lines and its JSON, base64 and URL forms, unless
        trivially short.
        """
        # a key is told of more than once
        new = [part for part in parts(secret) if part not in self._parts]
        forms = {
            *new,
            *(form for part in new for form in _encoded(part) if len(form) >= SHORTEST_PART),
        }
        with self._lock:
            self._parts.update(new)
            # a new tuple each time: readers in other threads keep the one that they are walking
            # through
            self._forms = tuple(sorted(forms.union(self._forms), key=len))

    def add_session(self, uri: str, endpoint: str) -> None:
        """Mask every long word of a session URI that its endpoint's public URL lacks.

        A run may have thousands of sessions: each costs an entry in a set, and a text the same
        however many there are.
        """
        self._session_words |= session_words(uri, endpoint)

    def knows(self, part: str) -> bool:
        """Whether `part` is masked already."""
        return part in self._forms

    def hide(self, text: str, limit: int | None = None) -> str:
        """`text` with its secrets as ***, else as it is; cut after `limit` characters. For what
        programs will read.
        """
        end = len(text) if limit is None else min(limit, len(text))
        if len(text) < SHORTEST and end == len(text):  # no secret and no shape of one is so short
            return text
        forms = self._forms
        window = text[: end + max(_MARGIN, len(forms[-1]) if forms else 0)]
        spans = [*_spans(window, forms)]
        if self._session_words:
            spans += [
                word.span()
                for word in _LONG_WORD.finditer(window)
                if word.group() in self._session_words
            ]
        pieces: list[str] = []
        at = 0
        for start, stop in _merged(spans):
            if start >= end:
                break
            pieces += (text[at:start], MASK)
            at = stop
        pieces.append(text[at:end])
        return "".join(pieces) + ("…" if end < len(text) else "")

    def clean(self, text: str, limit: int = LIMIT) -> str:
        """`text` for people: secrets as ***, deceptive characters made visible; newlines and tabs
        stay.
        """
        return _DECEPTIVE.sub(_visible, self.hide(text, limit))

    def one_line(self, text: str, limit: int = LIMIT) -> str:
        r"""As `clean`, on one line: a newline is shown as `\n`, a tab as `\t`."""
        return _BREAK.sub(_visible, self.clean(text, limit))


def _spans(text: str, forms: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Where in `text` something secret begins and ends, in no order, possibly overlapping."""
    for form in forms:
        # nor is any longer one in it; most texts are short, most forms are not
        if len(form) > len(text):
            break
        at = text.find(form)
        while at >= 0:
            yield at, at + len(form)
            at = text.find(form, at + len(form))
    for shape in _SHAPES:
        for match in shape.finditer(text):
            yield match.span("secret")


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same stretches in order, those that overlap or touch joined, so that no rest of one shows
    beside another.
    """
    joined: list[tuple[int, int]] = []
    for start, stop in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(stop, joined[-1][1])
        else:
            joined.append((start, stop))
    return joined


def _visible(match: re.Match[str]) -> str:
    """How one character that could deceive is written: by name, as the byte it was, or by its code
    point.
    """
    character = match.group()
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file name that is not UTF-8 (PEP 383)
        return f"\\x{code - 0xDC00:02x}"
    return _NAMED.get(character) or (f"\\x{code:02x}" if code < 0xA0 else f"<U+{code:04X}>")


def _encoded(part: str) -> Iterator[str]:
    """Every other way in which a piece of a secret is likely to turn up in a text."""
    raw = part.encode("utf-8", "surrogatepass")
    yield repr(part)[1:-1]
    for ascii_only in (True, False):
        once = json.dumps(part, ensure_ascii=ascii_only)[1:-1]
        yield once
        yield json.dumps(once, ensure_ascii=ascii_only)[1:-1]  # JSON that travels inside JSON
    for quoted in (quote(raw), quote(raw, safe=""), quote_plus(raw)):
        yield quoted
        yield re.sub("%..", lambda escape: escape.group().lower(), quoted)
    # what base64 makes of it wherever it stands: the characters that depend on it alone
    for shift in range(3):
        padded = base64.b64encode(bytes(shift) + raw).decode("ascii")
        core = padded[-(-shift * 8 // 6) : (shift + len(raw)) * 8 // 6]
        yield core
        yield core.translate(str.maketrans("+/", "-_"))
