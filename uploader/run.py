"""One run as a story: plan, log in, carry it out, and report in one place how it ended."""

from __future__ import annotations

import json
import secrets
import stat
import traceback
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from uploader.cancellation import Cancellation, run_in_thread
from uploader.clock import Clock
from uploader.errors import OutputsNotWritten, Problem, UploaderError, missing_module
from uploader.inputs import Inputs
from uploader.inputs.records import AppDistributionInputs, ReleaseInputs, RolloutInputs, RunInputs
from uploader.outputs import LogReporter, summary
from uploader.outputs.pictures import committed_images
from uploader.outputs.report import Report
from uploader.plan import Plan, make_plan
from uploader.results import FileResult, RunRecord, not_reached, outputs_of
from uploader.services.base import Outcome, Section

if TYPE_CHECKING:
    from uploader.http.client import HttpClient
    from uploader.transfer.engine import Engine

RESULTS = "uploader-results.json"
MIN_SCREENSHOTS = 2  # in a language of the store listing (Play Console Help)
# where GitHub mounts it; on the host it has another path
CONTAINER_WORKSPACE = Path("/github/workspace")
# Of the last line of a run that had no lasting effect.
_BEGINNINGS = {"rehearsal": "Rehearsal, nothing was published. ", "dry-run": "Dry run. "}


