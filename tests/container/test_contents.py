"""What is in the image, and that it is enough: modules, libraries, certificates, a shell, and what
scanners read.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from scripts.image_root import TOOLS
from tests.container.conftest import Image

pytestmark = pytest.mark.slow

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LARGEST = 32_000_000  # bytes, packed as a registry holds it, everything included
RUNNERS_SHELL = """
if [ -x /usr/local/bin/bash ]; then exec /usr/local/bin/bash
elif [ -x /usr/bin/bash ]; then exec /usr/bin/bash
elif [ -x /bin/bash ]; then exec /bin/bash
elif [ -x /bin/sh ]; then exec /bin/sh
else echo shell not found; exit 1; fi
"""  # as GitLab's runner looks for one
# Quoted for bash, as it does unless FF_POSIXLY_CORRECT_ESCAPES is set.
RUNNERS_SCRIPT = (
    "set -eo pipefail\n"
    r": | eval $'export TITLE=$\'it\\\'s\\ntwo lines\'\nmkdir build\ncd build\n"
    r"""echo "$TITLE" | wc -l\nuploader --version\n'"""
    "\n"
)


def layers(image: str) -> list[str]:
    """The digests of the unpacked layers."""
    words = [str(HERE / "podman"), "inspect", "--format={{json .RootFS.Layers}}", image]
    found: list[str] = json.loads(
        subprocess.run(words, check=True, capture_output=True).stdout
    )
    return found


def packed(image: str, folder: Path) -> int:
    """The bytes that a pull of the image moves: its layers, packed by gzip."""
    words: Sequence[str] = [
        str(HERE / "podman"),
        "push",
        "--quiet",
        image,
        f"oci:{folder}",
    ]
    subprocess.run(words, check=True, capture_output=True)
    return sum(file.stat().st_size for file in (folder / "blobs" / "sha256").iterdir())


def test_the_image_is_small(image: Image, tmp_path: Path) -> None:
    """A job that has never seen it, as every job on a hosted runner, pulls 32 MB at most; there is
    no base below.
    """
    assert packed(image.name, tmp_path / "oci") <= LARGEST
    assert len(layers(image.name)) == 2


