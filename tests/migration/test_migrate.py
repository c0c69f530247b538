"""`uploader migrate FILE`: what comes out of other tools' files, that it holds, and that hostile files do no harm."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from google_emulator import specimens
from google_emulator.auth.authority import process_key
from scripts import make_migration_page
from tests.migration.sources import GITLAB, SOURCES, WORKFLOW, Source, workflow
from tests.support.job import ENTRYPOINT, Job
from uploader import inputs
from uploader.errors import InputError
from uploader.inputs.other_tools import TOOLS, ToolId
from uploader.migration import command
from uploader.migration.conversion import Conversion
from uploader.migration.found_upload import FoundUpload, Given
from uploader.migration.special_settings import convert

SILENT = {"defaultToAppBundles", "glob", "predefinedAcl", "--draft", "-d"}  # their effect is seen in another input
CHECKER = Path(sys.executable).with_name("check-jsonschema")
STAND_INS = {"tracks": "internal", "in-app-update-priority": "1"}
KEY = json.dumps({"type": "service_account", "private_key": process_key().private_pem()})


def as_written(text: str) -> Any:
    """YAML whose scalars stay text, as a runner passes them on."""
    return yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - BaseLoader builds nothing but str, list and dict


def migrated(source: Source) -> str:
    return command.migrated(source.text, source.path, source.beside.__contains__)


def steps(text: str) -> list[dict[str, str]]:
    """The inputs of each step or job that was printed."""
    printed = as_written(text)
    if isinstance(printed, list):
        return [step["with"] for step in printed]
    names = {f"UPLOADER_{field.attribute.upper()}": field.name for field in inputs.fields()}
    return [{names[name]: value for name, value in job["variables"].items()} for job in printed.values()]


def left(text: str) -> list[str]:
    """The line and the words of each setting that is left to the reader."""
    return re.findall(r"^#   line (.*)$", text, re.MULTILINE)


def program(*argv: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The program, started as in a shell."""
    return subprocess.run(
        [sys.executable, str(ENTRYPOINT), *argv], cwd=folder, capture_output=True, text=True, check=False, env={}
    )


# What public files hold


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_a_file_becomes_these_inputs_and_names_the_rest(source: Source) -> None:
    """Every setting is an input or is named with its line."""
    text = migrated(source)
    shown = [
        " | ".join(f"{name}: {value}".replace("\n", " , ") for name, value in step.items()) for step in steps(text)
    ]
    assert (shown, left(text)) == (source.steps, source.left)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_the_printed_inputs_are_accepted(source: Source) -> None:
    """The program reads what was printed without a mistake and without a warning."""
    for step in steps(migrated(source)):
        given = {
            f"INPUT_{name.upper()}": re.sub(r"\$\{\{.*?\}\}|\$[A-Z_]+", STAND_INS.get(name, "x"), value)
            for name, value in step.items()
        }
        read, problems = inputs.read({"GITHUB_ACTIONS": "true", **given}, ())
        assert (problems, read.warnings) == ((), ())


def test_what_is_printed_fits_the_schemas_of_github_and_gitlab(tmp_path: Path) -> None:
    """A step stands in a workflow, a job in .gitlab-ci.yml, as their own schemas have it."""
    steps_of_all: list[Any] = []
    jobs_of_all: dict[str, Any] = {}
    for name, source in SOURCES.items():
        printed = yaml.safe_load(migrated(source))
        if isinstance(printed, list):
            steps_of_all += printed
        else:
            jobs_of_all.update({f"{name} {job}": content for job, content in printed.items()})
    workflow_of_all = {"on": "push", "jobs": {"release": {"runs-on": "ubuntu-latest", "steps": steps_of_all}}}
    for kind, whole in (("github-workflows", workflow_of_all), ("gitlab-ci", jobs_of_all)):
        (tmp_path / kind).write_text(json.dumps(whole))
        subprocess.run(
            [CHECKER, "--builtin-schema", f"vendor.{kind}", tmp_path / kind], check=True, capture_output=True
        )


def test_the_line_that_is_named_is_the_line_of_the_setting() -> None:
    """A reader finds what is left where it is said to be."""
    for source in SOURCES.values():
        if source.path.endswith("Fastfile") or "with:" in source.text:
            lines = source.text.splitlines()
            for number, _, what in (entry.partition(": ") for entry in source.left):
                name = re.split(r"\W", what)[0]
                ours = what.partition(": ")[0] in {field.name for field in inputs.fields()}
                assert name in lines[int(number) - 1] or ours or name == "no", what


