"""The table of inputs: one row for each input, in the order in which people read them.

Reading, `--help`, the metadata of both actions, GitLab's component and docs/REFERENCE.md are made
of it. `records` says which part of the program is given which inputs: a field of a record takes its
type and its default from the row here, so that mypy compares the two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Literal, TypeVar

from uploader.inputs import parsers

T = TypeVar("T")
UploadProtocol = Literal["auto", "resumable", "multipart", "simple"]
Status = Literal["", "completed", "inProgress", "halted", "draft"]
OnVersionConflict = Literal["reuse", "fail"]
NotSentForReview = Literal["auto", "true", "false"]
ImagesPrune = Literal["false", "true", "everywhere"]
NotesOverflow = Literal["error", "cut"]
ChangesInReview = Literal["error", "cancel"]
GmailAction = Literal["send", "draft", "draft-update", "draft-send", "insert", "import"]
WaitFor = Literal["", "approved", "published"]
GateAction = Literal["halt", "report"]
ImageType = Literal["", "ACHIEVEMENT_ICON", "LEADERBOARD_ICON"]

TARGETS = (
    "play",
    "play-status",
    "play-rollout",
    "play-listing-pull",
    "play-verify",
    "play-internal-sharing",
    "play-data-safety",
    "firebase-app-distribution",
    "check",
    "gmail",
    "play-games",
    "ota",
)
"""The targets that have a name of their own."""
METHOD = "any upload method"
"""Stands in the table for every other target, which is the id of an upload method."""
ALL_TARGETS = (*TARGETS, METHOD)
FILE_TARGETS = (
    "play",
    "play-verify",
    "play-internal-sharing",
    "play-data-safety",
    "firebase-app-distribution",
    "gmail",
    "play-games",
    "ota",
    METHOD,
)
"""The targets that send `files`; `check` reads the app's name from them, the others refuse
them.
"""
TRACK_TARGETS = ("play", "play-status", "play-rollout", "play-listing-pull")
"""The targets that look at the tracks of an app or change them."""
DAY = 86_400  # seconds


class Group(Enum):
    """The headings of the inputs in `--help` and on the pages, in their order."""

    EVERY_TARGET = "Every target"
    TRANSFER = "The transfer"
    FILES = "Files and machines"
    GOOGLE_PLAY = "Google Play"
    FIREBASE = "Firebase App Distribution"
    GMAIL = "Gmail (`files` are the attachments)"
    OTHERS = "Play Games, OTA, any upload method"


class _Parsed(Enum):
    """A row's `empty` unless it is given: without the input, its value is the parsed `default`."""

    FROM_DEFAULT = "default"


@dataclass(frozen=True, kw_only=True)
class RefuseEmpty:
    """The words of the message about an empty text, for an input where that is a mistake.

    Taken for "not given", the empty text would make the run do more or check less. `word` is
    accepted as "not given", and is the default in the actions and in GitLab's component: this
    distinguishes an input that was left out from an expression without a value. `effect` completes
    "is empty, so …"; `accepted` says what to write instead. An empty text is refused for the
    `targets`; with none, for every target that reads the input. Those in `required_by` need a value
    and refuse the word, too.
    """

    word: str
    effect: str
    accepted: str
    targets: tuple[str, ...] = ()
    required_by: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class InputSpec(Generic[T]):
    """One row of the table: an input, what it means, and who reads it.

    `targets` are those that read it: with any other target a warning says that it is ignored.
    `parser` takes the text, trimmed and not empty. `default` is the default as people would write
    it; if none can be written, `empty` is the value without the input, and `otherwise` says what
    counts then. A `secret` is never shown, not even when it is wrong.
    `option_allowed` is false for what must not stand on the command line, because the list of
    processes would show it to other users of the machine.
    """

    name: str
    group: Group
    targets: tuple[str, ...]
    parser: Callable[[str], T]
    help: str
    default: str = ""
    empty: T | _Parsed = _Parsed.FROM_DEFAULT
    otherwise: str = ""
    secret: bool = False
    option_allowed: bool = True
    refuse_empty: RefuseEmpty | None = None

    @property
    def attribute(self) -> str:
        """The name of its field in the records."""
        return self.name.replace("-", "_")

    @property
    def default_value(self) -> T:
        """The value if the input is not given."""
        if self.empty is _Parsed.FROM_DEFAULT:
            return self.parser(self.default)
        return self.empty

    @property
    def variables(self) -> tuple[str, str, str]:
        """The variables under which the value may come; the first one that is set counts.

        Only GitHub's runner passes a hyphen on.
        """
        plain = self.attribute.upper()
        return f"INPUT_{self.name.upper()}", f"INPUT_{plain}", f"UPLOADER_{plain}"

    @property
    def option(self) -> str:
        """The name on the command line, which takes precedence over the variables."""
        return f"--{self.name}"

    @property
    def public_name(self) -> str:
        """How it is called outside of a workflow: its option, else its own variable."""
        return self.option if self.option_allowed else self.variables[-1]

    @property
    def written_default(self) -> str:
        """What stands for the input if it is left out; empty if nothing can be written."""
        return self.refuse_empty.word if self.refuse_empty else self.default

    @property
    def is_list(self) -> bool:
        """Whether it takes several values."""
        return self.empty == ()

    @property
    def is_switch(self) -> bool:
        """Whether it may be given without a value, which then is `true`."""
        return self.default in parsers.BOOLEANS

    @property
    def summary(self) -> str:
        """The first sentence of its help, without marks."""
        first = self.help.split(". ", maxsplit=1)[0].rstrip(".")
        return first.replace("`", "") + "."


