"""The few shapes of ASN.1 DER (X.690) that an RSA private key in PKCS#8 is made of."""

from __future__ import annotations

import base64

RSA_ENCRYPTION = bytes.fromhex("06092a864886f70d010101")  # object identifier 1.2.840.113549.1.1.1
NULL = b"\x05\x00"


def _tagged(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def integer(value: int) -> bytes:
    """A non-negative INTEGER; a leading zero byte keeps it from reading as negative."""
    return _tagged(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def octets(content: bytes) -> bytes:
    """An OCTET STRING."""
    return _tagged(0x04, content)


def sequence(*items: bytes) -> bytes:
    """A SEQUENCE of what is already encoded."""
    return _tagged(0x30, b"".join(items))


def pem(content: bytes, label: str) -> str:
    """The textual encoding of RFC 7468, 64 characters a line."""
    text = base64.b64encode(content).decode()
    lines = [text[start : start + 64] for start in range(0, len(text), 64)]
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""])
