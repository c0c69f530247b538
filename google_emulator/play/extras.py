"""What goes with an APK or a bundle in an edit: deobfuscation files and expansion files."""

from __future__ import annotations

from google_emulator.answers import Answer, Json, Refusal, as_json
from google_emulator.exchange import Exchange
from google_emulator.play.edits import BASE, open_edit
from google_emulator.play.model import Edit
from google_emulator.router import Media, Route, UploadMethod

SYMBOL_TYPES = ("proguard", "nativeCode")
EXPANSION_TYPES = ("main", "patch")
_OF_APK = BASE + "/{edit}/apks/{code}"


def _code(x: Exchange, edit: Edit) -> int:
    """The version code of the path, which must be in the edit."""
    text = x.params["code"]
    if not text.isdecimal() or int(text) not in edit.content.artifacts:
        raise Refusal(404, f"Version code {text} could not be found.", "apkNotFound", domain="androidpublisher")
    return int(text)


def _kind(x: Exchange, kinds: tuple[str, ...]) -> str:
    if x.params["type"] not in kinds:
        raise Refusal(400, f"Invalid value {x.params['type']!r}; one of {', '.join(kinds)} is expected.")
    return x.params["type"]


def _check_symbols(x: Exchange) -> None:
    _code(x, open_edit(x))
    _kind(x, SYMBOL_TYPES)


def _add_symbols(x: Exchange, media: Media) -> dict[str, Json]:
    edit = open_edit(x)
    kind = _kind(x, SYMBOL_TYPES)
    edit.content.symbols[_code(x, edit), kind] = {"sha256": media.blob.hex("sha256"), "size": media.blob.size}
    return {"deobfuscationFile": {"symbolType": kind}}


def _expansion_key(x: Exchange, edit: Edit) -> tuple[int, str]:
    code = _code(x, edit)
    if edit.content.artifacts[code].kind != "apk":
        raise Refusal(400, "Expansion files are only for APKs, not for bundles.")
    return code, _kind(x, EXPANSION_TYPES)


def _check_expansion(x: Exchange) -> None:
    _expansion_key(x, open_edit(x))


def _add_expansion(x: Exchange, media: Media) -> dict[str, Json]:
    edit = open_edit(x)
    expansion: dict[str, Json] = {"fileSize": str(media.blob.size)}
    edit.content.expansion[_expansion_key(x, edit)] = expansion
    return {"expansionFile": expansion}


def _get_expansion(x: Exchange) -> Answer:
    edit = open_edit(x)
    found = edit.content.expansion.get(_expansion_key(x, edit))
    if found is None:
        raise Refusal(404, "No expansion file was found.", "expansionFileNotFound", domain="androidpublisher")
    return as_json(found)


def _refer(x: Exchange) -> Answer:
    """An expansion file taken from another version, which must have one of its own."""
    edit = open_edit(x)
    key = _expansion_key(x, edit)
    other = x.json().get("referencesVersion")
    if not str(other).isdecimal():
        raise Refusal(400, "referencesVersion must be a version code.")
    if "fileSize" not in edit.content.expansion.get((int(str(other)), key[1]), {}):
        raise Refusal(400, f"Version code {other} has no {key[1]} expansion file to refer to.")
    edit.content.expansion[key] = {"referencesVersion": int(str(other))}
    return as_json(edit.content.expansion[key])


_EXPANSION = _OF_APK + "/expansionFiles/{type}"
ROUTES = (
    Route("androidpublisher.edits.expansionfiles.get", "GET", _EXPANSION, _get_expansion),
    Route("androidpublisher.edits.expansionfiles.patch", "PATCH", _EXPANSION, _refer),
    Route("androidpublisher.edits.expansionfiles.update", "PUT", _EXPANSION, _refer),
)
UPLOADS = (
    UploadMethod(
        "androidpublisher.edits.expansionfiles.upload",
        "/upload" + _EXPANSION,
        _add_expansion,
        _check_expansion,
        accept=("application/octet-stream",),
        limit=2 << 30,
    ),
    UploadMethod(
        "androidpublisher.edits.deobfuscationfiles.upload",
        "/upload" + _OF_APK + "/deobfuscationFiles/{type}",
        _add_symbols,
        _check_symbols,
        accept=("application/octet-stream",),
        limit=2_097_152_000,
    ),
)
