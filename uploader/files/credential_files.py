"""Recognises by its content whether a file is a key, a keystore or another credential. The name of
the file does not matter.

A credential that begins in the first `HEAD` bytes is found. More is read of a keystore, to see
whether it has a key: one with certificates alone (a truststore) is no credential. Archives are not
looked into. Every search is linear in what is read. Sources: the Java keystore format (JDK,
`sun.security.provider.JavaKeyStore`), Bouncy Castle's `BcKeyStoreSpi` for BKS and UBER, RFC 7292
for PKCS #12, RFC 5958 for PKCS #8, RFC 7468 for PEM, java.util.Properties for properties, and the
JSON files of google-auth.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
from collections.abc import Iterator
from typing import Any, Final

from uploader.redaction import google_secret, holds_private_key

# bytes; every credential file of Google's has less than a tenth of it
HEAD: Final = 64 * 1024
# bytes that are read beyond, so that a credential that begins before the end of HEAD is complete
_MARGIN: Final = 8 * 1024
# bytes of a keystore that are looked at; certificates may come before the key
_MAX_KEYSTORE: Final = 1024 * 1024
_MAX_NESTED: Final = 2  # base64 of base64, and no further

_LFS: Final = b"version https://git-lfs.github.com/spec/v1"
LFS_POINTER: Final = (
    "is a Git LFS pointer, not the file itself: check out with `lfs: true`, or run `git lfs pull` "
    "before this step"
)

# --- text -----------------------------------------------------------------------------------------

_PUTTY: Final = re.compile(r"PuTTY-User-Key-File-[0-9]{1,2}: ")
_AWS: Final = re.compile(
    r"^[ \t]{0,20}(?:export[ \t]{1,9})?aws_secret_access_key[ \t]{0,9}=[ \t]{0,9}[\"']?"
    r"[A-Za-z0-9/+]{40}\b",
    re.IGNORECASE | re.MULTILINE,
)
_NETRC: Final = re.compile(
    r"(?:machine\s{1,99}\S{1,999}|default)\s{1,99}login\s{1,99}\S{1,999}\s{1,99}password\s{1,99}\S"
)
_NPMRC: Final = re.compile(
    r"^[ \t]{0,20}(?://[^\s=]{1,999}:)?_(?:authToken|password|auth)[ \t]{0,9}=[ \t]{0,9}"
    r"[\"']?[^\s$\"'<]",
    re.MULTILINE,
)
_PYPIRC: Final = re.compile(
    r"^[ \t]{0,20}password[ \t]{0,9}[=:][ \t]{0,9}[^\s$<%{]", re.MULTILINE
)
_SECTION: Final = re.compile(r"\[[\w.-]+\]$")
_INDEX: Final = re.compile(
    r"^(?:\[(?:distutils|pypi|testpypi)\]|[ \t]{0,20}repository[ \t]{0,9}[=:])",
    re.MULTILINE,
)
# The names that Gradle's and Android's own files and documents use for a password of a keystore, or
# of a key in it.
_STORE_PASSWORD: Final = re.compile(r"(?i)(?:^|[_.-])(?:key)?store[_.-]?pass(?:word)?$")
_KEY_PASSWORD: Final = re.compile(
    r"(?i)(?:(?:^|[_.-])key[_.-]?pass(?:word)?|^signing\.password|^signingInMemoryKeyPassword)$"
)
_KEYSTORE: Final = re.compile(
    r"(?i)(?:^|[_.-])"
    r"(?:(?:key)?store[_.-]?file|key[_.-]?(?:alias|store)|signing\.keyId|signingInMemoryKey)$"
    r"|^android\.injected\.signing\."
)
_PROPERTY: Final = re.compile(
    r"(?:export[ \t]{1,9})?([\w.-]{1,99})(?:[ \t\f]{0,9}[=:][ \t\f]{0,9}(.*)|[ \t\f]{1,9}(\S+))"
)
_COMMENTS: Final = ("#", "!", ";")
_ESCAPED: Final = re.compile(r"\\u([0-9A-Fa-f]{4})")
_PLACEHOLDER: Final = re.compile(
    r"\$|<.*>$|\{\{|%\w+%$|@\w+@$|\*+$|(?i:x+|changeme|todo|your[\w -]*)$"
)
_LOGIN_URL: Final = re.compile(
    r"https?://[^\s/:@]{0,999}:(?![$<{%])[^\s/@]{1,999}@[^\s@]+"
)
_SHORTEST_BASE64: Final = 160  # characters; an elliptic key has 164
# from the alphabet of URLs (RFC 4648, section 5)
_STANDARD_BASE64: Final = str.maketrans("-_", "+/")
_BASE64: Final = re.compile(r"[\w+/-]+={0,2}", re.ASCII)
_BASE64_WORD: Final = re.compile(
    rf"(?<![\w+/-])[\w+/-]{{{_SHORTEST_BASE64},}}={{0,2}}", re.ASCII
)
_BASE64_LINE: Final = re.compile(r"(?!--)[\w+/-]+={0,2}", re.ASCII)
_SHORTEST_LINE: Final = 40  # characters; base64 is wrapped after 64 or 76

# by the value of `type`: what the file is, and the field that only a real one has
_GOOGLE: Final = {
    "service_account": ("a service-account key", "private_key"),
    "gdch_service_account": ("a service-account key", "private_key"),
    "authorized_user": ("a Google user's credential", "refresh_token"),
    "external_account_authorized_user": ("a Google user's credential", "refresh_token"),
    "external_account": ("a Google credential configuration", "credential_source"),
    "impersonated_service_account": (
        "a Google credential configuration",
        "source_credentials",
    ),
}

# --- keystores ------------------------------------------------------------------------------------

_SQLITE: Final = b"SQLite format 3\0"
_JKS: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
_JKS_CERTIFICATE: Final = 2
_BC_CERTIFICATE: Final = 1
_PKCS12: Final = re.compile(
    rb"\x30(?:\x80|[\x00-\x7f]|[\x81-\x84].{1,4}?)\x02\x01\x03"
    rb"\x30(?:\x80|[\x00-\x7f]|[\x81-\x84].{1,4}?)"
    rb"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07[\x01\x02]",
    re.DOTALL,
)
# The object identifiers of a key, an encrypted key and a secret: 1.2.840.113549.1.12.10.1 with 1, 2
# and 5.
_PKCS12_KEYS: Final = tuple(
    b"\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x0a\x01" + bytes([kind])
    for kind in (1, 2, 5)
)
# the length of a DER value; some programs write it with more bytes than it needs
_LENGTH: Final = rb"(?:[\x00-\x7f]|\x81.|\x82..|\x83...|\x84....)"
_PKCS8: Final = re.compile(
    rb"\x30"
    + _LENGTH
    + rb"\x02\x01[\x00\x01]\x30"
    + _LENGTH
    + rb"\x06[\x03-\x09](?:\x2a|\x2b)",
    re.DOTALL,
)
_PKCS8_ENCRYPTED: Final = re.compile(
    rb"\x30"
    + _LENGTH
    + rb"\x30"
    + _LENGTH
    + rb"\x06[\x09\x0a]\x2a\x86\x48\x86\xf7\x0d\x01(?:\x05|\x0c\x01)",
    re.DOTALL,
)
_PKCS1: Final = re.compile(
    rb"\x30" + _LENGTH + rb"\x02\x01\x00\x02" + _LENGTH + rb"\x00",
    re.DOTALL,
)
_SEC1: Final = re.compile(
    rb"\x30" + _LENGTH + rb"\x02\x01\x01\x04[\x1c-\x42]",
    re.DOTALL,
)


class _Cut(Exception):
    """What was read of a keystore ends before an entry does."""


def kind_of_file(descriptor: int) -> str:
    """Return what credential an open regular file is, as the end of "it is …"; empty when it is
    none.

    Reads without moving the descriptor's position. Raises OSError.
    """
    data = os.pread(descriptor, HEAD + _MARGIN, 0)
    if _is_keystore(data):
        data = os.pread(descriptor, _MAX_KEYSTORE, 0)
    return kind_of(data)


def is_lfs_pointer(descriptor: int) -> bool:
    """Return whether an open regular file stands for one that Git LFS keeps. Raises OSError."""
    start = os.pread(descriptor, len(_LFS), 0)
    return start == _LFS


def kind_of(data: bytes, nested: int = 0) -> str:
    """Return what credential begins with these bytes, as the end of "it is …"; empty when none
    does. `nested` counts how often the bytes were decoded from base64.
    """
    kind = _keystore(data) or _binary_key(data)
    if kind:
        return kind
    if data.startswith(_SQLITE):
        # gcloud keeps its logins in such files.
        content = data.decode("latin-1")
        return _holding(google_secret(content))
    text = _text(data[: HEAD + _MARGIN])
    for recognise in (_json_credential, _secret_in_text, _settings):
        kind = recognise(text)
        if kind:
            return kind
    return _credential_in_base64(text, nested)


def _text(data: bytes) -> str:
    """Decode the bytes from any Unicode encoding, up to the first NUL behind those that they begin
    with.
    """
    start = data.lstrip(b"\0")
    encoding = json.detect_encoding(start)
    text = start.decode(encoding, "replace")
    text = text.removeprefix("\ufeff")
    before_nul, _, _ = text.partition("\0")
    return before_nul


def _json_credential(text: str) -> str:
    """Return what credential a JSON text holds; empty if none."""
    start = _behind_comments(text)
    if not start.startswith(("{", "[")):
        return ""
    decoder = json.JSONDecoder(strict=False)
    try:
        value, _ = decoder.raw_decode(start)
    except (ValueError, RecursionError):
        return ""
    for member in _objects(value):
        kind = _credential_object(member)
        if kind:
            return kind
    return ""


def _behind_comments(text: str) -> str:
    """Return the text without the comments and the white space that it begins with."""
    offset = 0
    while offset < len(text):
        character = text[offset]
        if character.isspace() or character == "\ufeff":
            offset += 1
        elif text.startswith(("//", "#"), offset):
            offset = _end_of(text, "\n", offset)
        elif text.startswith("/*", offset):
            offset = _end_of(text, "*/", offset)
        else:
            break
    return text[offset:]


def _end_of(text: str, mark: str, offset: int) -> int:
    """Return the offset at which the next mark ends; the end of the text if there is none."""
    start = text.find(mark, offset)
    if start < 0:
        return len(text)
    return start + len(mark)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a JSON value, the outermost first."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            yield item
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)


def _credential_object(value: dict[str, Any]) -> str:
    """Return what credential a JSON object is; empty if none."""
    type_name = str(value.get("type"))
    kind, field = _GOOGLE.get(type_name, ("", ""))
    if kind and value.get(field):
        return kind
    for name in ("installed", "web"):
        client = value.get(name)
        if not isinstance(client, dict):
            continue
        secret = client.get("client_secret")
        if secret and isinstance(secret, str):
            return "an OAuth client with its secret"
    # google-auth writes a user's credential without a type.
    has_client_secret = _is_secret(value.get("client_secret"))
    has_refresh_token = _is_secret(value.get("refresh_token"))
    if has_client_secret and has_refresh_token:
        return "a Google user's credential"
    if _has_docker_login(value):
        return "a Docker configuration with a login"
    return ""


def _is_secret(value: Any) -> bool:
    """Return whether the value is a text, and not a placeholder that is still to be filled in."""
    if not isinstance(value, str):
        return False
    plain = value.strip("\"' ")
    if not plain:
        return False
    return _PLACEHOLDER.match(plain) is None


def _has_docker_login(value: dict[str, Any]) -> bool:
    """Return whether registries have a login: in `config.json` below `auths`, in the older
    `.dockercfg` at the top.
    """
    registries = value.get("auths")
    if isinstance(registries, dict):
        for registry in _mappings_in(registries):
            if registry.get("auth") or registry.get("identitytoken"):
                return True
    return any(
        _is_user_and_password(registry.get("auth")) for registry in _mappings_in(value)
    )


def _mappings_in(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the members of an object that are objects themselves."""
    for member in value.values():
        if isinstance(member, dict):
            yield member


