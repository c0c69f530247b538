"""Make a mail: compose it of the inputs and of files in the workspace, or take a message that is
given and goes out as it is.

No input can add a header to either. The standard library's e-mail package decodes what looks like
an RFC 2047 encoded word, and a line break may come out; so control characters are looked for after
decoding. A composed message is a function of its content and its identity alone, so that a run that
continues an unfinished upload makes the same bytes again. In a given message only the headers of
the message itself are checked; its parts go out as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.errors import MessageError, MultipartInvariantViolationDefect
from email.header import decode_header, make_header
from email.headerregistry import Address
from email.message import EmailMessage, Message
from email.parser import BytesHeaderParser
from email.policy import SMTP, EmailPolicy
from email.utils import collapse_rfc2231_value, format_datetime, getaddresses
from functools import partial
from pathlib import PurePosixPath
from typing import TypeAlias

from uploader.errors import InputError, Problem, Problems
from uploader.files.artifacts import Artifact, Artifacts, from_path
from uploader.files.mistaken_text import is_existing_file
from uploader.files.workspace import Workspace, printable
from uploader.inputs.records import MailInputs
from uploader.services import media_types
from uploader.text import plural

Attachment: TypeAlias = tuple[str, str, bytes]  # name, media type, content
People: TypeAlias = Mapping[str, tuple[Address, ...]]  # by the name of a header

# 7bit makes every part quoted-printable or base64 as it needs; RFC 5322 has CRLF, and lines of 78
# characters.
_POLICY: EmailPolicy[EmailMessage] = SMTP.clone(cte_type="7bit")
_ADDRESS = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@"
    r"([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z0-9-]{2,}"
)
_FILE = "file:"
_ADDRESSES = ("from", "to", "cc", "bcc")
_BODIES = ("mail_body", "mail_body_file", "mail_html", "mail_html_file")
_CONTENT_INPUTS = (
    "mail_from",
    "mail_to",
    "mail_cc",
    "mail_bcc",
    "mail_subject",
    *_BODIES,
)

_UNREADABLE = (
    AttributeError,
    IndexError,
    TypeError,
    ValueError,
    LookupError,
    RecursionError,
    MessageError,
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# RFC 5322, section 3.6: a message has each of these at most once.
_ONCE = (
    "from",
    "sender",
    "reply-to",
    "to",
    "cc",
    "bcc",
    "message-id",
    "date",
    "subject",
    "content-type",
)
# a mail has at least one of these
_MAIL_HEADERS = {"from", "to", "cc", "bcc", "subject"}
_RECIPIENTS = ("To", "Cc", "Bcc")
# bytes; Gmail's own limit, support.google.com/a/answer/14016360
_MAX_HEADERS = 512 * 1024
# bytes of a header with parameters: the library takes quadratic time to read them
_MAX_STRUCTURE = 4096
_STRUCTURE = ("content-type", "content-disposition")
# within a header, where it is no control character
_FOLD = re.compile(r"\r\n(?=[ \t])|\t")


@dataclass(frozen=True)
class MessageIdentity:
    """What distinguishes a message from another one with the same content: when it was written, and
    a random token.
    """

    date: datetime
    token: str

    def __str__(self) -> str:
        return f"{int(self.date.timestamp())} {self.token}"

    @classmethod
    def parse(cls, text: str) -> MessageIdentity | None:
        """Return the identity that `str` wrote; None for anything else."""
        match = re.fullmatch(r"([0-9]{1,11}) ([0-9a-f]{32})", text)
        if not match:
            return None
        seconds, token = match.groups()
        return cls(datetime.fromtimestamp(int(seconds), timezone.utc), token)

    def without(self, message: bytes) -> bytes:
        """Return a message without the identity under which it was composed: the same bytes for the
        same content.
        """
        token = self.token.encode()
        if token not in message:
            return message
        date = f"Date: {format_datetime(self.date)}\r\n".encode()
        return message.replace(date, b"", 1).replace(token, b"")


@dataclass(frozen=True)
class Mail:
    """A mail that can be sent.

    `name` is for people; `recipients` and `attachments` are counts; `data` returns the bytes of the
    message under an identity.
    """

    name: str
    recipients: int
    attachments: int
    data: Callable[[MessageIdentity], bytes]
    warnings: tuple[str, ...] = ()


def given(inputs: MailInputs, files: Artifacts) -> bool:
    """Return whether the inputs or the files describe anything in the mail."""
    if inputs.message_file or files:
        return True
    return any(getattr(inputs, name) for name in _CONTENT_INPUTS)


def read(
    inputs: MailInputs,
    files: Artifacts,
    workspace: Workspace,
    *,
    to_send: bool,
    limit: int,
) -> Mail:
    """Return the mail that the inputs describe.

    `to_send` requires a recipient, and `limit` is the size of the encoded message in bytes. Raises
    InputError with every problem.
    """
    problems = Problems()
    if inputs.message_file:
        return _given_message(
            inputs,
            files,
            workspace,
            problems,
            to_send=to_send,
            limit=limit,
        )
    people = _people(inputs, problems)
    if has_control(inputs.mail_subject):
        problems.add(
            "mail-subject", "contains a control character, perhaps in an encoded word."
        )
    read_text = partial(_text, workspace, problems=problems, limit=limit)
    text = read_text("mail-body", inputs.mail_body, inputs.mail_body_file)
    html = read_text("mail-html", inputs.mail_html, inputs.mail_html_file)
    attachments = _attachments(files, problems, limit)
    if len(people.get("From", ())) > 1:
        problems.add("mail-from", "contains several addresses.", "one address")
    _check_complete(inputs, problems, to_send=to_send)
    problems.raise_if_any()
    name = "mail"
    if inputs.mail_subject:
        name = f'mail "{inputs.mail_subject}"'
    recipients = sum(len(people[header]) for header in _RECIPIENTS)
    data = partial(
        compose,
        people,
        inputs.mail_subject,
        text=text,
        html=html,
        attachments=attachments,
    )
    return Mail(name, recipients, len(files), data, tuple(problems.warnings))


def _people(inputs: MailInputs, problems: Problems) -> dict[str, tuple[Address, ...]]:
    """Return the addresses of each header, without those that can't be read."""
    people: dict[str, tuple[Address, ...]] = {}
    for name in _ADDRESSES:
        try:
            text = getattr(inputs, f"mail_{name}")
            people[name.capitalize()] = addresses(text)
        except ValueError as error:  # noqa: PERF203 - each input has its own
            problems.add(
                f"mail-{name}", str(error), "`Ann <ann@example.com>, bob@example.com`"
            )
    return people


