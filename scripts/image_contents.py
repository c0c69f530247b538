"""Tells scanners what the image is made of: Debian's records of its packages, their licences, a
bill of materials.

The files come one by one from another image, so the database of its package manager does not come
along. Each package of which there is a file has its record in `/var/lib/dpkg/status.d`, where
scanners look in images that were made so.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
from collections.abc import Iterable
from importlib.metadata import distributions
from pathlib import Path
from urllib.parse import quote

GENERATED_FROM = {
    "ca-certificates"
}  # no package owns the one file with all certificates
BILL = "app/bill-of-materials.cdx.json"


def tell_scanners(root: Path, taken: Iterable[Path], app: Path) -> None:
    """Writes the records below `root` for the files that were `taken`, and those of the packages
    below `app`.
    """
    records = [debian_record(name) for name in sorted(owners(taken) | GENERATED_FROM)]
    for record in records:
        keep(root / "var/lib/dpkg/status.d" / field(record, "Package"), record)
        copyright_file = Path("/usr/share/doc", field(record, "Package"), "copyright")
        # Debian's smallest images have no links among these
        if copyright_file.exists():
            keep(
                root / copyright_file.relative_to("/"),
                copyright_file.read_text(encoding="utf-8"),
            )
    keep(root / BILL, json.dumps(bill_of_materials(records, app), indent=1))


def keep(path: Path, text: str) -> None:
    """Writes a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def owners(files: Iterable[Path]) -> set[str]:
    """The Debian packages that the files come from; what was installed otherwise has none."""
    words = ["dpkg-query", "--search", *sorted(map(str, files))]
    lines = subprocess.run(
        words, capture_output=True, text=True, check=False
    ).stdout.splitlines()
    return {name for line in lines for name in line.partition(": ")[0].split(", ")}


def debian_record(package: str) -> str:
    """What Debian says of an installed package: its name, version, source and more, a field a
    line.
    """
    return subprocess.run(
        ["dpkg-query", "--status", package], capture_output=True, text=True, check=True
    ).stdout


def field(record: str, name: str) -> str:
    """One field of a record. Raises KeyError."""
    found = re.search(rf"^{name}: (.*)$", record, flags=re.MULTILINE)
    if found is None:
        raise KeyError(name)
    return found[1]


def bill_of_materials(records: Iterable[str], app: Path) -> dict[str, object]:
    """Debian's packages, Python, and the packages that are installed below `app`, as CycloneDX."""
    (packages,) = app.glob("venv/lib/python*/site-packages")
    release = f"?distro=debian-{platform.freedesktop_os_release()['VERSION_ID']}"
    found = [
        *(
            component(
                "deb/debian",
                field(record, "Package"),
                field(record, "Version"),
                release,
            )
            for record in records
        ),
        component("generic", "python", platform.python_version()),
        *(
            component("pypi", each.name, each.version)
            for each in distributions(path=[str(packages)])
        ),
    ]
    by_address = sorted(found, key=lambda each: each["purl"])
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "components": by_address,
    }


def component(
    kind: str, name: str, version: str, qualifiers: str = ""
) -> dict[str, str]:
    """One entry of the bill. PyPI's names are written one way in a package URL, whatever the
    package calls itself.
    """
    written = name.lower().replace("_", "-") if kind == "pypi" else name
    address = f"pkg:{kind}/{quote(written)}@{quote(version)}{qualifiers}"
    return {
        "type": "library",
        "bom-ref": address,
        "name": name,
        "version": version,
        "purl": address,
    }
