r"""One function for each parser of foreign bytes: any input at all, and the laws that its result
must keep.

A target raises nothing but AssertionError, and that is a finding. The first bytes of an input
choose between variants, so that a corpus of plain files stays readable: `200\nX-Goog-Upload-Status:
active\n\n{}` is an answer.
"""

from __future__ import annotations

import base64
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from email.headerregistry import Address
from io import BytesIO

from google_emulator.specimens import signature_writer
from tests.fuzz import offline_targets
from tests.support import served_specimens
from uploader import inputs, retry
from uploader.errors import InputError, Problems
from uploader.files.android import (
    compiled_xml,
    listing,
    manifest,
    map_ids,
    served,
    served_manifest,
    served_table,
    signatures,
)
from uploader.files.android.archive import Archive, MalformedFile
from uploader.files.android.code_transparency import (
    InvalidTransparency,
    read_transparency,
)
from uploader.files.android.compiled_xml import NotComparable, NotCompiledXml
from uploader.files.android.limits import MAX_RELEASE_NOTES
from uploader.files.android.manifest_rules import Role
from uploader.files.android.notes import (
    DEFAULT_LANGUAGE,
    inline_notes,
    is_language_name,
)
from uploader.files.android.resource_table import BinaryTable, Layouts
from uploader.files.android.resource_values import (
    ENCODED_SIZE,
    UnreadableTable,
    describe,
)
from uploader.files.android.served_table import BuiltTable
from uploader.files.artifacts import Artifact
from uploader.hosts import trusted
from uploader.http.headers import Headers
from uploader.http.messages import Response, Span
from uploader.inputs.parsers import InvalidValue
from uploader.inputs.records import MailInputs, TransferInputs
from uploader.protocol import content_range, goog_upload, google_error, stated_digests
from uploader.protocol.media import Media
from uploader.protocol.session import (
    TRANSITIONS,
    Event,
    Move,
    QueryOffset,
    Send,
    Session,
    Start,
    Started,
    Stored,
)
from uploader.redaction import Redactor
from uploader.services import any_method, batch, catalogue, gmail, mail_message
from uploader.upload.resumable import absolute

SIZE = 600_000  # bytes of the file that the answers are about
ENDPOINT = "https://things.googleapis.com/upload/things"
MOVES: tuple[Move, ...] = (
    Start(),
    Send(Span(0, 262_144), final=False),
    Send(Span(262_144, SIZE), final=True),
    QueryOffset(),
)
SECRET = "hunter2-and-more"  # nobody's: what the redactor is given to hide
DECEPTIVE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b-\u200f\ud800-\udfff]"
)


def responses(data: bytes) -> None:
    """An answer of a server, to every move in both dialects, and everything that is read out of
    it.
    """
    response = _response(data)
    error = google_error.read(response)
    assert len(error.message) <= 2000
    wait = retry.retry_after(response, 1_800_000_000.0)
    assert wait is None or 0 <= wait <= retry.MAX_RETRY_AFTER
    for claim in stated_digests.claims(response.json() or {}, response.headers):
        assert claim.value
    for dialect in (content_range, goog_upload):
        for empty in (False, True):
            media = Media("POST", ENDPOINT, (), "text/plain", SIZE, None, empty)
            for move in MOVES:
                _followed(move, dialect.event(move, response, media))


def _response(data: bytes) -> Response:
    """`status`, header lines, an empty line, the body; whatever is missing is empty."""
    head, _, body = data.partition(b"\n\n")
    first, *lines = head.decode("latin-1").split("\n")
    status = int(first) if re.fullmatch("[0-9]{1,3}", first) else len(first) % 600
    pairs = [
        (name, value) for name, _, value in (line.partition(":") for line in lines)
    ]
    return Response(status, Headers(pairs), body, sent_whole=len(data) % 5 != 0)


def _followed(move: Move, event: Event) -> None:
    """The session machine takes every event that a dialect makes of an answer, and stays within its
    laws.
    """
    session = (
        Session(SIZE)
        if isinstance(move, Start)
        else Session(SIZE).resume(ENDPOINT + "?upload_id=x", 262_144)
    )
    if isinstance(move, Send):
        session = replace(session.after(Stored(move.span.start)), sent=move.span.stop)
    assert type(event) in TRANSITIONS[session.state]
    if isinstance(event, Started):
        uri = absolute(event.uri, ENDPOINT)
        assert not trusted(uri, ENDPOINT) or re.match(
            r"https://([a-z0-9-]+\.)*googleapis\.com(:(443)?)?(?=[/?#]|$)",
            uri,
            re.IGNORECASE,
        )
    after = session.after(event)
    assert 0 <= after.offset <= SIZE
    following = None if after.over else after.next_move()
    assert not isinstance(following, Send) or following.span.start == after.offset


