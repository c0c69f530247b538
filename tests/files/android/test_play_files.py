"""What goes with a Play release beside its artifacts: checked offline, told in words, put right
where that is safe.
"""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from google_emulator import specimens
from uploader.errors import InputError, Problems
from uploader.files.android import listing, native
from uploader.files.android.limits import check_size, expansion_file
from uploader.files.android.map_ids import mapping_file
from uploader.files.android.notes import Notes, release_notes
from uploader.files.artifacts import Artifact
from uploader.files.workspace import Workspace

T = TypeVar("T")


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Makes files with their folders."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def checked(check: Callable[..., T], *given: object) -> tuple[T, tuple[str, ...]]:
    """What the check returns, and its warnings. Raises InputError with the problems that it
    adds.
    """
    found = Problems()
    value = check(*given, found)
    found.raise_if_any()
    return value, tuple(found.warnings)


def problems(call: Callable[[], object], input_name: str) -> list[str]:
    """The sentences that the call ends with, all for one input."""
    with pytest.raises(InputError) as caught:
        call()
    assert {problem.name for problem in caught.value.problems} == {input_name}
    return [problem.what for problem in caught.value.problems]


def named(path: Path) -> tuple[str, Workspace]:
    """A file or folder as an input names it in its workspace, the folder around it."""
    return path.name, Workspace(path.parent)


def notes(
    folder: Path, codes: tuple[int, ...] = (), tracks: tuple[str, ...] = ()
) -> Notes:
    """Notes without any warning."""
    found, warnings = checked(release_notes, *named(folder), codes, tracks)
    assert warnings == ()
    return found


def note_problems(
    folder: Path, codes: tuple[int, ...] = (), tracks: tuple[str, ...] = ()
) -> list[str]:
    """What is wrong with the notes."""
    return problems(
        lambda: checked(release_notes, *named(folder), codes, tracks),
        "whats-new-directory",
    )


# Release notes


def test_notes_in_the_whatsnew_layout(tmp_path: Path) -> None:
    """`whatsnew-<language>`, with or without .txt."""
    write(tmp_path, {"whatsnew-en-US": "Hello", "whatsnew-de-DE.txt": "Hallo"})
    assert notes(tmp_path) == {None: {"de-DE": "Hallo", "en-US": "Hello"}}


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            {"whatsnew-en-US": "Hello", "whatsnew_de": "Hallo"},
            "Did you mean `whatsnew-de-DE`?",
        ),
        ({"whatsnew_de": "Hallo"}, "Did you mean `whatsnew-de-DE`?"),
        ({"below/whatsnew-en-US": "Hello"}, "/below`?"),
    ],
    ids=["beside others", "alone", "one level too high"],
)
def test_notes_that_would_be_left_out_by_their_names_end_the_run(
    tmp_path: Path, files: dict[str, str | bytes], told: str
) -> None:
    """The release would go out without them."""
    write(tmp_path, files)
    with pytest.raises(InputError) as caught:
        notes(tmp_path)
    assert told in str(caught.value)


def test_notes_in_fastlanes_layout(tmp_path: Path) -> None:
    """The version's own file wins over default.txt; of several versions the highest with a file
    counts.
    """
    write(
        tmp_path,
        {
            "en-US/changelogs/7.txt": "seven",
            "en-US/changelogs/9.txt": "nine",
            "en-US/changelogs/default.txt": "any",
            "de-DE/changelogs/default.txt": "alle",
            "en-US/title.txt": "a listing text, which is another input's",
        },
    )
    assert notes(tmp_path, (7, 8)) == {None: {"en-US": "seven", "de-DE": "alle"}}
    assert notes(tmp_path, (9, 7)) == {None: {"en-US": "nine", "de-DE": "alle"}}
    assert notes(tmp_path, (1,)) == {None: {"en-US": "any", "de-DE": "alle"}}