def test_a_printed_step_releases(job: Job) -> None:
    """What the old workflow released, the new step releases."""
    specimens.make_bundle(job.workspace / "app.aab", "com.example.app", 42, "1.0")
    source = SOURCES["a staged rollout whose status contradicts it"]
    (step,) = steps(migrated(source))
    given = {name: value for name, value in step.items() if name != "credentials"}
    ended = job.run({**given, "files": "app.aab"})
    assert (ended.code, ended.outputs["committed"]) == (0, "true")
    (release,) = job.emulator.state()["tracks"]["com.example.app"]["production"]
    assert (release["status"], release["userFraction"]) == ("inProgress", 0.5)


def test_an_output_that_is_read_elsewhere_is_named() -> None:
    """Another step reads the link to internal app sharing: it has another name now."""
    share = SOURCES["internal app sharing"]
    text = share.text + "      - run: echo ${{ steps.a.outputs.internalSharingDownloadUrl }}\n"
    assert left(migrated(share._replace(text=text)))[-1] == "12: internalSharingDownloadUrl"


# The page


def test_the_page_is_made_from_the_table() -> None:
    """docs/MIGRATION.md says what the program answers; `python -m scripts.make_migration_page` writes it."""
    page = make_migration_page.PAGE.read_text(encoding="utf-8")
    assert make_migration_page.renewed(page) == page


def test_the_example_of_the_page_is_what_the_command_prints() -> None:
    """The step after is made of the step before."""
    page = make_migration_page.PAGE.read_text(encoding="utf-8")
    before, after = re.findall(r"```yaml\n# (?:before|after)\n(.*?)```", page, re.DOTALL)
    assert as_written(migrated(Source(WORKFLOW, before, [], []))) == as_written(after)
    assert after in migrated(Source(WORKFLOW, before, [], []))


@pytest.mark.parametrize("tool", TOOLS)
def test_every_row_of_the_table_can_be_converted(tool: ToolId) -> None:
    """Whatever a row's value is, it becomes an input that exists or is named with its line."""
    for row in TOOLS[tool].rows:
        for name in row.names:
            for value in ("true", "1", "a/b.json", "", "${{ env.X }}"):
                conversion = Conversion(FoundUpload(tool, 1, "a", (Given(name, value, 7),)), lambda _: False)
                convert(conversion)
                assert set(conversion.inputs) <= {field.name for field in inputs.fields()}
                assert conversion.inputs.get("credentials", "") in {"", "a/b.json", "${{ secrets.X }}"}
                assert conversion.inputs["target"] in {"play", "play-internal-sharing"}
                assert conversion.leftovers or conversion.inputs != {"target": "play"} or name in SILENT or not value


# The command


def test_the_command_prints_a_step_and_ends_with_0(tmp_path: Path) -> None:
    """Only the step is on the standard output, as YAML, with the file's path from the root."""
    file = tmp_path / "android" / "fastlane" / "Fastfile"
    file.parent.mkdir(parents=True)
    file.write_text("lane :beta do\n  supply(aab: '../app.aab', track: 'beta')\nend\n")
    (file.parent / "metadata" / "android").mkdir(parents=True)
    ended = program("migrate", str(file), folder=tmp_path)
    (step,) = steps(ended.stdout)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (step["files"], step["images-directory"]) == ("app.aab", "android/fastlane/metadata/android")


