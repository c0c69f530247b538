"""Files for a bundle that has something to be split: code, libraries, resources, asset packs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from google_emulator.specimens.manifests import ANDROID, field, number

_DISTRIBUTION = "http://schemas.android.com/apk/distribution"
_DENSITIES = {
    "ldpi": 120,
    "mdpi": 160,
    "hdpi": 240,
    "xhdpi": 320,
    "xxhdpi": 480,
    "xxxhdpi": 640,
}
_PACKAGE_ID = 0x7F


def bundle_contents(
    *,
    package: str = "com.example.app",
    dex: int = 2,
    abis: Sequence[str] = ("arm64-v8a", "armeabi-v7a"),
    densities: Sequence[str] = ("hdpi", "xhdpi"),
    languages: Sequence[str] = ("de",),
    asset_packs: Sequence[str] = (),
    size: int = 1000,
) -> dict[str, bytes]:
    """Return the files of a bundle by path, for `Build.libraries`: so many dex files, a library for
    each ABI, a picture for each density, a text for each language, and the asset packs.

    Dex files, libraries, pictures and assets have about `size` bytes each, which do not compress
    and are the same each time.
    """
    names = ["classes.dex", *(f"classes{index}.dex" for index in range(2, dex + 1))][
        :dex
    ]
    files = {f"base/dex/{name}": b"dex\n035\0" + _filling(name, size) for name in names}
    files["base/root/META-INF/services/com.example.Service"] = (
        b"com.example.Implementation\n"
    )
    files["base/assets/data.bin"] = _filling("data", size)
    for abi in abis:
        files[f"base/lib/{abi}/libapp.so"] = b"\x7fELF" + _filling(abi, size)
    pictures = {density: f"res/drawable-{density}/logo.png" for density in densities}
    for density, path in pictures.items():
        files[f"base/{path}"] = b"\x89PNG" + _filling(density, size)
    if pictures or languages:
        files["base/resources.pb"] = _resource_table(pictures, languages)
    for pack in asset_packs:
        files[f"{pack}/manifest/AndroidManifest.xml"] = _asset_pack_manifest(
            package, pack
        )
        files[f"{pack}/assets/level.bin"] = _filling(pack, size)
    return files


def _filling(name: str, size: int) -> bytes:
    return hashlib.shake_128(name.encode()).digest(size)


def _resource_table(pictures: Mapping[str, str], languages: Sequence[str]) -> bytes:
    """Return a ResourceTable with one text and one picture (aapt2's Resources.proto)."""
    texts = [_text("", "Hello")]
    texts += [_text(language, f"Hello in {language}") for language in languages]
    files = [_file(_DENSITIES[density], path) for density, path in pictures.items()]
    types = _type(1, "string", _entry("hello", texts))
    if files:
        types += _type(2, "drawable", _entry("logo", files))
    identity = field(1, number(1, _PACKAGE_ID))
    return field(2, identity + field(2, b"com.example.app") + types)


def _type(identity: int, name: str, entry: bytes) -> bytes:
    return field(
        3, field(1, number(1, identity)) + field(2, name.encode()) + field(3, entry)
    )


def _entry(name: str, values: Sequence[bytes]) -> bytes:
    return field(1, number(1, 0)) + field(2, name.encode()) + b"".join(values)


def _text(language: str, text: str) -> bytes:
    configuration = field(3, language.encode()) if language else b""
    item = field(4, field(2, field(1, text.encode())))
    return field(6, field(1, configuration) + field(2, item))


def _file(density: int, path: str) -> bytes:
    item = field(4, field(5, field(1, path.encode())))
    return field(6, field(1, number(18, density)) + field(2, item))


def _asset_pack_manifest(package: str, name: str) -> bytes:
    """Return the manifest of an asset pack that is fetched on demand."""
    namespaces = _namespace("android", ANDROID) + _namespace("dist", _DISTRIBUTION)
    split = field(4, field(2, b"split") + field(3, name.encode()))
    kind = field(
        4,
        field(1, _DISTRIBUTION.encode()) + field(2, b"type") + field(3, b"asset-pack"),
    )
    on_demand = field(2, _DISTRIBUTION.encode()) + field(3, b"on-demand")
    delivery = field(2, _DISTRIBUTION.encode()) + field(3, b"delivery")
    delivery += field(5, field(1, on_demand))
    module = field(2, _DISTRIBUTION.encode()) + field(3, b"module") + kind
    module += field(5, field(1, delivery))
    own = field(4, field(2, b"package") + field(3, package.encode()))
    return field(
        1, namespaces + field(3, b"manifest") + own + split + field(5, field(1, module))
    )


def _namespace(prefix: str, uri: str) -> bytes:
    return field(1, field(1, prefix.encode()) + field(2, uri.encode()))
