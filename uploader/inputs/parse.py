"""Turns the text of one input into a value, or says what is wrong with it; the text itself is never in the message.

Every parser takes trimmed, non-empty text and raises `InvalidValue`. Leaving the text out is what keeps a key that was
pasted into the wrong place out of every log: only `reader` decides whether, and how much of it, is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args
from urllib.parse import unquote

from uploader.http.hosts import is_loopback
from uploader.inputs.invalid_value import REFERENCE, InvalidValue, NotExpanded

EMULATOR = "emulator"  # the endpoint that means the embedded one
LONGEST = 131_072  # characters; Linux passes no longer single variable (MAX_ARG_STRLEN)
LONGEST_LINE = 4096  # characters; as long as the longest path
LONGEST_NAME = 255  # bytes of one file's or folder's name (NAME_MAX)
SHORTEST_STATE_KEY = 16  # characters; what guards a session is worth guessing, and a cache can be read by many
SIZE_UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
TIME_UNITS = {"s": 1, "m": 60, "h": 3600}
BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
MOST_VERSION_CODE = 2_100_000_000  # Play's limit, developer.android.com/studio/publish/versioning
RENAMED_TRACKS = {
    "internalsharing": "is not a track: for internal app sharing use `target: play-internal-sharing`.",
    "rollout": "is no longer a track: for a staged rollout use `tracks: production` with `user-fraction`.",
}


def text(value: str) -> str:
    """Any text that a variable can hold, over several lines or one."""
    if len(value) > LONGEST:
        raise InvalidValue("is too long.", f"at most {LONGEST} characters")
    if "\0" in value:
        raise InvalidValue("contains a NUL byte.")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise InvalidValue("is not UTF-8.")
    if REFERENCE.fullmatch(value):
        raise NotExpanded
    return value


def state_key(value: str) -> str:
    """A text that is too long to be tried out."""
    if len(text(value)) < SHORTEST_STATE_KEY:
        raise InvalidValue("is too short.", f"a secret of at least {SHORTEST_STATE_KEY} characters")
    return value


def line(value: str) -> str:
    """One line of text without control characters."""
    if len(value) > LONGEST_LINE:
        raise InvalidValue("is too long.", f"one line of at most {LONGEST_LINE} characters")
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in text(value)):
        raise InvalidValue("contains a line break or another control character.", "one line")
    return value


def leads_elsewhere(value: str) -> bool:
    """Whether the text, as a part of a URL's path, would lead to another one, by dots or by escapes of them.

    Servers and proxies undo escapes before they resolve dots, some of them more than once.
    """
    plain = unquote(unquote(unquote(value)))
    return any(segment in {".", ".."} for segment in re.split(r"[/\\]", plain))


def path_part(value: str) -> str:
    """One line that stands in the path of a URL."""
    if leads_elsewhere(line(value)):
        raise InvalidValue("contains a . or .. segment, which would lead to another path.", "a plain name or id")
    return value


def word(value: str) -> str:
    """One line without whitespace, for the path of a URL: an id."""
    if any(character.isspace() for character in path_part(value)):
        raise InvalidValue("contains whitespace.", "an id without whitespace")
    return value


def boolean(value: str) -> bool:
    """A boolean as YAML 1.2's core schema writes it."""
    if value not in BOOLEANS:
        raise InvalidValue("is not a boolean.", "`true` or `false`")
    return BOOLEANS[value]


def choice(literal: object) -> Callable[[str], Any]:
    """One of a Literal's words, spelt exactly so; the message for any other suggests the nearest."""
    words = tuple(word for word in get_args(literal) if word)

    def parse(value: str) -> str:
        if value in words:
            return value
        raise InvalidValue("is not a valid choice." + nearest(value, words), ", ".join(f"`{known}`" for known in words))

    return parse


def nearest(value: str, words: tuple[str, ...]) -> str:
    """A question that names the likeliest word, or nothing; it begins with a space."""
    from difflib import get_close_matches  # 9 ms that only a mistake pays for

    found = get_close_matches(value[:100].lower(), [known.lower() for known in words], n=1, cutoff=0.6)
    known = next((known for known in words if found and known.lower() == found[0]), "")
    return f" Did you mean `{known}`?" if known else ""


