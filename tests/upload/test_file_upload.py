"""The one object for one upload: what it counts, and what its listeners hear."""

from __future__ import annotations

import time

import pytest

from tests.support.followed_upload import send_up_to, upload_of
from tests.support.transfer_harness import MemoryJournal
from tests.support.transfer_harness import job as job_of
from uploader.errors import IntegrityError, TemporaryError
from uploader.http.messages import Span
from uploader.reporting import UploadListener
from uploader.services.base import Upload
from uploader.state.journal import SessionRecord
from uploader.upload.file_upload import FileUpload
from uploader.upload.journal_records import ResultInJournal, SessionInJournal
from uploader.upload.sources import FileSource
from uploader.upload.timeline import Timeline

URI = "https://things.googleapis.com/upload?upload_id=x"


class Diary(UploadListener):
    """Writes down what it hears, with the position and the confirmed offset at that moment."""

    def __init__(self, upload: FileUpload) -> None:
        self._upload = upload
        self.entries: list[tuple[str, int, int]] = []

    def _write(self, what: str) -> None:
        self.entries.append((what, self._upload.position, self._upload.stored))

    def progressed(self) -> None:
        self._write("progressed")

    def offset_confirmed(self) -> None:
        self._write("confirmed")

    def session_resumed(self) -> None:
        self._write("resumed")

    def last_block_due(self) -> None:
        self._write("last block")

    def finished(self) -> None:
        self._write("finished")


def test_a_listener_reads_the_figures_as_they_are_when_it_hears() -> None:
    """Each figure has changed before anybody is told of it."""
    upload = upload_of("app.bin", 100)
    diary = Diary(upload)
    upload.add_listener(diary)
    upload.begin_request(0)
    upload.count_sent(60)
    upload.confirm(40)
    upload.resume()
    upload.begin_request(40)
    upload.announce_last_block()
    upload.count_sent(60)
    upload.finish()
    assert diary.entries == [
        ("progressed", 0, 0),
        ("progressed", 60, 0),
        ("confirmed", 40, 40),
        ("resumed", 40, 40),
        ("progressed", 40, 40),
        ("last block", 40, 40),
        ("progressed", 100, 40),
        ("finished", 100, 100),
    ]


@pytest.mark.parametrize(
    ("seconds", "kinds"),
    [
        pytest.param(1.5, [("sent", 2.0), ("answer", 1.5)], id="long"),
        pytest.param(0.25, [("sent", 2.25)], id="short"),
    ],
)
def test_the_timeline_has_the_wait_for_a_late_answer(
    seconds: float, kinds: list[tuple[str, float]]
) -> None:
    """From the last byte of the body to the end of the response; a short one is not worth a bar."""
    moments = iter([0.0, 10.0, 12.0, 12.0 + seconds, 12.0 + seconds])
    upload = upload_of("app.bin", 100, moments.__next__)
    timeline = Timeline(upload, moments.__next__)
    upload.add_listener(timeline)
    upload.begin_request(0)
    upload.count_sent(100)
    upload.end_body()
    upload.end_request()
    assert [(event.kind, event.seconds) for event in timeline.events] == kinds


def test_only_bytes_that_were_sent_before_count_as_resent() -> None:
    """What lies beyond the furthest byte of all requests is new, also in a request that begins
    before it.
    """
    upload = upload_of("app.bin", 100)
    upload.begin_request(0)
    upload.count_sent(60)
    upload.begin_request(40)
    upload.count_sent(30)
    upload.count_sent(30)
    assert upload.bytes_sent == 120
    assert upload.bytes_resent == 20


def test_bytes_of_an_earlier_run_are_not_uploaded_by_this_one() -> None:
    """What an earlier run had stored is there, but this run did not bring it."""
    upload = upload_of("app.bin", 100)
    upload.confirm(30)
    upload.resume(of_earlier_run=True)
    upload.count_attempt()
    upload.complete({"id": "1"})
    upload.finish()
    assert upload.resumed_from == 30
    assert upload.bytes_uploaded == 70


