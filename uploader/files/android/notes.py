"""Reads release notes and names of releases, from an input or from a directory in any of three
layouts.

- `whatsnew-<language>`, perhaps with `.txt` (the most used GitHub action),
- `<language>/changelogs/<versionCode>.txt` or `default.txt` (fastlane),
- `release-notes/<language>/<track>.txt` or `default.txt` (gradle-play-publisher), or what is inside
  `release-notes`.

The last one has names of releases beside the notes: `release-names/<track>.txt` or `default.txt`.
An input holds one text for the app's own language, or texts by language as YAML or JSON. A text
whose first line begins like `en-US:` is such a map and must be a valid one, so that no part of it
is published as text. What can't be a text, such as a path or another tool's JSON, is refused unless
it is in quotes.

Lengths are in code points, since Google's limits are for Unicode characters (help, "Prepare and
roll out a release").
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from uploader.errors import InputError, Problem, Problems
from uploader.files.android.limits import MAX_RELEASE_NAME, MAX_RELEASE_NOTES
from uploader.files.android.note_cut import cut
from uploader.files.mistaken_text import (
    Mistake,
    first,
    is_existing_file,
    is_existing_folder,
    lfs_pointer,
    output_of_a_tool,
    path_to_a_text,
)
from uploader.files.workspace import Workspace, path_hint, printable
from uploader.text import nested_deeply

ACCEPTED_LANGUAGE = "en-US, de-DE, es-419, fil"
_LANGUAGE_NAME = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")

# Play Console Help, table 4419860. Play refuses a release with notes in any other language.
_PLAY = """
af am ar az-AZ be bg bn-BD ca cs-CZ da-DK de-DE el-GR en-AU en-CA en-GB en-IN en-SG en-US en-ZA
es-419 es-ES es-US et eu-ES fa fa-AE fa-AF fa-IR fi-FI fil fr-CA fr-FR gl-ES gu hi-IN hr hu-HU hy-AM
id is-IS it-IT iw-IL ja-JP ka-GE kk km-KH kn-IN ko-KR ky-KG lo-LA lt lv mk-MK ml-IN mn-MN mr-IN ms
ms-MY my-MM ne-NP nl-NL no-NO pa pl-PL pt-BR pt-PT rm ro ru-RU si-LK sk sl sq sr sv-SE sw ta-IN
te-IN th tr-TR uk ur vi zh-CN zh-HK zh-TW zu
"""
LANGUAGES = frozenset(_PLAY.split())
_BY_LOWER_CASE = {language.lower(): language for language in LANGUAGES}
# What a language without a region most likely means.
_LIKELIEST = {"en": "en-US", "es": "es-ES", "fr": "fr-FR", "pt": "pt-BR"}
# Names that are right elsewhere (BCP 47, or Java's) and that Google spells in another way; in lower
# case.
_ALIASES = {
    "he": "iw-IL",
    "he-il": "iw-IL",
    "nb": "no-NO",
    "nb-no": "no-NO",
    "in": "id",
    "tl": "fil",
    "zh": "zh-CN",
}


def is_language_name(name: str) -> bool:
    """Return whether the name has the form of a language, known to Play or not."""
    return _LANGUAGE_NAME.fullmatch(name) is not None


def likeliest(name: str) -> list[str]:
    """Return up to three languages that may be meant by a name that is none of Google's, the
    likeliest first.
    """
    spelled = name.replace("_", "-").lower()
    if spelled in _BY_LOWER_CASE:
        return [_BY_LOWER_CASE[spelled]]
    if spelled in _ALIASES:
        return [_ALIASES[spelled]]
    base = spelled.partition("-")[0]
    family = [language for language in LANGUAGES if language.partition("-")[0] == base]
    likeliest = _LIKELIEST.get(base)
    family.sort(key=lambda language: (language != likeliest, language))
    return family[:3]


def suggestion(name: str) -> str:
    """Return a question that names the likeliest languages, after a space; empty when there are
    none.
    """
    languages = likeliest(name)
    if not languages:
        return ""
    return f" Did you mean {' or '.join(languages)}?"


# `whatsnew_de`, `WhatsNew-de-DE.txt`, `whats-new.fr`: what is nearly `whatsnew-<language>`
_NEARLY_WHATSNEW = re.compile(
    r"whats[-_ ]?new[-_. ]?([a-z]{2,3}(?:[-_][a-z0-9]+)*)(?:\.txt)?", re.IGNORECASE
)
_MAX_BYTES = 64 * 1024  # four times what the longest allowed text can measure in UTF-8
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def normalise(text: str) -> str:
    """Return the text with LF line ends, trimmed. Every text is sent like this, and compared like
    this.
    """
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _missing_checkout(root: Path) -> str:
    """Return a hint for a job that has only downloaded what another one built; empty if the
    workspace is a checkout.
    """
    if (root / ".git").exists():
        return ""
    return (
        " The workspace is not a checkout; in a job of its own, add a step with "
        "`actions/checkout`."
    )


class LocalizedFolder:
    """The folder that one input names. What is wrong with it and its entries is added to `problems`
    for that input.
    """

    def __init__(
        self,
        input_name: str,
        name: str,
        workspace: Workspace,
        accepted: str,
        problems: Problems,
    ) -> None:
        self.path = workspace.root / name
        self.access = workspace.access(input_name, name, named=False)
        self.problems = problems
        self._name = printable(name).rstrip("/")
        self._earlier_problems = len(problems)
        if not self.path.is_dir():
            hint = printable(path_hint(name, workspace.root)) or _missing_checkout(
                workspace.root
            )
            self.wrong(self.path, f"is not a folder.{hint}", accepted)

    @property
    def faulty(self) -> bool:
        """Whether anything was found to be wrong."""
        if len(self.problems) > self._earlier_problems:
            return True
        return not self.path.is_dir()

    def name_of(self, path: Path) -> str:
        """Return how messages call an entry, or the folder itself."""
        if path == self.path:
            return self._name
        relative = path.relative_to(self.path).as_posix()
        return f"{self._name}/{printable(relative)}"

    def wrong(
        self,
        path: Path,
        what: str,
        accepted: str = "",
    ) -> None:
        """Add a problem: Play would refuse this, or it can't be what was meant. `what` continues a
        sentence that begins with the entry's name.
        """
        self.problems.add(
            self.access.input_name, f"{self.name_of(path)} {what}", accepted
        )

    def warn(self, path: Path, what: str) -> None:
        """Add a warning about something that Play may take."""
        name = self.name_of(path)
        self.problems.warn(f"{self.access.input_name}: {name} {what}")

    def entries(self, below: Path | None = None) -> list[Path]:
        """Return what is in the folder, or in one below it, by name and without hidden entries;
        empty when it is no folder.
        """
        folder = below or self.path
        try:
            entries = sorted(
                entry for entry in folder.iterdir() if not entry.name.startswith(".")
            )
        except OSError:
            return []
        objection = self.access.objection(folder)
        if objection:
            self.wrong(folder, f"{objection}.")
            return []
        return entries

    def language(self, path: Path, *, must_be_known: bool) -> str:
        """Return the language that an entry is named for, "" if Play can't have it. The problem
        suggests what to write instead.
        """
        name = path.name
        if not path.is_dir():
            name = name.removeprefix("whatsnew-").removesuffix(".txt")
        if not is_language_name(name):
            what = (
                f"is not named for a language: `{printable(name)}`.{suggestion(name)}"
            )
            self.wrong(path, what, ACCEPTED_LANGUAGE)
            return ""
        if name in LANGUAGES:
            return name
        what = f"is for `{name}`, which is not in Google's list of languages.{suggestion(name)}"
        if not must_be_known:
            self.warn(path, what)
            return name
        languages = likeliest(name)
        if languages:
            what += f" Rename it to `{path.name.replace(name, languages[0], 1)}`."
        self.wrong(path, what, ACCEPTED_LANGUAGE)
        return ""

    def text(
        self,
        path: Path,
        max_length: int | None,
        accepted: str = "",
    ) -> str:
        """Return the text without a byte order mark, with LF line ends, trimmed; "" when there is
        none or it is wrong. `accepted` says what a text that Play would not take may be instead.
        """
        file = self.problems.collect(
            lambda: self.access.open_input(path, self.name_of(path))
        )
        if file is None:
            return ""
        with file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            what = (
                f"has over {_MAX_BYTES:,} bytes, more than any text that Play accepts."
            )
            self.wrong(path, what)
            return ""
        encoding = "utf-8-sig"
        # These byte order marks begin what Windows tools call "Unicode".
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            encoding = "utf-16"
        try:
            text = normalise(data.decode(encoding))
        except UnicodeDecodeError as error:
            what = f"is not UTF-8: the byte at offset {error.start} is invalid."
            self.wrong(path, what, "UTF-8 text")
            return ""
        fault = _path_in_a_file(text, path, self.access.workspace.root) or _fault(
            text, max_length
        )
        if fault:
            self.wrong(path, fault, accepted)
            return ""
        oddity = _oddity(text, max_length)
        if oddity:
            self.warn(path, oddity)
        return text


def _fault(text: str, max_length: int | None) -> str:
    """Return why Play does not take a text, as the rest of a sentence; empty when it does."""
    control = _CONTROLS.search(text)
    if control:
        code_point = f"U+{ord(control[0]):04X}"
        position = control.start() + 1
        return f"contains the control character {code_point} (character {position})."
    if max_length is not None and len(text) > max_length:
        return f"has {len(text)} characters; Play accepts at most {max_length}."
    return ""


def _path_in_a_file(text: str, path: Path, root: Path) -> str:
    """Return why a file holds a path instead of a text, as the rest of a sentence; empty when it
    does not.
    """
    if is_existing_file(text, path.parent) or is_existing_file(text, root):
        return (
            "holds the path of a file, which would be published as the text. Is it a symbolic link "
            "that was checked out as a file (git's `core.symlinks`)? Write the text itself."
        )
    return ""


def _oddity(text: str, max_length: int | None) -> str:
    """Return why Play may not take a text, as the rest of a sentence: it is too long if an emoji
    counts twice. Empty otherwise.
    """
    if max_length is None:
        return ""
    units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    if units <= max_length:
        return ""
    return f"has {len(text)} characters but {units} in UTF-16; Play's limit is {max_length}."


_ACCEPTED_FOLDER = (
    "whatsnew-<language>, <language>/changelogs/<versionCode>.txt or default.txt, "
    "or release-notes/<language>/<track>.txt or default.txt"
)
_ACCEPTED_LENGTH = "a text that fits, or `whats-new-overflow: cut`"
_NAMES = "release-names"

Texts = dict[str, str]
# By track; None stands for every track without notes of its own.
Notes = dict[str | None, Texts]
# For each text: its track, the file or folder that is named for its language, and its file.
Files = Iterator[tuple[str | None, Path, Path]]


def release_notes(
    directory: str,
    workspace: Workspace,
    version_codes: Sequence[int],
    tracks: Sequence[str],
    problems: Problems,
    *,
    max_length: int | None = MAX_RELEASE_NOTES,
) -> Notes:
    """Read notes by track and language. What is wrong or odd is added to the problems
    (`whats-new-directory`).

    Key None holds the notes of every track that has none of its own. A track's own entry is
    complete: languages that it does not have are filled from the default. With several version
    codes the highest one that has a file counts. With `max_length` None texts may be longer than
    Google Play accepts.
    """
    folder = LocalizedFolder(
        "whats-new-directory",
        directory,
        workspace,
        _ACCEPTED_FOLDER,
        problems,
    )
    files_by_layout = {
        "whatsnew-<language>": _whatsnew(folder),
        "<language>/changelogs": _changelogs(
            folder, sorted(version_codes, reverse=True)
        ),
        "release-notes/<language>": _by_track(folder, tracks),
    }
    notes_by_layout: dict[str, Notes] = {}
    for layout, files in files_by_layout.items():
        notes = _notes(folder, files, max_length)
        has_text = any(notes.values())
        # Empty files are no notes, but those named `whatsnew-<language>` may be meant so.
        if has_text or (notes and "whatsnew" in layout):
            notes_by_layout[layout] = notes
    if len(notes_by_layout) > 1:
        layouts = " and ".join(list(notes_by_layout)[:2])
        folder.wrong(folder.path, f"has notes in two layouts, {layouts}; keep one.")
    if notes_by_layout:
        return next(iter(notes_by_layout.values()))
    has_names = (folder.path / _NAMES).is_dir()
    if not folder.faulty and not has_names:
        what = "has no release notes for this release."
        below = _folder_with_notes(folder)
        if below:
            what += f" Did you mean `{below}`?"
        folder.wrong(folder.path, what, _ACCEPTED_FOLDER)
    return {}


def _folder_with_notes(folder: LocalizedFolder) -> str:
    """Return a folder one level below that has notes named `whatsnew-<language>`; else empty."""
    for entry in folder.entries():
        names = [path.name for path in folder.entries(entry)]
        if any(name.startswith("whatsnew-") for name in names):
            return folder.name_of(entry)
    return ""


def release_names(
    directory: str,
    workspace: Workspace,
    tracks: Sequence[str],
    problems: Problems,
) -> dict[str | None, str]:
    """Read the names of releases by track, with that of every other track under None. Problems are
    added as in `release_notes`.
    """
    folder = LocalizedFolder(
        "whats-new-directory",
        directory,
        workspace,
        _ACCEPTED_FOLDER,
        problems,
    )
    names: dict[str | None, str] = {}
    for track, path in _files_by_track(folder, folder.path / _NAMES, tracks):
        name = folder.text(path, None)
        if not name:
            continue
        names[track] = name
        if "\n" in name:
            folder.wrong(path, "has several lines; a release name is a single line.")
        elif len(name) > MAX_RELEASE_NAME:
            what = f"has {len(name)} characters; the Play Console allows {MAX_RELEASE_NAME}."
            folder.warn(path, what)
    return names


def _whatsnew(folder: LocalizedFolder) -> Files:
    """Find the files that are named `whatsnew-<language>`."""
    notes: list[Path] = []
    others: list[Path] = []
    for entry in folder.entries():
        if not entry.is_file():
            continue
        if entry.name.startswith("whatsnew-"):
            notes.append(entry)
        else:
            others.append(entry)
    for entry in notes:
        yield None, entry, entry
    for entry in others.copy():
        if _check_near_miss(folder, entry):
            others.remove(entry)
    # If nothing is named like this, the folder has another layout.
    if notes:
        for entry in others:
            folder.warn(entry, "is not used: it is not named whatsnew-<language>.")


def _check_near_miss(folder: LocalizedFolder, entry: Path) -> bool:
    """Add a problem for a name that is nearly `whatsnew-<language>`, such as `whatsnew_de`, since
    the release would go out without its notes. Return whether there is one.
    """
    misspelt = _NEARLY_WHATSNEW.fullmatch(entry.name)
    if misspelt is None:
        return False
    languages = likeliest(misspelt[1])
    if not languages:
        return False
    folder.wrong(entry, f"is not used. Did you mean `whatsnew-{languages[0]}`?")
    return True


def _changelogs(folder: LocalizedFolder, codes: Sequence[int]) -> Files:
    """Find the file of each language in fastlane's layout: that of the first version code that has
    one, otherwise the default.
    """
    names = [*(f"{code}.txt" for code in codes), "default.txt"]
    for entry in folder.entries():
        files = {path.name: path for path in folder.entries(entry / "changelogs")}
        usable = [files[name] for name in names if name in files]
        if usable:
            yield None, entry, usable[0]
        elif files:
            folder.warn(
                entry,
                "has no notes for this release: neither a default.txt nor a file for its version.",
            )


def _by_track(folder: LocalizedFolder, tracks: Sequence[str]) -> Files:
    """Find the files of each language in gradle-play-publisher's layout."""
    root = folder.path / "release-notes"
    if not root.is_dir():
        root = folder.path
    for entry in folder.entries(root):
        if entry.name == _NAMES:
            continue
        for track, path in _files_by_track(folder, entry, tracks):
            yield track, entry, path


