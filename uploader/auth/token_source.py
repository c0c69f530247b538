"""What a configuration's `credential_source` may name, and the token file in it, opened by the
program's own door.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from google.auth.identity_pool import SubjectTokenSupplier

from uploader.auth.destinations import AWS_REGION, Rules, wrong_aws, wrong_headers
from uploader.errors import CredentialsError
from uploader.files.workspace import GCLOUD, Access, Forbidden, NotOpened, printable
from uploader.inputs.platform import Platform

AWS = "urn:ietf:params:aws:token-type:aws4_request"
SOURCES = ("file", "url", "executable", "certificate")
MAX_TOKEN = 1 << 20  # bytes; a real token has a few thousand
NEVER = (
    "is never opened: nothing in `.git`, `.ssh`, `/proc` or `/sys`, no `.env*` or "
    "`gha-creds-*.json`, and no credential of this run is"
)
_WEB_TOKEN = re.compile(r"([\w-]+)\.[\w-]+\.[\w-]*", re.ASCII)
_SAML = "urn:oasis:names:tc:SAML:"
CERTIFICATES = (
    "GOOGLE_API_CERTIFICATE_CONFIG",
    "CLOUDSDK_CONTEXT_AWARE_CERTIFICATE_CONFIG_FILE_PATH",
)
_CONFIGURATION = "certificate_config.json"
GCLOUD_FOLDER = str(Path(GCLOUD).parent)
COMMANDS = (
    "the `executable` of `credential_source` is only run where the configuration is given in "
    "`credentials`, or lies outside the workspace: a file in it could name any command."
)
IDENTITY = (
    "the URL in `url` of `credential_source` must be https on GitHub's token service (below "
    "actions.githubusercontent.com, or on this job's own server), or the identity endpoint of "
    "Azure's or Google's metadata server; write any other token into a file in an earlier step, "
    "and name that in `file`."
)


def wrong_source(
    info: Mapping[str, Any], rules: Rules, access: Access, platform: Platform, *, commands: bool
) -> Iterator[str]:
    """What is wrong with the `credential_source`, an object, of a configuration; `commands` may be
    run or not.
    """
    source = info["credential_source"]
    if info.get("subject_token_type") == AWS:
        yield from wrong_aws(source, rules)
        yield from _wrong_regions(platform)
        return
    named = [name for name in SOURCES if name in source]
    if len(named) != 1:
        yield (
            "the field `credential_source` must name one of `file`, `url`, `executable` and "
            "`certificate`."
        )
        return
    if named == ["url"]:
        url = source["url"]
        if not (isinstance(url, str) and rules.identity(url)):
            yield IDENTITY
        yield from wrong_headers(source.get("headers"))
    elif named == ["file"]:
        yield from _wrong_file("file", source["file"], access)
        if named_format(source) is None:
            yield (
                "the `format` of `credential_source` must be `text`, or `json` with a "
                "`subject_token_field_name`."
            )
    elif named == ["executable"]:
        yield from _wrong_command(source["executable"], access, commands=commands)
    else:
        yield from _wrong_certificate(source["certificate"], access, platform)


def named_format(source: Mapping[str, Any]) -> str | None:
    """The field of the JSON that holds the token, empty where the whole text is it; None for
    anything else.
    """
    wanted = source.get("format")
    if wanted is None:
        return ""
    if not isinstance(wanted, Mapping):
        return None
    kind, name = wanted.get("type", "text"), wanted.get("subject_token_field_name")
    if kind == "text":
        return ""
    return name if kind == "json" and isinstance(name, str) and name else None


def _wrong_regions(platform: Platform) -> Iterator[str]:
    """A region becomes a part of a host name, so only what looks like one is taken."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        region = platform.google_auth.get(name, "")
        if region and not AWS_REGION.fullmatch(region):
            yield f"the variable {name} must be the name of an AWS region, such as `eu-central-1`."


def _wrong_file(name: str, path: object, access: Access) -> Iterator[str]:
    """What is wrong with a file that is there; one that is not may come before the login does."""
    if not isinstance(path, str) or not path or not path.isprintable():
        yield f"the `{name}` of `credential_source` must be the path of a file."
        return
    try:
        access.open(Path(path)).close()
    except Forbidden:
        yield f"the `{name}` of `credential_source` {NEVER}."
    except NotOpened as refusal:
        if Path(path).exists():
            yield f"the `{name}` of `credential_source` {refusal}."


def _wrong_command(command: object, access: Access, *, commands: bool) -> Iterator[str]:
    if not commands:
        yield COMMANDS
    if not isinstance(command, Mapping) or not isinstance(command.get("command"), str):
        yield "the field `executable` of `credential_source` must be an object with a `command`."
    elif command.get("output_file") is not None:
        yield from _wrong_file("output_file", command["output_file"], access)