@pytest.mark.parametrize("prefix", ["release-notes/", ""])
def test_notes_in_gradle_play_publishers_layout(tmp_path: Path, prefix: str) -> None:
    """A track's own file wins, and languages that it lacks come from default.txt."""
    write(
        tmp_path,
        {
            f"{prefix}en-US/default.txt": "all",
            f"{prefix}de-DE/default.txt": "alle",
            f"{prefix}en-US/beta.txt": "testers",
            f"{prefix}en-US/wear:production.txt": "watches",
            f"{prefix}en-US/alpha.txt": "not asked for",
        },
    )
    assert notes(tmp_path, tracks=("beta", "production", "wear:production")) == {
        None: {"en-US": "all", "de-DE": "alle"},
        "beta": {"en-US": "testers", "de-DE": "alle"},
        "wear:production": {"en-US": "watches", "de-DE": "alle"},
    }


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (
            {"whatsnew-en-US": "one", "en-US/changelogs/default.txt": "two"},
            "two layouts",
        ),
        (
            {"en-US/changelogs/default.txt": " \n"},
            "has no release notes for this release",
        ),
        (
            {"release-notes/en-US/default.txt": " \n"},
            "has no release notes for this release",
        ),
    ],
)
def test_a_folder_of_two_layouts_or_of_no_notes_is_refused(
    tmp_path: Path, files: dict[str, str | bytes], problem: str
) -> None:
    """Which notes would be published is not for this program to guess, and nobody names a folder
    for none.
    """
    (found,) = note_problems(write(tmp_path, files))
    assert problem in found


def test_a_language_without_notes_for_the_version_is_told(tmp_path: Path) -> None:
    """One language has a file for the version, another was forgotten."""
    write(
        tmp_path,
        {"en-US/changelogs/8.txt": "eight", "de-DE/changelogs/7.txt": "sieben"},
    )
    found, warnings = checked(release_notes, *named(tmp_path), (8,), ())
    assert found == {None: {"en-US": "eight"}}
    assert len(warnings) == 1
    assert "de-DE has no notes for this release" in warnings[0]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfHi", "Hi"),
        ("Grüße".encode("utf-16"), "Grüße"),
        ("Grüße".encode("utf-16-be"), None),
        (b"\xfe\xff" + "Grüße".encode("utf-16-be"), "Grüße"),
        (b"a\r\nb\rc\n\n", "a\nb\nc"),
        (b"\n  a \t\n", "a"),
        (b"Gr\xfc\xdfe", None),
        (b"a\x1b[31mb", None),
        (b"a\0b", None),
        (b"tab\tok", "tab\tok"),
    ],
)
def test_encodings_line_ends_and_control_characters(
    tmp_path: Path, data: bytes, text: str | None
) -> None:
    """Byte order marks and CRLF are put right; what is no text is refused."""
    write(tmp_path, {"whatsnew-en-US": data})
    if text is None:
        assert note_problems(tmp_path)
    else:
        assert notes(tmp_path) == {None: {"en-US": text}}


def test_500_characters_are_counted_as_google_states_them(tmp_path: Path) -> None:
    """Unicode characters: neither bytes nor trimmed line ends count, 501 are refused."""
    write(tmp_path, {"whatsnew-en-US": "ü" * 500 + "\n", "whatsnew-de-DE": "日" * 501})
    (problem,) = note_problems(tmp_path)
    assert problem.endswith(
        "whatsnew-de-DE has 501 characters; Play accepts at most 500."
    )
    (tmp_path / "whatsnew-de-DE").write_text("😀" * 500)
    assert (
        "has 500 characters but 1000 in UTF-16"
        in checked(release_notes, *named(tmp_path), (), ())[1][0]
    )