def _files_by_track(
    folder: LocalizedFolder, below: Path, tracks: Sequence[str]
) -> Iterator[tuple[str | None, Path]]:
    """Yield the file of each track that has one, the default first, under None."""
    files = {path.name: path for path in folder.entries(below)}
    for track in dict.fromkeys((None, *tracks)):
        path = files.get(f"{track or 'default'}.txt")
        if path is not None:
            yield track, path


def _notes(folder: LocalizedFolder, files: Files, max_length: int | None) -> Notes:
    """Read the texts of one layout. A second file for a language, or one that Google Play does not
    know, is a problem.
    """
    notes: Notes = {}
    for track, named, path in files:
        texts = notes.setdefault(track, {})
        language = folder.language(named, must_be_known=True)
        if not language:
            continue
        if language in texts:
            folder.wrong(path, f"is a second file for `{language}`; keep one.")
            continue
        text = folder.text(path, max_length, _ACCEPTED_LENGTH)
        if not text:
            folder.warn(path, f"is empty: no notes for `{language}`.")
            continue
        texts[language] = text
        _check_content(folder, path, text)
    if not notes:
        return {}
    default = notes.get(None, {})
    complete: Notes = {None: default}
    for track, texts in notes.items():
        complete[track] = default | texts
    return complete


def _check_content(folder: LocalizedFolder, path: Path, text: str) -> None:
    """Add a problem if the text of a file can't be meant as release notes."""
    if output_of_a_tool(text, ""):
        folder.wrong(
            path, "is JSON, and would be published as it is.", "the text itself"
        )
        return
    mistake = path_to_a_text(text, (), "the text itself", must_exist=True)
    if mistake:
        folder.wrong(path, mistake.what, mistake.accepted)