# The rows. Each is named like its input.

# Every target

TARGET = InputSpec(
    name="target",
    group=Group.EVERY_TARGET,
    targets=ALL_TARGETS,
    parser=parsers.target(TARGETS),
    empty="",
    help=(
        "`play`, `play-internal-sharing`, `play-data-safety`, `firebase-app-distribution`, "
        "`gmail`, `play-games`, `ota`, or any Google upload method. Such a method is named by "
        "its id: `drive.files.create`, `storage.objects.insert`. Without files: `check` says "
        "what is missing for a release to Google Play, and changes nothing; `play-status` "
        "reports what is on Google Play, `play-rollout` takes a staged rollout one step "
        "further, and `play-listing-pull` writes the live store listing to files. "
        "`play-verify` compares what Google Play serves with the bundles that were built."
    ),
)
CREDENTIALS = InputSpec(
    name="credentials",
    group=Group.EVERY_TARGET,
    targets=ALL_TARGETS,
    parser=parsers.text,
    empty="",
    otherwise="`GOOGLE_APPLICATION_CREDENTIALS`, else application default credentials",
    secret=True,
    option_allowed=False,
    help=(
        "A service-account key or any other google-auth credential configuration: JSON, its "
        "base64, or a path."
    ),
)
WORKLOAD_IDENTITY_PROVIDER = InputSpec(
    name="workload-identity-provider",
    group=Group.EVERY_TARGET,
    targets=ALL_TARGETS,
    parser=parsers.provider,
    empty="",
    secret=True,
    help=(
        "Keyless login: the resource name of the provider that trusts the CI system's OIDC "
        "token. On GitHub the job needs `permissions: id-token: write`."
    ),
)
SERVICE_ACCOUNT = InputSpec(
    name="service-account",
    group=Group.EVERY_TARGET,
    targets=ALL_TARGETS,
    parser=parsers.address,
    empty="",
    help="Keyless login: the e-mail address of the service account to act as.",
)
IMPERSONATE_USER = InputSpec(
    name="impersonate-user",
    group=Group.EVERY_TARGET,
    targets=ALL_TARGETS,
    parser=parsers.address,
    empty="",
    help="The e-mail address of the user to act as, through domain-wide delegation (Gmail).",
)
FILES: InputSpec[tuple[str, ...]] = InputSpec(
    name="files",
    group=Group.EVERY_TARGET,
    targets=ALL_TARGETS,
    parser=parsers.items,
    empty=(),
    refuse_empty=RefuseEmpty(
        word="none",
        effect="nothing would be uploaded",
        accepted="paths, such as `app.aab`; `none` if no files are meant",
        targets=FILE_TARGETS,
        required_by=(
            "play-verify",
            "play-internal-sharing",
            "play-data-safety",
            "firebase-app-distribution",
            "ota",
            "play-games",
        ),
    ),
    help=(
        "Paths and globs (including `**`) relative to the workspace, one per line or "
        "separated by commas. Use `?` for a comma in a name. Files are sent in the order of "
        "the patterns, sorted within each pattern, and each file once; folders are skipped. A "
        "pattern that matches nothing is an error. `gha-creds-*.json` is never uploaded, nor "
        "is a key or a keystore that only a pattern matches (see `allow-credential-files`). "
        "`-` or a named pipe is a stream of unknown size."
    ),
)
DRY_RUN = InputSpec(
    name="dry-run",
    group=Group.EVERY_TARGET,
    targets=ALL_TARGETS,
    parser=parsers.boolean,
    default="false",
    refuse_empty=RefuseEmpty(
        word="false",
        effect="the run would have its full effect",
        accepted="`true` or `false`",
        # `play-status` changes nothing in any case.
        targets=tuple(target for target in ALL_TARGETS if target != "play-status"),
    ),
    help=(
        "Do everything except the final, irreversible step. The run makes the offline checks; "
        "for Play it then uploads to a temporary edit, validates it and deletes it, and for "
        "other targets it only obtains a token."
    ),
)
JOB_SUMMARY = InputSpec(
    name="job-summary",
    group=Group.EVERY_TARGET,
    targets=ALL_TARGETS,
    parser=parsers.boolean,
    default="true",
    help="Write the job summary.",
)

# The transfer

