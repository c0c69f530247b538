"""A release whose requests are answered by somebody else: with nothing, with nonsense, or with half
an answer.

Whatever it is, what is live afterwards is what was asked or what was before, to the last field; the
run ends well or with 75, and the next run finishes. An answer may come in place of Google Play's,
which then never saw the request, or spoil its own.
"""

from __future__ import annotations

import copy
import itertools
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from google_emulator import Emulator, specimens
from tests.support.job import Job
from tests.support.transfer_harness import FakeTime

PACKAGE = "com.example.app"
JSON, HTML = "application/json; charset=UTF-8", "text/html; charset=UTF-8"
PAGE = "<!DOCTYPE html><html><body><h1>Please log in</h1></body></html>"
# Each kind of answer, said in Google Play's place (`status`), or made of its own answer.
IN_PLACE: dict[str, dict[str, Any]] = {
    "no body": {"body": "", "content_type": JSON},
    "{}": {"body": "{}", "content_type": JSON},
    "[]": {"body": "[]", "content_type": JSON},
    "html": {"body": PAGE, "content_type": HTML},
    "cut head": {"body": "{}", "content_type": JSON, "cut_head": 40},
    "cut body": {"body": '{"id": "12345"}', "content_type": JSON, "cut": 5},
}
SPOILT: dict[str, dict[str, Any]] = {
    "no body": {"do": "replace-body", "body": "", "refusals": False},
    "{}": {"do": "replace-body", "body": "{}", "refusals": False},
    "[]": {"do": "replace-body", "body": "[]", "refusals": False},
    "html": {"do": "html"},
    "cut head": {"do": "cut-head", "after": 40},
    "cut body": {"do": "cut-answer", "after": 1},
}
LIVE = {
    "tracks": {
        "production": [
            {
                "versionCodes": ["42"],
                "status": "inProgress",
                "userFraction": 0.05,
                "name": "4.2",
            },
            {"versionCodes": ["41"], "status": "completed", "name": "4.1"},
        ],
        "alpha": [{"versionCodes": ["42"], "status": "completed", "name": "4.2"}],
    },
    "testers": {"alpha": ["old@example.com"]},
    "details": {"defaultLanguage": "en-US", "contactEmail": "me@example.com"},
}
LISTING = {"target": "play", "package-name": PACKAGE, "images-directory": "listing"}
RELEASE = {
    **LISTING,
    "files": "app.aab",
    "mapping-file": "mapping.txt",
    "whats-new": "Faster.",
    "tracks": "production, alpha",
    "user-fraction": "0.2",
    "replace-rollout": "true",
    "testers": "new@example.com",
    "images-prune": "true",
    "changes-not-sent-for-review": "false",
}


def fault(kind: str, *, in_place: bool) -> dict[str, Any]:
    """The fault that answers so."""
    return (
        {"do": "status", "status": 200, **IN_PLACE[kind]}
        if in_place
        else dict(SPOILT[kind])
    )