@pytest.mark.parametrize(
    ("file", "end"),
    [
        ("whatsnew-en_US", "is not named for a language: `en_US`. Did you mean en-US?"),
        ("whatsnew-EN-us", "is not named for a language: `EN-us`. Did you mean en-US?"),
        ("whatsnew-de-de", "is not named for a language: `de-de`. Did you mean de-DE?"),
        ("whatsnew-english", "is not named for a language: `english`."),
        ("whatsnew-", "is not named for a language: ``."),
        (
            "whatsnew-en.txt",
            "Did you mean en-US or en-AU or en-CA? Rename it to `whatsnew-en-US.txt`.",
        ),
        (
            "whatsnew-pt.txt",
            "Did you mean pt-BR or pt-PT? Rename it to `whatsnew-pt-BR.txt`.",
        ),
        (
            "whatsnew-he-IL.txt",
            "Did you mean iw-IL? Rename it to `whatsnew-iw-IL.txt`.",
        ),
        (
            "whatsnew-de-AT.txt",
            "Did you mean de-DE? Rename it to `whatsnew-de-DE.txt`.",
        ),
        ("whatsnew-xx-XX.txt", "is not in Google's list of languages."),
        (
            "fr/changelogs/default.txt",
            "Did you mean fr-FR or fr-CA? Rename it to `fr-FR`.",
        ),
        (
            "release-notes/fr/default.txt",
            "Did you mean fr-FR or fr-CA? Rename it to `fr-FR`.",
        ),
    ],
)
def test_a_name_that_is_no_language_of_google_s_is_refused(
    tmp_path: Path, file: str, end: str
) -> None:
    """Google would refuse it after the upload; the nearest names are offered, the likeliest
    first.
    """
    (problem,) = note_problems(write(tmp_path, {file: "x"}))
    assert problem.endswith(end)


# Images and listing texts


def png(width: int, height: int) -> bytes:
    """A whole grey PNG of one scanline's worth of data: enough for every reader of headers."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data))
            + kind
            + data
            + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(width + 1)))
        + chunk(b"IEND", b"")
    )


def jpeg(width: int, height: int, frame: int = 0xC0) -> bytes:
    """A JPEG's segments: Exif, a table, fill bytes, the frame header, a scan, the end."""
    exif = b"\xff\xe1" + struct.pack(">H", 2 + 5000) + b"\xff\xc0" * 2500
    table = b"\xff\xc4" + struct.pack(">H", 2 + 10) + bytes(10)
    size = (
        b"\xff\xff"
        + bytes([frame])
        + struct.pack(">HBHHB", 11, 8, height, width, 1)
        + bytes(3)
    )
    return (
        b"\xff\xd8"
        + exif
        + table
        + b"\xff"
        + size
        + b"\xff\xda\x00\x08"
        + bytes(6)
        + b"data\xff\xd9"
    )


def image_result(
    folder: Path, name: str, data: bytes
) -> tuple[list[str], tuple[str, ...]]:
    """Problems and warnings of one image in one place."""
    write(folder, {f"en-US/images/{name}": data})
    try:
        return [], checked(listing.store_listing, *named(folder))[1]
    except InputError as error:
        return [problem.what for problem in error.problems], ()


@pytest.mark.parametrize(
    ("name", "width", "height"),
    [
        ("icon.png", 512, 512),
        ("featureGraphic.jpg", 1024, 500),
        ("tvBanner.PNG", 1280, 720),
        ("phoneScreenshots/1.png", 1080, 1920),
        ("phoneScreenshots/1.png", 320, 640),
        ("sevenInchScreenshots/1.jpeg", 3840, 2160),
        ("tenInchScreenshots/1.png", 7680, 4320),
        ("tvScreenshots/1.png", 1920, 1080),
        ("wearScreenshots/1.png", 384, 384),
    ],
)
def test_images_that_play_takes(
    tmp_path: Path, name: str, width: int, height: int
) -> None:
    """All eight types, at their edges, in both formats, without a warning."""
    make = png if name.lower().endswith("png") else jpeg
    assert image_result(tmp_path, name, make(width, height)) == ([], ())


