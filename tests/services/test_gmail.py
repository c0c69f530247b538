"""Mails: what they say, that nothing slips a header in, their limits, and that none is sent
twice.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.factory import (
    PNG,
    Step,
    make_file,
    make_inputs,
    only_upload,
    problems,
    run,
)
from tests.support.recording_context import RecordingContext
from uploader.errors import ApiError, InputError, ProtocolError, TemporaryError
from uploader.files.artifacts import Artifact
from uploader.files.workspace import Workspace
from uploader.inputs.records import MailInputs
from uploader.services import gmail, mail_message
from uploader.services.base import Call, Prepared, Upload

# whose fraction is in no message
NOW = datetime(2026, 1, 2, 3, 4, 5, 900_000, tzinfo=timezone.utc)
TOKEN = "0123456789abcdef" * 2
STAMP = mail_message.MessageIdentity(NOW, TOKEN)
MESSAGE = {"id": "m1", "threadId": "t1", "labelIds": ["SENT"]}
EML = b"From: a@example.com\r\nTo: b@example.com\r\nSubject: s\r\n\r\nbody\r\n"
# What the standard library's parser follows inward, one call for each character.
NESTED = (
    "(" * 4000,
    "(" * 2000 + ")" * 2000 + " a@example.com",
    "a@example.com " + "(" * 4000,
    ":" * 4000,
)
BASIC = {
    "target": "gmail",
    "mail_to": "b@example.com",
    "mail_subject": "Release",
    "mail_body": "It is out.",
}


def prepared(workspace: Path, *files: Artifact, **given: str) -> Prepared:
    return stamped(STAMP, workspace, *files, **given)


def stamped(
    stamp: mail_message.MessageIdentity, workspace: Path, *files: Artifact, **given: str
) -> Prepared:
    inputs = make_inputs(workspace, **given)
    record, folder = inputs.record(MailInputs), Workspace.of(inputs)
    return gmail.prepare(
        record, files, folder, now=lambda: stamp.date, token=lambda: stamp.token
    )


def composed(workspace: Path, *files: Artifact, **given: str) -> EmailMessage:
    data = only_upload(prepared(workspace, *files, **{**BASIC, **given})).artifact.data
    assert data is not None
    return parsed(data)


def parsed(data: bytes) -> EmailMessage:
    message = message_from_bytes(data, policy=default)
    assert isinstance(message, EmailMessage)
    assert not message.defects
    return message


def refused(workspace: Path, *files: Artifact, **given: str) -> dict[str, str]:
    with pytest.raises(InputError) as caught:
        prepared(workspace, *files, **given)
    return problems(caught.value)


def test_the_attachments_of_a_mail_are_not_split(tmp_path: Path) -> None:
    """Each job of a matrix would send a mail of its own with a part of them; a mail without any is
    each job's own.
    """
    given = {**BASIC, "shard": "2/3"}
    assert (
        "2/3"
        in refused(tmp_path, make_file(tmp_path, "a.pdf", b"%PDF-"), **given)["shard"]
    )
    assert prepared(tmp_path, **given).lines


@pytest.mark.parametrize(
    ("action", "method", "path", "scope", "limit"),
    [
        ("send", "POST", "/messages/send", "gmail.send", 36_700_160),
        ("insert", "POST", "/messages", "gmail.insert", 157_286_400),
        ("import", "POST", "/messages/import", "gmail.insert", 157_286_400),
        ("draft", "POST", "/drafts", "gmail.compose", 36_700_160),
        ("draft-update", "PUT", "/drafts/d%2F1", "gmail.compose", 36_700_160),
        ("draft-send", "POST", "/drafts/send", "gmail.compose", 36_700_160),
    ],
)
def test_each_action_is_its_method(
    tmp_path: Path, action: str, method: str, path: str, scope: str, limit: int
) -> None:
    """Each action has Google's method, path, limit and the narrowest scope; only what replaces may
    be repeated.
    """
    made = prepared(
        tmp_path,
        **BASIC,
        gmail_action=action,
        draft_id="d/1",
        mail_from="a@example.com",
        user_id="u@x.org",
    )
    upload = only_upload(made)
    assert upload.endpoint.http_method == method
    assert upload.endpoint.path == f"/gmail/v1/users/u%40x.org{path}"
    assert upload.endpoint.upload_path == f"/upload{upload.endpoint.path}"
    assert (
        made.scopes
        == upload.endpoint.scopes
        == (f"https://www.googleapis.com/auth/{scope}",)
    )
    assert upload.endpoint.max_size == limit
    assert upload.media_type == "message/rfc822"
    assert upload.endpoint.idempotent is (method == "PUT")
    assert upload.endpoint.at_most_once is (method != "PUT")
    assert upload.metadata == ({"id": "d/1"} if action == "draft-send" else None)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({}, 'Send mail "Release" ('),
        ({"mail_subject": ""}, "Send mail ("),
        (
            {"gmail_action": "draft-update", "draft_id": "r1"},
            'Replace the draft with mail "Release" (',
        ),
    ],
)
def test_the_plan_names_the_mail_and_counts_who_gets_it(
    tmp_path: Path, given: dict[str, str], line: str
) -> None:
    """A mail is called a mail, by its subject, with its size, its attachments and its
    recipients.
    """
    file = make_file(tmp_path, "a.txt")
    (told,) = prepared(
        tmp_path, file, **{**BASIC, "mail_cc": "c@example.com, d@example.com", **given}
    ).lines
    assert told.startswith(line)
    assert told.endswith(" B, with 1 attachment) to 3 recipients")


def test_the_recipients_of_a_given_message_are_counted(tmp_path: Path) -> None:
    """To, Cc and Bcc of an .eml are its recipients."""
    make_file(
        tmp_path,
        "m.eml",
        EML.replace(b"Subject", b"Cc: c@example.com, d@example.com\r\nSubject"),
    )
    (line,) = prepared(tmp_path, target="gmail", message_file="m.eml").lines
    assert re.fullmatch(r"Send m\.eml \(\d+ B\) to 3 recipients", line)


@pytest.mark.parametrize("given", [{}, BASIC])
def test_a_draft_that_is_not_there_is_explained(
    tmp_path: Path, given: dict[str, str]
) -> None:
    """Google's "Requested entity was not found" says nothing of drafts."""
    made = prepared(
        tmp_path,
        **{"target": "gmail", **given, "gmail_action": "draft-send", "draft_id": "r1"},
    )
    error = ApiError("Requested entity was not found.", status=404, reason="notFound")

    with pytest.raises(ApiError) as caught:
        run(
            made,
            response=lambda step: error if isinstance(step, (Call, Upload)) else None,
        )
    assert "`draft-id`" in caught.value.cause
    assert "`gmail-action: draft`" in caught.value.hint


