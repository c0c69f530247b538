"""Uploads a file as a bundle with codemagic-cli-tools, which sends it whole in one request."""

import json
import sys
from functools import partial
from pathlib import Path

from codemagic.google.google_play_client import GooglePlayClient
from googleapiclient import discovery

root, name, key = sys.argv[1:]
# It names no endpoint but Google's; the library below it can be told another.
discovery.build = partial(discovery.build, client_options={"api_endpoint": root})
client = GooglePlayClient(json.loads(Path(key).read_text(encoding="utf-8")))
client.bundles.upload("com.example.app", "1", Path(name))