def shorten(notes: Texts, input_name: str, problems: Problems) -> tuple[Texts, Texts]:
    """Return texts that Google Play accepts, and what was left out of those that were longer, by
    language. Each text that is cut, or that may be too long, is warned about.
    """
    kept: Texts = {}
    left_out: Texts = {}
    for language, text in notes.items():
        subject = f"{input_name}: {_text_of(language)}"
        kept[language] = text
        if len(text) > MAX_RELEASE_NOTES:
            kept[language], left_out[language] = cut(text)
            problems.warn(
                f"{subject} has {len(text)} characters; Play accepts at most "
                f"{MAX_RELEASE_NOTES}, so it is cut to {len(kept[language])}."
            )
            continue
        oddity = _oddity(text, MAX_RELEASE_NOTES)
        if oddity:
            problems.warn(f"{subject} {oddity}")
    return kept, left_out


def _text_of(language: str) -> str:
    """Return how messages call the text of a language, or the only text."""
    if language:
        return f"the text for `{printable(language)}`"
    return "the text"


DEFAULT_LANGUAGE = ""  # the app's own, which only Play knows
_INPUT = "whats-new"
_ACCEPTED_TEXT = (
    'a text, or YAML such as `en-US: "Fixed: no more crashes"` with a line for each '
    "language"
)
_CODE = r"[a-z]{2,3}(?:[-_][A-Za-z0-9]{1,8}){0,3}"
# The first language of a map; in JSON no blank has to stand behind the colon.
_FIRST_KEY = re.compile(
    rf"(?:\{{\s*\"(?P<json>{_CODE})\"\s*:|\{{?\s*([\"']?)(?P<yaml>{_CODE})\2\s*:(?:\s|$))"
)
_DOCUMENT_START = re.compile(r"---\s*\n")
_IN_QUOTES = 'or, if the text really begins like this, the text in quotes, `en-US: "…"`'
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'", re.DOTALL)
_LANGUAGE_WORDS = {
    **dict.fromkeys(("english", "englisch", "inglés", "anglais"), "en-US"),
    **dict.fromkeys(("german", "deutsch"), "de-DE"),
    **dict.fromkeys(("french", "français", "francais"), "fr-FR"),
    **dict.fromkeys(("spanish", "español", "espanol"), "es-ES"),
    **dict.fromkeys(("italian", "italiano"), "it-IT"),
    **dict.fromkeys(("portuguese", "português", "portugues"), "pt-BR"),
    **dict.fromkeys(("dutch", "nederlands"), "nl-NL"),
    **dict.fromkeys(("polish", "polski"), "pl-PL"),
    **dict.fromkeys(("russian", "русский"), "ru-RU"),
    **dict.fromkeys(("turkish", "türkçe"), "tr-TR"),
    **dict.fromkeys(("japanese", "日本語"), "ja-JP"),
    **dict.fromkeys(("korean", "한국어"), "ko-KR"),
    **dict.fromkeys(("chinese", "中文"), "zh-CN"),
    "arabic": "ar",
    "czech": "cs-CZ",
    "danish": "da-DK",
    "finnish": "fi-FI",
    "greek": "el-GR",
    "hebrew": "iw-IL",
    "hindi": "hi-IN",
    "hungarian": "hu-HU",
    "indonesian": "id",
    "norwegian": "no-NO",
    "romanian": "ro",
    "swedish": "sv-SE",
    "thai": "th",
    "ukrainian": "uk",
    "vietnamese": "vi",
}
_WORD_KEY = re.compile(r"[\"']?([^\W\d_]{2,12})[\"']?\s?[:=]")
_REGION_KEY = re.compile(
    r"[\"']?([A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})+)[\"']?\s?([:=|]|-\s)"
)
# A map below another key, as in the files of build tools: `releaseNotes:`, and the languages
# indented below it.
_NESTED_MAP = re.compile(r"\w+\s*:\s*\n\s+(?=\S)")
_BLOCK_START = re.compile(r"[|>][+-]?\s*\n")
_SHORT_KEY = re.compile(r"([a-z]{2})=")
# `language: en-US` with `text: …` below it, as in Google Play's own JSON. Alone the first line may
# begin a sentence.
_FIELD_KEY = re.compile(
    r"(?:language|locale|lang)\s?:\s.*\n\s*text\s?:", re.IGNORECASE | re.DOTALL
)
_LIST_ITEM = re.compile(r"^-\s+(.*)", re.MULTILINE)