def test_message_says_what_the_inputs_say(tmp_path: Path) -> None:
    """Addresses, subject, text, HTML, attachments arrive as given, with non-ASCII intact; Bcc stays
    in for Gmail.
    """
    files = (
        make_file(tmp_path, "out/äpp.apk", b"PK\x03\x04"),
        make_file(tmp_path, "icon.dat", PNG),
    )
    message = composed(
        tmp_path,
        *files,
        mail_from="Jörg Müller <joerg@example.com>",
        mail_to='"Doe, Jane" <jane@example.com>, bob@example.org',
        mail_cc="Team: x@example.com, y@example.com;",
        mail_bcc="hidden@example.com",
        mail_subject="Veröffentlichung 1.2 🚀",
        mail_body="Grüße\nZeile zwei",
        mail_html="<p>Grüße</p>",
    )
    assert message["from"].addresses[0].display_name == "Jörg Müller"
    assert [address.addr_spec for address in message["to"].addresses] == [
        "jane@example.com",
        "bob@example.org",
    ]
    assert [address.addr_spec for address in message["cc"].addresses] == [
        "x@example.com",
        "y@example.com",
    ]
    assert str(message["bcc"]) == "hidden@example.com"
    assert message["subject"] == "Veröffentlichung 1.2 🚀"
    assert message["date"].datetime == NOW.replace(microsecond=0)
    assert message["message-id"] == f"<{TOKEN}@example.com>"
    text, html = message.get_body(("plain",)), message.get_body(("html",))
    assert isinstance(text, EmailMessage)
    assert isinstance(html, EmailMessage)
    assert text.get_content().splitlines() == ["Grüße", "Zeile zwei"]
    assert html.get_content().splitlines() == ["<p>Grüße</p>"]
    found = [
        (part.get_filename(), part.get_content_type(), part.get_content())
        for part in message.iter_attachments()
    ]
    assert found == [
        ("äpp.apk", "application/vnd.android.package-archive", b"PK\x03\x04"),
        ("icon.dat", "image/png", PNG),
    ]