def _wrong_certificate(certificate: object, access: Access, platform: Platform) -> Iterator[str]:
    """The configuration of the certificate names two more files, held to the same rules."""
    if not isinstance(certificate, Mapping):
        yield "the field `certificate` of `credential_source` must be an object."
        return
    if certificate.get("trust_chain_path") is not None:
        yield from _wrong_file("trust_chain_path", certificate["trust_chain_path"], access)
    name, path = "certificate_config_location", certificate.get("certificate_config_location")
    if path is None:
        name, path = _default_configuration(platform)
    if isinstance(path, str):
        path = os.path.expanduser(path)  # noqa: PTH111  # as google-auth does, and without an error where there is no home
    complaints = list(_wrong_file(name, path, access))
    yield from complaints
    if complaints:
        return
    for field_name, file in _certificate_files(Path(path), access):
        yield from _wrong_file(
            f"{name}`, its `{field_name}`, and so the `certificate", file, access
        )


def _default_configuration(platform: Platform) -> tuple[str, str]:
    """Which configuration of a certificate counts where a credential names none, and by which name
    people know it.
    """
    for variable in CERTIFICATES:
        if path := platform.google_auth.get(variable):
            return variable, path
    folder = platform.google_auth.get("CLOUDSDK_CONFIG")
    return _CONFIGURATION, str(Path(folder or GCLOUD_FOLDER) / _CONFIGURATION)


def with_named_certificate(source: Mapping[str, Any], platform: Platform) -> Mapping[str, Any]:
    """The source with the configuration of its certificate named, so that google-auth looks for
    none by itself.
    """
    certificate = source.get("certificate")
    if not isinstance(certificate, Mapping) or not certificate.get(
        "use_default_certificate_config"
    ):
        return source
    named = {
        name: value
        for name, value in certificate.items()
        if name != "use_default_certificate_config"
    }
    named.setdefault("certificate_config_location", _default_configuration(platform)[1])
    return {**source, "certificate": named}


def _certificate_files(path: Path, access: Access) -> Iterator[tuple[str, object]]:
    """The certificate and the key that a certificate configuration names; none where it is not
    there.
    """
    try:
        with access.open(path) as file:
            workload = json.loads(file.read(MAX_TOKEN))["cert_configs"]["workload"]
        files = [(name, workload[name]) for name in ("cert_path", "key_path")]
    except (NotOpened, OSError, ValueError, LookupError, TypeError, RecursionError):
        return  # google-auth says what is missing
    yield from files


class TokenFile(SubjectTokenSupplier):
    """The token in a file, read anew for each exchange: Kubernetes replaces its file every hour or
    so.
    """

    def __init__(self, source: Mapping[str, Any], access: Access) -> None:
        self._path = str(source["file"])
        self._field = named_format(source) or ""
        self._access = access

    def get_subject_token(self, context: Any, request: Any) -> str:  # noqa: ARG002  # google-auth's signature
        """The token as it is now. Raises CredentialsError where the file may not be read or holds
        none.
        """
        try:
            with self._access.open(Path(self._path)) as file:
                content = file.read(MAX_TOKEN + 1)
        except Forbidden:
            raise self._failure(NEVER) from None
        except (NotOpened, OSError) as refusal:
            why = str(refusal) if isinstance(refusal, NotOpened) else "can't be read"
            raise self._failure(why) from None
        if len(content) > MAX_TOKEN:
            raise self._failure("is larger than 1 MiB, too large for a token")
        try:
            text = content.decode("utf-8").strip()
            token = json.loads(text)[self._field] if self._field else text
        except (ValueError, LookupError, TypeError, RecursionError):
            token = ""
        if not isinstance(token, str) or not (_is_web_token(token) or _is_saml(token)):
            raise self._failure(
                "holds no token in the `format` that `credential_source` says: neither a JSON Web "
                "Token (three parts with dots between them) nor a SAML assertion"
            )
        return token

    def _failure(self, why: str) -> CredentialsError:
        return CredentialsError(
            f"There is no token to log in with: the file `{printable(self._path)}` {why}.",
            cause="The `file` of `credential_source` names what this job does not have, or may not "
            "read.",
            hint="Check `credential_source`, and that its file is written before this step.",
            code="no-token-source",
        )


def _is_web_token(text: str) -> bool:
    """Whether it is a JSON Web Token (RFC 7519): its first part is an object that names the
    algorithm.
    """
    found = _WEB_TOKEN.fullmatch(text)
    if not found:
        return False
    try:
        header = json.loads(_decoded(found[1]))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and "alg" in header


def _is_saml(text: str) -> bool:
    """Whether it is an assertion or a response of SAML 2.0, as XML or in base64."""
    try:
        xml = text if text.startswith("<") else _decoded(text).decode("utf-8")
    except ValueError:
        return False
    return xml.lstrip().startswith("<") and _SAML in xml


def _decoded(text: str) -> bytes:
    """What is in base64, of either alphabet, padded or not. Raises ValueError."""
    plain = "".join(text.split()).translate(str.maketrans("-_", "+/")).rstrip("=")
    return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
