"""The rules of the house, enforced: which way imports point, who may touch the network and the clock, how files begin.

docs/ARCHITECTURE.md draws the street; the tests here say when a file leaves it, or when the drawing is out of date.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "uploader"

# An import may point to a later name of this street, never to an earlier one.
STREET = (
    "__main__",
    "main",
    "run",
    "engine_setup",
    "authentication",
    "outputs",
    "transfer",
    "state",
    "plan",
    "services",
    "credentials",
    "files",
    "migration",
    "inputs",
    "retrier",
    "protocol",
    "http",
    "reporting",
    "results",
    "redaction",
    "signals",
    "clock",
    "cancellation",
    "input_problems",
    "errors",
    "der",
    "text",
)
NETWORK = ("requests", "urllib3", "socket", "http.client", "urllib.request")
WAITING = ("time.sleep", "threading.Thread", "threading.Timer", "concurrent.futures", "multiprocessing", "asyncio")
HEAVY = (
    *("dataclasses", "inspect", "requests", "google.auth", "google_crc32c", "cryptography"),
    *("yaml", "tqdm", "dotenv", "google_emulator"),
)
# Who opens files: the door to those of the run, and what is no file of the run (credentials, state, outputs, itself).
OPENERS = {
    "uploader/files/workspace.py",
    "uploader/files/destination.py",  # the door outward
    "uploader/credentials/credential_source.py",
    "uploader/inputs/env_file.py",
    "uploader/inputs/ci_platform.py",  # the id of this start of the machine
    "uploader/main.py",
    "uploader/migration/command.py",  # the file that is named
    "uploader/outputs/output_files.py",
    "uploader/services/method_catalogue.py",
    "uploader/state/sealed_store.py",
    "uploader/transfer/stream_source.py",  # its own standard input
}
LONGEST_FILE = 300
LONGEST_FUNCTION = 30


def house_of(file: Path) -> str:
    """The name on the street that a file lives under; empty for the package's own head."""
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py").replace("__init__", "")


def imports(file: Path) -> Iterator[str]:
    """Every dotted name that a file imports, at its head or inside a function: `from a import b` gives `a.b`."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}: a relative import hides where it points"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def mentions(file: Path) -> set[str]:
    """Imported names, and attributes as they are written (`time.sleep`)."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return set(imports(file)) | {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def within(name: str, modules: tuple[str, ...]) -> bool:
    """Whether a dotted name is one of the modules or lies inside one."""
    return any(name == module or name.startswith(module + ".") for module in modules)


def python_files(*folders: str) -> list[Path]:
    """Every Python file below the folders, in a stable order."""
    return sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))


CLIENT = python_files("uploader")
EMULATOR = python_files("google_emulator")
EVERYTHING = [
    ROOT / "entrypoint.py",
    *python_files("uploader", "google_emulator", "tests", "examples", "scripts", "benchmarks"),
]


def short(file: Path) -> str:
    return str(file.relative_to(ROOT))


@pytest.mark.parametrize("file", CLIENT, ids=short)
def test_imports_point_only_down_the_street(file: Path) -> None:
    """A module imports its own house and the ones further down, and no house stands beside the street."""
    house = house_of(file)
    if not house:
        return
    assert house in STREET
    reachable = {house, *STREET[STREET.index(house) :], "__version__"}
    assert not {name for name in imports(file) if name.startswith("uploader.") and name.split(".")[1] not in reachable}


@pytest.mark.parametrize("file", EMULATOR, ids=short)
def test_the_emulator_knows_nothing_of_the_program(file: Path) -> None:
    """The emulator is a second reading of the documents, so a misreading of the program's can't be its own as well."""
    assert not {name for name in imports(file) if within(name, ("uploader",))}


@pytest.mark.parametrize("package", ["uploader", "google_emulator"])
def test_no_imports_go_in_a_circle(package: str) -> None:
    """Neither modules nor rooms need each other, not for types alone and not by an import inside a function."""
    modules = import_graph(package)
    rooms: dict[str, set[str]] = {}
    for name, imported in modules.items():
        rooms.setdefault(room_of(name), set()).update({room_of(other) for other in imported} - {room_of(name)})
    for graph in (modules, rooms):
        TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def import_graph(package: str) -> dict[str, set[str]]:
    """Every module of a package with those of the package that it names in an import, wherever that stands."""
    files = {".".join(file.relative_to(ROOT).with_suffix("").parts): file for file in python_files(package)}
    modules = {name.removesuffix(".__init__"): file for name, file in files.items()}
    return {
        name: {found if found in modules else found.rpartition(".")[0] for found in imports(file)} & modules.keys()
        for name, file in modules.items()
    }


