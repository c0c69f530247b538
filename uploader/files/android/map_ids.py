"""Checks an R8 or ProGuard mapping, by which Play turns obfuscated crash reports back into the
app's own names.

R8 begins a mapping with `# pg_map_id: 7fe8b95` and `# pg_map_hash: SHA-256 …`; the id is the hash
or its beginning. It also leaves a marker among the strings of the dex files:
`~~R8{…,"pg-map-id":"7fe8b95",…}` (`Marker` and `ProguardMapSupplier` in r8.googlesource.com). The
two show whether a mapping and an artifact come from one build. Other compilers write neither of
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from uploader.errors import InputError, Problem
from uploader.files.android.archive import Archive, input_errors
from uploader.files.android.limits import read_artifact
from uploader.files.artifacts import Artifact
from uploader.files.workspace import Workspace

# bytes to unpack; the first dex file of an app has the marker, and far fewer bytes
MAX_DEX = 64 << 20
_INPUT = "mapping-file"
_ACCEPTED = "mapping.txt as R8 or ProGuard writes it, not compressed"
_CLASS = re.compile(rb"[^\s:]+ -> [^\s:]+:\s*")
# bytes in which the first class has to come; before it there are only comments
_HEADER = 1 << 20
_MAX_MARKER = 1024  # bytes; real ones have some two hundred
_MAX_MARKERS = 1000  # in a mebibyte; real ones stand side by side, one for each tool that took part
_DEX = re.compile(r"([^/]+/dex/)?classes[0-9]*\.dex", re.ASCII)
_MARKER = re.compile(rb"~~R8(\{[^{}\0]{0,%d}\})" % _MAX_MARKER)
_MARKED = re.compile(rb'"pg-map-id":"([0-9A-Za-z_-]{1,128})"')
_HEADED = re.compile(
    rb"^# pg_map_(?:id: *|hash: *SHA-256 +)([0-9A-Za-z_-]{1,128})[ \t\r]*$",
    re.MULTILINE,
)


def mapping_file(name: str, workspace: Workspace) -> Artifact:
    """Return the mapping, recognised by its first class line (`a.b.C -> x.y:`). Raises InputError
    (`mapping-file`).
    """
    artifact = read_artifact(name, workspace, "mapping", _INPUT)
    with artifact.reader() as file:
        lines = file.read(_HEADER).splitlines()
    first = _first_line_of_content(lines)
    if first is None:
        raise InputError(
            Problem(
                _INPUT,
                f"{artifact.name} contains no classes. Was the build minified?",
                _ACCEPTED,
            )
        )
    if not _CLASS.fullmatch(first):
        raise InputError(
            Problem(
                _INPUT, f"{artifact.name} is not an R8 or ProGuard mapping.", _ACCEPTED
            )
        )
    return artifact


def _first_line_of_content(lines: Iterable[bytes]) -> bytes | None:
    """Return the first line that is neither empty nor a comment, None if there is none."""
    for line in lines:
        if line.strip() and not line.lstrip().startswith(b"#"):
            return line
    return None


def ids_of_mapping(head: bytes) -> frozenset[str]:
    """Return the ids in the beginning of a mapping: the id itself and the hash, if they are
    there.
    """
    return frozenset(map_id.decode() for map_id in _HEADED.findall(head))


def ids_of_artifact(artifact: Artifact) -> frozenset[str]:
    """Return the map ids in the first dex file of an APK or bundle that has any. Raises InputError
    (`files`).
    """
    with input_errors(artifact.name), artifact.reader() as file:
        archive = Archive(file, lambda name: _DEX.fullmatch(name) is not None)
        left = MAX_DEX
        for name in sorted(archive.members, key=_dex_order):
            ids: set[str] = set()
            # The end of the last piece, in which a marker may have begun.
            kept = b""
            for piece in archive.pieces(name, left):
                left -= len(piece)
                window = kept + piece
                ids.update(_ids_of_markers(window))
                kept = window[-_MAX_MARKER:]
            if ids:
                return frozenset(ids)
    return frozenset()


def _dex_order(name: str) -> tuple[bool, int, str]:
    """Return a sort key that puts the app's own dex files before those of other modules, and
    `classes2.dex` before `classes10.dex`.
    """
    return not name.startswith(("base/", "classes")), len(name), name


def _ids_of_markers(dex: bytes) -> Iterator[str]:
    """Yield the map ids in a part of a dex file."""
    for marker in islice(_MARKER.finditer(dex), _MAX_MARKERS):
        # This backend writes class files, so the marker is that of a library that was shrunk before
        # the app.
        if b'"backend":"cf"' in marker[1]:
            continue
        for map_id in _MARKED.findall(marker[1]):
            yield map_id.decode()


def same_build(mapping: frozenset[str], dex: frozenset[str]) -> bool:
    """Return whether a mapping and a dex file may come from one build: they share an id, an id
    begins the hash, or one of the two has no ids.
    """
    if not mapping or not dex:
        return True
    return any(mapping_id.startswith(tuple(dex)) for mapping_id in mapping)
