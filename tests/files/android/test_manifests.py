"""What an APK or bundle says of itself: read right from real and made files, and no malformed byte
is a traceback.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from google_emulator.specimens import (
    Build,
    make_apk,
    make_bundle,
    manifest_axml,
    manifest_proto,
    manifests,
)
from tests.support.real_artifacts import LARGE, real_apk
from uploader.errors import InputError
from uploader.files.android import manifest
from uploader.files.android.manifest import Manifest

BUNDLE, CONFIG, APK = (
    "base/manifest/AndroidManifest.xml",
    "BundleConfig.pb",
    "AndroidManifest.xml",
)


def read(path: Path) -> Manifest:
    """What the file at the path says of itself."""
    with path.open("rb") as file:
        return manifest.read_manifest(file, path.name)


def refusal(path: Path) -> str:
    """The one sentence that reading the file ends with."""
    with pytest.raises(InputError) as caught:
        read(path)
    (problem,) = caught.value.problems
    assert problem.name == "files"
    assert problem.what.startswith(path.name)
    return problem.what


def zipped(
    path: Path, *entries: tuple[str, bytes], compression: int = zipfile.ZIP_DEFLATED
) -> Path:
    """A zip as Python's standard library writes it: not this project's writer."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return path


@pytest.mark.slow
def test_a_real_apk_tells_its_package_and_version() -> None:
    """The 18 MB APK that nobody here built: package, version code 278, signed, a debug build."""
    path = real_apk(LARGE)
    package = "io.appium.uiautomator2.server"
    found = read(path)
    assert (found.package, found.version_code, found.version_name, found.kind) == (
        package,
        278,
        "10.6.6",
        "apk",
    )
    assert found.signers
    assert found.debuggable


def badging(path: Path) -> tuple[str, int, str]:
    """Package, version code (low 32 bits) and version name as aapt2 reads them."""
    aapt2 = shutil.which("aapt2")
    if aapt2 is None:
        pytest.skip("needs aapt2 as an independent reader: it is not installed")
    text = subprocess.run(
        [aapt2, "dump", "badging", path], check=True, capture_output=True, text=True
    ).stdout
    found = re.match(
        r"package: name='(.*?)' versionCode='(\d+)' versionName='(.*?)'", text
    )
    assert found is not None, text
    return found[1], int(found[2]), found[3]


def test_aapt2_reads_the_same_from_the_real_apk() -> None:
    """Google's own tool agrees with this reader."""
    manifest = read(real_apk(LARGE))
    assert badging(real_apk(LARGE)) == (
        manifest.package,
        manifest.version_code,
        manifest.version_name,
    )


def test_aapt2_reads_what_the_specimen_maker_writes(tmp_path: Path) -> None:
    """Google's own tool reads the made APK, so the maker is a fair witness for the reader."""
    make_apk(tmp_path / "a.apk", "com.example.app", 42, "1.2 é 😀")
    assert badging(tmp_path / "a.apk") == ("com.example.app", 42, "1.2 é 😀")


def test_aapt2_converts_an_apk_to_a_bundle_manifest_that_reads_the_same(
    tmp_path: Path,
) -> None:
    """The protobuf form comes from Google's own tool here, not from the specimen maker."""
    aapt2 = shutil.which("aapt2")
    if aapt2 is None:
        pytest.skip("needs aapt2 as an independent writer: it is not installed")
    make_apk(tmp_path / "a.apk", "com.example.app", (3 << 32) + 42, "1.2 é 😀")
    proto = tmp_path / "proto.apk"
    command = [
        aapt2,
        "convert",
        "--output-format",
        "proto",
        "-o",
        str(proto),
        str(tmp_path / "a.apk"),
    ]
    converted = subprocess.run(command, check=False, capture_output=True, text=True)
    if converted.returncode:
        pytest.skip(
            "needs an aapt2 that converts an APK without resources: "
            f"{converted.stderr.strip()[-200:]}"
        )
    manifest = zipfile.ZipFile(proto).read(APK)
    bundle = zipped(tmp_path / "a.aab", (CONFIG, b""), (BUNDLE, manifest))
    found = read(bundle)
    assert (found.package, found.version_code, found.version_name) == (
        "com.example.app",
        (3 << 32) + 42,
        "1.2 é 😀",
    )
    assert found.target_sdk == 36


