"""Checks an R8 or ProGuard mapping, by which Play turns obfuscated crash reports back into the
app's own names.

R8 heads a mapping with `# pg_map_id: 7fe8b95` and `# pg_map_hash: SHA-256 …`, of which the id is
the whole or the beginning, and leaves a marker among the strings of the dex files:
`~~R8{…,"pg-map-id":"7fe8b95",…}` (`Marker` and `ProguardMapSupplier` in r8.googlesource.com): it
tells whether a mapping and an artifact come from one build. Other compilers write neither, and then
nothing is known.
"""

from __future__ import annotations

import re
from itertools import islice

from uploader.errors import InputError, Problem
from uploader.files.android.archive import Archive, input_errors
from uploader.files.android.limits import sized_file
from uploader.files.artifacts import Artifact
from uploader.files.workspace import Workspace

# bytes to unpack; the first dex file of an app, which has the marker, has far fewer
MAX_DEX = 64 << 20
_INPUT = "mapping-file"
_ACCEPTED = "mapping.txt as R8 or ProGuard writes it, not compressed"
_CLASS = re.compile(rb"[^\s:]+ -> [^\s:]+:\s*")
_HEADER = 1 << 20  # bytes in which the first class has to come; before it there are only comments
_MAX_MARKER = 1024  # bytes; real ones have some two hundred
_MAX_MARKERS = 1000  # in a mebibyte; real ones stand side by side, one for each tool that took part
_DEX = re.compile(r"([^/]+/dex/)?classes[0-9]*\.dex", re.ASCII)
_MARKER = re.compile(rb"~~R8(\{[^{}\0]{0,%d}\})" % _MAX_MARKER)
_MARKED = re.compile(rb'"pg-map-id":"([0-9A-Za-z_-]{1,128})"')
_HEADED = re.compile(
    rb"^# pg_map_(?:id: *|hash: *SHA-256 +)([0-9A-Za-z_-]{1,128})[ \t\r]*$", re.MULTILINE
)


def mapping_file(name: str, workspace: Workspace) -> Artifact:
    """The mapping, known by its first class line (`a.b.C -> x.y:`). Raises InputError
    (`mapping-file`).
    """
    artifact = sized_file(name, workspace, "mapping", _INPUT)
    with artifact.reader() as file:
        lines = file.read(_HEADER).splitlines()
    first = next(
        (line for line in lines if line.strip() and not line.lstrip().startswith(b"#")), None
    )
    if first is None:
        raise InputError(
            Problem(
                _INPUT, f"{artifact.name} contains no classes. Was the build minified?", _ACCEPTED
            )
        )
    if not _CLASS.fullmatch(first):
        raise InputError(
            Problem(_INPUT, f"{artifact.name} is not an R8 or ProGuard mapping.", _ACCEPTED)
        )
    return artifact


def ids_of_mapping(head: bytes) -> frozenset[str]:
    """The ids in the beginning of a mapping: the id itself and the hash, as far as they are
    there.
    """
    return frozenset(found.decode() for found in _HEADED.findall(head))


def ids_of_artifact(artifact: Artifact) -> frozenset[str]:
    """The map ids in the first dex file of an APK or bundle that has any. Raises InputError
    (`files`).
    """
    with input_errors(artifact.name), artifact.reader() as file:
        archive, left = Archive(file, lambda name: _DEX.fullmatch(name) is not None), MAX_DEX
        names = sorted(
            archive.members,
            key=lambda name: (not name.startswith(("base/", "classes")), len(name), name),
        )
        for name in names:
            kept, found = b"", set[str]()
            for piece in archive.pieces(name, left):
                left -= len(piece)
                window = kept + piece
                for match in islice(_MARKER.finditer(window), _MAX_MARKERS):
                    # of a library that was shrunk before the app was
                    if b'"backend":"cf"' not in match[1]:
                        found.update(each.decode() for each in _MARKED.findall(match[1]))
                kept = window[-_MAX_MARKER:]
            if found:
                return frozenset(found)
    return frozenset()


def same_build(mapping: frozenset[str], dex: frozenset[str]) -> bool:
    """Whether nothing speaks against it: one of the ids is the same or begins the hash, or one side
    has none.
    """
    return not (mapping and dex) or any(
        ours.startswith(theirs) for ours in mapping for theirs in dex
    )
