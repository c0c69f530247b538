"""Who signed a file: read as apksigner, jarsigner and keytool tell it of what they signed; nonsense
signs nothing.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from pathlib import Path

import pytest

from google_emulator.specimens import (
    Build,
    make_apk,
    make_bundle,
    manifest_axml,
    signature_writer,
)
from google_emulator.specimens.signature_writer import (
    DEBUG,
    V2,
    V3,
    V3_1,
    certificate,
    pkcs7,
    scheme_value,
)
from tests.support import android_tools
from tests.support.real_artifacts import LARGE, SMALL, real_apk
from uploader.files.android import manifest
from uploader.files.android.signatures import SigningCertificate

pytestmark = pytest.mark.slow

PACKAGE = "com.example.app"
DEPENDENCIES = 0x504B4453  # a block that names libraries, and signs nothing


def signers(path: Path) -> tuple[SigningCertificate, ...]:
    """Those who signed the file at the path."""
    with path.open("rb") as file:
        return manifest.read_manifest(file, path.name).signers


def digests(path: Path) -> list[str]:
    """The SHA-256 of their certificates."""
    return [signer.sha256 for signer in signers(path)]


def sha256(certificate: bytes) -> str:
    return hashlib.sha256(certificate).hexdigest()


# By real tools


@pytest.mark.parametrize("algorithm", ["RSA", "EC"])
def test_a_bundle_that_jarsigner_signed_names_the_certificate_that_keytool_tells(
    tmp_path: Path, algorithm: str
) -> None:
    """Each kind of key, in its own kind of block."""
    make_bundle(tmp_path / "app.aab", PACKAGE, 7, "7.0", signed=False)
    assert signers(tmp_path / "app.aab") == ()
    store = android_tools.make_key(tmp_path, algorithm=algorithm)
    android_tools.jarsign(tmp_path / "app.aab", store)
    assert digests(tmp_path / "app.aab") == [android_tools.certificate_of(store)]
    assert "jar verified" in android_tools.run(
        "jarsigner", "-verify", tmp_path / "app.aab", check=False
    )


@pytest.mark.parametrize("schemes", [(1,), (2,), (3,), (1, 2, 3)])
def test_an_apk_names_the_certificate_that_apksigner_tells(
    tmp_path: Path, schemes: tuple[int, ...]
) -> None:
    """By each scheme alone, and by all of them."""
    # from 30 on, the scheme v1 alone is not enough
    target = 29 if schemes == (1,) else 36
    make_apk(
        tmp_path / "app.apk",
        PACKAGE,
        7,
        "7.0",
        signed=False,
        build=Build(target_sdk=target),
    )
    store = android_tools.make_key(tmp_path)
    android_tools.apksign(tmp_path / "app.apk", store, *schemes)
    assert digests(tmp_path / "app.apk") == [android_tools.certificate_of(store)]
    # the first API level that goes by the scheme
    least = {1: 23, 2: 24, 3: 28}[max(schemes)]
    assert android_tools.apk_certificates(tmp_path / "app.apk", least) == [
        android_tools.certificate_of(store)
    ]


@pytest.mark.parametrize("name", [LARGE, SMALL])
def test_real_apks_name_the_certificate_that_apksigner_tells(name: str) -> None:
    """APKs that nobody here built, signed with the key that everybody has."""
    (signer,) = signers(real_apk(name))
    assert signer.debug == "the Android Open Source Project's test key, which is public"
    assert android_tools.apk_certificates(real_apk(name)) == [signer.sha256]


def test_the_debug_certificate_of_the_build_tools_is_known(tmp_path: Path) -> None:
    """By the name that Android's Gradle plugin gives it; the name is told, as it stands in the
    certificate.
    """
    make_bundle(tmp_path / "app.aab", PACKAGE, 7, "7.0", signed=False)
    store = android_tools.make_key(tmp_path, "CN=Android Debug, O=Android, C=US")
    android_tools.jarsign(tmp_path / "app.aab", store)
    (signer,) = signers(tmp_path / "app.aab")
    assert signer.sha256 == android_tools.certificate_of(store)
    assert "CN=Android Debug" in signer.debug
    assert "O=Android" in signer.debug


def test_the_signer_is_found_in_a_chain(tmp_path: Path) -> None:
    """OpenSSL signs with a certificate that another one issued; the issuer's is in the block too,
    and is not taken.
    """
    for name, issuer in (
        ("root", ()),
        ("leaf", ("-CA", "root.pem", "-CAkey", "root.key")),
    ):
        words = (
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            9,
            "-subj",
            f"/CN={name}",
        )
        made = (
            tmp_path / one if str(one).startswith("root.") else one for one in issuer
        )
        files = ("-keyout", tmp_path / f"{name}.key", "-out", tmp_path / f"{name}.pem")
        android_tools.run("openssl", "req", *words, *files, *made)
    (tmp_path / "CERT.SF").write_bytes(b"Signature-Version: 1.0\r\n\r\n")
    keys = (
        "-signer",
        tmp_path / "leaf.pem",
        "-inkey",
        tmp_path / "leaf.key",
        "-certfile",
        tmp_path / "root.pem",
    )
    target = ("-outform", "DER", "-out", tmp_path / "CERT.RSA", "-binary", "-noattr")
    android_tools.run(
        "openssl", "cms", "-sign", "-in", tmp_path / "CERT.SF", *target, *keys
    )
    leaf = android_tools.run(
        "openssl",
        "x509",
        "-in",
        tmp_path / "leaf.pem",
        "-noout",
        "-fingerprint",
        "-sha256",
    )
    path = signed_by(tmp_path, (tmp_path / "CERT.RSA").read_bytes())
    assert digests(path) == [leaf.partition("=")[2].strip().replace(":", "").lower()]


# By specimens: what the tools at hand do not make


def signed_by(
    folder: Path,
    block: bytes,
    *others: tuple[str, bytes],
    name: str = "META-INF/CERT.RSA",
) -> Path:
    """An APK with nothing but its manifest and a JAR signature of this block."""
    path = folder / "app.apk"
    with zipfile.ZipFile(path, "w") as archive:
        for entry, data in [
            ("AndroidManifest.xml", manifest_axml(PACKAGE, 7, "7.0")),
            (name, block),
            *others,
        ]:
            archive.writestr(entry, data)
        archive.writestr("META-INF/CERT.SF", b"Signature-Version: 1.0\r\n\r\n")
    return path


def with_signing_block(
    path: Path, *pairs: tuple[int, bytes], size: int | None = None
) -> Path:
    """Inserts an APK Signing Block before the directory of an unsigned APK."""
    make_apk(path, PACKAGE, 1, "1.0", signed=False)
    path.write_bytes(
        signature_writer.with_signing_block(path.read_bytes(), *pairs, size=size)
    )
    return path


@pytest.mark.parametrize("scheme", [V2, V3, V3_1])
def test_each_scheme_of_the_signing_block_counts(tmp_path: Path, scheme: int) -> None:
    """They stand between the entries and the directory, also behind other pairs; a chain begins
    with the signer's.
    """
    chain = (certificate("Leaf"), certificate("Root"))
    path = with_signing_block(
        tmp_path / "a.apk",
        (DEPENDENCIES, b"none"),
        (scheme, scheme_value(chain, scheme=scheme)),
    )
    assert digests(path) == [sha256(chain[0])]


def test_the_newest_scheme_names_the_signer_of_today(tmp_path: Path) -> None:
    """A rotated key signs in v3.1, the one before it in v3 and v2, as old devices want it."""
    old, new = certificate("Old"), certificate("New")
    pairs = [(V2, old), (V3, old), (V3_1, new)]
    path = with_signing_block(
        tmp_path / "a.apk",
        *((one, scheme_value([cert], scheme=one)) for one, cert in pairs),
    )
    assert digests(path) == [sha256(new)]


@pytest.mark.parametrize("size", [None, 0, 23, 24, 2**64 - 1, 10_000])
def test_a_signing_block_without_a_signature_does_not_count(
    tmp_path: Path, size: int | None
) -> None:
    """Dependency info alone, or a block whose size is impossible, signs nothing and harms
    nothing.
    """
    assert (
        signers(
            with_signing_block(tmp_path / "a.apk", (DEPENDENCIES, bytes(10)), size=size)
        )
        == ()
    )


@pytest.mark.parametrize(
    "value",
    [b"", bytes(4), b"\xff" * 40, scheme_value([])],
    ids=["empty", "zeros", "impossible lengths", "no signer"],
)
def test_a_scheme_that_is_no_signature_signs_nothing(
    tmp_path: Path, value: bytes
) -> None:
    """Not even if an older scheme would: a device goes by the newest."""
    good = scheme_value([certificate()])
    assert (
        signers(with_signing_block(tmp_path / "a.apk", (V2, good), (V3, value))) == ()
    )


def test_the_specimens_certificate_is_one(tmp_path: Path) -> None:
    """OpenSSL reads what the specimen maker writes, so the maker is a fair witness for the
    reader.
    """
    (tmp_path / "c.der").write_bytes(certificate(DEBUG))
    words = android_tools.run(
        "openssl",
        "x509",
        "-inform",
        "DER",
        "-in",
        tmp_path / "c.der",
        "-noout",
        "-subject",
    )
    assert re.search(r"CN ?= ?Android Debug", words)
    (tmp_path / "b.der").write_bytes(pkcs7(certificate()))
    listed = android_tools.run(
        "openssl",
        "pkcs7",
        "-inform",
        "DER",
        "-in",
        tmp_path / "b.der",
        "-print_certs",
        "-noout",
    )
    assert "Specimen Release" in listed