PACKAGES = st.from_regex(
    r"[a-z][a-z0-9_]{0,9}(\.[A-Z_a-z][a-z0-9_]{0,9}){1,3}", fullmatch=True
).filter(lambda name: not re.search(r"\._", name))
CODES = st.one_of(st.integers(0, 2**31), st.integers(0, 2**64 - 1))
# Long names reach the two-byte lengths of the string pool; "versionCode" as a version name shares a
# pool entry.
VERSIONS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=200),
    st.just("versionCode"),
)


@pytest.mark.slow
@given(
    package=PACKAGES,
    code=CODES,
    version=VERSIONS,
    signed=st.booleans(),
    debug=st.booleans(),
    kind=st.sampled_from(["bundle", "apk"]),
)
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    package: str,
    code: int,
    version: str,
    signed: bool,
    debug: bool,
    kind: str,
) -> None:
    """Any package, 64-bit version code and version name, in both encodings, comes back as it
    was.
    """
    path = (
        tmp_path_factory.getbasetemp() / f"any.{'aab' if kind == 'bundle' else 'apk'}"
    )
    (make_bundle if kind == "bundle" else make_apk)(
        path, package, code, version, signed=signed, build=Build(debuggable=debug)
    )
    found = read(path)
    assert (found.package, found.version_code, found.version_name) == (
        package,
        code,
        version,
    )
    assert (bool(found.signers), found.debuggable, found.kind) == (signed, debug, kind)


def test_the_resource_id_counts_before_the_name(tmp_path: Path) -> None:
    """Shrinkers blank or swap attribute names; Android goes by the resource id, and so does this
    reader.
    """
    manifest = manifest_axml("com.example.app", 42, "1.0").replace(
        b"versionCode\0", b"xxxxxxxCode\0"
    )
    assert read(zipped(tmp_path / "a.apk", (APK, manifest))).version_code == 42


def axml_with_code(kind: int, data: int) -> bytes:
    """A manifest whose version code has another type: the value follows size, zero and type in
    Res_value.
    """
    manifest = manifest_axml("com.example.app", 0x01020304, "1.0")
    return manifest.replace(
        struct.pack("<HBBI", 8, 0, 0x10, 0x01020304),
        struct.pack("<HBBI", 8, 0, kind, data),
    )


def test_a_version_code_taken_from_a_resource_is_told_not_guessed(
    tmp_path: Path,
) -> None:
    """The resource table is not read; the sentence says what to write instead."""
    path = zipped(tmp_path / "a.apk", (APK, axml_with_code(0x01, 0x7F010002)))
    assert "takes versionCode from a resource (@0x7f010002)" in refusal(path)


@pytest.mark.parametrize(
    ("wrong", "make"), [("a.aab", make_apk), ("a.apk", make_bundle)]
)
def test_a_file_named_like_the_other_kind_is_refused(
    tmp_path: Path, wrong: str, make: object
) -> None:
    """Play has an endpoint for each kind; the content decides and the name must not lie."""
    assert callable(make)
    make(tmp_path / wrong, "com.example.app", 1, "1.0")
    assert "is named like" in refusal(tmp_path / wrong)


GOOD_APK = manifest_axml("com.example.app", 1, "1.0")


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "is empty (0 bytes)"),
        (b"P", "is not a zip archive"),
        (b"<html>not found</html>", "is not a zip archive"),
        (b"PK\3\4" + bytes(100), "is cut short"),
        (b"PK\5\6" + bytes(18), "neither an APK nor"),
        (
            b"PK\5\6" + struct.pack("<4H2IH", 0, 0, 1, 1, 46, 500, 0),
            "directory can't be read",
        ),
        (
            b"x" * 46 + b"PK\5\6" + struct.pack("<4H2IH", 0, 0, 1, 1, 46, 0, 0),
            "directory can't be read",
        ),
        (
            b"PK\5\6"
            + struct.pack("<4H2IH", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0),
            "directory can't be read",
        ),
    ],
    ids=[
        "empty file",
        "one byte",
        "HTML page",
        "no end of the directory",
        "no entry",
        "directory beyond the end",
        "directory that is none",
        "ZIP64 without its record",
    ],
)
def test_what_is_no_whole_zip_is_refused(
    tmp_path: Path, data: bytes, sentence: str
) -> None:
    """Empty, foreign, cut and lying files each get their own sentence."""
    (tmp_path / "a.aab").write_bytes(data)
    assert sentence in refusal(tmp_path / "a.aab")


