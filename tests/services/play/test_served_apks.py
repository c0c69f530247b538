"""What Google Play serves: fetched from the emulator, compared with the bundle that was built."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import signal
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from google_emulator import Emulator
from google_emulator.specimens import Build, bundle_contents, make_bundle
from google_emulator.specimens.signature_writer import certificate
from tests.support.emulator_client import PACKAGE, EmulatorClient
from tests.support.served_specimens import make_zip
from tests.support.transfer_harness import Bench
from uploader.errors import ApiError, IntegrityError, Interrupted, TemporaryError
from uploader.files.android.served import Verdict
from uploader.files.artifacts import Artifact, from_path
from uploader.files.workspace import Workspace
from uploader.services.base import Context, Outcome
from uploader.services.play.served_apks import check_form, compare_served

DOWNLOAD = "play.generatedapks.download"
LIST = "play.generatedapks.list"


class Served:
    """A version that is released, and the comparison with its bundle."""

    def __init__(self, emulator: Emulator, folder: Path) -> None:
        self.emulator = emulator
        self.temp = folder / "temp"
        self.temp.mkdir()
        self._bundle = folder / "app.aab"
        self.build(bundle_contents(densities=(), asset_packs=("levels",)))
        client = EmulatorClient(emulator)
        edit = client.edit()
        client.upload(f"{edit}/bundles", self._bundle.read_bytes())
        assert client.request("POST", f"{edit}:commit").status == 200
        client.close()
        self.bench = Bench(emulator, max_retries=1)

    def build(self, contents: dict[str, bytes]) -> None:
        build = Build(libraries=contents, min_sdk=19)
        make_bundle(self._bundle, PACKAGE, 42, "1.0", build=build)

    @property
    def bundle(self) -> Artifact:
        return from_path(self._bundle, "app.aab")

    def compare(
        self, seconds: float = 3600.0, bundle: Artifact | None = None
    ) -> Verdict:
        bundle = bundle or self.bundle
        workspace = Workspace(self._bundle.parent, temp=self.temp)
        verdicts: list[Verdict] = []

        def flow(context: Context) -> Outcome:
            version = (PACKAGE, 42)
            verdicts.append(
                compare_served(
                    bundle, version, seconds, workspace, context, nullcontext()
                )
            )
            return Outcome("Done.")

        self.bench.engine.run(flow)
        return verdicts[0]

    def relist(self, change: Callable[[Any], None], times: int = 4) -> None:
        """Let Google Play answer so many times with a list whose keys are changed."""

        def change_all(keys: list[Any]) -> None:
            for key in keys:
                change(key)

        self.replace_list(change_all, times)

    def replace_list(self, change: Callable[[list[Any]], None], times: int = 4) -> None:
        """Let Google Play answer so many times with a changed list of keys."""
        client = EmulatorClient(self.emulator)
        path = f"/androidpublisher/v3/applications/{PACKAGE}/generatedApks/42"
        listed = client.request("GET", path).json
        client.close()
        change(listed["generatedApks"])
        for nth in range(1, times + 1):
            body = json.dumps(listed)
            self.emulator.add_fault(LIST, "replace-body", nth=nth, body=body)

    @property
    def left(self) -> list[Path]:
        """What is left in the folder for temporary files."""
        return list(self.temp.rglob("*"))


@pytest.fixture
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    """A version whose APKs are generated as the test says."""
    generation = getattr(request, "param", {})
    with Emulator(config={"generated_apks": {"*": generation}}) as emulator:
        yield Served(emulator, tmp_path)


def generating(**generation: Any) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "served", [generation], indirect=True, ids=["-".join(generation)]
    )


@generating(keys=2, variants=2)
def test_every_apk_of_every_key_is_the_same(served: Served) -> None:
    """Splits of each variant, standalone APKs, slices, the universal one; nothing is left of
    them.
    """
    verdict = served.compare()
    assert verdict.served == "same"
    # for each key: splits of two variants, standalone APKs, a slice, and the universal one
    assert len(verdict.apks) == 2 * (4 * 2 + 2 + 1 + 1)
    assert len({apk.name for apk in verdict.apks}) == len(verdict.apks)
    assert served.bench.count(DOWNLOAD) == len(verdict.apks)
    assert served.left == []


@generating(protected=True)
def test_protection_is_told_and_what_is_without_it_is_the_same(served: Served) -> None:
    verdict = served.compare()
    assert verdict.served == "protected"
    unprotected = [apk for apk in verdict.apks if apk.name.startswith("unprotected")]
    assert len(unprotected) == 5
    assert not any(apk.protected or apk.changed for apk in unprotected)


@generating(protected=True, changed="base/assets/data.bin")
def test_protection_hides_no_other_change(served: Served) -> None:
    assert served.compare().served == "changed"


@pytest.mark.parametrize(
    ("served", "state"),
    [
        ({"stripped": "base/dex/classes2.dex"}, "missing"),
        ({"changed": "base/dex/classes.dex"}, "changed"),
        ({"stripped": "resources.pb#string/hello"}, "missing"),
        ({"changed": "resources.pb#string/hello"}, "changed"),
    ],
    indirect=["served"],
    ids=["stripped", "changed", "stripped-resource", "changed-resource"],
)
def test_what_is_not_as_built_is_found(served: Served, state: str) -> None:
    verdict = served.compare()
    assert verdict.served == "changed"
    assert any(finding.state == state for finding in verdict.findings)


@generating()
def test_another_bundle_than_was_uploaded_is_noticed(served: Served) -> None:
    """A build that can't be repeated, for instance."""
    served.build(bundle_contents(densities=(), asset_packs=("levels",), size=999))
    assert served.compare().served == "changed"


