"""Turn the text of an input into a value, or say what is wrong with it.

Every parser takes trimmed, non-empty text and raises `InvalidValue`. Messages leave the text out,
so that a key that was pasted into the wrong place reaches no log: `reader` decides whether it is
shown, and how much of it. The only parts that a message repeats are an unknown placeholder, an
address that is given twice, and a suggestion. Regular expressions only get short texts, unless
their time is linear in the length.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args
from urllib.parse import unquote

from uploader.hosts import is_loopback
from uploader.inputs.platform import Kind
from uploader.redaction import holds_credential

FilesByVersion: TypeAlias = tuple[tuple[str, str], ...]
Metric = Literal["crash-rate", "anr-rate"]

EMULATOR = "emulator"  # the endpoint that means the embedded one
# takes over what the previous release has: its notes, its versions
LAST_RELEASE: Final = "last-release"
PLACEHOLDERS = ("{version-code}", "{name}")
# stands for the package name in a path, so that each of several apps has its own
PACKAGE: Final = "{package}"
_NAMES_OF_PACKAGE = ("{packagename}", "{applicationid}", "{app}", "{appid}")
# characters; Linux passes no variable that is longer (MAX_ARG_STRLEN)
MAX_TEXT = 131_072
MAX_LINE = 4096  # characters; as long as the longest path
MAX_NAME = 255  # bytes of one file's or folder's name (NAME_MAX)
MAX_SHOWN = 80  # characters of a wrong value
# Play's limit, developer.android.com/studio/publish/versioning
MAX_VERSION_CODE = 2_100_000_000
# characters; the key protects upload sessions, and many people can read a cache
MIN_STATE_KEY = 16
SIZE_UNITS = {
    "": 1,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
}
TIME_UNITS = {
    "s": 1,
    "m": 60,
    "h": 3600,
}
BOOLEANS = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_STANDARD_TRACKS = frozenset({"internal", "alpha", "beta", "production"})
RENAMED_TRACKS = {
    "internalsharing": "is not a track: for internal app sharing use `target: "
    "play-internal-sharing`.",
    "rollout": "is no longer a track: for a staged rollout use `tracks: production` with "
    "`user-fraction`.",
}
# What people write instead of an accepted word, in lower case.
MEANT = {
    "published": "completed",
    "release": "completed",
    "released": "completed",
    "complete": "completed",
    "done": "completed",
    "rollout": "inProgress",
    "staged": "inProgress",
    "in-progress": "inProgress",
    "paused": "halted",
    "stopped": "halted",
    "google-play": "play",
    "googleplay": "play",
    "play-store": "play",
    "playstore": "play",
    "android": "play",
    "internal-sharing": "play-internal-sharing",
    "internal-app-sharing": "play-internal-sharing",
    "internalsharing": "play-internal-sharing",
    "mail": "gmail",
    "email": "gmail",
    "google-mail": "gmail",
    "drive": "drive.files.create",
    "google-drive": "drive.files.create",
    "gcs": "storage.objects.insert",
    "storage": "storage.objects.insert",
    "cloud-storage": "storage.objects.insert",
}

# `$NAME`, `${NAME}`, `${{ … }}`, `$(…)`, with nothing before or after it.
_REFERENCE = re.compile(
    r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}|\{\{.*\}\}|\(.*\))", re.ASCII | re.DOTALL
)
NO_VALUE = ("null", "undefined", "None", "~", "[object Object]")
"""What templates and scripts write for a value that is not there."""
NOT_EXPANDED = "is the name of a variable, not its value: it was not expanded."
# What to give instead of a variable that was not expanded.
EXPANDED: Mapping[Kind, str] = {
    "github": "`${{ secrets.NAME }}` or `${{ vars.NAME }}`; GitHub expands no `$NAME` in `with:`.",
    "gitlab": "a variable that this job has. GitLab leaves `$NAME` as it is where NAME is not "
    "defined, or is protected and the job's branch or tag is not (Settings, CI/CD, Variables): "
    "docs/GITLAB.md, Secrets.",
    "console": "the value itself. Nothing is expanded in single quotes or in an env file.",
}
# A package name in the address of an app's page, or before the name of an activity.
_PACKAGE_INSIDE = re.compile(
    r"(?:[?&]id=|^)([A-Za-z]\w{0,99}(?:\.[A-Za-z]\w{0,99}){1,9})(?=[/&#]|$)", re.ASCII
)
_NUMBER = r"[0-9]{1,4}(?:\.[0-9]{1,6})?"
_NO_LIMITS = "is not a list of limits."
_LIMITS = "`crash-rate 1.09%`, `anr-rate 0.47%`, `crash-rate 1.5x`"
_FILES = (
    "one path, a path with `{version-code}` or `{name}`, or a line `42=path` for each "
    "version code"
)


@dataclass(eq=False)
class InvalidValue(ValueError):
    """The text can't be accepted: a reason that completes "the value …", and what would be
    accepted.
    """

    reason: str
    accepted: str = ""


@dataclass(frozen=True)
class Limit:
    """The highest rate that is accepted: a share of the users or, if `relative`, a multiple of the
    completed release's rate.
    """

    metric: Metric
    value: float
    relative: bool = False

    def __str__(self) -> str:
        if self.relative:
            return f"{self.metric} {self.value:g}x"
        return f"{self.metric} {self.value * 100:g} %"


def is_reference(value: str) -> bool:
    """Return whether a text is a reference to a variable that was not replaced by its value."""
    return _REFERENCE.fullmatch(value) is not None


def quote(value: str) -> str:
    """Return the text for people: quoted, escaped, short; a long one, or one that looks like a key,
    is only described.
    """
    if len(value) > MAX_SHOWN or "PRIVATE KEY" in value or holds_credential(value):
        return f"A value of {len(value)} characters"
    return repr(value)


def require_public(value: str) -> None:
    """Raise `InvalidValue` for a credential, in plain or in base64, in an input that is shown or
    sent to a service.
    """
    if holds_credential(value):
        raise InvalidValue(
            "contains a key or another credential.", "a key only in `credentials`"
        )


def text(value: str) -> str:
    """Return any text that a variable can hold, of one line or several."""
    if len(value) > MAX_TEXT:
        raise InvalidValue("is too long.", f"at most {MAX_TEXT} characters")
    if "\0" in value:
        raise InvalidValue("contains a NUL byte.")
    if re.search("[\ud800-\udfff]", value):
        raise InvalidValue("is not UTF-8.")
    if is_reference(value):
        raise InvalidValue(NOT_EXPANDED)
    if value in NO_VALUE:
        raise InvalidValue("is what an expression without a value writes.")
    return value


def state_key(value: str) -> str:
    """Return a secret that is long enough to withstand guessing."""
    if len(text(value)) < MIN_STATE_KEY:
        raise InvalidValue(
            "is too short.", f"a secret of at least {MIN_STATE_KEY} characters"
        )
    return value


def line(value: str) -> str:
    """Return one line of text without control characters."""
    if len(value) > MAX_LINE:
        raise InvalidValue("is too long.", f"one line of at most {MAX_LINE} characters")
    if re.search(r"[\x00-\x1f\x7f]", text(value)):
        raise InvalidValue(
            "contains a line break or another control character.", "one line"
        )
    return value


def leads_elsewhere(value: str) -> bool:
    """Return whether a part of a URL's path leads to another path: by a `.` or `..` segment, also
    if it is percent-encoded up to three times.
    """
    plain = value
    for _ in range(3):
        plain = unquote(plain)
    segments = re.split(r"[/\\]", plain)
    return "." in segments or ".." in segments


def path_part(value: str) -> str:
    """Return one line that is part of the path of a URL."""
    if leads_elsewhere(line(value)):
        raise InvalidValue(
            "contains a . or .. segment, which would lead to another path.",
            "a plain name or id",
        )
    return value


def deployment(value: str) -> str:
    """Return the id of an OTA deployment. `deployments/ID`, as Google's API names it, is accepted
    as well.

    Which characters an id can have is not documented, so only what can't be an id is refused: an
    address, several segments of a path, and several words.
    """
    accepted = (
        "the id of a deployment, as in `deployments/1234567890`: what follows the slash"
    )
    identifier = path_part(value.removeprefix("deployments/"))
    if "://" in identifier or identifier.startswith(("partner.android.com", "www.")):
        raise InvalidValue("is the address of a page.", accepted)
    if re.search(r"\s", identifier):
        raise InvalidValue("contains whitespace, so it is a title and no id.", accepted)
    if re.search(r"[/\\?#<>{}]", identifier):
        raise InvalidValue("is not the id of a deployment.", accepted)
    return identifier


def word(value: str) -> str:
    """Return an id for the path of a URL: one line without whitespace."""
    if re.search(r"\s", path_part(value)):
        raise InvalidValue("contains whitespace.", "an id without whitespace")
    return value


def path(value: str) -> str:
    """Return the path of a file or folder."""
    for name in line(value).split("/"):
        if len(name.encode()) > MAX_NAME:
            raise InvalidValue(
                "is not a valid path: a name in it is too long.",
                f"names of at most {MAX_NAME} bytes",
            )
    return value


def folder(value: str) -> Path | None:
    """Return a folder's path."""
    return Path(path(value))


