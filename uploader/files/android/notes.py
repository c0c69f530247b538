"""Release notes and names of releases: from a directory in any of the three layouts that people
have, or an input.

- `whatsnew-<language>`, perhaps with `.txt` (the most used GitHub action),
- `<language>/changelogs/<versionCode>.txt` or `default.txt` (fastlane),
- `release-notes/<language>/<track>.txt` or `default.txt` (gradle-play-publisher), or what is inside
  `release-notes`.

The last one has names of releases beside the notes: `release-names/<track>.txt` or `default.txt`.
An input holds one text for the app's own language, or texts by language as YAML or JSON: a text
whose first line begins like `en-US:` is such a map and must be a whole one, so that no half of it
is published. What can't be a text, such as a path or another tool's JSON, is refused unless it is
in quotes.

Code points are counted, as Google's limits are for Unicode characters (help, "Prepare and roll out
a release").
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from uploader.errors import InputError, Problem, Problems
from uploader.files.android.limits import MAX_RELEASE_NAME, MAX_RELEASE_NOTES
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

# Play Console Help, table 4419860. Release notes in any other language are refused, and so would be
# the release.
_PLAY = """
af am ar az-AZ be bg bn-BD ca cs-CZ da-DK de-DE el-GR en-AU en-CA en-GB en-IN en-SG en-US en-ZA
es-419 es-ES es-US et eu-ES fa fa-AE fa-AF fa-IR fi-FI fil fr-CA fr-FR gl-ES gu hi-IN hr hu-HU hy-AM
id is-IS it-IT iw-IL ja-JP ka-GE kk km-KH kn-IN ko-KR ky-KG lo-LA lt lv mk-MK ml-IN mn-MN mr-IN ms
ms-MY my-MM ne-NP nl-NL no-NO pa pl-PL pt-BR pt-PT rm ro ru-RU si-LK sk sl sq sr sv-SE sw ta-IN
te-IN th tr-TR uk ur vi zh-CN zh-HK zh-TW zu
"""
LANGUAGES = frozenset(_PLAY.split())
_BY_LOWER_CASE = {language.lower(): language for language in LANGUAGES}
# Names that are right elsewhere (BCP 47, or Java's) and that Google spells in another way.
# where a language alone was written
_LIKELIEST = {"en": "en-US", "es": "es-ES", "fr": "fr-FR", "pt": "pt-BR"}
_ALIASES = {
    "he": "iw-IL",
    "he-IL": "iw-IL",
    "nb": "no-NO",
    "nb-NO": "no-NO",
    "in": "id",
    "tl": "fil",
    "zh": "zh-CN",
}


def is_language_name(name: str) -> bool:
    """Whether the name has the form of a language, known to Play or not."""
    return _LANGUAGE_NAME.fullmatch(name) is not None


def likeliest(name: str) -> list[str]:
    """The languages that may be meant by a name that is none of Google's, the likeliest first;
    three at most.
    """
    spelled = name.replace("_", "-").lower()
    base = spelled.partition("-")[0]
    exact = [known for known in LANGUAGES if known.lower() == spelled]
    family = [known for known in LANGUAGES if known.partition("-")[0] == base]
    family.sort(key=lambda known: (known != _LIKELIEST.get(base), known))
    return (
        exact or [other for alias, other in _ALIASES.items() if alias.lower() == spelled] or family
    )[:3]


def suggestion(name: str) -> str:
    """A question that names the likeliest languages, after a space; empty when none comes near."""
    return f" Did you mean {' or '.join(known)}?" if (known := likeliest(name)) else ""


_MAX_BYTES = 64 * 1024  # four times what the longest allowed text can measure in UTF-8
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def normalised(text: str) -> str:
    """The text with LF line ends, trimmed: what every text is sent as, so that nothing else is a
    difference.
    """
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


class LocalizedFolder:
    """The folder that one input names. What is wrong with it and its entries is added to `problems`
    for that input.
    """

    def __init__(
        self, input_name: str, name: str, workspace: Workspace, accepted: str, problems: Problems
    ) -> None:
        self.path, self.access, self.problems = (
            workspace.root / name,
            workspace.access(input_name, name, named=False),
            problems,
        )
        self._name, self._known = printable(name).rstrip("/"), len(problems)
        if not self.path.is_dir():
            self.wrong(
                self.path, f"is not a folder.{printable(path_hint(name, workspace.root))}", accepted
            )

    @property
    def faulty(self) -> bool:
        """Whether anything was found to be wrong."""
        return len(self.problems) > self._known or not self.path.is_dir()

    def name_of(self, path: Path) -> str:
        """How an entry, or the folder itself, is called in messages."""
        return (
            self._name
            if path == self.path
            else f"{self._name}/{printable(path.relative_to(self.path).as_posix())}"
        )

    def wrong(self, path: Path, what: str, accepted: str = "") -> None:
        """Play would refuse this, or it can't be what was meant; `what` continues a sentence that
        begins with it.
        """
        self.problems.add(self.access.input_name, f"{self.name_of(path)} {what}", accepted)

    def warn(self, path: Path, what: str) -> None:
        """Worth a look, but Play may take it."""
        self.problems.warn(f"{self.access.input_name}: {self.name_of(path)} {what}")

    def entries(self, below: Path | None = None) -> list[Path]:
        """What is in the folder, or in one below it, by name, without hidden entries; empty when it
        is no folder.
        """
        folder = below or self.path
        try:
            found = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
        except OSError:
            return []
        if objection := self.access.objection(folder):
            self.wrong(folder, f"{objection}.")
            return []
        return found

    def language(self, path: Path, *, must_be_known: bool) -> str:
        """The language that an entry is named for, "" where Play can't have it; suggests what to
        write instead.
        """
        name = (
            path.name if path.is_dir() else path.name.removeprefix("whatsnew-").removesuffix(".txt")
        )
        if not is_language_name(name):
            self.wrong(
                path,
                f"is not named for a language: `{printable(name)}`.{suggestion(name)}",
                ACCEPTED_LANGUAGE,
            )
            return ""
        if name in LANGUAGES:
            return name
        what = f"is for `{name}`, which is not in Google's list of languages.{suggestion(name)}"
        if not must_be_known:
            self.warn(path, what)
            return name
        for known in likeliest(name)[:1]:
            what += f" Rename it to `{path.name.replace(name, known, 1)}`."
        self.wrong(path, what, ACCEPTED_LANGUAGE)
        return ""

    def text(self, path: Path, max_length: int | None) -> str:
        """The text without a byte order mark, with LF line ends, trimmed; "" when there is none or
        it is wrong.
        """
        file = self.problems.collect(lambda: self.access.open_input(path, self.name_of(path)))
        if file is None:
            return ""
        with file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            self.wrong(
                path, f"has over {_MAX_BYTES:,} bytes, more than any text that Play accepts."
            )
            return ""
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")  # what Windows tools call "Unicode"
        try:
            text = normalised(data.decode("utf-16" if wide else "utf-8-sig"))
        except UnicodeDecodeError as error:
            self.wrong(
                path, f"is not UTF-8: the byte at offset {error.start} is invalid.", "UTF-8 text"
            )
            return ""
        fault = _path_in_a_file(text, path, self.access.workspace.root) or _fault(text, max_length)
        if fault:
            self.wrong(path, fault)
        elif odd := _oddity(text, max_length):
            self.warn(path, odd)
        return "" if fault else text


def _fault(text: str, max_length: int | None) -> str:
    """Why Play takes no such text, as the rest of a sentence; empty when it does."""
    if found := _CONTROLS.search(text):
        return (
            f"contains the control character U+{ord(found[0]):04X} (character {found.start() + 1})."
        )
    too_long = max_length is not None and len(text) > max_length
    return f"has {len(text)} characters; Play accepts at most {max_length}." if too_long else ""


def _path_in_a_file(text: str, path: Path, root: Path) -> str:
    """Why a file holds a path instead of a text, as the rest of a sentence; empty when it does
    not.
    """
    if is_existing_file(text, path.parent) or is_existing_file(text, root):
        return (
            "holds the path of a file, which would be published as the text. Is it a symbolic link "
            "that was checked out as a file (git's `core.symlinks`)? Write the text itself."
        )
    return ""


def _oddity(text: str, max_length: int | None) -> str:
    """What Play may not take, as the rest of a sentence: too long where an emoji counts twice; else
    empty.
    """
    units = len(text) + sum(character > "\uffff" for character in text)
    too_long = max_length is not None and units > max_length
    return (
        f"has {len(text)} characters but {units} in UTF-16; Play's limit is {max_length}."
        if too_long
        else ""
    )


_ACCEPTED_FOLDER = (
    "whatsnew-<language>, <language>/changelogs/<versionCode>.txt or default.txt, "
    "or release-notes/<language>/<track>.txt or default.txt"
)
_NAMES = "release-names"

Texts = dict[str, str]
# By track; None stands for every track without notes of its own.
Notes = dict[str | None, Texts]
# Of each text its track, the file or folder that is named for its language, and its file.
Files = Iterator[tuple[str | None, Path, Path]]


def release_notes(
    directory: str,
    workspace: Workspace,
    version_codes: Sequence[int],
    tracks: Sequence[str],
    problems: Problems,
) -> Notes:
    """Notes by track and language; what is wrong or odd is added to the problems
    (`whats-new-directory`).

    Key None holds the notes of every track that has none of its own; a track's own entry is
    complete: languages that it does not have are filled from the default. With several version
    codes the highest one that has a file counts.
    """
    folder = LocalizedFolder(
        "whats-new-directory", directory, workspace, _ACCEPTED_FOLDER, problems
    )
    layouts = {
        "whatsnew-<language>": _whatsnew(folder),
        "<language>/changelogs": _changelogs(folder, sorted(version_codes, reverse=True)),
        "release-notes/<language>": _by_track(folder, tracks),
    }
    read = {layout: _notes(folder, files) for layout, files in layouts.items()}
    # Empty files are no notes, but `whatsnew-<language>` ones may be meant so.
    found = {
        name: notes
        for name, notes in read.items()
        if any(notes.values()) or (notes and "whatsnew" in name)
    }
    if len(found) > 1:
        folder.wrong(
            folder.path, f"has notes in two layouts, {' and '.join([*found][:2])}; keep one."
        )
    elif not (found or folder.faulty or (folder.path / _NAMES).is_dir()):
        folder.wrong(folder.path, "has no release notes for this release.", _ACCEPTED_FOLDER)
    return next(iter(found.values()), {})


def release_names(
    directory: str, workspace: Workspace, tracks: Sequence[str], problems: Problems
) -> dict[str | None, str]:
    """Names of releases by track, under None that of every other track; problems as for
    `release_notes`.
    """
    folder = LocalizedFolder(
        "whats-new-directory", directory, workspace, _ACCEPTED_FOLDER, problems
    )
    names: dict[str | None, str] = {}
    for track, path in _files_by_track(folder, folder.path / _NAMES, tracks):
        if name := folder.text(path, None):
            names[track] = name
        if "\n" in name:
            folder.wrong(path, "has several lines; a release name is a single line.")
        elif len(name) > MAX_RELEASE_NAME:
            folder.warn(
                path, f"has {len(name)} characters; the Play Console allows {MAX_RELEASE_NAME}."
            )
    return names


def _whatsnew(folder: LocalizedFolder) -> Files:
    files = [entry for entry in folder.entries() if entry.is_file()]
    named = [entry for entry in files if entry.name.startswith("whatsnew-")]
    yield from ((None, entry, entry) for entry in named)
    for entry in files if named else ():
        if entry not in named:
            folder.warn(entry, "is not used: it is not named whatsnew-<language>.")


def _changelogs(folder: LocalizedFolder, codes: Sequence[int]) -> Files:
    names = [*(f"{code}.txt" for code in codes), "default.txt"]
    for entry in folder.entries():
        files = {path.name: path for path in folder.entries(entry / "changelogs")}
        if chosen := next((files[name] for name in names if name in files), None):
            yield None, entry, chosen
        elif files:
            folder.warn(
                entry,
                "has no notes for this release: neither a default.txt nor a file for its version.",
            )


def _by_track(folder: LocalizedFolder, tracks: Sequence[str]) -> Files:
    root = folder.path / "release-notes"
    for entry in folder.entries(root if root.is_dir() else None):
        if entry.name != _NAMES:
            yield from (
                (track, entry, path) for track, path in _files_by_track(folder, entry, tracks)
            )


def _files_by_track(
    folder: LocalizedFolder, below: Path, tracks: Sequence[str]
) -> Iterator[tuple[str | None, Path]]:
    files = {path.name: path for path in folder.entries(below)}
    for track in dict.fromkeys((None, *tracks)):
        if path := files.get(f"{track or 'default'}.txt"):
            yield track, path


def _notes(folder: LocalizedFolder, files: Files) -> Notes:
    """The texts of one layout; a second file for a language, or one that Google Play does not know,
    is a mistake.
    """
    notes: Notes = {}
    for track, named, path in files:
        texts = notes.setdefault(track, {})
        if not (language := folder.language(named, must_be_known=True)):
            continue
        if language in texts:
            folder.wrong(path, f"is a second file for `{language}`; keep one.")
        elif text := folder.text(path, MAX_RELEASE_NOTES):
            texts[language] = text
            if output_of_a_tool(text, ""):
                folder.wrong(path, "is JSON, and would be published as it is.", "the text itself")
            elif mistake := path_to_a_text(text, (), "the text itself", must_exist=True):
                folder.wrong(path, mistake.what, mistake.accepted)
        else:
            folder.warn(path, f"is empty: no notes for `{language}`.")
    default = notes.get(None, {})
    return (
        {None: default, **{track: {**default, **texts} for track, texts in notes.items()}}
        if notes
        else {}
    )


DEFAULT_LANGUAGE = ""  # the app's own, which only Play knows
_INPUT = "whats-new"
_ACCEPTED_TEXT = (
    'a text, or YAML such as `en-US: "Fixed: no more crashes"` with a line for each language'
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
_REGION_KEY = re.compile(r"[\"']?([A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})+)[\"']?\s?([:=|]|-\s)")
# A map below another key, as build tools have it: `releaseNotes:`, and the languages indented below
# it.
_NESTED_MAP = re.compile(r"\w+\s*:\s*\n\s+(?=\S)")
_BLOCK_START = re.compile(r"[|>][+-]?\s*\n")
_SHORT_KEY = re.compile(r"([a-z]{2})=")
# `language: en-US` with `text: …` below it, as Google Play's own JSON has it; alone it may begin a
# sentence.
_FIELD_KEY = re.compile(r"(?:language|locale|lang)\s?:\s.*\n\s*text\s?:", re.IGNORECASE | re.DOTALL)
_LIST_ITEM = re.compile(r"^-\s+(.*)", re.MULTILINE)


def _is_map(text: str) -> bool:
    """Whether a text begins like a map of languages."""
    first_key = _FIRST_KEY.match(
        _DOCUMENT_START.sub("", text, count=1) if text.startswith("---") else text
    )
    if not first_key:
        return False
    language = first_key["json"] or first_key["yaml"]
    return "-" in language or language in LANGUAGES or bool(suggestion(language))


def _misspelt_map(text: str) -> Mistake | None:
    """What begins like a map of languages, but is written in another way than such a map."""
    accepted = f"{_ACCEPTED_TEXT}; {_IN_QUOTES}"
    items = _LIST_ITEM.findall(text) if text.startswith("-") else []
    if items and all(_is_map(item) or _misspelt_map(item) for item in items):
        return Mistake("is a list (`- en-US: …`), and not a map: leave the dash out.", accepted)
    if _FIELD_KEY.match(text.removeprefix("-").lstrip()):
        return Mistake(
            "is a map with the names of fields, and not one from languages to texts.", accepted
        )
    nested = _NESTED_MAP.match(text)
    if nested and _is_map(text[nested.end() :]):
        return Mistake("has its languages below another key: leave the first line out.", accepted)
    if _BLOCK_START.match(text):
        return Mistake(
            "begins like a block of YAML that belongs to no language: write `en-US: |`.", accepted
        )
    word = _WORD_KEY.match(text)
    if word and (known := _LANGUAGE_WORDS.get(word[1].casefold())):
        return Mistake(
            f"begins with `{word[1]}`, which is not a language code. Did you mean `{known}: …`?",
            accepted,
        )
    region, short = _REGION_KEY.match(text), _SHORT_KEY.match(text)
    known = ""
    if region:  # spelt like one of Google's but for its letters' case: `Hi-Fi: …` is a text
        known = _BY_LOWER_CASE.get(region[1].replace("_", "-").lower(), "")
    elif short:
        known = next(iter(likeliest(short[1])), "")
    if known:
        return Mistake(
            f"is not a map of languages: write `{known}: …`, with a colon and a blank.", accepted
        )
    return None


def _no_text(text: str, root: Path | None) -> Mistake | None:
    """What can't be meant as the text of release notes; paths are looked for below `root`."""
    instead = f"the text itself, or `whats-new-directory` for files; {_IN_QUOTES}"
    folder = re.fullmatch(r"([^*\s]+)/(?:whatsnew-[^/\s]+|\*)", text)
    if folder:
        instead = f"`whats-new-directory: {printable(folder[1])}`, or the text itself; {_IN_QUOTES}"
    elif root is not None and is_existing_folder(text, root):
        instead = f"`whats-new-directory: {printable(text)}`, or the text itself; {_IN_QUOTES}"
    folders = () if root is None else (root,)
    checks = (
        lfs_pointer(text),
        path_to_a_text(text, folders, instead),
        output_of_a_tool(text, _ACCEPTED_TEXT),
    )
    return first((*checks, _misspelt_map(text)))