@generating(looks=1, partly=2)
def test_apks_are_waited_for_until_all_are_there(served: Served) -> None:
    assert served.compare().served == "same"
    assert served.bench.count(LIST) == 4


@generating(never=True)
def test_apks_that_do_not_come_are_temporary(served: Served) -> None:
    with pytest.raises(TemporaryError) as raised:
        served.compare(0.0)
    assert raised.value.code == "apks-not-generated"


@generating()
@pytest.mark.parametrize("fault", ["answer-lost", "reset", "cut-answer"])
def test_a_broken_download_goes_on(served: Served, fault: str) -> None:
    for on in (LIST, DOWNLOAD):
        served.emulator.add_fault(on, fault)
    assert served.compare().served == "same"
    assert served.left == []


@generating()
def test_a_digest_that_does_not_fit_is_a_damaged_download(served: Served) -> None:
    """What the service says of the bytes is compared with what came."""
    served.emulator.add_fault(DOWNLOAD, "damage-body", at=100, nth=3)
    with pytest.raises(IntegrityError) as raised:
        served.compare()
    assert raised.value.code == "download-damaged"
    assert served.left == []


@generating(digest=False)
def test_damage_without_a_digest_is_noticed_by_the_signature(served: Served) -> None:
    served.emulator.add_fault(DOWNLOAD, "damage-body", at=100, nth=3)
    with pytest.raises(IntegrityError) as raised:
        served.compare()
    assert raised.value.code == "served-apk-mismatch"
    assert served.left == []


@pytest.mark.parametrize(
    ("served", "said"),
    [
        ({"code": 41}, "com.example.app 41"),
        ({"package": "com.example.other"}, "com.example.other "),
        ({"certificate": "0" * 64}, "Google Play reports the certificate 000"),
    ],
    indirect=["served"],
    ids=["version", "app", "certificate"],
)
def test_an_apk_that_was_not_asked_for_is_refused(served: Served, said: str) -> None:
    with pytest.raises(IntegrityError, match=said):
        served.compare()
    assert served.left == []