def test_every_line_is_short_ascii_and_ends_in_crlf(tmp_path: Path) -> None:
    """The bytes that leave are 7-bit lines of at most 998 characters, each ended by CRLF."""
    file = make_file(tmp_path, "a.txt", "ü\nlong ".encode() * 2000)
    upload = only_upload(
        prepared(
            tmp_path,
            file,
            **{**BASIC, "mail_body": "ü" * 5000, "mail_html": "x" * 5000},
        )
    )
    data = upload.artifact.data or b""
    assert data.isascii()
    assert data.count(b"\n") == data.count(b"\r\n") == data.count(b"\r")
    assert max(len(line) for line in data.split(b"\r\n")) <= 998


def test_attached_message_is_not_taken_apart(tmp_path: Path) -> None:
    """An .eml among the files is an attachment of plain octets, since a message part can't be
    base64.
    """
    (part,) = composed(tmp_path, make_file(tmp_path, "a.eml", EML)).iter_attachments()
    assert part.get_content_type() == "application/octet-stream"
    assert part.get_content() == EML


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mail_to", "not an address"),
        ("mail_to", "a@example.com, b"),
        ("mail_to", "a@-"),
        ("mail_to", "a@exämple.com"),
        ("mail_to", "<a@example.com"),
        ("mail_to", ". <a@example.com>"),
        ("mail_cc", "a@example.com; b@example.com"),
        ("mail_bcc", "a b@example.com"),
        ("mail_from", "a@example.com, b@example.com"),
        ("mail_subject", "a\u2028Bcc: x@example.com"),
        ("mail_to", "a@example.com\x85Bcc: x@example.com"),
        ("mail_body", "file:../outside.txt"),
        ("mail_body", "file:missing.txt"),
        ("mail_html", "file:link.txt"),
        ("mail_html", "file:latin1.txt"),
        *(
            (name, text)
            for name in ("mail_from", "mail_to", "mail_cc", "mail_bcc")
            for text in NESTED
        ),
    ],
)
def test_wrong_field_is_refused(tmp_path: Path, name: str, value: str) -> None:
    """A false address, a line break in a header, a body outside the workspace or not UTF-8: told by
    its name.
    """
    workspace = tmp_path / "work"
    make_file(workspace, "latin1.txt", b"\xe9")
    make_file(tmp_path, "outside.txt")
    (workspace / "link.txt").symlink_to(tmp_path / "outside.txt")
    assert list(refused(workspace, **{**BASIC, name: value})) == [
        name.replace("_", "-")
    ]


HOSTILE = st.text(
    alphabet=st.sampled_from('ab@.<>,;:"\\ ()=?_üé🚀-\t\u202e\u2028\x85'),
    min_size=1,
    max_size=60,
)


@pytest.mark.slow
@given(subject=HOSTILE, sender=HOSTILE, name=HOSTILE, body=st.text(max_size=80))
def test_no_text_becomes_a_header(
    subject: str, sender: str, name: str, body: str
) -> None:
    """Whatever subject, sender, attachment name and body hold, the headers are those that were
    meant and no other.
    """
    try:
        author = mail_message.addresses(f"{sender} <a@example.com>")
    except ValueError:
        author = ()
    words = " ".join(subject.split()) if len(subject.splitlines()) <= 1 else "x"
    attachment = ("".join(filter(str.isprintable, name)), "text/plain", b"x")
    people = {"From": author, "To": mail_message.addresses("b@example.com")}
    data = mail_message.compose(
        people, words, STAMP, body, "", attachments=[attachment]
    )
    names = [
        line.partition(b":")[0]
        for line in data.partition(b"\r\n\r\n")[0].split(b"\r\n")
        if line[:1] not in b" \t"
    ]
    meant = {
        b"From",
        b"To",
        b"Subject",
        b"Date",
        b"Message-ID",
        b"MIME-Version",
        b"Content-Type",
    }
    assert len(names) == len(set(names))
    assert set(names) <= meant
    assert str(message_from_bytes(data, policy=default)["to"]) == "b@example.com"