def _is_user_and_password(value: Any) -> bool:
    """Return whether the value is `user:password` in base64."""
    if not isinstance(value, str):
        return False
    try:
        login = base64.b64decode(value, validate=True)
    except ValueError:
        return False
    user, _, password = login.partition(b":")
    return bool(user and password)


def _secret_in_text(text: str) -> str:
    """Return which private key or secret of Google's is in the text; empty if none."""
    if holds_private_key(text) or _PUTTY.match(text):
        return "a private key"
    return _holding(google_secret(text))


def _holding(secret: str) -> str:
    """Return what a file with this secret is; empty without a secret."""
    if not secret:
        return ""
    return f"a file with {secret}"


def _settings(text: str) -> str:
    """Return which settings file with a password or a token the text is; empty if none."""
    lines: list[str] = []
    for raw_line in text.splitlines():
        line = raw_line.strip()
        if line and not line.startswith(_COMMENTS):
            lines.append(line)
    if not lines:
        return ""
    if all(_LOGIN_URL.fullmatch(line) for line in lines):
        return "a list of URLs with passwords, as git keeps its logins"
    if _AWS.search(text):
        return "an AWS credentials file"
    if _NETRC.match("\n".join(lines)):
        return "a .netrc file with a password"
    if _has_signing_password(text):
        return "a properties file with the password of a signing key"
    has_npm_token = _NPMRC.search(text) is not None
    if has_npm_token and all("=" in line for line in lines):
        return "an .npmrc file with a token"
    has_section = _SECTION.match(lines[0]) is not None
    if has_section and _has_index_password(text):
        return "a .pypirc file with a password"
    return ""


