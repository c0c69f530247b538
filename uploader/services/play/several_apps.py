"""Several apps in one run, all or none: no app is committed before all of them are uploaded and
validated.

The flows of the apps advance side by side: the steps that they wait for are carried out at the same
time, and no flow goes on before each of these has come to something. A release stops at a `Barrier`
with everything in its edit; from there the edits are committed one after the other, in the order of
`package-name`.

A failure before the first commit ends all flows: it is thrown into the others, and each settles
what becomes of its edit as after a failure of its own. From the first commit on the edits that are
left stay open, and the next run goes on in them. An app of which Google Play has everything already
is done without a commit, whatever becomes of the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from uploader.errors import Interrupted, Problems, TemporaryError, UploaderError
from uploader.inputs.parsers import PACKAGE
from uploader.inputs.table import StatusInputs
from uploader.results import FileResult
from uploader.services.base import (
    Barrier,
    Call,
    Context,
    Flow,
    Outcome,
    Parallel,
    Section,
    Sleep,
    Step,
    Steps,
)
from uploader.text import sentence

ABOUT_ONE = (
    "is about one app, but `package-name` has several.",
    "a run of one app, or a run without this input",
)
_LINKS = 20  # of a summary
_AN_EDIT = re.compile(r"/edits/[^/]+$")  # the end of the path of an edit itself
_JSON, _LISTS = ("status", "plan"), ("universal-apk", "universal-apk-sha256")
_ALL_OR_NONE = ("committed", "sent-for-review")


def check_several(inputs: StatusInputs, problems: Problems) -> None:
    """Adds what can't be said for several apps at once."""
    if inputs.existing_edit_id:
        problems.add("existing-edit-id", *ABOUT_ONE)
    if inputs.universal_apk and PACKAGE not in inputs.universal_apk:
        problems.add(
            "universal-apk",
            "is one place for the APKs of several apps.",
            f"a path with `{PACKAGE}`",
        )


class App:
    """One app of several: the context that its flow is given, how far the flow is, and what came of
    it.

    `step` is what the flow waits for, None once it has ended. Its outputs are its own, and every
    sentence that it logs begins with its name. `planned` are the tables of all apps.
    """

    def __init__(
        self, package: str, whole: Context, planned: dict[str, tuple[Section, ...]]
    ) -> None:
        self.package = package
        self.outputs: dict[str, str] = {}
        self.step: Step | None = None
        self.outcome: Outcome | None = None
        self.failure: Exception | None = None
        self._flow: Flow
        self._stopped_by: UploaderError | None = None
        self._results: list[FileResult] = []
        self._whole, self._planned = whole, planned
        self.remember, self.recall, self.forget_uploads = (
            whole.remember,
            whole.recall,
            whole.forget_uploads,
        )
        self.identified, self.now, self.sha256, self.write = (
            whole.identified,
            whole.now,
            whole.sha256,
            whole.write,
        )

    @property
    def codes(self) -> list[str]:
        """The version codes that its release is about, as far as they are known."""
        return list(filter(None, self.outputs.get("version-codes", "").split(",")))

    @property
    def error(self) -> Exception | None:
        """What ended its flow, or is wrong with its release."""
        return self.failure or (self.outcome.trouble if self.outcome else None)

    def begin(self, flow: Callable[[Context], Flow]) -> None:
        """Begins a flow and takes its first step."""
        self._flow = flow(self)
        self.advance(None)

    @property
    def deleting(self) -> bool:
        """Whether the flow waits for the deletion of its edit, which it gives up; that of an image
        is a step.
        """
        return (
            isinstance(self.step, Call)
            and self.step.method == "DELETE"
            and bool(_AN_EDIT.search(self.step.path))
        )

    def stop(self, why: UploaderError) -> None:
        """Ends the flow, if it has not ended, with a failure that is another app's; an edit is
        deleted first.
        """
        self._stopped_by = why
        if self.step is not None and not self.deleting:
            self.advance(why)

    def advance(self, response: Any) -> None:
        """Gives the flow what its step came to, an exception too, and takes its next step."""
        if self.step is not None and response is self.step:
            return  # it was not begun, because another one failed
        try:
            if isinstance(response, Exception):
                self.step = self._flow.throw(response)
            else:
                found = response if isinstance(response, tuple) else (response,)
                self._results += [one for one in found if isinstance(one, FileResult)]
                self.step = self._flow.send(response)
        except StopIteration as end:
            self.step, self.outcome = None, end.value
        except Exception as error:  # noqa: BLE001  # after a defect, too, the other flows clean up behind themselves
            self.step, self.failure = None, None if error is self._stopped_by else error

    def info(self, text: str) -> None:
        """Logs a sentence under the app's name."""
        self._whole.info(f"{self.package}: {text}")

    def warning(self, text: str) -> None:
        """Logs a warning under the app's name."""
        self._whole.warning(text if text.startswith(self.package) else f"{self.package}: {text}")

    def show(self, title: str, lines: Sequence[str], sections: tuple[Section, ...] = ()) -> None:
        """Logs what is about to change, and keeps it beside that of the other apps."""
        self._planned[self.package] = tuple(_of(self.package, sections))
        self._whole.show(title, lines, tuple(chain.from_iterable(self._planned.values())))

    def publish(self, outputs: Mapping[str, str], ids: tuple[str, ...] = ()) -> None:
        """Keeps the app's outputs; the ids of its release are its version codes."""
        del ids
        self.outputs.update(outputs)

    def reused(self, result: FileResult) -> None:
        """Adds the result of a file that Google Play has already."""
        self._results.append(result)
        self._whole.reused(result)

    def discarded(
        self,
        why: str,
        files: frozenset[str] = frozenset(),
        outputs: tuple[str, ...] = (),
        among: Sequence[FileResult] | None = None,
    ) -> None:
        """Takes back what was uploaded for this app."""
        self.outputs = {name: value for name, value in self.outputs.items() if name not in outputs}
        self._whole.discarded(why, files, (), self._results if among is None else among)