def test_images_against_googles_advice_are_a_warning(tmp_path: Path) -> None:
    """Documented in the console, not enforced by the API: people decide."""
    assert (
        "asks for square wear"
        in image_result(tmp_path / "1", "wearScreenshots/1.png", png(384, 400))[1][0]
    )
    assert (
        "more than twice the other"
        in image_result(tmp_path / "2", "tvScreenshots/1.png", png(400, 801))[1][0]
    )
    assert (
        "asks for 1080 or more"
        in image_result(tmp_path / "3", "tenInchScreenshots/1.png", png(1079, 1920))[1][
            0
        ]
    )


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("icon.png", png(511, 512), "511 x 512 pixels; icon must be 512 x 512"),
        ("featureGraphic.png", png(500, 1024), "featureGraphic must be 1024 x 500"),
        ("tvBanner.png", png(320, 180), "tvBanner must be 1280 x 720"),
        ("phoneScreenshots/1.png", png(319, 600), "must be from 320 to 3840"),
        ("phoneScreenshots/1.png", png(2000, 3841), "must be from 320 to 3840"),
        ("tenInchScreenshots/1.png", png(4000, 7681), "must be from 320 to 7680"),
        ("wearScreenshots/1.png", png(383, 383), "must be from 384 to 3840"),
        ("icon.png", b"", "neither PNG nor JPEG"),
        ("icon.png", b"GIF89a", "neither PNG nor JPEG"),
        ("icon.png", b"<svg/>", "neither PNG nor JPEG"),
        ("icon.png", png(512, 512)[:40], "cut short"),
        ("icon.png", png(512, 512)[:20], "cut short"),
        ("icon.png", png(0, 512), "damaged"),
        ("icon.png", jpeg(512, 512)[:-2], "cut short"),
        ("icon.png", b"\xff\xd8\xff", "cut short"),
        ("icon.png", b"\xff\xd8\xff\xe1\x00\x00", "cut short"),
        ("icon.png", b"\xff\xd8" + b"\xff" * 100, "cut short"),
    ],
    ids=[
        "icon too narrow",
        "feature graphic on its side",
        "television banner too small",
        "phone screenshot too narrow",
        "phone screenshot too high",
        "tablet screenshot too high",
        "watch screenshot too small",
        "empty file",
        "GIF",
        "SVG",
        "PNG without its end",
        "PNG cut in its header",
        "PNG without width",
        "JPEG without its end",
        "JPEG of three bytes",
        "JPEG cut in a segment",
        "JPEG of nothing but markers",
    ],
)
def test_images_of_a_wrong_size_and_what_is_no_whole_image_are_refused(
    tmp_path: Path, name: str, data: bytes, sentence: str
) -> None:
    """The content decides, not the name; the sentence has what the image is and what its type
    takes.
    """
    found, _ = image_result(tmp_path, name, data)
    assert len(found) == 1
    assert sentence in found[0]


def test_an_image_over_15_mib_is_refused_without_being_read(tmp_path: Path) -> None:
    """The API's limit for every type."""
    path = (
        write(tmp_path, {"en-US/images/icon.png": png(512, 512)})
        / "en-US/images/icon.png"
    )
    os.truncate(path, (15 << 20) + 1)
    assert (
        "15 MiB"
        in problems(
            lambda: checked(listing.store_listing, *named(tmp_path)), "images-directory"
        )[0]
    )


def test_the_listing_of_two_languages(tmp_path: Path) -> None:
    """Texts under the API's names; images by language and type, screenshots in the order of their
    names.
    """
    write(
        tmp_path / "fastlane/metadata/android",
        {
            "en-US/title.txt": "App\n",
            "en-US/short_description.txt": "Short",
            "en-US/full_description.txt": "Full\r\ntext",
            "en-US/video.txt": "https://www.youtube.com/watch?v=x",
            "en-US/changelogs/1.txt": "not here",
            "en-US/images/icon.png": png(512, 512),
            "en-US/images/phoneScreenshots/2.png": png(1080, 1920),
            "en-US/images/phoneScreenshots/1.jpg": jpeg(1080, 1920),
            "de-DE/title.txt": "Anwendung",
            "de-DE/video.txt": "",
        },
    )
    found, warnings = checked(
        listing.store_listing, "fastlane/metadata/android", Workspace(tmp_path)
    )
    assert warnings == ()
    assert found.texts == {
        "de-DE": {"title": "Anwendung"},
        "en-US": {
            "title": "App",
            "shortDescription": "Short",
            "fullDescription": "Full\ntext",
            "video": "https://www.youtube.com/watch?v=x",
        },
    }
    names = {
        place: [image.name for image in pictures]
        for place, pictures in found.images.items()
    }
    prefix = "fastlane/metadata/android/en-US/images"
    assert names == {
        ("en-US", "icon"): [f"{prefix}/icon.png"],
        ("en-US", "phoneScreenshots"): [
            f"{prefix}/phoneScreenshots/1.jpg",
            f"{prefix}/phoneScreenshots/2.png",
        ],
    }