def _has_index_password(text: str) -> bool:
    """Return whether a text has a user and a password for a package index."""
    if not _INDEX.search(text):
        return False
    if "username" not in text:
        return False
    return _PYPIRC.search(text) is not None


def _has_signing_password(text: str) -> bool:
    """Return whether these are properties with the password of a keystore or its key.

    Translations have names such as `login.keyPassword`, too. Therefore, beside the password of a
    key there must be the keystore or the alias of the key, or the name is in capitals, as in
    settings. The password of a keystore counts alone if it is one word.
    """
    properties = _properties(text)
    store_passwords = _secrets(properties, _STORE_PASSWORD)
    key_passwords = _secrets(properties, _KEY_PASSWORD)
    if any(_KEYSTORE.search(name) for name in properties):
        return bool(store_passwords or key_passwords)
    for name in store_passwords:
        words = properties[name].split()
        if len(words) == 1:
            return True
    return any(name.isupper() for name in key_passwords)


def _secrets(properties: dict[str, str], names: re.Pattern[str]) -> list[str]:
    """Return the names among the properties that match and have a value."""
    matching = [name for name in properties if names.search(name)]
    return [name for name in matching if _is_secret(properties[name])]


def _properties(text: str) -> dict[str, str]:
    """Read Java's properties, or a shell's variables; none if one line is something else.

    Between name and value is `=`, `:` or white space, and a letter may be written as a backslash,
    `u` and its number.
    """
    properties: dict[str, str] = {}
    for line in _logical_lines(text):
        plain = _ESCAPED.sub(_letter, line)
        match = _PROPERTY.fullmatch(plain)
        if not match:
            return {}
        name, value, value_behind_blank = match.groups()
        properties[name] = value or value_behind_blank or ""
    return properties