def test_body_over_the_limit_is_refused(tmp_path: Path) -> None:
    """A body from a file over the limit is refused without being read."""
    make_file(tmp_path, "body.txt", size=36_700_161)
    assert (
        "at most 36,700,160"
        in refused(tmp_path, **{**BASIC, "mail_body": "file:body.txt"})["mail-body"]
    )


def test_attachment_name_with_a_control_character_is_refused(tmp_path: Path) -> None:
    """A file name that would carry a line break or an escape into the mail is refused."""
    for name in ("a\nb.txt", "a\x1b[31m.txt", "a\u202etxt.exe"):
        assert (
            "control character"
            in refused(tmp_path, make_file(tmp_path, name), **BASIC)["files"]
        )


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"To: b@example.com\nTo: c@example.com\n\nx", "has 2 to headers."),
        (b"From: a@example.com\nSubject: s\n\nx", "no recipient"),
        (
            b"Subject: a\rBcc: x@example.com\nTo: b@example.com\n\nx",
            "bare carriage return",
        ),
        (b"To: b@example.com\0\n\nx", "NUL"),
        (b"From someone Thu Jan  1 00:00:00 1970\nTo: b@example.com\n\nx", "mailbox"),
        (b"just text\nmore text", "can't be read"),
        (b"", "can't be read"),
        (
            b"To: b@example.com\nContent-Type: multipart/mixed; boundary=x\n\nno parts",
            "boundary",
        ),
    ],
)
def test_message_file_that_is_no_message_is_refused(
    tmp_path: Path, content: bytes, what: str
) -> None:
    """An .eml with doubled or smuggled headers, no recipient, or that is no message at all is
    refused.
    """
    make_file(tmp_path, "a.eml", content)
    with pytest.raises(InputError, match=what):
        prepared(tmp_path, target="gmail", message_file="a.eml")


@pytest.mark.parametrize("text", NESTED)
def test_nested_comments_of_a_message_file_end_in_no_crash(
    tmp_path: Path, text: str
) -> None:
    """Newer versions of Python read them; what older ones can't read is refused."""
    content = f"To: b@example.com {text}\n\nx".encode()
    make_file(tmp_path, "a.eml", content)
    refusal = ""
    sent = b""
    try:
        upload = only_upload(prepared(tmp_path, target="gmail", message_file="a.eml"))
        sent = upload.artifact.data or b""
    except InputError as error:
        refusal = str(error)
    if refusal:
        assert re.search("too deep|no recipient", refusal)
    else:
        assert sent == content.replace(b"\n", b"\r\n")


@pytest.mark.slow
def test_message_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    """An .eml that grows over the limit when its line ends become CRLF is refused."""
    make_file(tmp_path, "a.eml", EML + b"\n" * 18_400_000)
    assert (
        "at most 36,700,160"
        in refused(tmp_path, target="gmail", message_file="a.eml")["message-file"]
    )
    make_file(tmp_path, "b.eml", EML, size=36_700_161)
    assert (
        "at most 36,700,160"
        in refused(tmp_path, target="gmail", message_file="b.eml")["message-file"]
    )


def test_message_file_stands_alone_and_inside(tmp_path: Path) -> None:
    """Beside an .eml no other part may be given, and it has to be in the workspace."""
    make_file(tmp_path, "a.eml", EML)
    found = refused(tmp_path, make_file(tmp_path, "x"), **BASIC, message_file="a.eml")
    assert sorted(found) == ["files", "mail-body", "mail-subject", "mail-to"]
    inner = tmp_path / "work"
    inner.mkdir()
    assert (
        "outside"
        in refused(inner, target="gmail", message_file="../a.eml")["message-file"]
    )
    assert prepared(
        inner, target="gmail", message_file="../a.eml", allow_outside_workspace="true"
    ).lines


