"""Release several apps in one run: none is committed before all are uploaded and validated.

The apps are worked on at the same time, each at its own pace. Before the first commit, a failure of
one app stops the others at their next request; once all have stopped, their edits are kept or
deleted. If none fails, the edits are committed one after the other, in the order of `package-name`.
After a failed commit the remaining edits stay open, and the next run continues in them. An app of
which Google Play has everything already needs no commit, whatever becomes of the others.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from uploader.errors import Interrupted, Problems, TemporaryError, UploaderError
from uploader.inputs.parsers import PACKAGE
from uploader.inputs.records import ReleaseInputs, StatusInputs
from uploader.results import FileResult
from uploader.retry import FIRST_POLL
from uploader.services.base import (
    Backoff,
    Call,
    Context,
    Download,
    Downloaded,
    Json,
    Outcome,
    Poll,
    Section,
    Upload,
)
from uploader.services.play import apps_table
from uploader.services.play.apps_table import AppState
from uploader.services.play.model import version_code_outputs
from uploader.tasks import rank

T = TypeVar("T")

ABOUT_ONE = (
    "is about one app, but `package-name` has several.",
    "a run of one app, or a run without this input",
)
_LINKS = 20  # of a summary
_JSON = ("status", "plan")  # outputs that become an object with a member for each app
_LISTS = ("universal-apk", "universal-apk-sha256")  # outputs joined with commas
_PERHAPS = "Perhaps committed"
_KEPT = "Not committed by this run, and its edit is kept"
_ALL_KEPT = "Not committed by this run, and their edits are kept"


def check_several(inputs: ReleaseInputs | StatusInputs, problems: Problems) -> None:
    """Add a problem for each input that can't be given for several apps."""
    if inputs.existing_edit_id:
        problems.add("existing-edit-id", *ABOUT_ONE)
    if inputs.universal_apk and PACKAGE not in inputs.universal_apk:
        what = "is one place for the APKs of several apps."
        problems.add("universal-apk", what, f"a path with `{PACKAGE}`")


