"""Fetches one file from a service, block by block, so that its size costs no memory.

What has arrived is kept when the response breaks off, and the next request asks for the rest alone
(RFC 9110, section 14), if it is still the same file: by its strong ETag, or by its size alone if
the server gives none. If a response does not fit the request or the responses before it, the file
starts over. The bytes that arrive are counted, whatever the server says about lengths, and no more
is taken than the step allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from uploader.errors import IntegrityError, ProtocolError
from uploader.files.destination import NewFile
from uploader.files.spool import SpooledFile
from uploader.http.headers import Headers
from uploader.http.messages import Request, Response, TransportError
from uploader.protocol import stated_digests
from uploader.protocol.responses import UNREADABLE
from uploader.reporting import Reporter
from uploader.retry import Wait
from uploader.services.base import Download, Downloaded
from uploader.text import capitalise, format_size
from uploader.transfer.api_client import ApiClient
from uploader.upload.digests import new_digest

_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18})", re.ASCII)
# bytes of progress after which the retries start from the beginning
_PROGRESS = 64 << 10
# seconds, for an attempt that begins when time is up
_LAST_SECONDS = 30.0
_LENGTH = re.compile(r"\d{1,18}", re.ASCII)
# A weak ETag is no promise about bytes.
_ETAG = re.compile(r'"[\x21\x23-\x7e]{1,200}"')


def download(step: Download, client: ApiClient, reporter: Reporter) -> Downloaded:
    """Fetch a file, check it, and only then give it its name.

    A file that is there already with the bytes that were asked for is left as it is. Raises
    `ApiError` in the service's own words, `TemporaryError` when the retries are spent,
    `IntegrityError` for bytes other than those that were promised, `ProtocolError` for too many of
    them, and what `step.check` raises.
    """
    path = _find_present(step)
    if path is not None:
        return Downloaded(path, step.sha256, 0)

    def report(wait: Wait) -> None:
        reporter.info(f"{step.what}: {wait}")

    retrier = client.policy.retrier(report)
    with step.destination.writing() as file:
        reception = _Reception(step, client, file)

        clock = client.policy.clock
        end = clock.monotonic() + step.seconds

        def attempt() -> Response | TransportError:
            furthest = reception.furthest
            left = end - clock.monotonic()
            response = reception.attempt(max(left, _LAST_SECONDS))
            progress = reception.furthest - furthest
            # A server that breaks off after a few bytes again and again is given up, too.
            if progress >= _PROGRESS and clock.monotonic() < end:
                retrier.progressed()
            return response

        response = client.request_with_retries(
            attempt,
            retrier,
            step.what,
            retry_on=step.retry_on,
        )
        sha256 = reception.check_sha256(response.headers)
        ending = step.check(file.reader())
        path = file.keep(ending)
    return Downloaded(path, sha256, reception.offset)


def _find_present(step: Download) -> str | None:
    """Return the path of a file that is there already with the bytes of `step.sha256`; None if
    there is none.
    """
    if not step.sha256:
        return None
    if isinstance(step.destination, SpooledFile):
        return None
    for ending in step.endings:
        destination = step.destination.ending(ending)
        if destination.holds(step.sha256):
            return destination.path
    return None


class _Reception:
    """What has arrived of one file.

    `offset` is where the next byte belongs, `furthest` the furthest that it ever was. What has
    arrived is kept when a response breaks off, unless it can't belong to the same file as the rest.
    """

    def __init__(
        self,
        step: Download,
        client: ApiClient,
        file: NewFile | SpooledFile,
    ) -> None:
        self._step = step
        self._client = client
        self._file = file
        self._is_accepted = False  # whether the last response brings what is missing
        self.furthest = 0
        self._start_over()

    def _start_over(self, stated: Iterable[str] = ()) -> None:
        """Forget what has arrived. The digests `stated` are computed beside SHA-256."""
        self.offset = 0
        # the size of the file, if the server has stated it
        self._total: int | None = None
        self._etag = ""
        self._digests: dict[str, Any] = {}
        for algorithm in ("sha256", *stated):
            self._digests[algorithm] = new_digest(algorithm)
        self._file.clear()

    def attempt(self, max_seconds: float) -> Response | TransportError:
        """Ask once for what is missing.

        Returns the response if it completed the file, or is an error of the server's, and a
        TransportError if bytes are missing still or the response was not the file.
        """
        self._is_accepted = False
        response = self._client.exchange(
            self._request(),
            path=self._step.path,
            max_size=self._step.max_size + 1,
            max_seconds=max_seconds,
            public=self._step.public,
        )
        if isinstance(response, TransportError):
            return response
        if self._is_accepted:
            return self._whole(response)
        if response.status in (206, 416):
            self._start_over()
            return TransportError(
                "the server does not have the rest of the file that was asked for", True
            )
        if 200 <= response.status < 300:
            return TransportError("the answer is not the file", True, UNREADABLE)
        return response

    def _request(self) -> Request:
        """Return the request for what is missing, if the file is still the same one."""
        step = self._step
        headers = {}
        if self.offset:
            headers["Range"] = f"bytes={self.offset}-"
            if self._etag:
                headers["If-Range"] = self._etag
        url = self._client.url(
            step.root,
            step.path,
            public=step.public,
        )
        return Request(
            "GET",
            url,
            headers=tuple(headers.items()),
            receive=self._receive,
        )

    def _whole(self, response: Response) -> Response | TransportError:
        """Return the response whose body was taken, or a broken connection if it was too short or
        too long.
        """
        total = self._total
        if total is None or self.offset == total:
            return response
        why = f"the answer ended after {self.offset} of {total} bytes"
        if self.offset > total:
            self._start_over()
        return TransportError(why, True)

    def _receive(
        self, status: int, headers: Headers
    ) -> Callable[[bytes], object] | None:
        """Return the function that takes the body of a response, if that is what is missing or the
        whole file; None otherwise.
        """
        if status == 206 and self.offset:
            self._receive_rest(headers)
        elif status == 200 and _is_file(headers):
            self._receive_all(headers)
        if not self._is_accepted:
            return None
        return self._take

    def _receive_rest(self, headers: Headers) -> None:
        """Accept the rest of the same file, from exactly where it is missing."""
        header = headers.get("content-range") or ""
        content_range = _CONTENT_RANGE.fullmatch(header)
        if not content_range:
            return
        start, total = map(int, content_range.groups())
        if start != self.offset:
            return
        if self._total not in (None, total):
            return
        if _version(headers) != self._etag:
            return
        self._total = total
        self._check_size(total)
        self._is_accepted = True

    def _receive_all(self, headers: Headers) -> None:
        """Accept the file from its start, and forget what had arrived of it before."""
        claims = stated_digests.claims({}, headers)
        decisive = stated_digests.decisive(claims, ("sha256",))
        self._start_over(claim.algorithm for claim in decisive)
        self._etag = _version(headers)
        length = headers.get("content-length") or ""
        if _LENGTH.fullmatch(length):
            self._total = int(length)
            self._check_size(self._total)
        self._is_accepted = True

    def _take(self, block: bytes) -> None:
        end = self.offset + len(block)
        self._check_size(end)
        self._file.write(block)
        for digest in self._digests.values():
            digest.update(block)
        self.offset = end
        self.furthest = max(self.furthest, end)

    def _check_size(self, size: int) -> None:
        if size > self._step.max_size:
            raise ProtocolError(
                f"{capitalise(self._step.what)} is larger than the limit of "
                f"{format_size(self._step.max_size)}.",
                cause="The service or a proxy answered with something other than the file.",
                hint="Nothing was written. Run again; report the error if it recurs.",
                code="download-too-large",
            )

    def check_sha256(self, headers: Headers) -> str:
        """Return the SHA-256 of everything that has arrived.

        Raises `IntegrityError` if the service promised another digest, in `headers` or before.
        """
        promised: dict[str, str] = {}
        for claim in stated_digests.claims({}, headers):
            promised[claim.algorithm] = claim.value
        if self._step.sha256:
            promised["sha256"] = self._step.sha256
        computed: dict[str, str] = {}
        for algorithm, digest in self._digests.items():
            computed[algorithm] = digest.digest().hex()
        for algorithm, value in promised.items():
            if algorithm not in computed:
                continue
            if computed[algorithm] != value:
                raise IntegrityError(
                    f"{capitalise(self._step.what)} is not what the service says it is: its "
                    f"{algorithm} is {computed[algorithm]}, not {value}.",
                    cause="It was changed on the way, by a proxy for instance, or the service has "
                    "a fault.",
                    hint="Nothing was written. Run again; report the error if it recurs.",
                    code="download-damaged",
                )
        return computed["sha256"]


def _is_file(headers: Headers) -> bool:
    """Return whether the body can be an APK or an image, and not an API's JSON or a web page."""
    content_type = headers.get("content-type") or ""
    media_type, _, _ = content_type.partition(";")
    media_type = media_type.strip().lower()
    if media_type in ("text/html", "application/json"):
        return False
    return headers.get("content-length") != "0"


def _version(headers: Headers) -> str:
    """Return the strong ETag, which names this version of the file byte for byte; empty if there is
    none.
    """
    etag = headers.get("etag") or ""
    if not _ETAG.fullmatch(etag):
        return ""
    return etag
