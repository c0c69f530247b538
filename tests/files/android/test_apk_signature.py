"""Who signed an APK, verified over every byte: what apksigner signs holds, and what was changed or
mixed does not.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from google_emulator.specimens import Build, make_apk
from google_emulator.specimens.signature_writer import (
    V2,
    V3,
    V3_1,
    certificate,
    scheme_value,
    signed_apk,
    with_signing_block,
)
from tests.support import android_tools
from uploader.files.android.apk_signature import ApkSigner, verify_signer
from uploader.files.android.archive import MalformedFile

PACKAGE = "com.example.app"
MIB = 1 << 20


def unsigned(folder: Path, size: int = 0, *, jar: str = "", target: int = 36) -> bytes:
    """An APK; `jar` is the common name of the signer of its JAR signature, if it has one."""
    path = folder / "plain.apk"
    build = Build(signer=jar, target_sdk=target) if jar else Build(target_sdk=target)
    make_apk(path, PACKAGE, 7, "7.0", size, signed=bool(jar), build=build)
    return path.read_bytes()


def sha256(name: str) -> str:
    """The digest of the certificate of whoever has this common name."""
    return hashlib.sha256(certificate(name)).hexdigest()


def verified(apk: bytes) -> ApkSigner:
    return verify_signer(io.BytesIO(apk))


def complaint(apk: bytes) -> str:
    """Why an APK is refused."""
    with pytest.raises(MalformedFile) as refused:
        verified(apk)
    return str(refused.value)


# What apksigner makes


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A key store for each algorithm."""
    folder = tmp_path_factory.mktemp("keys")
    return {
        algorithm: android_tools.make_key(folder, algorithm=algorithm)
        for algorithm in ("RSA", "EC", "DSA")
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "schemes"),
    [(key, schemes) for key in ("RSA", "EC") for schemes in ((2,), (3,), (1, 2, 3))]
    + [("DSA", (2,)), ("DSA", (3,))],
    ids=lambda value: (
        value if isinstance(value, str) else "v" + "".join(map(str, value))
    ),
)
def test_what_apksigner_signed_holds(
    tmp_path: Path, stores: dict[str, Path], algorithm: str, schemes: tuple[int, ...]
) -> None:
    """By each kind of key, over several chunks; and one changed byte of the content is noticed."""
    path = tmp_path / "app.apk"
    path.write_bytes(unsigned(tmp_path, 2 * MIB + 77))
    android_tools.apksign(path, stores[algorithm], *schemes)
    signed = path.read_bytes()
    assert verified(signed) == ApkSigner(
        android_tools.certificate_of(stores[algorithm])
    )
    changed = bytearray(signed)
    changed[MIB] ^= 1
    assert "was changed after it was signed" in complaint(bytes(changed))


@pytest.mark.slow
def test_the_digest_for_verity_holds(tmp_path: Path, stores: dict[str, Path]) -> None:
    """The algorithm 0x0421, a tree over blocks of 4 KiB, beside the one over chunks."""
    path = tmp_path / "app.apk"
    path.write_bytes(unsigned(tmp_path, 3 * MIB + 5))
    words = (
        "--ks",
        stores["RSA"],
        "--ks-pass",
        f"pass:{android_tools.PASSWORD}",
        "--min-sdk-version",
        28,
    )
    android_tools.run(
        "apksigner",
        "sign",
        *words,
        "--verity-enabled",
        "--v1-signing-enabled=false",
        path,
    )
    signed = path.read_bytes()
    assert struct.pack("<I", 0x0421) in signed
    assert verified(signed).sha256 == android_tools.certificate_of(stores["RSA"])
    changed = bytearray(signed)
    changed[2 * MIB] ^= 1
    assert "was changed after it was signed" in complaint(bytes(changed))


@pytest.mark.slow
def test_a_rotation_by_apksigner_is_proven(
    tmp_path: Path, stores: dict[str, Path]
) -> None:
    """The newer key is the signer, the older one is what it was rotated from."""
    old, new, lineage = stores["RSA"], stores["EC"], tmp_path / "lineage"
    passed = ("--ks-pass", f"pass:{android_tools.PASSWORD}")
    signers = (
        "--old-signer",
        "--ks",
        old,
        *passed,
        "--new-signer",
        "--ks",
        new,
        *passed,
    )
    android_tools.run("apksigner", "rotate", "--out", lineage, *signers)
    path = tmp_path / "app.apk"
    path.write_bytes(unsigned(tmp_path))
    both = (
        "--ks",
        old,
        *passed,
        "--next-signer",
        "--ks",
        new,
        *passed,
        "--lineage",
        lineage,
    )
    android_tools.run("apksigner", "sign", *both, "--min-sdk-version", 24, path)
    older, newer = android_tools.certificate_of(old), android_tools.certificate_of(new)
    assert verified(path.read_bytes()) == ApkSigner(newer, frozenset({older}))


# What is changed, mixed or left out