@pytest.mark.parametrize(
    ("name", "limit"),
    [("title", 30), ("short_description", 80), ("full_description", 4000)],
)
def test_listing_texts_have_their_limits(tmp_path: Path, name: str, limit: int) -> None:
    """30, 80 and 4000 characters."""
    write(tmp_path, {f"en-US/{name}.txt": "é" * limit})
    assert checked(listing.store_listing, *named(tmp_path))[1] == ()
    write(tmp_path, {f"en-US/{name}.txt": "é" * (limit + 1)})
    assert (
        f"{limit + 1} characters; Play accepts at most {limit}"
        in problems(
            lambda: checked(listing.store_listing, *named(tmp_path)), "images-directory"
        )[0]
    )


def test_the_listing_tells_all_its_problems_at_once(tmp_path: Path) -> None:
    """Too many screenshots, two icons, a text that is no address, two languages that are none."""
    files: dict[str, str | bytes] = {
        f"en-US/images/phoneScreenshots/{n}.png": png(1080, 1920) for n in range(9)
    }
    files |= {
        "en-US/images/icon.png": png(512, 512),
        "en-US/images/icon.jpg": jpeg(512, 512),
        "en-US/video.txt": "my video",
        "en_GB/title.txt": "App",
        "whatsnew-fr-FR/title.txt": "App",
    }
    found = problems(
        lambda: checked(listing.store_listing, *named(write(tmp_path, files))),
        "images-directory",
    )
    expected = (
        "en-US/video.txt is not the address of a YouTube video",
        "en-US/images/icon.png is a second icon",
        "en-US/images/phoneScreenshots has 9 images; Play accepts at most 8",
        "en_GB is not named for a language",
        "whatsnew-fr-FR is not named for a language",
    )
    for words, problem in zip(expected, found, strict=True):
        assert words in problem


PHONE_IMAGE = png(1080, 1920)


@pytest.mark.parametrize(
    ("name", "content", "intended"),
    [
        ("short-description.txt", "Short", "short_description.txt"),
        ("shortDescription.txt", "Short", "short_description.txt"),
        ("Title.txt", "App", "title.txt"),
        ("titel.txt", "App", "title.txt"),
        ("title", "App", "title.txt"),
        ("title.md", "App", "title.txt"),
        ("full_descripton.txt", "Full", "full_description.txt"),
        ("description.txt", "Full", "full_description.txt"),
        ("video-url.txt", "https://youtu.be/x", "video.txt"),
        ("images/phoneScreenshot/1.png", PHONE_IMAGE, "phoneScreenshots/"),
        ("images/phone-screenshots/1.png", PHONE_IMAGE, "phoneScreenshots/"),
        ("images/tenInchScreenShots/1.png", PHONE_IMAGE, "tenInchScreenshots/"),
        ("images/feature-graphic.png", png(1024, 500), "featureGraphic.png"),
        ("images/icon/1.png", png(512, 512), "icon.png"),
        ("image/icon.png", png(512, 512), "images/"),
        ("graphics/icon/1.png", png(512, 512), "images/"),
        ("phoneScreenshots/1.png", PHONE_IMAGE, "images/phoneScreenshots/"),
        ("icon.png", png(512, 512), "images/icon.png"),
    ],
)
def test_a_name_that_is_nearly_one_of_the_listing_ends_the_run(
    tmp_path: Path, name: str, content: str | bytes, intended: str
) -> None:
    """Beside a title that is right: the rest would be left out of the store."""
    write(tmp_path, {f"en-US/{name}": content, "de-DE/title.txt": "Anwendung"})
    [told] = problems(
        lambda: checked(listing.store_listing, *named(tmp_path)), "images-directory"
    )
    assert told.endswith(f"would be left out. Did you mean `{intended}`?")