def test_an_upload_that_starts_over_is_not_resumed() -> None:
    """With the session of an earlier run everything is gone that it had stored."""
    upload = upload_of("app.bin", 100)
    upload.confirm(30)
    upload.resume(of_earlier_run=True)
    upload.start_over("the session is gone")
    assert upload.resumed_from is None
    assert (upload.position, upload.stored) == (0, 0)


def test_a_damaged_upload_has_arrived_and_is_not_confirmed() -> None:
    """A service that says that it is complete has received all of it, whatever it then holds."""
    upload = upload_of("app.bin", 100)
    send_up_to(upload, 100)
    upload.complete({"id": "1"})
    upload.fail(IntegrityError("It arrived damaged."))
    result = upload.result(0, ())
    assert (result.bytes_uploaded, upload.stored) == (100, 0)
    assert result.error == "It arrived damaged."


def test_a_stream_has_no_size_before_its_end() -> None:
    """A stream that failed is told with the size 0, as it never had one."""
    upload = upload_of("-", None)
    assert upload.size is None
    assert upload.result(0, ()).bytes == 0
    upload.find_end(7)
    assert upload.result(0, ()).bytes == 7


def test_the_timeline_tells_requests_waits_and_turns() -> None:
    """A wait of no time is none."""
    now = [10.0]
    upload = upload_of("app.bin", 2048, lambda: now[0])
    timeline = Timeline(upload, lambda: now[0])
    upload.add_listener(timeline)
    upload.begin_request(0)
    upload.count_sent(2048)
    now[0] = 12.0
    upload.end_request()
    upload.wait("the server answered 503", 4.0)
    upload.wait("the server did not say what it stored", 0.0)
    upload.confirm(1024)
    upload.resume()
    upload.start_over("the session is gone")
    upload.fail(TemporaryError("Gave up."))
    events = [
        (one.at, one.kind, one.text, one.seconds, one.bytes) for one in timeline.events
    ]
    assert events == [
        (10.0, "sent", "", 2.0, 2048),
        (12.0, "wait", "the server answered 503", 4.0, 0),
        (12.0, "resumed", "at 1.0 KiB", 0.0, 0),
        (12.0, "restarted", "the session is gone", 0.0, 0),
        (12.0, "failed", "Gave up.", 0.0, 0),
    ]


class KeptUpload:
    """An upload of these bytes, and the record of its session in a journal."""

    def __init__(self, data: bytes, journal: MemoryJournal | None = None) -> None:
        self.journal = journal or MemoryJournal()
        self.job = job_of(data)
        self.upload = FileUpload(self.job, time.monotonic)
        self.source = FileSource(self.job.artifact)
        self.session = SessionInJournal(self.upload, self.journal, self.source)
        self.upload.add_listener(self.session)

    def record(self) -> SessionRecord | None:
        return self.journal.find(self.job)


def test_the_journal_knows_that_the_last_block_is_due_before_it_leaves() -> None:
    """Until then, a later run can be sure that not all of the file was sent."""
    kept_upload = KeptUpload(b"x" * (2 << 20))
    kept_upload.upload.start_session(URI, 262_144)
    kept = kept_upload.record()
    assert kept is not None
    assert not kept.last_block_due
    kept_upload.upload.announce_last_block()
    kept = kept_upload.record()
    assert kept is not None
    assert kept.last_block_due


def test_an_interrupted_upload_is_kept_with_the_digest_of_what_was_sent() -> None:
    """By that the next run knows the file again, also in a fresh checkout."""
    kept_upload = KeptUpload(b"x" * 1000)
    kept_upload.upload.start_session(URI, 262_144)
    kept_upload.upload.count_attempt()
    for block in kept_upload.source.blocks(Span(0, 600)):
        kept_upload.upload.count_sent(len(block))
    kept_upload.upload.interrupt()
    kept = kept_upload.record()
    assert kept is not None
    assert kept.length == 600
    assert kept_upload.session.is_of_same_content(kept)