class SeveralApps:
    """The apps of one run, in the order of `package-name`; `order` has the app of each of the
    `files`.
    """

    def __init__(
        self, packages: Iterable[str], order: Sequence[str], context: Context, *, commits: bool
    ) -> None:
        self._planned: dict[str, tuple[Section, ...]] = {}
        self.apps = [App(package, context, self._planned) for package in packages]
        self._order, self._context, self._commits = order, context, commits

    @property
    def failed(self) -> App | None:
        """The app whose failure ends the run: a signal before a refusal, and that before what
        passes by itself.
        """
        failed = [app for app in self.apps if app.failure]
        return min(failed, key=lambda app: _rank(app.failure), default=None)

    @property
    def _refused(self) -> bool:
        """Whether an app failed for good, or deletes something because of that, as far as is
        known.
        """
        return any(app.deleting or (app.failure and _rank(app.failure) < 2) for app in self.apps)

    def advance(self, *, stop: bool = False, onward: bool = False) -> Steps[None]:
        """Carries all flows on until each has ended or, unless `onward`, waits at the barrier.

        `stop` ends all once one has failed.
        """
        while active := [
            app for app in self.apps if app.step and (onward or not isinstance(app.step, Barrier))
        ]:
            # An edit that is given up is deleted before anybody goes on: then it is known why. Who
            # waits for Google waits together, when nobody has anything else to do, and as long as
            # the one that began last.
            due = [app for app in active if app.deleting] or [
                app for app in active if not isinstance(app.step, Sleep)
            ]
            if due:
                responses = yield Parallel(tuple(app.step for app in due if app.step))
            else:
                pairs = ((app.package, app.step) for app in active if isinstance(app.step, Sleep))
                sleeps = [
                    replace(sleep, why=f"{sleep.why}, for {package}") for package, sleep in pairs
                ]
                due, responses = (
                    active,
                    (yield Parallel((min(sleeps, key=lambda one: one.number),))) * len(active),
                )
            answered = zip(due, responses, strict=True)
            for app, response in sorted(
                answered, key=lambda each: isinstance(each[1], TemporaryError)
            ):
                # Beside a refusal nothing is kept; whether a deletion is about one, the next round
                # shows.
                if not (
                    stop
                    and isinstance(response, TemporaryError)
                    and self._refused
                    and not app.deleting
                ):
                    app.advance(response)
            if stop and self.failed and not any(app.deleting for app in self.apps):
                self.stop(keep=False)
            self.publish()

    def commit(self) -> Steps[None]:
        """Commits the apps one after the other; once one has failed, what the others have is kept
        for the next run.
        """
        for app in self.apps:
            while app.step and not self.failed:
                app.advance(*(yield Parallel((app.step,))))
            self.publish()
        if self.failed:
            self.stop(keep=True)

    def stop(self, *, keep: bool) -> None:
        """Ends all flows with the failure of one; their edits are kept if they are to be, or after
        such a failure.
        """
        failed = self.failed
        assert failed, "there is a reason"
        error, passes = failed.failure, isinstance(failed.failure, (TemporaryError, Interrupted))
        kind = TemporaryError if keep or passes else UploaderError
        why = error.what if isinstance(error, UploaderError) else "The program itself failed."
        for app in self.apps:
            app.stop(kind(f"{failed.package}: {why}"))

    def publish(self) -> None:
        """The outputs of the run, as far as those of its apps are known; a value in which they
        differ is left out.
        """
        left = {app.package: app.codes for app in self.apps}
        codes = [left[package].pop(0) for package in self._order if left[package]]
        codes += chain.from_iterable(left.values())
        outputs = {
            "version-code": max(codes, key=int, default=""),
            "version-codes": ",".join(codes),
        }
        for name in dict.fromkeys(
            chain(["committed"] * self._commits, *(app.outputs for app in self.apps))
        ):
            values = [app.outputs.get(name, "") for app in self.apps]
            if name in _JSON:
                known = (
                    f"{json.dumps(app.package)}: {app.outputs[name]}"
                    for app in self.apps
                    if name in app.outputs
                )
                outputs[name] = f"{{{', '.join(known)}}}"
            elif name in _LISTS:
                outputs[name] = ",".join(filter(None, values))
            elif name in _ALL_OR_NONE:
                if name == "sent-for-review":  # it is about what was committed
                    values = [app.outputs[name] for app in self.apps if name in app.outputs]
                outputs[name] = next(value for value in ("false", "", "true") if value in values)
            elif name not in (*outputs, "edit-id"):
                outputs[name] = values[0] if len(set(values)) == 1 else ""
        outputs["apps"] = json.dumps({app.package: self._as_json(app) for app in self.apps})
        self._context.publish(outputs, tuple(codes))

    def end(self, headline: str) -> Outcome:
        """The outcome of the run with its table of apps, failures first. Raises the failure that
        ends it.
        """
        self.publish()
        apps = sorted(self.apps, key=lambda app: not app.error)
        rows = ((app.package, "+".join(app.codes), _state(app)) for app in apps)
        table = Section("Apps", ("App", "Versions", "State"), tuple(rows))
        ended = [(app.package, app.outcome) for app in self.apps if app.outcome]
        known = {
            **self._planned,
            **{package: tuple(_of(package, one.sections)) for package, one in ended},
        }
        sections = (table, *chain.from_iterable(known.values()))
        if self.failed or self._commits:
            self._context.show("Apps", table.lines(), sections)
        if failed := self.failed:
            raise self._explained(failed)
        troubles = [_named(package, one.trouble) for package, one in ended if one.trouble]
        links = tuple(
            (f"{name} of {package}", link) for package, one in ended for name, link in one.links
        )
        for package, outcome in ended:
            if outcome.remarks:
                headline += f" {package}:{outcome.remarks}"
        return Outcome(headline, links[:_LINKS], sections, min(troubles, key=_rank, default=None))

    def _as_json(self, app: App) -> dict[str, Any]:
        known = {"true": self._commits, "false": False}.get(app.outputs.get("committed", ""))
        # a defect has none
        failure = getattr(app.error, "code", UploaderError.code) if app.error else ""
        edit = app.outputs.get("edit-id", "")
        return {"committed": known, "version-codes": app.codes, "edit-id": edit, "failure": failure}

    def _explained(self, failed: App) -> Exception:
        """The failure that ends the run, with what became of every app."""
        error, fates = failed.failure, dict[str, list[str]]()
        assert error, "it failed"
        if isinstance(error, UploaderError):
            _named(failed.package, error)
            for app in self.apps if self._commits else ():
                fates.setdefault(_fate(app), []).append(app.package)
            told = (f"{fate}: {', '.join(packages)}." for fate, packages in fates.items())
            error.hint = " ".join(filter(None, (error.hint, *told)))
        return error