def integer(least: int, most: int) -> Callable[[str], int]:
    """A whole number within limits, in decimal digits."""

    def parse(value: str) -> int:
        if re.fullmatch(r"[0-9]{1,18}", value) and least <= int(value) <= most:
            return int(value)
        raise InvalidValue("is not a whole number in the accepted range.", f"a whole number from {least} to {most}")

    return parse


def files_at_once(value: str) -> int | None:
    """How many files may be in flight; `auto` is None."""
    if value == "auto":
        return None
    if re.fullmatch(r"[0-9]{1,2}", value) and 1 <= int(value) <= 64:
        return int(value)
    raise InvalidValue("is not a number of files.", "a whole number from 1 to 64, or `auto`")


def size(value: str) -> int | None:
    """Bytes from `8MiB`, `512KiB`, `1GiB` or plain digits; `auto` is None."""
    if value == "auto":
        return None
    found = re.fullmatch(r"([0-9]{1,15})(|KiB|MiB|GiB)", value)
    if not found or not int(found[1]):
        raise InvalidValue("is not a size.", "`8MiB`, `512KiB`, `1GiB`, a number of bytes, or `auto`")
    return int(found[1]) * SIZE_UNITS[found[2]]


def duration(least: int, most: int) -> Callable[[str], float]:
    """Seconds from `90s`, `5m` or `2h`, within limits given in seconds; a number without a unit is refused."""

    def parse(value: str) -> float:
        found = re.fullmatch(r"([0-9]{1,9})([smh])", value)
        seconds = int(found[1]) * TIME_UNITS[found[2]] if found else -1
        if not least <= seconds <= most:
            raise InvalidValue(
                "is not a duration in the accepted range.", f"`90s`, `5m`, `2h`; from {least}s to {most // 3600}h"
            )
        return float(seconds)

    return parse


def fraction(value: str) -> float:
    """A decimal between 0 and 1, both excluded; few enough digits that the number says exactly what was written."""
    if re.fullmatch(r"0?\.[0-9]{1,15}", value) and float(value) > 0:
        return float(value)
    accepted = "a decimal between 0 and 1, both excluded, such as `0.05`"
    percent = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,9})?) ?(%?)", value)
    share = float(percent[1]) / 100 if percent and (percent[2] or float(percent[1]) > 1) else 0.0
    if 0 < share < 1:
        exact = f"{share:.12f}".rstrip("0")
        raise InvalidValue(f"is not a fraction. For {share * 100:g} % of users write `{exact}`.", accepted)
    if share == 1 or value == "1":
        raise InvalidValue("is not a fraction. For all users leave it out, or set `status: completed`.", accepted)
    raise InvalidValue("is not a fraction.", accepted)


def items(value: str) -> tuple[str, ...]:
    """Items separated by newlines or commas, each once, in order."""
    stripped = (line(item.strip()) for item in re.split(r"[\n,]", text(value)))
    return tuple(dict.fromkeys(item for item in stripped if item))


def track(value: str) -> str:
    """A track's name. Custom tracks may have any name, so only what never is a track is refused."""
    if value.lower() in RENAMED_TRACKS:
        raise InvalidValue(
            RENAMED_TRACKS[value.lower()], "`internal`, `alpha`, `beta`, `production`, `wear:…`, custom ones"
        )
    return path_part(value)


def tracks(value: str) -> tuple[str, ...]:
    """Several tracks."""
    return tuple(track(item) for item in items(value))


def version_code(value: str) -> str:
    """A version code as Play keeps it: digits, without leading zeros."""
    return str(integer(1, MOST_VERSION_CODE)(value))


def version_codes(value: str) -> tuple[str, ...]:
    """Several version codes."""
    return tuple(dict.fromkeys(version_code(item) for item in items(value)))


def countries(value: str) -> tuple[str, ...]:
    """Two-letter country codes in upper case, and `rest-of-world`."""

    def country(item: str) -> str:
        if item == "rest-of-world":
            return item
        if not re.fullmatch(r"[A-Za-z]{2}", item):
            raise InvalidValue(
                "contains something that is not a country code.", "two-letter codes such as `DE`, and `rest-of-world`"
            )
        return item.upper()

    return tuple(dict.fromkeys(country(item) for item in items(value)))


