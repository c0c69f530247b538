"""The table of inputs: reading, `--help`, the actions' metadata, GitLab's component and reference
are made of it.
"""

# Without `annotations` from the future: the generators read the types of the fields as they are.

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from uploader.inputs import parsers
from uploader.inputs.platform import Platform

T = TypeVar("T")
Record = TypeVar("Record", bound="CommonInputs")
Show = Literal["", "usage", "help", "version"]
UploadProtocol = Literal["auto", "resumable", "multipart", "simple"]
Status = Literal["", "completed", "inProgress", "halted", "draft"]
OnVersionConflict = Literal["reuse", "fail"]
NotSentForReview = Literal["auto", "true", "false"]
ImagesPrune = Literal["false", "true", "everywhere"]
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
    "play-internal-sharing",
    "play-data-safety",
    "gmail",
    "play-games",
    "ota",
)
METHOD = "any upload method"  # whatever target is none of these: the id of a method
WITH_FILES = (
    "play",
    "play-internal-sharing",
    "play-data-safety",
    "gmail",
    "play-games",
    "ota",
    METHOD,
)
"""The targets that do something with `files`; the others refuse them."""
DAY = 86_400  # seconds


@dataclass(frozen=True)
class Group:
    """Inputs that belong together: their heading in the help, and the targets that read them (none:
    every target).
    """

    heading: str
    targets: tuple[str, ...] = ()


ALL = Group("Every target")
TRANSFER = Group("The transfer")
FILES = Group("Files and machines")
PLAY = Group("Google Play", ("play",))
PLAY_TRACKS = replace(PLAY, targets=("play", "play-status", "play-rollout", "play-listing-pull"))
PLAY_SIGNED = replace(PLAY, targets=(*PLAY_TRACKS.targets, "play-internal-sharing"))
PLAY_APP = replace(PLAY, targets=(*PLAY_SIGNED.targets, "play-data-safety"))
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
HEADINGS = tuple(group.heading for group in (ALL, TRANSFER, FILES, PLAY, GMAIL, GAMES))


@dataclass(frozen=True)
class LeftOut:
    """What leaving an input out means, for an input whose empty text is a mistake.

    Taken for "not given", the empty text would make the run do more or check less. `word` is
    accepted as "not given", and is the default in the actions and in GitLab's component: so what
    was left out differs from what came out empty. `effect` completes "is empty, so …"; `accepted`
    says what to write instead. An empty text is refused for the `targets`; with none, for every
    target that reads the input. Those in `required_by` need a value and refuse the word, too.
    """

    word: str
    effect: str
    accepted: str
    targets: tuple[str, ...] = ()
    required_by: tuple[str, ...] = ()


# One for each of those inputs, by its attribute.
LEFT_OUT: Mapping[str, LeftOut] = {
    "files": LeftOut(
        "none",
        "nothing would be uploaded",
        "paths, such as `app.aab`; `none` if no files are meant",
        WITH_FILES,
        ("play-internal-sharing", "play-data-safety", "ota", "play-games"),
    ),
    "dry_run": LeftOut(
        "false",
        "the run would have its full effect",
        "`true` or `false`",
        # which changes nothing
        tuple(target for target in (*TARGETS, METHOD) if target != "play-status"),
    ),
    "api_endpoint": LeftOut(
        "google",
        "the requests would go to Google's own servers",
        "a root URL, or `emulator`; `google` if Google's own servers are meant",
    ),
    "package_name": LeftOut(
        "auto",
        "no app is named",
        "the name of one app, such as `com.example.app`",
        ("play-rollout",),
        ("play-rollout",),
    ),
    "tracks": LeftOut(
        "none",
        "no track is named",
        "tracks, such as `internal`; `none` for a release without a track (`commit: false`) or a "
        "listing alone",
        ("play", "play-rollout"),
        ("play-rollout",),
    ),
    "status": LeftOut(
        "auto",
        "nothing would say what becomes of the release",
        "`completed`, `inProgress`, `halted`, `draft`; `auto` for `completed`, or `inProgress` "
        "with `user-fraction`",
    ),
    "user_fraction": LeftOut(
        "all",
        "the release would not be limited to a share of users",
        "a share, such as `5%`; `100%` or `all` if all users are meant",
    ),
    "version_codes_to_retain": LeftOut(
        "none",
        "no version would be kept beside the new ones",
        "version codes; `none` if none are to be kept",
    ),
    "countries": LeftOut(
        "all",
        "the release would not be limited to countries",
        "codes, such as `DE`; `all` if all countries are meant",
    ),
    "promote_from": LeftOut(
        "none", "nothing would be promoted", "a track; `none` if no promotion is meant"
    ),
    "promote_version_codes": LeftOut(
        "all",
        "the whole release would be promoted",
        "version codes; `all` if the whole release is meant",
    ),
    "existing_edit_id": LeftOut(
        "none",
        "this run would work in an edit of its own",
        "the id of an edit; `none` if a new edit is meant",
    ),
    "commit": LeftOut("true", "the edit would be committed", "`true` or `false`"),
    "changes_not_sent_for_review": LeftOut(
        "auto",
        "the changes would be sent for review",
        "`auto` (as Google requires), `true` or `false`",
    ),
    "expected_certificate": LeftOut(
        "any",
        "any certificate would be accepted",
        "the SHA-256 of a certificate; `any` if any certificate is accepted",
    ),
    "halt_above": LeftOut(
        "none",
        "nothing would halt the rollout",
        "limits, such as `crash-rate 1.09%`; `none` if nothing is to halt the rollout",
    ),
    "gate": LeftOut("halt", "nothing says what is to be done above a limit", "`halt` or `report`"),
    "gmail_action": LeftOut(
        "send",
        "the mail would be sent",
        "`send`, `draft`, `draft-update`, `draft-send`, `insert` or `import`",
    ),
}