def _check_complete(inputs: MailInputs, problems: Problems, *, to_send: bool) -> None:
    """Add a problem for each part that a composed mail lacks."""
    if to_send and not (inputs.mail_to or inputs.mail_cc or inputs.mail_bcc):
        problems.add("mail-to", "is missing: the mail has no recipient.")
    if inputs.gmail_action in {"insert", "import"} and not inputs.mail_from:
        problems.add("mail-from", "is missing: a mail that is inserted needs a sender.")
    has_body = any(getattr(inputs, name) for name in _BODIES)
    if not (inputs.mail_subject or inputs.common.files or has_body):
        problems.add(
            "mail-body",
            "is missing, and so are the subject, HTML and files: the mail would be empty.",
        )


def _given_message(
    inputs: MailInputs,
    files: Artifacts,
    workspace: Workspace,
    problems: Problems,
    *,
    to_send: bool,
    limit: int,
) -> Mail:
    """Return the message of `message-file`, which goes out as it is."""
    combined = [name for name in _CONTENT_INPUTS if getattr(inputs, name)]
    if files:
        combined.append("files")
    for name in combined:
        problems.add(
            name.replace("_", "-"),
            "can't be combined with `message-file`, which is the whole message.",
        )
    path = inputs.message_file
    raw = problems.collect(
        lambda: _content(
            workspace,
            "message-file",
            path,
            limit,
        )
    )
    message = b""
    recipients = 0
    if raw is not None:
        try:
            message, recipients = check_message(raw, to_send=to_send)
        except ValueError as error:
            for fault in error.args:
                problems.add(
                    "message-file", f"{printable(path)} {fault}", "an RFC 822 message"
                )
    if len(message) > limit:
        what = f"{printable(path)} takes"
        problems.extend([_too_large("message-file", what, len(message), limit)])
    problems.raise_if_any()
    return Mail(path, recipients, 0, lambda _: message)