class App:
    """One app of several: the context for its work, and its result.

    It keeps its own outputs, and puts its name before every line that it logs. Requests, uploads
    and waits are passed to the context of the run. Once the app is told to stop, the next of them
    raises the reason instead.
    """

    def __init__(
        self,
        package: str,
        run: SeveralApps,
        whole: Context,
    ) -> None:
        self.package = package
        self.outputs: dict[str, str] = {}
        self.outcome: Outcome | None = None
        self.failure: Exception | None = None
        self._run = run
        self._whole = whole
        self._stop_with: UploaderError | None = None
        # of the app's files, in the order in which they came
        self.paths: list[str] = []
        self._results: list[FileResult] = []
        self.remember = whole.remember
        self.recall = whole.recall
        self.forget_uploads = whole.forget_uploads
        self.replace_result = whole.replace_result
        self.now = whole.now
        self.sha256 = whole.sha256
        self.write = whole.write

    @property
    def codes(self) -> list[str]:
        """The version codes of its release, as far as they are known."""
        codes = self.outputs.get("version-codes", "")
        if not codes:
            return []
        return codes.split(",")

    @property
    def error(self) -> Exception | None:
        """The failure of its work, or else the trouble of its outcome."""
        if self.failure:
            return self.failure
        if self.outcome:
            return self.outcome.trouble
        return None

    def stop(self, why: UploaderError) -> None:
        """Make the next request, upload or wait of the app raise the reason."""
        if self._stop_with is None:
            self._stop_with = why

    def go_on(self) -> None:
        """Let the app make requests again, so that it can keep or delete its edit."""
        self._stop_with = None

    def has_stopped_with(self, error: Exception) -> bool:
        """Return whether an error is the reason for which the app was told to stop, perhaps with
        other advice.
        """
        if self._stop_with is None:
            return False
        return self._stop_with in (error, error.__cause__)

    def check(self) -> None:
        """Raise the reason once the app is to stop."""
        if self._stop_with is not None:
            raise self._stop_with

    # --- the network and the waits ----------------------------------------------------------------

    def call(self, call: Call) -> dict[str, Json]:
        """Make one JSON request, whose retries are logged under the app's name."""
        if not call.gives_up:
            self.check()
        named = replace(call, about=self.package)
        return self._whole.call(named)

    def expect(self, uploads: Sequence[Upload]) -> None:
        """Reserve places in the results for files."""
        self.paths += [upload.artifact.name for upload in uploads]
        self._whole.expect(uploads)

    def begin(self, upload: Upload) -> None:
        """Start the upload session of one file."""
        self.check()
        self._whole.begin(upload)

    def upload(self, upload: Upload) -> FileResult:
        """Upload one file."""
        self.check()
        self.paths.append(upload.artifact.name)
        result = self._whole.upload(upload)
        self._results.append(result)
        return result

    def upload_all(
        self, uploads: Sequence[Upload], max_in_flight: int | None = None
    ) -> tuple[FileResult, ...]:
        """Upload independent files, several at a time."""
        self.check()
        self.paths += [upload.artifact.name for upload in uploads]
        results = self._whole.upload_all(uploads, max_in_flight)
        self._results += results
        return results

    def download(self, download: Download) -> Downloaded:
        """Fetch one file."""
        self.check()
        return self._whole.download(download)

    def backoff(self) -> Backoff:
        """Begin a series of waits on the schedule of retries."""
        waits = self._whole.backoff()
        return _AppBackoff(self, waits)

    def poll(self, seconds: float, first: float = FIRST_POLL) -> Poll:
        """Begin a series of waits that ends after so many seconds."""
        waits = self._whole.poll(seconds, first)
        return _AppPoll(self, waits)

    def together(self, work: Sequence[Callable[[], T]]) -> list[T]:
        """Do several things of the app at the same time."""
        return self._whole.together(work)

    def check_running(self) -> None:
        """Raise the reason once the app, or the run, is to stop."""
        self.check()
        self._whole.check_running()

    # --- the log, the outputs, the results --------------------------------------------------------

    def info(self, text: str) -> None:
        """Log a sentence with the app's name in it."""
        self._whole.info(self._with_name(text))

    def warning(self, text: str) -> None:
        """Log a warning under the app's name."""
        self._whole.warning(f"{self.package}: {text}")

    def _with_name(self, text: str) -> str:
        """Return a sentence with the app's name before it, unless the name is in it."""
        if self.package in text:
            return text
        return f"{self.package}: {text}"

    def show(
        self,
        title: str,
        lines: Sequence[str],
        sections: tuple[Section, ...] = (),
    ) -> None:
        """Log what is about to change, and keep it beside that of the other apps."""
        self._run.show(self, title, lines, sections)

    def publish(self, outputs: Mapping[str, str], ids: tuple[str, ...] = ()) -> None:
        """Keep the app's outputs, and publish those of the run.

        The ids of a release are its version codes, which are among the outputs.
        """
        del ids
        self.outputs = {**self.outputs, **outputs}
        self._run.publish()

    def arrange(self, paths: Sequence[str]) -> None:
        """Put the app's files in this order, in which the run lists their results. Files that are
        not named come last.
        """
        positions = {path: number for number, path in enumerate(paths)}

        def position_of(path: str) -> int:
            return positions.get(path, len(positions))

        self.paths.sort(key=position_of)

    def add_reused(self, result: FileResult) -> None:
        """Add the result of a file that Google Play has already."""
        self.paths.append(result.path)
        self._results.append(result)
        self._whole.add_reused(result)

    def mark_discarded(
        self,
        why: str,
        files: frozenset[str] = frozenset(),
        outputs: tuple[str, ...] = (),
        among: Sequence[FileResult] | None = None,
    ) -> None:
        """Mark this app's uploads as discarded, and take back outputs."""
        remaining = dict(self.outputs)
        for name in outputs:
            remaining.pop(name, None)
        self.outputs = remaining
        if among is None:
            among = self._results
        self._whole.mark_discarded(why, files, (), among)


