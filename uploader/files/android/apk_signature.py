"""Verifies who signed an APK by the schemes v2, v3 and v3.1, over every byte but those of its APK
Signing Block.

A signature is valid when the signer's key has signed the digests of the content, the key is that of
the certificate, and the content has these digests. Every scheme in the file has to name the same
signer, or one that the newest scheme's proof of rotation names. If a scheme says that a newer one
was there, the newer one has to be there. In the signing block only the values of the schemes are
signed; its other values are not looked at. The scheme v1 (a JAR signature) is only read for its
signer: devices do not use it if a newer scheme is there, and an APK without a newer one is refused.

Source: source.android.com, "APK Signature Scheme v2", "v3" and "v3.1". Sizes in the file are
bounded, and the content is read in chunks.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import dsa, ec, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256, SHA512, HashAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_public_key,
)

from uploader.files.android.archive import JAR_SIGNATURE, Archive, MalformedFile
from uploader.files.android.signatures import V2, V3, V3_1, jar_signers

_MAGIC = b"APK Sig Block 42"
_NAMES = {V2: "v2", V3: "v3", V3_1: "v3.1"}
_OLDEST_FIRST = (V2, V3, V3_1)
# the attribute of a JAR signature that names the newer schemes, and how it counts them
_ALSO_SIGNED = re.compile(rb"^X-Android-APK-Signed: *([0-9, ]{1,50})", re.MULTILINE)
_JAR_NUMBERS = {2: V2, 3: V3}
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
# pairs in the signing block: signatures, dependency info, padding; real files have fewer than ten
_MAX_PAIRS = 64
# bytes of one scheme's value; even with a long chain of certificates it has only a sixth of them
_MAX_VALUE = 1 << 16
_MAX_BLOCK = 1 << 24  # bytes of the signing block with its padding
_END_MAGIC = re.compile(rb"PK\x05\x06")
# size and offset of the directory, length of the comment that follows
_END_RECORD = struct.Struct("<12x2IH")
_MAX_COMMENT = 0xFFFF  # bytes
_PIECE = 1 << 20  # bytes of a chunk; each chunk has a digest of its own
_NUMBER = struct.Struct("<I")
_FOOTER = struct.Struct("<Q16s")  # end of the signing block: its size, its magic
_PAIR = struct.Struct("<QI")  # length of id and value, id; the value follows

_ROTATION = 0x3BA06F8C  # attribute: the proof of rotation
# attribute of v2: the number of a newer scheme that has to be there
_STRIPPED = 0xBEEFF00D
# attribute of v3: from this API level on, v3.1 has to be there
_ROTATION_FROM = 0x559F8B02
_VERSION = 0xA0  # DER tag of a certificate's first field
_HINT = "Build and sign it again."
_UNREADABLE = (struct.error, ValueError, TypeError, IndexError, UnsupportedAlgorithm)


@dataclass(frozen=True)
class ApkSigner:
    """The certificate that the newest scheme names, and those before it that its proof of rotation
    names (SHA-256).
    """

    sha256: str
    rotated_from: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Algorithm:
    """How a signature is made: the kind of `key` (`RSA-PSS`, `RSA`, `EC`, `DSA`), the hash, and
    which kind of digest of the content it covers.
    """

    key: str
    hash: HashAlgorithm
    content: str


_KEY_TYPES: Mapping[str, Any] = {
    "RSA-PSS": rsa.RSAPublicKey,
    "RSA": rsa.RSAPublicKey,
    "EC": ec.EllipticCurvePublicKey,
    "DSA": dsa.DSAPublicKey,
}
_ALGORITHMS: Mapping[int, _Algorithm] = {
    0x0101: _Algorithm("RSA-PSS", SHA256(), "sha256"),
    0x0102: _Algorithm("RSA-PSS", SHA512(), "sha512"),
    0x0103: _Algorithm("RSA", SHA256(), "sha256"),
    0x0104: _Algorithm("RSA", SHA512(), "sha512"),
    0x0201: _Algorithm("EC", SHA256(), "sha256"),
    0x0202: _Algorithm("EC", SHA512(), "sha512"),
    0x0301: _Algorithm("DSA", SHA256(), "sha256"),
    0x0421: _Algorithm("RSA", SHA256(), "verity"),
    0x0423: _Algorithm("EC", SHA256(), "verity"),
    0x0425: _Algorithm("DSA", SHA256(), "verity"),
}


@dataclass(frozen=True)
class _Layout:
    """Offsets of the sections of an APK: the signing `block` (behind the entries, which begin at
    0), the `directory` and the `end` record; and its `size` in bytes.
    """

    block: int
    directory: int
    end: int
    size: int


@dataclass(frozen=True)
class _Signer:
    """What one scheme says: its certificate, the digests of the content by algorithm, the
    attributes by id, and the certificates of its proof of rotation, the oldest first.
    """

    certificate: bytes
    digests: Mapping[int, bytes]
    attributes: Mapping[int, bytes]
    lineage: tuple[bytes, ...] = ()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.certificate).hexdigest()


def verify_signer(file: BinaryIO) -> ApkSigner:
    """Return who signed the APK in an open file. Raises MalformedFile if that is not proven."""
    archive = Archive(file, _is_jar_signature)
    layout = _layout(file)
    if archive.directory != layout.directory:
        raise _signature_error(
            "has two directories, so readers may disagree about what it holds"
        )
    values = _values(file, layout)
    if not values:
        raise _signature_error("has no signature of the scheme v2 or a later one")
    signers: dict[int, _Signer] = {}
    for scheme, value in values.items():
        signers[scheme] = _signer(scheme, value)
    _check_content(file, layout, signers)
    _check_stripped(archive, signers)

    newest_scheme = max(signers, key=_OLDEST_FIRST.index)
    newest = signers[newest_scheme]
    signer = newest.sha256
    lineage = set()
    for certificate in newest.lineage:
        digest = hashlib.sha256(certificate)
        lineage.add(digest.hexdigest())
    for place, sha256 in _certificates_by_place(archive, signers):
        if sha256 != signer and sha256 not in lineage:
            what = f"has signatures of two signers: {signer}, and in {place} {sha256}"
            raise _signature_error(what)
    lineage.discard(signer)
    return ApkSigner(signer, frozenset(lineage))


def _is_jar_signature(name: str) -> bool:
    return JAR_SIGNATURE.fullmatch(name) is not None


def _certificates_by_place(
    archive: Archive, signers: Mapping[int, _Signer]
) -> Iterator[tuple[str, str]]:
    """Yield each place where the APK names a signer, with the SHA-256 of the certificate there.
    Raises MalformedFile.
    """
    jar_certificates = jar_signers(archive)
    for scheme, signer in signers.items():
        yield f"the scheme {_NAMES[scheme]}", signer.sha256
    for number, sha256 in enumerate(jar_certificates, 1):
        place = "the scheme v1"
        if number > 1:
            place = f"signer {number} of the scheme v1"
        yield place, sha256


def _signature_error(what: str) -> MalformedFile:
    return MalformedFile(f"{what}.", _HINT)


# The sections of the file


def _layout(file: BinaryIO) -> _Layout:
    """Find the sections, which have to follow one another without a gap. Raises MalformedFile."""
    size = file.seek(0, 2)
    tail_length = min(size, _END_RECORD.size + _MAX_COMMENT)
    start = size - tail_length
    tail = _at(file, start, tail_length)
    ends: list[int] = []
    for record in _END_MAGIC.finditer(tail):
        offset = record.start()
        if _ends_at(tail, offset):
            ends.append(offset)
    if len(ends) != 1:
        raise _signature_error(
            "has no end record, or several, so readers may disagree about what it holds"
        )
    record_offset = ends[0]
    end = start + record_offset
    length, directory, _ = _END_RECORD.unpack_from(tail, record_offset)
    if directory + length != end:
        raise _signature_error("has something between its directory and its end")
    block = _signing_block(file, directory)
    return _Layout(block, directory, end, size)


def _signing_block(file: BinaryIO, directory: int) -> int:
    """Return the offset of the signing block, which ends where the directory begins. Raises
    MalformedFile.

    Its size, without these 8 bytes, is at its beginning and once more before its magic.
    """
    footer = bytes(_FOOTER.size)
    if directory >= 32:
        footer_offset = directory - _FOOTER.size
        footer = _at(file, footer_offset, _FOOTER.size)
    size, magic = _FOOTER.unpack(footer)
    if magic != _MAGIC:
        raise _signature_error(
            "has no APK Signing Block, so it is not signed by the scheme v2 or a later one"
        )
    largest = min(_MAX_BLOCK, directory - 8)
    if not 24 <= size <= largest:
        raise _signature_error("has an APK Signing Block of an impossible size")
    block: int = directory - 8 - size
    first_size = _at(file, block, 8)
    if first_size != footer[:8]:
        raise _signature_error("has an APK Signing Block whose two sizes differ")
    return block


def _ends_at(tail: bytes, offset: int) -> bool:
    """Return whether an end record begins here whose comment ends the file."""
    comment_start = offset + _END_RECORD.size
    if comment_start > len(tail):
        return False
    _, _, comment_length = _END_RECORD.unpack_from(tail, offset)
    return bool(comment_start + comment_length == len(tail))


def _at(file: BinaryIO, offset: int, length: int) -> bytes:
    """Return so many bytes of the file. Raises MalformedFile if there are fewer."""
    file.seek(offset)
    data = file.read(length)
    if len(data) != length:
        raise _signature_error("is shorter than it was")
    return data


def _values(file: BinaryIO, layout: _Layout) -> dict[int, bytes]:
    """Return the value of each scheme in the signing block. Raises MalformedFile.

    The block's pairs follow one another: length (8), id (4), value.
    """
    values: dict[int, bytes] = {}
    offset = layout.block + 8
    stop = layout.directory - _FOOTER.size
    pairs = 0
    while offset < stop:
        pairs += 1
        left = stop - offset
        if left < _PAIR.size or pairs > _MAX_PAIRS:
            raise _signature_error("has a damaged APK Signing Block")
        pair = _at(file, offset, _PAIR.size)
        length, scheme = _PAIR.unpack(pair)
        if not 4 <= length <= left - 8:
            raise _signature_error("has a damaged APK Signing Block")
        if scheme in _NAMES:
            if scheme in values:
                raise _signature_error(
                    f"has two signatures of the scheme {_NAMES[scheme]}"
                )
            if length > _MAX_VALUE:
                raise _signature_error(
                    f"has a signature of {length:,} bytes, more than any"
                )
            value_offset = offset + _PAIR.size
            values[scheme] = _at(file, value_offset, length - 4)
        offset += 8 + length
    return values


# One scheme


class _Reader:
    """Reads values that follow one another: numbers of 32 bits, and length-prefixed bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    @property
    def left(self) -> int:
        """How many bytes are not read yet."""
        return len(self._data) - self._position

    def read_number(self) -> int:
        """Read a number. Raises struct.error."""
        (value,) = _NUMBER.unpack_from(self._data, self._position)
        self._position += _NUMBER.size
        return int(value)

    def read_prefixed(self) -> bytes:
        """Read a text behind its length. Raises struct.error or IndexError."""
        length = self.read_number()
        if length > self.left:
            raise IndexError(length)
        start = self._position
        self._position += length
        return self._data[start : self._position]

    def read_list(self) -> list[bytes]:
        """Read a length-prefixed list of length-prefixed values. Raises struct.error or
        IndexError.
        """
        texts = _Reader(self.read_prefixed())
        return list(texts.read_all())

    def read_rest(self) -> bytes:
        """Return what is not read yet."""
        return self._data[self._position :]

    def read_all(self) -> Iterator[bytes]:
        """Read length-prefixed values up to the end."""
        while self.left:
            yield self.read_prefixed()


