"""Runs inside the image: imports every installed module, and looks for whatever an import anywhere
in one may want.

Prints JSON: the modules whose import failed with those that were missing for it, and for the
modules of the standard library that are not there, who would import them. It stands alone, since
the image holds no tests.
"""

from __future__ import annotations

import dis
import importlib
import importlib.util
import json
import marshal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

PACKAGES = Path(next(path for path in sys.path if path.endswith("site-packages")))
HEADER = 16  # bytes before the code in a file of bytecode


def main() -> None:
    """Looks, and tells."""
    modules = {
        name_of(file): file
        for file in sorted(PACKAGES.rglob("*"))
        if file.suffix in (".pyc", ".so")
    }
    failed = {name: why for name in modules if (why := missing_for(name)) is not None}
    absent: dict[str, list[str]] = {}
    for name, file in modules.items():
        for wanted in wanted_by(file):
            if wanted.partition(".")[0] in sys.stdlib_module_names and not there(
                wanted
            ):
                absent.setdefault(wanted, []).append(name)
    print(json.dumps({"count": len(modules), "failed": failed, "absent": absent}))  # noqa: T201  # its output is its result


def name_of(file: Path) -> str:
    """The dotted name of a module."""
    folder = file.relative_to(PACKAGES).parent
    stem = file.name.partition(".")[0]
    return ".".join(folder.parts if stem == "__init__" else (*folder.parts, stem))


def missing_for(name: str) -> list[str] | None:
    """What could not be found when a module was imported; nothing when it could be. Scripts are not
    run.
    """
    if name.endswith("__main__"):
        return None
    try:
        importlib.import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever it is, the test wants to know what lies beneath
        cause: BaseException | None = error
        missing = []
        while cause:
            missing += (
                [str(cause.name)] if isinstance(cause, ModuleNotFoundError) else []
            )
            cause = cause.__cause__ or cause.__context__
        return missing
    return None


def wanted_by(file: Path) -> set[str]:
    """The absolute names in a module's imports, late ones as well."""
    if file.suffix == ".so":
        return set()
    return set(imports_of(marshal.loads(file.read_bytes()[HEADER:])))  # noqa: S302  # the image's own bytecode


def imports_of(code: CodeType) -> Iterator[str]:
    """Every module that a piece of code names in an import, its functions included."""
    instructions = list(dis.get_instructions(code))
    for level, _, instruction in zip(
        instructions, instructions[1:], instructions[2:], strict=False
    ):
        # a relative import has a level above zero
        if instruction.opname == "IMPORT_NAME" and not level.argval:
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from imports_of(constant)


def there(name: str) -> bool:
    """Whether a module can be found."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


if __name__ == "__main__":
    main()