def test_a_lane_becomes_a_job_where_there_is_gitlab_alone(tmp_path: Path) -> None:
    """A Fastfile does not say where it runs, but what lies beside it does."""
    (tmp_path / ".gitlab-ci.yml").write_text("stages: [deploy]\n")
    (tmp_path / "Fastfile").write_text("supply(aab: 'app.aab')\nsupply(aab: 'b.aab', json_key_data: ENV['A_KEY'])\n")
    ended = program("migrate", "Fastfile", folder=tmp_path)
    assert list(as_written(ended.stdout)) == ["release", "release 2"]
    assert as_written(ended.stdout)["release 2"]["variables"]["UPLOADER_CREDENTIALS"] == "$A_KEY"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("ci.yml", "on: push\njobs: {a: {steps: [{run: make}]}}\n", "holds no upload that is known. Looked for: "),
        ("ci.yml", "- run: bundle exec fastlane android beta\n", "`uploader migrate fastlane/Fastfile`"),
        ("ci.yml", "a: [\n", "is not YAML, from line 2 on"),
        ("Fastfile", "# supply(track: 'beta')\n", "holds no upload"),
        ("build.gradle", "// play { track = 'beta' }\n/* play {\n} */\n", "holds no upload"),
        ("build.gradle", "val x = display.play { 1 }\n", "holds no upload"),
        ("a.yml", "a" * (1 << 18) + "a", "is too large"),
    ],
)
def test_a_file_without_an_upload_ends_with_2_and_what_was_looked_for(
    tmp_path: Path, name: str, content: str, said: str
) -> None:
    """Nothing is printed where nothing was found, but a sentence on the standard error."""
    (tmp_path / name).write_text(content)
    ended = program("migrate", name, folder=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert said in ended.stderr


def test_a_file_that_is_none_ends_with_2(tmp_path: Path) -> None:
    """A folder, a missing file, bytes, no file at all: each has its sentence."""
    (tmp_path / "bytes").write_bytes(b"\xff\x00")
    for argv in (["."], ["missing"], ["bytes"], [], ["a", "b"], ["--strange"]):
        ended = program("migrate", *argv, folder=tmp_path)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert ended.stderr


def test_the_command_explains_itself(tmp_path: Path) -> None:
    """`uploader migrate --help` says what it reads, and `uploader --help` that it is there."""
    assert "usage: uploader migrate FILE" in program("migrate", "--help", folder=tmp_path).stdout
    assert "uploader migrate FILE" in program("--help", folder=tmp_path).stdout


def test_no_run_pays_for_it() -> None:
    """A run of an upload imports nothing of it, nor the table of other tools' names."""
    code = "import sys, uploader.main; print([name for name in sys.modules if 'migration' in name or '_tools' in name])"
    answer = subprocess.run([sys.executable, "-c", code], cwd=ENTRYPOINT.parent, capture_output=True, check=True)
    assert answer.stdout.split() == [b"[]"]


# Hostile files


def with_setting(name: str, value: str) -> Source:
    """A workflow whose one step has this setting, written so that YAML gives it back as it is."""
    action = "- uses: r0adkll/upload-google-play@v1\n  with:\n    releaseFiles: a.aab\n"
    return Source(WORKFLOW, workflow(f"{action}    {name}: {json.dumps(value)}"), [], [])


@pytest.mark.threat(
    "committer",
    "writes a key into a file that is migrated, and it is printed",
    rule="only an expression or a path is copied as a credential, and text that contains a key is not repeated",
)
@pytest.mark.parametrize(
    "name", ["serviceAccountJsonPlainText", "serviceAccountJson", "releaseName", "unknown", "track"]
)
@pytest.mark.parametrize("key", [KEY, KEY.replace(" ", ""), process_key().private_pem()])
def test_no_key_is_printed(name: str, key: str) -> None:
    """A key may stand anywhere in the file: no word of it comes out."""
    text = migrated(with_setting(name, key))
    assert not [word for word in re.findall(r"[\w+/]{12,}", key) if word in text and word != "service_account"]
    assert name in left(text)[0] or "key" in text


@pytest.mark.threat("committer", "writes a key into a file that is migrated, and it is printed")
def test_no_key_of_a_lane_or_a_block_is_printed() -> None:
    """Nor does one come out that stands in a string of Ruby or Kotlin, or that is no known credential at all."""
    secret = "hunter2-hunter2-hunter2"
    for path, source in {
        "Fastfile": f"supply(json_key_data: '{secret}', aab: 'a.aab')",
        "release.sh": f"fastlane supply --json_key_data {secret} --aab a.aab",
        "build.gradle": f"play {{\n serviceAccountCredentials = '{secret}'\n}}",
    }.items():
        assert secret not in migrated(Source(path, source, [], []))


@pytest.mark.threat(
    "committer",
    "writes a setting that turns into YAML or a terminal command in what `uploader migrate` prints",
    rule="the step is written by a YAML emitter, remarks are one-line comments, and invisible characters are made "
    "visible",
)
@pytest.mark.parametrize("name", ["releaseName", "unknown", "whatsNewDirectory", "track", "un\nknown: x"])
@pytest.mark.parametrize(
    "value",
    ["a\n- run: curl evil", "a\n  with: {target: x}", "\x1b]0;title\x07", "\u202egnp", "\u2028- run: x", "a: &x"],
)
def test_a_setting_stays_a_setting(name: str, value: str) -> None:
    """No value breaks out of its place: there is one step with known inputs, and nothing a terminal would obey."""
    source = with_setting(json.dumps(name) if "\n" in name else name, value)
    text = migrated(source)
    (step,) = as_written(text)
    assert set(step) == {"name", "uses", "with"}
    assert set(step["with"]) <= {field.name for field in inputs.fields()}
    assert all(line.isprintable() for line in text.split("\n"))
    assert "- run" not in step


@pytest.mark.threat(
    "committer", "writes a setting that turns into YAML or a terminal command in what `uploader migrate` prints"
)
def test_what_stands_around_an_upload_stays_there() -> None:
    """The name, the condition and the rules are emitted like everything else."""
    step = {"name": "a\n  run: x", "if": "\x1b[31m", "uses": "r0adkll/upload-google-play@v1", "with": {"track": "beta"}}
    text = migrated(Source(WORKFLOW, json.dumps({"jobs": {"a": {"steps": [step]}}}), [], []))
    (printed,) = as_written(text)
    assert (printed["name"], "if" in printed, "run" in printed) == ("a\n  run: x", False, False)
    job = {"x\n- y": {"script": ["fastlane supply --aab a.aab --track beta"], "rules": [{"if": "\x1b[31m"}]}}
    (name,) = as_written(migrated(Source(GITLAB, json.dumps(job), [], [])))
    assert name == "x\n- y"


@pytest.mark.threat(
    "committer", "writes a setting that turns into YAML or a terminal command in what `uploader migrate` prints"
)
@pytest.mark.parametrize(
    ("path", "text"),
    [
        (WORKFLOW, workflow('- working-directory: "a\\n::error::x"\n  run: fastlane beta')),
        (WORKFLOW, workflow(f"- uses: r0adkll/upload-google-play@v1\n  with: {{track: {json.dumps('a##[error]x')}}}")),
        (WORKFLOW, workflow('- uses: r0adkll/upload-google-play@v1\n  name: "a\\n ::error::x"')),
        (GITLAB, "::error::x:\n  script: [fastlane supply]\n  environment: {'::warning::x': y}"),
        ("r.sh", "./gradlew publishBundle --from-track '##[error]x'"),
        ("r.sh", 'google-play bundles publish -n \'[{"language": "en-US", "text": "a\\n::error::x"}]\''),
        ("##[error]x.sh", "fastlane supply"),
    ],
)
def test_nothing_commands_the_log_of_github(path: str, text: str) -> None:
    """GitHub's log obeys `::` at the start of a line, blanks before it, and `##[` anywhere: neither is printed."""
    try:
        printed = migrated(Source(path, text, [], []))
    except InputError as error:
        printed = str(error)
    assert not re.search(r"^\s*::|##\[", printed, re.MULTILINE)


@pytest.mark.threat(
    "committer",
    "writes `${{ secrets.… }}` into a lane or a script, which would become an expression of the printed step",
    rule="only a workflow may contain expressions; elsewhere a setting that contains one is left to the reader",
)
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("Fastfile", "supply(aab: 'a.aab', track: '${{ secrets.OTHER }}')"),
        ("Fastfile", 'supply(aab: "$\\{{ secrets.OTHER }}", track: "beta")'),
        ("build.gradle", "play {\n track = '${{ secrets.OTHER }}'\n artifactDir = file('${{ secrets.OTHER }}')\n}"),
        ("release.sh", "fastlane supply --aab a.aab --version_name '$''{{ secrets.OTHER }}'"),
        ("release.sh", "cd '$''{{ secrets.OTHER }}'; fastlane supply --aab a.aab --json_key '$''{{ secrets.OTHER }}'"),
    ],
)
def test_an_expression_is_taken_from_a_workflow_alone(path: str, text: str) -> None:
    """A variable of the environment stays one; whatever else looks like an expression is named, and not an input."""
    (step,) = as_written(migrated(Source(path, text, [], [])))
    assert "OTHER" not in json.dumps(step)
    assert step["with"].get("tracks", "production") in {"beta", "internal", "production"}