def _logical_lines(text: str) -> Iterator[str]:
    """Yield the lines without comments and empty ones. A backslash at the end continues a line."""
    pieces: list[str] = []
    for raw_line in text.splitlines():
        line = raw_line.strip()
        says_nothing = not line or line.startswith(_COMMENTS)
        if says_nothing and not pieces:
            continue
        pieces.append(line.removesuffix("\\"))
        if not line.endswith("\\"):
            yield "".join(pieces)
            pieces = []


def _letter(escape: re.Match[str]) -> str:
    code = int(escape[1], 16)
    return chr(code)


def _credential_in_base64(text: str, nested: int) -> str:
    """Return what credential the text, or a part of it, holds in base64; empty if none."""
    if nested == _MAX_NESTED:
        return ""
    for part in _encoded_parts(text):
        data = _decode(part)
        kind = kind_of(data, nested + 1)
        if kind:
            return f"{kind} in base64"
    return ""


def _decode(part: str) -> bytes:
    """Decode base64 in either alphabet, with or without padding; nothing if it can't be."""
    standard = part.translate(_STANDARD_BASE64)
    plain = standard.rstrip("=")
    rest = len(plain) % 4
    if rest == 1:
        # One character is less than a byte.
        plain = plain[:-1]
    elif rest:
        missing = 4 - rest
        plain += "=" * missing
    try:
        return base64.b64decode(plain)
    except binascii.Error:
        return b""


def _encoded_parts(text: str) -> Iterator[str]:
    """Yield what may be base64: the whole text, each long word, and each block of lines."""
    whole = "".join(text.split())
    is_long = len(whole) >= _SHORTEST_BASE64
    if is_long and _BASE64.fullmatch(whole):
        yield whole
    yield from _BASE64_WORD.findall(text)
    for block in _wrapped_blocks(text):
        if len(block) >= _SHORTEST_BASE64:
            yield block


