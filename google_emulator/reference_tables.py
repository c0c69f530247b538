"""The reference of the emulator, made from the code: `python -m google_emulator --reference`."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from google_emulator.backend import Backend
from google_emulator.config import Config, ProcessingRule
from google_emulator.faults import KINDS
from google_emulator.http.routes import STEPS, WIDE, method_names
from google_emulator.services.play.generated_apks import Generation
from google_emulator.services.vitals import AppVitals


def text() -> str:
    """Return all tables, each below its title."""
    # nothing is stored, so the folder is never made
    backend = Backend(Config(), Path("unused"), time.time)
    calls = (
        (f"`{route.id}`", route.method, f"`{route.template}`")
        for route in backend.routes
    )
    uploads = (
        (f"`{method.id}`", " ".join(method.methods), f"`{method.template}`")
        for method in backend.upload_methods
    )
    faults = (
        (f"`{kind.name}`", kind.meaning, _options(kind.options))
        for kind in KINDS.values()
    )
    tables = {
        "Faults": _table(
            ("fault (`do`)", "what it does", "options (defaults)"), faults
        ),
        "Operations": _table(
            ("name (`on`)", "requests"),
            ((f"`{name}`", meaning) for name, meaning in {**WIDE, **STEPS}.items()),
        ),
        "Methods": ", ".join(f"`{name}`" for name in method_names(backend.method_ids)),
        "Settings": _keys("setting", Config(), repr),
        "Console": _table(
            ("operation (`do`)", "what it does", "options"),
            (
                (f"`{name}`", *_operation(act))
                for name, act in backend.console.operations().items()
            ),
        ),
        "Vitals": _keys("key", AppVitals(), json.dumps),
        "Processing": _keys("key", ProcessingRule(), json.dumps),
        "Generated APKs": _keys("key", Generation(), json.dumps),
        "Paths": _table(("method", "HTTP", "path"), [*calls, *uploads]),
    }
    return (
        "\n\n".join(f"## {title}\n\n{table}" for title, table in tables.items()) + "\n"
    )


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"
        for line in lines
    )


def _options(options: Mapping[str, object]) -> str:
    return (
        ", ".join(f"`{name}` ({json.dumps(value)})" for name, value in options.items())
        or "none"
    )


def _keys(
    name: str,
    defaults: Config | AppVitals | Generation | ProcessingRule,
    written: Callable[[object], str],
) -> str:
    keys = (
        (field.name, field.metadata["meaning"], getattr(defaults, field.name))
        for field in fields(defaults)
    )
    rows = (
        (f"`{key}`", meaning, f"`{written(default)}`") for key, meaning, default in keys
    )
    return _table((name, "meaning", "default"), rows)


def _operation(act: Callable[..., object]) -> tuple[str, str]:
    """Return what a console operation does (the first paragraph of its docstring), and its
    parameters without the app, which all of them have.
    """
    taken = [
        parameter
        for parameter in inspect.signature(act).parameters.values()
        if parameter.name != "package"
    ]
    options = (
        f"`{parameter.name}`"
        if parameter.default is inspect.Parameter.empty
        else f"[`{parameter.name}`]"
        for parameter in taken
    )
    summary = str(inspect.getdoc(act)).partition("\n\n")[0]
    return " ".join(summary.split()), ", ".join(options)