class _AppBackoff:
    """The waits of one app between retries; the reason of each names the app."""

    def __init__(self, app: App, waits: Backoff) -> None:
        self._app = app
        self._waits = waits

    def wait(self, why: str) -> None:
        self._app.check()
        reason = f"{why}, for {self._app.package}"
        self._waits.wait(reason)


class _AppPoll:
    """The waits of one app for something that takes long; the reason of each names the app."""

    def __init__(self, app: App, waits: Poll) -> None:
        self._app = app
        self._waits = waits

    @property
    def left(self) -> float:
        return self._waits.left

    def wait(self, why: str) -> bool:
        self._app.check()
        reason = f"{why}, for {self._app.package}"
        return self._waits.wait(reason)


class SeveralApps:
    """The apps of one run, in the order of `package-name`.

    `order` has the package of each of the `files`, in their order.
    """

    def __init__(
        self,
        packages: Iterable[str],
        order: Sequence[str],
        context: Context,
        *,
        commits: bool,
    ) -> None:
        self._planned: dict[str, tuple[Section, ...]] = {}
        self._order = order
        self._context = context
        self._commits = commits
        # guards what the apps show and publish at the same time
        self._lock = threading.RLock()
        self.apps = [App(package, self, context) for package in packages]

    @property
    def failed_app(self) -> App | None:
        """The app whose failure ends the run; None if no app has failed.

        A signal comes before a refusal, and that before a failure that passes by itself. Of equal
        failures, that of the first app counts.
        """
        failed = None
        for app in self.apps:
            if app.failure is None:
                continue
            if failed is None or rank(app.failure) < rank(failed.failure):
                failed = app
        return failed

    def do_together(
        self, work: Mapping[App, Callable[[], None]], *, stop: bool = False
    ) -> None:
        """Do the work of every app at the same time, and wait for all. Each app keeps its failure.

        With `stop` the first failure stops the others at their next request.
        """
        tasks = [
            partial(
                self._do,
                app,
                task,
                stop=stop,
            )
            for app, task in work.items()
        ]
        self._context.together(tasks)
        paths = []
        for app in self.apps:
            app.go_on()
            paths += app.paths
        self._context.arrange(paths)
        self.publish()

    def do_one_by_one(self, work: Mapping[App, Callable[[], None]]) -> None:
        """Do the work of one app after the other, until one fails."""
        for app, task in work.items():
            if self.failed_app:
                break
            self._do(app, task, stop=False)
        self.publish()

    def _do(
        self,
        app: App,
        task: Callable[[], None],
        *,
        stop: bool,
    ) -> None:
        """Do the work of one app, and note its failure."""
        try:
            task()
        except Exception as error:  # noqa: BLE001  # a defect must not leave the others unsettled
            if app.has_stopped_with(error):
                return
            app.failure = error
            if stop:
                for other in self.apps:
                    why = self._reason_to_stop(app, error)
                    other.stop(why)

    def _reason_to_stop(
        self,
        app: App,
        error: Exception,
        *,
        keep: bool = False,
    ) -> UploaderError:
        """Return the reason for which the others stop when an app has failed.

        A TemporaryError makes them keep their edits: it is returned with `keep`, or if the failure
        passes by itself.
        """
        why = "The program itself failed."
        if isinstance(error, UploaderError):
            why = error.what
        what = f"{app.package}: {why}"
        if keep or isinstance(error, (TemporaryError, Interrupted)):
            return TemporaryError(what)
        return UploaderError(what)

    def reason_of(self, app: App, *, keep: bool = False) -> Exception:
        """Return why an app that is not done has ended: its own failure, or that of another app.

        After a refusal of another app no edit is kept, so a failure that would pass by itself is
        not the reason then. `keep` says that the edits of the others are kept all the same.
        """
        failed = self.failed_app
        assert failed is not None, "an app has failed"
        assert failed.failure is not None, "an app has failed"
        own = app.failure
        if own is not None and rank(own) <= max(rank(failed.failure), 1):
            return own
        return self._reason_to_stop(failed, failed.failure, keep=keep)

    def show(
        self,
        app: App,
        title: str,
        lines: Sequence[str],
        sections: tuple[Section, ...],
    ) -> None:
        """Log what is about to change for an app, and keep it for the summary with the changes of
        the others.
        """
        with self._lock:
            named = _of(app.package, sections)
            self._planned[app.package] = tuple(named)
            planned: list[Section] = []
            for tables in self._planned.values():
                planned += tables
            self._context.show(title, lines, tuple(planned))

    def publish(self) -> None:
        """Publish the outputs of the run, as far as those of its apps are known. An output in which
        the apps differ is empty.
        """
        with self._lock:
            self._context.publish(*self._outputs())

    def _outputs(self) -> tuple[dict[str, str], tuple[str, ...]]:
        """Return the outputs of the run, and the ids of its artifacts."""
        codes = self._codes_in_order()
        outputs = version_code_outputs(codes)
        names = []
        if self._commits:
            names.append("committed")
        apps: dict[str, dict[str, Any]] = {}
        for app in self.apps:
            names += app.outputs
            apps[app.package] = self._as_json(app)
        for name in names:
            if name not in outputs and name != "edit-id":
                outputs[name] = self._output_of_all(name)
        outputs["apps"] = json.dumps(apps)
        return outputs, tuple(codes)

    def _codes_in_order(self) -> list[str]:
        """Return the version codes of all apps, in the order of the files. Those that are not of a
        file come last.
        """
        remaining = {app.package: app.codes for app in self.apps}
        codes = []
        for package in self._order:
            codes_of_app = remaining[package]
            if codes_of_app:
                codes.append(codes_of_app.pop(0))
        for others in remaining.values():
            codes += others
        return codes

    def _output_of_all(self, name: str) -> str:
        """Return one value for an output of several apps; empty if they differ."""
        published: dict[str, str] = {}
        values = []
        for app in self.apps:
            outputs = app.outputs  # the thread of the app may replace it
            value = outputs.get(name, "")
            values.append(value)
            if name in outputs:
                published[app.package] = value
        if name in _JSON:
            return _join_json(published)
        if name in _LISTS:
            known = filter(None, values)
            return ",".join(known)
        if name == "sent-for-review":  # of the apps that were committed
            return _all_or_none(published.values())
        if name == "committed":
            return _all_or_none(values)
        if name == "served":
            return _worst_served(values)
        if name == "served-file":  # one file has all apps
            first, *_ = published.values()
            return first
        if len(set(values)) > 1:
            return ""
        return values[0]

    def end(self, headline: str) -> Outcome:
        """Return the outcome of the run with its table of apps; the changes of each are folded.

        Raises the failure that ends the run.
        """
        self.publish()
        states = [self._state_of(app) for app in self.apps]
        table = apps_table.table(states, commits=self._commits)
        sections = (table, *self._folded_changes())
        failed = self.failed_app
        if failed or self._commits:
            self._context.show("Apps", table.lines(), sections)
        if failed:
            raise self._explain_failure(failed)
        return self._join_outcomes(headline, sections)

    def _join_outcomes(self, headline: str, sections: tuple[Section, ...]) -> Outcome:
        """Return one outcome for all apps, with their links, their remarks after the headline, and
        the trouble that counts most.
        """
        links: list[tuple[str, str]] = []
        troubles = []
        for app in self.apps:
            outcome = app.outcome
            if outcome is None:
                continue
            for name, link in outcome.links:
                label = f"{name} of {app.package}"
                links.append((label, link))
            if outcome.trouble:
                named = _prefix_package(app.package, outcome.trouble)
                troubles.append(named)
            if outcome.remarks:
                headline += f" {app.package}:{outcome.remarks}"
        trouble = min(troubles, key=rank, default=None)
        first_links = tuple(links[:_LINKS])
        return Outcome(headline, first_links, sections, trouble)

    def _folded_changes(self) -> list[Section]:
        """Return the tables of what each app has changed, or was about to change, folded."""
        folded = []
        for app in self.apps:
            sections: Iterable[Section] = self._planned.get(app.package, ())
            if app.outcome is not None:
                sections = _of(app.package, app.outcome.sections)
            folded += [replace(section, folded=True) for section in sections]
        return folded

    def _state_of(self, app: App) -> AppState:
        """Return how an app has ended, for the table of apps."""
        sections = self._planned.get(app.package, ())
        headline = ""
        remarks = ""
        outcome = app.outcome
        if outcome is not None:
            sections = outcome.sections
            headline = outcome.headline.removeprefix(f"{app.package} ")
            remarks = outcome.remarks
        return AppState(
            package=app.package,
            outputs=app.outputs,
            sections=sections,
            failure=app.error,
            headline=headline,
            remarks=remarks,
        )

    def _as_json(self, app: App) -> dict[str, Any]:
        """Return an app as the output `apps` has it."""
        failure = ""
        if app.error:
            # A defect of the program has no code of its own.
            failure = getattr(app.error, "code", UploaderError.code)
        entry: dict[str, Any] = {
            "committed": self._is_committed(app),
            "version-codes": app.codes,
            "edit-id": app.outputs.get("edit-id", ""),
        }
        if self._any_is_compared():
            entry["served"] = app.outputs.get("served", "")
        entry["failure"] = failure
        return entry

    def _any_is_compared(self) -> bool:
        """Return whether the APKs that Google Play serves were compared for any app."""
        return any("served" in app.outputs for app in self.apps)

    def _is_committed(self, app: App) -> bool | None:
        """Return whether an app is committed; None if it is not known, False in a run that does not
        commit.
        """
        committed = app.outputs.get("committed", "")
        if committed == "true":
            return self._commits
        if committed == "false":
            return False
        return None

    def _explain_failure(self, failed: App) -> Exception:
        """Return the failure that ends the run, with what became of every app."""
        error = failed.failure
        assert error, "the app has failed"
        if not isinstance(error, UploaderError):
            return error
        error = _prefix_package(failed.package, error)
        if not self._commits:
            return error
        packages_by_fate: dict[str, list[str]] = {}
        for app in self.apps:
            fate = _fate(app)
            packages = packages_by_fate.setdefault(fate, [])
            packages.append(app.package)
        sentences = []
        for fate, packages in packages_by_fate.items():
            words = fate
            if fate == _KEPT and len(packages) > 1:
                words = _ALL_KEPT
            names = ", ".join(packages)
            sentences.append(f"{words}: {names}.")
        if _PERHAPS in packages_by_fate:
            error = error.with_commit_in_doubt()
        return error.with_advice(also=" ".join(sentences))


