"""What Google Play serves against what was built: the same, changed, missing, added, by rule, and
what can't be compared.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from google_emulator.specimens.manifests import field, number
from google_emulator.specimens.signature_writer import (
    RELEASE,
    V2,
    jar_signature,
    pkcs7,
    signed_apk,
)
from google_emulator.specimens.signature_writer import certificate as certificate_of
from tests.support.served_specimens import (
    FEATURE_MARK,
    NAME,
    VALUE,
    VERSION_CODE,
    File,
    apk,
    binary_xml,
    bundle,
    component,
    make_zip,
    manifest,
    proto_xml,
)
from uploader.errors import InputError
from uploader.files.android import compiled_xml
from uploader.files.android.code_transparency import IN_BUNDLE
from uploader.files.android.compiled_xml import Documents, Element
from uploader.files.android.manifest_merge import DISTRIBUTION
from uploader.files.android.protobuf import ProtoReader
from uploader.files.android.served import (
    MAX_ALIKE,
    MAX_APKS,
    MAX_FINDINGS,
    Verdict,
    compare,
    identify,
)
from uploader.files.android.served_files import ManifestBudget, Tables

ACTIVITY = component("activity", "com.example.app.Main")
LAYOUT = Element("layout", {VALUE: "01:7f010001"}, [Element("text", {}, text="Hello")])
PNG = b"\x89PNG picture"
CODE: Mapping[str, bytes] = {"base/dex/classes.dex": b"dex\n035 code"}
BUILT: Mapping[str, bytes] = {
    **CODE,
    "base/lib/arm64-v8a/liba.so": b"ELF arm",
    "base/lib/x86/liba.so": b"ELF x86",
    "base/assets/data.bin": b"data",
    "base/root/kotlin/kotlin.kotlin_builtins": b"kotlin",
    "base/res/layout/main.xml": proto_xml(LAYOUT),
    "base/res/raw/words.txt": b"words",
    "base/res/drawable-hdpi/icon.png": PNG,
    "base/res/drawable-xhdpi/icon.png": PNG + PNG,
}
BASE_ENTRIES: Mapping[str, bytes] = {
    "classes.dex": b"dex\n035 code",
    "assets/data.bin": b"data",
    "kotlin/kotlin.kotlin_builtins": b"kotlin",
    "res/layout/main.xml": binary_xml(LAYOUT),
    "res/raw/words.txt": b"words",
}
AAB = bundle({"base": manifest(ACTIVITY)}, BUILT)
# what bundletool adds to a base that has splits
SPLIT_BASE = {"0x0101064e": "text:base__abi,base__density"}
BASE = apk("base.apk", manifest(ACTIVITY, **SPLIT_BASE), BASE_ENTRIES)


def configuration(
    suffix: str, entries: Mapping[str, bytes], *components: Element
) -> File:
    """The APK of a configuration of the base."""
    root = manifest(*components, split=f"text:config.{suffix}", configForSplit="text:")
    root.children[0].attributes["0x0101000c"] = "12:00000000"
    return apk(f"split_config.{suffix}.apk", root, entries)


ARM = configuration("arm64_v8a", {"lib/arm64-v8a/liba.so": b"ELF arm"})
HDPI = configuration("hdpi", {"res/drawable-hdpi/icon.png": PNG})
PHONE = (BASE, ARM, HDPI)


def states(verdict: Verdict) -> dict[str, str]:
    """What is not the same: the state by the entry."""
    return {finding.entry: finding.state for finding in verdict.findings}


def test_the_apks_of_one_phone_are_the_same() -> None:
    """What other phones get is not missing, and every entry was compared."""
    verdict = compare(AAB, PHONE)
    assert states(verdict) == {}
    assert verdict.served == "same"
    assert [report.same for report in verdict.apks] == [6, 2, 2]
    assert [report.devices for report in verdict.apks] == ["all", "arm64_v8a", "hdpi"]
    assert verdict.not_given == 2  # libraries for x86, the icon for xhdpi
    assert verdict.bundle_sha256 == hashlib.sha256(AAB.data).hexdigest()


@pytest.mark.slow
def test_a_change_behind_very_many_findings_is_a_change() -> None:
    """However many entries of no account an APK has before it."""
    padding = {f"META-INF/{number}.SF": b"" for number in range(MAX_FINDINGS)}
    changed = {**padding, **BASE_ENTRIES, "classes.dex": b"dex\n035 other"}
    verdict = compare(
        AAB, (apk("base.apk", manifest(ACTIVITY, **SPLIT_BASE), changed), ARM, HDPI)
    )
    assert verdict.left_out
    assert verdict.served == "changed"


def test_nothing_compared_is_not_the_same() -> None:
    assert compare(AAB, ()).served == "unverified"


@pytest.mark.parametrize(
    "entry", [name for name in BASE_ENTRIES if not name.endswith(".xml")], ids=str
)
@pytest.mark.parametrize("bit", [0, 7])
def test_one_changed_bit_is_a_change(entry: str, bit: int) -> None:
    content = bytearray(BASE_ENTRIES[entry])
    content[-1] ^= 1 << bit
    verdict = compare(AAB, (BASE.with_entries({entry: bytes(content)}), ARM, HDPI))
    assert (verdict.served, states(verdict)) == ("changed", {entry: "changed"})


def test_a_changed_library_is_a_change() -> None:
    changed = ARM.with_entries({"lib/arm64-v8a/liba.so": b"ELF arn"})
    assert states(compare(AAB, (BASE, changed, HDPI))) == {
        "lib/arm64-v8a/liba.so": "changed"
    }


def test_compiled_xml_is_compared_by_what_it_says() -> None:
    other = Element(
        "layout", {VALUE: "01:7f010002"}, [Element("text", {}, text="Hello")]
    )
    changed = BASE.with_entries({"res/layout/main.xml": binary_xml(other)})
    assert states(compare(AAB, (changed, ARM))) == {"res/layout/main.xml": "changed"}


@pytest.mark.parametrize("entry", list(BASE_ENTRIES))
def test_what_every_device_needs_is_missing_where_no_apk_has_it(entry: str) -> None:
    verdict = compare(AAB, (BASE.with_entries({entry: None}), ARM, HDPI))
    assert verdict.served == "changed"
    assert list(states(verdict).values()) == ["missing"]


def test_a_split_without_its_library_lacks_it() -> None:
    empty = ARM.with_entries({"lib/arm64-v8a/liba.so": None})
    assert states(compare(AAB, (BASE, empty))) == {
        "base/lib/arm64-v8a/liba.so": "missing"
    }


@pytest.mark.parametrize("number", [2, 17])
def test_a_split_with_a_number_in_its_name_is_for_the_same_devices(number: int) -> None:
    """A number is added where a name is taken."""
    full = configuration(f"arm64_v8a_{number}", {"lib/arm64-v8a/liba.so": b"ELF arm"})
    assert compare(AAB, (BASE, full)).served == "same"
    empty = full.with_entries({"lib/arm64-v8a/liba.so": None})
    assert states(compare(AAB, (BASE, empty))) == {
        "base/lib/arm64-v8a/liba.so": "missing"
    }


@pytest.mark.parametrize(
    ("name", "served"),
    [
        ("x86_64", "same"),
        ("astc_tier_2", "same"),
        ("de", "same"),
        ("other_lang", "same"),
        ("group_high_countries_latam", "same"),
        ("arm64_v8a_1", "unverified"),
        ("arm65_v8a", "unverified"),
        ("_2", "unverified"),
        ("", "changed"),
    ],
)
def test_a_split_has_a_name_that_bundletool_makes(name: str, served: str) -> None:
    assert compare(AAB, (*PHONE, configuration(name, {}))).served == served


def test_a_standalone_apk_without_any_library_lacks_them() -> None:
    fused = component(
        "meta-data", "com.android.dynamic.apk.fused.modules", **{VALUE: "text:base"}
    )
    whole = apk("standalone.apk", manifest(ACTIVITY, fused), BASE_ENTRIES)
    assert set(states(compare(AAB, (whole,))).values()) == {"missing"}
    complete = whole.with_entries({"lib/arm64-v8a/liba.so": b"ELF arm"})
    assert compare(AAB, (complete,)).served == "same"


UNIVERSAL = ("universal.apk",)
WHOLE = component(
    "meta-data", "com.android.dynamic.apk.fused.modules", **{VALUE: "text:base"}
)
EVERYTHING = {
    **BASE_ENTRIES,
    "lib/arm64-v8a/liba.so": b"ELF arm",
    "lib/x86/liba.so": b"ELF x86",
    "res/drawable-hdpi/icon.png": PNG,
    "res/drawable-xhdpi/icon.png": PNG + PNG,
    "res/raw-de/words.txt": b"Worte",
    "res/aB.png": PNG,
}
EVERYTHING_BUILT = {
    name: content
    for name, content in EVERYTHING.items()
    if f"base/{name}" in BUILT or "/" not in name
}
EVERYTHING_BUILT["kotlin/kotlin.kotlin_builtins"] = b"kotlin"


@pytest.mark.parametrize(
    "entry", [name for name in EVERYTHING if name.startswith(("res/", "lib/"))], ids=str
)
def test_the_universal_apk_has_the_files_of_every_device(entry: str) -> None:
    """Of every ABI, density and language, and those whose paths were shortened. An APK does not
    tell that it is for all.
    """
    more = {"base/res/raw-de/words.txt": b"Worte", "base/res/aB.png": PNG}
    aab = bundle({"base": manifest(ACTIVITY)}, {**BUILT, **more})
    whole = apk("universal.apk", manifest(ACTIVITY, WHOLE), EVERYTHING)
    assert compare(aab, (whole,), UNIVERSAL).served == "same"
    lacking = whole.with_entries({entry: None})
    assert states(compare(aab, (lacking,), UNIVERSAL)) == {f"base/{entry}": "missing"}


@pytest.mark.parametrize(
    ("include", "served"), [("true", "changed"), ("false", "same")]
)
def test_the_universal_apk_has_the_modules_that_are_fused(
    include: str, served: str
) -> None:
    fusing = Element(
        f"{DISTRIBUTION}fusing", {f"{DISTRIBUTION}include": f"text:{include}"}
    )
    feature = manifest(split="text:extra", **FEATURE_MARK)
    feature.children.insert(0, Element(f"{DISTRIBUTION}module", {}, [fusing]))
    files = {**CODE, "extra/dex/classes.dex": b"dex extra"}
    aab = bundle({"base": manifest(ACTIVITY), "extra": feature}, files)
    entries = {"classes.dex": CODE["base/dex/classes.dex"]}
    whole = apk("universal.apk", manifest(ACTIVITY, WHOLE), entries)
    verdict = compare(aab, (whole,), UNIVERSAL)
    assert verdict.served == served
    assert (states(verdict) == {"extra/dex/classes.dex": "missing"}) == (
        served == "changed"
    )


@pytest.mark.parametrize(
    "entry",
    [
        "classes2.dex",
        "lib/arm64-v8a/libb.so",
        "assets/more.bin",
        "META-INF/services/com.example.Plugin",
        "res/xml/splits0.xml",
        "stamp-cert-sha256",
        "../../etc/passwd",
    ],
)
def test_what_the_bundle_has_not_is_added(entry: str) -> None:
    verdict = compare(AAB, (BASE.with_entries({entry: b"new"}), ARM, HDPI))
    assert (verdict.served, states(verdict)) == ("changed", {entry: "added"})


def test_what_google_play_adds_by_rule_is_no_change() -> None:
    added = {
        "stamp-cert-sha256": bytes(32),
        "res/xml/splits0.xml": binary_xml(list_of_splits()),
    }
    verdict = compare(AAB, (BASE.with_entries(added), ARM, HDPI))
    assert (verdict.served, states(verdict)) == (
        "same",
        dict.fromkeys(added, "by-rule"),
    )


def list_of_splits(**attributes: str) -> Element:
    """The list that tells which split has German, with an entry that has more attributes."""
    entry = Element(
        "entry", {"key": "text:de", "split": "text:config.de", **attributes}
    )
    module = Element("module", {"name": "text:"}, [Element("language", {}, [entry])])
    return Element("splits", {}, [module])


def list_of_locales(**attributes: str) -> Element:
    """The list of locales, with an entry that has these attributes."""
    return Element("locale-config", {}, [Element("locale", attributes)])


@pytest.mark.parametrize(
    "root",
    [
        list_of_splits(onclick="text:x"),
        list_of_splits(split="text:evil"),
        list_of_splits(key="text:de and more"),
        Element("splits", {}, [Element("module", {"name": "text:other"})]),
        Element("splits", {}, list_of_splits().children * 2),
        Element("splits", {}, [], text="payload"),
    ],
    ids=["attribute", "split", "language", "module", "twice", "text"],
)
def test_a_list_of_splits_that_bundletool_does_not_write_is_added(
    root: Element,
) -> None:
    added = {"res/xml/splits0.xml": binary_xml(root)}
    verdict = compare(AAB, (BASE.with_entries(added), ARM, HDPI))
    assert states(verdict) == {"res/xml/splits0.xml": "added"}


@pytest.mark.parametrize(
    ("attributes", "state"),
    [
        ({NAME: "text:de"}, "by-rule"),
        ({NAME: "text:sr-Latn-RS"}, "by-rule"),
        ({NAME: "text:de", VALUE: "text:more"}, "added"),
        ({NAME: "text:https://example.com"}, "added"),
    ],
    ids=["language", "script", "more", "no-locale"],
)
def test_the_list_of_locales_has_nothing_else(
    attributes: dict[str, str], state: str
) -> None:
    added = {"res/xml/locales_config.xml": binary_xml(list_of_locales(**attributes))}
    verdict = compare(AAB, (BASE.with_entries(added), ARM, HDPI))
    assert states(verdict) == {"res/xml/locales_config.xml": state}


def test_a_configuration_gets_no_list_of_languages() -> None:
    added = {"res/xml/splits0.xml": binary_xml(list_of_splits())}
    verdict = compare(AAB, (BASE, ARM, HDPI.with_entries(added)))
    assert states(verdict) == {"res/xml/splits0.xml": "added"}


# The JAR signature


def signed(change: Mapping[str, bytes]) -> Verdict:
    """What comes of a base with a JAR signature beside that of the scheme v2, and these entries
    instead of the real ones.
    """
    with zipfile.ZipFile(BASE.reader()) as archive:
        entries = [(name, archive.read(name)) for name in archive.namelist()]
    complete = BASE.with_entries({**dict(jar_signature(entries)), **change})
    return compare(
        AAB, (replace(BASE, data=signed_apk(complete.data, {V2: RELEASE})), ARM, HDPI)
    )


LIST = "META-INF/MANIFEST.MF"
FILE = "META-INF/CERT.SF"
BLOCK = "META-INF/CERT.RSA"


def test_a_jar_signature_is_added_by_rule() -> None:
    verdict = signed({})
    assert verdict.served == "same"
    assert states(verdict) == dict.fromkeys([LIST, FILE, BLOCK], "by-rule")


@pytest.mark.parametrize(
    "change",
    [
        {LIST: b"dex\n035 payload"},
        {LIST: b"Manifest-Version: 1.0\r\nPayload: code\r\n\r\n"},
        {
            LIST: b"Manifest-Version: 1.0\r\n\r\nName: classes.dex\r\nSHA-256-Digest: AA==\r\n\r\n"
        },
        {
            LIST: b"Manifest-Version: 1.0\r\n\r\nName: other\r\nSHA-256-Digest: AA==\r\n\r\n"
        },
        {FILE: b"Signature-Version: 1.0\r\nPayload: code\r\n\r\n"},
        {FILE: b"Signature-Version: 1.0\r\nSHA-256-Digest-Manifest: AA==\r\n\r\n"},
        {"META-INF/OTHER.EC": b"dex\n035 payload"},
        {"META-INF/OTHER.SF": b"dex\n035 payload"},
    ],
    ids=[
        "no-list",
        "attribute",
        "digest",
        "name",
        "of-file",
        "of-list",
        "block",
        "file",
    ],
)
def test_what_is_no_jar_signature_is_unverified(change: Mapping[str, bytes]) -> None:
    verdict = signed(change)
    assert verdict.served == "unverified"
    assert {states(verdict)[name] for name in change} == {"unverified"}


def test_a_block_with_another_certificate_is_unverified() -> None:
    """A signature of two signers does not hold."""
    other = pkcs7(certificate_of("Other"), issuer="Other")
    verdict = signed({BLOCK: other})
    assert states(verdict)[BLOCK] == "unverified"


def test_what_may_be_made_anew_is_unverified() -> None:
    made = {"assets/dexopt/baseline.prof": b"profile"}
    verdict = compare(AAB, (BASE.with_entries(made), ARM, HDPI))
    assert (verdict.served, states(verdict)) == (
        "unverified",
        dict.fromkeys(made, "unverified"),
    )


# Assets for some devices

TEXTURES: Mapping[str, bytes] = {
    "t#tcf_astc/a": b"astc a",
    "t#tcf_astc/b": b"astc b",
    "t#tcf_etc2/a": b"etc2 a",
    "t#tcf_etc2/b": b"etc2 b",
    "t/a": b"any a",
    "t/b": b"any b",
}
LANGUAGES: Mapping[str, bytes] = {"i18n#lang_de/t": b"Zahle", "i18n/t": b"Pay"}


def assets_table(folders: Mapping[str, int]) -> bytes:
    """The `assets.pb` of a module whose folders are for some devices, each by the field of its
    targeting.
    """
    table = b""
    for folder, targeting in folders.items():
        table += field(
            1, field(1, f"assets/{folder}".encode()) + field(2, field(targeting, b""))
        )
    return table


def split_setting(
    dimension: int, *, negate: bool = False, strips: bool = False, default: str = ""
) -> bytes:
    """What a bundle says of a dimension that APKs are split by."""
    stripping = number(1, int(strips)) + field(2, default.encode())
    return field(1, number(1, dimension) + number(2, int(negate)) + field(3, stripping))


def with_settings(aab: File, *settings: bytes) -> File:
    config = field(1, field(2, b"1.18.0")) + field(2, field(1, b"".join(settings)))
    return aab.with_entries({"BundleConfig.pb": config})


def with_assets(
    assets: Mapping[str, bytes], folders: Mapping[str, int], *settings: bytes
) -> File:
    built = {f"base/assets/{name}": content for name, content in assets.items()}
    aab = AAB.with_entries({**built, "base/assets.pb": assets_table(folders)})
    return with_settings(aab, *settings)


TCF = 4  # the dimension; in the targeting of a folder it is 3
STRIPPED = with_assets(
    TEXTURES,
    dict.fromkeys(("t#tcf_astc", "t#tcf_etc2", "t"), 3),
    split_setting(TCF, strips=True, default="etc2"),
)
ASTC = configuration("astc", {"assets/t/a": b"astc a", "assets/t/b": b"astc b"})


def test_targeted_assets_lose_their_suffix() -> None:
    assert compare(STRIPPED, (*PHONE, ASTC)).served == "same"
    others = configuration(
        "other_tcf", {"assets/t/a": b"any a", "assets/t/b": b"any b"}
    )
    assert compare(STRIPPED, (*PHONE, others)).served == "same"


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ({"assets/t/a": b"other"}, "changed"),
        ({"assets/t/b": b"etc2 b"}, "changed"),
        ({"assets/t/a": b"any a"}, "changed"),
        ({"assets/t/a": None}, "missing"),
        ({"assets/t#tcf_astc/a": b"astc a"}, "added"),
    ],
)
def test_a_stripped_folder_is_that_of_the_apks_configuration(
    change: Mapping[str, bytes | None], state: str
) -> None:
    """All its files are there, and none is of another folder of the kind."""
    verdict = compare(STRIPPED, (*PHONE, ASTC.with_entries(change)))
    assert list(states(verdict).values()) == [state]


def test_the_main_apk_has_no_assets_of_some_devices() -> None:
    base = BASE.with_entries({"assets/t/a": b"astc a"})
    assert states(compare(STRIPPED, (base, ARM, HDPI))) == {"assets/t/a": "added"}


def test_an_apk_for_all_devices_has_the_default_folder() -> None:
    whole = apk("universal.apk", manifest(ACTIVITY, WHOLE), EVERYTHING_BUILT)
    etc2 = whole.with_entries({"assets/t/a": b"etc2 a", "assets/t/b": b"etc2 b"})
    assert compare(STRIPPED, (etc2,), UNIVERSAL).served == "same"
    astc = whole.with_entries({"assets/t/a": b"astc a", "assets/t/b": b"astc b"})
    assert set(states(compare(STRIPPED, (astc,), UNIVERSAL)).values()) == {"changed"}
    assert states(compare(STRIPPED, (whole,), UNIVERSAL)) == {
        "base/assets/t#tcf_etc2/a": "missing",
        "base/assets/t#tcf_etc2/b": "missing",
    }


def test_an_apk_for_all_devices_has_every_folder_where_the_bundle_names_no_default() -> (
    None
):
    aab = with_assets(TEXTURES, dict.fromkeys(("t#tcf_astc", "t#tcf_etc2", "t"), 3))
    all_textures = {f"assets/{name}": content for name, content in TEXTURES.items()}
    whole = apk(
        "universal.apk", manifest(ACTIVITY, WHOLE), {**EVERYTHING_BUILT, **all_textures}
    )
    assert compare(aab, (whole,), UNIVERSAL).served == "same"
    lacking = whole.with_entries({"assets/t#tcf_astc/a": None})
    assert states(compare(aab, (lacking,), UNIVERSAL)) == {
        "base/assets/t#tcf_astc/a": "missing"
    }


# Names beyond ASCII


def without_flag(file: File) -> File:
    """The zip without the flag that says that names are in UTF-8, as bundletool writes it."""
    data = bytearray(file.data)
    for signature, offset in ((b"PK\1\2", 8), (b"PK\3\4", 6)):
        start = data.find(signature)
        while start >= 0:
            data[start + offset + 1] &= ~8
            start = data.find(signature, start + 4)
    return replace(file, data=bytes(data))


FOREIGN_NAMES = {"assets/äö/日.txt": b"text", "ü.txt": b"root"}


def test_names_are_in_utf8_whatever_the_flag_says() -> None:
    """Android and Java read them so."""
    built = {"base/assets/äö/日.txt": b"text", "base/root/ü.txt": b"root"}
    aab = AAB.with_entries(built)
    base = BASE.with_entries(FOREIGN_NAMES)
    for bundle_file in (aab, without_flag(aab)):
        for served in (base, without_flag(base)):
            assert compare(bundle_file, (served, ARM, HDPI)).served == "same"
    changed = without_flag(base.with_entries({"ü.txt": b"other"}))
    assert states(compare(aab, (changed, ARM, HDPI))) == {"ü.txt": "changed"}


def test_names_that_are_no_utf8_are_refused() -> None:
    base = without_flag(BASE.with_entries(FOREIGN_NAMES))
    broken = replace(base, data=base.data.replace("ü.txt".encode(), b"\xfc\xfc.txt"))
    with pytest.raises(InputError, match=r"read in several ways.*no UTF-8"):
        compare(AAB, (broken, ARM, HDPI))
    aab = without_flag(AAB.with_entries({"base/root/ü.txt": b"root"}))
    damaged = replace(aab, data=aab.data.replace("ü.txt".encode(), b"\xfc\xfc.txt"))
    with pytest.raises(InputError, match="no UTF-8"):
        compare(damaged, PHONE)


# By what the bundle is split

RESOURCES: Mapping[str, bytes] = {
    "lib/x86/liba.so": b"ELF x86",
    "res/drawable-xhdpi/icon.png": PNG + PNG,
    "res/raw-de/words.txt": b"Worte",
}
ABI, DENSITY, LANGUAGE = 1, 2, 3


@pytest.mark.parametrize("kind", ["base", "standalone"])
@pytest.mark.parametrize(
    ("entry", "dimension"),
    list(zip(RESOURCES, (ABI, DENSITY, LANGUAGE), strict=True)),
    ids=str,
)
def test_what_is_not_split_is_in_the_main_apk(
    kind: str, entry: str, dimension: int
) -> None:
    aab = with_settings(
        AAB.with_entries({"base/res/raw-de/words.txt": b"Worte"}),
        *(split_setting(one, negate=True) for one in (ABI, DENSITY, LANGUAGE)),
    )
    root = manifest(ACTIVITY) if kind == "base" else manifest(ACTIVITY, WHOLE)
    entries = {
        name: content for name, content in EVERYTHING.items() if name != "res/aB.png"
    }
    main = apk("base.apk", root, entries)
    assert compare(aab, (main,)).served == "same"
    lacking = main.with_entries({entry: None})
    assert states(compare(aab, (lacking,))) == {f"base/{entry}": "missing"}
    split = with_settings(
        AAB.with_entries({"base/res/raw-de/words.txt": b"Worte"}),
        split_setting(dimension),
    )
    if kind == "base":
        assert compare(split, (lacking,)).served == "same"


def test_whole_apks_may_have_settings_of_their_own() -> None:
    """Without libraries for 64 bits, and for all ABIs though there are splits for each."""
    optimizations = field(2, field(4, split_setting(ABI, negate=True) + number(2, 1)))
    aab = AAB.with_entries(
        {"BundleConfig.pb": field(1, field(2, b"1.18.0")) + optimizations}
    )
    entries = {name: EVERYTHING[name] for name in BASE_ENTRIES}
    icon = {"res/drawable-hdpi/icon.png": PNG}
    whole = apk("whole.apk", manifest(ACTIVITY, WHOLE), {**entries, **icon})
    assert states(compare(aab, (whole,))) == {"base/lib/x86/liba.so": "missing"}
    assert (
        compare(aab, (whole.with_entries({"lib/x86/liba.so": b"ELF x86"}),)).served
        == "same"
    )


def test_languages_keep_their_suffix() -> None:
    aab = with_assets(
        LANGUAGES, {"i18n#lang_de": 4, "i18n": 4}, split_setting(3, strips=True)
    )
    german = configuration("de", {"assets/i18n#lang_de/t": b"Zahle"})
    others = configuration("other_lang", {"assets/i18n/t": b"Pay"})
    assert compare(aab, (*PHONE, german, others)).served == "same"
    swapped = others.with_entries({"assets/i18n/t": b"Zahle"})
    assert states(compare(aab, (*PHONE, german, swapped))) == {
        "assets/i18n/t": "changed"
    }
    lacking = others.with_entries({"assets/i18n/t": None})
    assert states(compare(aab, (*PHONE, lacking))) == {"base/assets/i18n/t": "missing"}


@pytest.mark.parametrize(
    "name", ["pay#old_1/t", "pay/t", "img/logo#v_2.png", "img/logo"]
)
def test_assets_that_are_for_all_devices_keep_their_names_and_are_there(
    name: str,
) -> None:
    """A name alone makes no folder one for some devices, and that of a file never does."""
    assets = {
        "pay#old_1/t": b"old",
        "pay/t": b"new",
        "img/logo#v_2.png": b"2",
        "img/logo": b"1",
    }
    aab = with_assets(assets, {})
    base = BASE.with_entries(
        {f"assets/{one}": content for one, content in assets.items()}
    )
    assert compare(aab, (base, ARM, HDPI)).served == "same"
    lacking = base.with_entries({f"assets/{name}": None})
    assert states(compare(aab, (lacking, ARM, HDPI))) == {
        f"base/assets/{name}": "missing"
    }
    swapped = base.with_entries({"assets/pay/t": b"old"})
    assert states(compare(aab, (swapped, ARM, HDPI))) == {"assets/pay/t": "changed"}


# The manifest


def served_manifest(root: Element) -> Verdict:
    return compare(
        AAB, (BASE.with_entries({"AndroidManifest.xml": binary_xml(root)}), ARM, HDPI)
    )


def test_what_google_play_writes_into_a_manifest_is_no_change() -> None:
    stamp = component(
        "meta-data",
        "com.android.stamp.type",
        **{VALUE: "text:STAMP_TYPE_DISTRIBUTION_APK"},
    )
    required = component(
        "meta-data", "com.android.vending.splits.required", **{VALUE: "12:00000001"}
    )
    root = manifest(ACTIVITY, stamp, required, **{**SPLIT_BASE, "0x0101064f": "text:"})
    root.children[0].attributes["0x010104ea"] = "12:00000000"  # extractNativeLibs
    assert served_manifest(root).served == "same"


CHANGED_ACTIVITY = replace(
    ACTIVITY, attributes={**ACTIVITY.attributes, "0x01010010": "12:00000001"}
)


@pytest.mark.parametrize(
    ("components", "attributes", "why"),
    [
        ([ACTIVITY, component("service", "com.evil.Spy")], {}, "<service> was added"),
        ([], {}, "<activity> was removed"),
        ([CHANGED_ACTIVITY], {}, "<activity> was changed"),
        ([ACTIVITY], {"0x0101000b": "text:shared"}, "was added"),
        (
            [ACTIVITY, component("meta-data", "com.android.vending.other")],
            {},
            "was added",
        ),
    ],
    ids=["added", "removed", "changed", "attribute", "metadata"],
)
def test_a_changed_manifest_is_a_change(
    components: list[Element], attributes: dict[str, str], why: str
) -> None:
    verdict = served_manifest(manifest(*components, **SPLIT_BASE, **attributes))
    assert verdict.served == "changed"
    assert why in verdict.findings[0].why


def test_a_manifest_whose_attributes_have_other_names_is_a_change() -> None:
    """Android knows them by their ids, and an app may look for a name."""
    renamed = binary_xml(manifest(ACTIVITY, **SPLIT_BASE)).replace(
        "name".encode("utf-16-le"), "nome".encode("utf-16-le")
    )
    verdict = compare(
        AAB, (BASE.with_entries({"AndroidManifest.xml": renamed}), ARM, HDPI)
    )
    assert verdict.served == "changed"
    assert "a name is not the bundle's: 0x01010003" in verdict.findings[0].why


def test_a_configuration_that_declares_something_is_a_change() -> None:
    armed = configuration("hdpi", {}, component("receiver", "com.evil.Spy"))
    assert states(compare(AAB, (BASE, ARM, armed))) == {
        "AndroidManifest.xml": "changed"
    }


def test_apks_of_another_version_are_refused() -> None:
    other = apk("old.apk", manifest(**{VERSION_CODE: "10:00000029"}), {})
    with pytest.raises(InputError, match=r"old\.apk is com\.example\.app 41"):
        compare(AAB, (other,))


# Feature modules

EXTRA = component("activity", "com.example.app.Extra")
FEATURE = manifest(EXTRA, split="text:extra", **FEATURE_MARK)
WITH_FEATURE = bundle(
    {"base": manifest(ACTIVITY), "extra": FEATURE},
    {**CODE, "extra/dex/classes.dex": b"dex extra"},
)
FUSED = component(
    "meta-data", "com.android.dynamic.apk.fused.modules", **{VALUE: "text:base,extra"}
)
CODE_IN_APK = {"classes.dex": CODE["base/dex/classes.dex"]}
MERGED = manifest(ACTIVITY, FEATURE.children[0].children[0], FUSED)


def test_a_feature_is_compared_with_its_module() -> None:
    base = apk(
        "base.apk",
        manifest(ACTIVITY, **SPLIT_BASE),
        {"classes.dex": CODE["base/dex/classes.dex"]},
    )
    extra = apk("split_extra.apk", FEATURE, {"classes.dex": b"dex extra"})
    assert compare(WITH_FEATURE, (base, extra)).served == "same"
    swapped = extra.with_entries({"classes.dex": CODE["base/dex/classes.dex"]})
    assert states(compare(WITH_FEATURE, (base, swapped))) == {"classes.dex": "changed"}


def test_a_feature_that_was_not_given_is_not_missing() -> None:
    base = apk(
        "base.apk", manifest(ACTIVITY), {"classes.dex": CODE["base/dex/classes.dex"]}
    )
    assert compare(WITH_FEATURE, (base,)).served == "same"


@pytest.mark.parametrize(("min_sdk", "served"), [(21, "changed"), (19, "unverified")])
def test_merged_dex_files_of_old_devices_are_unverified(
    min_sdk: int, served: str
) -> None:
    sdk = Element("uses-sdk", {"0x0101020c": f"10:{min_sdk:08x}"})
    built = manifest(ACTIVITY)
    built.children.insert(0, sdk)
    aab = bundle(
        {"base": built, "extra": FEATURE},
        {**CODE, "extra/dex/classes.dex": b"dex extra"},
    )
    root = replace(MERGED, children=[sdk, *MERGED.children])
    whole = apk("standalone.apk", root, {"classes.dex": b"merged"})
    assert compare(aab, (whole,)).served == served


def test_fused_modules_have_their_dex_files_under_other_names() -> None:
    entries = {
        "classes.dex": CODE["base/dex/classes.dex"],
        "classes2.dex": b"dex extra",
    }
    whole = apk("universal.apk", MERGED, entries)
    assert compare(WITH_FEATURE, (whole,)).served == "same"
    lacking = whole.with_entries({"classes2.dex": None})
    assert states(compare(WITH_FEATURE, (lacking,))) == {
        "extra/dex/classes.dex": "missing"
    }


def test_the_dex_files_of_the_base_keep_their_names_in_a_merged_apk() -> None:
    """Android takes the class of the first dex file that has it."""
    entries = {
        "classes.dex": b"dex extra",
        "classes2.dex": CODE["base/dex/classes.dex"],
    }
    verdict = compare(WITH_FEATURE, (apk("universal.apk", MERGED, entries),))
    assert states(verdict) == {"classes.dex": "changed"}


@pytest.mark.parametrize("name", ["base.apk", "universal.apk"])
@pytest.mark.parametrize("delivery", ["on-demand", "install-time"])
@pytest.mark.parametrize("include", ["true", "false"])
def test_only_modules_that_bundletool_merges_are_in_another_apk(
    name: str, delivery: str, include: str
) -> None:
    """Into a base with splits it merges what every device has, and into a whole APK what is to be
    fused.
    """
    fusing = Element(
        f"{DISTRIBUTION}fusing", {f"{DISTRIBUTION}include": f"text:{include}"}
    )
    when = Element(
        f"{DISTRIBUTION}delivery", {}, [Element(f"{DISTRIBUTION}{delivery}", {})]
    )
    feature = replace(
        FEATURE,
        children=[
            Element(f"{DISTRIBUTION}module", {}, [fusing, when]),
            *FEATURE.children,
        ],
    )
    files = {**CODE, "extra/dex/classes.dex": b"dex extra"}
    aab = bundle({"base": manifest(ACTIVITY), "extra": feature}, files)
    root = MERGED
    if name == "base.apk":
        root = replace(MERGED, attributes={**MERGED.attributes, **SPLIT_BASE})
    entries = {
        "classes.dex": CODE["base/dex/classes.dex"],
        "classes2.dex": b"dex extra",
    }
    verdict = compare(aab, (apk(name, root, entries),), UNIVERSAL)
    is_merged = (
        include == "true" if name == "universal.apk" else delivery == "install-time"
    )
    assert states(verdict) == ({} if is_merged else {"AndroidManifest.xml": "changed"})


def test_modules_may_have_the_same_dex_file() -> None:
    code = CODE["base/dex/classes.dex"]
    alike = WITH_FEATURE.with_entries({"extra/dex/classes.dex": code})
    entries = {"classes.dex": code, "classes2.dex": code}
    assert compare(alike, (apk("universal.apk", MERGED, entries),)).served == "same"


def test_a_feature_may_be_a_standalone_apk_of_its_own() -> None:
    """A bundle can ask for one APK for each module, which Google Play lists as whole ones."""
    base = apk("standalone.apk", manifest(ACTIVITY), CODE_IN_APK)
    extra = apk("standalone-extra.apk", FEATURE, {"classes.dex": b"dex extra"})
    names = (base.name, extra.name)
    assert compare(WITH_FEATURE, (base, extra), whole=names).served == "same"


def test_a_split_of_no_module_is_added() -> None:
    foreign = apk(
        "split_evil.apk", manifest(split="text:evil"), {"classes.dex": b"dex evil"}
    )
    verdict = compare(AAB, (*PHONE, foreign))
    assert states(verdict) == {"AndroidManifest.xml": "added", "classes.dex": "added"}


# Automatic protection

WRAPPED = {"classes.dex": b"dex\n035 Lcom/pairip/VMRunner;", "classes2.dex": b"dex new"}


def test_automatic_protection_is_told_as_such() -> None:
    added = {
        **WRAPPED,
        "lib/arm64-v8a/libpairipcore.so": b"ELF",
        "assets/4UCWUbe2D5uL9vQP": b"bytecode",
    }
    verdict = compare(AAB, (BASE.with_entries(added), ARM, HDPI))
    assert (verdict.served, states(verdict)) == (
        "protected",
        dict.fromkeys(added, "protected"),
    )
    assert len(verdict.protection) == 2


def test_protection_hides_no_change_of_what_it_leaves_alone() -> None:
    changes = {"assets/data.bin": b"other", "assets/evil.js": b"evil"}
    added = {**WRAPPED, **changes, "lib/arm64-v8a/libevil.so": b"ELF"}
    verdict = compare(AAB, (BASE.with_entries(added), ARM, HDPI))
    assert verdict.served == "changed"
    assert states(verdict)["assets/data.bin"] == "changed"
    assert states(verdict)["assets/evil.js"] == "added"
    assert states(verdict)["lib/arm64-v8a/libevil.so"] == "added"


EXPORTED = "0x01010010"
AUTHORITIES = "0x01010018"
PRIVATE = {EXPORTED: "12:00000000"}
LICENSE = "com.pairip.licensecheck"
LICENSE_ACTIVITY = component("activity", f"{LICENSE}.LicenseActivity", **PRIVATE)
PROVIDER = f"{LICENSE}.LicenseContentProvider"
LICENSE_PROVIDER = component(
    "provider", PROVIDER, **PRIVATE, **{AUTHORITIES: f"text:com.example.app.{PROVIDER}"}
)
PERMISSION = component("uses-permission", "com.android.vending.CHECK_LICENSE")


def protected(
    *components: Element,
    wrapper: str = "com.pairip.application.Application",
    code: bool = True,
) -> Verdict:
    """The verdict on a base that begins with the wrapper and has these components, too."""
    root = manifest(ACTIVITY, *components, **SPLIT_BASE)
    root.children[0].attributes[NAME] = f"text:{wrapper}"
    root.children.append(PERMISSION)
    entries = {**BASE_ENTRIES, **WRAPPED} if code else BASE_ENTRIES
    return compare(AAB, (apk("base.apk", root, entries), ARM, HDPI))


def test_protection_adds_its_check_of_the_license_to_the_manifest() -> None:
    verdict = protected(LICENSE_ACTIVITY, LICENSE_PROVIDER)
    assert verdict.served == "protected"
    assert set(states(verdict)) == {"AndroidManifest.xml", *WRAPPED}


def test_a_manifest_that_names_the_wrapper_without_its_code_is_a_change() -> None:
    verdict = protected(LICENSE_ACTIVITY, code=False)
    assert verdict.served == "changed"
    assert states(verdict) == {"AndroidManifest.xml": "changed"}
    assert [report.changed for report in verdict.apks] == [1, 0, 0]


@pytest.mark.parametrize(
    "component",
    [
        replace(
            LICENSE_ACTIVITY,
            attributes={**LICENSE_ACTIVITY.attributes, EXPORTED: "12:1"},
        ),
        replace(LICENSE_ACTIVITY, children=[Element("intent-filter", {})]),
        replace(LICENSE_ACTIVITY, name="activity-alias"),
        replace(
            LICENSE_PROVIDER,
            attributes={
                **LICENSE_PROVIDER.attributes,
                AUTHORITIES: "text:com.example.app.data",
            },
        ),
        component("activity", "com.pairip.Other", **PRIVATE),
        component("service", f"{LICENSE}.LicenseActivity", **PRIVATE),
    ],
    ids=["exported", "filter", "alias", "authority", "another-name", "service"],
)
def test_no_other_component_is_one_of_protection(component: Element) -> None:
    verdict = protected(component)
    assert verdict.served == "changed"
    assert states(verdict)["AndroidManifest.xml"] == "changed"


def test_no_other_class_begins_like_protection() -> None:
    assert protected(wrapper="com.pairip.Evil").served == "changed"


def test_a_permission_that_is_declared_is_none_of_protection() -> None:
    root = manifest(ACTIVITY, **SPLIT_BASE)
    root.children.append(replace(PERMISSION, name="permission"))
    verdict = compare(
        AAB, (apk("base.apk", root, {**BASE_ENTRIES, **WRAPPED}), ARM, HDPI)
    )
    assert states(verdict)["AndroidManifest.xml"] == "changed"


def test_new_code_without_the_wrapper_is_a_change() -> None:
    assert (
        compare(
            AAB, (BASE.with_entries({"classes2.dex": b"dex new"}), ARM, HDPI)
        ).served
        == "changed"
    )


# Code transparency

KEY = rsa.generate_private_key(65537, 2048)


def certificate() -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Transparency")])
    day = datetime(2026, 1, 1, tzinfo=timezone.utc)
    builder = x509.CertificateBuilder(
        name, name, KEY.public_key(), 1, day, day.replace(year=2050)
    )
    return builder.sign(KEY, SHA256()).public_bytes(Encoding.DER)


CERTIFICATE = certificate()


def transparency(files: Mapping[str, bytes], algorithm: str = "RS256") -> bytes:
    """A signed list of code, as bundletool writes it."""

    def encoded(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).decode().rstrip("=")

    listed = [
        {"path": path, "type": "DEX", "sha256": hashlib.sha256(content).hexdigest()}
        for path, content in files.items()
    ]
    archived = {
        "type": "DEX",
        "bundletoolRepoPath": "archive/classes.dex",
        "sha256": "0" * 64,
    }
    header = {"alg": algorithm, "x5c": [base64.b64encode(CERTIFICATE).decode()]}
    payload = {"version": 1, "codeRelatedFile": [*listed, archived]}
    signed = ".".join(encoded(json.dumps(part).encode()) for part in (header, payload))
    signature = KEY.sign(signed.encode(), padding.PKCS1v15(), SHA256())
    return f"{signed}.{encoded(signature)}".encode()


LISTED = {
    name: data for name, data in BUILT.items() if "/dex/" in name or "/lib/" in name
}


def test_code_transparency_holds() -> None:
    aab = AAB.with_entries({IN_BUNDLE: transparency(LISTED)})
    verdict = compare(aab, PHONE)
    assert verdict.served == "same"
    assert verdict.transparency is not None
    assert verdict.transparency.certificate == hashlib.sha256(CERTIFICATE).hexdigest()
    assert (verdict.transparency.listed, verdict.transparency.unlisted) == (3, ())


def test_code_transparency_tells_served_code_that_it_does_not_list() -> None:
    aab = AAB.with_entries({IN_BUNDLE: transparency(LISTED)})
    verdict = compare(aab, (BASE.with_entries(WRAPPED), ARM, HDPI))
    assert verdict.transparency is not None
    assert verdict.transparency.unlisted == (
        "base.apk: classes.dex",
        "base.apk: classes2.dex",
    )


@pytest.mark.parametrize(
    ("signed", "problem"),
    [
        (transparency(CODE), "does not fit the bundle: base/lib/arm64-v8a/liba.so"),
        (
            transparency({**LISTED, "base/dex/classes.dex": b"x"}),
            "base/dex/classes.dex",
        ),
        (transparency(LISTED)[:-8] + b"AAAAAAAA", "does not hold"),
        (transparency(LISTED, "none"), "another algorithm"),
        (b"no token", "can't be read"),
    ],
    ids=["incomplete", "other-code", "signature", "algorithm", "damaged"],
)
def test_broken_code_transparency_is_a_change(signed: bytes, problem: str) -> None:
    verdict = compare(AAB.with_entries({IN_BUNDLE: signed}), PHONE)
    assert verdict.served == "changed"
    assert verdict.transparency is not None
    assert problem in verdict.transparency.problem


# Hostile files


@pytest.mark.slow
def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = make_zip(
        {"AndroidManifest.xml": binary_xml(manifest()), "classes.dex": bytes(300 << 20)}
    )
    with pytest.raises(InputError, match="not plausible"):
        compare(AAB, (File("bomb.apk", bomb),))


def test_thousands_of_apks_are_refused() -> None:
    with pytest.raises(InputError, match="at most 20,000 are compared at once"):
        compare(AAB, (BASE,) * (MAX_APKS + 1))


def test_a_deep_manifest_is_refused() -> None:
    deep = Element("manifest", {})
    for _ in range(compiled_xml.MAX_DEPTH + 1):
        deep = Element("manifest", {}, [deep])
    with pytest.raises(InputError, match="nested too deep"):
        compare(AAB, (apk("deep.apk", deep, {}),))
    with pytest.raises(InputError, match="nested too deep"):
        compare(bundle({"base": deep}, {}), ())


def test_two_entries_of_one_name_are_refused() -> None:
    data = bytearray(
        make_zip(
            {"AndroidManifest.xml": binary_xml(manifest()), "a.dex": b"", "b.dex": b""}
        )
    )
    twice = bytes(data).replace(b"b.dex", b"a.dex")
    with pytest.raises(InputError, match="twice"):
        compare(AAB, (File("twice.apk", twice),))


def test_a_bundle_is_not_taken_for_an_apk_nor_an_apk_for_a_bundle() -> None:
    with pytest.raises(InputError, match="is not an APK"):
        compare(AAB, (AAB,))
    with pytest.raises(InputError, match="is not an Android App Bundle"):
        compare(BASE, (BASE,))


def test_encodings_of_one_document_say_the_same() -> None:
    root = manifest(ACTIVITY, **{VERSION_CODE: "10:00000007"})
    binary = compiled_xml.tree(compiled_xml.binary_events(binary_xml(root)))
    proto = compiled_xml.tree(compiled_xml.proto_events(proto_xml(root)))
    assert binary == proto
    assert zipfile.is_zipfile(AAB.reader())


# What an attacker would try


def test_a_dex_file_in_a_configuration_is_a_change() -> None:
    """The manifest of a configuration says that it has no code, so nothing would load it."""
    moved = configuration(
        "hdpi", {"res/drawable-hdpi/icon.png": PNG, "classes2.dex": b"dex\n035"}
    )
    verdict = compare(AAB, (BASE, ARM, moved))
    assert states(verdict)["classes2.dex"] == "changed"
    assert verdict.served == "changed"


def test_an_empty_library_beside_those_of_the_app_is_no_placeholder() -> None:
    entries = {
        "lib/arm64-v8a/liba.so": b"ELF arm",
        "lib/armeabi/libplaceholder.so": b"",
    }
    verdict = compare(AAB, (BASE, configuration("arm64_v8a", entries), HDPI))
    assert states(verdict)["lib/armeabi/libplaceholder.so"] == "added"


def test_an_empty_library_stands_for_an_abi_of_another_module() -> None:
    """In a base without libraries, and for no other ABI."""
    placeholder = {"lib/arm64-v8a/libplaceholder.so": b""}
    base = apk(
        "base.apk", manifest(ACTIVITY, **SPLIT_BASE), {**CODE_IN_APK, **placeholder}
    )
    with_library = WITH_FEATURE.with_entries({"extra/lib/arm64-v8a/libx.so": b"ELF"})
    assert compare(with_library, (base,)).served == "same"
    assert compare(WITH_FEATURE, (base,)).served == "changed"
    own = with_library.with_entries({"base/lib/x86/liba.so": b"ELF"})
    assert states(compare(own, (base,)))["lib/arm64-v8a/libplaceholder.so"] == "added"


def test_what_a_second_base_has_does_not_hide_what_the_first_lacks() -> None:
    """A device has one of them, in whatever order they are given."""
    lacking = replace(BASE.with_entries({"assets/data.bin": None}), name="second.apk")
    for bases in ((BASE, lacking), (lacking, BASE)):
        verdict = compare(AAB, (*bases, ARM, HDPI))
        assert states(verdict) == {"base/assets/data.bin": "missing"}
    assert (
        compare(AAB, (BASE, replace(BASE, name="second.apk"), ARM, HDPI)).served
        == "same"
    )


def test_what_a_second_configuration_has_does_not_hide_what_the_first_lacks() -> None:
    empty = ARM.with_entries({"lib/arm64-v8a/liba.so": None})
    verdict = compare(AAB, (BASE, ARM, empty, HDPI))
    assert states(verdict) == {"base/lib/arm64-v8a/liba.so": "missing"}


def test_very_many_apks_of_one_name_are_unverified() -> None:
    bases = [replace(BASE, name=f"{number}.apk") for number in range(MAX_ALIKE + 1)]
    assert compare(AAB, (*bases, ARM, HDPI)).served == "unverified"


REQUIRED = component(
    "meta-data", "com.android.vending.splits.required", **{VALUE: "12:00000001"}
)


def test_an_apk_that_is_whole_can_not_claim_to_have_splits() -> None:
    """Its own libraries would not be missed."""
    entries = {
        name: EVERYTHING[name] for name in EVERYTHING if not name.startswith("lib/")
    }
    libraries = {
        "base/lib/arm64-v8a/liba.so": "missing",
        "base/lib/x86/liba.so": "missing",
    }
    for root in (
        manifest(ACTIVITY, WHOLE, REQUIRED),
        manifest(ACTIVITY, WHOLE, REQUIRED, **SPLIT_BASE),
    ):
        found = states(compare(AAB, (apk("universal.apk", root, entries),)))
        assert found.items() >= {"AndroidManifest.xml": "changed", **libraries}.items()


def test_an_apk_that_is_known_to_be_whole_is_so_whatever_it_says() -> None:
    """Google Play lists what is whole."""
    root = manifest(*MERGED.children[0].children, REQUIRED, **SPLIT_BASE)
    entries = {
        "classes.dex": CODE["base/dex/classes.dex"],
        "classes2.dex": b"dex extra",
    }
    pretending = apk("standalone.apk", root, entries)
    assert states(compare(WITH_FEATURE, (pretending,), whole=("standalone.apk",))) == {
        "AndroidManifest.xml": "changed"
    }


def test_a_base_of_several_modules_that_names_no_splits_is_unverified() -> None:
    root = manifest(*MERGED.children[0].children, REQUIRED)
    entries = {
        "classes.dex": CODE["base/dex/classes.dex"],
        "classes2.dex": b"dex extra",
    }
    verdict = compare(WITH_FEATURE, (apk("base.apk", root, entries),))
    assert states(verdict) == {"AndroidManifest.xml": "unverified"}


def test_an_attribute_that_only_begins_like_the_wrapper_is_a_change() -> None:
    root = manifest(ACTIVITY, **SPLIT_BASE)
    root.children[0].attributes["0x01010006"] = "text:com.pairip.evil"  # permission
    verdict = compare(AAB, (apk("base.apk", root, BASE_ENTRIES), ARM, HDPI))
    assert verdict.served == "changed"


def test_deeply_nested_elements_are_compared_in_linear_time() -> None:
    """If each level were compared twice, sixty levels would never end."""
    nested = Element("x", {})
    for _ in range(60):
        nested = Element("x", {}, [nested])
    root = manifest(ACTIVITY, **SPLIT_BASE)
    root.children.append(nested)
    verdict = compare(AAB, (apk("base.apk", root, BASE_ENTRIES), ARM, HDPI))
    assert states(verdict) == {"AndroidManifest.xml": "changed"}


def test_the_manifests_of_all_apks_have_a_bound() -> None:
    with pytest.raises(InputError, match="one too many"):
        compare(AAB, PHONE, tables=Tables(max_manifests=1000))


def test_the_manifests_of_all_apks_that_are_identified_have_a_bound() -> None:
    size = len(binary_xml(manifest(ACTIVITY, **SPLIT_BASE)))
    manifests = ManifestBudget(2 * size)
    for _ in range(2):
        assert identify(BASE, manifests).version_code == 42
    assert not manifests.is_exceeded
    with pytest.raises(InputError, match=r"base\.apk is one too many"):
        identify(BASE, manifests)
    assert manifests.is_exceeded


def test_a_manifest_with_a_damaged_prefix_is_refused() -> None:
    """It is the bundle's, and no text in UTF-8."""
    root = proto_xml(manifest(ACTIVITY))
    declared = field(1, field(1, b"\xff\xff") + field(2, b"http://a"))
    content = ProtoReader(10).message(memoryview(root))[1].data
    damaged = field(1, declared + bytes(content))
    broken = AAB.with_entries({"base/manifest/AndroidManifest.xml": damaged})
    with pytest.raises(InputError, match="protobuf XML"):
        compare(broken, PHONE)


def test_a_file_that_several_apks_have_is_decoded_once() -> None:
    """The layout says six things, in each of its two encodings."""
    enough = Tables(documents=Documents(max_events=12))
    assert compare(AAB, (BASE, *PHONE), tables=enough).served == "same"
    verdict = compare(AAB, PHONE, tables=Tables(documents=Documents(max_events=11)))
    assert states(verdict) == {"res/layout/main.xml": "unverified"}


def test_the_name_of_an_entry_is_kept_as_far_as_anybody_reads_it() -> None:
    entries = {**BASE_ENTRIES, f"assets/{'x' * 5000}": b"more"}
    verdict = compare(
        AAB, (apk("base.apk", manifest(ACTIVITY, **SPLIT_BASE), entries), ARM, HDPI)
    )
    (entry,) = states(verdict)
    assert len(entry) == 1000
    assert verdict.served == "changed"
