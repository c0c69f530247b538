"""The table of inputs: each attribute of `Inputs` with its group, its default in writing, its parser and its meaning.

Reading, `--help`, the action's metadata and the README are all held to this table; there is no second one.
"""

# ruff: noqa: RUF009  (the calls in the class body make the fields, as dataclasses.field itself would)

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from uploader.inputs import parse, parse_play, parse_rollout
from uploader.inputs.ci_platform import Platform

T = TypeVar("T")
Show = Literal["", "help", "version"]
UploadProtocol = Literal["auto", "resumable", "multipart", "simple"]
Status = Literal["", "completed", "inProgress", "halted", "draft"]
OnVersionConflict = Literal["reuse", "fail"]
NotSentForReview = Literal["auto", "true", "false"]
ChangesInReview = Literal["error", "cancel"]
GmailAction = Literal["send", "draft", "draft-update", "draft-send", "insert", "import"]
WaitFor = Literal["", "approved", "published"]
GateAction = Literal["halt", "report"]
ImageType = Literal["", "ACHIEVEMENT_ICON", "LEADERBOARD_ICON"]

TARGETS = (
    *("play", "play-status", "play-rollout", "play-listing-pull", "play-internal-sharing"),
    *("gmail", "play-games", "ota"),
)
METHOD = "any upload method"  # whatever target is none of these: the id of a method
DAY = 86_400  # seconds


class Group(NamedTuple):
    """Inputs that belong together: their heading in the help, and the targets that read them (none: every target)."""

    heading: str
    targets: tuple[str, ...] = ()


ALL = Group("Every target")
TRANSFER = Group("The transfer")
FILES = Group("Files and machines")
PLAY = Group("Google Play", ("play",))
PLAY_APP = PLAY._replace(targets=("play", "play-status", "play-rollout", "play-listing-pull", "play-internal-sharing"))
PLAY_TRACKS = PLAY._replace(targets=("play", "play-status", "play-rollout", "play-listing-pull"))
PLAY_LISTING = PLAY._replace(targets=("play", "play-listing-pull"))
PLAY_READING = PLAY._replace(targets=("play", "play-status", "play-listing-pull"))
PLAY_OR_STATUS = PLAY._replace(targets=("play", "play-status"))
PLAY_COMMIT = PLAY._replace(targets=("play", "play-rollout"))
ROLLOUT = PLAY._replace(targets=("play-rollout",))
GMAIL = Group("Gmail (`files` are the attachments)", ("gmail",))
GAMES = Group("Play Games, OTA, any upload method", ("play-games",))
OTA = GAMES._replace(targets=("ota",))
ANY_METHOD = GAMES._replace(targets=(METHOD,))


def _default(group: Group, default: str, parser: Callable[[str], T], meaning: str) -> T:
    """An input whose default is a value that people could write themselves."""
    metadata = {"group": group, "default": default, "parse": parser, "help": meaning}
    return dataclasses.field(default=parser(default), metadata=metadata)


def _optional(group: Group, empty: T, parser: Callable[[str], T], meaning: str, *, secret: bool = False) -> T:
    """An input that may stay empty; `secret` = its value is never shown, not even when it is wrong."""
    metadata = {"group": group, "default": "", "parse": parser, "help": meaning, "secret": secret}
    return dataclasses.field(default=empty, metadata=metadata)


def _text(group: Group, parser: Callable[[str], str], meaning: str, *, secret: bool = False) -> str:
    """A text that may stay empty."""
    return _optional(group, "", parser, meaning, secret=secret)