def _join_json(published: Mapping[str, str]) -> str:
    """Return a JSON object with the value of each app, which is JSON, under its package name."""
    members = []
    for package, value in published.items():
        name = json.dumps(package)
        members.append(f"{name}: {value}")
    joined = ", ".join(members)
    return f"{{{joined}}}"


def _all_or_none(values: Iterable[str]) -> str:
    """Return `false` if any app has that value, else empty if any has none, else `true`."""
    for value in ("false", "", "true"):
        if value in values:
            return value
    raise AssertionError(values)


def _worst_served(values: Sequence[str]) -> str:
    """Return the worst result of all apps; empty if an app that was not compared may have a worse
    one.
    """
    for value in ("changed", "", "protected", "unverified", "same"):
        if value in values:
            return value
    raise AssertionError(values)


def _of(package: str, sections: Iterable[Section]) -> Iterator[Section]:
    """Yield the tables of an app with its name in their titles."""
    for section in sections:
        title = f"{section.title}: {package}"
        yield replace(section, title=title)


def _prefix_package(package: str, error: UploaderError) -> UploaderError:
    """Return the error with the app's name before it. A signal is about no app, and stays as it
    is.
    """
    if isinstance(error, Interrupted):
        return error
    what = f"{package}: {error.what}"
    return error.with_what(what)


def _fate(app: App) -> str:
    """Return what became of an app in a run that failed, as the error says it."""
    committed = app.outputs.get("committed", "false")
    if committed == "true":
        return "Committed"
    if committed == "":
        return _PERHAPS
    if app.outputs.get("edit-id"):
        return _KEPT
    return "Not committed by this run, and no edit is kept"