UPLOAD_PROTOCOL: InputSpec[UploadProtocol] = InputSpec(
    name="upload-protocol",
    group=Group.TRANSFER,
    targets=ALL_TARGETS,
    parser=parsers.choice(UploadProtocol),
    default="auto",
    help=(
        "`auto`, `resumable`, `multipart` or `simple`. `auto` means resumable, unless the "
        "method does not support it, or the file has at most 1 MiB and repeating the upload "
        "would not create a duplicate. A mail is always resumable."
    ),
)
CHUNK_SIZE = InputSpec(
    name="chunk-size",
    group=Group.TRANSFER,
    targets=ALL_TARGETS,
    parser=parsers.size,
    default="auto",
    help=(
        "Bytes per request, such as `8MiB`, rounded to the service's granularity. With `auto` "
        "the whole file is sent in one request, and after an interruption the rest in chunks "
        "of growing size (OTA: first in one request again)."
    ),
)
CONCURRENCY = InputSpec(
    name="concurrency",
    group=Group.TRANSFER,
    targets=ALL_TARGETS,
    parser=parsers.files_at_once,
    default="auto",
    help=(
        "How many files to upload at once, 1 to 64, if the service allows it. `auto` is 16 "
        "for files of at most 8 MiB, and 4 for larger ones and for changes to one Play edit."
    ),
)
MAX_RETRIES = InputSpec(
    name="max-retries",
    group=Group.TRANSFER,
    targets=ALL_TARGETS,
    parser=parsers.integer(0, 100),
    default="5",
    help="How many retries without progress before giving up, 0 to 100.",
)
RETRY_DEADLINE = InputSpec(
    name="retry-deadline",
    group=Group.TRANSFER,
    targets=ALL_TARGETS,
    parser=parsers.duration(0, 7 * DAY),
    default="30m",
    help=(
        "Stop retrying this long after the run's first request, such as `90s`, `30m` or `2h`. "
        "If the next wait would go past it, the file fails, no other file is started, and the "
        "run ends with 75. As long as nothing fails, a run may take longer."
    ),
)
STALL_TIMEOUT = InputSpec(
    name="stall-timeout",
    group=Group.TRANSFER,
    targets=ALL_TARGETS,
    parser=parsers.duration(1, DAY),
    default="60s",
    help="Treat a connection as broken, or a pipe as silent, after this long without any data. A "
    "download also counts as broken if it brings less than 256 bytes a second over this time.",
)
FINALIZE_TIMEOUT = InputSpec(
    name="finalize-timeout",
    group=Group.TRANSFER,
    targets=ALL_TARGETS,
    parser=parsers.duration(1, DAY),
    default="10m",
    help="How long to wait for the response after the last byte.",
)
STATE_DIR = InputSpec(
    name="state-dir",
    group=Group.TRANSFER,
    targets=ALL_TARGETS,
    parser=parsers.folder,
    empty=None,
    otherwise="`$RUNNER_TEMP/uploader`, else the user's state folder",
    help=(
        "The folder in which unfinished uploads are recorded, encrypted, for the next run. "
        "In a CI job, the default folder is deleted with the machine. If the next job should "
        "continue the uploads, choose a folder that is kept, such as one in a cache."
    ),
)
STATE_KEY = InputSpec(
    name="state-key",
    group=Group.TRANSFER,
    targets=ALL_TARGETS,
    parser=parsers.state_key,
    empty="",
    otherwise="derived from the service-account key",
    secret=True,
    option_allowed=False,
    help=(
        "A secret of at least 16 characters that encrypts the contents of `state-dir`. Needed "
        "if the credential contains no lasting secret, as with a keyless login; without "
        "either, nothing is kept, and the log says so."
    ),
)
API_ENDPOINT = InputSpec(
    name="api-endpoint",
    group=Group.TRANSFER,
    targets=ALL_TARGETS,
    parser=parsers.endpoint,
    empty="",
    otherwise="the API's own",
    refuse_empty=RefuseEmpty(
        word="google",
        effect="the requests would go to Google's own servers",
        accepted="a root URL, or `emulator`; `google` if Google's own servers are meant",
    ),
    help=(
        "Another root URL for the API: https, or http on loopback. On loopback, the token "
        "exchange of a keyless login goes there, too. `emulator` starts the embedded emulator "
        "inside this run, and nothing is published."
    ),
)

# Files and machines

SHARD = InputSpec(
    name="shard",
    group=Group.FILES,
    targets=ALL_TARGETS,
    parser=parsers.shard,
    empty=None,
    otherwise="GitLab's `CI_NODE_INDEX/CI_NODE_TOTAL`, else all",
    help=(
        "Upload only this part of the files, such as `2/5` for the second of five. The split "
        "is the same in every job of a matrix."
    ),
)
ALLOW_OUTSIDE_WORKSPACE = InputSpec(
    name="allow-outside-workspace",
    group=Group.FILES,
    targets=ALL_TARGETS,
    parser=parsers.boolean,
    default="false",
    help="Accept files that are outside the workspace, for example behind a symbolic link.",
)
ALLOW_SYMLINKS = InputSpec(
    name="allow-symlinks",
    group=Group.FILES,
    targets=ALL_TARGETS,
    parser=parsers.boolean,
    default="false",
    help=(
        "Follow symbolic links out of the folder that an input for texts, notes, images, "
        "symbols or mails names. Links within that folder are always followed; links to a "
        "credential, or into `.git`, `.ssh` or `.env*`, never are."
    ),
)
ALLOW_CREDENTIAL_FILES = InputSpec(
    name="allow-credential-files",
    group=Group.FILES,
    targets=ALL_TARGETS,
    parser=parsers.boolean,
    default="false",
    help=(
        "Accept a key, a keystore or another file with a credential if an input names that "
        "very file. One that only a pattern or a folder includes is still refused. The file "
        "that this run logs in with, `gha-creds-*.json`, and anything in `.git` or `.ssh` or "
        "named `.env*` are never accepted."
    ),
)
MEDIA_TYPE = InputSpec(
    name="media-type",
    group=Group.FILES,
    targets=(METHOD,),
    parser=parsers.media_type,
    empty="",
    otherwise="by `metadata`, else by the file",
    help=(
        "Any method: the media type of the files, such as `text/html`. If it is not given, a "
        "type in `metadata` is used; if both are given, they must be the same."
    ),
)