class _InlineText(NamedTuple):
    """A text from the input with its language, and whether it is in quotes, so that it is meant as
    it is.
    """

    language: str
    text: str
    quoted: bool


def _is_map(text: str) -> bool:
    """Return whether a text begins like a map of languages."""
    if text.startswith("---"):
        text = _DOCUMENT_START.sub("", text, count=1)
    first_key = _FIRST_KEY.match(text)
    if not first_key:
        return False
    language = first_key["json"] or first_key["yaml"]
    return "-" in language or language in LANGUAGES or bool(suggestion(language))


def _misspelt_map(text: str) -> Mistake | None:
    """Return what is wrong with a text that begins like a map of languages, but is written in
    another way; None for any other text.
    """
    accepted = f"{_ACCEPTED_TEXT}; {_IN_QUOTES}"
    if _is_list_of_maps(text):
        return Mistake(
            "is a list (`- en-US: …`), and not a map: leave the dash out.", accepted
        )
    if _FIELD_KEY.match(text.removeprefix("-").lstrip()):
        return Mistake(
            "is a map with the names of fields, and not one from languages to texts.",
            accepted,
        )
    nested = _NESTED_MAP.match(text)
    if nested and _is_map(text[nested.end() :]):
        return Mistake(
            "has its languages below another key: leave the first line out.", accepted
        )
    if _BLOCK_START.match(text):
        return Mistake(
            "begins like a block of YAML that belongs to no language: write `en-US: |`.",
            accepted,
        )
    word = _WORD_KEY.match(text)
    if word:
        language = _LANGUAGE_WORDS.get(word[1].casefold())
        if language:
            return Mistake(
                f"begins with `{word[1]}`, which is not a language code. "
                f"Did you mean `{language}: …`?",
                accepted,
            )
    language = _language_of_misspelt_key(text)
    if language:
        return Mistake(
            f"is not a map of languages: write `{language}: …`, with a colon and a blank.",
            accepted,
        )
    return None


