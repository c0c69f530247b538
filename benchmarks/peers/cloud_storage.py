"""Sends a file with google-cloud-storage, by its default way or in chunks of so many bytes."""

import sys

from google.cloud import storage

root, name, key, how = sys.argv[1:]
client = storage.Client.from_service_account_json(key, client_options={"api_endpoint": root})
blob = client.bucket("b").blob("o", chunk_size=None if how == "default" else int(how))
blob.upload_from_filename(name, timeout=600)
