"""`uploader migrate FILE`: reads the file, prints the result; 2 and a sentence where there is nothing to print."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from uploader.errors import InputError, Problem
from uploader.inputs.invalid_value import quoted
from uploader.migration import command_lines, fastfile, gradle_file, workflow_file
from uploader.migration.conversion import EXPRESSION, Conversion, remark, shown
from uploader.migration.defaults import complete
from uploader.migration.found_upload import VARIABLE, FoundUpload, Given, Leftover
from uploader.migration.special_settings import convert
from uploader.migration.step import written

USAGE = """\
usage: uploader migrate FILE

Reads a GitHub workflow, .gitlab-ci.yml, a Fastfile, build.gradle, build.gradle.kts or a shell script, and prints the
step or the job that does the same with this program, with everything that could not be taken over, line by line. It
knows the actions r0adkll/upload-google-play with its forks, KevinRohn/github-action-upload-play-store and
google-github-actions/upload-cloud-storage, fastlane's upload_to_play_store (supply), Gradle Play Publisher, and
`google-play bundles publish`. Nothing is carried out, sent or written, and no key is copied. Run it in the
repository's root, since paths are seen from there.
"""
LOOKED_FOR = (
    "Looked for: steps that use upload-google-play, its forks or upload-cloud-storage; upload_to_play_store and supply "
    "in lanes and commands; a `play` block or its tasks; `google-play bundles publish`."
)
OUTPUT = "internalSharingDownloadUrl"
LARGEST = 1 << 18  # bytes
MOST = 100  # uploads of one file


def migrate(argv: Sequence[str]) -> int:
    """Prints the step for a file: the exit code, 2 with a sentence on the standard error where there is none."""
    if argv[:1] in (["--help"], ["-h"]):
        return _print(USAGE, 0)
    if len(argv) != 1 or argv[0].startswith("-"):
        return _print(f"migrate takes the path of one file.\n{USAGE}", 2)
    try:
        return _print(migrated(_content(Path(argv[0])), _place(Path(argv[0])), _exists), 0)
    except InputError as error:
        return _print("".join(f"{remark(str(problem))}\n" for problem in error.problems), 2)
    except Exception as error:  # noqa: BLE001  # the last line of defence: a traceback never reaches a user
        return _print(f"The program itself failed ({type(error).__name__}). Please report it with the file.\n", 1)


def migrated(text: str, path: str, exists: Callable[[str], bool]) -> str:
    """The result for a file's text; `path` is seen from the repository's root, and `exists` looks there.

    Raises `InputError` where no upload is known, or the file can't be read.
    """
    gitlab, uploads = _uploads(text.removeprefix("\ufeff").replace("\r\n", "\n"), path)
    if not path.endswith((".yml", ".yaml")):
        uploads = tuple(map(_literal, uploads))
        gitlab = exists(".gitlab-ci.yml") and not exists(".github")
    conversions = [Conversion(upload, exists) for upload in islice((each for each in uploads if each.title), MOST)]
    others = [left for upload in uploads if not upload.title for left in upload.leftovers] + _outputs(text)
    if not conversions:
        hints = "".join(f" Line {left.line}, {shown(left.what)}: {remark(left.why)}." for left in others[:MOST])
        raise InputError(Problem("FILE", f"{quoted(path)} holds no upload that is known.{hints} {LOOKED_FOR}"))
    for conversion in conversions:
        convert(conversion)
        complete(conversion)
    return written(conversions, others, path, gitlab=gitlab)


def _literal(upload: FoundUpload) -> FoundUpload:
    """An upload of no workflow, where nothing is an expression of GitHub's: what looks like one must not become one."""

    def foreign(text: str) -> bool:
        return any(not VARIABLE.fullmatch(found[0]) for found in EXPRESSION.finditer(text))

    given = tuple(
        Given(each.name, "", each.line, each.code or f"{each.name}: {each.value}") if foreign(each.value) else each
        for each in upload.given
    )
    return upload._replace(given=given, folder="" if foreign(upload.folder) else upload.folder)


def _outputs(text: str) -> list[Leftover]:
    """Where an output of the old step is read."""
    why = "this output is `download-url` here, all of them `download-urls`"
    return [Leftover(number, OUTPUT, why) for number, line in enumerate(text.split("\n"), 1) if OUTPUT in line]


def _exists(path: str) -> bool:
    with suppress(OSError, ValueError):  # no path at all: too long, or with a NUL in it
        return Path(path).exists()
    return False


def _uploads(text: str, path: str) -> tuple[bool, tuple[FoundUpload, ...]]:
    name = path.rpartition("/")[2]
    if name.endswith((".yml", ".yaml")):
        return workflow_file.uploads(text)
    if name.endswith((".gradle", ".kts")):
        return False, tuple(gradle_file.uploads(text, path))
    if "fastfile" in name.lower() or name.endswith(".rb"):
        return False, tuple(fastfile.uploads(text, path))
    return False, tuple(command_lines.uploads([(1, text)]))


def _place(path: Path) -> str:
    """The path as it is seen from the repository's root: from the working directory, where it lies in that."""
    whole = Path(os.path.normpath(Path.cwd() / path))
    return whole.relative_to(Path.cwd()).as_posix() if whole.is_relative_to(Path.cwd()) else path.name


def _content(path: Path) -> str:
    """The file's text. Raises `InputError` for what is no file of text, or a large one."""
    try:
        if not path.is_file():
            raise InputError(Problem("FILE", f"{quoted(str(path))} is not there, or no file."))
        with path.open("rb") as stream:
            content = stream.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise InputError(Problem("FILE", f"{quoted(str(path))} is too large.", "at most 256 KiB."))
        return content.decode("utf-8")
    except (OSError, ValueError):  # ValueError: not UTF-8, or a NUL in the path
        raise InputError(Problem("FILE", f"{quoted(str(path))} can't be read as UTF-8 text.")) from None


def _print(text: str, code: int) -> int:
    stream = sys.stderr if code else sys.stdout
    with suppress(OSError):  # a reader that has gone away is no reason for another exit code
        stream.write(text)
        stream.flush()
    return code