@pytest.mark.parametrize(
    "name",
    [
        "subtitle.txt",
        "keywords.txt",
        "title.json",
        "images/promoGraphic.png",
        "images/icon.svg",
        "images/README.md",
    ],
)
def test_what_is_nothing_of_the_listing_is_a_warning(tmp_path: Path, name: str) -> None:
    """Sources and other stores' files may lie beside."""
    write(tmp_path, {"en-US/title.txt": "App", f"en-US/{name}": "x"})
    [warning] = checked(listing.store_listing, *named(tmp_path))[1]
    assert f"{name} is not used" in warning


def test_an_empty_text_is_told(tmp_path: Path) -> None:
    """Alone it is a mistake; beside others the text that is live stays. A video is not missed."""
    write(tmp_path, {"en-US/title.txt": " \n", "en-US/video.txt": ""})
    [told] = problems(
        lambda: checked(listing.store_listing, *named(tmp_path)), "images-directory"
    )
    assert (
        "/en-US/title.txt is empty, and the folder has nothing else to publish."
        in f"/{told}"
    )
    write(tmp_path, {"en-US/short_description.txt": "Short"})
    [warning] = checked(listing.store_listing, *named(tmp_path))[1]
    assert warning.endswith(
        "en-US/title.txt is empty: the text on Google Play is left as it is."
    )


@pytest.mark.parametrize(
    "layout", ["listings/en-US/title.txt", "listings/en-US/graphics/icon/1.png"]
)
def test_gradle_play_publisher_s_layout_is_named(tmp_path: Path, layout: str) -> None:
    """It is one mistake, whatever it holds."""
    write(tmp_path / "play", {layout: "App"})
    [told] = problems(
        lambda: checked(listing.store_listing, "play", Workspace(tmp_path)),
        "images-directory",
    )
    assert "Gradle Play Publisher's layout" in told
    assert "docs/MIGRATION.md" in told


@pytest.mark.parametrize(
    ("address", "taken"),
    [
        ("https://www.youtube.com/watch?v=x", True),
        ("https://youtu.be/x", True),
        ("http://m.youtube.com/watch?v=x", True),
        ("https://vimeo.com/1", False),
        ("https://youtube.com.example.net/x", False),
        ("my video", False),
        ("https://[", False),
    ],
)
def test_a_video_is_one_of_youtube_s(tmp_path: Path, address: str, taken: bool) -> None:
    """Google Play shows no other."""
    write(tmp_path, {"en-US/title.txt": "App", "en-US/video.txt": address})
    if taken:
        found, _ = checked(listing.store_listing, *named(tmp_path))
        assert found.texts["en-US"]["video"] == address
        return
    [told] = problems(
        lambda: checked(listing.store_listing, *named(tmp_path)), "images-directory"
    )
    assert "is not the address of a YouTube video" in told


def test_a_feature_graphic_has_no_alpha_channel(tmp_path: Path) -> None:
    """An icon may have one, and so may a screenshot."""
    places = {
        "featureGraphic.png": (1024, 500),
        "icon.png": (512, 512),
        "phoneScreenshots/1.png": (1080, 1920),
    }
    for name, (width, height) in places.items():
        path = tmp_path / "en-US" / "images" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        specimens.make_image(path, width, height, alpha=True)
    [told] = problems(
        lambda: checked(listing.store_listing, *named(tmp_path)), "images-directory"
    )
    assert "featureGraphic.png has an alpha channel" in told