@dataclass(frozen=True)
class Field:
    """One row of the table.

    `default` is in writing; `otherwise` says what counts without a value where no default can be
    written. A `secret` is never shown, not even when it is wrong, and is no option: the list of
    processes would show it to other users. People find the row `after` another one where its own
    record has another place for it.
    """

    attribute: str
    group: Group
    parse: Callable[[str], object]
    default: str
    meaning: str
    otherwise: str = ""
    secret: bool = False
    many: bool = False
    after: str = ""

    @property
    def name(self) -> str:
        """The contract's name."""
        return self.attribute.replace("_", "-")

    @property
    def variables(self) -> tuple[str, str, str]:
        """The variables under which the value may come, first found wins; only GitHub's runner
        passes a hyphen on.
        """
        plain = self.attribute.upper()
        return f"INPUT_{self.name.upper()}", f"INPUT_{plain}", f"UPLOADER_{plain}"

    @property
    def option(self) -> str:
        """The name on the command line, where it `is_option`; it goes before the variables."""
        return f"--{self.name}"

    @property
    def is_option(self) -> bool:
        """Whether the command line may hold it."""
        return self.name not in ("credentials", "state-key")

    @property
    def left_out(self) -> LeftOut | None:
        """What leaving it out means, where an empty text is a mistake."""
        return LEFT_OUT.get(self.attribute)

    @property
    def written_default(self) -> str:
        """What stands for the input where it is left out; empty where nothing can be written."""
        return self.left_out.word if self.left_out else self.default

    @property
    def switch(self) -> bool:
        """Whether it is true or false."""
        return self.default in parsers.BOOLEANS

    @property
    def short(self) -> str:
        """The first sentence of its meaning, without marks."""
        return self.meaning.split(". ", maxsplit=1)[0].rstrip(".").replace("`", "") + "."


def _given(group: Group, parse: Callable[[str], T], default: str, meaning: str, **more: Any) -> T:
    """An input whose default is a value that people could write themselves."""
    row = partial(Field, group=group, parse=parse, default=default, meaning=meaning, **more)
    return field(default=parse(default), metadata={"row": row})


def _optional(group: Group, parse: Callable[[str], T], empty: T, meaning: str, **more: Any) -> T:
    """An input that may stay empty."""
    row = partial(
        Field, group=group, parse=parse, default="", meaning=meaning, many=empty == (), **more
    )
    return field(default=empty, metadata={"row": row})


