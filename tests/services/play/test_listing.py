"""Store texts and images made equal to a directory: only what differs is sent, removed only what
was asked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest

from tests.support.fake_play import Play, plain, refused, sha256
from tests.support.play_driver import Engine, release_job
from uploader.errors import InputError, TemporaryError
from uploader.files.android.listing import StoreFiles
from uploader.files.artifacts import Artifact
from uploader.inputs.specs import ImagesPrune
from uploader.results import FileResult
from uploader.services.base import Call, Outcome, Upload
from uploader.services.play.release_job import ReleaseJob
from uploader.tasks import together

T = TypeVar("T")
PHONE, ICON = ("en-US", "phoneScreenshots"), ("en-US", "icon")
GERMAN = ("de-DE", "wearScreenshots")


def image(name: str) -> Artifact:
    """A picture that differs from every other by its name."""
    return plain(f"{name}.png", b"\x89PNG\r\n\x1a\n" + name.encode())


def job(files: StoreFiles, *, prune: ImagesPrune = "false") -> ReleaseJob:
    """A listing alone."""
    return release_job(tracks=(), listing=files, prune_images=prune)


def synchronised(
    play: Play, files: StoreFiles, *, prune: ImagesPrune = "false"
) -> tuple[Engine, Outcome]:
    """One run that publishes the files."""
    engine = Engine(play)
    return engine, engine.run(job(files, prune=prune))


def shown(play: Play, place: tuple[str, str]) -> list[str]:
    """The digests of the images that are live at one place, in order."""
    return [found["sha256"] for found in play.live.images.get(place, [])]


def test_only_images_that_differ_are_sent() -> None:
    """Two are there by digest, one is new."""
    play = Play()
    synchronised(play, StoreFiles({}, {PHONE: (image("a"), image("b"))}))
    play.uploads.clear()
    engine, _ = synchronised(
        play, StoreFiles({}, {PHONE: (image("a"), image("b"), image("c"))})
    )
    assert play.uploads == ["c.png"]
    assert [result.reused for result in engine.results] == [True, True, False]
    assert shown(play, PHONE) == [sha256(image(name)) for name in "abc"]


def test_only_texts_that_differ_are_sent() -> None:
    """What the directory does not have stays as it is; the same texts again change nothing."""
    play = Play()
    play.live.listings["en-US"] = {
        "language": "en-US",
        "title": "App",
        "video": "https://example.com",
    }
    files = StoreFiles(
        {
            "en-US": {"title": "App", "shortDescription": "Short."},
            "de-DE": {"title": "App"},
        }
    )
    engine, _ = synchronised(play, files)
    assert (play.count("PATCH listings"), play.count("PUT listings")) == (1, 1)
    assert play.live.listings["en-US"] == {
        "language": "en-US",
        "title": "App",
        "shortDescription": "Short.",
        "video": "https://example.com",
    }
    assert "Listing en-US: shortDescription changed." in engine.log
    synchronised(play, files)
    assert (play.count("PATCH listings"), play.count("PUT listings")) == (1, 1)


def test_a_text_is_changed_by_sending_the_directorys_fields_alone() -> None:
    """A language that is there is patched, whatever else the list said of it; a new one is
    created.
    """
    play = Play()
    play.live.listings["en-US"] = {
        "language": "en-US",
        "title": "App",
        "fullDescription": "Long.",
    }
    engine, _ = synchronised(
        play, StoreFiles({"en-US": {"title": "New"}, "de-DE": {"title": "Neu"}})
    )
    calls = [
        step
        for step in engine.steps
        if isinstance(step, Call) and "/listings/" in step.path
    ]
    sent = {call.method: call.json for call in calls}
    assert sent == {
        "PATCH": {"title": "New"},
        "PUT": {"language": "de-DE", "title": "Neu"},
    }


class Forgetful(Play):
    """Leaves out images when it is asked for them, `lies` times, as if a proxy answered `{}`."""

    def __init__(self, *, lies: int, skip: int = 0) -> None:
        super().__init__()
        self.lies, self.skip = lies, skip

    def do(self, step: Call | Upload) -> Any:
        response = super().do(step)
        if isinstance(step, Call) and "images" in response and step.method == "GET":
            self.skip -= 1
            if self.skip < 0 < self.lies:
                self.lies -= 1
                return {}
        return response


@pytest.mark.parametrize("prune", ["false", "true"])
def test_a_list_that_hides_images_doubles_none(prune: ImagesPrune) -> None:
    """After the upload the place is looked at again: what is there twice is removed before the
    commit.
    """
    play = Forgetful(lies=0)
    files = StoreFiles({}, {PHONE: (image("a"), image("b"))})
    synchronised(play, files)
    play.lies, play.skip = 1, 0
    synchronised(play, files, prune=prune)
    assert shown(play, PHONE) == [sha256(image("a")), sha256(image("b"))]
    assert play.count("commit") == 2


def test_a_list_that_hides_images_to_the_end_changes_nothing() -> None:
    """What was stored a moment ago is missing from it: 75 without a commit; the next run removes
    what is doubled.
    """
    play, journal = Forgetful(lies=0), dict[str, str]()
    files = StoreFiles({}, {PHONE: (image("a"), image("b"))})
    synchronised(play, files)
    play.lies = 1000
    with pytest.raises(TemporaryError):
        Engine(play, journal).run(job(files))
    assert play.count("commit") == 1
    play.lies = 0
    Engine(play, journal).run(job(files))
    assert shown(play, PHONE) == [sha256(image("a")), sha256(image("b"))]


def test_a_deletion_that_somebody_else_answered_is_repeated() -> None:
    """Its answer has no body, so it may be anybody's: the images are listed again, and the one that
    is still there is deleted.
    """

    class Deaf(Play):
        deaf = 1

        def do(self, step: Call | Upload) -> Any:
            if (
                isinstance(step, Call)
                and step.method == "DELETE"
                and "listings" in step.path
                and self.deaf
            ):
                self.deaf -= 1
                return {}
            return super().do(step)

    play = Deaf()
    synchronised(play, StoreFiles({}, {PHONE: (image("a"), image("b"))}))
    synchronised(play, StoreFiles({}, {PHONE: (image("b"),)}), prune="true")
    assert shown(play, PHONE) == [sha256(image("b"))]


def filled() -> Play:
    """Two screenshots and an icon in one language, a screenshot in another."""
    play = Play()
    texts = {"en-US": {"title": "App"}, "de-DE": {"title": "App"}}
    images = {
        PHONE: (image("a"), image("b")),
        ICON: (image("i"),),
        GERMAN: (image("d"),),
    }
    synchronised(play, StoreFiles(texts, images))
    return play


def test_pruning_stays_within_the_languages_and_types_of_the_directory() -> None:
    """Old screenshots of a type that is there go; what the directory has no image of stays, with a
    warning.
    """
    play = filled()
    engine, _ = synchronised(play, StoreFiles({}, {PHONE: (image("b"),)}), prune="true")
    assert shown(play, PHONE) == [sha256(image("b"))]
    assert shown(play, ICON) == [sha256(image("i"))]
    assert shown(play, GERMAN) == [sha256(image("d"))]
    assert "en-US phoneScreenshots: 1 image removed." in engine.log
    (warning,) = engine.warnings
    assert "kept 2 live images of 2 languages" in warning
    assert "en-US icon (1), de-DE wearScreenshots (1)" in warning
    assert "`images-prune: everywhere`" in warning


def test_pruning_everywhere_removes_what_the_directory_does_not_have() -> None:
    """Types and languages that are gone from the directory as well."""
    play = filled()
    engine, _ = synchronised(
        play, StoreFiles({}, {PHONE: (image("b"),)}), prune="everywhere"
    )
    assert shown(play, PHONE) == [sha256(image("b"))]
    assert shown(play, ICON) == shown(play, GERMAN) == []
    assert engine.warnings == []


@pytest.mark.parametrize(
    ("files", "words"),
    [
        pytest.param(
            StoreFiles({"en-US": {"title": "App"}}),
            "the folder has no image at all, while Google Play has 4 live images of 2 languages, "
            "icons among them",
            id="no image at all",
        ),
        pytest.param(
            StoreFiles({}, {ICON: (image("i"),)}, empty=(PHONE,)),
            "en-US phoneScreenshots would be left empty: its folder has no image, and Google Play "
            "has 2",
            id="an empty folder",
        ),
    ],
)
def test_pruning_with_images_that_seem_to_be_missing_is_a_mistake(
    files: StoreFiles, words: str
) -> None:
    """Folders left out by Git LFS or .gitignore look just like this; nothing is changed and no edit
    stays open.
    """
    play = filled()
    before = dict(play.live.images)
    with pytest.raises(InputError) as caught:
        Engine(play).run(job(files, prune="true"))
    assert words in str(caught.value)
    assert "Git LFS" in str(caught.value)
    assert play.live.images == before
    assert play.edits == {}


@pytest.mark.parametrize("empty", [(), (PHONE,)], ids=["no folder", "an empty folder"])
def test_pruning_an_app_without_images_by_a_directory_without_images_is_no_mistake(
    empty: tuple[tuple[str, str], ...],
) -> None:
    """Nothing would go."""
    play = Play()
    engine, _ = synchronised(
        play, StoreFiles({"en-US": {"title": "App"}}, {}, empty), prune="true"
    )
    assert engine.warnings == []


def test_an_image_that_is_wanted_twice_is_there_twice_and_no_more() -> None:
    """Two equal screenshots are two: not sent again in each run, and a third copy is pruned."""
    play = Play()
    files = StoreFiles({}, {PHONE: (image("a"), image("b"), image("a"))})
    synchronised(play, files)
    synchronised(play, files)
    assert play.uploads == ["a.png", "b.png", "a.png"]
    play.live.images[PHONE].append({"id": "third", "sha256": sha256(image("a"))})
    synchronised(play, files)
    assert shown(play, PHONE) == [sha256(image(name)) for name in "abaa"]
    synchronised(play, files, prune="true")
    assert shown(play, PHONE) == [sha256(image(name)) for name in "aba"]
    assert len(play.uploads) == 3


@pytest.mark.parametrize(
    ("there", "wanted", "sent"),
    [
        ("ac", "abc", "bc"),
        ("abc", "bac", "ac"),
        ("abc", "cab", "ab"),
        ("xab", "ab", ""),
        ("ab", "abc", "c"),
    ],
)
def test_with_pruning_the_order_is_the_directory_s(
    there: str, wanted: str, sent: str
) -> None:
    """Play shows images in the order of their arrival: those behind the first difference are sent
    once more.
    """
    play = Play()
    synchronised(play, StoreFiles({}, {PHONE: tuple(map(image, there))}))
    play.uploads.clear()
    engine, _ = synchronised(
        play, StoreFiles({}, {PHONE: tuple(map(image, wanted))}), prune="true"
    )
    assert shown(play, PHONE) == [sha256(image(name)) for name in wanted]
    assert play.uploads == [f"{name}.png" for name in sent]
    assert engine.warnings == []


@pytest.mark.parametrize(
    ("there", "wanted", "after"),
    [("ac", "abc", "acb"), ("ab", "ba", "ab"), ("xa", "ab", "xab")],
)
def test_without_pruning_another_order_is_a_warning(
    there: str, wanted: str, after: str
) -> None:
    """Nothing is deleted unasked; what would put it right is named."""
    play = Play()
    synchronised(play, StoreFiles({}, {PHONE: tuple(map(image, there))}))
    engine, _ = synchronised(play, StoreFiles({}, {PHONE: tuple(map(image, wanted))}))
    assert shown(play, PHONE) == [sha256(image(name)) for name in after]
    told = [
        warning
        for warning in engine.warnings
        if "en-US phoneScreenshots: the order" in warning
    ]
    assert len(told) == (not after.endswith(wanted))


class SideBySide(Engine):
    """Uploads two files at a time where two are to be sent: the first two meet."""

    def __init__(self, play: Play) -> None:
        super().__init__(play)
        self.began: list[str] = []
        self.under_way: dict[str, set[str]] = {}
        self._now: set[str] = set()
        self._meeting = threading.Barrier(2)

    def together(self, work: Sequence[Callable[[], T]]) -> list[T]:
        """Does them at the same time."""
        return together(work, 16)

    def upload(self, upload: Upload) -> FileResult:
        """Waits for the other file, if it is one of the first two."""
        name = upload.artifact.name
        self.began.append(name)
        self._now.add(name)
        if len(self.began) <= 2:
            self._meeting.wait(10)
        self.under_way[name] = self._now - {name}
        if len(self.began) <= 2:
            self._meeting.wait(10)
        self._now.remove(name)
        return super().upload(upload)


def test_images_of_different_places_go_side_by_side_and_those_of_one_in_order() -> None:
    """The order of screenshots is the order of their arrival, so two of one type are never on their
    way at once.
    """
    other = ("de-DE", "phoneScreenshots")
    files = StoreFiles({}, {PHONE: (image("a"), image("b")), other: (image("c"),)})
    engine = SideBySide(Play())
    engine.run(job(files))
    assert engine.began[0] == "a.png"
    assert engine.under_way == {"a.png": {"c.png"}, "c.png": {"a.png"}, "b.png": set()}


def test_an_image_that_met_a_concurrent_update_is_sent_again_alone() -> None:
    """Where Play does not take two at once, one after the other it does."""
    play = Play()
    play.fail(
        "upload listings", refused(409, "The object is being updated concurrently.")
    )
    synchronised(play, StoreFiles({}, {PHONE: (image("a"),), ICON: (image("i"),)}))
    assert shown(play, PHONE) == [sha256(image("a"))]
    assert shown(play, ICON) == [sha256(image("i"))]


@pytest.mark.parametrize(
    "error",
    [refused(400, "Image dimensions are invalid."), TemporaryError("Play is down.")],
)
def test_an_image_that_fails_ends_the_run(error: Exception) -> None:
    """A release is whole or not at all: what failed in the batch is what the run ends with."""
    play = Play()
    play.fail("upload listings", error)
    with pytest.raises(type(error)):
        Engine(play).run(
            job(StoreFiles({}, {PHONE: (image("a"),), ICON: (image("i"),)}))
        )
    assert play.live.images == {}
    assert bool(play.edits) == isinstance(error, TemporaryError)


def test_texts_arrive_before_images() -> None:
    """A language has to exist before it can have pictures; Play ignores those of a language that it
    does not know.
    """
    play = Play()
    synchronised(play, StoreFiles({"en-US": {"title": "App"}}, {PHONE: (image("a"),)}))
    assert play.calls.index("PUT listings") < play.calls.index("upload listings")
