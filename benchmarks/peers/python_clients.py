"""Sends a file with a Python client in its default configuration: `python_clients.py CLIENT ROOT
FILE KEY`.
"""

import json
import sys
from functools import partial
from pathlib import Path

client, root, name, key = sys.argv[1:]
options = {"api_endpoint": root}
if client == "requests":
    import requests

    with Path(name).open("rb") as file:
        requests.put(f"{root}/put", data=file, timeout=600).raise_for_status()
elif client == "google.cloud.storage":
    from google.cloud import storage

    bucket = storage.Client.from_service_account_json(
        key, client_options=options
    ).bucket("b")
    bucket.blob("o").upload_from_filename(name, timeout=600)
elif client == "googleapiclient":
    from google.oauth2 import service_account
    from googleapiclient.discovery import build
    from googleapiclient.http import MediaFileUpload

    scopes = ["https://www.googleapis.com/auth/devstorage.read_write"]
    login = service_account.Credentials.from_service_account_file(key, scopes=scopes)
    media = MediaFileUpload(name, mimetype="application/octet-stream", resumable=True)
    objects = build(
        "storage", "v1", credentials=login, client_options=options
    ).objects()
    objects.insert(bucket="b", name="o", media_body=media).execute()
elif client == "codemagic":
    from codemagic.google.google_play_client import GooglePlayClient
    from googleapiclient import discovery

    # The client has no option for another endpoint.
    discovery.build = partial(discovery.build, client_options=options)
    play = GooglePlayClient(json.loads(Path(key).read_text(encoding="utf-8")))
    play.bundles.upload("com.example.app", "1", Path(name))