# One record for each reader: `Inputs.part` makes it, and it holds nothing else.
# A row is read as one: the type, the parser and the default, and below them the meaning.
@dataclass(frozen=True, repr=False)
class CommonInputs:
    """What every target reads."""

    target: str = _optional(
        ALL,
        parsers.target(TARGETS),
        "",
        "`play`, `play-internal-sharing`, `play-data-safety`, `gmail`, `play-games`, `ota`, or any "
        "Google upload method. Such a method is named by its id: `drive.files.create`, "
        "`storage.objects.insert`. Without files: `play-status` reports what is on Google Play, "
        "`play-rollout` takes a staged rollout one step further, `play-listing-pull` writes the "
        "live store listing to files.",
    )
    files: tuple[str, ...] = _optional(
        ALL,
        parsers.items,
        (),
        "Paths and globs (including `**`) relative to the workspace, one per line or separated by "
        "commas. Use `?` for a comma in a name. Files are sent in the order of the patterns, "
        "sorted within each pattern, and each file once; folders are skipped. A pattern that "
        "matches nothing is an error. `gha-creds-*.json` is never uploaded, nor is a key or a "
        "keystore because a pattern matched it: `allow-credential-files`. `-` or a named pipe is a "
        "stream of unknown size.",
        after="impersonate_user",
    )
    dry_run: bool = _given(
        ALL,
        parsers.boolean,
        "false",
        "Do everything except the final, irreversible step. It runs the offline checks; for Play "
        "it then uploads to a temporary edit, validates it and deletes it, and for other targets "
        "it only obtains a token.",
        after="files",
    )
    upload_protocol: UploadProtocol = _given(
        TRANSFER,
        parsers.choice(UploadProtocol),
        "auto",
        "`auto`, `resumable`, `multipart` or `simple`. `auto` means resumable, except where the "
        "method does not support it, or where the file has at most 1 MiB and repeating the upload "
        "would replace it instead of adding another. A mail is always resumable.",
    )
    api_endpoint: str = _optional(
        TRANSFER,
        parsers.endpoint,
        "",
        "Another root URL for the API: https, or http on loopback. On loopback the token exchange "
        "of a keyless login goes there too. `emulator` starts the embedded emulator inside this "
        "run, and nothing is published.",
        otherwise="the API's own",
        after="state_key",
    )
    shard: tuple[int, int] | None = _optional(
        FILES,
        parsers.shard,
        None,
        "Upload only this part of the files, such as `2/5` for the second of five. The split is "
        "the same in every job of a "
        "matrix.",
        otherwise="GitLab's `CI_NODE_INDEX/CI_NODE_TOTAL`, else all",
    )

    def __repr__(self) -> str:
        # its values may hold credentials, also where none belong
        return f"{type(self).__name__}(…)"

    @property
    def rehearsal(self) -> bool:
        """Whether all of it happens inside this process, against the embedded emulator."""
        return self.api_endpoint == parsers.EMULATOR


@dataclass(frozen=True, repr=False)
class LoginInputs(CommonInputs):
    """What a login reads. No target is given any of it."""

    credentials: str = _optional(
        ALL,
        parsers.text,
        "",
        "A service-account key or any other google-auth credential configuration: JSON, its "
        "base64, or a path.",
        otherwise="`GOOGLE_APPLICATION_CREDENTIALS`, else application default credentials",
        secret=True,
    )
    workload_identity_provider: str = _optional(
        ALL,
        parsers.provider,
        "",
        "Keyless login: the resource name of the provider that trusts the CI system's OIDC token. "
        "On GitHub the job needs `permissions: id-token: write`.",
        secret=True,
    )
    service_account: str = _optional(
        ALL,
        parsers.address,
        "",
        "Keyless login: the e-mail address of the service account to act as.",
    )
    impersonate_user: str = _optional(
        ALL,
        parsers.address,
        "",
        "The e-mail address of the user to act as, through domain-wide delegation (Gmail).",
    )
    platform: Platform = Platform()