def _unquoted(text: str) -> str:
    """What is in the quotes that stand around a whole text; the text itself where there are
    none.
    """
    if not _QUOTED.fullmatch(text):
        return text
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    try:
        return str(json.loads(text, strict=False)).strip()
    except ValueError:
        return text


def inline_notes(text: str, problems: Problems, root: Path | None = None) -> dict[str, str]:
    """Texts by language; a text without a language is under DEFAULT_LANGUAGE. Problems are those of
    `whats-new`.

    A text that is the path of something below `root`, or can't be a text for another reason, is a
    problem; one in quotes is taken as it is, without the quotes.
    """
    if (tag := re.match(r"<([\w-]+)>", text)) and tag[1] in LANGUAGES and f"</{tag[1]}>" in text:
        problems.add(_INPUT, "it has the language tags of the Play Console.", _ACCEPTED_TEXT)
    notes: dict[str, str] = {}
    if _is_map(text):
        texts = problems.collect(lambda: [*_by_language(text)]) or []
    elif (inside := _unquoted(text)) != text and (not inside or _no_text(inside, root)):
        texts = [(DEFAULT_LANGUAGE, inside, True)]
    else:
        texts = [(DEFAULT_LANGUAGE, text, False)]
    for language, value, quoted in texts:
        name = f"the text for `{printable(language)}`" if language else "the text"
        if not quoted and (mistake := _no_text(value, root)):
            problems.add(_INPUT, f"{name} {mistake.what}", mistake.accepted)
        if language and language not in LANGUAGES:
            what = (
                "is not in Google's list of languages"
                if is_language_name(language)
                else "is not a language"
            )
            problems.add(
                _INPUT, f"`{printable(language)}` {what}.{suggestion(language)}", ACCEPTED_LANGUAGE
            )
        if language in notes:
            problems.add(_INPUT, f"it has two texts for `{language}`; keep one.")
        if fault := _fault(value, MAX_RELEASE_NOTES):
            problems.add(_INPUT, f"{name} {fault}")
        elif odd := _oddity(value, MAX_RELEASE_NOTES):
            problems.warn(f"{_INPUT}: {name} {odd}")
        elif not value:
            problems.warn(f"{_INPUT}: {name} is empty: no notes.")
        notes[language] = value
    return {language: value for language, value in notes.items() if value}


def _by_language(text: str) -> Iterator[tuple[str, str, bool]]:
    """Language, text, and whether the text is in quotes; those of JSON say nothing, since JSON has
    no other form.
    """
    import yaml  # which only notes by language need

    try:
        if nested_deeply(text):
            raise yaml.YAMLError  # noqa: TRY301  # as every other text that is not read: it would be scanned for hours
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError, ValueError):
        what = (
            "it begins like a map of languages but is not valid YAML: a text with `: ` in it needs "
            "quotes, or `|`."
        )
        raise InputError(Problem(_INPUT, what, _ACCEPTED_TEXT)) from None
    for key, value in root.value if isinstance(root, yaml.MappingNode) else [(None, None)]:
        if not (
            isinstance(key, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode) and key.value
        ):
            raise InputError(
                Problem(_INPUT, "it is not a map from languages to texts.", _ACCEPTED_TEXT)
            )
        yield key.value, value.value.strip(), value.style is not None and not text.startswith("{")