def _signer(scheme: int, value: bytes) -> _Signer:
    """Return the one signer of a scheme, with its signatures verified. Raises MalformedFile."""
    name = _NAMES[scheme]
    try:
        outer = _Reader(value)
        signers = outer.read_list()
        if len(signers) != 1 or outer.left:
            raise _signature_error(
                f"has {len(signers)} signers in the scheme {name}, not one"
            )
        return _one_signer(scheme, _Reader(signers[0]))
    except InvalidSignature:
        raise _signature_error(
            f"has a signature of the scheme {name} that its signer did not make"
        ) from None
    except _UNREADABLE:
        raise _signature_error(
            f"has a damaged signature of the scheme {name}"
        ) from None


def _one_signer(scheme: int, signer: _Reader) -> _Signer:
    """Read a signer and verify its signatures by known algorithms. Raises MalformedFile,
    InvalidSignature for one that its key did not make, or any of _UNREADABLE for damaged data.
    """
    name = _NAMES[scheme]
    signed = signer.read_prefixed()
    levels = _api_levels(scheme, signer)
    signatures = _by_id(
        signer.read_prefixed(),
        twice=f"two signatures of one algorithm in the scheme {name}",
    )
    public_key = signer.read_prefixed()

    data = _Reader(signed)
    digests = _by_id(
        data.read_prefixed(),
        twice=f"two digests of one algorithm in the scheme {name}",
    )
    certificates = data.read_list()
    signed_levels = _api_levels(scheme, data)
    attributes = _by_id(
        data.read_prefixed(),
        twice="one attribute of a signature twice",
    )

    # The levels are repeated outside the signed data, where anybody could have changed them.
    minimum, maximum = levels
    if levels != signed_levels or minimum > maximum:
        raise _signature_error(
            f"has a signature of the scheme {name} with impossible API levels"
        )
    if list(digests) != list(signatures):
        raise _signature_error(
            f"has a signature of the scheme {name} whose digests and signatures are of "
            "other algorithms"
        )
    algorithms = [algorithm for algorithm in signatures if algorithm in _ALGORITHMS]
    if not algorithms or not certificates:
        raise _signature_error(
            f"has a signature of the scheme {name} of an unknown algorithm, or without "
            "a certificate"
        )
    key = load_der_public_key(public_key)
    certificate = certificates[0]
    certificate_key = _key_of(certificate)
    if _encode_key(key) != _encode_key(certificate_key):
        raise _signature_error(
            f"has a signature of the scheme {name} by another key than that of its certificate"
        )
    for algorithm in algorithms:
        signature = _Reader(signatures[algorithm]).read_prefixed()
        _verify(key, algorithm, signature, signed)

    lineage: tuple[bytes, ...] = ()
    if _ROTATION in attributes and scheme != V2:
        lineage = _lineage(attributes[_ROTATION])
    if lineage and lineage[-1] != certificate:
        raise _signature_error(
            f"has a proof of rotation in the scheme {name} that does not end with its signer"
        )
    contents: dict[int, bytes] = {}
    for algorithm in algorithms:
        digest = _Reader(digests[algorithm])
        contents[algorithm] = digest.read_prefixed()
    return _Signer(certificate, contents, attributes, lineage)


