"""Reads the inputs `params` and `metadata`, which are maps."""

from __future__ import annotations

import json
from typing import Any

from uploader.errors import InputError, Problem


def read_params(text: str) -> dict[str, Any]:
    """The map in `params`, JSON or YAML, whose scalars stay as they are written. Raises InputError."""
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        value = _yaml(text)
    return _map("params", value, "a YAML or JSON map")


def read_metadata(text: str) -> dict[str, Any]:
    """The JSON object in `metadata`. Raises InputError."""
    try:
        value = json.loads(text or "{}")
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # Python reads NaN and half a surrogate pair
    except (ValueError, RecursionError):
        raise InputError(Problem("metadata", "is not JSON.", "a JSON object")) from None
    return _map("metadata", value, "a JSON object")


def _yaml(text: str) -> object:
    import yaml  # 20 ms that a run without params, or with JSON, does without

    try:
        # BaseLoader makes strings of all scalars: a version `1.10` or a name `no` arrives as it was written.
        return yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - BaseLoader builds nothing but str, list and dict
    except (yaml.YAMLError, RecursionError, ValueError):
        raise InputError(Problem("params", "is neither JSON nor YAML.", "a YAML or JSON map")) from None


def _map(name: str, value: object, accepted: str) -> dict[str, Any]:
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return value
    raise InputError(Problem(name, "is not a map.", accepted))