def _rank(failure: Exception | None) -> int:
    """Which of several failures ends the run: the lowest."""
    return {Interrupted: 0, TemporaryError: 2}.get(type(failure), 1)


def _of(package: str, sections: Iterable[Section]) -> Iterator[Section]:
    """The tables of an app under its name."""
    yield from (replace(one, title=f"{one.title}: {package}") for one in sections)


def _named(package: str, error: UploaderError) -> UploaderError:
    """The error, which says whose it is; a signal is nobody's."""
    if package not in error.what and not isinstance(error, Interrupted):
        error.what = f"{package}: {error.what}"
    return error


def _fate(app: App) -> str:
    """What became of an app in a run that failed, for the error."""
    not_yet = (
        f"Not committed by this run, and {'its' if app.outputs.get('edit-id') else 'no'} edit is "
        "kept"
    )
    return {"true": "Committed", "": "Perhaps committed"}.get(
        app.outputs.get("committed", "false"), not_yet
    )


def _state(app: App) -> str:
    """What became of an app, for the table."""
    if isinstance(app.failure, UploaderError) and "committed" in app.outputs:
        return f"{sentence(app.failure.what)} {_fate(app)}."
    if isinstance(app.error, UploaderError):
        return app.error.what
    return app.outcome.headline if app.outcome else _fate(app)