def items(value: str) -> tuple[str, ...]:
    """Return items separated by newlines or commas, each once, in order."""
    separated = [line(item) for item in _split(value)]
    marked_up = re.fullmatch(r"\[.*[\"',].*\]", value, re.DOTALL) is not None
    for item in separated:
        if re.fullmatch(r"- .+|([\"']).*\1", item):
            marked_up = True
    if marked_up:
        accepted = "items separated by line breaks or commas, without dashes, brackets and quotes"
        raise InvalidValue("is written as YAML or JSON, or in quotes.", accepted)
    return tuple(dict.fromkeys(separated))


def _split(value: str) -> list[str]:
    """Return what is between newlines and commas, trimmed; empty items are left out."""
    separated = [item.strip() for item in re.split(r"[\n,]", text(value))]
    return [item for item in separated if item]


def boolean(value: str) -> bool:
    """Return a boolean as YAML 1.2's core schema writes it."""
    if value not in BOOLEANS:
        raise InvalidValue("is not a boolean.", "`true` or `false`")
    return BOOLEANS[value]


def images_prune(value: str) -> Literal["false", "true", "everywhere"]:
    """Return which images may be removed: a boolean as YAML writes it, or `everywhere`."""
    if value == "everywhere":
        return "everywhere"
    if value not in BOOLEANS:
        meant = nearest(value, ("everywhere",))
        raise InvalidValue(
            f"is not a valid choice.{meant}", "`true`, `false`, `everywhere`"
        )
    if BOOLEANS[value]:
        return "true"
    return "false"


