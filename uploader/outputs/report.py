"""What the job summary is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from uploader import __version__
from uploader.errors import UploaderError
from uploader.inputs.provenance import Provenance
from uploader.results import FileResult
from uploader.services.base import Heading, Section

# In a release of this program the owner is filled in. In a checkout the owner is unknown, so the
# page has no address.
_REPOSITORY = "https://github.com/OWNER/google-release-uploader"
TROUBLESHOOTING = ""
if "/owner/" not in _REPOSITORY.lower():
    TROUBLESHOOTING = f"{_REPOSITORY}/blob/v{__version__}/docs/TROUBLESHOOTING.md"


@dataclass(frozen=True)
class Report:
    """What the page is made of. A dry run or a rehearsal that failed keeps its `outcome` and has an
    `error`.

    `apps` are the packages of the apps that the run is about. If there is only one, `app_title` is
    its name in Google Play, "" if unknown.

    `heading` is what became of a release, and `fate` what did not happen if the run failed, such as
    `Not released`. `todo` is what a person still has to do. The run took `seconds`, and for
    `waited` seconds of them it waited for answers. `pictures` are the addresses of images that are
    in the commit, by their paths.
    """

    headline: str
    target: str
    outcome: Literal["ok", "failed", "dry-run", "rehearsal"]
    endpoint: str = ""
    apps: tuple[str, ...] = ()
    app_title: str = ""
    files: tuple[FileResult, ...] = ()
    outputs: Mapping[str, str] = field(default_factory=dict)
    links: tuple[tuple[str, str], ...] = ()
    sections: tuple[Section, ...] = ()
    warnings: tuple[str, ...] = ()
    error: UploaderError | None = None
    # the address of the page about failures, "" if unknown
    troubleshooting: str = TROUBLESHOOTING
    heading: Heading | None = None
    fate: str = ""
    todo: str = ""
    provenance: Provenance = Provenance()
    seconds: float = 0.0
    waited: float = 0.0
    pictures: Mapping[str, str] = field(default_factory=dict)
