"""Finds the certificates of those who signed, in the PKCS #7 block of a JAR signature, and whose they are.

The block holds whole chains in any order, so each signer's own is found by the issuer and serial number that its
SignerInfo names: `cryptography` does not tell them. With those the skeleton of DER is walked already, so that the name
of a certificate's subject costs a few lines more, and no library whose parsers raise what they like for hostile bytes.
Sources: RFC 5652, sections 3 and 5 (SignedData); RFC 5280, section 4.1 (Certificate); X.690 (DER).
"""

from __future__ import annotations

from typing import NamedTuple

_SEQUENCE, _ZERO = 0x30, 0xA0  # tags; the second is [0]: a certificate's version, a block's certificates

_PARTS = {b"\x55\x04\x03": "CN", b"\x55\x04\x0a": "O", b"\x55\x04\x0b": "OU", b"\x55\x04\x06": "C"}


class DerValue(NamedTuple):
    """One value: its tag, its content, and the whole of it."""

    tag: int
    content: bytes
    whole: bytes


def signer_certificates(block: bytes) -> list[bytes]:
    """The certificate of each signer, in DER. Raises ValueError, IndexError or KeyError for what is no such block."""
    _, wrapped = sequence(block)  # the kind of content, and the content
    (signed,) = children(wrapped.content)
    parts = children(signed.content)
    held = [certificate for part in parts if part.tag == _ZERO for certificate in children(part.content)]
    by_name = {_issuer_and_serial(certificate.whole): certificate.whole for certificate in held}
    return [by_name[children(info.content)[1].content] for info in children(parts[-1].content)]


def subject_of(certificate: bytes) -> list[tuple[str, str]]:
    """Whose a certificate is: the usual parts of the name (`CN`), in their order. Raises ValueError or IndexError."""
    name = _fields(certificate)[4]
    parts = [children(part.content) for group in children(name.content) for part in children(group.content)]
    usual = [(_PARTS.get(kind.content, ""), value.content) for kind, value in parts]
    return [(key, value.decode("utf-8", "replace")) for key, value in usual if key]


def sequence(data: bytes) -> list[DerValue]:
    """The values of a SEQUENCE that is all of the data. Raises ValueError or IndexError."""
    (outer,) = children(data)
    if outer.tag != _SEQUENCE:
        raise ValueError(outer.tag)
    return children(outer.content)


def children(data: bytes) -> list[DerValue]:
    """The values that follow one another in the data. Raises ValueError or IndexError."""
    found, at = [], 0
    while at < len(data):
        begin, length, at = at, data[at + 1], at + 2
        if length & 0x80:  # the length of the length; none is indefinite, which DER forbids
            octets = length & 0x7F
            if not 1 <= octets <= 4:
                raise ValueError(octets)
            length, at = int.from_bytes(data[at : at + octets], "big"), at + octets
        if at + length > len(data):
            raise IndexError(at)
        at += length
        found.append(DerValue(data[begin], data[at - length : at], data[begin:at]))
    return found


def _issuer_and_serial(certificate: bytes) -> bytes:
    """What names a certificate in a SignerInfo: the bytes of its issuer and of its serial number."""
    serial, _, issuer = _fields(certificate)[:3]
    return issuer.whole + serial.whole


def _fields(certificate: bytes) -> list[DerValue]:
    """Serial number, algorithm, issuer, validity, subject and so on."""
    fields = children(sequence(certificate)[0].content)
    return fields[fields[0].tag == _ZERO :]
