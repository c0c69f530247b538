"""Kinds of runs whose job summaries and logs are looked at: what is live before, what the workspace
holds, and what is asked for. Each is a real run against the emulator, as a job on GitHub or GitLab.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google_emulator import Emulator, specimens
from tests.support.job import Ended, Job

APP = "com.example.shop"
APPS = ("com.example.phone", "com.example.watch", "com.example.tv")
MIB = 1024 * 1024
SHA = "5f0e1c2d3b4a59687766554433221100ffeeddcc"
# what GitHub's runner says of the run
RUN = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "example/shop",
    "GITHUB_SHA": SHA,
    "GITHUB_REF_TYPE": "tag",
    "GITHUB_REF_NAME": "v1.4.2",
    "GITHUB_ACTOR": "octocat",
    "GITHUB_TRIGGERING_ACTOR": "octocat",
    "GITHUB_RUN_ID": "7001",
}
# what GitLab's runner says of it
GITLAB_RUN = {
    "CI_SERVER_URL": "https://gitlab.example",
    "CI_PROJECT_URL": "https://gitlab.example/example/shop",
    "CI_COMMIT_SHA": SHA,
    "CI_COMMIT_TAG": "v1.4.2",
    "GITLAB_USER_LOGIN": "ada",
}
PRODUCTION = {"target": "play", "package-name": APP, "tracks": "production"}
ROLLOUT = {
    "target": "play-rollout",
    "package-name": APP,
    "tracks": "production",
    "rollout-steps": "1%, 5%, 10%, 20%, 50%, 100%",
    "halt-above": "crash-rate 1.09%, crash-rate 1.5x, anr-rate 0.47%",
    "gate-period": "5",
}
RESUMABLE = {**PRODUCTION, "files": "*.aab", "chunk-size": "4MiB", "state-dir": "state"}
NOTES = {
    "en-US": "Starts twice as fast on older phones.\nSearch finds what you mean.\n\n"
    "Crashes less often when the network goes away in the middle of a payment.",
    "de-DE": "Startet auf älteren Telefonen doppelt so schnell.\nDie Suche findet, was du meinst.",
    "fr-FR": "Démarre deux fois plus vite sur les anciens téléphones.",
}


@dataclass
class Seen:
    """What a run has left: how it ended, and the files of the images that may be in its summary, by
    their digests and by their addresses.
    """

    ended: Ended
    images: dict[str, Path] = field(default_factory=dict)


@dataclass
class Scene:
    """The place of a run: an emulator, and a job in an empty workspace, of which `sha` is the
    commit.
    """

    job: Job
    pool: Path
    sha: str = SHA

    @property
    def emulator(self) -> Emulator:
        return self.job.emulator

    def bundle(
        self, name: str, package: str, code: int, version: str, size: int = 0
    ) -> None:
        """Write a bundle into the workspace."""
        path = self.job.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        specimens.make_bundle(path, package, code, version, size_bytes=size or 200_000)

    def text(self, name: str, content: str) -> None:
        """Write a text into the workspace."""
        path = self.job.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")

    def image(
        self,
        name: str,
        size: tuple[int, int],
        color: tuple[int, int, int],
        *,
        alpha: bool = False,
    ) -> None:
        """Write an image into the workspace."""
        path = self.job.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        specimens.make_image(path, *size, color=color, alpha=alpha)

    def commit(self) -> None:
        """Commit everything in the workspace, which then is as after a checkout."""
        author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
        for command in (
            ("init", "--quiet"),
            ("add", "--force", "."),
            (*author, "commit", "--quiet", "--message=Listing"),
        ):
            subprocess.run(["git", *command], cwd=self.job.workspace, check=True)
        self.sha = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=self.job.workspace,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    def release(self, code: int, name: str, package: str = APP, **more: Any) -> None:
        """Put a release on production."""
        entry = {"versionCodes": [str(code)], "name": name, **more}
        self.emulator.console.add_release(package, "production", entry)

    def rolling(self, fraction: float) -> None:
        """Put 41 on production for everybody, and 42 for a part of the users."""
        self.release(
            41, "1.4.1", releaseNotes=[{"language": "en-US", "text": "Small repairs."}]
        )
        self.release(42, "1.4.2", status="inProgress", userFraction=fraction)

    def measured(self, crash_rate: list[float], users: int = 5000) -> None:
        """Script what the Reporting API has of 41 and 42."""
        days = len(crash_rate)
        versions = {
            "41": {
                "users": 90_000,
                "userPerceivedCrashRate": 0.006,
                "userPerceivedAnrRate": 0.002,
            },
            "42": {
                "since": days,
                "users": users,
                "userPerceivedCrashRate": crash_rate,
                "userPerceivedAnrRate": 0.0021,
            },
        }
        self.emulator.vitals.script({APP: {"versions": versions}})

    def run(self, inputs: Mapping[str, str], **more: str) -> Seen:
        """One run, with what the runner says of it."""
        return self.seen(lambda: self.job.run(inputs, **{**self.runner, **more}))

    @property
    def runner(self) -> dict[str, str]:
        """The variables of the CI system."""
        if self.job.kind == "gitlab":
            return {**GITLAB_RUN, "CI_COMMIT_SHA": self.sha}
        return {**RUN, "GITHUB_SHA": self.sha}

    def seen(self, run: Callable[[], Ended]) -> Seen:
        """Return what a run leaves, with the images that are live before and after it."""
        images = self._live_images()
        ended = run()
        images |= self._live_images()
        for path in self.job.workspace.rglob("*.png"):
            name = path.relative_to(self.job.workspace)
            images[f"https://github.com/example/shop/raw/{self.sha}/{name}"] = path
        return Seen(ended, images)

    def _live_images(self) -> dict[str, Path]:
        """Return the files of what is live, by their addresses."""
        found: dict[str, Path] = {}
        for app in self.emulator.state()["apps"].values():
            for images in app.get("images", {}).values():
                for image in images:
                    file = self.pool / f"{image['sha256']}.png"
                    if not file.exists():
                        self._keep()
                    found[image["url"]] = file
        return found

    def _keep(self) -> None:
        """Keep the uploaded images under their digests."""
        for stored in self.emulator.state()["objects"]:
            if "/images" in stored["path"] or "/listings/" in stored["path"]:
                file = self.pool / f"{stored['sha256']}.png"
                file.write_bytes(Path(stored["file"]).read_bytes())


def release(scene: Scene) -> Seen:
    """A new version for 5 % of the users, with notes, a mapping, and a connection that broke."""
    scene.release(
        41, "1.4.1", releaseNotes=[{"language": "en-US", "text": "Small repairs."}]
    )
    scene.bundle(
        "app/build/outputs/bundle/release/app-release.aab", APP, 42, "1.4.2", 24 * MIB
    )
    scene.text("mapping.txt", "com.example.Shop -> a.a:\n    int price -> a\n")
    for language, text in NOTES.items():
        scene.text(f"whatsnew/whatsnew-{language}", text)
    scene.emulator.add_fault("resumable.put", "status", status=503, nth=2)
    scene.emulator.add_fault("resumable.put", "stall", seconds=0.7, times=9)
    inputs = {
        **PRODUCTION,
        "files": "app/build/outputs/bundle/release/*.aab",
        "user-fraction": "0.05",
        "mapping-file": "mapping.txt",
        "whats-new-directory": "whatsnew",
        "release-name": "1.4.2",
        "chunk-size": "8MiB",
    }
    return scene.run(inputs)


def staged_rollout_step(scene: Scene) -> Seen:
    """A rollout that goes on from 5 to 10 %."""
    scene.rolling(0.05)
    scene.measured([0.004, 0.005, 0.0046, 0.0052, 0.0049])
    return scene.run(ROLLOUT)


def held_gate(scene: Scene) -> Seen:
    """A rollout that stays, since few users have it."""
    scene.rolling(0.05)
    scene.measured([0.004], users=40)
    return scene.run(ROLLOUT)


def halted_gate(scene: Scene) -> Seen:
    """A rollout that crashes."""
    scene.rolling(0.05)
    scene.measured([0.004, 0.008, 0.0095, 0.021, 0.024])
    return scene.run(ROLLOUT)


def refusal(scene: Scene) -> Seen:
    """A release that Google Play refuses for a declaration."""
    scene.release(41, "1.4.1")
    scene.bundle("app-release.aab", APP, 42, "1.4.2", 2 * MIB)
    words = (
        "You must complete the health declaration form before you can publish changes "
        "to your app."
    )
    scene.emulator.add_fault("play.edits.commit", "status", status=403, message=words)
    return scene.run({**PRODUCTION, "files": "*.aab", "user-fraction": "0.05"})


def dry_run(scene: Scene) -> Seen:
    """A release of two bundles that is tried."""
    scene.release(41, "1.4.1")
    scene.bundle("app-release.aab", APP, 42, "1.4.2", 2 * MIB)
    for language, text in NOTES.items():
        scene.text(f"whatsnew/whatsnew-{language}", text)
    inputs = {**PRODUCTION, "files": "*.aab", "user-fraction": "0.1", "dry-run": "true"}
    return scene.run({**inputs, "whats-new-directory": "whatsnew"})


def listing(scene: Scene) -> Seen:
    """A store listing of which texts, icons and screenshots change, and a language that is new."""
    images = "listing/{}/images/{}"
    for language in ("en-US", "de-DE"):
        folder = images.format(language, "phoneScreenshots/{}.png")
        scene.image(
            images.format(language, "icon.png"), (512, 512), (31, 117, 203), alpha=True
        )
        scene.image(
            images.format(language, "featureGraphic.png"), (1024, 500), (45, 164, 78)
        )
        for number in range(1, 7):
            scene.image(folder.format(number), (1080, 1920), (30 * number, 90, 160))
    full = (
        "The shop for everything that you need on the road. Compare prices, find shops that are "
        "open, and pay without a card.\n\nWith an account you see your orders on every device."
    )
    scene.text("listing/en-US/title.txt", "Example Shop")
    scene.text(
        "listing/en-US/short_description.txt",
        "Everything for the road, at good prices.",
    )
    scene.text("listing/en-US/full_description.txt", full)
    scene.text("listing/de-DE/title.txt", "Beispielladen")
    scene.text("listing/de-DE/short_description.txt", "Alles für unterwegs.")
    inputs = {
        "target": "play",
        "package-name": APP,
        "images-directory": "listing",
        "images-prune": "true",
    }
    before = scene.run(inputs)
    scene.text("listing/en-US/title.txt", "Example Shop: on the road")
    scene.text(
        "listing/en-US/full_description.txt", full.replace("a card", "a card or cash")
    )
    scene.image(
        images.format("en-US", "icon.png"), (512, 512), (207, 34, 46), alpha=True
    )
    scene.image(
        images.format("de-DE", "featureGraphic.png"), (1024, 500), (251, 133, 0)
    )
    for number in range(2, 9):
        name = images.format("en-US", f"phoneScreenshots/{number}.png")
        scene.image(name, (1080, 1920), (28 * number, 120, 60))
    scene.text("listing/fr-FR/title.txt", "Boutique d'exemple")
    scene.text("listing/fr-FR/short_description.txt", "Tout pour la route, à bon prix.")
    scene.image(
        images.format("fr-FR", "icon.png"), (512, 512), (163, 113, 247), alpha=True
    )
    for number in range(1, 9):
        name = images.format("fr-FR", f"phoneScreenshots/{number}.png")
        scene.image(name, (1080, 1920), (200, 25 * number, 90))
    scene.commit()
    seen = scene.run(inputs)
    seen.images = {**before.images, **seen.images}
    return seen


def several_apps(scene: Scene) -> Seen:
    """Three apps, the second of which fails at its commit."""
    for package, code in zip(APPS, (41, 1041, 2041), strict=True):
        scene.release(code, "1.4.1", package)
    for name, package, code in (
        ("phone.aab", APPS[0], 42),
        ("watch.aab", APPS[1], 1042),
        ("tv.aab", APPS[2], 2042),
    ):
        scene.bundle(name, package, code, "1.4.2", 3 * MIB)
    words = (
        "This app has a policy issue that has to be solved before it can be updated."
    )
    scene.emulator.add_fault(
        "play.edits.commit", "status", status=403, message=words, nth=2
    )
    inputs = {"target": "play", "tracks": "production", "files": "*.aab"}
    return scene.run(
        {**inputs, "package-name": "\n".join(APPS), "user-fraction": "0.1"}
    )


def resumed_upload(scene: Scene) -> Seen:
    """The second of two runs, of which the first was stopped in the middle of the upload."""
    stopped_upload(scene)
    scene.emulator.add_fault("resumable.put", "stall", seconds=0.7, times=9)
    return scene.run(RESUMABLE)


def stopped_upload(scene: Scene) -> Seen:
    """A run that is stopped in the middle of the upload."""
    scene.release(41, "1.4.1")
    scene.bundle("app-release.aab", APP, 42, "1.4.2", 20 * MIB)
    scene.emulator.add_fault("resumable.put", "stall", nth=3, seconds=30)

    def run() -> Ended:
        running = scene.job.start(RESUMABLE, **scene.runner)
        return (
            running.when(lambda state: state["faults"]["fired"])
            .send(signal.SIGTERM)
            .end()
        )

    return scene.seen(run)


def promotion(scene: Scene) -> Seen:
    """A release that goes from beta to a fifth of production."""
    scene.release(41, "1.4.1")
    notes = [{"language": language, "text": text} for language, text in NOTES.items()]
    entry = {"versionCodes": ["42"], "name": "1.4.2", "releaseNotes": notes}
    scene.emulator.console.add_release(APP, "beta", entry)
    return scene.run({**PRODUCTION, "promote-from": "beta", "user-fraction": "0.2"})


def play_verify(scene: Scene) -> Seen:
    """What Google Play serves of a bundle, of which one file was changed."""
    contents = specimens.bundle_contents(
        densities=(), languages=(), asset_packs=("levels",)
    )
    build = specimens.Build(libraries=contents, min_sdk=19)
    specimens.make_bundle(
        scene.job.workspace / "app.aab", APP, 42, "1.4.2", build=build
    )
    scene.job.succeed({"target": "play", "files": "*.aab", "tracks": "internal"})
    scene.emulator.config.generated_apks["*"] = {"changed": "base/dex/classes.dex"}
    return scene.run({"target": "play-verify", "files": "*.aab", "wait-deadline": "0s"})


KINDS: Mapping[str, Callable[[Scene], Seen]] = {
    "release": release,
    "staged-rollout-step": staged_rollout_step,
    "held-gate": held_gate,
    "halted-gate": halted_gate,
    "refusal": refusal,
    "dry-run": dry_run,
    "listing": listing,
    "several-apps": several_apps,
    "resumed-upload": resumed_upload,
    "promotion": promotion,
    "play-verify": play_verify,
    "stopped-upload": stopped_upload,
}
