"""Checks whether an APK is the one that Google Play's list of generated APKs says it is.

An APK names its split and its module itself, and its signature covers that. So an APK in the place
of another one of the same app and version is recognised. An APK does not say for which variant it
is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from uploader.files.android.manifest_merge import is_always_installed, is_asset_pack
from uploader.files.android.served_files import Bundle, Identity

ListedKind: TypeAlias = Literal["split", "standalone", "universal", "slice"]


@dataclass(frozen=True)
class ListedApk:
    """What the list says of an APK (androidpublisher v3, GeneratedSplitApk and its siblings).

    `split` is the name of the split, empty for the main split of the base; `module` may be empty if
    the list has none. For a slice of an asset pack, `split` is the id of the slice.
    """

    kind: ListedKind
    module: str = ""
    split: str = ""

    @property
    def words(self) -> str:
        """What the APK should be, in a few words."""
        if self.kind == "slice":
            pack = self.module or self.split
            return f"a slice of the asset pack {pack}"
        if self.kind != "split":
            return f"a {self.kind} APK"
        if self.split:
            module = self.module or "base"
            return f"the split {self.split} of the module {module}"
        return "the main split of the base"


def objection(listed: ListedApk, identity: Identity, bundle: Bundle) -> str:
    """Return why an APK is not the one that is listed, as the rest of a sentence that begins with
    its name; empty if it is. `identity` is what the APK says it is.
    """
    if _is_as_listed(listed, identity, bundle):
        return ""
    actual = _words(identity)
    return f"is {actual}, but Google Play lists it as {listed.words}."


def is_slice_without_version(identity: Identity, bundle: Bundle) -> bool:
    """Return whether an APK rightly has no version code: bundletool writes one only into the slices
    of packs that are there from the installation on (AssetSlicesGenerator).
    """
    if identity.version_code or not identity.split:
        return False
    if not _is_of_asset_pack(identity, bundle):
        return False
    module = bundle.modules[identity.module]
    return not is_always_installed(module.manifest)


def _is_of_asset_pack(identity: Identity, bundle: Bundle) -> bool:
    module = bundle.modules.get(identity.module)
    if module is None:
        return False
    return is_asset_pack(module.manifest)


def _is_as_listed(listed: ListedApk, identity: Identity, bundle: Bundle) -> bool:
    if listed.kind == "slice":
        return _is_slice(listed, identity, bundle)
    if listed.kind == "split":
        return _is_split(listed, identity, bundle)
    if listed.kind == "standalone" and identity.kind == "feature":
        return bundle.config.separate_features
    if identity.split:
        return False
    return not identity.splits_required


def _is_slice(listed: ListedApk, identity: Identity, bundle: Bundle) -> bool:
    if not identity.split or not _is_of_asset_pack(identity, bundle):
        return False
    if listed.module not in ("", identity.module):
        return False
    if listed.split == identity.split:
        return True
    # No document says how the id of a slice is written. bundletool's is the name of the split, so
    # an id that is the name of another split of this pack means that split.
    if listed.split == identity.module:
        return False
    beginning = f"{identity.module}.config."
    return not listed.split.startswith(beginning)


def _is_split(listed: ListedApk, identity: Identity, bundle: Bundle) -> bool:
    if listed.split != identity.split:
        return False
    if listed.module not in ("", identity.module):
        return False
    if _is_of_asset_pack(identity, bundle):
        return False
    if identity.split:
        return True
    return not _is_whole_for_sure(identity, bundle)


def _is_whole_for_sure(identity: Identity, bundle: Bundle) -> bool:
    """Return whether an APK without the name of a split can't be the main split of the base.

    In the main split bundletool only notes modules if others than the base became part of it, and
    only those that are on every device (BundleModuleMerger).
    """
    fused = set(identity.fused)
    if fused == {"base"}:
        return True
    for name in fused & bundle.modules.keys():
        module = bundle.modules[name]
        if not is_always_installed(module.manifest):
            return True
    return False


def _words(identity: Identity) -> str:
    if identity.kind == "standalone":
        return "an APK that is whole in itself"
    if identity.kind == "base":
        return "the main split of the base"
    split = identity.split[:100]
    module = identity.module[:100]
    return f"the split {split} of the module {module}"