def _too_large(
    name: str,
    what: str,
    size: int,
    limit: int,
) -> Problem:
    return Problem(
        name,
        f"{what} {size:,} bytes in the message; Gmail accepts at most {limit:,} in all.",
    )


def _content(
    workspace: Workspace,
    name: str,
    path: str,
    limit: int,
) -> bytes:
    """Return what is in the file that the input `name` gives.

    A link may not lead out of its folder, unless that is allowed. Raises InputError, also for more
    than `limit` bytes.
    """
    folder = str(PurePosixPath(path).parent)
    file = from_path(workspace.root / path, path, workspace.access(name, folder))
    size = file.size or 0
    if size > limit:
        raise InputError(_too_large(name, f"{file.name} takes", size, limit))
    return media_types.head(file, limit)


def addresses(text: str) -> tuple[Address, ...]:
    """Return the addresses of a header such as `Ann <ann@example.com>, bob@example.com`. Raises
    ValueError with the reason.
    """
    if not text:
        return ()
    if len(text.splitlines()) > 1:
        raise ValueError("contains a line break.")
    try:
        header = _POLICY.header_factory("to", text)
        people: tuple[Address, ...] = header.addresses
    except _UNREADABLE:  # how the standard library's parser fails
        raise ValueError("is not a list of e-mail addresses.") from None
    if has_control(text) or any(has_control(str(person)) for person in people):
        raise ValueError("contains a control character, perhaps in an encoded word.")
    for person in people:
        if not _ADDRESS.fullmatch(person.addr_spec):
            raise ValueError(f"{person.addr_spec!r} is not an e-mail address.")
    if header.defects or not people:
        raise ValueError("is not a list of e-mail addresses.")
    return people


def _text(
    workspace: Workspace,
    name: str,
    value: str,
    path: str,
    *,
    problems: Problems,
    limit: int,
) -> str:
    """Return the text itself, or that of the file which `NAME-file`, or `file:PATH` instead of the
    text, names. It is empty if there is a problem.
    """
    if value and path:
        problems.add(
            f"{name}-file", f"is given together with `{name}`.", "one of the two"
        )
        return ""
    if path:
        name = f"{name}-file"
    elif value.startswith(_FILE):
        path = value.removeprefix(_FILE).strip()
        problems.warn(
            f"`{name}: file:PATH` is deprecated and will stop working: use `{name}-file: {path}`."
        )
    else:
        if is_existing_file(value.removeprefix("@"), workspace.root):
            what = (
                "is the path of a file in the workspace, and would be sent as the text."
            )
            problems.add(
                name, what, f"`{name}-file` with that path, or the text itself"
            )
        return value
    content = problems.collect(lambda: _content(workspace, name, path, limit))
    if content is None:
        return ""
    try:
        return content.decode()
    except UnicodeDecodeError:
        problems.add(name, f"{printable(path)} is not UTF-8.", "text in UTF-8")
        return ""


# File types that Gmail lets nobody send or receive (Gmail Help, "File types blocked in Gmail"),
# as far as builds make them.
_BLOCKED = (
    *(
        ".apk",
        ".appx",
        ".appxbundle",
        ".bat",
        ".cab",
        ".cmd",
        ".com",
        ".dll",
        ".dmg",
        ".exe",
    ),
    *(
        ".img",
        ".iso",
        ".jar",
        ".js",
        ".lib",
        ".mjs",
        ".msi",
        ".msix",
        ".msixbundle",
        ".ps1",
    ),
    *(".scr", ".sys", ".vbs"),
)


