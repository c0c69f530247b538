"""Google's discovery documents accept what is sent to Play.

Every run that tests.support.job starts is held against the documents at its end; here is one that
sends a request of each kind.
"""

from __future__ import annotations

from pathlib import Path

from google_emulator import specimens
from tests.support.discovery import refused_by_google
from tests.support.emulator_client import PACKAGE
from tests.support.job import Job


def write_release(workspace: Path) -> dict[str, str]:
    """Everything that a release can carry, in a workspace; the answer is its inputs."""
    specimens.make_bundle(workspace / "app.aab", PACKAGE, 42, "1.0")
    texts = {
        "mapping.txt": "a.b -> c:\n",
        "notes/whatsnew-en-US": "News\n",
        "store/en-US/title.txt": "App\n",
        "store/en-US/short_description.txt": "Short\n",
        "store/en-US/full_description.txt": "Long\n",
    }
    for name, text in texts.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)
    images = workspace / "store" / "en-US" / "images"
    images.mkdir()
    specimens.make_image(images / "icon.png", 512, 512, color=(1, 2, 3), alpha=True)
    specimens.make_image(images / "featureGraphic.png", 1024, 500, color=(1, 2, 3))
    return {
        "target": "play",
        "files": "*.aab",
        "mapping-file": "mapping.txt",
        "whats-new-directory": "notes",
        "images-directory": "store",
        "images-prune": "true",
    }


def test_a_whole_release_is_as_the_documents_say(job: Job) -> None:
    """Bundle, mapping, notes, texts, images and two tracks, staged with countries; then a
    promotion.
    """
    inputs = write_release(job.workspace)
    staged = {
        "tracks": "production",
        "user-fraction": "0.1",
        "countries": "DE, AT",
        "in-app-update-priority": "3",
    }
    job.succeed({**inputs, **staged})
    job.succeed(
        {
            "target": "play",
            "package-name": PACKAGE,
            "promote-from": "production",
            "tracks": "beta",
        }
    )
    served = {
        name
        for name in job.emulator.state()["requests"]
        if name.startswith("androidpublisher.")
    }
    parts = (
        "insert",
        "bundles.upload",
        "deobfuscationfiles.upload",
        "listings.update",
        "images.upload",
        "commit",
    )
    assert {f"androidpublisher.edits.{part}" for part in parts} <= served
    assert {
        "androidpublisher.edits.tracks.update",
        "androidpublisher.edits.tracks.patch",
    } & served
    assert len(job.emulator.requests) > 10
    assert refused_by_google(job.emulator.requests) == []
