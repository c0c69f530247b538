"""What will happen, decided before anything is sent: the files, the credentials' kind, the
service's steps in words.

Every offline check is run even when an earlier one found mistakes, so that one run reports them
all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from uploader.auth import credentials
from uploader.auth.credentials import ParsedCredentials
from uploader.errors import InputError, Problem, Problems
from uploader.files.artifacts import Artifact, Artifacts, find, part
from uploader.files.workspace import Workspace
from uploader.inputs import Inputs
from uploader.inputs.records import (
    AppDistributionInputs,
    CheckInputs,
    DataSafetyInputs,
    GamesInputs,
    InternalSharingInputs,
    ListingPullInputs,
    LoginInputs,
    MailInputs,
    MethodInputs,
    OtaInputs,
    ReleaseInputs,
    RolloutInputs,
    StatusInputs,
    VerifyInputs,
)
from uploader.services.base import Context, Flow, Outcome, Prepared
from uploader.text import capitalise

MAX_STEPS = 200  # of the output `plan`
MAX_CHARACTERS = 300  # of one of its steps

# Stands in for files that were not found: without any file a service would report further mistakes.
_NOT_FOUND = Artifact("files", "files", 0, data=b"")
# Stands in for an `api-endpoint` that is wrong, or is the embedded emulator: an emulator's key is
# accepted for an endpoint on this machine, so it is not reported as a second mistake.
_LOCAL = "http://127.0.0.1"


@dataclass(frozen=True)
class Plan:
    """A run whose every offline check has passed. `source` is None in a rehearsal, which brings its
    own key.
    """

    inputs: Inputs
    files: Artifacts
    prepared: Prepared
    source: ParsedCredentials | None

    def lines(self) -> tuple[str, ...]:
        """Return the plan as people read it, one step a line."""
        return tuple(map(capitalise, self.prepared.lines))

    def as_json(self) -> str:
        """Return the output `plan` for a service that has no better one: the steps in words,
        bounded, on one line.
        """
        steps = self.lines()
        few = [step[:MAX_CHARACTERS] for step in steps[:MAX_STEPS]]
        plan = {
            "version": 1,
            "target": self.inputs.common.target,
            "steps": few,
            "left_out": len(steps) - len(few),
        }
        return json.dumps(plan, separators=(",", ":"))


def make_plan(inputs: Inputs, problems: Sequence[Problem]) -> Plan:
    """Run every offline check. Raises `InputError` with `problems` and whatever else is wrong."""
    all_problems = Problems(problems)
    rehearsal = inputs.common.rehearsal
    source = None
    # A rehearsal does not use the given login, but still reports mistakes in it.
    if not rehearsal or inputs.record(LoginInputs).is_given:
        source = all_problems.collect(
            partial(_parse_login, inputs, all_problems), skip_known=True
        )
    if source:
        inputs = _with_token_file(inputs, source)
    if rehearsal:
        source = None
    workspace = Workspace.of(inputs)
    patterns = inputs.common.files
    every_file = (
        all_problems.collect(partial(find, patterns, workspace), skip_known=True) or ()
    )
    files = every_file
    if inputs.common.shard:
        files = part(every_file, *inputs.common.shard)
    if every_file and files == every_file:
        # The other shards are empty, so this job treats its files as not split.
        inputs = inputs.with_values(shard=None)
    prepared = None
    if inputs.common.target:
        known_files = files
        if not files and "files" in all_problems.names:
            known_files = (_NOT_FOUND,)
        check = partial(prepare, inputs, known_files, workspace)
        prepared = all_problems.collect(check, skip_known=True)
    if all_problems or prepared is None:
        raise InputError(*all_problems)
    return Plan(inputs, files, prepared, source)


def _parse_login(inputs: Inputs, problems: Problems) -> ParsedCredentials:
    """Read the credentials. Raises InputError."""
    login = inputs.record(LoginInputs)
    if "api-endpoint" in problems.names or inputs.common.rehearsal:
        login = replace(login, api_endpoint=_LOCAL)
    return credentials.parse(login)


def _with_token_file(inputs: Inputs, source: ParsedCredentials) -> Inputs:
    """Return the inputs with the file that the login takes its token from added to
    `credential_files`: it is as secret as the credentials that name it, and is never uploaded.
    """
    origin = source.info.get("credential_source")
    if not isinstance(origin, Mapping):
        return inputs
    path = origin.get("file")
    if not isinstance(path, str):
        return inputs
    file = inputs.platform.workspace / path
    return replace(inputs, credential_files=(*inputs.credential_files, file))


def prepare(inputs: Inputs, files: Artifacts, workspace: Workspace) -> Prepared:
    """Check the inputs that the target reads and the files, and return what its service will do.
    Raises InputError with every problem.
    """
    common = inputs.common
    if common.shard and common.files and not files:
        # A matrix may have more jobs than there are files.
        number, count = common.shard
        nothing = f"Shard {number}/{count}: no file is assigned to this job."
        return Prepared((nothing,), (), partial(_end, nothing))
    # Google Play's services give advice of their own on refusals; the others get it from
    # `_carry_out`.
    for_play = _prepare_for_play(inputs, files, workspace)
    if for_play:
        return for_play
    match common.target:
        case "play-internal-sharing":
            from uploader.services import internal_sharing

            sharing = inputs.record(InternalSharingInputs)
            prepared = internal_sharing.prepare(
                common,
                files,
                sharing.package_name,
                sharing.expected_certificate,
            )
        case "firebase-app-distribution":
            from uploader.services import app_distribution

            build = inputs.record(AppDistributionInputs)
            prepared = app_distribution.prepare(build, files, workspace)
        case "gmail":
            from uploader.services import gmail

            prepared = gmail.prepare(inputs.record(MailInputs), files, workspace)
        case "play-games":
            from uploader.services import play_games

            games = inputs.record(GamesInputs)
            prepared = play_games.prepare(
                common,
                files,
                games.resource_id,
                games.image_type,
                games.metadata,
            )
        case "ota":
            from uploader.services import ota

            package = inputs.record(OtaInputs)
            prepared = ota.prepare(
                common,
                files,
                package.deployment,
                package.package_title,
            )
        case _:
            from uploader.services import any_method

            prepared = any_method.prepare(common, files, inputs.record(MethodInputs))
    return replace(prepared, flow=partial(_carry_out, prepared.flow))


def _prepare_for_play(
    inputs: Inputs, files: Artifacts, workspace: Workspace
) -> Prepared | None:
    """Return what the service of a Google Play target will do; None for any other target.

    A service is imported only if it is the target: a run has no use for the others.
    """
    match inputs.common.target:
        case "play":
            from uploader.services.play import prepare as play

            return play.prepare(inputs.record(ReleaseInputs), files, workspace)
        case "play-status":
            from uploader.services.play import status

            return status.prepare(inputs.record(StatusInputs), files, workspace)
        case "play-rollout":
            from uploader.services.play import rollout

            return rollout.prepare(inputs.record(RolloutInputs), files)
        case "play-listing-pull":
            from uploader.services.play import listing

            return listing.prepare(inputs.record(ListingPullInputs), files, workspace)
        case "check":
            from uploader.services.play import check

            return check.prepare(inputs.record(CheckInputs), files)
        case "play-verify":
            from uploader.services.play import verify

            return verify.prepare(inputs.record(VerifyInputs), files, workspace)
        case "play-data-safety":
            from uploader.services.play import data_safety

            form = inputs.record(DataSafetyInputs)
            return data_safety.prepare(inputs.common, files, form.package_name)
    return None


def _end(what: str, context: Context) -> Outcome:
    """End a run in which nothing is to be done."""
    context.info(what)
    return Outcome(what)


def _carry_out(flow: Flow, context: Context) -> Outcome:
    from uploader.services.batch import with_default_advice

    with with_default_advice():
        return flow(context)