def choice(literal: object) -> Callable[[str], Any]:
    """Return a parser for one of a Literal's words, in exactly this spelling. Its message for any
    other text suggests the nearest word.
    """
    words = tuple(word for word in get_args(literal) if word)

    def parse(value: str) -> str:
        if value in words:
            return value
        raise InvalidValue(
            f"is not a valid choice.{nearest(value, words)}", _in_code(words)
        )

    return parse


def _in_code(words: tuple[str, ...]) -> str:
    """Return the words as Markdown's code, with commas."""
    return ", ".join(f"`{word}`" for word in words)


def nearest(value: str, words: tuple[str, ...]) -> str:
    """Return a question that names the likeliest word, or nothing; it begins with a space."""
    meant = MEANT.get(value.lower(), "")
    if meant in words:
        return f" Did you mean `{meant}`?"
    by_lower_case: dict[str, str] = {}
    for word in words:
        by_lower_case.setdefault(word.lower(), word)
    similar = get_close_matches(
        value[:100].lower(),
        by_lower_case,
        n=1,
        cutoff=0.6,
    )
    if not similar:
        return ""
    meant = by_lower_case[similar[0]]
    return f" Did you mean `{meant}`?"


def target(words: tuple[str, ...]) -> Callable[[str], str]:
    """Return a parser for one of the named targets, or the id of an upload method. Only the
    catalogue knows whether the method exists.
    """

    def parse(value: str) -> str:
        if value in words or _fits(r"[A-Za-z]\w*(:v[\w.]+)?(\.[A-Za-z]\w*)+", value):
            return value
        accepted = f"{_in_code(words)}, or a method's id such as `drive.files.create`"
        meant = nearest(value, (*words, "drive.files.create", "storage.objects.insert"))
        raise InvalidValue(f"is not a target.{meant}", accepted)

    return parse