# Google Play

PACKAGE_NAME: InputSpec[tuple[str, ...]] = InputSpec(
    name="package-name",
    group=Group.GOOGLE_PLAY,
    targets=(*TRACK_TARGETS, "play-internal-sharing", "play-data-safety", "check"),
    parser=parsers.list_of(parsers.package_name),
    empty=(),
    otherwise="read from the artifact",
    refuse_empty=RefuseEmpty(
        word="auto",
        effect="no app is named",
        accepted="the name of one app, such as `com.example.app`",
        targets=("play-rollout",),
        required_by=("play-rollout",),
    ),
    help=(
        "The app's package name; required if there is no artifact. `play`, `play-status` and "
        "`check` accept several: a release of several apps commits nothing until all are uploaded "
        "and validated, then commits them in this order, up to the first that Google refuses. "
        "`{package}` in a path stands for each app."
    ),
)
TRACKS: InputSpec[tuple[str, ...]] = InputSpec(
    name="tracks",
    group=Group.GOOGLE_PLAY,
    targets=(*TRACK_TARGETS, "check"),
    parser=parsers.list_of(parsers.track),
    empty=(),
    refuse_empty=RefuseEmpty(
        word="none",
        effect="no track is named",
        accepted=(
            "tracks, such as `internal`; `none` for a release without a track (`commit: "
            "false`) or only a listing"
        ),
        targets=("play", "play-rollout"),
        required_by=("play-rollout",),
    ),
    help=(
        "One or more tracks: `internal`, `alpha`, `beta`, `production`, `wear:production` and "
        "the like, or custom ones. Required to commit a release, so that nothing goes to "
        "production by accident; `play-rollout` takes exactly one."
    ),
)
STATUS: InputSpec[Status] = InputSpec(
    name="status",
    group=Group.GOOGLE_PLAY,
    targets=("play",),
    parser=parsers.choice(Status),
    empty="",
    otherwise="`completed`, or `inProgress` with `user-fraction`",
    refuse_empty=RefuseEmpty(
        word="auto",
        effect="the release's status would not be set",
        accepted=(
            "`completed`, `inProgress`, `halted`, `draft`; `auto` for `completed`, or "
            "`inProgress` with `user-fraction`"
        ),
    ),
    help=(
        "The release's status: `completed`, `inProgress`, `halted` or `draft`. It resumes a "
        "halted release only without `files` and `promote-from`."
    ),
)
USER_FRACTION = InputSpec(
    name="user-fraction",
    group=Group.GOOGLE_PLAY,
    targets=("play",),
    parser=parsers.fraction,
    empty=None,
    refuse_empty=RefuseEmpty(
        word="all",
        effect="the release would not be limited to a share of users",
        accepted="a share, such as `5%`; `100%` or `all` if all users are meant",
    ),
    help=(
        "The share of users who get a staged rollout, as `0.05` or `5%`: above 0 and below "
        "100 %. `100%` and `all` mean all users."
    ),
)
RELEASE_NAME = InputSpec(
    name="release-name",
    group=Group.GOOGLE_PLAY,
    targets=("play",),
    parser=parsers.line,
    empty="",
    otherwise="the tag",
    help="The name of the release.",
)
WHATS_NEW = InputSpec(
    name="whats-new",
    group=Group.GOOGLE_PLAY,
    targets=("play", "firebase-app-distribution"),
    parser=parsers.text,
    empty="",
    help=(
        "Release notes instead of a directory: a text in the app's default language, or "
        "`locale: text` as YAML. A path, another tool's JSON and the like are refused; text in "
        "quotes is used as it is. `firebase-app-distribution` accepts one text."
    ),
)
WHATS_NEW_DIRECTORY = InputSpec(
    name="whats-new-directory",
    group=Group.GOOGLE_PLAY,
    targets=("play", "play-listing-pull", "firebase-app-distribution"),
    parser=parsers.path,
    empty="",
    help=(
        "The folder of release notes, in one of three layouts. These are `whatsnew-<locale>`; "
        "fastlane's `<lang>/changelogs/<versionCode>.txt` or `default.txt`; and Gradle Play "
        "Publisher's `release-notes/<lang>/<track>.txt` or `default.txt`, with release names "
        "in `release-names/<track>.txt` or `default.txt`. `last-release` copies the notes of "
        "the newest release on the track. `play-listing-pull` writes the notes there, and "
        "`firebase-app-distribution` uses the only text there, or the one in en-US."
    ),
)
WHATS_NEW_OVERFLOW: InputSpec[NotesOverflow] = InputSpec(
    name="whats-new-overflow",
    group=Group.GOOGLE_PLAY,
    targets=("play",),
    parser=parsers.choice(NotesOverflow),
    default="error",
    help=(
        "What to do with release notes over Google Play's 500 characters: `error` ends the run "
        "before anything is sent; `cut` shortens them to the last paragraph, line, sentence or "
        "word that fits, with `…`, and the plan shows what is left out."
    ),
)
TESTERS: InputSpec[tuple[str, ...]] = InputSpec(
    name="testers",
    group=Group.GOOGLE_PLAY,
    targets=("play", "firebase-app-distribution"),
    parser=parsers.testers,
    empty=(),
    help=(
        "The Google Groups that test the closed tracks in `tracks`, by their e-mail "
        "addresses. They replace the present ones; the plan shows which are added and "
        "removed. For `firebase-app-distribution`: the people who get the build."
    ),
)
IN_APP_UPDATE_PRIORITY = InputSpec(
    name="in-app-update-priority",
    group=Group.GOOGLE_PLAY,
    targets=("play",),
    parser=parsers.integer(0, 5),
    empty=None,
    help="Priority of the in-app update, 0 to 5.",
)
MAPPING_FILE: InputSpec[parsers.FilesByVersion] = InputSpec(
    name="mapping-file",
    group=Group.GOOGLE_PLAY,
    targets=("play",),
    parser=parsers.version_files,
    empty=(),
    help=(
        "The R8 or ProGuard mapping: one path for one artifact, a path with `{version-code}` "
        "or `{name}`, or lines `42=path`. `{name}` is the artifact's file name without its "
        "extension. An APK needs it, and so does a bundle that a tool other than R8 obfuscated: R8 "
        "puts its mapping into the bundle."
    ),
)
DEBUG_SYMBOLS: InputSpec[parsers.FilesByVersion] = InputSpec(
    name="debug-symbols",
    group=Group.GOOGLE_PLAY,
    targets=("play",),
    parser=parsers.version_files,
    empty=(),
    help="The native symbols: a zip file or a folder, given in the same ways as `mapping-file`.",
)
EXPANSION_FILE_MAIN = InputSpec(
    name="expansion-file-main",
    group=Group.GOOGLE_PLAY,
    targets=("play",),
    parser=parsers.expansion_file,
    empty="",
    help="The main expansion file: a path, or `references:<versionCode>`.",
)
EXPANSION_FILE_PATCH = InputSpec(
    name="expansion-file-patch",
    group=Group.GOOGLE_PLAY,
    targets=("play",),
    parser=parsers.expansion_file,
    empty="",
    help="The patch expansion file: a path, or `references:<versionCode>`.",
)
IMAGES_DIRECTORY = InputSpec(
    name="images-directory",
    group=Group.GOOGLE_PLAY,
    targets=("play", "play-listing-pull"),
    parser=parsers.path,
    empty="",
    help=(
        "The folder of listing images and texts, in fastlane's layout. Only what differs is "
        "sent. `play-listing-pull` writes to it."
    ),
)
IMAGES_PRUNE: InputSpec[ImagesPrune] = InputSpec(
    name="images-prune",
    group=Group.GOOGLE_PLAY,
    targets=("play",),
    parser=parsers.images_prune,
    default="false",
    help=(
        "`true`: remove listing images that are not in the folder, and keep the folder's "
        "order, for each language and image type of which the folder has an image. "
        "`everywhere`: also remove images of the languages and types that the folder lacks."
    ),
)
VERSION_CODES_TO_RETAIN: InputSpec[tuple[str, ...]] = InputSpec(
    name="version-codes-to-retain",
    group=Group.GOOGLE_PLAY,
    targets=("play",),
    parser=parsers.list_of(parsers.version_code, parsers.LAST_RELEASE),
    empty=(),
    refuse_empty=RefuseEmpty(
        word="none",
        effect="no version would be kept along with the new ones",
        accepted="version codes; `none` to keep none",
    ),
    help=(
        "Version codes to keep on the track along with the new ones; `last-release` means "
        "those of its last completed release."
    ),
)
COUNTRIES: InputSpec[tuple[str, ...]] = InputSpec(
    name="countries",
    group=Group.GOOGLE_PLAY,
    targets=("play",),
    parser=parsers.list_of(parsers.country),
    empty=(),
    refuse_empty=RefuseEmpty(
        word="all",
        effect="the release would not be limited to countries",
        accepted="codes, such as `DE`; `all` if all countries are meant",
    ),
    help=(
        "The countries of the release: two-letter codes, and `rest-of-world`. A release that is "
        "already on the track keeps its countries unless you set others."
    ),
)
PROMOTE_FROM = InputSpec(
    name="promote-from",
    group=Group.GOOGLE_PLAY,
    targets=("play",),
    parser=parsers.track,
    empty="",
    refuse_empty=RefuseEmpty(
        word="none",
        effect="nothing would be promoted",
        accepted="a track; `none` if no promotion is meant",
    ),
    help=(
        "Promote the release on this track instead of uploading files. It keeps its version "
        "codes, name, notes and priority unless you set them."
    ),
)
PROMOTE_VERSION_CODES: InputSpec[tuple[str, ...]] = InputSpec(
    name="promote-version-codes",
    group=Group.GOOGLE_PLAY,
    targets=("play",),
    parser=parsers.list_of(parsers.version_code),
    empty=(),
    refuse_empty=RefuseEmpty(
        word="all",
        effect="the whole release would be promoted",
        accepted="version codes; `all` if the whole release is meant",
    ),
    help=(
        "Promote these versions from the track in `promote-from`, instead of its newest "
        "release. A version that is no longer on the track can be promoted as long as Google "
        "Play lists its artifact."
    ),
)
CREATE_TRACKS = InputSpec(
    name="create-tracks",
    group=Group.GOOGLE_PLAY,
    targets=("play",),
    parser=parsers.boolean,
    default="false",
    help="Create the closed tracks in `tracks` that the app does not have, in the same edit.",
)
REPLACE_ROLLOUT = InputSpec(
    name="replace-rollout",
    group=Group.GOOGLE_PLAY,
    targets=("play",),
    parser=parsers.boolean,
    default="false",
    help="Allow the release to replace one whose rollout is in progress.",
)
ON_VERSION_CONFLICT: InputSpec[OnVersionConflict] = InputSpec(
    name="on-version-conflict",
    group=Group.GOOGLE_PLAY,
    targets=("play",),
    parser=parsers.choice(OnVersionConflict),
    default="reuse",
    help=(
        "What to do if the version code was uploaded before: `reuse` or `fail`. Only an "
        "artifact with the same SHA-256 is reused."
    ),
)
EXISTING_EDIT_ID = InputSpec(
    name="existing-edit-id",
    group=Group.GOOGLE_PLAY,
    targets=TRACK_TARGETS,
    parser=parsers.word,
    empty="",
    refuse_empty=RefuseEmpty(
        word="none",
        effect="this run would open a new edit",
        accepted="the id of an edit; `none` if a new edit is meant",
    ),
    help="Use this open edit instead of a new one.",
)
COMMIT = InputSpec(
    name="commit",
    group=Group.GOOGLE_PLAY,
    targets=("play", "play-rollout"),
    parser=parsers.boolean,
    default="true",
    refuse_empty=RefuseEmpty(
        word="true",
        effect="the edit would be committed",
        accepted="`true` or `false`",
    ),
    help="Commit the edit. With `false` it stays open, and its id is the output `edit-id`.",
)
CHANGES_NOT_SENT_FOR_REVIEW: InputSpec[NotSentForReview] = InputSpec(
    name="changes-not-sent-for-review",
    group=Group.GOOGLE_PLAY,
    targets=("play", "play-rollout"),
    parser=parsers.choice(NotSentForReview),
    default="auto",
    refuse_empty=RefuseEmpty(
        word="auto",
        effect="the changes would be sent for review",
        accepted="`auto` (as Google requires), `true` or `false`",
    ),
    help="`auto` (as Google requires), `true` or `false`.",
)
CHANGES_IN_REVIEW: InputSpec[ChangesInReview] = InputSpec(
    name="changes-in-review",
    group=Group.GOOGLE_PLAY,
    targets=("play", "play-rollout"),
    parser=parsers.choice(ChangesInReview),
    default="error",
    help="If changes are in review: `error` leaves them alone, `cancel` withdraws them.",
)
EXPECTED_CERTIFICATE = InputSpec(
    name="expected-certificate",
    group=Group.GOOGLE_PLAY,
    targets=(*TRACK_TARGETS, "play-internal-sharing"),
    parser=parsers.certificate,
    empty="",
    refuse_empty=RefuseEmpty(
        word="any",
        effect="any certificate would be accepted",
        accepted="the SHA-256 of a certificate; `any` if any certificate is accepted",
    ),
    help=(
        "SHA-256 of the certificate that must have signed the artifacts, with or without "
        "colons. `keytool` and the Play Console show it."
    ),
)
WAIT_FOR: InputSpec[WaitFor] = InputSpec(
    name="wait-for",
    group=Group.GOOGLE_PLAY,
    targets=("play", "play-status"),
    parser=parsers.choice(WaitFor),
    empty="",
    help=(
        "Wait for the review, after the commit or with `play-status` alone: `approved` or "
        "`published`. With managed publishing, someone has to publish what is approved in the "
        "Play Console. If the release is rejected, the run ends with exit code 6; if "
        "`wait-deadline` passes first, with 75."
    ),
)
WAIT_DEADLINE = InputSpec(
    name="wait-deadline",
    group=Group.GOOGLE_PLAY,
    targets=("play", "play-status", "play-verify", "firebase-app-distribution", METHOD),
    parser=parsers.duration(0, 7 * DAY),
    default="30m",
    help=(
        "How long to wait for the review, for the APKs that Google Play generates, or until a "
        "service has processed a file; `0s` checks once. The next run continues to wait."
    ),
)
UNIVERSAL_APK = InputSpec(
    name="universal-apk",
    group=Group.GOOGLE_PLAY,
    targets=("play", "play-status"),
    parser=parsers.version_path,
    empty="",
    help=(
        "Where to write the universal APK that Google Play generates from the bundle and "
        "signs. With several bundles, the path needs `{version-code}`. `play-status` fetches "
        "the one of the newest release."
    ),
)
VERIFY = InputSpec(
    name="verify",
    group=Group.GOOGLE_PLAY,
    targets=("play",),
    parser=parsers.boolean,
    default="false",
    refuse_empty=RefuseEmpty(
        word="false",
        effect="what Google Play serves would not be compared",
        accepted="`true` or `false`",
    ),
    help=(
        "`true`: after the commit, compare what Google Play serves with the bundles that were "
        "built, as `play-verify` does. The release stays, whatever the result."
    ),
)
APKS: InputSpec[tuple[str, ...]] = InputSpec(
    name="apks",
    group=Group.GOOGLE_PLAY,
    targets=("play-verify",),
    parser=parsers.items,
    empty=(),
    refuse_empty=RefuseEmpty(
        word="served",
        effect="the APKs that Google Play generated would be compared instead",
        accepted="paths, such as `served/*.apk`; `served` for those of Google Play",
    ),
    help=(
        "`play-verify`: paths and globs of existing APKs, such as those that `adb pull` fetched "
        "from a phone. They are compared without a login. Without this input, or with `served`, "
        "the run fetches and compares all APKs that Google Play has generated."
    ),
)
REQUIRE_UNPROTECTED = InputSpec(
    name="require-unprotected",
    group=Group.GOOGLE_PLAY,
    targets=("play", "play-verify"),
    parser=parsers.boolean,
    default="false",
    refuse_empty=RefuseEmpty(
        word="false",
        effect="code that automatic protection rewrote would be accepted",
        accepted="`true` or `false`",
    ),
    help=(
        "`play-verify` and `verify`: `true` ends the run with 6 if Google Play's automatic "
        "protection has rewritten the code."
    ),
)
ROLLOUT_STEPS: InputSpec[tuple[float, ...]] = InputSpec(
    name="rollout-steps",
    group=Group.GOOGLE_PLAY,
    targets=("play-rollout",),
    parser=parsers.rollout_steps,
    empty=(),
    help=(
        "`play-rollout`: ascending shares of the users, such as `1%, 5%, 20%, 50%, 100%` or "
        "`0.01, 0.05`. Each run goes at most one step further; `100%` completes the release."
    ),
)
HALT_ABOVE: InputSpec[tuple[parsers.Limit, ...]] = InputSpec(
    name="halt-above",
    group=Group.GOOGLE_PLAY,
    targets=("play-rollout", "check"),
    parser=parsers.limits,
    empty=(),
    refuse_empty=RefuseEmpty(
        word="none",
        effect="nothing would halt the rollout",
        accepted="limits, such as `crash-rate 1.09%`; `none` if nothing should halt the rollout",
    ),
    help=(
        "`play-rollout`: limits such as `crash-rate 1.09%`, `anr-rate 0.47%` or `crash-rate "
        "1.5x`. One per line or separated by commas; `1.5x` means 1.5 times the rate of the "
        "completed release. `check` tests whether the measurements can be read."
    ),
)
GATE: InputSpec[GateAction] = InputSpec(
    name="gate",
    group=Group.GOOGLE_PLAY,
    targets=("play-rollout",),
    parser=parsers.choice(GateAction),
    default="halt",
    refuse_empty=RefuseEmpty(
        word="halt",
        effect="nothing says what to do above a limit",
        accepted="`halt` or `report`",
    ),
    help="`play-rollout`: what to do above a limit: `halt` halts the rollout (exit code 6); "
    "`report` only warns, and takes the next step all the same, even if nothing was measured.",
)
GATE_MIN_USERS = InputSpec(
    name="gate-min-users",
    group=Group.GOOGLE_PLAY,
    targets=("play-rollout",),
    parser=parsers.integer(1, 1000000000),
    default="100",
    help="`play-rollout`: days with fewer users than this are ignored.",
)
GATE_PERIOD = InputSpec(
    name="gate-period",
    group=Group.GOOGLE_PLAY,
    targets=("play-rollout",),
    parser=parsers.integer(1, 28),
    default="2",
    help="`play-rollout`: how many days of measurements to use, counted back from the newest.",
)
GATE_MAX_AGE = InputSpec(
    name="gate-max-age",
    group=Group.GOOGLE_PLAY,
    targets=("play-rollout",),
    parser=parsers.duration(3600, 28 * DAY),
    default="72h",
    help=(
        "`play-rollout`: how old the newest day of measurements may be. If it is older, the run "
        "holds the rollout."
    ),
)