# Mapping and expansion files


R8_HEADER = "# compiler: R8\n# compiler_version: 8.2.42\n# pg_map_id: 7a1b\n"
R8 = (
    R8_HEADER
    + 'com.example.Main -> a.a:\n# {"id":"sourceFile"}\n    void main() -> a\n'
)


@pytest.mark.parametrize(
    "text",
    [
        R8,
        "com.example.Main -> a.a:\n    int x -> y\n",
        R8.replace("\n", "\r\n"),
        "\na.B$C -> ü.b:\n",
    ],
)
def test_a_mapping_is_recognised(tmp_path: Path, text: str) -> None:
    """R8 with its header of comments, and ProGuard without one."""
    write(tmp_path, {"out/mapping.txt": text})
    assert (
        mapping_file("out/mapping.txt", Workspace(tmp_path)).name == "out/mapping.txt"
    )


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "contains no classes"),
        (b"# compiler: R8\n", "contains no classes"),
        (b"PK\3\4", "is not an R8 or ProGuard mapping"),
        (b"\x1f\x8b\x08", "is not an R8 or ProGuard mapping"),
        (b"com.example.Main\n", "is not an R8 or ProGuard mapping"),
        (b"    void main() -> a\n", "is not an R8 or ProGuard mapping"),
        (b"-keep class a.b -> c:\n", "is not an R8 or ProGuard mapping"),
    ],
)
def test_what_is_no_mapping_is_refused(
    tmp_path: Path, data: bytes, sentence: str
) -> None:
    """Empty, compressed, or another file of the same build folder."""
    path = write(tmp_path, {"mapping.txt": data}) / "mapping.txt"
    assert sentence in problems(lambda: mapping_file(*named(path)), "mapping-file")[0]


def test_expansion_files_are_a_file_or_a_reference(tmp_path: Path) -> None:
    """`references:12` is version code 12; a file is checked for its size alone."""
    write(tmp_path, {"main.obb": "any format"})
    found = expansion_file("main.obb", Workspace(tmp_path), "expansion-file-main")
    assert isinstance(found, Artifact)
    assert found.name == "main.obb"
    assert (
        expansion_file("references:12", Workspace(tmp_path), "expansion-file-main")
        == 12
    )


@pytest.mark.parametrize(
    "value", ["gone.obb", "empty.obb", "big.obb", "../out.obb", "references", "."]
)
def test_expansion_files_that_play_would_refuse(tmp_path: Path, value: str) -> None:
    """Missing, empty, over 2 GiB, outside the workspace, or a folder."""
    workspace = write(tmp_path / "ws", {"empty.obb": "", "big.obb": "x"})
    write(tmp_path, {"out.obb": "x"})
    os.truncate(workspace / "big.obb", (2 << 30) + 1)
    assert problems(
        lambda: expansion_file(value, Workspace(workspace), "expansion-file-patch"),
        "expansion-file-patch",
    )


@pytest.mark.parametrize(
    ("kind", "limit"),
    [("bundle", 50 << 30), ("apk", 10 << 30), ("symbols", 2_097_152_000)],
)
def test_the_largest_file_of_each_kind(kind: str, limit: int) -> None:
    """Exactly the limit is taken, a byte more is not, a stream is not judged."""
    found = Problems()
    check_size(Artifact("x", "x", limit), kind, found)
    check_size(Artifact("x", "x", None), kind, found)
    assert not found
    check_size(Artifact("x", "x", limit + 1), kind, found)
    (problem,) = found
    assert f"Play accepts at most {limit:,}" in problem.what


# Native debug symbols


