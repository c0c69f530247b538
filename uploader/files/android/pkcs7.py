"""Finds the certificates of those who signed, in the PKCS #7 block of a JAR signature, and whose they are.

The block holds whole chains in any order, so each signer's own is found by the issuer and serial number that its
SignerInfo names: `cryptography` does not tell them. With those at hand the name of a certificate's subject costs a few
lines more, and no other library.
Sources: RFC 5652, sections 3 and 5 (SignedData); RFC 5280, section 4.1 (Certificate); X.690 (DER).
"""

from __future__ import annotations

from uploader.der import DerValue, children, sequence

_ZERO = 0xA0  # the tag [0]: a certificate's version, a block's certificates
_PARTS = {b"\x55\x04\x03": "CN", b"\x55\x04\x0a": "O", b"\x55\x04\x0b": "OU", b"\x55\x04\x06": "C"}


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


def _issuer_and_serial(certificate: bytes) -> bytes:
    """What names a certificate in a SignerInfo: the bytes of its issuer and of its serial number."""
    serial, _, issuer = _fields(certificate)[:3]
    return issuer.whole + serial.whole


def _fields(certificate: bytes) -> list[DerValue]:
    """Serial number, algorithm, issuer, validity, subject and so on."""
    fields = children(sequence(certificate)[0].content)
    return fields[fields[0].tag == _ZERO :]
