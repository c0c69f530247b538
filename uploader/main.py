"""The story of one run: read what was asked, plan, log in, carry it out, and tell in one place how it ended."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn

from uploader import __version__, inputs
from uploader.errors import UploaderError
from uploader.outputs import Voice, voice
from uploader.results import FileResult, counters
from uploader.transfer.beside import beside, heed, ignore
from uploader.transfer.stop import Stop

if TYPE_CHECKING:
    from uploader.errors import Problem
    from uploader.inputs import Inputs
    from uploader.plan import Plan
    from uploader.services.base import Outcome
    from uploader.transfer.driver import Driver

RESULTS = "uploader-results.json"
ALLOCATIONS = 50_000  # before the first look for garbage: modules stay, and to go through them costs 12 ms of the start
CONTAINER_WORKSPACE = Path("/github/workspace")  # where GitHub mounts it; on the host it has another path


def main() -> NoReturn:
    """Runs the program as the environment and the command line say, and ends the process with its exit code.

    At once, when temporary files are removed: to take the interpreter apart as well costs 40 ms for nothing.
    """
    gc.set_threshold(ALLOCATIONS)
    _open_streams()
    stop = Stop()
    heed(stop)
    code = run(os.environ, sys.argv[1:], stop)
    ignore()
    atexit._run_exitfuncs()  # noqa: SLF001  # what `os._exit` leaves out, and has no other name
    _flush()
    os._exit(code)


def run(environ: Mapping[str, str], argv: Sequence[str], stop: Stop | None = None) -> int:
    """One whole run, until its end or `stop`. No exception leaves it; RUNNER_DEBUG=1 shows where a fault of ours is."""
    asked, problems = inputs.read(environ, argv)
    if asked.show:
        with suppress(OSError):
            sys.stdout.write(f"uploader {__version__}\n" if asked.show == "version" else inputs.usage() + "\n")
        return 0
    speak = voice(asked.platform)
    for secret in asked.secrets:
        speak.mask(secret)
    told = Run(asked, speak, stop or Stop())
    try:
        told.begin(problems)
    except UploaderError as error:
        told.failed(error)
    except ModuleNotFoundError as error:
        told.failed(_missing(error))
    except Exception as error:  # noqa: BLE001  # the last border: a traceback never reaches a user
        told.failed(_fault(error))
        if asked.platform.debug:  # and where it was asked for it passes the redactor
            import traceback

            speak.info("".join(traceback.format_exception(error)))
    return told.finish()


def _open_streams() -> None:
    """Whoever closed a standard stream gets a run like any other; else a socket would take the stream's number.

    A closed input is no empty one: it can't be read. An output that a slow reader shares with us waits for the reader.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
            setattr(sys, name, os.fdopen(number, "w") if number else None)
        elif number:
            with suppress(OSError):
                os.set_blocking(number, True)