# Firebase App Distribution

FIREBASE_APP = InputSpec(
    name="firebase-app",
    group=Group.FIREBASE,
    targets=("firebase-app-distribution",),
    parser=parsers.firebase_app,
    empty="",
    help=(
        "The id of the app in Firebase, such as `1:1234567890:android:0a1b2c3d`: see Project "
        "settings in the Firebase console, or `mobilesdk_app_id` in google-services.json. The "
        "project is the number in the id, unless `params` names another as `project: …`."
    ),
)
TESTER_GROUPS: InputSpec[tuple[str, ...]] = InputSpec(
    name="tester-groups",
    group=Group.FIREBASE,
    targets=("firebase-app-distribution",),
    parser=parsers.list_of(parsers.group_alias),
    empty=(),
    help=(
        "The groups of testers who get the build, by their aliases, which the Firebase console "
        "shows next to the names of the groups."
    ),
)

# Gmail (files are the attachments)

GMAIL_ACTION: InputSpec[GmailAction] = InputSpec(
    name="gmail-action",
    group=Group.GMAIL,
    targets=("gmail",),
    parser=parsers.choice(GmailAction),
    default="send",
    refuse_empty=RefuseEmpty(
        word="send",
        effect="the mail would be sent",
        accepted="`send`, `draft`, `draft-update`, `draft-send`, `insert` or `import`",
    ),
    help=(
        "`send`, `draft`, `draft-update`, `draft-send`, `insert` or `import`. `files` are the "
        "attachments."
    ),
)
MESSAGE_FILE = InputSpec(
    name="message-file",
    group=Group.GMAIL,
    targets=("gmail",),
    parser=parsers.path,
    empty="",
    help="An RFC 822 message (.eml), instead of the `mail-…` inputs.",
)
MAIL_FROM = InputSpec(
    name="mail-from",
    group=Group.GMAIL,
    targets=("gmail",),
    parser=parsers.line,
    empty="",
    help="The sender.",
)
MAIL_TO = InputSpec(
    name="mail-to",
    group=Group.GMAIL,
    targets=("gmail",),
    parser=parsers.line,
    empty="",
    help="The recipients, separated by commas.",
)
MAIL_CC = InputSpec(
    name="mail-cc",
    group=Group.GMAIL,
    targets=("gmail",),
    parser=parsers.line,
    empty="",
    help="The Cc recipients, separated by commas.",
)
MAIL_BCC = InputSpec(
    name="mail-bcc",
    group=Group.GMAIL,
    targets=("gmail",),
    parser=parsers.line,
    empty="",
    help="The Bcc recipients, separated by commas.",
)
MAIL_SUBJECT = InputSpec(
    name="mail-subject",
    group=Group.GMAIL,
    targets=("gmail",),
    parser=parsers.line,
    empty="",
    help="The subject.",
)
MAIL_BODY = InputSpec(
    name="mail-body",
    group=Group.GMAIL,
    targets=("gmail",),
    parser=parsers.text,
    empty="",
    help="The plain-text body.",
)
MAIL_BODY_FILE = InputSpec(
    name="mail-body-file",
    group=Group.GMAIL,
    targets=("gmail",),
    parser=parsers.path,
    empty="",
    help=(
        "A file with the plain-text body, instead of `mail-body`. `file:PATH` in `mail-body` "
        "is deprecated: it still works, with a warning."
    ),
)
MAIL_HTML = InputSpec(
    name="mail-html",
    group=Group.GMAIL,
    targets=("gmail",),
    parser=parsers.text,
    empty="",
    help="The HTML body.",
)
MAIL_HTML_FILE = InputSpec(
    name="mail-html-file",
    group=Group.GMAIL,
    targets=("gmail",),
    parser=parsers.path,
    empty="",
    help="A file with the HTML body, instead of `mail-html`.",
)
DRAFT_ID = InputSpec(
    name="draft-id",
    group=Group.GMAIL,
    targets=("gmail",),
    parser=parsers.word,
    empty="",
    help="The draft to update or to send.",
)
USER_ID = InputSpec(
    name="user-id",
    group=Group.GMAIL,
    targets=("gmail",),
    parser=parsers.word,
    default="me",
    help="The mailbox; `me` is the user who is logged in or impersonated.",
)

