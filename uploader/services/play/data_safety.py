"""The target `play-data-safety`: send the data safety form, as the Play Console exports it, outside
any edit.

Source: developers.google.com/android-publisher/api-ref/rest/v3/applications/dataSafety. Google
checks the answers, and its response says what is wrong with them; the checks here refuse only files
that can't be an export of the console.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from functools import partial

from uploader.errors import InputError, Problem, Problems
from uploader.files.artifacts import Artifact, Artifacts
from uploader.inputs.records import CommonInputs
from uploader.services import batch
from uploader.services.base import Call, Context, Outcome, Prepared
from uploader.services.catalogue import expand
from uploader.services.play import (
    SCOPE,
    client,
)
from uploader.services.play.known_errors import explain_refusals
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


def prepare(
    inputs: CommonInputs, files: Artifacts, packages: tuple[str, ...]
) -> Prepared:
    """Read and check the form. Raises InputError with every problem."""
    problems = Problems()
    package = batch.one_app(packages, problems)
    batch.require(problems, package_name=package)
    batch.require_one(files, "the data safety form", problems)
    text = ""
    answers = 0
    if len(files) == 1:
        form = problems.collect(partial(_read, files[0]))
        if form:
            text, answers = form
    problems.raise_if_any()
    name = files[0].name
    count = plural(answers, "answer")
    what = f"{name} ({count}) as the data safety form of {package}"
    if inputs.dry_run:
        flow = batch.dry_run(f"Would send {what}.")
    else:
        flow = partial(_flow, package, text, answers, inputs.rehearsal)
    return Prepared((f"Send {what}",), (SCOPE,), flow, apps={package: ()})


def _flow(
    package: str,
    text: str,
    answers: int,
    rehearsal: bool,
    context: Context,
) -> Outcome:
    """Send the form in one request. It may be repeated, since a form replaces the one before it."""
    path = expand(_PATH, {"package": package})
    call = Call(
        "POST",
        client.ROOT,
        path,
        json={"safetyLabels": text},
        what="the data safety form",
    )
    with explain_refusals():
        context.call(call)
    if not rehearsal:
        context.info(
            "Google Play has accepted the data safety form. It goes live once Google has reviewed "
            "it."
        )
    return Outcome(
        f"The data safety form of {package} was sent, with {plural(answers, 'answer')}."
    )


def _read(file: Artifact) -> tuple[str, int]:
    """Return the text of the form and how many of its rows have an answer. Raises InputError for a
    file that is no data safety form.
    """
    if file.size is None:
        raise _wrong_form(f"{file.name} is a stream.")
    if file.size > _MAX_SIZE:
        raise _wrong_form(
            f"{file.name} has {file.size:,} bytes, more than any data safety form."
        )
    with file.reader() as opened:
        data = opened.read(_MAX_SIZE + 1)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _wrong_form(f"line {line} of {file.name} is not UTF-8.") from None
    try:
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise _wrong_form(f"{file.name} is not a CSV file: {error}.") from None
    header: list[str] = []
    if rows:
        _, header = rows[0]
    if tuple(header) != _HEADER:
        raise _wrong_form(
            f"{file.name} does not begin with the header row {','.join(_HEADER)}."
        )
    return text, _count_answers(file.name, rows[1:])


def _count_answers(name: str, rows: Iterable[tuple[int, list[str]]]) -> int:
    """Count the rows with an answer; each row comes with the number of its line. Raises InputError
    with the first mistakes in the file `name`.
    """
    wrong = []
    answers = 0
    for line, row in rows:
        if len(row) != len(_HEADER):
            wrong.append(
                f"line {line} of {name} has {plural(len(row), 'field')} instead of {len(_HEADER)}."
            )
            continue
        question, _, answer, *_ = row
        if not question.strip():
            wrong.append(f"line {line} of {name} has no question id.")
        if answer.strip():
            answers += 1
    if not wrong and not answers:
        wrong.append(f"{name} holds no answer.")
    if wrong:
        raise _wrong_form(*wrong[:_SHOWN])
    return answers


def _wrong_form(*mistakes: str) -> InputError:
    """Return the error for a file with these mistakes."""
    problems = [Problem("files", what, _ACCEPTED) for what in mistakes]
    return InputError(*problems)
