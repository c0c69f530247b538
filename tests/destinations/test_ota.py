"""The id of an over-the-air package: found in the list of the deployment's packages, or said to be
unknown.
"""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.destinations.conftest import Begin
from tests.support.destinations import package
from tests.support.emulator_client import EmulatorClient
from tests.support.job import Ended, Job

LIST = "androidovertheair.deployments.packages.list"
GIVEN = {
    "target": "ota",
    "deployment": "d1",
    "package-title": "System 1.2",
    "files": "ota.zip",
}
PARTS = (
    b"--b\r\nContent-Type: application/json\r\n\r\n"
    b'{"deployment": "d1", "package_title": "System 1.2"}\r\n'
)


def upload(job: Job, **more: str) -> Ended:
    package(job.workspace, 100_000)
    return job.run({**GIVEN, **more})


def names(job: Job) -> list[str]:
    return [one["name"] for one in job.emulator.state()["packages"]]


def somebody_uploads(job: Job) -> None:
    """Another job makes a package of the same title in the same deployment."""
    headers = {
        "X-Goog-Upload-Protocol": "multipart",
        "Content-Type": "multipart/related; boundary=b",
    }
    body = (
        PARTS + b"--b\r\nContent-Type: application/zip\r\n\r\nPK\x03\x04\r\n--b--\r\n"
    )
    with closing(EmulatorClient(job.emulator)) as client:
        assert client.request("POST", "/upload/package", body, headers).status == 200


@pytest.mark.parametrize("protocol", ["auto", "multipart"])
def test_the_package_is_known_by_its_name(job: Job, protocol: str) -> None:
    """The name that the service made is the output, and stands in the results file beside the
    bytes.
    """
    ended = upload(job, **{"upload-protocol": protocol})
    assert ended.code == 0, ended.log
    [name] = names(job)
    assert (ended.outputs["id"], ended.outputs["ids"]) == (name, name)
    assert ended.results[0]["id"] == name
    done = f"ota.zip was uploaded to deployment d1 as the package {name}."
    for told in (ended.log, ended.summary):
        assert done in told
        assert "To roll it out, associate the package with a configuration" in told


def test_a_deployment_that_is_not_there_is_named_with_the_place_of_its_id(
    begin: Begin,
) -> None:
    job = begin(
        {"on": "goog.start", "do": "status", "status": 404, "message": "Not found."}
    )
    ended = upload(job)
    assert ended.code == 4
    assert "There is no deployment d1, or the account can't see it." in ended.log
    assert "`GET /v1/deployments` of the API" in ended.log


def test_a_title_may_be_used_again(job: Job) -> None:
    """Of several packages with the title it is the one that was not there before."""
    first, second = upload(job), upload(job)
    assert [first.outputs["id"], second.outputs["id"]] == names(job)
    assert second.outputs["id"] != first.outputs["id"]


def test_two_new_packages_are_told_and_not_guessed(begin: Begin) -> None:
    """While the list is asked for again another job makes a package of the same title: the log has
    both names.
    """
    # an empty list is asked twice
    job = begin({"on": LIST, "nth": 3, "do": "status", "status": 503, "retry_after": 1})
    package(job.workspace, 100_000)
    running = job.start(GIVEN).when(lambda state: bool(state["faults"]["fired"]))
    somebody_uploads(job)
    ended = running.end()
    assert ended.code == 0, ended.log
    assert "2 new packages" in ended.log
    assert all(name in ended.log for name in names(job))
    assert "id" not in ended.outputs


@pytest.mark.parametrize(
    ("status", "more"),
    [
        (403, {"reason": "forbidden"}),
        (404, {}),
        (400, {}),
        (503, {"retry_after": 0, "times": 2}),
    ],
)
def test_a_list_that_is_refused_ends_no_upload(
    begin: Begin, status: int, more: dict[str, object]
) -> None:
    """The first look is refused for whatever reason: the package is sent, and its id is told to be
    unknown.
    """
    job = begin(
        {"on": LIST, "do": "status", "status": status, "message": "No.", **more}
    )
    ended = upload(job, **{"max-retries": "1"})
    assert ended.code == 0, ended.log
    assert "The package's id is not known. " in ended.log
    assert "id" not in ended.outputs
    assert len(names(job)) == 1