def _is_list_of_maps(text: str) -> bool:
    """Return whether a text is a list in which every item begins like a map of languages."""
    if not text.startswith("-"):
        return False
    items = _LIST_ITEM.findall(text)
    if not items:
        return False
    return all(_is_map(item) or _misspelt_map(item) for item in items)


def _language_of_misspelt_key(text: str) -> str:
    """Return the language that a text begins with, as in `en_us: …` or `de=…`; else empty."""
    region = _REGION_KEY.match(text)
    if region:
        # Only upper and lower case may differ from one of Google's: `Hi-Fi: …` is a text.
        return _BY_LOWER_CASE.get(region[1].replace("_", "-").lower(), "")
    short = _SHORT_KEY.match(text)
    languages = likeliest(short[1]) if short else []
    if not languages:
        return ""
    return languages[0]


def _no_text(text: str, root: Path | None) -> Mistake | None:
    """Return why a text can't be meant as release notes; None if it can. Paths are looked for below
    `root`.
    """
    folders = () if root is None else (root,)
    directory = ""
    file_in_directory = re.fullmatch(r"([^*\s]+)/(?:whatsnew-[^/\s]+|\*)", text)
    if file_in_directory:
        directory = file_in_directory[1]
    elif root is not None and is_existing_folder(text, root):
        directory = text
    instead = f"the text itself, or `whats-new-directory` for files; {_IN_QUOTES}"
    if directory:
        instead = f"`whats-new-directory: {printable(directory)}`, or the text itself; {_IN_QUOTES}"
    return first(
        (
            lfs_pointer(text),
            path_to_a_text(text, folders, instead),
            output_of_a_tool(text, _ACCEPTED_TEXT),
            _misspelt_map(text),
        )
    )