@dataclass(frozen=True, slots=True, repr=False)
class Inputs:
    """What was asked for: one attribute for each input, parsed. Sizes are bytes, durations seconds, empty = not given.

    `shard` and `state_dir` already hold their computed defaults; other computed defaults (`status`, `release_name`,
    `package_name`, the credentials' source) are empty here and filled in where they are used. `credential_files` hold
    secrets beside those that inputs name; `names` say how inputs are called where the run was started, if differently;
    `warnings` are sentences about what was given and does not count, `texts`
    whatever was given: a key may stand where none belongs. There is no repr, since it would hold the credentials.
    """

    target: str = _text(
        ALL,
        parse.target(TARGETS),
        "`play`, `play-status`, `play-rollout`, `play-listing-pull`, `play-internal-sharing`, `gmail`, `play-games`, "
        "`ota`, or a method.",
    )
    credentials: str = _text(
        ALL, parse.text, "A service-account key or other google-auth configuration: JSON, base64, a path.", secret=True
    )
    workload_identity_provider: str = _text(
        ALL, parse.provider, "Keyless login: the provider that trusts the CI system's OIDC token.", secret=True
    )
    service_account: str = _text(ALL, parse.address, "Keyless login: e-mail address of the service account to act as.")
    impersonate_user: str = _text(ALL, parse.address, "The user to act for by domain-wide delegation (Gmail).")
    files: tuple[str, ...] = _optional(
        ALL, (), parse.items, "Paths and globs relative to the workspace; `-` is a stream."
    )
    dry_run: bool = _default(ALL, "false", parse.boolean, "Do everything except the final, irreversible step.")
    job_summary: bool = _default(ALL, "true", parse.boolean, "Write the job summary.")
    upload_protocol: UploadProtocol = _default(
        TRANSFER, "auto", parse.choice(UploadProtocol), "`auto`, `resumable`, `multipart`, `simple`."
    )
    chunk_size: int | None = _default(
        TRANSFER, "auto", parse.size, "Bytes of one request, such as `8MiB`; `auto` = the whole file."
    )
    concurrency: int | None = _default(
        TRANSFER, "auto", parse.files_at_once, "Files in flight at once, 1 to 64; `auto` = 4 and more while it pays."
    )
    max_retries: int = _default(TRANSFER, "5", parse.integer(0, 100), "Retries without progress before giving up.")
    retry_deadline: float = _default(
        TRANSFER,
        "30m",
        parse.duration(0, 7 * DAY),
        "Stop retrying this long after the run's first request, such as 90s, 30m or 2h.",
    )
    stall_timeout: float = _default(
        TRANSFER, "60s", parse.duration(1, DAY), "Treat a connection as broken after this long without a byte."
    )
    finalize_timeout: float = _default(
        TRANSFER, "10m", parse.duration(1, DAY), "How long the answer to the last byte may take."
    )
    state_dir: Path | None = _optional(
        TRANSFER, None, parse.folder, "Where unfinished uploads are kept, sealed, for the next run."
    )
    state_key: str = _text(
        TRANSFER,
        parse.state_key,
        "The secret that seals them where the credential holds none, at least 16 characters.",
        secret=True,
    )
    api_endpoint: str = _text(TRANSFER, parse.endpoint, "Another root URL for the API; `emulator` is the embedded one.")

    shard: tuple[int, int] | None = _optional(FILES, None, parse.shard, "Only this part of the files, such as `2/5`.")
    allow_outside_workspace: bool = _default(
        FILES, "false", parse.boolean, "Accept files that are really outside the workspace, such as behind a link."
    )
    allow_symlinks: bool = _default(
        FILES, "false", parse.boolean, "Follow links beyond the folder that their input names."
    )
    provenance: bool = _default(
        FILES, "false", parse.boolean, "Write an in-toto statement of what was sent and the id it got."
    )

    package_name: str = _text(PLAY_APP, parse.package_name, "The app; read from the artifact when not given.")
    tracks: tuple[str, ...] = _optional(
        PLAY_TRACKS, (), parse.tracks, "`internal`, `alpha`, `beta`, `production`, `wear:…`, others."
    )
    status: Status = _optional(PLAY, "", parse.choice(Status), "`completed`, `inProgress`, `halted`, `draft`.")
    user_fraction: float | None = _optional(
        PLAY, None, parse.fraction, "A staged rollout's share of users, between 0 and 1."
    )
    release_name: str = _text(PLAY, parse.line, "The release's name; the tag when not given.")
    whats_new: str = _text(PLAY, parse.text, "Release notes as text, or `locale: text` as YAML.")
    whats_new_directory: str = _text(PLAY_LISTING, parse.path, "The folder of release notes, or `last-release`.")
    in_app_update_priority: int | None = _optional(PLAY, None, parse.integer(0, 5), "Priority of the update, 0 to 5.")
    mapping_file: parse_play.FilesByVersion = _optional(
        PLAY, (), parse_play.version_files, "R8 mapping: a path, perhaps with `{version-code}` or `{name}`; `42=path`."
    )
    debug_symbols: parse_play.FilesByVersion = _optional(
        PLAY, (), parse_play.version_files, "Native symbols, zip or folder, named in the same ways."
    )
    expansion_file_main: str = _text(PLAY, parse_play.expansion_file, "A file, `references:CODE`, `last-release`.")
    expansion_file_patch: str = _text(PLAY, parse_play.expansion_file, "A file, `references:CODE`, `last-release`.")
    images_directory: str = _text(PLAY_LISTING, parse.path, "Listing images and texts in fastlane's layout.")
    images_prune: bool = _default(PLAY, "false", parse.boolean, "Remove what the images directory does not have.")
    version_codes_to_retain: tuple[str, ...] = _optional(
        PLAY, (), parse_play.retained_versions, "Kept on the track as well; `last-release` for those that it has."
    )
    countries: tuple[str, ...] = _optional(PLAY, (), parse.countries, "Two-letter codes, and `rest-of-world`.")
    promote_from: str = _text(PLAY, parse.track, "Take the release of this track instead of new files.")
    promote_version_codes: tuple[str, ...] = _optional(
        PLAY, (), parse.version_codes, "Promote these versions of the track named by `promote-from`."
    )
    replace_rollout: bool = _default(PLAY, "false", parse.boolean, "May displace a rollout that is in progress.")
    on_version_conflict: OnVersionConflict = _default(
        PLAY,
        "reuse",
        parse.choice(OnVersionConflict),
        "If the version code exists: `reuse` (same bytes only) or `fail`.",
    )
    existing_edit_id: str = _text(PLAY_TRACKS, parse.word, "Use this open edit instead of a new one.")
    commit: bool = _default(PLAY_COMMIT, "true", parse.boolean, "Commit the edit; `false` leaves it open.")
    changes_not_sent_for_review: NotSentForReview = _default(
        PLAY_COMMIT, "auto", parse.choice(NotSentForReview), "`auto` (as Google requires), `true`, `false`."
    )
    changes_in_review: ChangesInReview = _default(
        PLAY_COMMIT, "error", parse.choice(ChangesInReview), "`error`, or `cancel` the review in flight."
    )
    expected_certificate: str = _text(
        PLAY_APP, parse.certificate, "SHA-256 of the certificate that must have signed the artifacts."
    )
    wait_for: WaitFor = _optional(
        PLAY_OR_STATUS, "", parse.choice(WaitFor), "Wait for the review: `approved` or `published`."
    )
    wait_deadline: float = _default(
        PLAY_OR_STATUS,
        "30m",
        parse.duration(0, 7 * DAY),
        "How long to wait, for the review or the APK; `0s` is one look.",
    )
    universal_apk: str = _text(
        PLAY_OR_STATUS, parse_play.version_path, "Where to write the universal APK that Google Play generates."
    )
    rollout_steps: tuple[float, ...] = _optional(
        ROLLOUT, (), parse_rollout.rollout_steps, "Ascending shares, such as `1%, 5%, 20%, 50%, 100%`."
    )
    halt_above: tuple[parse_rollout.Limit, ...] = _optional(
        ROLLOUT, (), parse_rollout.limits, "Limits: `crash-rate 1.09%`, `anr-rate 0.47%`, `crash-rate 1.5x`."
    )
    gate: GateAction = _default(
        ROLLOUT, "halt", parse.choice(GateAction), "Above a limit: `halt` the rollout, or only `report` it."
    )
    gate_min_users: int = _default(
        ROLLOUT, "100", parse.integer(1, 1_000_000_000), "Users a day below which nothing is concluded."
    )
    gate_period: int = _default(ROLLOUT, "2", parse.integer(1, 28), "How many days of measurements count.")
    gate_max_age: float = _default(
        ROLLOUT, "72h", parse.duration(3600, 28 * DAY), "How long ago the newest day of measurements may have ended."
    )

    gmail_action: GmailAction = _default(
        GMAIL, "send", parse.choice(GmailAction), "`send`, `draft`, `draft-update`, `draft-send`, `insert`, `import`."
    )
    message_file: str = _text(GMAIL, parse.path, "An RFC 822 message (.eml), instead of the `mail-…` inputs.")
    mail_from: str = _text(GMAIL, parse.line, "The sender.")
    mail_to: str = _text(GMAIL, parse.line, "Recipients, separated by commas.")
    mail_cc: str = _text(GMAIL, parse.line, "Recipients of a copy.")
    mail_bcc: str = _text(GMAIL, parse.line, "Recipients of a blind copy.")
    mail_subject: str = _text(GMAIL, parse.line, "The subject.")
    mail_body: str = _text(GMAIL, parse.text, "The text.")
    mail_body_file: str = _text(GMAIL, parse.line, "A file with the text, instead of `mail-body`.")
    mail_html: str = _text(GMAIL, parse.text, "The HTML.")
    mail_html_file: str = _text(GMAIL, parse.line, "A file with the HTML, instead of `mail-html`.")
    draft_id: str = _text(GMAIL, parse.word, "The draft to update or to send.")
    user_id: str = _default(GMAIL, "me", parse.word, "The mailbox.")

    resource_id: str = _text(GAMES, parse.word, "Play Games: the achievement or leaderboard.")
    image_type: ImageType = _optional(
        GAMES, "", parse.choice(ImageType), "Play Games: `ACHIEVEMENT_ICON` or `LEADERBOARD_ICON`."
    )
    deployment: str = _text(OTA, parse.line, "OTA: the deployment's id.")
    package_title: str = _text(OTA, parse.line, "OTA: the package's title.")
    params: str = _text(ANY_METHOD, parse.text, "Any method: a YAML or JSON map of path and query parameters.")
    metadata: str = _text(ANY_METHOD, parse.text, "Any method: JSON of the metadata part.")

    platform: Platform = Platform()
    names: Mapping[str, str] = dataclasses.field(default_factory=dict)
    texts: tuple[str, ...] = ()
    credential_files: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()
    show: Show = ""

    @property
    def rehearsal(self) -> bool:
        """Whether all of it happens inside this process, against the embedded emulator."""
        return self.api_endpoint == parse.EMULATOR

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must be masked before anything else is said; a login names the secrets of `credentials` itself."""
        platform = self.platform
        return tuple(secret for secret in (self.state_key, platform.id_token, platform.oidc_request_token) if secret)


class Field(NamedTuple):
    """One row of the table: the contract's name, the attribute, its group, its default in writing, how it is read."""

    name: str
    attribute: str
    group: Group
    default: str
    parse: Callable[[str], object]
    help: str
    secret: bool

    @property
    def variables(self) -> tuple[str, str, str]:
        """The names under which the value may come, first found wins; only GitHub's runner passes a hyphen on."""
        plain = self.attribute.upper()
        return f"INPUT_{self.name.upper()}", f"INPUT_{plain}", f"UPLOADER_{plain}"


def fields() -> tuple[Field, ...]:
    """Every input of the contract, as the help and the README lay them out."""
    return tuple(
        Field(name=field.name.replace("_", "-"), attribute=field.name, **{"secret": False, **field.metadata})
        for field in dataclasses.fields(Inputs)
        if field.metadata
    )