def artifact(data: bytes) -> None:
    """A file that calls itself an APK or a bundle."""
    with suppress(InputError):
        found = manifest.read_manifest(BytesIO(data), "app.apk")
        assert re.fullmatch(r"[\w.]+", found.package, re.ASCII)
        assert 0 <= found.version_code < 1 << 64


def binary_manifest(data: bytes) -> None:
    """Android's binary XML."""
    with suppress(MalformedFile):
        list(manifest.binary_elements(data))


def proto_manifest(data: bytes) -> None:
    """The manifest of a bundle, in protobuf."""
    with suppress(MalformedFile):
        list(manifest.proto_elements(data))


def compiled_xml_documents(data: bytes) -> None:
    """Compiled XML in both encodings, to the end of the document."""
    for decode in (compiled_xml.binary_events, compiled_xml.proto_events):
        with suppress(NotCompiledXml, NotComparable):
            root = compiled_xml.tree(decode(data))
            assert len(compiled_xml.digest(decode(data))) == 32
            configuration = Role("configuration", "config.de", app={"base": root})
            served_manifest.compare_configuration(root, configuration)
            app = {"base": root, "feature": root}
            whole = Role(
                "standalone",
                modules=("base", "feature"),
                app=app,
                bundletool=(1, 18, 0),
            )
            served_manifest.compare_module(root, whole, has_code=True)


def resource_tables(data: bytes) -> None:
    """A resource table in either encoding, whose values are compared with themselves, too."""
    with suppress(UnreadableTable):
        for value in BinaryTable(data, Layouts(sparse=True, compact=True)).values():
            assert len(value.value) == ENCODED_SIZE
            assert describe(value.configuration)
    with suppress(UnreadableTable):
        table = BuiltTable(data)
        marks = bytearray(len(table))
        given = served_table.Given((), has_configurations=False, is_whole=True)
        lacking = served_table.lacking_values(table, marks, given)
        assert lacking.missing_count + lacking.not_given == len(table)


def served_apk(data: bytes) -> None:
    """An APK that is compared with a bundle, or behind a line break a bundle with an APK."""
    bundle = data[1:] if data.startswith(b"\n") else served_specimens.BUNDLE.data
    apk = served_specimens.APK.data if data.startswith(b"\n") else data
    files = [
        served_specimens.File("app.aab", bundle),
        served_specimens.File("app.apk", apk),
    ]
    with suppress(InputError):
        verdict = served.compare(files[0], files[1:])
        assert (
            verdict.served != "same"
            or apk == served_specimens.APK.data
            or verdict.apks[0].same
        )


def transparency(data: bytes) -> None:
    """A code transparency file, which nobody but its signer can have made."""
    with suppress(InvalidTransparency):
        read_transparency(data)


def image(data: bytes) -> None:
    """A file that calls itself an image of the listing."""
    dimensions = listing.dimensions(data)
    assert dimensions is None or min(dimensions) >= 0


def archive(data: bytes) -> None:
    """A zip of any kind, whose directory is read: names, and every number a claim."""
    with suppress(MalformedFile):
        found = Archive(BytesIO(data), lambda _: True)
        for name in found.members:
            with suppress(MalformedFile):
                assert len(found.read(name)) == found.members[name].file_size


def signed(data: bytes) -> None:
    """The block of a JAR signature, or behind a line break the value of a scheme in an APK Signing
    Block.
    """
    scheme = data.startswith(b"\n")
    block = [("META-INF/A.SF", b""), ("META-INF/A.RSA", b"" if scheme else data)]
    found = Archive(
        _zip(block, scheme_value=data[1:] if scheme else None), lambda _: True
    )
    for one in signatures.signers(found, apk=scheme):
        assert re.fullmatch("[0-9a-f]{64}", one.sha256)


def libraries(data: bytes) -> None:
    """A native library in an APK, and the configuration of a bundle that has one."""
    alignment = manifest.segment_alignment(data)
    assert alignment is None or 0 <= alignment < 1 << 64
    entries = [("lib/x86_64/a.so", data), ("BundleConfig.pb", data)]
    with suppress(MalformedFile):
        found = Archive(_zip(entries), lambda _: True)
        assert manifest.native_code(found, apk=True).abis == ("x86_64",)
        manifest.native_code(found, apk=False)


