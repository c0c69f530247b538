"""What Google Play serves, compared with what was built: `target: play-verify`, and `verify: true`
after a release, through the real entrypoint.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from google_emulator import Emulator
from google_emulator.specimens import Build, bundle_contents, make_bundle
from tests.support.job import Ended, Job

pytestmark = pytest.mark.slow

APP = "com.example.app"
PLAY = {"target": "play", "files": "*.aab", "tracks": "internal"}
VERIFY = {"target": "play-verify", "files": "*.aab", "wait-deadline": "0s"}
LIST = "play.generatedapks.list"
DOWNLOAD = "play.generatedapks.download"
CONTENTS = bundle_contents(densities=(), languages=(), asset_packs=("levels",))
OWN = ["uploader-results.json", "uploader-served.json"]


@pytest.fixture
def emulator(request: pytest.FixtureRequest) -> Iterator[Emulator]:
    """An emulator that generates as the test says."""
    generation = getattr(request, "param", {})
    with Emulator(config={"generated_apks": {"*": generation}}) as emulator:
        yield emulator


def generating(**generation: Any) -> pytest.MarkDecorator:
    """Says how the APKs come about in a test."""
    return pytest.mark.parametrize(
        "emulator", [generation], indirect=True, ids=["-".join(generation) or "plain"]
    )


@pytest.fixture
def job(job: Job) -> Job:
    """A job whose workspace holds one bundle, com.example.app 42."""
    build = Build(libraries=CONTENTS, min_sdk=19)
    make_bundle(job.workspace / "app.aab", APP, 42, "1.0", build=build)
    return job


@pytest.fixture
def released(job: Job) -> Job:
    """The job, once its bundle is released."""
    job.succeed(PLAY)
    return job


def statement(job: Job) -> dict[str, Any]:
    """The statement that the run has left."""
    found = json.loads((job.workspace / "uploader-served.json").read_text())
    assert isinstance(found, dict)
    return found


def left(job: Job) -> list[str]:
    """Every file in the workspace, and in the folder for temporary files all but what the runner
    and the state of the run have there.
    """
    files = [path.name for path in job.workspace.rglob("*") if path.is_file()]
    temporary = Path(job.environment({})["RUNNER_TEMP"])
    others = {path.name for path in temporary.iterdir()} - {
        "_temp",
        job.state_folder.name,
    }
    return sorted(files) + sorted(others)


@generating(keys=2, variants=2)
def test_what_is_served_is_what_was_built(released: Job) -> None:
    ended = released.succeed(VERIFY)
    assert ended.outputs["served"] == "same"
    assert ended.outputs["served-file"] == "uploader-served.json"
    subjects = statement(released)["subject"]
    assert subjects[0]["name"] == "app.aab"
    assert len(subjects) == 1 + 2 * (3 * 2 + 2 + 1 + 1)
    assert "com.example.app 1.0 (42): the same as built" in ended.log
    assert left(released) == ["app.aab", *OWN]


@generating(protected=True)
def test_protection_ends_the_run_only_where_that_is_asked_for(released: Job) -> None:
    ended = released.succeed(VERIFY)
    assert ended.outputs["served"] == "protected"
    ended = released.fail(6, {**VERIFY, "require-unprotected": "true"})
    assert ended.outputs["failure"] == "served-protected"
    assert ended.outputs["served"] == "protected"


@pytest.mark.parametrize(
    "emulator",
    [{"stripped": "base/dex/classes2.dex"}, {"changed": "base/dex/classes.dex"}],
    indirect=True,
    ids=["stripped", "changed"],
)
def test_what_is_not_as_built_ends_the_run(released: Job) -> None:
    ended = released.fail(6, VERIFY)
    assert ended.outputs["failure"] == "served-changed"
    assert ended.outputs["served"] == "changed"
    assert left(released) == ["app.aab", *OWN]


@generating()
def test_protection_that_is_switched_on_between_two_runs_is_seen(released: Job) -> None:
    assert released.succeed(VERIFY).outputs["served"] == "same"
    released.emulator.config.generated_apks["*"] = {"protected": True}
    assert released.succeed(VERIFY).outputs["served"] == "protected"


@pytest.mark.parametrize(
    "emulator", [{"never": True}, {"partly": 1}], indirect=True, ids=["nothing", "some"]
)
def test_an_elapsed_deadline_is_temporary(released: Job) -> None:
    """The next run finds what was missing."""
    ended = released.fail(75, VERIFY)
    assert ended.outputs["failure"] == "apks-not-generated"
    released.emulator.config.generated_apks["*"] = {}
    assert released.succeed(VERIFY).outputs["served"] == "same"


@generating()
@pytest.mark.parametrize("on", [LIST, DOWNLOAD])
@pytest.mark.parametrize("fault", ["answer-lost", "reset"])
def test_a_lost_answer_is_asked_for_again(released: Job, on: str, fault: str) -> None:
    released.emulator.add_fault(on, fault)
    assert released.succeed(VERIFY).outputs["served"] == "same"


@generating()
@pytest.mark.parametrize(
    ("on", "nth"), [(LIST, 1), (DOWNLOAD, 1), (DOWNLOAD, 4), (DOWNLOAD, 7)]
)
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
def test_a_run_that_ends_at_a_request_can_be_repeated(
    released: Job, on: str, nth: int, sent: signal.Signals
) -> None:
    """Nothing of the first one disturbs the second one."""
    released.emulator.add_fault(on, "slow-answer", nth=nth, seconds=30)
    running = released.start(VERIFY).when(lambda state: bool(state["faults"]["fired"]))
    ended = running.send(sent).end()
    assert ended.code in (-signal.SIGKILL, 143), ended.log
    assert set(left(released)) <= {"app.aab", *OWN}
    assert released.succeed(VERIFY).outputs["served"] == "same"


@generating()
def test_a_digest_that_does_not_fit_is_an_integrity_error(released: Job) -> None:
    released.emulator.add_fault(DOWNLOAD, "damage-body", at=100, nth=2)
    ended = released.fail(5, VERIFY)
    assert ended.outputs["failure"] == "download-damaged"
    assert ended.outputs.get("served", "") == ""


@generating()
def test_a_dry_run_asks_nothing(released: Job) -> None:
    ended = released.succeed({**VERIFY, "dry-run": "true"})
    assert "Would compare 1 bundle" in ended.log
    assert LIST not in released.emulator.state()["requests"]


@pytest.mark.parametrize("wrong", [False, True], ids=["dry-run", "wrong-inputs"])
@generating()
def test_a_statement_of_an_earlier_run_is_removed_by_a_run_that_does_nothing(
    released: Job, wrong: bool
) -> None:
    released.succeed(VERIFY)
    if wrong:
        released.fail(2, {**VERIFY, "files": "none.aab"})
    else:
        released.succeed({**VERIFY, "dry-run": "true"})
    assert not (released.workspace / OWN[1]).exists()


@generating()
def test_a_statement_of_an_earlier_run_is_removed_by_one_that_fails_or_is_killed(
    released: Job,
) -> None:
    """Nobody can take it for the result of the last run."""
    served = released.workspace / OWN[1]
    released.succeed(VERIFY)
    released.emulator.config.generated_apks["*"] = {"never": True}
    released.fail(75, VERIFY)
    assert not served.exists()
    released.emulator.config.generated_apks["*"] = {}
    released.succeed(VERIFY)
    released.emulator.add_fault(LIST, "slow-answer", seconds=30)
    running = released.start(VERIFY).when(lambda state: bool(state["faults"]["fired"]))
    assert running.send(signal.SIGKILL).end().code == -signal.SIGKILL
    assert not served.exists()


@generating()
def test_a_statement_that_is_a_link_is_left_alone(released: Job) -> None:
    kept = released.workspace / "kept.json"
    kept.write_text("mine")
    (released.workspace / OWN[1]).symlink_to(kept)
    ended = released.fail(2, VERIFY)
    assert "already exists and is not a regular file" in ended.log
    assert kept.read_text() == "mine"


@generating()
def test_a_release_without_a_comparison_keeps_the_statement_of_another_step(
    released: Job,
) -> None:
    released.succeed(VERIFY)
    released.succeed({**PLAY, "dry-run": "true"})
    assert (released.workspace / OWN[1]).exists()
    released.succeed({**PLAY, "dry-run": "true", "verify": "true"})
    assert not (released.workspace / OWN[1]).exists()


@generating()
def test_a_version_that_is_not_there_is_never_generated(job: Job) -> None:
    ended = job.fail(4, VERIFY)
    assert ended.outputs["failure"] == "version-not-uploaded"
    assert "Google Play has no version 42 of com.example.app" in ended.log
    assert job.emulator.state()["edits"]["open"] == []


@generating(never=True)
def test_a_version_whose_bundle_is_there_is_waited_for(released: Job) -> None:
    """Its APKs may still come."""
    ended = released.fail(75, VERIFY)
    assert ended.outputs["failure"] == "apks-not-generated"


@generating(never=True)
def test_an_account_that_may_open_no_edit_waits_for_the_apks(released: Job) -> None:
    released.emulator.add_fault(
        "play.edits.insert", "status", status=403, body=DENIED, nth=1
    )
    ended = released.fail(75, VERIFY)
    assert "What was uploaded could not be looked up: " in ended.log
    assert ended.outputs["failure"] == "apks-not-generated"


@generating()
def test_the_edit_of_an_unfinished_release_is_not_closed(job: Job) -> None:
    """Another edit of the account would close it."""
    job.emulator.add_fault("play.edits.commit", "status", status=400, body=REFUSED)
    kept = job.fail(4, PLAY).outputs["edit-id"]
    ended = job.fail(75, VERIFY)
    assert f"Edit {kept} of an unfinished release would be closed" in ended.log
    [edit] = job.emulator.state()["edits"]["open"]
    assert edit["id"] == kept


@generating()
def test_another_build_than_was_uploaded_is_told_before_a_halt(released: Job) -> None:
    """First the file has to be compared with the one that was uploaded: if it is another one, the
    difference says nothing about the release.
    """
    [uploaded] = [result["sha256"] for result in released.succeed(PLAY).results]
    other = Build(
        libraries=bundle_contents(
            densities=(), languages=(), asset_packs=("levels",), size=99
        ),
        min_sdk=19,
    )
    make_bundle(released.workspace / "app.aab", APP, 42, "1.0", build=other)
    ended = released.fail(6, VERIFY)
    error = ended.last_line
    assert "app.aab is not the bundle that was uploaded as version 42. " in error
    assert f"that of the uploaded bundle {uploaded}. " in error
    assert error.index("Compare the file that the job") < error.index(
        "halt the release"
    )
    assert (ended.outputs["failure"], ended.outputs["served"]) == (
        "served-changed",
        "changed",
    )
    told = "## ❌ app.aab is not the bundle that was uploaded as version 42\n"
    assert ended.summary.startswith(told)
    assert released.emulator.state()["edits"]["open"] == []


@generating()
def test_an_apk_is_no_bundle(job: Job) -> None:
    (job.workspace / "app.aab").write_bytes(b"no bundle")
    assert "files: " in job.fail(2, VERIFY).log


REFUSED = '{"error": {"code": 400, "message": "Finish the declaration first."}}'
DENIED = (
    '{"error": {"code": 403, "message": "You may not.", "status": "PERMISSION_DENIED"}}'
)


@generating()
def test_a_refusal_of_unusual_words_is_about_permissions(released: Job) -> None:
    released.emulator.add_fault(LIST, "status", status=403, body=DENIED)
    ended = released.fail(3, VERIFY)
    assert ended.outputs["failure"] == "permission-denied"
    assert ended.summary.startswith("## ❌ Not compared: the account is not permitted")
    assert (
        "let the account release this app to testing tracks or to production"
        in ended.log
    )


@pytest.mark.parametrize("count", [1, 2])
def test_a_refusal_advises_the_same_for_one_app_and_for_several(
    several: Job, count: int
) -> None:
    several.succeed({**SEVERAL, "verify": "false"})
    for nth in range(1, 4):
        several.emulator.add_fault(LIST, "status", status=403, body=DENIED, nth=nth)
    files = ["*.aab", "a.aab"][count % 2]
    ended = several.fail(3, {**VERIFY, "files": files})
    assert (
        "let the account release this app to testing tracks or to production"
        in ended.log
    )


# After a release


@generating()
def test_what_fails_after_the_commit_says_that_the_release_stays(job: Job) -> None:
    """Nothing is left to be released by hand."""
    for nth in range(1, 50):
        job.emulator.add_fault(DOWNLOAD, "status", status=404, nth=nth)
    ended = job.fail(4, {**PLAY, "verify": "true"})
    assert ended.outputs["committed"] == "true"
    told = ended.log.splitlines()[-1]
    assert (
        "The release is committed; only its comparison with what Google Play serves failed"
        in told
    )
    assert "by hand" not in told
    assert "Run again with `target: play-verify`, which uploads nothing" in told
    assert ended.summary.startswith("## ❌ Committed, but not compared: ")


@generating()
def test_a_release_is_compared_after_its_commit(job: Job) -> None:
    ended = job.succeed({**PLAY, "verify": "true"})
    assert ended.outputs["committed"] == "true"
    assert ended.outputs["served"] == "same"
    assert "the same as built" in ended.log


@pytest.mark.parametrize(
    ("emulator", "code", "failure"),
    [
        ({"changed": "base/dex/classes.dex"}, 6, "served-changed"),
        ({"never": True}, 75, "apks-not-generated"),
        ({"code": 41}, 5, "served-apk-mismatch"),
    ],
    indirect=["emulator"],
    ids=["changed", "never", "mismatch"],
)
def test_a_release_stays_whatever_is_served(job: Job, code: int, failure: str) -> None:
    """A second run finds it released, and compares again."""
    ended = job.fail(code, {**PLAY, "verify": "true", "wait-deadline": "0s"})
    assert ended.outputs["failure"] == failure
    assert ended.outputs["committed"] == "true"
    job.emulator.config.generated_apks["*"] = {}
    again = job.succeed({**PLAY, "verify": "true", "wait-deadline": "0s"})
    assert again.outputs["served"] == "same"
    assert len(job.emulator.state()["edits"]["committed"]) == 1


@generating(protected=True)
def test_a_release_can_require_that_it_is_not_protected(job: Job) -> None:
    """The release stays committed; the run ends with the failure."""
    required = {**PLAY, "verify": "true", "require-unprotected": "true"}
    ended = job.fail(6, required)
    assert ended.outputs["failure"] == "served-protected"
    assert (ended.outputs["served"], ended.outputs["committed"]) == (
        "protected",
        "true",
    )
    assert job.succeed({**PLAY, "verify": "true"}).outputs["served"] == "protected"


@generating()
def test_protection_can_not_be_judged_where_nothing_is_compared(job: Job) -> None:
    ended = job.fail(2, {**PLAY, "require-unprotected": "true"})
    assert "require-unprotected: what Google Play serves is not compared" in ended.log


@generating()
def test_what_can_not_be_compared_is_a_mistake_before_anything_is_sent(
    job: Job,
) -> None:
    ended = job.fail(2, {**PLAY, "verify": "true", "commit": "false"})
    assert "verify: no bundle is committed" in ended.log
    assert job.emulator.state()["requests"] == {}


@generating()
def test_a_rehearsed_release_is_compared_with_the_rehearsal(job: Job) -> None:
    ended = job.succeed({**PLAY, "verify": "true", "api-endpoint": "emulator"})
    assert ended.outputs["served"] == "same"
    assert (
        "no release to compare"
        in job.fail(2, {**VERIFY, "api-endpoint": "emulator"}).log
    )


# Several apps

PHONE, WATCH = "com.example.phone", "com.example.watch"
SEVERAL = {
    "target": "play",
    "tracks": "internal",
    "files": "*.aab",
    "package-name": f"{PHONE}, {WATCH}",
    "wait-deadline": "0s",
    "verify": "true",
}


@pytest.fixture
def several(emulator: Emulator, job: Job) -> Job:
    """A job whose workspace holds the bundles of two apps, one of which has two of them."""
    (job.workspace / "app.aab").unlink()
    for name, package, code in (("a", WATCH, 42), ("b", PHONE, 43), ("c", PHONE, 44)):
        contents = bundle_contents(densities=(), languages=(), package=package)
        build = Build(libraries=contents, min_sdk=19)
        make_bundle(job.workspace / f"{name}.aab", package, code, "1.0", build=build)
    emulator.config.generated_apks.clear()
    return job


def served_of(ended: Ended) -> dict[str, tuple[str, str]]:
    """What is served of each app, and the failure of each."""
    apps = json.loads(ended.outputs["apps"])
    return {package: (app["served"], app["failure"]) for package, app in apps.items()}


def compared(job: Job) -> list[tuple[str, int, str]]:
    """The comparisons in the statement."""
    comparisons = statement(job)["predicate"]["comparisons"]
    return [(one["package"], one["versionCode"], one["served"]) for one in comparisons]


@pytest.mark.parametrize("target", ["play", "play-verify"])
def test_each_of_several_apps_is_compared(several: Job, target: str) -> None:
    ended = several.succeed(SEVERAL)
    if target == "play-verify":
        ended = several.succeed(VERIFY)
    assert (ended.outputs["served"], ended.outputs["served-file"]) == ("same", OWN[1])
    assert served_of(ended) == {PHONE: ("same", ""), WATCH: ("same", "")}
    assert ended.outputs["version-codes"] == "42,43,44"
    expected = [(PHONE, 43, "same"), (PHONE, 44, "same"), (WATCH, 42, "same")]
    assert compared(several) == expected
    words = (
        "; what is served: same |"
        if target == "play"
        else f"{WATCH} 1.0 (42): the same as built"
    )
    assert words in ended.summary


@pytest.mark.parametrize("target", ["play", "play-verify"])
def test_the_worst_of_several_apps_ends_the_run(several: Job, target: str) -> None:
    """One that can't be compared hides no change of another one."""
    emulator = several.emulator
    emulator.config.generated_apks[WATCH] = {"changed": "base/dex/classes.dex"}
    emulator.config.generated_apks[PHONE] = {"never": True}
    ended = several.fail(6, SEVERAL)
    if target == "play-verify":
        ended = several.fail(6, VERIFY)
    assert (ended.outputs["served"], ended.outputs["failure"]) == (
        "changed",
        "served-changed",
    )
    assert served_of(ended) == {
        PHONE: ("", "apks-not-generated"),
        WATCH: ("changed", "served-changed"),
    }
    assert f"{WATCH}: The served APKs of 1.0 (42) do not match a.aab" in ended.log
    assert WATCH in ended.summary
    assert compared(several) == [(WATCH, 42, "changed")]