def _wrapped_blocks(text: str) -> Iterator[str]:
    """Yield each block of lines of base64, joined. All lines of a block have the same length,
    except that the last may be shorter.
    """
    block: list[str] = []
    lines = text.splitlines()
    # An empty line ends the last block.
    lines.append("")
    for line in lines:
        # Mails quote with `>`.
        word = line.strip(" \t>")
        length = len(word)
        is_base64 = _BASE64_LINE.fullmatch(word) is not None
        if block and is_base64:
            width = len(block[0])
            if length == width:
                block.append(word)
                continue
            if length < width:
                # A shorter line ends this block, and does not begin another one.
                block.append(word)
                is_base64 = False
        yield "".join(block)
        block = []
        if is_base64 and length >= _SHORTEST_LINE:
            block = [word]


def _binary_key(data: bytes) -> str:
    """Return `a private key` if the bytes are one in DER; else empty."""
    for pattern in (_PKCS8, _PKCS8_ENCRYPTED, _PKCS1, _SEC1):
        if not pattern.match(data):
            continue
        if _der_length(data) == len(data):
            return "a private key"
    return ""


def _der_length(data: bytes) -> int:
    """Return how many bytes a DER value has, including its own tag and length (X.690, 8.1.3)."""
    first = data[1]
    if first < 0x80:
        return 2 + first
    header = 2 + (first & 0x7F)
    length = int.from_bytes(data[2:header], "big")
    return header + length


def _keystore(data: bytes) -> str:
    """Return which keystore with a key the bytes are; empty for a keystore of certificates alone,
    and for anything else.
    """
    if data.startswith(_JKS):
        kind = "a Java keystore"
        holds_key = _holds_key(_Reader(data).java_entries())
    elif _PKCS12.match(data):
        kind = "a PKCS #12 keystore"
        holds_key = any(identifier in data for identifier in _PKCS12_KEYS)
    elif _is_bouncy_castle(data):
        kind = "a Bouncy Castle keystore"
        holds_key = _holds_key(_Reader(data).bouncy_castle_entries())
    else:
        return ""
    if not holds_key:
        return ""
    return kind


def _is_keystore(data: bytes) -> bool:
    """Return whether the bytes begin as a keystore does."""
    if data.startswith(_JKS):
        return True
    if _PKCS12.match(data):
        return True
    return _is_bouncy_castle(data)


def _holds_key(entries: Iterator[bool]) -> bool:
    """Return whether one of the entries is a key. What can't be read counts as a key, since only
    its owner can say what it is.
    """
    try:
        return any(entries)
    except (_Cut, UnicodeDecodeError):
        return True


def _is_bouncy_castle(data: bytes) -> bool:
    """Return whether the bytes begin with version 1 or 2, a salt of 20 bytes, and 1024 to 2047
    iterations.
    """
    if len(data) < 32:
        return False
    version = int.from_bytes(data[:4], "big")
    if version not in (1, 2):
        return False
    salt_length = int.from_bytes(data[4:8], "big")
    if salt_length != 20:
        return False
    iterations = int.from_bytes(data[28:32], "big")
    return 1024 <= iterations <= 2047


class _Reader:
    """Reads the entries of a keystore. Both kinds are written with Java's DataOutputStream."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def java_entries(self) -> Iterator[bool]:
        """Yield for each entry whether it is a key. An entry has a tag, an alias, a date, then a
        certificate (2) or something else.
        """
        self._skip(4)
        version = self._number()
        count = self._number()
        for _ in range(count):
            is_certificate = self._number() == _JKS_CERTIFICATE
            yield not is_certificate
            self._text()
            self._skip(8)
            if version == 2:
                self._text()
            length = self._number()
            self._skip(length)

    def bouncy_castle_entries(self) -> Iterator[bool]:
        """Yield for each entry whether it is a key. An entry has a byte for its kind, an alias, a
        date, a certificate chain, then the certificate (1) or something else.

        UBER encrypts all of this, so it can't be read here, and counts as a key.
        """
        self._skip(32)
        while True:
            kind = self._take(1)[0]
            if kind == 0:
                return
            yield kind != _BC_CERTIFICATE
            self._text()
            self._skip(8)
            # A certificate has no chain.
            if self._number():
                raise _Cut
            self._text()
            length = self._number()
            self._skip(length)

    def _number(self) -> int:
        data = self._take(4)
        return int.from_bytes(data, "big")

    def _text(self) -> str:
        length = int.from_bytes(self._take(2), "big")
        data = self._take(length)
        return data.decode()

    def _skip(self, count: int) -> None:
        self._take(count)

    def _take(self, count: int) -> bytes:
        stop = self._position + count
        taken = self._data[self._position : stop]
        if len(taken) < count:
            raise _Cut
        self._position = stop
        return taken
