"""The list of the APKs that Google Play makes of a bundle: read, and waited for until it is
complete, in simulated time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from google_emulator import Emulator
from tests.support.transfer_harness import Bench
from uploader.errors import ProtocolError, TemporaryError
from uploader.services.base import Context, Outcome
from uploader.services.play.generated_apks import (
    MAX_APKS,
    SigningKey,
    await_generated_apks,
    list_generated_apks,
)

APP = "com.example.app"
LIST = "play.generatedapks.list"
T = TypeVar("T")


def bench(emulator: Emulator) -> Bench:
    """A run against an emulator on which version 42 is released."""
    emulator.console.add_release(APP, "internal", {"versionCodes": ["42"]})
    return Bench(emulator, max_retries=1)


def within(run: Bench, work: Callable[[Context], T]) -> T:
    """What the work returns, done as a flow of the run."""
    results: list[T] = []

    def flow(context: Context) -> Outcome:
        results.append(work(context))
        return Outcome("Done.")

    run.engine.run(flow)
    return results[0]


def awaited(run: Bench, seconds: float = 3600.0) -> list[SigningKey]:
    return within(
        run, lambda context: await_generated_apks(APP, "42", seconds, context)
    )


def generating(**generation: Any) -> Emulator:
    return Emulator(config={"generated_apks": {"*": generation}})


def test_every_apk_of_every_key_is_listed() -> None:
    """Those without automatic protection are told from the others."""
    with generating(keys=2, protected=True) as emulator:
        keys = awaited(bench(emulator))
    assert len({key.certificate for key in keys}) == 2
    for key in keys:
        assert [apk.name for apk in key.apks] == [
            "base.apk of variant 1",
            "unprotected base.apk of variant 1",
            "unprotected standalone.apk of variant 0",
            "universal.apk",
        ]
        assert key.is_protected


def test_a_list_that_is_empty_or_has_only_some_is_looked_at_again() -> None:
    with generating(looks=1, partly=1) as emulator:
        run = bench(emulator)
        (key,) = awaited(run)
        assert key.of_kind("universal")
        assert run.count(LIST) == 3


def test_a_list_without_a_universal_apk_counts_once_it_stays_the_same() -> None:
    """Whether an app gets one, no document says."""
    with generating(partly=1000) as emulator:
        run = bench(emulator)
        (key,) = awaited(run)
        assert not key.of_kind("universal")
        assert run.count(LIST) == 4


@pytest.mark.parametrize(
    ("generation", "what"),
    [
        ({"never": True}, "has not generated the APKs"),
        ({"partly": 9}, "not generated all APKs"),
    ],
    ids=["nothing", "some"],
)
def test_apks_that_do_not_come_are_temporary(
    generation: dict[str, Any], what: str
) -> None:
    """The last look is at the deadline."""
    with generating(**generation) as emulator:
        run = bench(emulator)
        with pytest.raises(TemporaryError, match=what) as raised:
            awaited(run, 20.0)
        assert run.naps == [15, 5]
    assert raised.value.code == "apks-not-generated"


@pytest.mark.parametrize(
    "body",
    [
        '{"generatedApks": {}}',
        '{"generatedApks": [7]}',
        '{"generatedApks": [{"generatedSplitApks": [{"moduleName": "base"}]}]}',
        '{"generatedApks": [{"generatedSplitApks": [{"downloadId": ".."}]}]}',
        '{"generatedApks": [{"generatedSplitApks": [{"downloadId": "x", "splitId": 7}]}]}',
        '{"generatedApks": [{"generatedSplitApks": [{"downloadId": "x", "variantId": "1"}]}]}',
        '{"generatedApks": [{"generatedStandaloneApks": [{"downloadId": "x"}]}]}',
    ],
)
def test_an_answer_in_another_form_breaks_the_protocol(body: str) -> None:
    """Nothing of it becomes a path or a digest to compare with."""
    with Emulator() as emulator:
        run = bench(emulator)
        emulator.add_fault(LIST, "replace-body", body=body)
        with pytest.raises(ProtocolError, match="in an undocumented format") as raised:
            within(run, lambda context: list_generated_apks(APP, "42", context))
    assert raised.value.hint == "Run again; report the error if it recurs."


@pytest.mark.parametrize("count", [2040, MAX_APKS])
def test_a_list_may_have_a_split_of_each_feature_and_language(count: int) -> None:
    """An app with twelve features in 85 languages has 2,040 in two variants."""
    entries = ", ".join(f'{{"downloadId": "{number}"}}' for number in range(count))
    body = (
        f'{{"generatedApks": [{{"certificateSha256Hash": "{"0" * 64}", '
        f'"generatedSplitApks": [{entries}]}}]}}'
    )
    with Emulator() as emulator:
        run = bench(emulator)
        emulator.add_fault(LIST, "replace-body", body=body)
        (key,) = within(run, lambda context: list_generated_apks(APP, "42", context))
    assert len(key.apks) == count


def test_a_list_beyond_every_app_is_refused() -> None:
    entries = ", ".join(
        f'{{"downloadId": "{number}"}}' for number in range(MAX_APKS + 1)
    )
    body = (
        f'{{"generatedApks": [{{"certificateSha256Hash": "{"0" * 64}", '
        f'"generatedSplitApks": [{entries}]}}]}}'
    )
    with Emulator() as emulator:
        run = bench(emulator)
        emulator.add_fault(LIST, "replace-body", body=body)
        with pytest.raises(ProtocolError, match="more than 20,000 APKs"):
            within(run, lambda context: list_generated_apks(APP, "42", context))