@dataclass
class Stage:
    """An app with releases, texts and images, and a job that changes all of them; `reset` brings it
    back.
    """

    job: Job
    root: Path
    before: Any = None
    asked: Any = None
    requests: dict[str, int] = field(default_factory=dict)
    _apps: Any = None
    _runs: int = 0

    def prepare(self) -> None:
        """Makes what is live, and finds out what a run without faults asks and leaves."""
        self._write(
            {
                "title": "Title",
                "short_description": "Short",
                "full_description": "Long",
            },
            ("1", "2"),
        )
        assert self.run(LISTING, FakeTime()) == 0
        self._apps, self.before = (
            copy.deepcopy(self.job.emulator.play.apps),
            self.live(),
        )
        shutil.rmtree(self.job.workspace / "listing")
        self._write({"title": "Title 2"}, ("2", "3"))
        self._text("fr-FR", "title", "Titre")
        specimens.make_bundle(self.job.workspace / "app.aab", PACKAGE, 43, "4.3")
        (self.job.workspace / "mapping.txt").write_text("a.b.C -> a.a:\n")
        self.reset()
        counted = self.job.emulator.state()["requests"]
        assert self.run(RELEASE, FakeTime()) == 0
        self.asked = self.live()
        requests = self.job.emulator.state()["requests"]
        self.requests = {
            name: count - counted.get(name, 0) for name, count in requests.items()
        }
        assert self.asked != self.before

    def reset(self) -> None:
        """What was live at first, no open edit, no fault, and a job that remembers nothing."""
        play = self.job.emulator.play
        play.edits.clear()
        play.apps.clear()
        play.apps.update(copy.deepcopy(self._apps))
        self.job.emulator.faults.clear()
        self._runs += 1

    def live(self) -> Any:
        """Everything that is live, images by their digests."""
        app = copy.deepcopy(self.job.emulator.state()["apps"][PACKAGE])
        app["images"] = {
            place: [one["sha256"] for one in images]
            for place, images in app["images"].items()
        }
        return app

    def run(self, inputs: dict[str, str], time: FakeTime, **more: str) -> int:
        """One run of the job; the exit code."""
        state = {
            "state-dir": str(self.root / f"state-{self._runs}"),
            "job-summary": "false",
        }
        code, self.log = self.job.run_here({**inputs, **state, **more}, time)
        return code

    def survives(self, fault: dict[str, Any], **more: str) -> int:
        """A run with the fault, and where that ends with 75 one after it without: the exit code of
        the first.
        """
        self.reset()
        self.job.emulator.faults.add([fault])
        code = self.run(RELEASE, FakeTime(), **more)
        told = f"{fault}: exit {code}\n{self.log}"
        assert code in (0, 75), told
        assert self.live() == self.asked or (
            code == 75 and self.live() == self.before
        ), told
        self.job.emulator.faults.clear()
        if code == 75:
            assert self.run(RELEASE, FakeTime()) == 0, f"{told}\nThen:\n{self.log}"
            assert self.live() == self.asked, f"{told}\nThen:\n{self.log}"
        return code

    def _write(self, texts: dict[str, str], screenshots: tuple[str, ...]) -> None:
        for name, text in texts.items():
            self._text("en-US", name, text)
        folder = (
            self.job.workspace / "listing" / "en-US" / "images" / "phoneScreenshots"
        )
        folder.mkdir(parents=True)
        for name in screenshots:
            specimens.make_image(
                folder / f"{name}.png", 1080, 1920, color=(int(name), 0, 0)
            )

    def _text(self, language: str, name: str, text: str) -> None:
        path = self.job.workspace / "listing" / language / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One emulator for all the runs of this file."""
    root = tmp_path_factory.mktemp("stage")
    (root / "workspace").mkdir()
    with Emulator(config={"apps": {PACKAGE: LIVE}}) as emulator:
        stage = Stage(Job(root / "workspace", emulator), root)
        stage.prepare()
        yield stage


WHERE = pytest.mark.parametrize(
    "in_place", [True, False], ids=["in Google's place", "of Google's answer"]
)


@pytest.mark.slow
def test_any_odd_answer_is_asked_again(stage: Stage) -> None:
    """Every fourth request gets one, of the kinds in turn, in Google's place or made of Google's
    answer: few enough for `make test`.
    """
    answers = itertools.cycle(
        [(kind, in_place) for kind in IN_PLACE for in_place in (True, False)]
    )
    for number in range(1, stage.requests["any"] + 1, 4):
        kind, in_place = next(answers)
        assert (
            stage.survives(
                {"on": "any", "nth": number, **fault(kind, in_place=in_place)}
            )
            == 0
        )


@pytest.mark.slow
@WHERE
@pytest.mark.parametrize("kind", IN_PLACE)
def test_one_odd_answer_is_asked_again(stage: Stage, kind: str, in_place: bool) -> None:
    """To any request of the release, the login among them: the run goes on after a wait, and ends
    well.
    """
    for number in range(1, stage.requests["any"] + 1):
        assert (
            stage.survives(
                {"on": "any", "nth": number, **fault(kind, in_place=in_place)}
            )
            == 0
        )


@pytest.mark.slow
@WHERE
@pytest.mark.parametrize("kind", IN_PLACE)
def test_odd_answers_from_a_request_on_end_the_run(
    stage: Stage, kind: str, in_place: bool
) -> None:
    """Whatever is asked after it, nobody hears Google Play any more: 75, and the next run finishes.

    The commit, which comes last, is the exception: where Google's own refusals get through, they
    say that it happened.
    """
    last = stage.requests["any"]
    for number in range(1, last + 1):
        spoilt = {
            "on": "any",
            "nth": number,
            "times": 10_000,
            **fault(kind, in_place=in_place),
        }
        code = stage.survives(spoilt, **{"max-retries": "1"})
        assert code == 75 or number == last


@pytest.mark.slow
@WHERE
@pytest.mark.parametrize("kind", IN_PLACE)
def test_odd_answers_to_one_kind_of_request_change_nothing_else(
    stage: Stage, kind: str, in_place: bool
) -> None:
    """Every request of a kind is answered so, to the end, while all others go through."""
    for name in sorted(stage.requests):
        if stage.requests[name] and name.startswith(("play.", "resumable.", "oauth.")):
            stage.survives(
                {"on": name, "times": 10_000, **fault(kind, in_place=in_place)},
                **{"max-retries": "1"},
            )
