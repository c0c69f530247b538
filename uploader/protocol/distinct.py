"""Records that differ by their type: two events may hold the same fields, or none, and mean opposite things."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T", bound=tuple[object, ...])


def distinct(record: type[T]) -> type[T]:
    """The same NamedTuple, equal only to one of its own type; any other compares by its fields alone."""

    def equal(self: T, other: object) -> bool:
        return type(other) is record and tuple.__eq__(self, other)

    def unequal(self: T, other: object) -> bool:
        return not equal(self, other)

    for name, method in (("__eq__", equal), ("__ne__", unequal)):
        setattr(record, name, method)
    return record