def _api_levels(scheme: int, reader: _Reader) -> tuple[int, int]:
    """Read the lowest and the highest API level for which a signer counts; zeros for v2, which has
    none.
    """
    if scheme == V2:
        return 0, 0
    minimum = reader.read_number()
    maximum = reader.read_number()
    return minimum, maximum


def _by_id(data: bytes, twice: str) -> dict[int, bytes]:
    """Read pairs of an id and a value, each prefixed by its length, and return the values by id.
    Raises MalformedFile, with the words `twice`, for an id that comes twice.
    """
    values: dict[int, bytes] = {}
    for entry in _Reader(data).read_all():
        reader = _Reader(entry)
        number = reader.read_number()
        if number in values:
            raise _signature_error(f"has {twice}")
        values[number] = reader.read_rest()
    return values


def _lineage(value: bytes) -> tuple[bytes, ...]:
    """Return the certificates in a proof of rotation, the oldest first. Each one's key has signed
    the next. Raises MalformedFile and InvalidSignature.
    """
    reader = _Reader(value)
    if reader.read_number() != 1:
        raise _signature_error("has a proof of rotation of an unknown version")
    certificates: list[bytes] = []
    algorithm = 0  # with which the last certificate signs the next
    for node in reader.read_all():
        fields = _Reader(node)
        signed = fields.read_prefixed()
        fields.read_number()  # flags: what the old key may still be trusted with
        next_algorithm = fields.read_number()
        signature = fields.read_prefixed()
        inner = _Reader(signed)
        certificate = inner.read_prefixed()
        signed_algorithm = inner.read_number()
        if certificates:
            if signed_algorithm != algorithm:
                raise _signature_error("has a damaged proof of rotation")
            last_key = _key_of(certificates[-1])
            _verify(last_key, algorithm, signature, signed)
        if certificate in certificates:
            raise _signature_error("has a proof of rotation with one certificate twice")
        certificates.append(certificate)
        algorithm = next_algorithm
    return tuple(certificates)