@pytest.mark.parametrize("target", ["play", "play-verify"])
def test_an_app_that_was_not_compared_leaves_the_result_open(
    several: Job, target: str
) -> None:
    """The others are compared, and the next run finds the rest."""
    several.emulator.config.generated_apks[WATCH] = {"never": True}
    ended = several.fail(75, SEVERAL)
    if target == "play-verify":
        ended = several.fail(75, VERIFY)
    assert (ended.outputs["served"], ended.outputs["failure"]) == (
        "",
        "apks-not-generated",
    )
    assert served_of(ended) == {PHONE: ("same", ""), WATCH: ("", "apks-not-generated")}
    assert WATCH in ended.log.splitlines()[-1]
    assert "served-file" not in ended.outputs or not ended.outputs["served-file"]
    assert not (several.workspace / OWN[1]).exists()
    several.emulator.config.generated_apks.clear()
    assert several.succeed(VERIFY).outputs["served"] == "same"


def test_a_bundle_of_one_app_that_was_not_compared_leaves_the_result_open(
    several: Job,
) -> None:
    """As with several apps: there is no statement of the others."""
    several.succeed({**SEVERAL, "verify": "false"})
    (several.workspace / "a.aab").unlink()
    several.emulator.config.generated_apks[PHONE] = {"code": 43}
    ended = several.fail(5, VERIFY)
    assert ended.outputs.get("served", "") == ""
    assert not (several.workspace / OWN[1]).exists()


def test_protection_of_one_app_counts_where_it_may_not_be(several: Job) -> None:
    several.emulator.config.generated_apks[PHONE] = {"protected": True}
    ended = several.succeed(SEVERAL)
    assert ended.outputs["served"] == "protected"
    assert served_of(ended) == {PHONE: ("protected", ""), WATCH: ("same", "")}
    ended = several.fail(6, {**VERIFY, "require-unprotected": "true"})
    assert served_of(ended) == {
        PHONE: ("protected", "served-protected"),
        WATCH: ("same", ""),
    }
