"""What a configuration's `credential_source` may name, and the token file in it, which is opened
through `Access`, as the files that inputs name are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from uploader.auth.destinations import AWS_REGION, Rules, wrong_aws, wrong_headers
from uploader.auth.web_token import decode, is_web_token
from uploader.errors import CredentialsError
from uploader.files.workspace import GCLOUD, Access, Forbidden, NotOpened, printable
from uploader.inputs.platform import Platform

AWS = "urn:ietf:params:aws:token-type:aws4_request"
SOURCES = ("file", "url", "executable", "certificate")
MAX_TOKEN = 1 << 20  # bytes; a real token has a few thousand
NEVER = (
    "is never opened, like everything in `.git`, `.ssh`, `/proc` or `/sys`, "
    "`.env*`, `gha-creds-*.json` and this run's credentials"
)
_SAML = "urn:oasis:names:tc:SAML:"
CERTIFICATES = (
    "GOOGLE_API_CERTIFICATE_CONFIG",
    "CLOUDSDK_CONTEXT_AWARE_CERTIFICATE_CONFIG_FILE_PATH",
)
_CONFIGURATION = "certificate_config.json"
GCLOUD_FOLDER = str(Path(GCLOUD).parent)
COMMANDS = (
    "the `executable` of `credential_source` is only run if the configuration is given in "
    "`credentials` or is outside the workspace: a file in it could name any command."
)
IDENTITY = (
    "the URL in `url` of `credential_source` must be https on GitHub's token service (below "
    "actions.githubusercontent.com, or on this job's own server), or the identity endpoint of "
    "Azure's or Google's metadata server; write any other token into a file in an earlier step, "
    "and name that in `file`."
)


def wrong_source(
    info: Mapping[str, Any],
    rules: Rules,
    access: Access,
    platform: Platform,
    *,
    commands: bool,
) -> Iterator[str]:
    """Yield what is wrong with the `credential_source`, an object, of a configuration.

    `commands` says whether it may name a command.
    """
    source = info["credential_source"]
    if info.get("subject_token_type") == AWS:
        yield from wrong_aws(source, rules)
        yield from _wrong_regions(platform)
        return
    names = [name for name in SOURCES if name in source]
    if len(names) != 1:
        yield (
            "the field `credential_source` must name one of `file`, `url`, `executable` and "
            "`certificate`."
        )
        return
    [name] = names
    if name == "url":
        url = source["url"]
        if not isinstance(url, str) or not rules.identity(url):
            yield IDENTITY
        yield from wrong_headers(source.get("headers"))
    elif name == "file":
        yield from _wrong_file("file", source["file"], access)
        if named_format(source) is None:
            yield (
                "the `format` of `credential_source` must be `text`, or `json` with a "
                "`subject_token_field_name`."
            )
    elif name == "executable":
        yield from _wrong_command(source["executable"], access, commands=commands)
    else:
        yield from _wrong_certificate(source["certificate"], access, platform)


def named_format(source: Mapping[str, Any]) -> str | None:
    """Return the field of the JSON that holds the token, empty if the whole text is the token; None
    for a format that is not supported.
    """
    token_format = source.get("format")
    if token_format is None:
        return ""
    if not isinstance(token_format, Mapping):
        return None
    kind = token_format.get("type", "text")
    if kind == "text":
        return ""
    field_name = token_format.get("subject_token_field_name")
    if kind == "json" and isinstance(field_name, str) and field_name:
        return field_name
    return None


def _wrong_regions(platform: Platform) -> Iterator[str]:
    """Yield a complaint for each variable that names no AWS region: it becomes a part of a host
    name.
    """
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        region = platform.google_auth.get(name, "")
        if region and not AWS_REGION.fullmatch(region):
            yield f"the variable {name} must be the name of an AWS region, such as `eu-central-1`."


def _wrong_file(name: str, path: object, access: Access) -> Iterator[str]:
    """Yield what is wrong with a file that exists; one that does not may be written before the
    login.
    """
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


def _wrong_certificate(
    certificate: object, access: Access, platform: Platform
) -> Iterator[str]:
    """Yield what is wrong with a certificate: with its trust chain, its configuration, and the two
    files that the configuration names.
    """
    if not isinstance(certificate, Mapping):
        yield "the field `certificate` of `credential_source` must be an object."
        return
    trust_chain = certificate.get("trust_chain_path")
    if trust_chain is not None:
        yield from _wrong_file("trust_chain_path", trust_chain, access)
    name = "certificate_config_location"
    path = certificate.get(name)
    if path is None:
        name, path = _default_configuration(platform)
    if isinstance(path, str):
        # as google-auth does, and without an error if there is no home
        path = os.path.expanduser(path)  # noqa: PTH111  # Path.expanduser raises there
    complaints = list(_wrong_file(name, path, access))
    if complaints:
        yield from complaints
        return
    for field_name, file in _certificate_files(Path(path), access):
        label = f"{name}`, its `{field_name}`, and so the `certificate"
        yield from _wrong_file(label, file, access)


def _default_configuration(platform: Platform) -> tuple[str, str]:
    """Return the configuration of a certificate that counts if a credential names none: the name
    that people know it by, and its path.
    """
    for variable in CERTIFICATES:
        path = platform.google_auth.get(variable)
        if path:
            return variable, path
    folder = platform.google_auth.get("CLOUDSDK_CONFIG") or GCLOUD_FOLDER
    return _CONFIGURATION, str(Path(folder) / _CONFIGURATION)


def with_named_certificate(
    source: Mapping[str, Any], platform: Platform
) -> Mapping[str, Any]:
    """Return the source with the configuration of its certificate named, so that google-auth does
    not look for another one.
    """
    certificate = source.get("certificate")
    if not isinstance(certificate, Mapping):
        return source
    if not certificate.get("use_default_certificate_config"):
        return source
    named = dict(certificate)
    del named["use_default_certificate_config"]
    if "certificate_config_location" not in named:
        _, path = _default_configuration(platform)
        named["certificate_config_location"] = path
    return {**source, "certificate": named}


def _certificate_files(path: Path, access: Access) -> Iterator[tuple[str, object]]:
    """Yield the certificate and the key that a certificate configuration names, each with its
    field; none if the configuration can't be read.
    """
    try:
        with access.open(path) as file:
            configuration = json.loads(file.read(MAX_TOKEN))
        workload = configuration["cert_configs"]["workload"]
        files = [(name, workload[name]) for name in ("cert_path", "key_path")]
    except (NotOpened, OSError, ValueError, LookupError, TypeError, RecursionError):
        return  # google-auth says what is missing
    yield from files


class TokenFile:
    """The token in a file, read again for each exchange: Kubernetes replaces its file every hour or
    so.

    It is what google-auth calls a SubjectTokenSupplier, without the module of that class, which
    takes long to import.
    """

    def __init__(self, source: Mapping[str, Any], access: Access) -> None:
        self._path = str(source["file"])
        self._field = named_format(source) or ""
        self._access = access

    def get_subject_token(
        self,
        context: Any,  # noqa: ARG002  # google-auth's signature
        request: Any,  # noqa: ARG002  # the same
    ) -> str:
        """Return the token as it is now. Raises CredentialsError if the file may not be read or
        holds none.
        """
        try:
            with self._access.open(Path(self._path)) as file:
                content = file.read(MAX_TOKEN + 1)
        except Forbidden:
            raise self._failure(NEVER) from None
        except NotOpened as refusal:
            raise self._failure(str(refusal)) from None
        except OSError:
            raise self._failure("can't be read") from None
        if len(content) > MAX_TOKEN:
            raise self._failure("is larger than 1 MiB, too large for a token")
        token = self._token_in(content)
        if not isinstance(token, str) or not (is_web_token(token) or _is_saml(token)):
            raise self._failure(
                "contains no token in the `format` that `credential_source` says: neither a JSON "
                "Web Token (three parts with dots between them) nor a SAML assertion"
            )
        return token

    def _token_in(self, content: bytes) -> object:
        """Return the value at the token's place in the file; empty if there is none."""
        try:
            text = content.decode("utf-8").strip()
            if self._field:
                return json.loads(text)[self._field]
        except (ValueError, LookupError, TypeError, RecursionError):
            return ""
        return text

    def _failure(self, why: str) -> CredentialsError:
        return CredentialsError(
            f"There is no token to log in with: the file `{printable(self._path)}` {why}.",
            cause="The `file` of `credential_source` names a file that this job does not have, or "
            "may not read.",
            hint="Check `credential_source`, and that its file is written before this step.",
            code="no-token-source",
        )


def _is_saml(text: str) -> bool:
    """Return whether the text is an assertion or a response of SAML 2.0, as XML or in base64."""
    try:
        xml = text if text.startswith("<") else decode(text).decode("utf-8")
    except ValueError:
        return False
    return xml.lstrip().startswith("<") and _SAML in xml