def test_a_specimen_holds_as_apksigner_says(tmp_path: Path) -> None:
    """What the specimen maker signs is a fair witness for what is refused below."""
    path = tmp_path / "app.apk"
    path.write_bytes(signed_apk(unsigned(tmp_path), {V2: "A", V3: "A"}))
    assert verified(path.read_bytes()).sha256 == sha256("A")
    if shutil.which("apksigner"):
        words = android_tools.run(
            "apksigner",
            "verify",
            "--min-sdk-version",
            24,
            "--max-sdk-version",
            27,
            path,
        )
        assert "DOES NOT VERIFY" not in words


def flipped(apk: bytes, at: int) -> bytes:
    changed = bytearray(apk)
    changed[at] ^= 1
    return bytes(changed)


def directory_of(apk: bytes) -> int:
    (directory,) = struct.unpack_from("<I", apk, len(apk) - 6)
    return int(directory)


@pytest.mark.parametrize("step", range(24))
def test_no_byte_can_be_changed(tmp_path: Path, step: int) -> None:
    """Wherever the byte is: entries, signing block, directory, end."""
    apk = signed_apk(unsigned(tmp_path, 20_000), {V2: "A", V3: "A"})
    complaint(flipped(apk, step * (len(apk) - 1) // 23))


Change = Callable[[Path], bytes]
REFUSED: dict[str, tuple[Change, str]] = {
    "no signature": (unsigned, "no APK Signing Block"),
    "a JAR signature alone": (lambda at: unsigned(at, jar="A"), "no APK Signing Block"),
    "v1 by another": (
        lambda at: signed_apk(unsigned(at, jar="A"), {V2: "B", V3: "B"}),
        "two signers",
    ),
    "v2 by another": (
        lambda at: signed_apk(unsigned(at), {V2: "A", V3: "B"}),
        "two signers",
    ),
    "v3.1 by another": (
        lambda at: signed_apk(unsigned(at), {V2: "A", V3: "A", V3_1: "C"}),
        "two signers",
    ),
    "another lineage": (
        lambda at: signed_apk(unsigned(at), {V2: "A", V3: "A", V3_1: "C"}, ("B", "C")),
        "two signers",
    ),
    "a lineage that ends with another": (
        lambda at: signed_apk(unsigned(at), {V2: "A", V3: "A", V3_1: "C"}, ("A", "B")),
        "does not end with its signer",
    ),
    "a signature of zeros": (
        lambda at: with_signing_block(
            unsigned(at), (V2, scheme_value([certificate("A")]))
        ),
        "damaged signature",
    ),
    "two of one scheme": (
        lambda at: with_signing_block(
            unsigned(at), *[(V2, scheme_value([certificate("A")]))] * 2
        ),
        "two signatures of the scheme v2",
    ),
    "two signers in one scheme": (
        lambda at: with_signing_block(
            unsigned(at), (V2, scheme_value([certificate("A")], [certificate("B")]))
        ),
        "has 2 signers",
    ),
    "a block of no size": (
        lambda at: with_signing_block(unsigned(at), (V2, b""), size=0),
        "impossible size",
    ),
    "nothing in it": (
        lambda at: with_signing_block(unsigned(at), (V2, b"")),
        "damaged signature",
    ),
    "too much in it": (
        lambda at: with_signing_block(unsigned(at), (V2, bytes(1 << 17))),
        "more than any",
    ),
    "too many pairs": (
        lambda at: with_signing_block(unsigned(at), *[(1, b"")] * 100),
        "damaged APK Signing Block",
    ),
    "something behind the directory": (
        lambda at: (
            signed_apk(unsigned(at), {V2: "A"})[:-22]
            + b"gap"
            + signed_apk(unsigned(at), {V2: "A"})[-22:]
        ),
        "",
    ),
    "something before the entries": (
        lambda at: b"MZ" + signed_apk(unsigned(at), {V2: "A"}),
        "",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_proof_is_refused(tmp_path: Path, what: str) -> None:
    """Each with the reason."""
    change, words = REFUSED[what]
    assert words in complaint(change(tmp_path))


def test_a_rotation_allows_the_older_signer_in_older_schemes(tmp_path: Path) -> None:
    """Of v1, v2 and v3, since old devices know nothing of the newer one."""
    apk = signed_apk(
        unsigned(tmp_path, jar="A"), {V2: "A", V3: "A", V3_1: "B"}, ("A", "B")
    )
    assert verified(apk) == ApkSigner(sha256("B"), frozenset({sha256("A")}))


@pytest.mark.slow
@pytest.mark.parametrize(
    "schemes",
    [(1, 2, 3), (2, 3)],
    ids=str,
)
def test_a_scheme_that_was_taken_away_is_missed(
    tmp_path: Path, schemes: tuple[int, ...]
) -> None:
    """Both v1 and v2 say which newer ones there are, as apksigner writes them."""
    path = tmp_path / "app.apk"
    path.write_bytes(unsigned(tmp_path))
    android_tools.apksign(path, android_tools.make_key(tmp_path), *schemes)
    apk, scheme = path.read_bytes(), struct.pack("<I", V3)
    assert apk.count(scheme) == 1
    assert "lost its signature of the scheme v3" in complaint(
        apk.replace(scheme, struct.pack("<I", 1))
    )
