"""Sends a file as requests does it by itself: a PUT with the open file as the body."""

import sys
from pathlib import Path

import requests

root, name, _ = sys.argv[1:]
with Path(name).open("rb") as file:
    requests.put(f"{root}/put", data=file, timeout=600).raise_for_status()