def _unquote(text: str) -> str:
    """Return what is in the quotes around a whole text, or the text itself if there are none."""
    if not _QUOTED.fullmatch(text):
        return text
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    try:
        return str(json.loads(text, strict=False)).strip()
    except ValueError:
        return text


def inline_notes(
    text: str,
    problems: Problems,
    root: Path | None = None,
    *,
    max_length: int | None = MAX_RELEASE_NOTES,
) -> dict[str, str]:
    """Return texts by language, a text without a language under DEFAULT_LANGUAGE. Problems are
    those of `whats-new`.

    A text that is the path of something below `root`, or can't be a text for another reason, is a
    problem. A text in quotes is taken as it is, without the quotes. With `max_length` None a text
    may be longer than Google Play accepts.
    """
    tag = re.match(r"<([\w-]+)>", text)
    if tag and tag[1] in LANGUAGES and f"</{tag[1]}>" in text:
        problems.add(
            _INPUT, "it has the language tags of the Play Console.", _ACCEPTED_TEXT
        )
    notes: dict[str, str] = {}
    for language, note, quoted in _inline_texts(text, problems, root):
        name = _text_of(language)
        if not quoted:
            mistake = _no_text(note, root)
            if mistake:
                problems.add(_INPUT, f"{name} {mistake.what}", mistake.accepted)
        if language:
            _check_language(language, problems)
        if language in notes:
            problems.add(_INPUT, f"it has two texts for `{language}`; keep one.")
        _check_note(name, note, problems, max_length)
        notes[language] = note
    return {language: note for language, note in notes.items() if note}


