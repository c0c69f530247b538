"""The story of one run: plan, log in, carry it out, and report in one place how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from uploader.outputs import LogReporter
from uploader.results import FileResult, RunRecord, not_reached, outputs_of
from uploader.signals import run_in_thread

if TYPE_CHECKING:
    from uploader.cancellation import Cancellation
    from uploader.errors import Problem, UploaderError
    from uploader.inputs import Inputs
    from uploader.plan import Plan
    from uploader.services.base import Outcome, Section
    from uploader.transfer.engine import Engine

RESULTS = "uploader-results.json"
# Of the last line of a run that had no lasting effect.
_BEGINNINGS = {"rehearsal": "Rehearsal, nothing was published. ", "dry-run": "Dry run. "}
CONTAINER_WORKSPACE = Path("/github/workspace")  # where GitHub mounts it; on the host it has another path


class Run:
    """One run as it goes, so that its end can be reported whatever happens."""

    def __init__(self, inputs: Inputs, reporter: LogReporter, cancellation: Cancellation) -> None:
        self._inputs = inputs
        self._reporter = reporter
        self._cancellation = cancellation
        self._plan: Plan | None = None
        self._engine: Engine | None = None
        self._outcome: Outcome | None = None
        self._error: UploaderError | None = None

    def carry_out(self, problems: Sequence[Problem]) -> None:
        """Plans the run and carries it out, in a thread of its own. Raises the errors of `uploader.errors`."""
        run_in_thread(lambda: self._plan_and_carry_out(problems), self._cancellation)

    def _plan_and_carry_out(self, problems: Sequence[Problem]) -> None:
        self._cancellation.check()
        from uploader import plan as planning  # YAML, zip files and XML, which `--help` does not wait for

        plan = self._plan = planning.make(self._inputs, problems)
        with self._reporter.group(f"Plan: {self._inputs.target}"):
            for line in plan.lines():
                self._reporter.info(line)
        for warning in (*self._inputs.warnings, *plan.prepared.warnings):
            self._reporter.warning(warning)
        from uploader import authentication  # requests and google-auth, which a refusal does not wait for

        with ExitStack() as stack:
            parts = authentication.authenticate(plan, self._reporter, self._cancellation, stack)
            from uploader import engine_setup  # the engine, loaded while the token is on its way

            self._engine = engine_setup.engine(plan, parts, self._reporter)
            sends = plan.files or not self._inputs.target.startswith("play")
            with self._reporter.group("Upload" if sends else "Run"):
                self._outcome = self._engine.run(plan.prepared.flow)
        if self._outcome.trouble:
            raise self._outcome.trouble

    def failed(self, error: UploaderError) -> None:
        """The run ends with this error."""
        self._error = error

    def finish(self) -> int:
        """Writes results, outputs and summary, reports how the run ended, and returns the exit code.

        A run in a shell that never began leaves nothing behind; the next step of a CI job may count on the files.
        """
        results = self._results()
        outputs = self._outputs(results)
        if self._engine or self._inputs.platform.kind != "console":
            self._reporter.write_results(self._inputs.platform.workspace / RESULTS, results)
            self._reporter.write_outputs(outputs)
        if self._inputs.job_summary:
            self._reporter.write_summary(lambda: self._page(results, outputs))
        if self._error is None:
            self._reporter.info(f"{_BEGINNINGS.get(self._ending(), '')}{self._headline()}")
        else:
            self._reporter.error(self._error)
        if self._engine:
            self._engine.clear_journal(ok=self._error is None)
        return self._error.exit_code if self._error else 0

    def _results(self) -> list[FileResult]:
        """One record for each upload, and one for each file that the run did not come to."""
        known = list(self._engine.record.results) if self._engine else []
        if self._error is None or self._plan is None:
            return known
        reached = {result.path for result in known}
        missed = [file for file in self._plan.files if file.name not in reached]
        return known + [not_reached(file.name, file.size) for file in missed]

    def _outputs(self, results: Sequence[FileResult]) -> dict[str, str]:
        record = self._engine.record if self._engine else RunRecord()
        steps = self._planned_steps()
        outputs = {**({"plan": steps.as_json()} if steps else {}), **outputs_of(results, record)}
        if self._inputs.rehearsal and "committed" in outputs:
            outputs["committed"] = "false"  # whatever the emulator says
        ending = {
            "rehearsal": "true" if self._inputs.rehearsal else "false",
            "failure": self._error.code if self._error else "",
        }
        return {**outputs, **ending, "results-file": self._path_for_later_steps(RESULTS)}

    def _planned_steps(self) -> Plan | None:
        """The plan where its steps are a result: a release compares it with what is there, and says more."""
        releasing = self._inputs.target in ("play", "play-rollout")
        return self._plan if self._inputs.dry_run and not releasing else None

    def _path_for_later_steps(self, name: str) -> str:
        """Where they find a file: inside GitHub's container only the relative path is true for them too."""
        workspace = self._inputs.platform.workspace
        return name if workspace == CONTAINER_WORKSPACE else str(workspace / name)

    def _headline(self) -> str:
        headline = self._outcome.headline if self._outcome else "Nothing was done."
        return f"In the emulator: {headline}" if self._inputs.rehearsal else headline

    def _page(self, results: Sequence[FileResult], outputs: Mapping[str, str]) -> str:
        from uploader.outputs import summary  # only GitHub shows one

        report = summary.Report(
            headline=self._error.what if self._error else self._headline(),
            target=self._inputs.target,
            endpoint=self._inputs.api_endpoint,
            outcome=self._ending(),
            files=tuple(results),
            outputs=outputs,
            warnings=(*self._inputs.warnings, *(self._plan.prepared.warnings if self._plan else ())),
            error=self._error,
            tracks=() if self._error else self._inputs.tracks,
            links=self._outcome.links if self._outcome and not self._inputs.rehearsal else (),
            sections=self._sections(),
        )
        return summary.render(report, self._reporter.redactor)

    def _sections(self) -> tuple[Section, ...]:
        """The service's tables; those of a rehearsal say that they are about the emulator."""
        where = ", in the emulator" if self._inputs.rehearsal else ""
        found = self._outcome.sections if self._outcome else self._engine.planned if self._engine else ()
        steps = self._planned_steps()
        found = (steps.section(), *found) if steps else found
        return tuple(replace(section, title=f"{section.title}{where}") for section in found)

    def _ending(self) -> Literal["ok", "failed", "dry-run", "rehearsal"]:
        if self._inputs.rehearsal:
            return "rehearsal"
        if self._inputs.dry_run:
            return "dry-run"
        return "failed" if self._error else "ok"