def room_of(module: str) -> str:
    """The folder or file directly below the package in which a module lies; the package's own head is one, too."""
    return ".".join(module.split(".")[:2])


def test_no_import_can_hide(tmp_path: Path) -> None:
    """Imports for types alone and those inside functions count, so that hiding an import does not break a circle."""
    file = tmp_path / "module.py"
    file.write_text("if TYPE_CHECKING:\n    from a import b\n\n\ndef call():\n    import c.d\n")
    assert set(imports(file)) == {"a.b", "c.d"}


def test_nothing_in_the_emulator_has_the_name_of_another_thing() -> None:
    """No two classes and no two modules of the emulator share a name, so that a search for one finds one."""
    names = Counter(file.stem for file in EMULATOR if not file.stem.startswith("__"))
    for file in EMULATOR:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        names.update(node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []


def test_the_program_starts_the_emulator_in_one_place() -> None:
    """Only a rehearsal knows of the emulator, by one import that is carried out when one is asked for."""
    found = [short(file) for file in CLIENT for name in imports(file) if within(name, ("google_emulator",))]
    assert found == ["uploader/authentication.py"]


def test_the_drawing_of_the_street_is_true() -> None:
    """docs/ARCHITECTURE.md names every house in the order in which imports may point."""
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    drawn = re.findall(r"^  (\w+)(?:\.py|/)", text.split("```")[1], flags=re.MULTILINE)
    assert tuple(drawn) == STREET


@pytest.mark.parametrize("file", CLIENT, ids=short)
def test_only_http_opens_sockets(file: Path) -> None:
    """One seam to the network: no other module imports an HTTP client or a socket."""
    if house_of(file) != "http":
        assert not {name for name in imports(file) if within(name, NETWORK)}


@pytest.mark.parametrize("file", CLIENT, ids=short)
def test_only_the_door_opens_files_of_the_run(file: Path) -> None:
    """What is read by a path that was checked before may be another file by then, so nobody else opens any."""
    if short(file) not in OPENERS:
        calls = (node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
        assert not [ast.unparse(call) for call in calls if _opens(call)]


def _opens(call: ast.Call) -> bool:
    """`open(…)`, `os.open(…)`, `path.open("rb")`, `path.read_text()`: whatever opens a path."""
    name = ast.unparse(call.func)
    mode = any(isinstance(each, ast.Constant) and "r" in str(each.value) for each in call.args)
    return (
        name in {"open", "os.open", "io.open"}
        or name.endswith((".read_bytes", ".read_text"))
        or (name.endswith(".open") and mode)
    )


@pytest.mark.parametrize("file", CLIENT, ids=short)
def test_only_transfer_sleeps_and_starts_threads(file: Path) -> None:
    """Uploads run side by side, a run beside its signals, its first token ahead of it; all else is handed its clock."""
    if house_of(file) not in {"transfer", "signals"} and short(file) != "uploader/credentials/token_prefetch.py":
        assert not {name for name in mentions(file) if within(name, WAITING)}


@pytest.mark.parametrize("file", EVERYTHING, ids=short)
def test_a_file_begins_with_its_law(file: Path) -> None:
    """The first thing in a file is a docstring of a sentence or more."""
    head = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    assert head.split("\n\n")[0].rstrip().endswith((".", ":"))


@pytest.mark.parametrize("file", [*CLIENT, *EMULATOR], ids=short)
def test_files_and_functions_stay_small(file: Path) -> None:
    """A file that outgrows one sitting, or a function that outgrows one look, is taken apart."""
    source = file.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= LONGEST_FILE
    functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
    assert not [node.name for node in functions if _lines_of_code(node) > LONGEST_FUNCTION]


def _lines_of_code(function: ast.FunctionDef) -> int:
    docstring = ast.get_docstring(function, clean=False) or ""
    return (function.end_lineno or 0) - function.lineno + 1 - len(docstring.splitlines())


@pytest.mark.parametrize("file", EVERYTHING, ids=short)
def test_every_silenced_rule_bears_its_reason(file: Path) -> None:
    """`noqa` and `type: ignore` name their rule and say in words why it does not hold there."""
    silence = re.compile(
        r"#\s*(?:ruff:\s*)?(?:noqa|type:\s*ignore)(?P<rule>(?::\s*[A-Z]+\d+|,\s*[A-Z]+\d+|\[[\w, -]+\])*)"
    )
    for token in tokenize.generate_tokens(io.StringIO(file.read_text(encoding="utf-8")).readline):
        found = silence.match(token.string) if token.type == tokenize.COMMENT else None
        if found:
            assert found["rule"], f"line {token.start[0]} silences every rule at once"
            assert len(re.findall(r"\w{2,}", token.string[found.end() :])) >= 3, (
                f"line {token.start[0]} gives no reason"
            )


@pytest.mark.parametrize("file", python_files("tests"), ids=short)
def test_every_test_is_a_sentence(file: Path) -> None:
    """The tests read as a specification: each has a docstring."""
    functions = (
        node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)
    )
    assert not [node.name for node in functions if node.name.startswith("test_") and not ast.get_docstring(node)]


@pytest.mark.parametrize("file", CLIENT, ids=short)
def test_a_record_is_no_dataclass(file: Path) -> None:
    """Making a dataclass takes 0.3 ms and loading the module 5, at every start: a record is a NamedTuple."""
    assert not {name for name in imports(file) if within(name, ("dataclasses",))}


def test_no_two_classes_and_no_two_modules_share_a_name() -> None:
    """One name means one thing: a class with or without an underscore, a module or a package."""
    classes = [
        f"class {node.name.lstrip('_')}"
        for file in CLIENT
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    ]
    modules = [f"module {(file.parent if file.stem == '__init__' else file).stem}" for file in CLIENT]
    assert not {name for name, times in Counter([*classes, *modules]).items() if times > 1}


@pytest.mark.parametrize("file", CLIENT, ids=short)
def test_every_late_import_bears_its_reason(file: Path) -> None:
    """An import inside a function says on its line what a run without it is spared; a block of them says it once."""
    source = file.read_text(encoding="utf-8")
    lines = source.splitlines()
    for function in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)):
        late = {node.lineno for node in ast.walk(function) if isinstance(node, (ast.Import, ast.ImportFrom))}
        for line in late:
            reason = re.findall(r"\w{2,}", lines[line - 1].partition("#")[2])
            assert line - 1 in late or len(reason) >= 3, f"line {line} does not say why the import is late"


