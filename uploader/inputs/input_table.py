"""The table of inputs: each attribute of `Inputs` with its group, its default in writing and its parser.

Reading, `--help`, the action's metadata and the reference are all made from this table; what an input means is in
`input_meanings`, which no run has to load.
"""

# Annotations as they are: a NamedTuple compiles each that is a text, a third of the time that it takes to make.

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

from uploader.inputs import parse, parse_play, parse_rollout
from uploader.inputs.ci_platform import Platform

T = TypeVar("T")
Show = Literal["", "usage", "help", "version", "bash", "zsh"]
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
NO_OPTIONS = ("credentials", "state-key")  # secrets, which the list of processes would show to other users


@dataclass(frozen=True)
class Group:
    """Inputs that belong together: their heading in the help, and the targets that read them (none: every target)."""

    heading: str
    targets: tuple[str, ...] = ()


ALL = Group("Every target")
TRANSFER = Group("The transfer")
FILES = Group("Files and machines")
PLAY = Group("Google Play", ("play",))
PLAY_APP = replace(PLAY, targets=("play", "play-status", "play-rollout", "play-listing-pull", "play-internal-sharing"))
PLAY_TRACKS = replace(PLAY, targets=("play", "play-status", "play-rollout", "play-listing-pull"))
PLAY_LISTING = replace(PLAY, targets=("play", "play-listing-pull"))
PLAY_OR_STATUS = replace(PLAY, targets=("play", "play-status"))
PLAY_COMMIT = replace(PLAY, targets=("play", "play-rollout"))
ROLLOUT = replace(PLAY, targets=("play-rollout",))
GMAIL = Group("Gmail (`files` are the attachments)", ("gmail",))
GAMES = Group("Play Games, OTA, any upload method", ("play-games",))
OTA = replace(GAMES, targets=("ota",))
ANY_METHOD = replace(GAMES, targets=(METHOD,))
METADATA = replace(GAMES, targets=("gmail", "play-games", METHOD))
METHOD_FILES = replace(FILES, targets=(METHOD,))


# Group, default in writing, parser and secrecy of each input, in the order in which `Inputs` declares them.
_rows: list[tuple[Group, str, Callable[[str], object], bool]] = []


def _default(group: Group, default: str, parser: Callable[[str], T]) -> T:
    """An input whose default is a value that people could write themselves."""
    _rows.append((group, default, parser, False))
    return parser(default)


def _optional(group: Group, empty: T, parser: Callable[[str], T], *, secret: bool = False) -> T:
    """An input that may stay empty; `secret` = its value is never shown, not even when it is wrong."""
    _rows.append((group, "", parser, secret))
    return empty


def _text(group: Group, parser: Callable[[str], str], *, secret: bool = False) -> str:
    """A text that may stay empty."""
    return _optional(group, "", parser, secret=secret)


