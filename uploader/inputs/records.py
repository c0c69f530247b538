"""The records: the inputs that each part of the program gets, and no others.

One record for each target, and one each for the login, the transfer, the workspace and the run. A
field that is an input has the name of the input, and takes its default from its row in `specs`; the
few other fields are facts about the run, which `Inputs` has. `CommonInputs` are a field of the
larger records; the services with a small record get them as an argument of their own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from uploader.inputs import specs
from uploader.inputs.parsers import EMULATOR, FilesByVersion, Limit
from uploader.inputs.platform import Platform
from uploader.inputs.specs import (
    ChangesInReview,
    GateAction,
    GmailAction,
    ImagesPrune,
    ImageType,
    NotesOverflow,
    NotSentForReview,
    OnVersionConflict,
    Status,
    UploadProtocol,
    WaitFor,
)

Show = Literal["", "usage", "help", "version"]

# No record has a repr that shows its values: they may hold credentials, even where none belong.


@dataclass(frozen=True, repr=False)
class CommonInputs:
    """What every target reads."""

    target: str = specs.TARGET.default_value
    files: tuple[str, ...] = specs.FILES.default_value
    dry_run: bool = specs.DRY_RUN.default_value
    upload_protocol: UploadProtocol = specs.UPLOAD_PROTOCOL.default_value
    api_endpoint: str = specs.API_ENDPOINT.default_value
    shard: tuple[int, int] | None = specs.SHARD.default_value

    @property
    def rehearsal(self) -> bool:
        """Whether the run is sent to the embedded emulator, inside this process."""
        return self.api_endpoint == EMULATOR


@dataclass(frozen=True, repr=False)
class LoginInputs:
    """What a login reads. No target gets any of its secrets."""

    target: str = specs.TARGET.default_value
    credentials: str = specs.CREDENTIALS.default_value
    workload_identity_provider: str = specs.WORKLOAD_IDENTITY_PROVIDER.default_value
    service_account: str = specs.SERVICE_ACCOUNT.default_value
    impersonate_user: str = specs.IMPERSONATE_USER.default_value
    api_endpoint: str = specs.API_ENDPOINT.default_value
    platform: Platform = Platform()

    @property
    def is_given(self) -> bool:
        """Whether the inputs name a login, so that the one of the environment is not used."""
        return bool(
            self.credentials or self.workload_identity_provider or self.service_account
        )


@dataclass(frozen=True, repr=False)
class TransferInputs:
    """How to transfer."""

    upload_protocol: UploadProtocol = specs.UPLOAD_PROTOCOL.default_value
    chunk_size: int | None = specs.CHUNK_SIZE.default_value
    concurrency: int | None = specs.CONCURRENCY.default_value
    max_retries: int = specs.MAX_RETRIES.default_value
    retry_deadline: float = specs.RETRY_DEADLINE.default_value
    stall_timeout: float = specs.STALL_TIMEOUT.default_value
    finalize_timeout: float = specs.FINALIZE_TIMEOUT.default_value
    api_endpoint: str = specs.API_ENDPOINT.default_value


@dataclass(frozen=True, repr=False)
class WorkspaceInputs:
    """Which files the run may open."""

    allow_outside_workspace: bool = specs.ALLOW_OUTSIDE_WORKSPACE.default_value
    allow_symlinks: bool = specs.ALLOW_SYMLINKS.default_value
    allow_credential_files: bool = specs.ALLOW_CREDENTIAL_FILES.default_value


@dataclass(frozen=True, repr=False)
class RunInputs:
    """What the run itself reads: where it keeps its state, and what it writes at its end.

    `lasting_state` is that of `Inputs`.
    """

    job_summary: bool = specs.JOB_SUMMARY.default_value
    state_dir: Path | None = specs.STATE_DIR.default_value
    state_key: str = specs.STATE_KEY.default_value
    lasting_state: bool = False


@dataclass(frozen=True, repr=False)
class ReleaseInputs:
    """What `play` reads; `tag` is the tag that the CI system builds, or "".

    `lasting_state` is that of `Inputs`.
    """

    common: CommonInputs = CommonInputs()
    package_name: tuple[str, ...] = specs.PACKAGE_NAME.default_value
    tracks: tuple[str, ...] = specs.TRACKS.default_value
    status: Status = specs.STATUS.default_value
    user_fraction: float | None = specs.USER_FRACTION.default_value
    release_name: str = specs.RELEASE_NAME.default_value
    whats_new: str = specs.WHATS_NEW.default_value
    whats_new_directory: str = specs.WHATS_NEW_DIRECTORY.default_value
    whats_new_overflow: NotesOverflow = specs.WHATS_NEW_OVERFLOW.default_value
    testers: tuple[str, ...] = specs.TESTERS.default_value
    in_app_update_priority: int | None = specs.IN_APP_UPDATE_PRIORITY.default_value
    mapping_file: FilesByVersion = specs.MAPPING_FILE.default_value
    debug_symbols: FilesByVersion = specs.DEBUG_SYMBOLS.default_value
    expansion_file_main: str = specs.EXPANSION_FILE_MAIN.default_value
    expansion_file_patch: str = specs.EXPANSION_FILE_PATCH.default_value
    images_directory: str = specs.IMAGES_DIRECTORY.default_value
    images_prune: ImagesPrune = specs.IMAGES_PRUNE.default_value
    version_codes_to_retain: tuple[str, ...] = (
        specs.VERSION_CODES_TO_RETAIN.default_value
    )
    countries: tuple[str, ...] = specs.COUNTRIES.default_value
    promote_from: str = specs.PROMOTE_FROM.default_value
    promote_version_codes: tuple[str, ...] = specs.PROMOTE_VERSION_CODES.default_value
    create_tracks: bool = specs.CREATE_TRACKS.default_value
    replace_rollout: bool = specs.REPLACE_ROLLOUT.default_value
    on_version_conflict: OnVersionConflict = specs.ON_VERSION_CONFLICT.default_value
    existing_edit_id: str = specs.EXISTING_EDIT_ID.default_value
    commit: bool = specs.COMMIT.default_value
    changes_not_sent_for_review: NotSentForReview = (
        specs.CHANGES_NOT_SENT_FOR_REVIEW.default_value
    )
    changes_in_review: ChangesInReview = specs.CHANGES_IN_REVIEW.default_value
    expected_certificate: str = specs.EXPECTED_CERTIFICATE.default_value
    wait_for: WaitFor = specs.WAIT_FOR.default_value
    wait_deadline: float = specs.WAIT_DEADLINE.default_value
    universal_apk: str = specs.UNIVERSAL_APK.default_value
    verify: bool = specs.VERIFY.default_value
    require_unprotected: bool = specs.REQUIRE_UNPROTECTED.default_value
    tag: str = ""
    lasting_state: bool = False


@dataclass(frozen=True, repr=False)
class StatusInputs:
    """What `play-status` reads. Of `status` it only refuses `draft` together with `wait_for`."""

    common: CommonInputs = CommonInputs()
    package_name: tuple[str, ...] = specs.PACKAGE_NAME.default_value
    tracks: tuple[str, ...] = specs.TRACKS.default_value
    status: Status = specs.STATUS.default_value
    existing_edit_id: str = specs.EXISTING_EDIT_ID.default_value
    wait_for: WaitFor = specs.WAIT_FOR.default_value
    wait_deadline: float = specs.WAIT_DEADLINE.default_value
    universal_apk: str = specs.UNIVERSAL_APK.default_value


@dataclass(frozen=True, repr=False)
class RolloutInputs:
    """What `play-rollout` reads. It refuses `status`, `user_fraction` and `wait_for`.

    `lasting_state` is that of `Inputs`.
    """

    common: CommonInputs = CommonInputs()
    package_name: tuple[str, ...] = specs.PACKAGE_NAME.default_value
    tracks: tuple[str, ...] = specs.TRACKS.default_value
    status: Status = specs.STATUS.default_value
    user_fraction: float | None = specs.USER_FRACTION.default_value
    existing_edit_id: str = specs.EXISTING_EDIT_ID.default_value
    commit: bool = specs.COMMIT.default_value
    changes_not_sent_for_review: NotSentForReview = (
        specs.CHANGES_NOT_SENT_FOR_REVIEW.default_value
    )
    changes_in_review: ChangesInReview = specs.CHANGES_IN_REVIEW.default_value
    wait_for: WaitFor = specs.WAIT_FOR.default_value
    rollout_steps: tuple[float, ...] = specs.ROLLOUT_STEPS.default_value
    halt_above: tuple[Limit, ...] = specs.HALT_ABOVE.default_value
    gate: GateAction = specs.GATE.default_value
    gate_min_users: int = specs.GATE_MIN_USERS.default_value
    gate_period: int = specs.GATE_PERIOD.default_value
    gate_max_age: float = specs.GATE_MAX_AGE.default_value
    lasting_state: bool = False


@dataclass(frozen=True, repr=False)
class ListingPullInputs:
    """What `play-listing-pull` reads."""

    common: CommonInputs = CommonInputs()
    package_name: tuple[str, ...] = specs.PACKAGE_NAME.default_value
    tracks: tuple[str, ...] = specs.TRACKS.default_value
    whats_new_directory: str = specs.WHATS_NEW_DIRECTORY.default_value
    images_directory: str = specs.IMAGES_DIRECTORY.default_value
    existing_edit_id: str = specs.EXISTING_EDIT_ID.default_value


@dataclass(frozen=True, repr=False)
class CheckInputs:
    """What `check` reads."""

    common: CommonInputs = CommonInputs()
    package_name: tuple[str, ...] = specs.PACKAGE_NAME.default_value
    tracks: tuple[str, ...] = specs.TRACKS.default_value
    halt_above: tuple[Limit, ...] = specs.HALT_ABOVE.default_value


@dataclass(frozen=True, repr=False)
class VerifyInputs:
    """What `play-verify` reads."""

    common: CommonInputs = CommonInputs()
    apks: tuple[str, ...] = specs.APKS.default_value
    require_unprotected: bool = specs.REQUIRE_UNPROTECTED.default_value
    wait_deadline: float = specs.WAIT_DEADLINE.default_value


@dataclass(frozen=True, repr=False)
class InternalSharingInputs:
    """What `play-internal-sharing` reads."""

    package_name: tuple[str, ...] = specs.PACKAGE_NAME.default_value
    expected_certificate: str = specs.EXPECTED_CERTIFICATE.default_value


@dataclass(frozen=True, repr=False)
class DataSafetyInputs:
    """What `play-data-safety` reads."""

    package_name: tuple[str, ...] = specs.PACKAGE_NAME.default_value


@dataclass(frozen=True, repr=False)
class MailInputs:
    """What `gmail` reads.

    `impersonated` says that the login is for a user, and so has a mailbox.
    """

    common: CommonInputs = CommonInputs()
    gmail_action: GmailAction = specs.GMAIL_ACTION.default_value
    message_file: str = specs.MESSAGE_FILE.default_value
    mail_from: str = specs.MAIL_FROM.default_value
    mail_to: str = specs.MAIL_TO.default_value
    mail_cc: str = specs.MAIL_CC.default_value
    mail_bcc: str = specs.MAIL_BCC.default_value
    mail_subject: str = specs.MAIL_SUBJECT.default_value
    mail_body: str = specs.MAIL_BODY.default_value
    mail_body_file: str = specs.MAIL_BODY_FILE.default_value
    mail_html: str = specs.MAIL_HTML.default_value
    mail_html_file: str = specs.MAIL_HTML_FILE.default_value
    draft_id: str = specs.DRAFT_ID.default_value
    user_id: str = specs.USER_ID.default_value
    metadata: str = specs.METADATA.default_value
    impersonated: bool = False


@dataclass(frozen=True, repr=False)
class AppDistributionInputs:
    """What `firebase-app-distribution` reads."""

    common: CommonInputs = CommonInputs()
    whats_new: str = specs.WHATS_NEW.default_value
    whats_new_directory: str = specs.WHATS_NEW_DIRECTORY.default_value
    testers: tuple[str, ...] = specs.TESTERS.default_value
    wait_deadline: float = specs.WAIT_DEADLINE.default_value
    firebase_app: str = specs.FIREBASE_APP.default_value
    tester_groups: tuple[str, ...] = specs.TESTER_GROUPS.default_value
    params: str = specs.PARAMS.default_value


@dataclass(frozen=True, repr=False)
class GamesInputs:
    """What `play-games` reads."""

    resource_id: str = specs.RESOURCE_ID.default_value
    image_type: ImageType = specs.IMAGE_TYPE.default_value
    metadata: str = specs.METADATA.default_value


@dataclass(frozen=True, repr=False)
class OtaInputs:
    """What `ota` reads."""

    deployment: str = specs.DEPLOYMENT.default_value
    package_title: str = specs.PACKAGE_TITLE.default_value


@dataclass(frozen=True, repr=False)
class MethodInputs:
    """What any other upload method reads."""

    wait_deadline: float = specs.WAIT_DEADLINE.default_value
    media_type: str = specs.MEDIA_TYPE.default_value
    params: str = specs.PARAMS.default_value
    metadata: str = specs.METADATA.default_value


Record: TypeAlias = (
    CommonInputs
    | LoginInputs
    | TransferInputs
    | WorkspaceInputs
    | RunInputs
    | ReleaseInputs
    | StatusInputs
    | RolloutInputs
    | ListingPullInputs
    | CheckInputs
    | VerifyInputs
    | InternalSharingInputs
    | DataSafetyInputs
    | AppDistributionInputs
    | MailInputs
    | GamesInputs
    | OtaInputs
    | MethodInputs
)
R = TypeVar("R", bound=Record)


@dataclass(frozen=True, repr=False)
class Inputs:
    """All inputs of a run, from which the records are made.

    `values` are the parsed values by their names in the records: sizes are bytes, durations
    seconds. An input that was not given is absent, except that `shard` and `state_dir` then have
    their computed defaults; other computed defaults (`status`, `release_name`, `package_name`, the
    source of the credentials) are filled in where they are used. `lasting_state` says that the next
    run finds the state folder again: somebody chose it, or it is a person's own, outside of CI
    jobs. `names` say what inputs are called where the run was started, if that is not the name in
    messages. `texts` are all texts that were given, since any of them may contain a key.
    `credential_files` hold secrets, in addition to the files that inputs name. `warnings` are
    sentences about values that were given and are not used. `show` is the text to show instead of a
    run.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    platform: Platform = Platform()
    lasting_state: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    credential_files: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()
    show: Show = ""

    @property
    def common(self) -> CommonInputs:
        """What every target reads."""
        return _fill(CommonInputs, self.values)

    def record(self, kind: type[R]) -> R:
        """Make the record of one reader."""
        facts = {
            "common": self.common,
            "platform": self.platform,
            "tag": self.platform.tag,
            "lasting_state": self.lasting_state,
            "impersonated": "impersonate_user" in self.values,
        }
        return _fill(kind, {**self.values, **facts})

    def with_values(self, **values: object) -> Inputs:
        """Return the same inputs with other values, by their names in the records."""
        return replace(self, values={**self.values, **values})

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must be masked before anything is printed.

        The secrets in `credentials` are missing here: the login finds and masks them.
        """
        secrets = (
            self.values.get("state_key", ""),
            self.platform.id_token,
            self.platform.oidc_request_token,
        )
        return tuple(secret for secret in secrets if secret)


def _fill(kind: type[R], values: Mapping[str, Any]) -> R:
    """Make a record of the values that it has fields for; its other fields keep their defaults."""
    arguments = {}
    for record_field in dataclasses.fields(kind):
        name = record_field.name
        if name in values:
            arguments[name] = values[name]
    return kind(**arguments)