def test_the_start_loads_nothing_heavy() -> None:
    """A run that ends at its inputs must not pay for HTTP, cryptography, YAML or the emulator."""
    assert loaded_by("uploader.main", "uploader.plan", "uploader.services.play") & set(HEAVY) == set()


def test_a_login_by_a_key_loads_no_more_than_it_needs() -> None:
    """Neither google-auth, nor what only a proxy is worth, nor what cryptography's reader of keys would bring."""
    unneeded = {"dataclasses", "inspect", "logging", "google.auth", "requests", "urllib3"}
    unneeded.add("cryptography.hazmat.primitives.serialization")
    assert loaded_by("uploader.authentication", "uploader.credentials.service_account_key") & unneeded == set()


def loaded_by(*modules: str) -> set[str]:
    """Every module that a Python has loaded which imports these."""
    code = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(answer.stdout.split())


def pins(lock: str) -> dict[str, tuple[str, ...]]:
    """What a lock says: each `name==version`, whatever the platform it is for, and its hashes."""
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return {line.split()[0]: tuple(re.findall(r"sha256:[0-9a-f]{64}", line)) for line in lines}


@pytest.mark.threat(
    "dependency", "a dependency is replaced", rule="hashed lock, pinned base image, SBOM, signed provenance"
)
def test_the_locks_agree_and_are_hashed() -> None:
    """What is tested is what runs: the development lock holds the runtime lock as it is; every line has its hashes."""
    runtime, development = pins("requirements.lock"), pins("requirements-dev.lock")
    assert all(pins("requirements-build.lock").values())
    assert all(development.values())
    assert runtime.items() <= development.items()


@pytest.mark.parametrize("lock", sorted(ROOT.glob("*.lock")), ids=short)
def test_locks_name_no_index(lock: Path) -> None:
    """Where packages come from is the machine's affair."""
    assert not re.search(r"://|--(?:extra-)?index|--find-links", lock.read_text(encoding="utf-8"))