def integer(min_value: int, max_value: int, others: str = "") -> Callable[[str], int]:
    """Return a parser for a whole number within limits, in decimal digits. `others` says in
    messages what else the input takes.
    """

    def parse(value: str) -> int:
        if re.fullmatch(r"[0-9]{1,18}", value):
            number = int(value)
            if min_value <= number <= max_value:
                return number
        raise InvalidValue(
            "is not a whole number in the accepted range.",
            f"a whole number from {min_value} to {max_value}{others}",
        )

    return parse


def files_at_once(value: str) -> int | None:
    """Return how many files may be in flight; `auto` is None."""
    if value == "auto":
        return None
    return integer(1, 64, ", or `auto`")(value)


def size(value: str) -> int | None:
    """Return the bytes of `8MiB`, `512KiB`, `1GiB` or plain digits; `auto` is None."""
    if value == "auto":
        return None
    parts = re.fullmatch(r"([0-9]{1,15})(|KiB|MiB|GiB)", value)
    if not parts or int(parts[1]) == 0:
        raise InvalidValue(
            "is not a size.", "`8MiB`, `512KiB`, `1GiB`, a number of bytes, or `auto`"
        )
    number, unit = parts.groups()
    return int(number) * SIZE_UNITS[unit]


def duration(min_seconds: int, max_seconds: int) -> Callable[[str], float]:
    """Return a parser for `90s`, `5m` or `2h`, in seconds and within limits in seconds. It refuses
    a number without a unit.
    """

    def parse(value: str) -> float:
        parts = re.fullmatch(r"([0-9]{1,9})([smh])", value)
        if parts:
            number, unit = parts.groups()
            seconds = int(number) * TIME_UNITS[unit]
            if min_seconds <= seconds <= max_seconds:
                return float(seconds)
        accepted = f"`90s`, `5m`, `2h`; from {min_seconds}s to {max_seconds // 3600}h"
        raise InvalidValue("is not a duration in the accepted range.", accepted)

    return parse


def shard(value: str) -> tuple[int, int] | None:
    """Return a shard: `2/5` is (2, 5), the second of five parts, counted from one."""
    parts = re.fullmatch(r"([0-9]{1,6})\s*/\s*([0-9]{1,6})", value)
    if parts:
        number = int(parts[1])
        count = int(parts[2])
        if 1 <= number <= count:
            return number, count
    raise InvalidValue("is not a shard.", "`2/5`: the second of five, counted from 1")


def _fits(pattern: str, value: str) -> bool:
    """Return whether the whole text has this form, in ASCII."""
    if len(value) > MAX_LINE:
        return False
    return re.fullmatch(pattern, value, re.ASCII) is not None


def media_type(value: str) -> str:
    """Return a media type with its parameters, as RFC 6838 and RFC 9110 define it. It is sent in
    headers.
    """
    name = r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}"
    text_in_quotes = r'"[ !#-\[\]-~]{0,127}"'
    parameter = f" ?; ?{name}=(?:{name}|{text_in_quotes})"
    if not re.fullmatch(f"{name}/{name}(?:{parameter})*", line(value)):
        raise InvalidValue(
            "is not a media type.", "`type/subtype`, such as `text/html; charset=utf-8`"
        )
    return value


def package_name(value: str) -> str:
    """Return an Android application id, developer.android.com/build/configure-app-module."""
    if len(value) <= 255 and _fits(r"[A-Za-z]\w*(\.[A-Za-z]\w*)+", value):
        return value
    meant = ""
    inside = _PACKAGE_INSIDE.search(value[:MAX_LINE])
    if inside:
        meant = f" Did you mean `{inside[1]}`?"
    raise InvalidValue(
        f"is not a package name.{meant}",
        "two or more words joined by dots, such as `com.example.app`, with a comma between two "
        "apps",
    )


