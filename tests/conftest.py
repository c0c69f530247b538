"""What tests of several folders share: the fixtures, how hypothesis is used, and which tests are
slow.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.support.fixtures"]

# A property is judged by its results alone: a busy machine is no finding.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

# What `make test` leaves to `make check`: what needs other programs, kills at every moment, walks,
# further variations.
SLOW = (
    "tests/container/",
    "tests/fuzz/",
    "tests/soak/",
    "tests/strangers/",
    "tests/auth/test_keyless.py::test_a_slow_upload_outlives_three_tokens",
    "tests/destinations/test_batches.py::test_a_thousand_files_share_eight_connections",
    "tests/destinations/test_batches.py::test_faults_among_many_files_cost_none_of_them",
    "tests/destinations/test_batches.py::test_four_large_files_are_in_flight_among_the_small_ones",
    "tests/destinations/test_batches.py::test_shards_together_send_everything_once",
    "tests/destinations/test_data_safety.py::test_a_lost_response_and_a_503_are_tried_again",
    "tests/destinations/test_faults.py",
    "tests/destinations/test_once.py",
    "tests/destinations/test_ota.py::test_a_package_that_failed_behind_its_upload_is_no_success",
    "tests/destinations/test_ota.py::test_all_that_remains_goes_out_at_once_after_an_interruption",
    "tests/destinations/test_protocols.py::test_auto_saves_a_round_trip_only_where_a_repeat_does_no_harm",
    "tests/destinations/test_retry_deadline.py",
    "tests/destinations/test_streams.py",
    "tests/files/test_preflight.py::test_a_build_that_real_tools_signed_is_released",
    "tests/files/test_preflight.py::test_a_release_refuses_what_internal_sharing_takes",
    "tests/files/test_signatures.py",
    "tests/http/test_guarantees.py::test_a_proxy_forges_no_response",
    "tests/http/test_guarantees.py::test_abort_ends_a_request_that_stalls",
    "tests/inputs/test_inputs.py::test_no_run_takes_long_to_read_what_it_is_given",
    "tests/outputs/test_summary.py::test_small_page_leaves_out_blocks_and_says_so",
    "tests/outputs/test_summary.py::test_ten_thousand_files_fit",
    "tests/protocol/test_digests.py::test_no_resource_raises",
    "tests/protocol/test_exhaustive.py",
    "tests/services/test_gmail.py::test_message_file_over_the_limit_is_refused",
    "tests/services/test_play_edit_exhaustive.py",
    "tests/services/test_play_rollout_property.py",
    "tests/services/test_several_apps_exhaustive.py",
    "tests/state/test_journal.py::test_what_changed_in_between_begins_anew",
    "tests/state/test_left_behind.py",
    "tests/state/test_restored_state.py",
    "tests/test_benchmarks.py",
    "tests/test_contract.py::test_the_demo_ends_well",
    "tests/test_documents.py::test_what_is_shown_for_gitlab_runs",
    "tests/test_failures.py::test_a_variable_that_nobody_expanded_is_recognised",
    "tests/test_far_side.py::test_a_proxy_that_takes_no_large_request_leads_to_chunks",
    "tests/test_far_side.py::test_an_answer_without_end_ends_the_run",
    "tests/test_far_side.py::test_malformed_answers",
    "tests/test_gitlab.py",
    "tests/test_hostile_workspace.py::test_a_link_to_a_secret_is_never_followed",
    "tests/test_kills.py",
    "tests/test_last_release.py",
    "tests/test_native.py",
    "tests/test_odd_answers.py::test_odd_answers",
    "tests/test_odd_answers.py::test_one_odd_answer_is_asked_again",
    "tests/test_plans.py::test_a_commit_of_which_nothing_is_known_is_not_called_one_that_did_not_happen",
    "tests/test_plans.py::test_a_dry_run_shows_the_plan_and_the_release_does_exactly_that",
    "tests/test_play_life.py",
    "tests/test_play_run.py::test_a_gibibyte_needs_little_memory",
    "tests/test_play_run.py::test_every_fault_alone_is_survived",
    "tests/test_play_run.py::test_the_real_apk_survives",
    "tests/test_reach.py::test_a_build_for_the_devices_of_its_track_goes_through",
    "tests/test_reach.py::test_a_refusal_is_one_of_google_plays_own",
    "tests/test_reach.py::test_nothing_is_said_where_the_release_is_offered",
    "tests/test_rehearsal.py::test_a_rehearsal_claims_no_deed_in_play",
    "tests/test_rehearsal.py::test_what_is_there_already_can_be_rehearsed",
    "tests/test_release_steps.py",
    "tests/test_run_report.py",
    "tests/test_several_apps.py::test_a_hundred_apps_take_a_fifth_of_a_hundred_runs",
    "tests/test_several_apps.py::test_a_run_that_is_killed_at_any_call_is_finished_by_the_next",
    "tests/test_several_apps.py::test_an_edit_that_is_closed_by_another_is_begun_anew",
    "tests/test_several_apps.py::test_without_a_journal_the_next_run_commits_the_rest_as_well",
    "tests/test_secrets.py::test_a_key_in_the_wrong_place_is_not_told",
    "tests/test_secrets.py::test_mail_fields_move_no_terminal",
    "tests/test_secrets.py::test_no_ending_tells_a_secret",
    "tests/test_signals.py",
    "tests/test_universal_apk.py",
    "tests/test_wheel.py",
    "tests/transfer/test_schedules.py",
    "tests/transfer/test_stated_digests.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the slow ones."""
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