def _attachments(
    files: Artifacts, problems: Problems, limit: int
) -> tuple[Attachment, ...]:
    """Return the files as attachments. No file is read after one that has a problem."""
    problems_before = len(problems)
    # Checked before anything is read: the files may not fit in memory.
    size = sum(file.size or 0 for file in files)
    size_in_base64 = size * 4 // 3  # without line ends
    if size_in_base64 > limit:
        verb = "takes" if len(files) == 1 else "take"
        what = f"{plural(len(files), 'file')} {verb} at least"
        problems.extend([_too_large("files", what, size_in_base64, limit)])
    attachments: list[Attachment] = []
    blocked: list[str] = []
    for file in files:
        if file.size is None:
            problems.add(
                "files", f"{file.name} is a stream; an attachment has to be a file."
            )
        name = PurePosixPath(file.name).name
        if not name.isprintable() or has_control(name):
            problems.add(
                "files", f"{file.name!r} contains a control character in its name."
            )
        if len(problems) == problems_before:
            attachments.append(_attachment(name, file))
        if file.name.lower().endswith(_BLOCKED):
            blocked.append(file.name)
    if blocked:
        problems.warn(
            f"Gmail blocks {', '.join(blocked)}: mails with such files are not delivered. Mail a "
            "link to it instead (internal app sharing, Drive, Cloud Storage)."
        )
    return tuple(attachments)


def _attachment(name: str, file: Artifact) -> Attachment:
    """Read a file as the attachment of this name."""
    media_type = media_types.kinds(file)[0]
    if media_type.startswith(("message/", "multipart/")):
        # RFC 2046, section 5.2.1: such parts can't be base64
        media_type = media_types.OCTETS
    return name, media_type, media_types.head(file, file.size or 0)


def compose(
    people: People,
    subject: str,
    identity: MessageIdentity,
    text: str,
    html: str,
    attachments: Iterable[Attachment],
) -> bytes:
    """Return the message as it is sent, with CRLF line ends.

    Bcc stays in: Gmail delivers by it and removes it. Empty text or HTML is left out. Raises
    InputError if the subject can't be written without changing it.
    """
    subject = decode_words(subject)
    changed = Problem(
        "mail-subject",
        "can't be written into a message without changing it.",
        "plain text",
    )
    if decode_words(subject) != subject:  # the library would decode it once more
        raise InputError(changed)
    message = EmailMessage(policy=_POLICY)
    try:
        _set_headers(message, people, subject, identity)
        _set_content(message, text, html, attachments)
        multiparts = [part for part in message.walk() if part.is_multipart()]
        for number, part in enumerate(multiparts):
            part.set_boundary(f"=_{identity.token}_{number}")
        return message.as_bytes()
    except _UNREADABLE:  # what newer versions of the library refuse to write themselves
        raise InputError(changed) from None


def _set_headers(
    message: EmailMessage,
    people: People,
    subject: str,
    identity: MessageIdentity,
) -> None:
    """Write the headers; those without a value are left out."""
    domain = "uploader.invalid"
    sender = people.get("From")
    if sender:
        domain = sender[0].domain
    headers: dict[str, str | tuple[Address, ...]] = {
        **people,
        "Subject": subject,
        "Date": format_datetime(identity.date),
        "Message-ID": f"<{identity.token}@{domain}>",
    }
    for name, value in headers.items():
        if value:
            message[name] = value


def _set_content(
    message: EmailMessage,
    text: str,
    html: str,
    attachments: Iterable[Attachment],
) -> None:
    """Write the text, the HTML or both as alternatives, and after them the attachments."""
    if html and not text:
        message.set_content(html, subtype="html")
    else:
        message.set_content(text, subtype="plain")
        if html:
            message.add_alternative(html, subtype="html")
    for name, media_type, content in attachments:
        maintype, _, subtype = media_type.partition("/")
        message.add_attachment(
            content,
            maintype=maintype,
            subtype=subtype,
            filename=name,
        )