def certificate(value: str) -> str:
    """Return the SHA-256 of a certificate in lower-case hex; tools write it with colons, or in
    upper case.
    """
    digits = value.replace(":", "").lower()
    if not _fits(r"[0-9a-f]{64}", digits):
        raise InvalidValue(
            "is not the SHA-256 of a certificate.",
            "64 hexadecimal digits, with or without colons",
        )
    return digits


def provider(value: str) -> str:
    """Return a workload identity provider's resource name, without the host that some tools print
    before it.
    """
    name = re.sub(r"^(https:)?//iam\.googleapis\.com/", "", word(value))
    form = (
        r"projects/([^/]+)/locations/[^/]+/workloadIdentityPools/[^/]+/providers/[^/]+"
    )
    accepted = "`projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/PROVIDER`"
    parts = re.fullmatch(form, name)
    if not parts:
        raise InvalidValue(
            "is not the resource name of a workload identity provider.", accepted
        )
    if not re.fullmatch("[0-9]+", parts[1]):
        accepted += "; `gcloud projects describe PROJECT_ID` shows the number"
        raise InvalidValue("names its project by id instead of by number.", accepted)
    return name


def address(value: str) -> str:
    """Return the e-mail address of an account."""
    if not re.fullmatch(r"[^@\s\"<>(),;:]+@[^@\s\"<>(),;:]+", line(value)):
        accepted = "`name@example.com`"
        if value.startswith("serviceAccount:"):  # as IAM policies write it
            accepted += ", without `serviceAccount:`"
        raise InvalidValue("is not the e-mail address of an account.", accepted)
    return value


def testers(value: str) -> tuple[str, ...]:
    """Return the e-mail addresses of Google Groups, in lower case; each is given once."""
    groups = [address(item).lower() for item in _split(value)]
    counted = Counter(groups)
    repeated = [group for group, times in counted.items() if times > 1]
    if repeated:
        listed = ", ".join(repeated)
        raise InvalidValue(f"names {listed} more than once.", "each address once")
    return tuple(groups)


def firebase_app(value: str) -> str:
    """Return the id of an Android app in Firebase."""
    parts = re.fullmatch(
        r"1:[0-9]{1,20}:([a-z]+):[0-9A-Za-z]{1,64}", line(value), re.ASCII
    )
    accepted = (
        "`1:1234567890:android:0a1b2c3d`, from Project settings in the Firebase console"
    )
    if parts is None:
        raise InvalidValue("is not the id of an app in Firebase.", accepted)
    system = parts[1]
    if system != "android":
        raise InvalidValue(f"is the id of an app for {system}.", accepted)
    return value


def group_alias(value: str) -> str:
    """Return the alias of a group of testers in Firebase."""
    if "@" in value:
        raise InvalidValue(
            "has an e-mail address among the groups.",
            "aliases of groups; addresses in `testers`",
        )
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,63}", value, re.ASCII):
        raise InvalidValue(
            "has a group name that can't be an alias.",
            "aliases, such as `qa-team`, which the Firebase console shows beside the names",
        )
    return value


def endpoint(value: str) -> str:
    """Return a root URL (scheme, host, port) without a slash at its end, or `emulator`."""
    if value == EMULATOR:
        return value
    accepted = (
        "`https://host`, `http://127.0.0.1:PORT` (http on loopback only), or `emulator`"
    )
    form = r"(?:(https?)://)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?/?"
    parts = None
    if len(value) <= MAX_LINE:
        parts = re.fullmatch(form, value)
    port = 0
    if parts:
        port = int(parts[3] or 443)
    if not parts or not 0 < port < 65536:
        raise InvalidValue(
            "is not the root URL of an API: it must not have a path, user or query.",
            accepted,
        )
    scheme, host, _ = parts.groups(default="")
    root = value.rstrip("/")
    is_local = is_loopback(host.strip("[]"))
    if not scheme:
        right_scheme = "https"
        if is_local:
            right_scheme = "http"
        meant = nearest(value, (EMULATOR,))
        if not meant and len(value) <= MAX_SHOWN:
            meant = f" Did you mean `{right_scheme}://{root}`?"
        raise InvalidValue(f"has no scheme.{meant}", accepted)
    if scheme == "http" and not is_local:
        raise InvalidValue(
            "would send the access token over the network unencrypted.", accepted
        )
    return root