def zipped(path: Path, names: list[str]) -> Path:
    """A zip whose entries hold their own names."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, name)
    return path


def packed(path: Path, temp: Path) -> tuple[list[str], tuple[str, ...]]:
    """What the zip to be sent holds, and the warnings."""
    artifact, warnings = checked(native.debug_symbols, *named(path), temp)
    with zipfile.ZipFile(artifact.path) as archive:
        assert archive.testzip() is None
        return archive.namelist(), warnings


GOOD = ["arm64-v8a/liba.so.sym", "x86_64/liba.so.dbg", "x86_64/libb.so"]


def test_a_symbols_zip_that_is_right_is_sent_as_it_is(tmp_path: Path) -> None:
    """Nothing is written anew; folder entries do no harm."""
    (tmp_path / "out").mkdir()
    path = zipped(tmp_path / "out/symbols.zip", [GOOD[2], "x86_64/", *GOOD[:2]])
    artifact, warnings = checked(
        native.debug_symbols, "out/symbols.zip", Workspace(tmp_path), tmp_path / "temp"
    )
    assert (artifact.path, artifact.name, warnings) == (path, "out/symbols.zip", ())
    assert not (tmp_path / "temp").exists()


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_symbols_in_a_rare_compression_are_refused(tmp_path: Path, method: int) -> None:
    """A member of LZMA may ask for gigabytes, and ends in errors of its own."""
    with zipfile.ZipFile(tmp_path / "symbols.zip", "w", method) as archive:
        archive.writestr("lib/x86_64/liba.so.dbg", b"x" * 1000)
    with pytest.raises(InputError, match="another method than deflate"):
        packed(tmp_path / "symbols.zip", tmp_path / "temp")


@pytest.mark.parametrize(
    "prefix", ["lib/", "out/lib/", "native-debug-symbols/", "x86/lib/"]
)
def test_levels_above_the_abi_folders_are_taken_away(
    tmp_path: Path, prefix: str
) -> None:
    """Zip tools add them and Play refuses them, whether in a zip or in a folder."""
    path = zipped(tmp_path / "symbols.zip", [prefix + name for name in GOOD])
    assert packed(path, tmp_path / "temp") == (GOOD, ())
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "folder")
    assert packed(tmp_path / "folder", tmp_path / "temp2") == (GOOD, ())


def test_the_packed_zip_is_always_the_same(tmp_path: Path) -> None:
    """Order, dates and modes of the files do not show: a second run can recognise the first one's
    upload.
    """
    write(tmp_path / "one", {name: name for name in GOOD})
    write(tmp_path / "two", {name: name for name in reversed(GOOD)})
    os.utime(tmp_path / "two" / GOOD[0], (0, 0))
    (tmp_path / "two" / GOOD[1]).chmod(0o600)
    first, _ = checked(native.debug_symbols, *named(tmp_path / "one"), tmp_path / "t1")
    second, _ = checked(native.debug_symbols, *named(tmp_path / "two"), tmp_path / "t2")
    assert first.path.read_bytes() == second.path.read_bytes()
    assert first.name == "one (as native-debug-symbols.zip)"


def test_junk_among_the_symbols_is_left_out_with_a_warning(tmp_path: Path) -> None:
    """Play refuses unexpected files; tools leave them everywhere."""
    junk = [
        "x86_64/.DS_Store",
        "__MACOSX/x86_64/._libb.so",
        "readme.txt",
        "x86_64/dirstamp",
    ]
    names, warnings = packed(zipped(tmp_path / "s.zip", GOOD + junk), tmp_path / "temp")
    assert names == GOOD
    assert len(warnings) == 1
    assert "left out" in warnings[0]


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ([], "no native symbols"),
        (["liba.so"], "no native symbols"),
        (["app.android-arm64.symbols"], "flutter symbolize"),
        (["lib/x86/liba.so", "x86/liba.so"], "twice"),
        (["../x86/liba.so"], "no native symbols"),
    ],
)
def test_symbols_that_can_not_be_put_right_are_refused(
    tmp_path: Path, names: list[str], sentence: str
) -> None:
    """Each with what was expected."""
    path = zipped(tmp_path / "s.zip", names)
    assert (
        sentence
        in problems(
            lambda: checked(native.debug_symbols, *named(path), tmp_path),
            "debug-symbols",
        )[0]
    )