@pytest.mark.parametrize(
    "response", [{}, {"id": ""}, {"id": ["m1"]}, {"threadId": "t1"}]
)
def test_a_draft_that_was_sent_without_an_id_is_a_broken_protocol(
    tmp_path: Path, response: dict[str, Any]
) -> None:
    """Gmail promises the id of the message; without it nothing shows that the mail is on its
    way.
    """
    made = prepared(tmp_path, target="gmail", gmail_action="draft-send", draft_id="d1")
    with pytest.raises(ProtocolError, match="without the id"):
        run(made, response=lambda step: response if isinstance(step, Call) else None)


def sent(steps: list[Step]) -> bytes:
    (upload,) = (step for step in steps if isinstance(step, Upload))
    return upload.artifact.data or b""


def test_next_run_of_an_unfinished_mail_sends_the_same_bytes(tmp_path: Path) -> None:
    """A run that ended in between left its stamp, so the next one composes the same bytes, and
    forgets it when done.
    """
    file = make_file(tmp_path, "a.bin", b"x" * 1000)
    given, context = {**BASIC, "mail_html": "<p>x</p>"}, RecordingContext()
    first = prepared(tmp_path, file, **given)
    with pytest.raises(TemporaryError):
        run(
            first,
            {},
            lambda step: TemporaryError("spent.") if isinstance(step, Upload) else None,
            context,
        )
    assert len(context.journal) == 1
    seen = sent(run(first)[1])
    second = stamped(
        mail_message.MessageIdentity(NOW + timedelta(hours=1), "f" * 32),
        tmp_path,
        file,
        **given,
    )
    assert sent(run(second)[1]) != seen
    assert sent(run(second, MESSAGE, context=context)[1]) == seen
    context.settle()
    assert context.journal == {}


def test_other_content_is_another_mail(tmp_path: Path) -> None:
    """A mail that says something else does not go on under the stamp of the first."""

    def key(*files: Artifact, **given: str) -> str:
        context = RecordingContext()
        run(prepared(tmp_path, *files, **{**BASIC, **given}), context=context)
        (name,) = context.recalled
        return name

    keys = {
        key(),
        key(mail_body="y"),
        key(mail_to="c@example.com"),
        key(mail_bcc="c@example.com"),
        key(gmail_action="draft"),
    }
    keys |= {
        key(make_file(tmp_path, "a", b"1")),
        key(make_file(tmp_path, "a", b"2")),
        key(make_file(tmp_path, "b", b"2")),
    }
    keys |= {
        key(user_id="u@example.com"),
        key(metadata='{"threadId": "t1"}'),
        key(metadata='{"threadId": "t2"}'),
    }
    assert len(keys) == 11


def test_a_given_message_of_this_second_is_the_same_later(tmp_path: Path) -> None:
    """Its date is content: the next run, an hour later, knows that it may have been sent."""
    make_file(tmp_path, "m.eml", b"Date: Fri, 02 Jan 2026 03:04:05 +0000\r\n" + EML)
    contexts, later = (RecordingContext(), RecordingContext()), NOW + timedelta(hours=1)
    for stamp, context in zip(
        (STAMP, mail_message.MessageIdentity(later, "f" * 32)), contexts, strict=True
    ):
        run(
            stamped(stamp, tmp_path, target="gmail", message_file="m.eml"),
            context=context,
        )
    assert contexts[0].recalled == contexts[1].recalled != []


@pytest.mark.parametrize(("days", "same"), [(6, True), (7, False)])
def test_stamp_older_than_any_session_is_not_used(
    tmp_path: Path, days: int, same: bool
) -> None:
    """After a week no session can be alive, so an old stamp gives way to a fresh one."""
    old = mail_message.MessageIdentity(NOW - timedelta(days=days), "a" * 32)
    made, context = prepared(tmp_path, **BASIC), RecordingContext()
    run(made, context=context)
    _, steps = run(
        made, context=RecordingContext({name: str(old) for name in context.recalled})
    )
    assert (f"<{'a' * 32}@".encode() in sent(steps)) is same


# What nobody asked for

HIDDEN = "=?utf-8?q?Hi=0D=0ABcc=3A_spy=40example.com?="