def track(value: str) -> str:
    """Return a track's name. Custom tracks can have any name, so only what can't be a track is
    refused.
    """
    accepted = "`internal`, `alpha`, `beta`, `production`, `wear:…`, custom ones"
    if value == "none" or value in NO_VALUE:
        raise InvalidValue("is what an expression without a value writes.", accepted)
    words = re.split(r"[\s;|+]+", line(value))
    if len(words) > 1 and _STANDARD_TRACKS.issuperset(words):
        raise InvalidValue(
            "names several tracks without a comma.", f"`{', '.join(words)}`"
        )
    reason = RENAMED_TRACKS.get(value.lower())
    if reason:
        raise InvalidValue(reason, accepted)
    return path_part(value)


def version_code(value: str) -> str:
    """Return a version code as Play keeps it: digits, without leading zeros."""
    return str(integer(1, MAX_VERSION_CODE)(value))


def country(value: str) -> str:
    """Return a two-letter country code in upper case, or `rest-of-world`."""
    if value == "rest-of-world":
        return value
    if _fits("[A-Za-z]{2}", value):
        return value.upper()
    accepted = "two-letter codes such as `DE`, and `rest-of-world`"
    raise InvalidValue("contains something that is not a country code.", accepted)


def list_of(
    parse: Callable[[str], str], *words: str
) -> Callable[[str], tuple[str, ...]]:
    """Return a parser for several values, each once. The given words are accepted as they are."""

    def parse_items(value: str) -> tuple[str, ...]:
        parsed: dict[str, None] = {}
        for item in items(value):
            if item in words:
                parsed[item] = None
            else:
                parsed[parse(item)] = None
        return tuple(parsed)

    return parse_items


def version_files(value: str) -> FilesByVersion:
    """Return pairs of version code and path from lines `42=path`; a path alone is one pair, with an
    empty version code.
    """
    pairs: list[tuple[str, str]] = []
    others: list[str] = []
    # A comma separates only before the next version code: a path may have one.
    for item in re.split(r"\n|,\s*(?=[0-9]+\s*=)", text(value)):
        entry = item.strip()
        parts = re.fullmatch(r"([0-9]+)\s*=\s*(.+)", entry, re.ASCII)
        if parts:
            code, path_of_version = parts.groups()
            pair = (version_code(code), _with_placeholders(path_of_version))
            pairs.append(pair)
        elif entry:
            others.append(entry)
    if not pairs and len(others) == 1:
        return (("", _with_placeholders(others[0])),)
    if others:
        raise InvalidValue(
            "has several lines, and not all of them begin with a version code.", _FILES
        )
    by_version = dict(pairs)
    if len(by_version) < len(pairs):
        raise InvalidValue("names two files for one version code.", _FILES)
    return tuple(pairs)


def version_path(value: str) -> str:
    """Return a path, perhaps with `{version-code}`."""
    accepted = "a path, with `{version-code}` in it for several versions"
    return _with_placeholders(value, (PLACEHOLDERS[0], PACKAGE), accepted)


def _with_placeholders(
    value: str,
    allowed: tuple[str, ...] = (*PLACEHOLDERS, PACKAGE),
    accepted: str = _FILES,
) -> str:
    """Return a path. A placeholder that is not among the allowed ones is refused."""
    for placeholder in re.findall(r"\{[^{}]*\}", path(value)):
        if placeholder not in allowed:
            what = f"has an unknown placeholder, `{placeholder}`."
            letters = re.sub("[-_]", "", placeholder)
            if letters.lower() in _NAMES_OF_PACKAGE:
                what += f" Did you mean `{PACKAGE}`?"
            raise InvalidValue(what, accepted)
    return value


def expansion_file(value: str) -> str:
    """Return a path, or `references:` and the version code that has the file already."""
    prefix = "references:"
    if value.startswith(prefix):
        code = value.removeprefix(prefix).strip()
        return f"{prefix}{version_code(code)}"
    return path(value)


