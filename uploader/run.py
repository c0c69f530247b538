"""One run: plan it, log in, carry it out, and report how it ended."""

from __future__ import annotations

import json
import secrets
import stat
import traceback
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from uploader.cancellation import Cancellation, run_in_thread
from uploader.clock import Clock
from uploader.errors import (
    Interrupted,
    OutputsNotWritten,
    Problem,
    UploaderError,
    missing_module,
)
from uploader.files.destination import Destination
from uploader.files.workspace import Workspace
from uploader.inputs import Inputs
from uploader.inputs.records import (
    AppDistributionInputs,
    LoginInputs,
    ReleaseInputs,
    RolloutInputs,
    RunInputs,
)
from uploader.outputs import LogReporter
from uploader.plan import Plan, make_plan
from uploader.results import FileResult, RunRecord, not_reached, outputs_of
from uploader.services.base import Outcome, Section

if TYPE_CHECKING:
    from uploader.http.client import HttpClient
    from uploader.transfer.engine import Engine

RESULTS = "uploader-results.json"
SERVED = "uploader-served.json"
MIN_SCREENSHOTS = 2  # in a language of the store listing (Play Console Help)
# where GitHub mounts it; on the host it has another path
CONTAINER_WORKSPACE = Path("/github/workspace")
# targets whose dry run compares the plan with what is there, which says more than the steps alone
COMPARING = ("play", "play-rollout")


