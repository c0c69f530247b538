"""Sends a file with google-api-python-client, resumable (100 MiB chunks, its default) or whole in one request."""

import sys

from google.oauth2 import service_account
from googleapiclient.discovery import build
from googleapiclient.http import MediaFileUpload

root, name, key, how = sys.argv[1:]
scopes = ["https://www.googleapis.com/auth/devstorage.read_write"]
read = service_account.Credentials.from_service_account_file
login = read(key, scopes=scopes)  # type: ignore[no-untyped-call]  # google-auth's types are not complete
service = build("storage", "v1", credentials=login, client_options={"api_endpoint": root})
media = MediaFileUpload(name, mimetype="application/octet-stream", resumable=how == "resumable")
service.objects().insert(bucket="b", name="o", media_body=media).execute()