def test_a_truncated_bundle_is_refused_wherever_it_was_cut(tmp_path: Path) -> None:
    """No prefix of a bundle is a bundle."""
    make_bundle(tmp_path / "whole.aab", "com.example.app", 1, "1.0")
    whole = (tmp_path / "whole.aab").read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "cut.aab").write_bytes(whole[:length])
        assert refusal(tmp_path / "cut.aab")


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    """A manifest that declares, or really has, more than 4 MiB is refused without holding more than
    that.
    """
    honest = zipped(tmp_path / "a.apk", (APK, bytes(17 << 20)))
    tracemalloc.start()
    assert "no more than 4,194,304 are plausible" in refusal(honest)
    data = honest.read_bytes().replace(
        struct.pack("<I", 17 << 20), struct.pack("<I", 1000)
    )
    honest.write_bytes(data)
    assert "differs from its checksum" in refusal(honest)
    assert tracemalloc.get_traced_memory()[1] < 5 << 20
    tracemalloc.stop()


def test_an_encrypted_manifest_is_refused(tmp_path: Path) -> None:
    """The flag bit in the directory says so; there is no password to ask for."""
    path = zipped(tmp_path / "a.apk", (APK, GOOD_APK))
    data = bytearray(path.read_bytes())
    data[data.rindex(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    assert "encrypted" in refusal(path)


def test_two_manifests_in_one_archive_are_refused(tmp_path: Path) -> None:
    """Readers disagree about which one counts, which has been used to smuggle one in."""
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = zipped(tmp_path / "a.apk", (APK, GOOD_APK), (APK, GOOD_APK))
    assert "twice" in refusal(path)


@pytest.mark.parametrize(
    "package",
    [
        "",
        "nodots",
        "a..b",
        "1a.b",
        "a.b/../../c",
        "a.b\n::error::x",
        "a.é",
        "a." + "b" * 300,
    ],
)
def test_a_package_name_that_is_none_is_refused(tmp_path: Path, package: str) -> None:
    """The name goes into URLs and logs: only letters, digits, underscores and dots, as Android
    demands.
    """
    make_bundle(tmp_path / "a.aab", package, 1, "1.0")
    assert "without a valid package name" in refusal(tmp_path / "a.aab")


def test_a_deep_manifest_costs_no_recursion(tmp_path: Path) -> None:
    """Twenty thousand nested elements are skipped by the length of the outermost."""
    nested = b""
    for _ in range(20_000):
        nested = manifests.field(1, manifests.field(5, nested))
    element = manifest_proto("com.example.app", 1, "1.0")
    prefix = manifests.field(1, b"")[:1]
    body = element[len(prefix) + len(manifests.varint(len(element) - 3)) :]
    deep = manifests.field(1, body + manifests.field(5, nested))
    assert (
        read(zipped(tmp_path / "a.aab", (CONFIG, b""), (BUNDLE, deep))).version_code
        == 1
    )


@pytest.mark.parametrize(
    "size", [1 << 30, 0xFFFFFFFF - 1, 0xFFFFFFFF, (4 << 30) + 77, 100 << 30]
)
def test_a_sparse_specimen_has_its_size_and_a_readable_manifest(
    tmp_path: Path, size: int
) -> None:
    """Gigabytes in milliseconds, in zip64 where it has to be; both this reader and Python's find
    their way.
    """
    path = tmp_path / "big.aab"
    make_bundle(path, "com.example.app", 42, "1.0", size, sparse=True)
    assert path.stat().st_size == size
    assert path.stat().st_blocks * 512 < 1 << 20
    assert read(path).version_code == 42
    payload = zipfile.ZipFile(path).getinfo("base/assets/payload.bin")
    assert size - 4096 < payload.file_size < size
