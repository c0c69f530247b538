"""Specimens on the command line: `python -m google_emulator.specimens bundle|apk|image ... --out
PATH`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from google_emulator.specimens import Build, make_apk, make_bundle, make_image

_UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def _size(text: str) -> int:
    """Return a size in bytes, given in bytes, KiB, MiB or GiB."""
    match = re.fullmatch(r"(\d+)(|KiB|MiB|GiB)", text)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of bytes such as 1000000 or 32MiB"
        )
    return int(match[1]) * _UNITS[match[2]]


def _color(text: str) -> tuple[int, int, int]:
    if not re.fullmatch(r"[0-9a-fA-F]{6}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a color such as 3ddc84")
    red, green, blue = bytes.fromhex(text)
    return red, green, blue


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m google_emulator.specimens", description=__doc__
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, title in (("bundle", "an Android App Bundle"), ("apk", "an APK")):
        app = commands.add_parser(name, help=title)
        app.add_argument(
            "--package",
            default="com.example.app",
            help="package name (com.example.app)",
        )
        app.add_argument(
            "--version-code", type=int, default=1, help="version code, below 2**64 (1)"
        )
        app.add_argument("--version-name", default="1.0", help="version name (1.0)")
        app.add_argument(
            "--size",
            type=_size,
            default=0,
            help="size of the file, in bytes, KiB, MiB or GiB",
        )
        app.add_argument(
            "--sparse",
            action="store_true",
            help="leave what fills the file a hole, without room on disk",
        )
        app.add_argument(
            "--unsigned", action="store_true", help="leave the files of a signature out"
        )
        app.add_argument(
            "--debuggable", action="store_true", help="make it a debug build"
        )
    image = commands.add_parser("image", help="a PNG of one color")
    image.add_argument("--width", type=int, default=512, help="pixels (512)")
    image.add_argument("--height", type=int, default=512, help="pixels (512)")
    image.add_argument(
        "--color", type=_color, default="808080", help="in hexadecimal (808080)"
    )
    image.add_argument(
        "--alpha",
        action="store_true",
        help="32 bits a pixel, as for an icon, instead of 24",
    )
    for command in commands.choices.values():
        command.add_argument(
            "--out", type=Path, required=True, metavar="PATH", help="the file to write"
        )
    return parser


def _make(options: argparse.Namespace) -> None:
    if options.command == "image":
        make_image(
            options.out,
            options.width,
            options.height,
            color=options.color,
            alpha=options.alpha,
        )
        return
    make = make_bundle if options.command == "bundle" else make_apk
    make(
        options.out,
        options.package,
        options.version_code,
        options.version_name,
        options.size,
        sparse=options.sparse,
        signed=not options.unsigned,
        build=Build(debuggable=options.debuggable),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Write one file and print its size. Return the exit code: 2 if the arguments are wrong or the
    file can't be written.
    """
    options = _parser().parse_args(argv)
    try:
        _make(options)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"specimens: {error}\n")
        return 2
    sys.stdout.write(f"{options.out}: {options.out.stat().st_size} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