@dataclass(frozen=True)
class Inputs:
    """What was asked for: one attribute for each input, parsed. Sizes are bytes, durations seconds, empty = not given.

    `shard` and `state_dir` already hold their computed defaults; other computed defaults (`status`, `release_name`,
    `package_name`, the credentials' source) are empty here and filled in where they are used. `credential_files` hold
    secrets beside those that inputs name; `names` say how inputs are called where the run was started, if differently;
    `warnings` are sentences about what was given and does not count, `texts` whatever was given: a key may stand where
    none belongs.
    """

    target: str = _text(ALL, parse.target(TARGETS))
    credentials: str = _text(ALL, parse.text, secret=True)
    workload_identity_provider: str = _text(ALL, parse.provider, secret=True)
    service_account: str = _text(ALL, parse.address)
    impersonate_user: str = _text(ALL, parse.address)
    files: tuple[str, ...] = _optional(ALL, (), parse.items)
    dry_run: bool = _default(ALL, "false", parse.boolean)
    job_summary: bool = _default(ALL, "true", parse.boolean)
    upload_protocol: UploadProtocol = _default(TRANSFER, "auto", parse.choice(UploadProtocol))
    chunk_size: int | None = _default(TRANSFER, "auto", parse.size)
    concurrency: int | None = _default(TRANSFER, "auto", parse.files_at_once)
    max_retries: int = _default(TRANSFER, "5", parse.integer(0, 100))
    retry_deadline: float = _default(TRANSFER, "30m", parse.duration(0, 7 * DAY))
    stall_timeout: float = _default(TRANSFER, "60s", parse.duration(1, DAY))
    finalize_timeout: float = _default(TRANSFER, "10m", parse.duration(1, DAY))
    state_dir: Path | None = _optional(TRANSFER, None, parse.folder)
    state_key: str = _text(TRANSFER, parse.state_key, secret=True)
    api_endpoint: str = _text(TRANSFER, parse.endpoint)

    shard: tuple[int, int] | None = _optional(FILES, None, parse.shard)
    allow_outside_workspace: bool = _default(FILES, "false", parse.boolean)
    allow_symlinks: bool = _default(FILES, "false", parse.boolean)
    media_type: str = _text(METHOD_FILES, parse.media_type)

    package_name: str = _text(PLAY_APP, parse.package_name)
    tracks: tuple[str, ...] = _optional(PLAY_TRACKS, (), parse.tracks)
    status: Status = _optional(PLAY, "", parse.choice(Status))
    user_fraction: float | None = _optional(PLAY, None, parse.fraction)
    release_name: str = _text(PLAY, parse.line)
    whats_new: str = _text(PLAY, parse.text)
    whats_new_directory: str = _text(PLAY_LISTING, parse.path)
    in_app_update_priority: int | None = _optional(PLAY, None, parse.integer(0, 5))
    mapping_file: parse_play.FilesByVersion = _optional(PLAY, (), parse_play.version_files)
    debug_symbols: parse_play.FilesByVersion = _optional(PLAY, (), parse_play.version_files)
    expansion_file_main: str = _text(PLAY, parse_play.expansion_file)
    expansion_file_patch: str = _text(PLAY, parse_play.expansion_file)
    images_directory: str = _text(PLAY_LISTING, parse.path)
    images_prune: bool = _default(PLAY, "false", parse.boolean)
    version_codes_to_retain: tuple[str, ...] = _optional(PLAY, (), parse_play.retained_versions)
    countries: tuple[str, ...] = _optional(PLAY, (), parse.countries)
    promote_from: str = _text(PLAY, parse.track)
    promote_version_codes: tuple[str, ...] = _optional(PLAY, (), parse.version_codes)
    replace_rollout: bool = _default(PLAY, "false", parse.boolean)
    on_version_conflict: OnVersionConflict = _default(PLAY, "reuse", parse.choice(OnVersionConflict))
    existing_edit_id: str = _text(PLAY_TRACKS, parse.word)
    commit: bool = _default(PLAY_COMMIT, "true", parse.boolean)
    changes_not_sent_for_review: NotSentForReview = _default(PLAY_COMMIT, "auto", parse.choice(NotSentForReview))
    changes_in_review: ChangesInReview = _default(PLAY_COMMIT, "error", parse.choice(ChangesInReview))
    expected_certificate: str = _text(PLAY_APP, parse.certificate)
    wait_for: WaitFor = _optional(PLAY_OR_STATUS, "", parse.choice(WaitFor))
    wait_deadline: float = _default(PLAY_OR_STATUS, "30m", parse.duration(0, 7 * DAY))
    universal_apk: str = _text(PLAY_OR_STATUS, parse_play.version_path)
    rollout_steps: tuple[float, ...] = _optional(ROLLOUT, (), parse_rollout.rollout_steps)
    halt_above: tuple[parse_rollout.Limit, ...] = _optional(ROLLOUT, (), parse_rollout.limits)
    gate: GateAction = _default(ROLLOUT, "halt", parse.choice(GateAction))
    gate_min_users: int = _default(ROLLOUT, "100", parse.integer(1, 1_000_000_000))
    gate_period: int = _default(ROLLOUT, "2", parse.integer(1, 28))
    gate_max_age: float = _default(ROLLOUT, "72h", parse.duration(3600, 28 * DAY))

    gmail_action: GmailAction = _default(GMAIL, "send", parse.choice(GmailAction))
    message_file: str = _text(GMAIL, parse.path)
    mail_from: str = _text(GMAIL, parse.line)
    mail_to: str = _text(GMAIL, parse.line)
    mail_cc: str = _text(GMAIL, parse.line)
    mail_bcc: str = _text(GMAIL, parse.line)
    mail_subject: str = _text(GMAIL, parse.line)
    mail_body: str = _text(GMAIL, parse.text)
    mail_body_file: str = _text(GMAIL, parse.line)
    mail_html: str = _text(GMAIL, parse.text)
    mail_html_file: str = _text(GMAIL, parse.line)
    draft_id: str = _text(GMAIL, parse.word)
    user_id: str = _default(GMAIL, "me", parse.word)

    resource_id: str = _text(GAMES, parse.word)
    image_type: ImageType = _optional(GAMES, "", parse.choice(ImageType))
    deployment: str = _text(OTA, parse.path_part)
    package_title: str = _text(OTA, parse.line)
    params: str = _text(ANY_METHOD, parse.text)
    metadata: str = _text(METADATA, parse.text)

    platform: Platform = Platform()
    names: Mapping[str, str] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    credential_files: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()
    show: Show = ""

    def __repr__(self) -> str:
        return "Inputs(…)"  # its values hold the credentials

    @property
    def rehearsal(self) -> bool:
        """Whether all of it happens inside this process, against the embedded emulator."""
        return self.api_endpoint == parse.EMULATOR

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must be masked before anything else is said; a login names the secrets of `credentials` itself."""
        platform = self.platform
        return tuple(secret for secret in (self.state_key, platform.id_token, platform.oidc_request_token) if secret)


@dataclass(frozen=True)
class Field:
    """One row of the table: the contract's name, the attribute, its group, its default in writing, how it is read."""

    name: str
    attribute: str
    group: Group
    default: str
    parse: Callable[[str], object]
    secret: bool

    @property
    def variables(self) -> tuple[str, str, str]:
        """The names under which the value may come, first found wins; only GitHub's runner passes a hyphen on."""
        plain = self.attribute.upper()
        return f"INPUT_{self.name.upper()}", f"INPUT_{plain}", f"UPLOADER_{plain}"

    @property
    def option(self) -> str:
        """The name on the command line, where `is_option`."""
        return f"--{self.name}"

    @property
    def places(self) -> tuple[str, ...]:
        """Wherever the value may come from, first found wins."""
        return (*self.variables, self.option)

    @property
    def is_option(self) -> bool:
        """Whether the command line may hold it."""
        return self.name not in NO_OPTIONS


@cache
def fields() -> tuple[Field, ...]:
    """Every input of the contract, as the help and the README lay them out."""
    named = zip(Inputs.__dataclass_fields__, _rows, strict=False)  # what comes after the inputs has no row
    return tuple(Field(name.replace("_", "-"), name, *row) for name, row in named)
