"""The target `play-data-safety`: sends the data safety form, as the Play Console exports it,
outside any edit.

Source: developers.google.com/android-publisher/api-ref/rest/v3/applications/dataSafety. Google's
own check of the answers comes with the response; here only what no form of the console can be is
refused.
"""

from __future__ import annotations

import csv
import io
from functools import partial

from uploader.errors import InputError, Problem, Problems
from uploader.files.artifacts import Artifact, Artifacts
from uploader.inputs.records import CommonInputs
from uploader.services import batch
from uploader.services.base import Call, Context, Outcome, Prepared
from uploader.services.catalogue import expand
from uploader.services.play import client
from uploader.services.play.known_errors import explained_refusals
from uploader.text import plural

_PATH = "/androidpublisher/v3/applications/{package}/dataSafety"
_HEADER = (
    "Question ID (machine readable)",
    "Response ID (machine readable)",
    "Response value",
    "Answer requirement",
    "Human-friendly question label",
)
# bytes; the console's export of every question, all answered, has less than 200,000
_MAX_SIZE = 1024 * 1024
_SHOWN = 5  # problems of one file
_ACCEPTED = "the CSV file that the Play Console exports (App content > Data safety > Export to CSV)"


def prepare(inputs: CommonInputs, files: Artifacts, packages: tuple[str, ...]) -> Prepared:
    """Reads the form. Raises InputError with every problem."""
    problems = Problems()
    package = batch.one_app(packages, problems)
    batch.require(problems, package_name=package)
    batch.require_one(files, "the data safety form", problems)
    form = problems.collect(lambda: _read(files[0])) if len(files) == 1 else None
    problems.raise_if_any()
    text, answers = form or ("", 0)
    what = f"{files[0].name} ({plural(answers, 'answer')}) as the data safety form of {package}"
    flow = partial(_flow, package, text, answers, inputs.rehearsal)
    sends = batch.dry_run(f"Would send {what}.") if inputs.dry_run else flow
    return Prepared((f"Send {what}",), (client.SCOPE,), sends, apps={package: ()})


def _flow(package: str, text: str, answers: int, rehearsal: bool, context: Context) -> Outcome:
    """One request, which may be repeated: the form replaces the one before."""
    path, what = expand(_PATH, {"package": package}), "the data safety form"
    with explained_refusals():
        context.call(Call("POST", client.ROOT, path, json={"safetyLabels": text}, what=what))
    if not rehearsal:
        context.info(
            "Google Play has taken the data safety form. It goes live when Google has reviewed it."
        )
    return Outcome(f"The data safety form of {package} was sent, with {plural(answers, 'answer')}.")


def _read(file: Artifact) -> tuple[str, int]:
    """The text of the form and how many of its rows hold an answer. Raises InputError for what is
    no such form.
    """
    if file.size is None or file.size > _MAX_SIZE:
        size = (
            "is a stream"
            if file.size is None
            else f"has {file.size:,} bytes, more than any data safety form"
        )
        raise InputError(Problem("files", f"{file.name} {size}.", _ACCEPTED))
    with file.reader() as opened:
        data = opened.read(_MAX_SIZE + 1)
    try:
        text = data.decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        rows = [(reader.line_num, row) for row in reader if row]
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            Problem("files", f"line {line} of {file.name} is not UTF-8.", _ACCEPTED)
        ) from None
    except csv.Error as error:
        raise InputError(
            Problem("files", f"{file.name} is not a CSV file: {error}.", _ACCEPTED)
        ) from None
    if not rows or tuple(rows[0][1]) != _HEADER:
        what = f"{file.name} does not begin with the header row {','.join(_HEADER)}."
        raise InputError(Problem("files", what, _ACCEPTED))
    wrong = []
    for line, row in rows[1:]:
        if len(row) != len(_HEADER):
            wrong.append(
                f"line {line} of {file.name} has {plural(len(row), 'field')} instead of "
                f"{len(_HEADER)}."
            )
        elif not row[0].strip():
            wrong.append(f"line {line} of {file.name} has no question id.")
    answers = sum(bool(row[2].strip()) for _, row in rows[1:] if len(row) == len(_HEADER))
    if not (wrong or answers):
        wrong.append(f"{file.name} holds no answer.")
    if wrong:
        raise InputError(*(Problem("files", what, _ACCEPTED) for what in wrong[:_SHOWN]))
    return text, answers
