"""Uploads a file with Google's clients for Python, as their documentation shows: google_client.py
JOB FILE.

This is a program of its own, started as a child; nothing imports it.
"""

from __future__ import annotations

import socket
import sys
from http.client import HTTPException
from pathlib import Path
from typing import Any

import google.auth
from google.cloud import storage
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError
from googleapiclient.http import MediaFileUpload

APP = {"packageName": "com.example.app"}
RETRIES = 3  # of each request; the library makes none unless told
CHUNK = 1 << 20


def service(name: str, version: str, scope: str, user: str = "") -> Any:
    """One of Google's APIs, with the login that the environment names."""
    found: Any = google.auth.default(
        scopes=[f"https://www.googleapis.com/auth/{scope}"]
    )[0]
    return build(name, version, credentials=found.with_subject(user) if user else found)


def media(file: str, kind: str) -> MediaFileUpload:
    """The file, sent in chunks."""
    return MediaFileUpload(file, mimetype=kind, resumable=True, chunksize=CHUNK)


def finished(upload: Any) -> Any:
    """The answer to an upload in chunks: after an error it asks for the offset and goes on, three
    times at most.
    """
    response, errors = None, 0
    while response is None:
        try:
            _, response = upload.next_chunk()
        except (HttpError, OSError, HTTPException) as error:  # noqa: PERF203  # what it costs is nothing beside a request
            errors += 1
            if errors > RETRIES or (
                isinstance(error, HttpError) and error.resp.status < 500
            ):
                raise
    return response


def store(file: str) -> None:
    """An object, with Cloud Storage's own client, which repeats where a repeat can do no harm."""
    blob = storage.Client().bucket("bucket").blob(Path(file).name, chunk_size=CHUNK)
    blob.upload_from_filename(file, checksum="crc32c", if_generation_match=0)


def release(file: str) -> None:
    """A release on a track."""
    edits = service("androidpublisher", "v3", "androidpublisher").edits()
    edit = {**APP, "editId": edits.insert(**APP).execute(num_retries=RETRIES)["id"]}
    upload = edits.bundles().upload(
        **edit, media_body=media(file, "application/octet-stream")
    )
    code = finished(upload)["versionCode"]
    track = {
        "track": "internal",
        "releases": [{"status": "completed", "versionCodes": [str(code)]}],
    }
    edits.tracks().update(**edit, track="internal", body=track).execute(
        num_retries=RETRIES
    )
    edits.commit(**edit).execute(num_retries=RETRIES)


def drive(file: str) -> None:
    """A file in Drive."""
    files = service("drive", "v3", "drive.file").files()
    finished(
        files.create(
            body={"name": Path(file).name}, media_body=media(file, "application/zip")
        )
    )


def mail(file: str) -> None:
    """A message, for a user whom the account may act for."""
    messages = service("gmail", "v1", "gmail.send", "me@example.com").users().messages()
    finished(messages.send(userId="me", media_body=media(file, "message/rfc822")))


if __name__ == "__main__":
    # httplib2 repeats a broken request without its body, and would wait for a minute
    socket.setdefaulttimeout(5)
    {"object": store, "release": release, "file": drive, "mail": mail}[sys.argv[1]](
        sys.argv[2]
    )