def _zip(
    entries: list[tuple[str, bytes]], scheme_value: bytes | None = None
) -> BytesIO:
    """A zip; with an APK Signing Block that has this value of the scheme v2, if it is given."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as writer:
        for name, content in entries:
            writer.writestr(name, content)
    whole = made.getvalue()
    if scheme_value is not None:
        whole = signature_writer.with_signing_block(
            whole, (signature_writer.V2, scheme_value)
        )
    return BytesIO(whole)


def map_id(data: bytes) -> None:
    """The beginning of a mapping, and a zip with dex files: ids that are short words, the same from
    either half.
    """
    for found in (
        map_ids.ids_of_mapping(data),
        map_ids.ids_of_mapping(data.replace(b"\n", b"\r\n")),
    ):
        assert all(re.fullmatch(r"[\w-]{1,128}", each, re.ASCII) for each in found)
    with suppress(InputError):
        dex = map_ids.ids_of_artifact(Artifact("a.apk", "a.apk", len(data), data=data))
        assert all(re.fullmatch(r"[\w-]{1,128}", each, re.ASCII) for each in dex)
        assert map_ids.same_build(dex, dex)


def release_notes(data: bytes) -> None:
    """Release notes in an input: texts that Play takes, each for a language or for the app's
    own.
    """
    problems = Problems()
    notes = inline_notes(data.decode("utf-8", "replace"), problems)
    if not problems:
        assert all(1 <= len(text) <= MAX_RELEASE_NOTES for text in notes.values())
        assert all(
            language == DEFAULT_LANGUAGE or is_language_name(language)
            for language in notes
        )
        assert all(map(str.strip, problems.warnings))


def mail(data: bytes) -> None:
    """A mail composed of any text: what comes out says what was asked, in no header but those that
    were composed.
    """
    subject, name, text, *_ = (*data.decode("utf-8", "replace").split("\n", 2), "", "")
    if mail_message.has_control(subject) or mail_message.has_control(name):
        return
    attached = [(name, "text/plain", data)] if name else []
    people = {"To": (Address("Ann", addr_spec="ann@example.com"),)}
    stamp = mail_message.MessageIdentity(
        datetime(2026, 1, 1, tzinfo=timezone.utc), "0" * 32
    )
    with suppress(InputError):
        composed = mail_message.compose(
            people, subject, stamp, text, "", attachments=attached
        )
        head = composed.split(b"\r\n\r\n", 1)[0].lower()
        assert b"\nbcc" not in head
        assert head.count(b"\nto:") + head.startswith(b"to:") == 1


def environment(data: bytes) -> None:
    """Inputs: lines `name=value`, as GitHub and as GitLab pass them. Nothing is raised, every
    mistake has words.
    """
    text = data.decode("utf-8", "surrogateescape").replace("\x00", "")
    pairs = [line.partition("=") for line in text.split("\n")]
    environ = {f"INPUT_{name.upper()}": value for name, _, value in pairs if name}
    environ |= {
        f"UPLOADER_{name.upper()}": value for name, _, value in pairs[1::2] if name
    }
    environ |= {
        "GITHUB_ACTIONS": "true",
        "CI_NODE_INDEX": pairs[0][2],
        "CI_NODE_TOTAL": pairs[-1][2],
    }
    for unwanted in ("INPUT_ENV-FILE", "UPLOADER_ENV_FILE", "INPUT_ENV_FILE"):
        environ.pop(unwanted, None)
    asked, problems = inputs.read(
        environ, [name for name, _, _ in pairs[:2] if not name.startswith("--env")]
    )
    assert all(problem.name and problem.what for problem in problems)
    assert asked.record(TransferInputs).max_retries >= 0


def fields(data: bytes) -> None:
    """Single values that have a grammar: addresses, maps in YAML and JSON, values in paths, whole
    messages.
    """
    text = data.decode("utf-8", "replace")
    with suppress(InputError):
        assert isinstance(any_method.read_params(text), dict)
    assert isinstance(batch.read_metadata(text, Problems()), dict)
    for spec in inputs.SPECS:
        with suppress(InvalidValue):
            spec.parser(text)
    with suppress(ValueError):
        for address in mail_message.addresses(text):
            assert "\n" not in str(address)
            assert "\r" not in str(address)
    with suppress(ValueError):
        mail_message.check_message(data, to_send=True)
    for metadata in (
        text,
        json.dumps({"raw": text}),
        json.dumps({"raw": base64.b64encode(data).decode()}),
    ):
        with suppress(InputError):
            gmail.read_resource(MailInputs(metadata=metadata), mail=False)
    for template in ("a/{x}/b", "a/{+x}"):
        if not catalogue.objection(template, "x", text):
            path = catalogue.expand(template, {"x": text})
            assert path.isascii()
            assert not re.search(r"[\s?#]|(^|/)\.\.?(/|$)", path)


def shown(data: bytes) -> None:
    """Text for people: the secret is gone, nothing deceives, and cleaning what is clean changes
    nothing.
    """
    text = data.decode("utf-8", "surrogateescape")
    redactor = Redactor([SECRET])
    for clean in (redactor.clean, redactor.one_line):
        seen = clean(text)
        assert SECRET not in seen
        assert not DECEPTIVE.search(seen)
        seen.encode()
    assert "\n" not in redactor.one_line(text)
    with suppress(ValueError, RecursionError):
        redactor.hide(json.dumps(json.loads(text)))


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        responses,
        artifact,
        compiled_xml_documents,
        resource_tables,
        served_apk,
        transparency,
        binary_manifest,
        proto_manifest,
        signed,
        libraries,
        image,
        archive,
        map_id,
        release_notes,
        mail,
        environment,
        fields,
        shown,
        *offline_targets.TARGETS,
    )
}