@pytest.mark.parametrize(
    "served",
    [
        {"rotated": "Newer"},
        {
            "rotated": "Newer",
            "certificate": hashlib.sha256(certificate("Newer")).hexdigest(),
        },
    ],
    indirect=True,
    ids=["older", "newer"],
)
def test_of_a_rotated_key_google_play_may_report_either(served: Served) -> None:
    assert served.compare().served == "same"


@generating()
def test_an_apk_that_is_gone_is_looked_for_in_a_new_list(served: Served) -> None:
    """Google Play has made the APKs anew between the list and the download."""
    served.emulator.add_fault(DOWNLOAD, "status", status=404, nth=2)
    assert served.compare().served == "same"
    assert served.bench.count(LIST) == 2
    assert served.left == []


@generating()
def test_an_apk_that_stays_away_ends_the_comparison(served: Served) -> None:
    for nth in range(1, 50):
        served.emulator.add_fault(DOWNLOAD, "status", status=404, nth=nth)
    with pytest.raises(ApiError):
        served.compare()
    assert served.bench.count(LIST) == 3
    assert served.left == []


@generating()
@pytest.mark.parametrize("on", [LIST, DOWNLOAD])
def test_a_concurrent_update_is_waited_for(served: Served, on: str) -> None:
    """Google documents a 409 here as one that is to be repeated."""
    served.emulator.add_fault(on, "status", status=409)
    assert served.compare().served == "same"
    assert served.bench.naps == [1.0]


@generating()
def test_a_refused_download_ends_the_others(served: Served) -> None:
    served.emulator.add_fault(DOWNLOAD, "status", status=403, nth=2)
    with pytest.raises(ApiError):
        served.compare()
    assert served.left == []


@pytest.mark.parametrize(
    ("alter", "said"),
    [
        (gzip.compress, "is compressed with gzip"),
        (lambda data: data + bytes(500), "continues after the end of the APK"),
        (lambda data: data[:-10], "does not end as an APK does"),
        (lambda data: data[:-30], "does not end as an APK does"),
        (lambda data: b"<html>" + data, "is no APK"),
    ],
    ids=["gzip", "longer", "without-end", "without-directory", "page"],
)
def test_what_is_no_whole_apk_is_refused_in_fitting_words(
    alter: Callable[[bytes], bytes], said: str
) -> None:
    """It comes as long as it is announced, so nothing is to be built again."""
    apk = make_zip({"AndroidManifest.xml": bytes(2000)})
    with pytest.raises(IntegrityError, match=f"base.apk of variant 1 {said}") as raised:
        check_form("base.apk of variant 1", "42", io.BytesIO(alter(apk)))
    assert "uild" not in str(raised.value)
    assert check_form("base.apk", "42", io.BytesIO(apk)) == ""


@generating()
def test_one_certificate_twice_makes_no_name_twice(served: Served) -> None:
    """The statement has each APK under a name of its own."""
    served.replace_list(lambda keys: keys.append(keys[0]))
    verdict = served.compare()
    assert verdict.served == "same"
    assert len({apk.name for apk in verdict.apks}) == len(verdict.apks)


def by_split(key: Any, split: str) -> Any:
    """The entry of a split in the list of a key."""
    return next(
        apk for apk in key["generatedSplitApks"] if apk.get("splitId", "") == split
    )


def swap(first: Any, second: Any) -> None:
    """Let each of two entries lead to the other's APK."""
    first["downloadId"], second["downloadId"] = (
        second["downloadId"],
        first["downloadId"],
    )


def other_split(key: Any) -> None:
    by_split(key, "")["downloadId"] = by_split(key, "config.de")["downloadId"]


def other_configuration(key: Any) -> None:
    swap(by_split(key, "config.de"), by_split(key, "config.arm64_v8a"))


def other_module(key: Any) -> None:
    by_split(key, "config.de")["moduleName"] = "levels"