# Play Games, OTA, any upload method

RESOURCE_ID = InputSpec(
    name="resource-id",
    group=Group.OTHERS,
    targets=("play-games",),
    parser=parsers.word,
    empty="",
    help="Play Games: the id of the achievement or leaderboard.",
)
IMAGE_TYPE: InputSpec[ImageType] = InputSpec(
    name="image-type",
    group=Group.OTHERS,
    targets=("play-games",),
    parser=parsers.choice(ImageType),
    empty="",
    help="Play Games: `ACHIEVEMENT_ICON` or `LEADERBOARD_ICON`.",
)
DEPLOYMENT = InputSpec(
    name="deployment",
    group=Group.OTHERS,
    targets=("ota",),
    parser=parsers.deployment,
    empty="",
    help="OTA: the id of the deployment, with or without `deployments/` before it.",
)
PACKAGE_TITLE = InputSpec(
    name="package-title",
    group=Group.OTHERS,
    targets=("ota",),
    parser=parsers.line,
    empty="",
    help="OTA: the title of the package.",
)
PARAMS = InputSpec(
    name="params",
    group=Group.OTHERS,
    targets=("firebase-app-distribution", METHOD),
    parser=parsers.text,
    empty="",
    help=(
        "Any method: a YAML or JSON map of its path and query parameters. Firebase App "
        "Distribution: `project`, or the whole `app`."
    ),
)
METADATA = InputSpec(
    name="metadata",
    group=Group.OTHERS,
    targets=("gmail", "play-games", METHOD),
    parser=parsers.text,
    empty="",
    help=(
        "JSON that is sent along with the file. For any method it is the metadata part, for "
        'Play Games the image\'s resource, and for Gmail `{"threadId": …, "labelIds": […]}`, or '
        'for a draft `{"message": {…}}` containing these. For Gmail it can also contain the '
        "whole mail as `raw`, in base64url, instead of an upload."
    ),
)

SPECS: tuple[InputSpec[Any], ...] = tuple(
    row for row in list(globals().values()) if isinstance(row, InputSpec)
)
"""Every row, in the order above."""