def fraction(value: str) -> float:
    """Return a share above 0: `0.05` or `5%` as exactly that number, `100%` as 1.

    A 1 without a percent sign is refused, since it may have been meant as a percentage.
    """
    accepted = (
        "a share above 0 and below 100 %, such as `0.05` or `5%`; `100%` for all users"
    )
    share = _share(value)
    if share is not None and 0 < share < 1:
        return share
    if share == 1 and "%" in value:
        return share
    if share == 0:
        reason = (
            "would give the release to nobody. To keep it back, use `status: draft`, or `halted` "
            "for a rollout."
        )
        raise InvalidValue(reason, accepted)
    percent = _share(f"{value}%")
    if share == 1 or percent == 1:
        raise InvalidValue(
            "is not a fraction. For all users write `100%`, or leave it out.", accepted
        )
    if percent is not None and 0 < percent < 1:
        exact = f"{percent:.12f}".rstrip("0")
        raise InvalidValue(
            f"is not a fraction. For {percent * 100:g} % of users write `{exact}`.",
            accepted,
        )
    if "," in value:
        raise InvalidValue(
            "is not a fraction: its decimal sign must be a point.", accepted
        )
    raise InvalidValue("is not a fraction.", accepted)


def rollout_steps(value: str) -> tuple[float, ...]:
    """Return ascending shares of the users: `1%, 5%, 100%` and `0.01, 0.05, 1` are (0.01, 0.05,
    1.0).

    A 1 without a percent sign only means all users if a smaller share comes before it. Alone it may
    have been meant as a percentage.
    """
    accepted = (
        "ascending shares above 0 % and up to 100 %, such as `1%, 5%, 20%, 50%, 100%` or `0.01, "
        "0.05`"
    )
    written = items(value)
    shares: list[float] = []
    for item in written:
        share = _share(item)
        if share is None or not 0 < share <= 1:
            raise InvalidValue("is not a list of shares.", accepted)
        shares.append(share)
    if not shares or (shares[0] == 1 and "%" not in written[0]):
        raise InvalidValue("is not a list of shares.", accepted)
    for earlier, later in pairwise(shares):
        if later <= earlier:
            raise InvalidValue("does not ascend.", accepted)
    return tuple(shares)


def limits(value: str) -> tuple[Limit, ...]:
    """Return limits: `crash-rate 1.09%` is a share of the users, `crash-rate 1.5x` a multiple of
    the completed release's rate.
    """
    if re.search(r"(?:^|,)\s*(?:,|$)", value):
        reason = (
            "has a comma with no limit before or after it: an expression there may have had no "
            "value."
        )
        raise InvalidValue(reason, "a limit on both sides of each comma")
    written = items(value)
    if not written:
        raise InvalidValue(_NO_LIMITS, _LIMITS)
    return tuple(map(_limit, written))


def _limit(item: str) -> Limit:
    parts = re.fullmatch(rf"(crash-rate|anr-rate)\s+({_NUMBER})\s*(%|x)", item)
    if parts:
        metric: Metric = "crash-rate"
        if parts[1] == "anr-rate":
            metric = "anr-rate"
        number = Decimal(parts[2])
        unit = parts[3]
        # A release that does as well as the completed one must not be halted.
        if unit == "x" and number >= 1:
            return Limit(metric, float(number), relative=True)
        # A rate of 100 % can't be passed.
        if unit == "%" and 0 < number < 100:
            return Limit(metric, float(number / 100))
    raise InvalidValue(_NO_LIMITS, _LIMITS)


def _share(value: str) -> float | None:
    """Return a share written as `5%` or `0.05`; None for anything else, also for more decimal
    places than a float distinguishes.
    """
    percent = re.fullmatch(rf"({_NUMBER}) ?%", value)
    if percent:
        # A Decimal, so that 1.1 % is the same float as 0.011 in JSON.
        return float(Decimal(percent[1]) / 100)
    if _fits(r"0?\.[0-9]{1,15}|[01](\.0{1,15})?", value):
        return float(value)
    return None