def whole_as_main_split(key: Any) -> None:
    by_split(key, "")["downloadId"] = key["generatedUniversalApk"]["downloadId"]


def main_split_as_whole(key: Any) -> None:
    key["generatedUniversalApk"]["downloadId"] = by_split(key, "")["downloadId"]


def split_as_standalone(key: Any) -> None:
    key["generatedStandaloneApks"][0]["downloadId"] = by_split(key, "config.de")[
        "downloadId"
    ]


def split_as_universal(key: Any) -> None:
    key["generatedUniversalApk"]["downloadId"] = by_split(key, "config.de")[
        "downloadId"
    ]


def split_as_slice(key: Any) -> None:
    key["generatedAssetPackSlices"][0]["downloadId"] = by_split(key, "config.de")[
        "downloadId"
    ]


def slice_as_split(key: Any) -> None:
    key["generatedSplitApks"].append(
        {**key["generatedAssetPackSlices"][0], "splitId": "levels"}
    )


@generating()
@pytest.mark.parametrize(
    "change",
    [
        other_split,
        other_configuration,
        other_module,
        whole_as_main_split,
        main_split_as_whole,
        split_as_standalone,
        split_as_universal,
        split_as_slice,
        slice_as_split,
    ],
)
def test_an_apk_in_the_place_of_another_one_is_refused(
    served: Served, change: Callable[[Any], None]
) -> None:
    """Each is a genuine one of the same version."""
    served.relist(change)
    with pytest.raises(IntegrityError, match="but Google Play lists it as") as raised:
        served.compare()
    assert raised.value.code == "served-apk-mismatch"
    assert served.left == []


def only_configurations(key: Any) -> None:
    key["generatedSplitApks"].remove(by_split(key, ""))
    key.pop("generatedStandaloneApks")
    key.pop("generatedUniversalApk")


def only_universal(key: Any) -> None:
    key.pop("generatedSplitApks")
    key.pop("generatedStandaloneApks")


def second_key_without_base(key: Any) -> None:
    if key["generatedUniversalApk"]["downloadId"].startswith("42-1-"):
        key["generatedSplitApks"].remove(by_split(key, ""))
        key.pop("generatedStandaloneApks")


@pytest.mark.parametrize(
    ("served", "change"),
    [
        ({}, only_configurations),
        ({}, only_universal),
        ({"keys": 2}, second_key_without_base),
    ],
    indirect=["served"],
    ids=["configurations", "universal", "second-key"],
)
def test_a_list_without_a_base_is_waited_for_and_then_unverified(
    served: Served, change: Callable[[Any], None]
) -> None:
    """The app's own code, as devices get it, was not compared."""
    served.relist(change, times=100)
    verdict = served.compare(seconds=120.0)
    assert verdict.served == "unverified"
    assert sum(served.bench.naps) == 120
    (doubt,) = verdict.doubts
    assert doubt.startswith(
        "Google Play lists neither the main split of the base nor a standalone"
    )
    assert verdict.findings[0].why[1:] in doubt


class Unread(io.RawIOBase):
    """A file that nobody may read."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        del offset, whence
        return 1000

    def readinto(self, buffer: object) -> int:
        raise AssertionError(buffer)


@dataclass(frozen=True)
class Interrupting(Artifact):
    """A bundle at whose opening a signal comes."""

    cancel: Callable[[int], None] = lambda _: None

    def reader(self) -> io.BufferedReader:
        self.cancel(signal.SIGTERM)
        return io.BufferedReader(Unread())


@generating()
def test_a_signal_ends_the_comparison_before_the_next_read(served: Served) -> None:
    """It does not wait for a request, of which there may be none for long."""
    bundle = Interrupting(
        "app.aab", "app.aab", 1000, cancel=served.bench.cancellation.cancel
    )
    with pytest.raises(Interrupted):
        served.compare(bundle=bundle)
    assert served.left == []
