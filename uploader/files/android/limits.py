"""The largest files and texts that Google Play accepts.

Sources: "discovery" is `maxSize` in the discovery document of androidpublisher v3; "help" is the
Play Console Help, "console" what the Play Console itself says beside the field. The API's documents
name no limit for the last two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from uploader.errors import InputError, Problem, Problems
from uploader.files.artifacts import MAX_ARTIFACT, Artifact, add_digests, from_path
from uploader.files.workspace import Workspace

MAX_BYTES: Mapping[str, int] = {  # of the largest file of each kind
    **MAX_ARTIFACT,
    "mapping": 2_097_152_000,  # discovery, edits.deobfuscationfiles.upload
    "symbols": 2_097_152_000,  # the same
    "expansion": 2_147_483_648,  # discovery, edits.expansionfiles.upload: 2 GiB
    "image": 15_728_640,  # discovery, edits.images.upload: 15 MiB
    "shared bundle": 10_737_418_240,  # discovery, internalappsharingartifacts.uploadbundle: 10 GiB
    "shared apk": 1_073_741_824,  # discovery, internalappsharingartifacts.uploadapk: 1 GiB
}

MAX_RELEASE_NOTES = 500  # characters a language; help, "Prepare and roll out a release"
MAX_RELEASE_NAME = 50  # characters; console
# characters by the API's field; help, "Create and set up your app"
MAX_LISTING_TEXT: Mapping[str, int | None] = {
    "title": 30,
    "shortDescription": 80,
    "fullDescription": 4000,
    "video": None,  # an address
}
# of one type in one language; help, "Add preview assets to showcase your app"
MAX_SCREENSHOTS = 8


@dataclass(frozen=True)
class ImageRule:
    """What one image type accepts, in pixels: the `exact` width and height, or sides within limits.
    Play only asks for the `advised` side and a `square` image.
    """

    exact: tuple[int, int] | None = None
    min_side: int = 320
    max_side: int = 3840
    advised: int = 0
    square: bool = False


IMAGE_RULES: Mapping[str, ImageRule] = {
    "icon": ImageRule(exact=(512, 512)),
    "featureGraphic": ImageRule(exact=(1024, 500)),
    "tvBanner": ImageRule(exact=(1280, 720)),
    "phoneScreenshots": ImageRule(),
    "sevenInchScreenshots": ImageRule(),
    "tenInchScreenshots": ImageRule(max_side=7680, advised=1080),
    "tvScreenshots": ImageRule(),
    "wearScreenshots": ImageRule(min_side=384, square=True),
}
"""Rules by the API's image type (discovery, `AppImageType`). The dimensions are those that the
console names beside each field.
"""


def check_size(
    artifact: Artifact,
    kind: str,
    problems: Problems,
    input_name: str = "files",
) -> None:
    """Add a problem when the file is larger than Play takes for its kind (a key of MAX_BYTES)."""
    if artifact.size is not None and artifact.size > MAX_BYTES[kind]:
        what = (
            f"{artifact.name} has {artifact.size:,} bytes; Play accepts at most "
            f"{MAX_BYTES[kind]:,}."
        )
        problems.add(input_name, what)


def read_artifact(
    name: str,
    workspace: Workspace,
    kind: str,
    input_name: str,
) -> Artifact:
    """Return the file that an input names, digested. Raises InputError for that input, also when
    the file is larger than Play takes.
    """
    artifact = from_path(workspace.root / name, name, workspace.access(input_name))
    problems = Problems()
    check_size(artifact, kind, problems, input_name)
    problems.raise_if_any()
    return add_digests(artifact)


def expansion_file(value: str, workspace: Workspace, input_name: str) -> Artifact | int:
    """Return an expansion file, or the version code behind `references:`. Raises InputError for
    that input.
    """
    if value.startswith("references:"):
        return int(value.removeprefix("references:"))
    artifact = read_artifact(value, workspace, "expansion", input_name)
    if artifact.size == 0:
        raise InputError(Problem(input_name, f"{artifact.name} is empty (0 bytes)."))
    return artifact