def check_message(raw: bytes, *, to_send: bool) -> tuple[bytes, int]:
    """Return a given message with CRLF at the end of every line, as RFC 5322 requires, and the
    number of its recipients.

    `to_send` requires a recipient. Raises ValueError with everything that is wrong, each as the
    rest of a sentence.
    """
    _check_head(raw)
    lines = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    message = lines.replace(b"\n", b"\r\n")
    faults: list[str] = []
    recipients = 0
    try:
        # the old policy, which leaves hostile values alone
        headers = BytesHeaderParser().parsebytes(message)
        texts: list[str] = []
        for name in _RECIPIENTS:
            texts += map(str, headers.get_all(name, []))
        recipients = len(getaddresses(texts))
        faults += _header_faults(headers, to_send=to_send)
        fault = _fault_of_value(headers)
        if fault:
            faults.append(fault)
        elif not _has_boundary(headers, message):
            faults.append("is multipart, but its boundary does not occur in it.")
    except RecursionError:
        # the standard library follows each comment into the next one
        faults.append("has comments or addresses that are nested too deeply.")
    except _UNREADABLE:
        faults.append("has a header that can't be read.")
    if faults:
        raise ValueError(*faults)
    return message, recipients


def _check_head(raw: bytes) -> None:
    """Raise ValueError unless a message begins with headers that can be parsed at all."""
    head = raw
    end = re.search(rb"\r?\n\r?\n", raw)
    if end:
        head = raw[: end.start()]
    if head.startswith(b"From "):
        raise ValueError(
            "begins with a `From ` line: it is a mailbox file, not a single message."
        )
    if re.search(rb"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", head):
        raise ValueError(
            "has a bare carriage return, a NUL or another control character in its headers."
        )
    if len(head) > _MAX_HEADERS:
        raise ValueError(
            f"has {len(head):,} bytes of headers; Gmail accepts at most {_MAX_HEADERS:,}."
        )


def _header_faults(headers: Message, *, to_send: bool) -> Iterator[str]:
    """Yield what is wrong with the headers of the message itself."""
    names = [name.lower() for name in headers]
    for name in _ONCE:
        count = names.count(name)
        if count > 1:
            yield f"has {count} {name} headers."
    is_mail = not _MAIL_HEADERS.isdisjoint(names)
    if not is_mail or _has_defects(headers):
        yield "is not a message: its headers can't be read."
    recipients = [str(headers.get(name, "")) for name in _RECIPIENTS]
    has_recipient = any("@" in recipient for recipient in recipients)
    if to_send and not has_recipient:
        yield "has no recipient in To, Cc or Bcc."


def _has_boundary(headers: Message, message: bytes) -> bool:
    """Return whether the parts of a multipart message can be found; True for any other message."""
    if headers.get_content_maintype() != "multipart":
        return True
    boundary = headers.get_boundary()
    if boundary is None:
        return False
    return b"\r\n--" + boundary.encode("ascii", "replace") in message


def _fault_of_value(headers: Message) -> str:
    """Return which header is too long or hides a control character, as the end of a sentence;
    empty if there is none.
    """
    for name, value in headers.items():
        has_parameters = name.lower() in _STRUCTURE
        if has_parameters and len(str(value)) > _MAX_STRUCTURE:
            return f"has a {name} header of more than {_MAX_STRUCTURE:,} bytes."
        values = [value]
        if has_parameters:
            # a file's name is one of them, put together and decoded as RFC 2231 says
            for _, parameter in headers.get_params([], name):
                values.append(collapse_rfc2231_value(parameter))
        for text in values:
            if has_control(_FOLD.sub(" ", str(text))):
                return f"has a control character in its {name} header."
    return ""


def _has_defects(headers: Message) -> bool:
    """Return whether headers have a defect. The one that Python 3.10 finds in every multipart
    message without parts does not count.
    """
    return any(
        not isinstance(defect, MultipartInvariantViolationDefect)
        for defect in headers.defects
    )


def decode_words(text: str) -> str:
    """Return the text with its RFC 2047 encoded words decoded, or as it is if one of them can't
    be.
    """
    try:
        return str(make_header(decode_header(text)))
    except _UNREADABLE:
        return text


def has_control(text: str) -> bool:
    """Return whether a header with this text would have a control character, as it is or after a
    reader has decoded it.
    """
    for _ in range(2):  # encoded words may stand within encoded words
        if _CONTROL.search(text) or "=?" not in text:
            break
        text = decode_words(text)
    return bool(_CONTROL.search(text))