@dataclass(frozen=True, repr=False)
class TransferInputs(CommonInputs):
    """How to transfer."""

    chunk_size: int | None = _given(
        TRANSFER,
        parsers.size,
        "auto",
        "Bytes per request, such as `8MiB`, rounded to the service's granularity. With `auto` the "
        "whole file goes in one request, after an interruption the rest in chunks of growing size "
        "(OTA: first in one again).",
    )
    concurrency: int | None = _given(
        TRANSFER,
        parsers.files_at_once,
        "auto",
        "How many files to upload at once, 1 to 64, if the service allows it. `auto` is 16 for "
        "files of at most 8 MiB, and 4 for larger ones and for what changes one Play edit.",
    )
    max_retries: int = _given(
        TRANSFER,
        parsers.integer(0, 100),
        "5",
        "How many retries without progress before giving up, 0 to 100.",
    )
    retry_deadline: float = _given(
        TRANSFER,
        parsers.duration(0, 7 * DAY),
        "30m",
        "Stop retrying this long after the run's first request, such as `90s`, `30m` or `2h`. "
        "Where the next wait would pass it, the file has failed, and no further file is begun; the "
        "run ends with 75. As long as nothing fails, a run may take longer.",
    )
    stall_timeout: float = _given(
        TRANSFER,
        parsers.duration(1, DAY),
        "60s",
        "Treat a connection as broken, or a pipe as silent, after this long without any data.",
    )
    finalize_timeout: float = _given(
        TRANSFER,
        parsers.duration(1, DAY),
        "10m",
        "How long to wait for the response after the last byte.",
    )


@dataclass(frozen=True, repr=False)
class StatusInputs(CommonInputs):
    """What `play-status` reads, and the others that look at tracks or change them, if only to
    refuse it.

    `lasting_state` as in `Inputs`.
    """

    package_name: tuple[str, ...] = _optional(
        PLAY_APP,
        parsers.each(parsers.package_name),
        (),
        "The app's package name; required where no artifact is sent. `play` and `play-status` take "
        "several: a release of several apps is committed for all of them or for none, in this "
        "order, and `{package}` in a path stands for each of "
        "them.",
        otherwise="read from the artifact",
    )
    tracks: tuple[str, ...] = _optional(
        PLAY_TRACKS,
        parsers.each(parsers.track),
        (),
        "One or more tracks: `internal`, `alpha`, `beta`, `production`, `wear:production` and the "
        "like, or custom ones. Required to commit a release, so that nothing goes to production by "
        "accident; `play-rollout` takes exactly one.",
    )
    status: Status = _optional(
        PLAY,
        parsers.choice(Status),
        "",
        "The release's status: `completed`, `inProgress`, `halted` or `draft`. Only without "
        "`files` and `promote-from` it goes on with a release that was halted.",
        otherwise="`completed`, or `inProgress` with `user-fraction`",
    )
    user_fraction: float | None = _optional(
        PLAY,
        parsers.fraction,
        None,
        "The share of users who get a staged rollout, as `0.05` or `5%`: above 0 and below 100 %. "
        "`100%` and `all` mean all users.",
    )
    existing_edit_id: str = _optional(
        PLAY_TRACKS,
        parsers.word,
        "",
        "Use this open edit instead of a new one.",
        after="on_version_conflict",
    )
    commit: bool = _given(
        PLAY_COMMIT,
        parsers.boolean,
        "true",
        "Commit the edit. With `false` it is left open, and its id is the output `edit-id`.",
        after="existing_edit_id",
    )
    changes_not_sent_for_review: NotSentForReview = _given(
        PLAY_COMMIT,
        parsers.choice(NotSentForReview),
        "auto",
        "`auto` (as Google requires), `true` or `false`.",
        after="commit",
    )
    changes_in_review: ChangesInReview = _given(
        PLAY_COMMIT,
        parsers.choice(ChangesInReview),
        "error",
        "When changes are in review: `error` leaves them alone, `cancel` withdraws them.",
        after="changes_not_sent_for_review",
    )
    wait_for: WaitFor = _optional(
        PLAY_OR_STATUS,
        parsers.choice(WaitFor),
        "",
        "Wait for the review, after the commit or with `play-status` alone: `approved` or "
        "`published`. A rejected release ends with exit code 6, an elapsed `wait-deadline` with "
        "75.",
        after="expected_certificate",
    )
    wait_deadline: float = _given(
        PLAY_OR_STATUS,
        parsers.duration(0, 7 * DAY),
        "30m",
        "How long to wait for the review, or for the universal APK; `0s` checks once.",
        after="wait_for",
    )
    universal_apk: str = _optional(
        PLAY_OR_STATUS,
        parsers.version_path,
        "",
        "Where to write the universal APK that Google Play generates from the bundle and signs. "
        "With several bundles the path needs `{version-code}`. With `play-status` it is the one of "
        "the newest release.",
        after="wait_deadline",
    )
    lasting_state: bool = False