AGAIN = {"GITHUB_RUN_ID": "7", "GITHUB_JOB": "upload"}


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["auto", "multipart"])
def test_a_package_that_failed_behind_its_upload_is_no_success(
    begin: Begin, protocol: str
) -> None:
    """The service's own words are the error, nothing of it is an id, and the next attempt sends the
    package again.
    """
    job = begin(package_error="The payload's signature is not valid")
    given = {**GIVEN, "upload-protocol": protocol}
    package(job.workspace, 100_000)
    ended = job.run(given, **AGAIN, GITHUB_RUN_ATTEMPT="1")
    assert (ended.code, ended.outputs["failure"]) == (4, "package-failed"), ended.log
    [failed] = names(job)
    for told in (ended.log, ended.summary, ended.results[0]["error"]):
        assert (
            f"it failed (package {failed}): The payload's signature is not valid."
            in told
        )
    assert "id" not in ended.outputs
    job.emulator.config.package_error = ""
    again = job.succeed(given, **AGAIN, GITHUB_RUN_ATTEMPT="2")
    assert [failed, again.outputs["id"]] == names(job)


def test_an_upload_that_an_earlier_run_finished_is_found(begin: Begin) -> None:
    """All bytes were there, and so was the package: the run that learns of it outputs its name."""
    lost = {"on": "goog.finalize", "do": "status-after-effect", "retry_after": 0}
    job = begin(lost, {"on": "goog.query", "do": "status", "retry_after": 0})
    again = {"GITHUB_RUN_ID": "7", "GITHUB_JOB": "upload", "GITHUB_RUN_ATTEMPT": "1"}
    package(job.workspace, 100_000)
    kept = {**GIVEN, "state-dir": "state"}
    job.fail(75, {**kept, "max-retries": "1"}, **again)
    second = job.succeed(kept, **again)
    assert second.outputs["resumed"] == "true"
    assert [second.outputs["id"]] == names(job)


def test_where_the_state_goes_with_the_machine_the_list_settles_the_doubt(
    begin: Begin,
) -> None:
    """The next run could not ask, so this one looks at once, and leaves nothing behind."""
    lost = {"on": "goog.finalize", "do": "status-after-effect", "retry_after": 0}
    job = begin(lost, {"on": "goog.query", "do": "status", "retry_after": 0})
    package(job.workspace, 100_000)
    ended = job.succeed({**GIVEN, "max-retries": "1"})
    assert [ended.outputs["id"]] == names(job)
    assert not list(job.state_folder.iterdir())


STATUS = "X-Goog-Upload-Status"
BARE = {"do": "drop-header", "name": STATUS, "times": 9}


def test_a_bare_200_is_settled_by_the_list(begin: Begin) -> None:
    """Neither the last bytes nor the query are answered with a status: the new package is the
    success.
    """
    job = begin({"on": "goog.finalize", **BARE}, {"on": "goog.query", **BARE})
    upload(job)
    ended = job.succeed({**GIVEN, "package-title": "System 1.3"})
    assert [ended.outputs["id"]] == names(job)[1:]
    assert (ended.results[0]["error"], ended.outputs["bytes-uploaded"]) == (
        "",
        "100000",
    )
    assert "The deployment lists the new package" in ended.log
    assert "goog.cancel" not in job.emulator.state()["requests"]


@pytest.mark.parametrize("listed", [True, False], ids=["an empty list", "no list"])
def test_a_bare_200_without_a_new_package_is_in_doubt(
    begin: Begin, listed: bool
) -> None:
    """Exit code 4 after the usual waits, and nothing is cancelled, whether the list is empty or
    refused.
    """
    empty = (
        {"status": 200, "body": "{}", "content_type": "application/json"}
        if listed
        else {"status": 403}
    )
    job = begin(
        {"on": "goog.finalize", **BARE},
        {"on": "goog.query", **BARE},
        {"on": LIST, "do": "status", **empty, "times": 9},
    )
    ended = upload(job, **{"max-retries": "1"})
    assert (ended.code, ended.outputs["failure"]) == (4, "outcome-unknown"), ended.log
    state = job.emulator.state()
    # three looks, and {} has to be said twice
    assert state["requests"][LIST] == (6 if listed else 1)
    assert "goog.cancel" not in state["requests"]
    assert "answers for the upload session, but not how the upload ended" in ended.log
    assert "forgot" not in ended.log


@pytest.mark.slow
@pytest.mark.parametrize(("broken", "commands"), [(1, 2), (2, 4)])
def test_all_that_remains_goes_out_at_once_after_an_interruption(
    begin: Begin, broken: int, commands: int
) -> None:
    """With `upload, finalize`; a request that breaks twice at the same byte is followed by
    chunks.
    """
    job = begin(
        {
            "on": "goog.upload",
            "do": "reset",
            "after": 500_000,
            "stored": 0,
            "times": broken,
        }
    )
    package(job.workspace, 9 << 20)
    job.succeed(GIVEN)
    requests = job.emulator.state()["requests"]
    assert (requests["goog.upload"], requests["goog.query"]) == (commands, broken)
    assert requests["goog.finalize"] == (broken + 1)
