"""One set of names everywhere: the code's table, both actions' metadata, the reference, and every
example.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.make_reference import FILES, LEFT_OUT, OUTPUTS
from uploader import inputs
from uploader.inputs import reader

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", "docs/MIGRATION.md", "docs/RECIPES.md")
GITHUB = sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / "examples" / "github").glob("*.yml")
)
GITLAB = sorted((ROOT / "examples" / "gitlab").glob("*.yml"))
PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"))
)
EXPRESSION = re.compile(r"\$\{\{.*?\}\}")
STAND_INS = {
    "matrix.part": "2",
    "secrets.": "a-key-of-this-job",
    "edit": "0123",
    "ref_name": "v1.0.0",
    "matrix.": "beta",
    "inputs.status": "inProgress",
    "inputs.fraction": "0.5",
    "SHA256": "ab" * 32,
    "version-code": "7",
}


def as_written(text: str) -> Any:
    """YAML whose scalars stay text, as GitHub passes them on."""
    return yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - BaseLoader builds nothing but str, list and dict


def action() -> dict[str, Any]:
    loaded = as_written((ROOT / "action.yml").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def examples(document: str) -> Iterator[Any]:
    text = (ROOT / document).read_text(encoding="utf-8")
    for block in (
        [text]
        if document.endswith(".yml")
        else re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    ):
        yield as_written(block)


def steps(node: Any) -> Iterator[dict[str, Any]]:
    """Every step of this action, however deep it stands in a workflow."""
    if isinstance(node, dict):
        if "google-release-uploader@" in str(node.get("uses", "")):
            yield node
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from steps(child)


def filled(text: str) -> str:
    """The value with GitHub's expressions replaced by something that could stand there."""

    def stand_in(expression: re.Match[str]) -> str:
        return next(
            (value for part, value in STAND_INS.items() if part in expression[0]),
            "v1.0.0",
        )

    return EXPRESSION.sub(stand_in, text)


# Inputs


@pytest.mark.parametrize("name", FILES)
def test_what_people_read_of_inputs_is_made_from_the_table(name: str) -> None:
    """What people read of an input or an output is what the code reads and writes: one source,
    nothing stale.
    """
    written = (ROOT / name).read_text(encoding="utf-8")
    assert written == FILES[name](written), "run python -m scripts.make_reference"


# Outputs


def test_every_declared_output_is_set_somewhere_in_the_code() -> None:
    """A declared output whose name the code does not hold could never have a value."""
    texts = {
        node.value
        for path in (ROOT / "uploader").rglob("*.py")
        if path.parent.name != "inputs"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
    }
    assert OUTPUTS.keys() <= texts


def test_outputs_in_a_later_job_of_gitlab_are_no_strange_variables() -> None:
    """Every output is known by its variable, unless an input has the same name."""
    ours = {spec.attribute.upper() for spec in inputs.SPECS}
    assert {name.upper().replace("-", "_") for name in OUTPUTS} - ours <= set(
        reader.OUTPUTS
    )


# Examples


@pytest.mark.parametrize("document", [*DOCUMENTS, *GITHUB])
def test_every_example_step_is_accepted(document: str) -> None:
    """A workflow that was copied from the documents has no wrong input."""
    found = [step for example in examples(document) for step in steps(example)]
    assert found
    for step in found:
        environ = {
            f"INPUT_{name.upper()}": filled(value)
            for name, value in step["with"].items()
        }
        read, problems = inputs.read({"GITHUB_ACTIONS": "true", **environ}, ())
        assert (problems, read.warnings) == ((), ())


def test_the_gitlab_example_is_accepted() -> None:
    """Its variables are inputs, and it clears the entrypoint."""
    (job,) = [
        example["release"]
        for example in examples("README.md")
        if isinstance(example, dict) and "release" in example
    ]
    read, problems = inputs.read({"GITLAB_CI": "true", **job["variables"]}, ())
    assert (problems, read.warnings) == ((), ())
    assert job["image"]["entrypoint"] == [""]
    assert job["artifacts"] == {"when": "always", "reports": {"dotenv": "uploader.env"}}
    assert job["retry"]["exit_codes"] == ["75"]


@pytest.mark.parametrize("path", GITHUB)
def test_a_workflow_asks_for_no_more_than_it_needs(path: str) -> None:
    """No permission by default, each named by its job; runs that change the same app or archive
    wait for each other.
    """
    (workflow,) = examples(path)
    assert workflow["permissions"] == {}
    assert "group" in workflow["concurrency"]
    for job in workflow["jobs"].values():
        keyless, attests = (
            word in str(job["steps"])
            for word in ("workload-identity-provider", "actions/attest@")
        )
        needed = {"id-token": "write"} if keyless or attests else {}
        needed |= {"attestations": "write"} if attests else {}
        assert job["permissions"] == {"contents": "read", **needed}
        assert "timeout-minutes" in job