@dataclass(frozen=True, repr=False)
class ReleaseInputs(StatusInputs):
    """What `play` reads, for one app; `tag` is the one that the CI system builds."""

    release_name: str = _optional(
        PLAY, parsers.line, "", "The name of the release.", otherwise="the tag"
    )
    whats_new: str = _optional(
        PLAY,
        parsers.text,
        "",
        "Release notes instead of a directory: a text in the app's default language, or `locale: "
        "text` as YAML. A path, JSON of another tool and the like are refused; what is in quotes "
        "is taken as it is.",
    )
    whats_new_directory: str = _optional(
        PLAY_LISTING,
        parsers.path,
        "",
        "The folder of release notes, in one of three layouts. These are `whatsnew-<locale>`; "
        "fastlane's `<lang>/changelogs/<versionCode>.txt` or `default.txt`; Gradle Play "
        "Publisher's `release-notes/<lang>/<track>.txt` or `default.txt`, with release names in "
        "`release-names/<track>.txt` or `default.txt`. `last-release` copies those of the newest "
        "release on the track. `play-listing-pull` writes them there.",
    )
    testers: tuple[str, ...] = _optional(
        PLAY,
        parsers.testers,
        (),
        "The Google Groups that test the closed tracks in `tracks`, by their e-mail addresses. "
        "They replace those that are there; the plan shows who is added and removed.",
    )
    in_app_update_priority: int | None = _optional(
        PLAY, parsers.integer(0, 5), None, "Priority of the in-app update, 0 to 5."
    )
    mapping_file: parsers.FilesByVersion = _optional(
        PLAY,
        parsers.version_files,
        (),
        "The R8 or ProGuard mapping: one path for one artifact, a path with `{version-code}` or "
        "`{name}`, or lines `42=path`. `{name}` is the artifact's file name without its extension. "
        "A bundle that contains its own mapping needs none.",
    )
    debug_symbols: parsers.FilesByVersion = _optional(
        PLAY,
        parsers.version_files,
        (),
        "The native symbols: a zip file or a folder, given in the same ways as `mapping-file`.",
    )
    expansion_file_main: str = _optional(
        PLAY,
        parsers.expansion_file,
        "",
        "The main expansion file: a path, or `references:<versionCode>`.",
    )
    expansion_file_patch: str = _optional(
        PLAY,
        parsers.expansion_file,
        "",
        "The patch expansion file: a path, or `references:<versionCode>`.",
    )
    images_directory: str = _optional(
        PLAY_LISTING,
        parsers.path,
        "",
        "The folder of listing images and texts, in fastlane's layout. Only what differs is sent. "
        "`play-listing-pull` writes to it.",
    )
    images_prune: ImagesPrune = _given(
        PLAY,
        parsers.images_prune,
        "false",
        "`true`: remove listing images that are not in the folder, and keep the folder's order, "
        "for each language and image type of which the folder has an image. `everywhere`: also "
        "remove images of the languages and types that the folder lacks.",
    )
    version_codes_to_retain: tuple[str, ...] = _optional(
        PLAY,
        parsers.each(parsers.version_code, parsers.LAST_RELEASE),
        (),
        "Version codes to keep on the track beside the new ones; `last-release` means those of its "
        "last completed release.",
    )
    countries: tuple[str, ...] = _optional(
        PLAY,
        parsers.each(parsers.country),
        (),
        "The countries of the release: two-letter codes, and `rest-of-world`.",
    )
    promote_from: str = _optional(
        PLAY,
        parsers.track,
        "",
        "Promote the release on this track instead of uploading files. Its version codes, name, "
        "notes and priority are taken over unless you set them.",
    )
    promote_version_codes: tuple[str, ...] = _optional(
        PLAY,
        parsers.each(parsers.version_code),
        (),
        "Promote these versions of the track named by `promote-from`, instead of its newest "
        "release.",
    )
    replace_rollout: bool = _given(
        PLAY,
        parsers.boolean,
        "false",
        "Allow the release to replace one whose rollout is in progress.",
    )
    on_version_conflict: OnVersionConflict = _given(
        PLAY,
        parsers.choice(OnVersionConflict),
        "reuse",
        "What to do if the version code was uploaded before: `reuse` or `fail`. Only an artifact "
        "with the same SHA-256 is reused.",
    )
    expected_certificate: str = _optional(
        PLAY_SIGNED,
        parsers.certificate,
        "",
        "SHA-256 of the certificate that must have signed the artifacts, with or without colons. "
        "`keytool` and the Play Console show it.",
    )
    tag: str = ""