def target(words: tuple[str, ...]) -> Callable[[str], str]:
    """One of the named targets, or the id of an upload method; whether the method exists is the catalogue's to say."""

    def parse(value: str) -> str:
        if value in words or re.fullmatch(r"[A-Za-z]\w*(:v[\w.]+)?(\.[A-Za-z]\w*)+", value, re.ASCII):
            return value
        accepted = ", ".join(f"`{known}`" for known in words) + ", or a method's id such as `drive.files.create`"
        raise InvalidValue("is not a target." + nearest(value, words), accepted)

    return parse


def media_type(value: str) -> str:
    """A media type with its parameters, as RFC 6838 and RFC 9110 write it; it stands in headers."""
    name = r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}"
    if not re.fullmatch(rf'{name}/{name}(?: ?; ?{name}=(?:{name}|"[ !#-\[\]-~]{{0,127}}"))*', line(value)):
        raise InvalidValue("is not a media type.", "`type/subtype`, such as `text/html; charset=utf-8`")
    return value


def package_name(value: str) -> str:
    """An Android application id, developer.android.com/build/configure-app-module."""
    if len(value) > 255 or not re.fullmatch(r"[A-Za-z]\w*(\.[A-Za-z]\w*)+", value, re.ASCII):
        raise InvalidValue("is not a package name.", "two or more words joined by dots, such as `com.example.app`")
    return value


def certificate(value: str) -> str:
    """The SHA-256 of a certificate in lower-case hex; tools write it with colons, or in upper case."""
    digits = value.replace(":", "").lower()
    if not re.fullmatch(r"[0-9a-f]{64}", digits):
        raise InvalidValue("is not the SHA-256 of a certificate.", "64 hexadecimal digits, with or without colons")
    return digits


def provider(value: str) -> str:
    """A workload identity provider's resource name, without the host that some tools print before it."""
    name = re.sub(r"^(https:)?//iam\.googleapis\.com/", "", word(value))
    if not re.fullmatch(r"projects/[^/]+/locations/[^/]+/workloadIdentityPools/[^/]+/providers/[^/]+", name):
        accepted = "`projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/PROVIDER`"
        raise InvalidValue("is not the resource name of a workload identity provider.", accepted)
    return name


def address(value: str) -> str:
    """The e-mail address of an account."""
    if not re.fullmatch(r"[^@\s\"<>(),;:]+@[^@\s\"<>(),;:]+", line(value)):
        raise InvalidValue("is not the e-mail address of an account.", "`name@example.com`")
    return value


def shard(value: str) -> tuple[int, int] | None:
    """`2/5` is (2, 5): the second of five parts, counted from one."""
    found = re.fullmatch(r"([0-9]{1,6})\s*/\s*([0-9]{1,6})", value)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise InvalidValue("is not a shard.", "`2/5`: the second of five, counted from 1")
    return int(found[1]), int(found[2])


def path(value: str) -> str:
    """The path of a file or folder."""
    if any(len(part.encode()) > LONGEST_NAME for part in line(value).split("/")):
        raise InvalidValue("is not a valid path: a name in it is too long.", f"names of at most {LONGEST_NAME} bytes")
    return value


def folder(value: str) -> Path | None:
    """A folder's path."""
    return Path(path(value))


def endpoint(value: str) -> str:
    """A root URL (scheme, host, port) without a slash at its end, or `emulator`."""
    if value == EMULATOR:
        return value
    accepted = "`https://host`, `http://127.0.0.1:PORT` (http on loopback only), or `emulator`"
    found = re.fullmatch(r"(https?)://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?", value)
    if not found or not 0 < int((found[3] or ":443")[1:]) < 65536:
        raise InvalidValue("is not the root URL of an API: it must not have a path, user or query.", accepted)
    if found[1] == "http" and not is_loopback(found[2].strip("[]")):
        raise InvalidValue("would send the access token over the network unencrypted.", accepted)
    return value.rstrip("/")