class Run:
    """One run as it goes, so that its end can be reported; `engine` is None until the login is
    made.
    """

    def __init__(
        self,
        inputs: Inputs,
        reporter: LogReporter,
        cancellation: Cancellation,
        clock: Clock | None = None,
        client: HttpClient | None = None,
    ) -> None:
        self._inputs = inputs
        self._common = inputs.common
        self._reporter = reporter
        self._cancellation = cancellation
        self._clock = clock or Clock(cancellation.sleep)
        self._client = client
        self.engine: Engine | None = None
        self._began = self._clock.monotonic()
        self._plan: Plan | None = None
        self._outcome: Outcome | None = None
        self._error: UploaderError | None = None

    def to_its_end(self, problems: Sequence[Problem]) -> int:
        """Carries the run out in a thread of its own and reports its end, whatever it is: the exit
        code.
        """
        try:
            run_in_thread(lambda: self.carry_out(problems), self._cancellation)
        except UploaderError as error:
            self._error = error
        except ImportError as error:
            self._error = missing_module(error)
        except Exception as error:  # noqa: BLE001  # the last line of defence: a traceback never reaches a user
            # The message is left out: it may hold anything.
            self._error = UploaderError(
                f"The program itself failed ({type(error).__name__}).",
                cause="This is a bug in the uploader, not in your inputs.",
                hint="Run again with RUNNER_DEBUG=1 for the details, and report them.",
            )
            if self._inputs.platform.debug:  # where it is asked for, redacted
                self._reporter.info("".join(traceback.format_exception(error)))
        return self._report()

    def carry_out(self, problems: Sequence[Problem]) -> None:
        """Plans the run, with the `problems` that are known of its inputs, logs in and does what
        was planned.
        """
        self._cancellation.check()
        plan = self._plan = make_plan(self._inputs, problems)
        with self._reporter.group(f"Plan: {self._common.target}"):
            for line in plan.lines():
                self._reporter.info(line)
            platform = self._inputs.platform
            # GitLab has no page for a summary, which tells it elsewhere.
            if platform.kind == "gitlab" and platform.provenance.in_words:
                self._reporter.info(f"For {platform.provenance.in_words}")
        for warning in (*self._inputs.warnings, *plan.prepared.warnings):
            self._reporter.warning(warning)
        with ExitStack() as stack:
            inputs = self._rehearsed(plan, stack) if plan.inputs.common.rehearsal else plan.inputs
            # Only now: a wrong input is refused before what reaches the network is loaded.
            from uploader.connection import connect

            self.engine = connect(
                plan, inputs, self._reporter, self._cancellation, self._clock, self._client
            )
            self._outcome = self.engine.run(plan.prepared.flow)
        if self._outcome.trouble:
            raise self._outcome.trouble

    def _rehearsed(self, plan: Plan, stack: ExitStack) -> Inputs:
        """The inputs against the embedded emulator with its own key: a real credential is not used,
        even if given.
        """
        # A package of its own, and a part of Play: nothing else of the program needs them.
        from google_emulator import Emulator
        from uploader.services.play.rehearsal import live_app
        from uploader.services.play.tracks import only_in_the_emulator

        release = plan.inputs.record(ReleaseInputs)
        min_users = plan.inputs.record(RolloutInputs).gate_min_users
        config, begins_with = live_app(release, min_users, plan.prepared)
        # Whose groups they are is not known here: those that are asked for exist.
        groups = plan.inputs.record(AppDistributionInputs).tester_groups
        config = {**config, "firebase_groups": list(groups), "min_screenshots": MIN_SCREENSHOTS}
        emulator = stack.enter_context(
            Emulator(config=config, admin_token=secrets.token_urlsafe(32))
        )
        self._reporter.warning(
            "This is a rehearsal against the embedded emulator: nothing is published."
        )
        if not release.create_tracks:
            for warning in only_in_the_emulator(release.tracks):
                self._reporter.warning(warning)
        if begins_with:
            self._reporter.info(begins_with)
        return plan.inputs.changed(
            api_endpoint=emulator.url,
            credentials=json.dumps(emulator.key),
            workload_identity_provider="",
            service_account="",
        )

    def _report(self) -> int:
        """Writes results, outputs and summary, tells how the run ended, and returns the exit code.

        A run in a shell that never began leaves no results behind, nor an earlier run's; CI jobs
        may count on them.
        """
        inputs, reporter = self._inputs, self._reporter
        results, headline = (
            self._results(),
            self._outcome.headline if self._outcome else "Nothing was done.",
        )
        outputs = self._outputs(results)
        if self._common.rehearsal:
            headline = f"In the emulator: {headline}"
        last_line = f"{_BEGINNINGS.get(self._ending(), '')}{headline}"
        path = inputs.platform.workspace / RESULTS
        if self.engine or inputs.platform.kind != "console" or inputs.platform.dotenv_file:
            if not reporter.write_results(path, results):
                outputs["results-file"] = ""
            written = reporter.write_outputs(outputs)
            if not written and self._error is None:  # later steps decide by the outputs
                self._error = OutputsNotWritten(last_line)
        else:
            with suppress(OSError):
                if stat.S_ISREG(path.lstat().st_mode):
                    path.unlink()
        if inputs.record(RunInputs).job_summary:
            reporter.write_summary(lambda: self._page(headline, results, outputs))
        error = self._error
        if error:
            if self.engine:
                reporter.info(self._times())
            if self._common.rehearsal and self.engine:
                beginning = _BEGINNINGS["rehearsal"]
                error = error.with_what(f"{beginning}In the emulator: {error.what}")
            reporter.error(error)
        else:
            reporter.result(f"{last_line} {self._times()}")
        if self.engine:
            self.engine.clear_journal(
                ok=error is None, told=not isinstance(error, OutputsNotWritten)
            )
        return error.exit_code if error else 0

    def _times(self) -> str:
        """Return how long the run took, and how much of that it waited for answers."""
        seconds, answers = self._seconds()
        return f"Took {seconds:.1f} s, {answers:.1f} s of that waiting for answers."

    def _seconds(self) -> tuple[float, float]:
        """Return how many seconds the run took, and how many of them it waited for answers."""
        seconds = self._clock.monotonic() - self._began
        answers = self.engine.waited_for_answers if self.engine else 0.0
        return seconds, min(answers, seconds)

    def _results(self) -> list[FileResult]:
        """One record for each upload, and one for each file that the run did not come to."""
        known = list(self.engine.record.results) if self.engine else []
        if self._error is None or self._plan is None or not self._plan.prepared.sends_files:
            return known
        reached = {result.path for result in known}
        return known + [
            not_reached(file.name, file.size)
            for file in self._plan.files
            if file.name not in reached
        ]

    def _outputs(self, results: Sequence[FileResult]) -> dict[str, str]:
        steps = self._planned_steps()
        record = self.engine.record if self.engine else RunRecord()
        outputs = {**({"plan": steps.as_json()} if steps else {}), **outputs_of(results, record)}
        if self._common.rehearsal and "committed" in outputs:
            outputs["committed"] = "false"  # whatever the emulator says
        outputs["rehearsal"] = "true" if self._common.rehearsal else "false"
        outputs["failure"] = self._error.code if self._error else ""
        # Inside GitHub's container only the relative path is true for later steps, too.
        workspace = self._inputs.platform.workspace
        outputs["results-file"] = (
            RESULTS if workspace == CONTAINER_WORKSPACE else str(workspace / RESULTS)
        )
        return outputs

    def _planned_steps(self) -> Plan | None:
        """The plan where its steps are a result: a release compares it with what is there, and says
        more.
        """
        if self._common.dry_run and self._common.target not in ("play", "play-rollout"):
            return self._plan
        return None

    def _page(
        self, headline: str, results: Sequence[FileResult], outputs: Mapping[str, str]
    ) -> str:
        """The summary. The service's tables in that of a rehearsal say that they are about the
        emulator.
        """
        sections = (
            self._outcome.sections if self._outcome else self.engine.planned if self.engine else ()
        )
        if steps := self._planned_steps():
            sections = (
                Section("Plan", ("Step",), tuple((line,) for line in steps.lines())),
                *sections,
            )
        where = ", in the emulator" if self._common.rehearsal else ""
        platform = self._inputs.platform
        facts = [section.facts for section in sections if section.facts]
        seconds, waited = self._seconds()
        report = Report(
            headline=self._error.what if self._error else headline,
            target=self._common.target,
            endpoint=self._common.api_endpoint,
            outcome=self._ending(),
            files=tuple(results),
            outputs=outputs,
            warnings=(
                *self._inputs.warnings,
                *(self._plan.prepared.warnings if self._plan else ()),
            ),
            error=self._error,
            links=self._outcome.links if self._outcome and not self._common.rehearsal else (),
            sections=tuple(
                replace(section, title=f"{section.title}{where}") for section in sections
            ),
            heading=self._outcome.heading if self._outcome else None,
            fate=self._what_did_not_happen(outputs) if self._error else "",
            todo=self._outcome.todo if self._outcome else "",
            provenance=platform.provenance,
            seconds=seconds,
            waited=waited,
            pictures=committed_images(facts, platform.provenance.raw_url, platform.workspace),
        )
        return summary.render(report, self._reporter.redactor)

    def _what_did_not_happen(self, outputs: Mapping[str, str]) -> str:
        """Return what a failed run has not done, for the heading: `Not released`."""
        if self._common.target != "play":
            return ""
        done = "released" if self._inputs.record(ReleaseInputs).tracks else "published"
        apps = json.loads(outputs.get("apps") or "{}")
        live = [package for package, app in apps.items() if app["committed"]]
        if live and len(live) < len(apps):
            return f"{len(live)} of {len(apps)} apps {'is' if len(live) == 1 else 'are'} live"
        committed = outputs.get("committed", "false")
        if committed == "false":
            return f"Not {done}"
        return "" if committed == "true" else f"Perhaps {done}"

    def _ending(self) -> Literal["ok", "failed", "dry-run", "rehearsal"]:
        if self._common.rehearsal:
            return "rehearsal"
        if self._common.dry_run:
            return "dry-run"
        return "failed" if self._error else "ok"