@pytest.mark.threat("committer", "writes a key into a file that is migrated, and it is printed")
@pytest.mark.parametrize("script", ["./gradlew publishBundle --from-track {}", "cd {}\nfastlane supply\nfastlane beta"])
def test_no_key_is_printed_in_a_remark(script: str) -> None:
    """Nor where a remark says what to write, or a folder stands before each path."""
    key = base64.b64encode(KEY.encode() * 2).decode()
    assert key[40:60] not in migrated(Source("release.sh", script.format(key), [], []))


def test_what_a_lane_is_given_is_not_repeated() -> None:
    """An option of a lane may hold anything."""
    text = migrated(Source("release.sh", "fastlane supply\nfastlane android beta --token hunter2", [], []))
    assert "fastlane android beta" in text
    assert "hunter2" not in text


def test_the_command_for_a_lane_can_be_pasted() -> None:
    """A folder's name is one word of it, whatever it holds."""
    text = migrated(Source("release.sh", "fastlane supply\ncd 'x; curl evil | sh'\nfastlane beta", [], []))
    assert "`uploader migrate 'x; curl evil | sh/fastlane/Fastfile'`" in text


LAUGHS = "a: &a [x]\n" + "".join(
    f"{after}: &{after} [{', '.join(['*' + before] * 9)}]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)
HOSTILE = {
    "laughs.yml": f"{LAUGHS}job:\n  rules: *i\n  script: [fastlane supply --aab a.aab]\n",
    "deep.yml": "[" * 5000,
    "maps.yml": "{a: " * 5000,
    "itself.yml": "a: &a\n  script: [fastlane supply --aab a.aab]\n  rules: *a\n  b: *a\n",
    "quotes.sh": "fastlane supply --aab '" * 10_000,
    "backslashes.sh": "fastlane \\\n" * 28_000,
    "tasks.sh": "gradle " + "publishA" * 32_000,
    "Fastfile": "supply(" * 37_000,
    "assign.Fastfile": "a=" * 130_000,
    "lines.Fastfile": "supply a,\n" * 26_000,
    "settings.Fastfile": "supply(" + "track: 'a', version_code: 1, " * 8000 + ")",
    "lists.Fastfile": "supply(aab: " + "[" * 900 + "])",
    "files.gradle": "play {\n artifactDir = " + "file(" * 900,
    "heredoc.Fastfile": "".join(f"x <<~A{number}\n" for number in range(20_000)),
    "interpolated.Fastfile": '"' + "#{" * 130_000,
    "strings.Fastfile": '"\\' * 130_000,
    "blocks.gradle": "play {\n" * 37_000,
    "settings.gradle": "play {\n" + "track = (" * 28_000,
    "comment.gradle": "/*" * 130_000,
    "triple.gradle": '"""' * 87_000,
    "braces.gradle": "play {" + "{" * 260_000,
    "expressions.sh": "${{" * 87_000,
    "stand-ins.sh": f"echo ${{{{ {'a' * 100_000} }}}}\nfastlane supply --track " + "\ue0000\ue001" * 20_000,
    "variables.yml": f"env: {{X: {'a' * 100_000}}}\nsteps:\n- run: fastlane supply --track " + "$X" * 70_000,
    "variable.yml": f"env: {{X: {'a' * 100_000}}}\nsteps:\n" + "- run: fastlane supply --track @env:X\n" * 4000,
    "names.Fastfile": f"b = '{'a' * 100_000}'\nsupply(aab: [" + "b," * 70_000 + "])",
    "paths.sh": f"cd {'a' * 100_000}\nfastlane supply --aab " + "a," * 70_000,
    "folders.sh": "cd a\n" * 52_000,
    "same.yml": "w: &w\n"
    + "".join(f"  a{number}: b\n" for number in range(10_000))
    + "steps:\n"
    + "- {uses: r0adkll/upload-google-play@v1, with: *w}\n" * 2500,
    "same-run.yml": "w: &w |\n" + "  fastlan a b c d\n" * 8000 + "steps:\n" + "- run: *w\n" * 12_000,
    "options.sh": "gradle " + "publishBundle " * 9000 + "--track " * 16_000,
    "dollars.kts": 'play {\n track = "' + "$rootDir" * 30_000 + '"\n}',
}


@pytest.mark.threat(
    "committer",
    "writes a file that `uploader migrate` never finishes reading",
    rule="at most 256 KiB are read, aliases may expand to 1 MiB, a name may stand for 200 characters, and no pattern "
    "tries a character again and again",
)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_ends_soon(name: str) -> None:
    """A file made to cost time or memory ends as a result or as a mistake, in time that people wait."""
    text = HOSTILE[name].encode()[: command.LARGEST].decode(errors="ignore")
    began = time.process_time()
    try:
        printed = command.migrated(text, name, lambda _: False)
    except InputError as error:
        printed = str(error)
    assert time.process_time() - began < 20
    assert len(printed) < 2 * command.LARGEST