def test_an_encoded_word_within_an_encoded_word_is_refused(tmp_path: Path) -> None:
    """What is decoded once looks clean, and is not, once it is decoded again."""
    twice = "=?utf-8?q?=3D=3Futf-8=3Fq=3FHi=3D0D=3D0ABcc=3D3A_spy=3F=3D?="
    assert refused(tmp_path, **{**BASIC, "mail_subject": twice})


def test_an_encoded_subject_is_shown_decoded(tmp_path: Path) -> None:
    """What another tool has encoded is a subject like any other, as long as nothing hides in it."""
    assert (
        composed(tmp_path, mail_subject="=?utf-8?q?Gr=C3=BC=C3=9Fe?=")["subject"]
        == "Grüße"
    )


@pytest.mark.parametrize(
    "name", ["mail_subject", "mail_to", "mail_from", "mail_cc", "mail_bcc"]
)
def test_what_hides_in_an_encoded_word_is_refused(tmp_path: Path, name: str) -> None:
    """A line break, and any other control character, behind whatever encoding."""
    for hidden in (
        HIDDEN,
        "=?utf-8?b?YQBi?=",
        "=?utf-7?q?Hi+AA0ACg-Bcc:_x?=",
        "=?iso-8859-1?q?a=85b?=",
    ):
        value = hidden if name == "mail_subject" else f'"{hidden}" <ann@example.com>'
        assert list(refused(tmp_path, **{**BASIC, name: value})) == [
            name.replace("_", "-")
        ]


@pytest.mark.parametrize(
    ("head", "fault"),
    [
        (b"Subject: " + HIDDEN.encode(), "control character in its Subject header"),
        (b"Subject: =?utf-8?b?YQBi?=", "control character in its Subject header"),
        (b"Subject: a\x0bb", "another control character in its headers"),
        (b"X: " + b"y" * 600_000, "600,"),
        (
            b"Content-Type: multipart/mixed" + b"; a=b" * 4000,
            "Content-Type header of more than",
        ),
    ],
)
def test_a_message_file_hides_nothing(tmp_path: Path, head: bytes, fault: str) -> None:
    """The headers of a message that was given are held to the same rule, and their size is
    limited.
    """
    make_file(tmp_path, "a.eml", b"To: ann@example.com\n" + head + b"\n\ntext\n")
    assert (
        fault in refused(tmp_path, target="gmail", message_file="a.eml")["message-file"]
    )


def multipart(*parts: bytes) -> bytes:
    """The headers and the body of a multipart entity."""
    body = b"".join(b"--b\n" + part + b"\n" for part in parts)
    return b"Content-Type: multipart/mixed; boundary=b\n\n" + body + b"--b--\n"


TEXT = b"Content-Type: text/plain\n\ntext\n"
INNER = b"Subject: " + HIDDEN.encode() + b"\n\ntext\n"


def test_the_parts_of_a_message_file_go_out_as_they_are(tmp_path: Path) -> None:
    """Of a given message, its own headers are looked at alone."""
    body = multipart(TEXT, INNER, b"no header\nSubject: a\x0bb\n\nx", b"\ntext")
    make_file(tmp_path, "a.eml", b"To: ann@example.com\n" + body)
    upload = only_upload(prepared(tmp_path, target="gmail", message_file="a.eml"))
    sent = upload.artifact.data or b""
    assert sent.endswith(body.replace(b"\n", b"\r\n"))


def test_a_body_may_come_from_a_file(tmp_path: Path) -> None:
    """`mail-body-file` and `mail-html-file` name files; a body that begins with `file:` still does,
    with a warning.
    """
    make_file(tmp_path, "a.txt", b"From a file.")
    given = {name: value for name, value in BASIC.items() if name != "mail_body"}
    for name in ("mail_body_file", "mail_html_file"):
        found = prepared(tmp_path, **{**given, name: "a.txt"})
        assert b"From a file." in (only_upload(found).artifact.data or b"")
        assert found.warnings == ()
    (warning,) = prepared(tmp_path, **{**given, "mail_body": "file:a.txt"}).warnings
    assert "use `mail-body-file: a.txt`" in warning
    assert (
        "given together with"
        in refused(tmp_path, **{**BASIC, "mail_body": "b", "mail_body_file": "a.txt"})[
            "mail-body-file"
        ]
    )
