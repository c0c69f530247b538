"""Writes what scanners need to know about the image: Debian's records of its packages, their
licences, and a bill of materials.

The files are taken one by one from another image, without the database of its package manager. Each
package that a file belongs to gets its record in `/var/lib/dpkg/status.d`, where scanners look in
images of this kind.
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

# No package owns the file with all certificates, which is generated from this one.
GENERATED_FROM = {"ca-certificates"}
BILL = "app/bill-of-materials.cdx.json"


def tell_scanners(root: Path, taken: Iterable[Path], app: Path) -> None:
    """Write the records below `root`: those of the packages of the files in `taken`, and the bill
    of materials, which also has the packages below `app`.
    """
    records = [debian_record(name) for name in sorted(owners(taken) | GENERATED_FROM)]
    for record in records:
        keep(root / "var/lib/dpkg/status.d" / field(record, "Package"), record)
        copyright_file = Path("/usr/share/doc", field(record, "Package"), "copyright")
        # Debian's smallest images do not have all of these files.
        if copyright_file.exists():
            keep(
                root / copyright_file.relative_to("/"),
                copyright_file.read_text(encoding="utf-8"),
            )
    keep(root / BILL, json.dumps(bill_of_materials(records, app), indent=1))


def keep(path: Path, text: str) -> None:
    """Write a file, and make the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def owners(files: Iterable[Path]) -> set[str]:
    """Return the Debian packages of the files; a file that was installed in another way has
    none.
    """
    words = ["dpkg-query", "--search", *sorted(map(str, files))]
    lines = subprocess.run(
        words, capture_output=True, text=True, check=False
    ).stdout.splitlines()
    return {name for line in lines for name in line.partition(": ")[0].split(", ")}


def debian_record(package: str) -> str:
    """Return Debian's record of an installed package: its name, version, source and more, one field
    a line.
    """
    return subprocess.run(
        ["dpkg-query", "--status", package], capture_output=True, text=True, check=True
    ).stdout


def field(record: str, name: str) -> str:
    """Return one field of a record. Raises KeyError if it is missing."""
    found = re.search(rf"^{name}: (.*)$", record, flags=re.MULTILINE)
    if found is None:
        raise KeyError(name)
    return found[1]


def bill_of_materials(records: Iterable[str], app: Path) -> dict[str, object]:
    """Return Debian's packages, Python, and the packages that are installed below `app`, as
    CycloneDX.
    """
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
            component("pypi", package.name, package.version)
            for package in distributions(path=[str(packages)])
        ),
    ]
    by_address = sorted(found, key=lambda entry: entry["purl"])
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "components": by_address,
    }


def component(
    kind: str, name: str, version: str, qualifiers: str = ""
) -> dict[str, str]:
    """Return one entry of the bill. A package URL has the normalised name of a PyPI package."""
    written = name.lower().replace("_", "-") if kind == "pypi" else name
    address = f"pkg:{kind}/{quote(written)}@{quote(version)}{qualifiers}"
    return {
        "type": "library",
        "bom-ref": address,
        "name": name,
        "version": version,
        "purl": address,
    }