@dataclass(frozen=True, repr=False)
class RolloutInputs(StatusInputs):
    """What `play-rollout` reads."""

    rollout_steps: tuple[float, ...] = _optional(
        ROLLOUT,
        parsers.rollout_steps,
        (),
        "`play-rollout`: ascending shares of the users, such as `1%, 5%, 20%, 50%, 100%` or `0.01, "
        "0.05`. Each run goes at most one step further; `100%` completes the release.",
    )
    halt_above: tuple[parsers.Limit, ...] = _optional(
        ROLLOUT,
        parsers.limits,
        (),
        "`play-rollout`: limits such as `crash-rate 1.09%`, `anr-rate 0.47%` or `crash-rate 1.5x`. "
        "One per line or separated by commas; `1.5x` means 1.5 times the rate of the completed "
        "release.",
    )
    gate: GateAction = _given(
        ROLLOUT,
        parsers.choice(GateAction),
        "halt",
        "`play-rollout`: what to do above a limit: `halt` the rollout, or only `report` it.",
    )
    gate_min_users: int = _given(
        ROLLOUT,
        parsers.integer(1, 1_000_000_000),
        "100",
        "`play-rollout`: days with fewer users than this are ignored.",
    )
    gate_period: int = _given(
        ROLLOUT,
        parsers.integer(1, 28),
        "2",
        "`play-rollout`: how many days of measurements to use, counted back from the newest.",
    )
    gate_max_age: float = _given(
        ROLLOUT,
        parsers.duration(3600, 28 * DAY),
        "72h",
        "`play-rollout`: how old the newest day of measurements may be. If it is older, the "
        "rollout is held.",
    )


@dataclass(frozen=True, repr=False)
class MailInputs(CommonInputs):
    """What `gmail` reads; `impersonated` says that the login is for a user, and so has a
    mailbox.
    """

    gmail_action: GmailAction = _given(
        GMAIL,
        parsers.choice(GmailAction),
        "send",
        "`send`, `draft`, `draft-update`, `draft-send`, `insert` or `import`. `files` are the "
        "attachments.",
    )
    message_file: str = _optional(
        GMAIL, parsers.path, "", "An RFC 822 message (.eml), instead of the `mail-…` inputs."
    )
    mail_from: str = _optional(GMAIL, parsers.line, "", "The sender.")
    mail_to: str = _optional(GMAIL, parsers.line, "", "The recipients, separated by commas.")
    mail_cc: str = _optional(GMAIL, parsers.line, "", "The Cc recipients, separated by commas.")
    mail_bcc: str = _optional(GMAIL, parsers.line, "", "The Bcc recipients, separated by commas.")
    mail_subject: str = _optional(GMAIL, parsers.line, "", "The subject.")
    mail_body: str = _optional(GMAIL, parsers.text, "", "The plain-text body.")
    mail_body_file: str = _optional(
        GMAIL,
        parsers.line,
        "",
        "A file with the plain-text body, instead of `mail-body`. `file:PATH` in `mail-body` is "
        "deprecated: it still works, with a warning.",
    )
    mail_html: str = _optional(GMAIL, parsers.text, "", "The HTML body.")
    mail_html_file: str = _optional(
        GMAIL, parsers.line, "", "A file with the HTML body, instead of `mail-html`."
    )
    draft_id: str = _optional(GMAIL, parsers.word, "", "The draft to update or to send.")
    user_id: str = _given(
        GMAIL, parsers.word, "me", "The mailbox; `me` is the user who is logged in or impersonated."
    )
    metadata: str = _optional(
        METADATA,
        parsers.text,
        "",
        "JSON that is sent along with the file. For any method it is the metadata part, for Play "
        "Games the image's resource, for Gmail "
        '`{"threadId": …, "labelIds": […]}`, or for a draft `{"message": {…}}` containing these. '
        "For Gmail it can also hold the whole mail as `raw`, in base64url, instead of an "
        "upload.",
        after="params",
    )
    impersonated: bool = False