@pytest.mark.parametrize("end", ["lost", "abandoned", "damaged"])
def test_a_session_that_nobody_can_use_is_forgotten(end: str) -> None:
    """The next run begins a new one."""
    kept_upload = KeptUpload(b"x" * 1000)
    kept_upload.upload.start_session(URI, 262_144)
    assert kept_upload.record()
    if end == "lost":
        kept_upload.upload.start_over("the session is gone")
    elif end == "abandoned":
        kept_upload.upload.abandon()
    else:
        kept_upload.upload.fail(IntegrityError("It arrived damaged."))
    assert kept_upload.record() is None


class FullDisk(MemoryJournal):
    """A journal that can keep nothing more."""

    def save(self, job: Upload, record: SessionRecord) -> bool:
        del job, record
        return False


def test_a_record_that_can_not_be_renewed_is_dropped() -> None:
    """An older record would say too little of what was sent."""
    kept_upload = KeptUpload(b"x" * (2 << 20), FullDisk())
    old = SessionRecord(URI, 262_144)
    kept_upload.journal.entries[kept_upload.job.artifact] = old
    kept_upload.session.inherit(old)
    kept_upload.upload.announce_last_block()
    assert kept_upload.record() is None
    assert not kept_upload.session.is_kept


class ResultsOnly(MemoryJournal):
    """A journal that remembers which results were kept."""

    def __init__(self) -> None:
        super().__init__()
        self.finished: list[str] = []

    def save_finished(self, job: Upload, sha256: str, resource: object) -> None:
        del job, resource
        self.finished.append(sha256)


def test_what_a_single_request_has_added_is_kept() -> None:
    """No session could tell a later run that the file is there."""
    upload, journal = upload_of("app.bin", 100), ResultsOnly()
    upload.add_listener(ResultInJournal(upload, journal))
    upload.sha256 = "ab"
    upload.finish()
    assert journal.finished == ["ab"]


@pytest.mark.parametrize(
    ("lasting", "words"),
    [(True, "40 of 100 B received and kept"), (False, "40 of 100 B received")],
    ids=["kept-state", "state-of-this-machine"],
)
def test_an_upload_that_can_be_continued_is_interrupted(
    lasting: bool, words: str
) -> None:
    """It has not failed. That nothing is lost is said where the next run surely finds the state."""
    upload = upload_of("app.bin", 100)
    timeline = Timeline(upload, lambda: 1.0, lasting=lasting)
    upload.add_listener(timeline)
    upload.confirm(40)
    upload.interrupt()
    upload.fail(TemporaryError("Gave up."))
    assert [(event.kind, event.text) for event in timeline.events] == [
        ("interrupted", words)
    ]


def test_an_upload_that_is_given_up_has_failed() -> None:
    """Its session is gone, though it was to be continued before."""
    upload = upload_of("app.bin", 100)
    timeline = Timeline(upload, lambda: 1.0, lasting=True)
    upload.add_listener(timeline)
    upload.interrupt()
    upload.abandon()
    upload.fail(TemporaryError("Gave up."))
    assert [(event.kind, event.text) for event in timeline.events] == [
        ("failed", "Gave up.")
    ]


def test_what_an_earlier_run_sent_is_told_where_the_upload_goes_on() -> None:
    """After a broken request of the same run it is not."""
    upload = upload_of("app.bin", 100)
    timeline = Timeline(upload, lambda: 1.0)
    upload.add_listener(timeline)
    upload.confirm(40)
    upload.resume(of_earlier_run=True)
    send_up_to(upload, 60)
    upload.end_request()
    upload.confirm(60)
    upload.resume()
    resumed = [event.text for event in timeline.events if event.kind == "resumed"]
    assert resumed == ["at 40 B, sent by an earlier run", "at 60 B"]
