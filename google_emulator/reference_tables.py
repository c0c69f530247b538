"""What can be asked of the emulator, made from the code: `python -m google_emulator --reference`."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path

from google_emulator.backend import Backend
from google_emulator.config import Config, settings
from google_emulator.faults.kinds import KINDS
from google_emulator.http.routes import STEPS, WIDE, method_names
from google_emulator.services.play.generated_apks import Generation
from google_emulator.services.reporting.vitals import AppVitals


def _backend() -> Backend:
    """The services as they are served; nothing is stored, so the folder is never made."""
    return Backend(Config(), Path("unused"), time.time)


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(header)
    lines = [names, ["---"] * len(names), *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _options(options: dict[str, object]) -> str:
    return ", ".join(f"`{name}` ({json.dumps(value)})" for name, value in options.items()) or "none"


def _faults() -> str:
    rows = ((f"`{kind.name}`", kind.meaning, _options(dict(kind.options))) for kind in KINDS.values())
    return _table(("fault (`do`)", "what it does", "options (defaults)"), rows)


def _steps() -> str:
    rows = ((f"`{name}`", meaning) for name, meaning in {**WIDE, **STEPS}.items())
    return _table(("name (`on`)", "requests"), rows)


def _methods() -> str:
    return ", ".join(f"`{name}`" for name in method_names(_backend().method_ids))


def _settings() -> str:
    rows = ((f"`{name}`", meaning, f"`{default}`") for name, default, meaning in settings())
    return _table(("setting", "meaning", "default"), rows)


def _paths() -> str:
    backend = _backend()
    calls = ((f"`{route.id}`", route.method, f"`{route.template}`") for route in backend.routes)
    uploads = ((f"`{one.id}`", " ".join(one.methods), f"`{one.template}`") for one in backend.upload_methods)
    return _table(("method", "HTTP", "path"), [*calls, *uploads])


def _console() -> str:
    rows = (
        (f"`{name}`", str(inspect.getdoc(act)).partition("\n")[0], ", ".join(map(_parameter, _parameters(act))))
        for name, act in _backend().console.operations().items()
    )
    return _table(("operation (`do`)", "what it does", "options"), rows)


def _parameters(act: Callable[..., object]) -> list[inspect.Parameter]:
    """What an operation takes beside the app, which all of them do."""
    return [one for one in inspect.signature(act).parameters.values() if one.name != "package"]


def _parameter(one: inspect.Parameter) -> str:
    return f"`{one.name}`" if one.default is inspect.Parameter.empty else f"[`{one.name}`]"


def _keys(defaults: AppVitals | Generation) -> str:
    rows = ((f"`{one.name}`", one.metadata["meaning"], _json(getattr(defaults, one.name))) for one in fields(defaults))
    return _table(("key", "meaning", "default"), rows)


def _json(value: object) -> str:
    return f"`{json.dumps(value)}`"


def text() -> str:
    """Every table, each below its title."""
    tables = {
        "Faults": _faults(),
        "Operations": _steps(),
        "Methods": _methods(),
        "Settings": _settings(),
        "Console": _console(),
        "Vitals": _keys(AppVitals()),
        "Generated APKs": _keys(Generation()),
        "Paths": _paths(),
    }
    return "\n\n".join(f"## {title}\n\n{table}" for title, table in tables.items()) + "\n"