@dataclass(frozen=True, repr=False)
class Inputs(MailInputs, RolloutInputs, ReleaseInputs, TransferInputs, LoginInputs):
    """What was asked for: one attribute for each input, parsed. Sizes are bytes, durations seconds,
    empty = not given.

    `shard` and `state_dir` already hold their computed defaults; other computed defaults (`status`,
    `release_name`, `package_name`, the credentials' source) are empty here and filled in where they
    are used. `lasting_state` says that the next run finds the state folder again: somebody chose
    it, or it is a person's own, outside of CI jobs. `credential_files` hold secrets beside those
    that inputs name; `names` say how inputs are called where the run was started, if differently;
    `warnings` are sentences about what was given and does not count, `texts` whatever was given: a
    key may stand where none belongs.
    """

    job_summary: bool = _given(ALL, parsers.boolean, "true", "Write the job summary.")
    state_dir: Path | None = _optional(
        TRANSFER,
        parsers.folder,
        None,
        "The folder in which unfinished uploads are recorded, encrypted, for the next run. The "
        "default of a CI job is thrown away with its machine: choose a folder that is kept, such "
        "as one in a cache, where the next job is to continue them.",
        otherwise="`$RUNNER_TEMP/uploader`, else the user's state folder",
    )
    state_key: str = _optional(
        TRANSFER,
        parsers.state_key,
        "",
        "A secret of at least 16 characters that encrypts the contents of `state-dir`. Needed "
        "where the credential contains no lasting secret, as with a keyless login; without either "
        "nothing is kept, and the log says so.",
        otherwise="derived from the service-account key",
        secret=True,
    )
    allow_outside_workspace: bool = _given(
        FILES,
        parsers.boolean,
        "false",
        "Accept files that are outside the workspace, for example behind a symbolic link.",
    )
    allow_symlinks: bool = _given(
        FILES,
        parsers.boolean,
        "false",
        "Follow symbolic links out of the folder that an input for texts, notes, images, symbols "
        "or mails names. Links within that folder are always followed; links to a credential, or "
        "into `.git`, `.ssh` or `.env*`, never are.",
    )
    allow_credential_files: bool = _given(
        FILES,
        parsers.boolean,
        "false",
        "Take a key, a keystore or another file with a credential, where an input names that very "
        "file. One that a pattern or a folder brings along is refused all the same. The file that "
        "this run logs in with, `gha-creds-*.json` and whatever is in `.git`, `.ssh` or named "
        "`.env*` are never taken.",
    )
    media_type: str = _optional(
        METHOD_FILES,
        parsers.media_type,
        "",
        "Any method: the media type of the files, such as `text/html`. If it is not given, a type "
        "in `metadata` is used; if both are given, they must be the "
        "same.",
        otherwise="by `metadata`, else by the file",
    )
    resource_id: str = _optional(
        GAMES, parsers.word, "", "Play Games: the id of the achievement or leaderboard."
    )
    image_type: ImageType = _optional(
        GAMES,
        parsers.choice(ImageType),
        "",
        "Play Games: `ACHIEVEMENT_ICON` or `LEADERBOARD_ICON`.",
    )
    deployment: str = _optional(OTA, parsers.path_part, "", "OTA: the id of the deployment.")
    package_title: str = _optional(OTA, parsers.line, "", "OTA: the title of the package.")
    params: str = _optional(
        ANY_METHOD,
        parsers.text,
        "",
        "Any method: a YAML or JSON map of its path and query parameters.",
    )
    names: Mapping[str, str] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    credential_files: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()
    show: Show = ""

    def part(self, record: type[Record]) -> Record:
        """What one reader is given: these inputs and no others."""
        return record(
            **{each.name: getattr(self, each.name) for each in dataclasses.fields(record)}
        )

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must be masked before anything else is said; a login names the secrets of
        `credentials` itself.
        """
        platform = self.platform
        return tuple(
            secret
            for secret in (self.state_key, platform.id_token, platform.oidc_request_token)
            if secret
        )


@cache
def fields() -> tuple[Field, ...]:
    """Every input of the contract, as the help and the reference lay them out: by heading, then as
    the records do.
    """
    rows: list[Field] = [
        each.metadata["row"](each.name) for each in dataclasses.fields(Inputs) if each.metadata
    ]
    rows.sort(key=lambda row: HEADINGS.index(row.group.heading))
    for row in [row for row in rows if row.after]:
        rows.remove(row)
        rows.insert([one.attribute for one in rows].index(row.after) + 1, row)
    return tuple(rows)