def _inline_texts(
    text: str, problems: Problems, root: Path | None
) -> list[_InlineText]:
    """Return the texts of an input, each with its language; none of a map that can't be read."""
    if _is_map(text):
        return problems.collect(lambda: list(_by_language(text))) or []
    unquoted = _unquote(text)
    # Quotes are removed if the text would be refused without them; otherwise they belong to the
    # text.
    if unquoted != text and (not unquoted or _no_text(unquoted, root)):
        return [_InlineText(DEFAULT_LANGUAGE, unquoted, quoted=True)]
    return [_InlineText(DEFAULT_LANGUAGE, text, quoted=False)]


def _check_language(language: str, problems: Problems) -> None:
    """Add a problem for a language that is not in Google's list."""
    if language in LANGUAGES:
        return
    what = "is not a language"
    if is_language_name(language):
        what = "is not in Google's list of languages"
    problems.add(
        _INPUT,
        f"`{printable(language)}` {what}.{suggestion(language)}",
        ACCEPTED_LANGUAGE,
    )


def _check_note(
    name: str,
    note: str,
    problems: Problems,
    max_length: int | None,
) -> None:
    """Add a problem if Play does not take a text; a warning if it may not, or the text is empty."""
    fault = _fault(note, max_length)
    if fault:
        problems.add(_INPUT, f"{name} {fault}", _ACCEPTED_LENGTH)
        return
    oddity = _oddity(note, max_length)
    if oddity:
        problems.warn(f"{_INPUT}: {name} {oddity}")
    elif not note:
        problems.warn(f"{_INPUT}: {name} is empty: no notes.")


def _by_language(text: str) -> Iterator[_InlineText]:
    """Read a map of languages in YAML or JSON. Raises InputError.

    In JSON every text is in quotes, so they do not say that a text is meant as it is.
    """
    # Imported only now: in this module only notes by language need it.
    import yaml

    try:
        # PyYAML would take hours for a text that is nested deeply.
        if nested_deeply(text):
            raise yaml.YAMLError  # noqa: TRY301  # as for every other text that is not read
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError, ValueError):
        what = (
            "it begins like a map of languages but is not valid YAML: a text with `: ` in it needs "
            "quotes, or `|`."
        )
        raise InputError(Problem(_INPUT, what, _ACCEPTED_TEXT)) from None
    not_a_map = InputError(
        Problem(_INPUT, "it is not a map from languages to texts.", _ACCEPTED_TEXT)
    )
    if not isinstance(root, yaml.MappingNode):
        raise not_a_map
    for key, value in root.value:
        scalars = isinstance(key, yaml.ScalarNode) and isinstance(
            value, yaml.ScalarNode
        )
        if not scalars or not key.value:
            raise not_a_map
        quoted = value.style is not None and not text.startswith("{")
        yield _InlineText(key.value, value.value.strip(), quoted)