class Run:
    """One run: its inputs, how far it is, and how it ended.

    `engine` is None until the run has logged in.
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
        """Carry the run out in a thread of its own, report how it ended, and return the exit code.

        `problems` are the mistakes already found in its inputs.
        """
        try:
            run_in_thread(lambda: self.carry_out(problems), self._cancellation)
        except UploaderError as error:
            self._error = error
        except ImportError as error:
            self._error = missing_module(error)
        except Exception as error:  # noqa: BLE001  # the last line of defence
            # The message is left out: it may hold anything.
            self._error = UploaderError(
                f"The program itself failed ({type(error).__name__}).",
                cause="This is a bug in the uploader, not in your inputs.",
                hint="Run again with RUNNER_DEBUG=1 for the details, and report them.",
            )
            # The reporter redacts it.
            if self._inputs.platform.debug:
                self._reporter.info("".join(traceback.format_exception(error)))
        return self._report()

    def carry_out(self, problems: Sequence[Problem]) -> None:
        """Plan the run, log in, and do what was planned.

        Raises the error that ends the run; `problems` are the mistakes already found in its inputs.
        """
        self._remove_earlier_statement()
        self._cancellation.check()
        plan = make_plan(self._inputs, problems)
        self._plan = plan
        with self._reporter.group(f"Plan: {self._common.target}"):
            for line in plan.lines():
                self._reporter.info(line)
            platform = self._inputs.platform
            # Elsewhere the job summary says this, but GitLab has no page for one.
            if platform.kind == "gitlab" and platform.provenance.in_words:
                self._reporter.info(f"For {platform.provenance.in_words}")
        for warning in (*self._inputs.warnings, *plan.prepared.warnings):
            self._reporter.warning(warning)
        with ExitStack() as stack:
            inputs = plan.inputs
            if inputs.common.rehearsal:
                inputs = self._start_emulator(plan, stack)
            # Imported only now: a wrong input is refused before the network modules are loaded.
            from uploader.connection import connect

            self.engine = connect(
                plan,
                inputs,
                self._reporter,
                self._cancellation,
                self._clock,
                self._client,
            )
            self._outcome = self.engine.run(plan.prepared.flow)
        if self._outcome.trouble:
            raise self._outcome.trouble

    def _remove_earlier_statement(self) -> None:
        """Remove the statement of an earlier run if this run is to write one. If it fails before
        that, nobody takes the old one for its own.
        """
        if self._is_compared:
            Destination(Workspace.of(self._inputs), "files", SERVED).remove()

    @property
    def _is_compared(self) -> bool:
        """Whether the run compares what Google Play serves with what was built."""
        if self._common.target == "play":
            return self._inputs.record(ReleaseInputs).verify
        return self._common.target == "play-verify"

    def _start_emulator(self, plan: Plan, stack: ExitStack) -> Inputs:
        """Start the embedded emulator, and return the inputs for a run against it.

        They have the emulator's own key: a real credential is not used, even if given.
        """
        # Imported only now: nothing but a rehearsal needs them.
        from google_emulator import Emulator
        from uploader.services.play.rehearsal import live_app
        from uploader.services.play.track_names import only_in_the_emulator

        release = plan.inputs.record(ReleaseInputs)
        min_users = plan.inputs.record(RolloutInputs).gate_min_users
        config, begins_with = live_app(release, min_users, plan.prepared)
        # The emulator has every group of testers that the input names: which ones the real project
        # has is not known here.
        groups = plan.inputs.record(AppDistributionInputs).tester_groups
        config = {
            **config,
            "firebase_groups": list(groups),
            "min_screenshots": MIN_SCREENSHOTS,
        }
        emulator = stack.enter_context(
            Emulator(config=config, admin_token=secrets.token_urlsafe(32))
        )
        self._reporter.warning(
            "This is a rehearsal against the embedded emulator: nothing is published."
        )
        if plan.inputs.record(LoginInputs).is_given:
            self._reporter.info(
                "The given login is not tried: only its form was checked, and the emulator has a "
                "key of its own."
            )
        if not release.create_tracks:
            for warning in only_in_the_emulator(release.tracks):
                self._reporter.warning(warning)
        if begins_with:
            self._reporter.info(begins_with)
        return plan.inputs.with_values(
            api_endpoint=emulator.url,
            credentials=json.dumps(emulator.key),
            workload_identity_provider="",
            service_account="",
        )

    def _report(self) -> int:
        """Write results, outputs and summary, log how the run ended, and return the exit code."""
        reporter = self._reporter
        results = self._results()
        headline = "Nothing was done."
        if self._outcome:
            headline = self._outcome.headline
        outputs = self._outputs(results)
        if self._common.rehearsal:
            headline = f"In the emulator: {headline}"
        last_line = self._beginning() + headline
        self._write_files(results, outputs, last_line)
        if self._inputs.record(RunInputs).job_summary:
            reporter.write_summary(lambda: self._page(headline, results, outputs))
        if self._error:
            self._log_failure(self._error)
        else:
            reporter.result(f"{last_line}{self._times()}", is_done=self._is_done())
        if self.engine:
            self.engine.clear_journal(
                ok=self._error is None,
                reported=not isinstance(self._error, OutputsNotWritten),
            )
        if self._error:
            return self._error.exit_code
        return 0

    def _log_failure(self, error: UploaderError) -> None:
        """Log how the run failed, and how long it took if it got as far as logging in."""
        if self.engine:
            times = self._times()
            if times:
                self._reporter.info(times.strip())
            if self._common.rehearsal:
                error = error.with_what(
                    f"{self._beginning()}In the emulator: {error.what}"
                )
        self._reporter.error(error)

    def _is_done(self) -> bool:
        """Return whether nothing is held back, and nothing is left for a person to do."""
        if self._outcome is None or self._outcome.heading is None:
            return True
        return self._outcome.heading.mark == "done"

    def _beginning(self) -> str:
        """Return how the last line of a run without a lasting effect begins; empty for any other
        run.
        """
        if self._common.rehearsal:
            return "Rehearsal, nothing was published. "
        if self._common.dry_run and self._common.target in COMPARING:
            return "Dry run, nothing was published. "
        if self._common.dry_run:
            return "Dry run. "
        return ""

    def _write_files(
        self,
        results: Sequence[FileResult],
        outputs: dict[str, str],
        last_line: str,
    ) -> None:
        """Write the results file and the outputs.

        A run in a shell that did not get as far as logging in deletes the results of an earlier
        run, and writes none. In CI they are always written, since later steps may count on them.
        """
        platform = self._inputs.platform
        path = platform.workspace / RESULTS
        if not self.engine and platform.kind == "console" and not platform.dotenv_file:
            with suppress(OSError):
                if stat.S_ISREG(path.lstat().st_mode):
                    path.unlink()
            return
        if not self._reporter.write_results(path, results):
            outputs["results-file"] = ""
        written = self._reporter.write_outputs(outputs)
        if not written and self._error is None:
            # Later steps decide by the outputs, so the run must not end well without them.
            self._error = OutputsNotWritten(last_line)

    def _times(self) -> str:
        """Return a sentence to append to the last line: how long the run took, and how much of that
        it waited for answers.

        It is empty for a rehearsal: most of its time goes into the start of the emulator and the
        making of its key, and no answer is Google's.
        """
        if self._common.rehearsal:
            return ""
        seconds, answers = self._seconds()
        return f" Took {seconds:.1f} s, {answers:.1f} s of that waiting for answers."

    def _seconds(self) -> tuple[float, float]:
        """Return how many seconds the run took, and how many of them it waited for answers."""
        seconds = self._clock.monotonic() - self._began
        if self.engine is None:
            return seconds, 0.0
        return seconds, min(self.engine.waited_for_answers, seconds)

    def _results(self) -> list[FileResult]:
        """Return a result for each upload, and for each file that the run did not reach."""
        results: list[FileResult] = []
        if self.engine:
            results += self.engine.record.results
        if (
            self._error is None
            or self._plan is None
            or not self._plan.prepared.sends_files
        ):
            return results
        reached = {result.path for result in results}
        for file in self._plan.files:
            if file.name not in reached:
                results.append(not_reached(file.name, file.size))
        return results

    def _outputs(self, results: Sequence[FileResult]) -> dict[str, str]:
        """Return the outputs of the run."""
        outputs = {}
        steps = self._planned_steps()
        if steps:
            outputs["plan"] = steps.as_json()
        record = RunRecord()
        if self.engine:
            record = self.engine.record
        outputs.update(outputs_of(results, record))
        outputs["rehearsal"] = "false"
        if self._common.rehearsal:
            outputs["rehearsal"] = "true"
            if "committed" in outputs:
                # Nothing was committed to Google Play, whatever the emulator says.
                outputs["committed"] = "false"
        outputs["failure"] = ""
        if self._error:
            outputs["failure"] = self._error.code
        workspace = self._inputs.platform.workspace
        outputs["results-file"] = str(workspace / RESULTS)
        if workspace == CONTAINER_WORKSPACE:
            # In GitHub's container only the relative path is right for later steps as well.
            outputs["results-file"] = RESULTS
        return outputs

    def _planned_steps(self) -> Plan | None:
        """Return the plan of a dry run whose steps are its result; None for any other run."""
        if self._common.dry_run and self._common.target not in COMPARING:
            return self._plan
        return None

    def _page(
        self,
        headline: str,
        results: Sequence[FileResult],
        outputs: Mapping[str, str],
    ) -> str:
        """Return the job summary."""
        # Imported only now: a run in a shell writes none.
        from uploader.outputs import summary
        from uploader.outputs.pictures import committed_images
        from uploader.outputs.report import Report

        outcome = self._outcome or Outcome("", sections=self._planned_sections())
        error = self._error
        warnings = self._inputs.warnings
        if self._plan:
            warnings = (*warnings, *self._plan.prepared.warnings)
        platform = self._inputs.platform
        sections = self._sections(outcome)
        facts = [section.facts for section in sections if section.facts]
        seconds = 0.0
        waited = 0.0
        if self.engine:
            seconds, waited = self._seconds()
        links = outcome.links
        if self._common.rehearsal:
            links = ()
        fate = ""
        if error:
            headline = error.what
            in_review = sum(1 for fact in facts if fact.in_review)
            fate = self._what_did_not_happen(outputs, in_review)
        title = ""
        for fact in facts:
            title = fact.title
        report = Report(
            headline=headline,
            target=self._common.target,
            endpoint=self._common.api_endpoint,
            apps=self._apps(),
            app_title=title,
            outcome=self._ending(),
            files=tuple(results),
            outputs=outputs,
            warnings=warnings,
            error=error,
            links=links,
            sections=sections,
            heading=outcome.heading,
            fate=fate,
            todo=outcome.todo,
            provenance=platform.provenance,
            seconds=seconds,
            waited=waited,
            pictures=committed_images(
                facts,
                platform.provenance.raw_url,
                platform.provenance.commit,
                platform.workspace,
            ),
        )
        return summary.render(report, self._reporter.redactor)

    def _apps(self) -> tuple[str, ...]:
        """Return the packages of the apps that the run is about, as far as it knows them."""
        if self._plan and self._plan.prepared.apps:
            return tuple(self._plan.prepared.apps)
        return tuple(self._inputs.values.get("package_name", ()))

    def _planned_sections(self) -> tuple[Section, ...]:
        """Return the tables of what a run without an outcome was about to change."""
        if self.engine is None:
            return ()
        return self.engine.planned

    def _sections(self, outcome: Outcome) -> tuple[Section, ...]:
        """Return the tables of the summary; those of a rehearsal say that they are about the
        emulator.
        """
        sections = list(outcome.sections)
        steps = self._planned_steps()
        if steps:
            lines = tuple((line,) for line in steps.lines())
            sections.insert(0, Section("Plan", ("Step",), lines))
        if self._common.rehearsal:
            sections = [
                replace(section, title=f"{section.title}, in the emulator")
                for section in sections
            ]
        return tuple(sections)

    def _what_did_not_happen(self, outputs: Mapping[str, str], in_review: int) -> str:
        """Return what a failed run has not done, for the heading: `Not released`. Empty if the
        heading should say nothing of that.

        `in_review` is the number of apps whose releases are in review.
        """
        if (
            self._common.target == "play-verify"
            and self.engine
            and not outputs.get("served")
        ):
            return "Not compared"
        if self._common.target != "play":
            return ""
        apps = json.loads(outputs.get("apps") or "{}")
        partly = self._what_became_of_several(apps, in_review, outputs)
        if partly:
            return partly
        committed = outputs.get("committed", "false")
        if committed == "true" and self._is_compared and not outputs.get("served"):
            return "Committed, but not compared"
        if committed == "true":
            return ""
        done = "published"
        if self._inputs.record(ReleaseInputs).tracks:
            done = "released"
        in_doubt = committed == ""
        if apps:
            # An app that the run did not get to has no value, but is not in doubt.
            in_doubt = self._error is not None and self._error.commit_in_doubt
        if in_doubt:
            return f"Perhaps {done}"
        failed = self._failed_apps(apps)
        if failed:
            return f"Not {done}: {' and '.join(failed)}"
        return f"Not {done}"

    def _what_became_of_several(
        self,
        apps: Mapping[str, Any],
        in_review: int,
        outputs: Mapping[str, str],
    ) -> str:
        """Return how many of several apps are live or sent for review, and which ones failed; empty
        if none or all of them are committed. `apps` is the value of the output of that name.
        """
        committed = sum(1 for app in apps.values() if app["committed"])
        if committed in (0, len(apps)):
            return ""
        of_all = f"of {len(apps)} apps"
        is_sent = outputs.get("sent-for-review") != "false"
        if not is_sent or self._inputs.record(ReleaseInputs).wait_for:
            # What became of a review is not known: a person has to send the changes, or the wait
            # for it failed.
            words = f"{committed} {of_all} {_are(committed)} committed"
        elif not in_review:
            words = f"{committed} {of_all} {_are(committed)} live"
        else:
            words = f"{in_review} {of_all} {_are(in_review)} sent for review"
            live = committed - in_review
            if live:
                words += f", {live} {_are(live)} live"
        failed = self._failed_apps(apps)
        if failed:
            words += f", {' and '.join(failed)} failed"
        return words

    def _failed_apps(self, apps: Mapping[str, Any]) -> list[str]:
        """Return the packages of the apps that failed; none after a signal, which is no app's
        failure.
        """
        if isinstance(self._error, Interrupted):
            return []
        failed = []
        for package, app in apps.items():
            if app["failure"] and not app["committed"]:
                failed.append(package)
        return failed

    def _ending(self) -> Literal["ok", "failed", "dry-run", "rehearsal"]:
        if self._common.rehearsal:
            return "rehearsal"
        if self._common.dry_run:
            return "dry-run"
        if self._error:
            return "failed"
        return "ok"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