@pytest.mark.timeout(400)
def test_two_builds_give_the_same_layers(image: Image) -> None:
    """The second build, from nothing, has the digests of the first: anyone can find out what an
    image was made of.
    """
    again = subprocess.run(
        ["sh", str(HERE / "build"), "again", "--no-cache"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert layers(again.stdout.strip()) == layers(image.name)


def test_every_module_finds_what_it_imports(image: Image) -> None:
    """Of the standard library nothing is missing that an import wants, late ones included: Windows
    and Tk aside.
    """
    found = json.loads(image.python((HERE / "imports.py").read_text(encoding="utf-8")))
    assert found["count"] > 600
    assert found["absent"] == {
        "winreg": ["requests.utils"],
        "tkinter": ["tqdm.tk"],
        "tkinter.ttk": ["tqdm.tk"],
    }
    ours = [
        name
        for name in found["failed"]
        if name.startswith(("uploader", "google_emulator"))
    ]
    assert not ours
    assert all("tqdm" in name or why for name, why in found["failed"].items()), (
        "a module fails for another reason"
    )


def test_the_modules_are_bytecode_alone(image: Image) -> None:
    """Sources are as large again; the one that is there is the name by which the program is
    called.
    """
    assert image.run(
        "-c", "find / -xdev -name '*.py'", entrypoint="sh"
    ).stdout.split() == ["/app/entrypoint.py"]


def test_every_library_is_there(image: Image) -> None:
    """All machine code can be loaded with all that it calls, and threads may end."""
    code = (
        "import ctypes, os, pathlib, sys\n"
        "files = [str(f) for p in sys.path for f in pathlib.Path(p).rglob('*.so')]\n"
        "files += [str(f) for f in pathlib.Path('/usr/lib').rglob('lib*.so.*')]\n"
        "for file in files: ctypes.CDLL(file, mode=os.RTLD_NOW)\n"
        "ctypes.CDLL('libgcc_s.so.1')\n"
        "print(len(files))"
    )
    assert int(image.python(code)) > 50


def test_the_trusted_certificates_are_there(image: Image) -> None:
    """For the program, which has those of its lock, and for Python itself, which asks OpenSSL for
    the system's.
    """
    code = (
        "import ssl, certifi; print(*(len(ssl.create_default_context(cafile=file).get_ca_certs()) "
        "for file in {}))"
    )
    system, locked = map(
        int, image.python(code.format("(None, certifi.where())")).split()
    )
    assert system > 100
    assert locked > 100


# A job's script


def test_a_job_of_gitlab_finds_its_shell(image: Image) -> None:
    """GitLab's runner looks for bash first, feeds it the script on standard input, and quotes it
    for bash alone.
    """
    words = [
        str(HERE / "podman"),
        "run",
        "--rm",
        "--interactive",
        "--network=none",
        "--workdir=/tmp",
    ]
    done = subprocess.run(
        [*words, "--entrypoint=", image.name, "sh", "-c", RUNNERS_SHELL],
        input=RUNNERS_SCRIPT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.split()[0]) == (0, "2"), done.stderr
    assert done.stdout.splitlines()[1].startswith("uploader ")


USUAL_WORK = r"""
set -eu
mkdir -p a/b; printf 'one\ntwo\n' > a/b/c; cp a/b/c a/d; tar -czf t.tgz a; rm -r a; tar -xzf t.tgz
find a -type f | sort | xargs sha256sum | cut -d ' ' -f 1 | uniq | wc -l
grep -c two a/d; sed s/one/1/ a/d | head -n 1; stat -c %a /tmp
ls -l "$(mktemp)" "$(readlink -f /bin/sh)" > /dev/null; sleep 0
env | tr a-z A-Z | tail -n 1 > /dev/null
"""


def test_the_usual_tools_work(image: Image) -> None:
    """Each is there with its libraries; files are packed, searched, counted, compared by digest."""
    look = f"for tool in {' '.join(TOOLS)}; do command -v $tool > /dev/null || echo $tool; done"
    assert image.run("-c", look, entrypoint="sh").stdout == ""
    done = image.run("-c", USUAL_WORK, entrypoint="bash")
    assert (done.stdout.split(), done.stderr) == (["1", "1", "1", "1777"], "")


# What is inside


def test_scanners_find_what_is_inside(image: Image) -> None:
    """The release of Debian, a record and a licence for each of its packages, and a bill that lists
    all there is.
    """
    script = (
        "cat /etc/os-release; cat /var/lib/dpkg/status.d/*; cat "
        "/app/bill-of-materials.cdx.json"
    )
    text = image.run("-c", script, entrypoint="sh").stdout
    assert re.search(r"^ID=debian$", text, flags=re.MULTILINE)
    records = dict(
        re.findall(
            r"^Package: (\S+)\n(?:.+\n)*?Version: (\S+)$", text, flags=re.MULTILINE
        )
    )
    assert {
        "bash",
        "ca-certificates",
        "coreutils",
        "libc6",
        "libssl3t64",
    } <= records.keys()
    licences = image.run(
        "-c", "cd /usr/share/doc && ls", entrypoint="sh"
    ).stdout.split()
    assert set(licences) == records.keys()
    bill = {
        each["name"]
        for each in json.loads(text[text.index('{\n "bomFormat"') :])["components"]
    }
    locked = set(
        re.findall(
            r"^([\w-]+)==", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE
        )
    )
    elsewhere = {"colorama", "typing-extensions"}  # for Windows, and for older Pythons
    assert records.keys() | {"python"} <= bill
    assert locked - elsewhere | {"google-release-uploader"} <= {
        name.lower().replace("_", "-") for name in bill
    }


def test_a_rehearsal_needs_nothing_else(image: Image) -> None:
    """An env file, parameters in YAML and the emulator inside the run: all from the image, on no
    network.
    """
    (image.workspace / "notes.pdf").write_bytes(b"%PDF-1.7\n")
    (image.workspace / "job.env").write_text(
        "UPLOADER_TARGET=storage.objects.insert\nUPLOADER_PARAMS='bucket: "
        "releases'\nUPLOADER_FILES=notes.pdf\nUPLOADER_API_ENDPOINT=emulator\n"
    )
    done = image.run("--env-file", "job.env")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        "google_emulator"
        in image.run("-m", "google_emulator", "--help", entrypoint="python").stdout
    )