@pytest.mark.parametrize("path", GITLAB, ids=lambda path: path.stem)
def test_an_image_of_an_example_can_not_become_another_one(path: Path) -> None:
    """It is this project's, which a release names by digest, or one by digest, or the user's
    choice.
    """
    jobs = [
        job
        for job in as_written(path.read_text(encoding="utf-8")).values()
        if isinstance(job, dict)
    ]
    images = [job["image"] for job in jobs if "image" in job]
    assert images
    for image in images:
        name = image["name"] if isinstance(image, dict) else image
        assert re.fullmatch(
            r"ghcr[.]io/OWNER/google-release-uploader:v[0-9.]+|\S+@sha256:[0-9a-f]{64}|[$][A-Z_]+",
            name,
        )


@pytest.mark.parametrize("path", GITLAB, ids=lambda path: path.stem)
def test_a_gitlab_job_has_no_wrong_variable(path: Path) -> None:
    """The variables of jobs with the image, and the component's inputs, are this program's."""
    configuration = as_written(path.read_text(encoding="utf-8"))
    found = [
        job["variables"]
        for job in configuration.values()
        if isinstance(job, dict) and "variables" in job
    ]
    known = {spec.name for spec in inputs.SPECS} - set(LEFT_OUT) | {
        "stage",
        "job-name",
        "image",
        "rules",
        "resource-group",
        "proxy",
        "ca-file",
    }
    for include in configuration.get("include", []):
        assert set(include["inputs"]) <= known
        found.append(
            {
                f"UPLOADER_{name.upper().replace('-', '_')}": text
                for name, text in include["inputs"].items()
            }
        )
    assert found
    for variables in found:
        ours = {
            name: text
            for name, text in variables.items()
            if name not in ("UPLOADER_STAGE", "UPLOADER_RESOURCE_GROUP")
        }
        read, problems = inputs.read({"GITLAB_CI": "true", **ours}, ())
        assert (problems, read.warnings) == ((), ())


@pytest.mark.slow
def test_the_demo_ends_well() -> None:
    """Every byte is where it belongs, and each day of the rollouts is decided as it should be."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert len(lines) <= 40
    assert {"committed=false", "rehearsal=true"} <= set(lines)
    verdicts = (
        "the bundle is on Google Play and in Drive, byte for byte",
        "the healthy release was widened",
    )
    assert [
        line[5:].startswith(told)
        for line, told in zip(lines[-2:], verdicts, strict=True)
    ] == [
        True,
        True,
    ]
    still = re.findall(
        r"<text [^>]*>([^<]*)</text>", (ROOT / "docs" / "demo.svg").read_text()
    )
    # a reset may reach the program as an end of the connection
    differs = r"in \d\.\d s|reset|closed before an answer|\d+\.\d s(?=, | of that)"
    assert {re.sub(differs, "", one.strip()) for one in still[1:]} <= {
        re.sub(differs, "", line) for line in lines
    }


# Migration


def migrations() -> Iterator[tuple[str, str]]:
    """Each input of another tool on the migration page, and the cell that says what it is here."""
    for row in (ROOT / "docs/MIGRATION.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if len(cells) == 3 and re.fullmatch(r"`\w+`(, `\w+`)*", cells[0]):
            yield from ((name.strip("`"), cells[1]) for name in cells[0].split(", "))


def test_every_input_on_the_migration_page_is_answered_with_what_the_page_says() -> (
    None
):
    """Who leaves an input of the old tool in the workflow is told what the page would have told."""
    for theirs, ours in migrations():
        _, problems = inputs.read(
            {"UPLOADER_TARGET": "play", f"INPUT_{theirs.upper()}": "draft"}, ()
        )
        here = re.findall(r"`([\w-]+)", ours)
        if problems and problems[0].name not in here:
            assert (here[0] if here else "Not needed: ") in problems[0].what, theirs
        else:
            assert theirs.replace("_", "-") in here, theirs


def test_the_migration_page_names_only_inputs_that_exist() -> None:
    """The second column never points to a name that was never ours."""
    known = {spec.name for spec in inputs.SPECS}
    for theirs, ours in migrations():
        assert ours == "no input" or set(re.findall(r"`([\w-]+)", ours)) <= known, (
            theirs
        )


# Links


@pytest.mark.parametrize("document", PAGES)
def test_every_link_to_a_file_leads_somewhere(document: str) -> None:
    """A link in the documents names a file of the repository, a heading of a page, or the web."""
    path = ROOT / document
    for link in re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8")):
        name, _, heading = link.partition("#")
        page = path.parent / name if name else path
        assert link.startswith("https://") or page.exists(), link
        assert (
            link.startswith("https://") or not heading or heading in headings(page)
        ), link


def headings(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_marketplace_takes_the_description() -> None:
    """It refuses one of more than 125 characters."""
    assert len(action()["description"]) <= 125