def _flush() -> None:
    """Says the last words; whoever read them may be gone, which is no reason for another exit code."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()


class Run:
    """One run as it goes, so that its end can be told whatever happens."""

    def __init__(self, asked: Inputs, speak: Voice, stop: Stop) -> None:
        self._asked = asked
        self._speak = speak
        self._stop = stop
        self._plan: Plan | None = None
        self._driver: Driver | None = None
        self._outcome: Outcome | None = None
        self._error: UploaderError | None = None

    def begin(self, problems: Sequence[Problem]) -> None:
        """Plans the run and carries it out, beside this thread. Raises the errors of `uploader.errors`."""

        def work() -> None:
            from uploader import plan  # the rooms behind it load what they need and no more

            self._carry_out(plan.make(self._asked, problems))

        beside(work, self._stop)

    def _carry_out(self, plan: Plan) -> None:
        """The plan, from the login to the last step of the flow."""
        self._plan = plan
        with self._speak.group(f"Plan: {self._asked.target}"):
            for line in plan.lines():
                self._speak.info(line)
        for warning in (*self._asked.warnings, *plan.prepared.warnings):
            self._speak.warning(warning)
        from uploader import acting  # requests and google-auth, which a refusal does not wait for

        with ExitStack() as stack:
            who = acting.begin(plan, self._speak, self._stop, stack)
            from uploader import running  # loaded while the token is on its way

            self._driver = running.prepare(plan, who, self._speak, self._stop, stack)
            with self._speak.group("Upload"):
                self._outcome = self._driver.run(plan.prepared.flow())

    def failed(self, error: UploaderError) -> None:
        """The run ends with this error."""
        self._error = error

    def finish(self) -> int:
        """Writes results, outputs and summary, says how it ended, and returns the exit code.

        A run in a shell that never began leaves nothing behind; the next step of a CI job may count on the files.
        """
        results = self._results()
        outputs = self._outputs(results)
        if self._driver or self._asked.platform.kind != "console":
            self._speak.write_results(self._asked.platform.workspace / RESULTS, results)
            self._speak.write_outputs(outputs)
        if self._asked.job_summary:
            self._speak.write_summary(lambda: self._page(results, outputs))
        if self._error is None:
            self._speak.info(self._headline())
        else:
            self._speak.error(self._error)
        if self._driver:
            self._driver.settle(ok=self._error is None)
        return self._code()

    def _code(self) -> int:
        return self._error.exit_code if self._error else 0

    def _results(self) -> list[FileResult]:
        """One record for each upload, and one for each file that the run did not come to."""
        known = list(self._driver.record.results) if self._driver else []
        if self._error is None or self._plan is None:
            return known
        reached = {result.path for result in known}
        missed = [file for file in self._plan.files if file.name not in reached]
        return known + [FileResult(file.name, file.size or 0, error="Not reached.") for file in missed]

    def _outputs(self, results: Sequence[FileResult]) -> dict[str, str]:
        outputs = dict(self._driver.record.outputs) if self._driver else {}
        ids = ",".join(result.id for result in results if result.id)
        defaults = {"id": results[0].id, "ids": ids} if ids else {}
        return {**defaults, **outputs, **counters(results), "results-file": self._results_file()}

    def _results_file(self) -> str:
        """Where later steps find the file: inside GitHub's container only the relative path is true for them too."""
        workspace = self._asked.platform.workspace
        return RESULTS if workspace == CONTAINER_WORKSPACE else str(workspace / RESULTS)

    def _headline(self) -> str:
        return self._outcome.headline if self._outcome else "Nothing was done."

    def _page(self, results: Sequence[FileResult], outputs: Mapping[str, str]) -> str:
        from uploader.outputs import summary

        report = summary.Report(
            headline=self._error.what if self._error else self._headline(),
            target=self._asked.target,
            outcome=self._ending(),
            files=tuple(results),
            outputs=outputs,
            warnings=(*self._asked.warnings, *(self._plan.prepared.warnings if self._plan else ())),
            error=self._error,
            tracks=self._asked.tracks,
            links=self._outcome.links if self._outcome else (),
            sections=self._outcome.sections if self._outcome else (),
        )
        return summary.render(report, self._speak.redactor)

    def _ending(self) -> Literal["ok", "failed", "dry-run", "rehearsal"]:
        if self._plan and self._plan.rehearsal:
            return "rehearsal"
        if self._asked.dry_run:
            return "dry-run"
        return "failed" if self._error else "ok"


def _missing(error: ModuleNotFoundError) -> UploaderError:
    """A checkout that is run without its dependencies."""
    return UploaderError(
        f"The Python module {error.name} is missing.",
        cause="The program was started with a Python that does not have its dependencies.",
        cure="Install them with `pip install .` in the checkout, best in a virtual environment, or use the image.",
    )


def _fault(error: Exception) -> UploaderError:
    """A fault of this program, told without a traceback and without the message, which may hold anything."""
    return UploaderError(
        f"The program itself failed ({type(error).__name__}).",
        cause="This is a fault in the uploader, not in your inputs.",
        cure="Run again with RUNNER_DEBUG=1 for the details, and report them.",
    )