def _key_of(certificate: bytes) -> Any:
    """Return the public key in an X.509 certificate (RFC 5280, section 4.1): the sixth field,
    without counting the optional version.

    Only the key is read, because the certificate itself proves nothing, and cryptography would
    refuse those with a DSA key that some JDKs write.
    """
    _, whole, _ = _der(certificate)
    _, signed, _ = _der(whole)
    fields: list[bytes] = []
    while signed and len(fields) < 8:
        tag, _, rest = _der(signed)
        length = len(signed) - len(rest)
        if tag != _VERSION:
            fields.append(signed[:length])
        signed = rest
    return load_der_public_key(fields[5])


def _der(data: bytes) -> tuple[int, bytes, bytes]:
    """Return the tag and the content of the first DER value, and what is behind it."""
    length = data[1]
    start = 2
    if length & 0x80:
        start += length & 0x7F
        long_length = data[2:start]
        length = int.from_bytes(long_length, "big")
    stop = start + length
    if len(data) < stop:
        raise IndexError(length)
    tag = data[0]
    content = data[start:stop]
    rest = data[stop:]
    return tag, content, rest


def _encode_key(key: Any) -> bytes:
    return bytes(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


def _verify(
    key: Any,
    algorithm: int,
    signature: bytes,
    data: bytes,
) -> None:
    """Raise InvalidSignature if the key did not sign the data, ValueError for an unknown algorithm,
    TypeError for a key of another kind.
    """
    method = _ALGORITHMS.get(algorithm)
    if method is None:
        raise ValueError(algorithm)
    kind = method.key
    if not isinstance(key, _KEY_TYPES[kind]):
        raise TypeError(algorithm)
    hash_algorithm = method.hash
    if kind == "RSA-PSS":
        mask = padding.MGF1(hash_algorithm)
        pss = padding.PSS(mask, hash_algorithm.digest_size)
        key.verify(signature, data, pss, hash_algorithm)
    elif kind == "RSA":
        pkcs1 = padding.PKCS1v15()
        key.verify(signature, data, pkcs1, hash_algorithm)
    elif kind == "EC":
        ecdsa = ec.ECDSA(hash_algorithm)
        key.verify(signature, data, ecdsa)
    else:
        key.verify(signature, data, hash_algorithm)


# The content that was signed


def _check_content(
    file: BinaryIO, layout: _Layout, signers: Mapping[int, _Signer]
) -> None:
    """Compare each digest of the content that any scheme has. Raises MalformedFile."""
    kinds: set[str] = set()
    for signer in signers.values():
        for algorithm in signer.digests:
            kinds.add(_ALGORITHMS[algorithm].content)
    actual = _content_digests(file, layout, kinds)
    for scheme, signer in signers.items():
        name = _NAMES[scheme]
        for algorithm, digest in signer.digests.items():
            kind = _ALGORITHMS[algorithm].content
            if digest != actual[kind]:
                what = f"its content does not match the digest signed by scheme {name}"
                raise _signature_error(f"was changed after it was signed: {what}")


def _content_digests(
    file: BinaryIO, layout: _Layout, kinds: Collection[str]
) -> dict[str, bytes]:
    """Return the digests of all sections except the signing block, by kind, read in one pass.
    Raises MalformedFile.
    """
    chunks = list(_chunks(layout))
    # The digest of a kind covers the number of the chunks, and then their digests.
    top_prefix = b"\x5a" + _NUMBER.pack(len(chunks))
    tops = {}
    for kind in kinds:
        if kind != "verity":
            tops[kind] = hashlib.new(kind, top_prefix)
    tree = _VerityTree()
    for offset, length in chunks:
        chunk = _at(file, offset, length)
        if offset == layout.end:
            # The end record counts as it was before the signing block moved the directory.
            end_record = bytearray(chunk)
            end_record[16:20] = _NUMBER.pack(layout.block)
            chunk = bytes(end_record)
        prefix = b"\xa5" + _NUMBER.pack(length)
        for kind, top in tops.items():
            digest = hashlib.new(kind, prefix + chunk)
            top.update(digest.digest())
        if "verity" in kinds:
            tree.update(chunk)
    digests: dict[str, bytes] = {}
    for kind, top in tops.items():
        digests[kind] = top.digest()
    if "verity" in kinds:
        block_size = layout.directory - layout.block
        unsigned_size = layout.size - block_size
        packed_size = struct.pack("<Q", unsigned_size)
        digests["verity"] = tree.root() + packed_size
    return digests


def _chunks(layout: _Layout) -> Iterator[tuple[int, int]]:
    """Yield the offset and the length of each chunk of the sections; none belongs to two."""
    sections = (
        (0, layout.block),
        (layout.directory, layout.end),
        (layout.end, layout.size),
    )
    for start, stop in sections:
        for offset in range(start, stop, _PIECE):
            length = min(_PIECE, stop - offset)
            yield offset, length


class _VerityTree:
    """The root of a tree of SHA-256 over blocks of 4 KiB, each behind a salt of zeros. Only one
    block for each level is held in memory.
    """

    _BLOCK = 4096  # bytes
    _SALT = bytes(8)

    def __init__(self) -> None:
        self._levels = [bytearray()]

    def update(self, data: bytes) -> None:
        """Add the next bytes of the content, and digest its full blocks."""
        content = self._levels[0]
        content += data
        unfinished = len(content) % self._BLOCK
        whole = len(content) - unfinished
        for start in range(0, whole, self._BLOCK):
            stop = start + self._BLOCK
            block = content[start:stop]
            self._add(1, block)
        del content[:whole]

    def _add(self, number: int, block: bytearray) -> None:
        """Add the digest of a block to a level."""
        if number == len(self._levels):
            self._levels.append(bytearray())
        level = self._levels[number]
        level += self._digest(block)
        # A full block is digested only when more comes: if nothing does, it is the top of the tree.
        if len(level) > self._BLOCK:
            full_block = level[: self._BLOCK]
            self._add(number + 1, full_block)
            del level[: self._BLOCK]

    def _digest(self, block: bytearray) -> bytes:
        """Return the digest of a block, which is filled with zeros if it is the last one."""
        padded = block.ljust(self._BLOCK, b"\0")
        return hashlib.sha256(self._SALT + padded).digest()

    def root(self) -> bytes:
        """Return the digest of the one block at the top."""
        content = self._levels[0]
        if content:
            self._add(1, content)
        number = 1
        while number < len(self._levels) - 1:
            level = self._levels[number]
            number += 1
            self._add(number, level)
        return self._digest(self._levels[-1])


# Signatures that were removed


def _check_stripped(archive: Archive, signers: Mapping[int, _Signer]) -> None:
    """Raise MalformedFile if an older scheme says that a newer one was there."""
    expected = _schemes_of_jar(archive)
    v2 = signers.get(V2)
    if v2 is not None and _STRIPPED in v2.attributes:
        expected.add(V3)
    v3 = signers.get(V3)
    if v3 is not None and _ROTATION_FROM in v3.attributes:
        expected.add(V3_1)
    lost = expected - signers.keys()
    if lost:
        name = _NAMES[min(lost)]
        raise _signature_error(f"has lost its signature of the scheme {name}")


def _schemes_of_jar(archive: Archive) -> set[int]:
    """Return the newer schemes that the JAR signature says the APK is signed with as well."""
    schemes: set[int] = set()
    for name, member in archive.members.items():
        if not name.upper().endswith(".SF"):
            continue
        if not 0 < member.file_size <= _MAX_BLOCK:
            continue
        head = next(archive.pieces(name, _MAX_VALUE), b"")
        main_section, *_ = _BLANK_LINE.split(head, maxsplit=1)
        attribute = _ALSO_SIGNED.search(main_section)
        if attribute is None:
            continue
        for number in re.findall(rb"[0-9]{1,2}", attribute[1]):
            scheme = _JAR_NUMBERS.get(int(number))
            if scheme is not None:
                schemes.add(scheme)
    return schemes
