"""What tests of several folders share: the fixtures, how hypothesis is used, and which tests are slow."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.support.fixtures"]

# A property is judged by its results alone: a busy machine is no finding.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

# What `make test` leaves to `make check`: what needs other programs, kills at every moment, walks through every case.
SLOW = (
    "tests/container/",
    "tests/fuzz/",
    "tests/soak/",
    "tests/strangers/",
    "tests/auth/test_keyless.py::test_a_slow_upload_outlives_three_tokens",
    "tests/destinations/test_batches.py::test_a_thousand_files_share_eight_connections",
    "tests/destinations/test_once.py::test_what_would_be_added_twice_is_in_doubt",
    "tests/files/test_signatures.py",
    "tests/http/test_guarantees.py::test_a_proxy_forges_no_response",
    "tests/inputs/test_inputs.py::test_no_run_takes_long_to_read_what_it_is_given",
    "tests/outputs/test_summary.py::test_small_page_leaves_out_blocks_and_says_so",
    "tests/outputs/test_summary.py::test_ten_thousand_files_fit",
    "tests/protocol/test_digests.py::test_no_resource_raises",
    "tests/protocol/test_exhaustive.py",
    "tests/services/test_play_edit_exhaustive.py",
    "tests/services/test_play_rollout_property.py",
    "tests/state/test_journal.py::test_what_changed_in_between_begins_anew",
    "tests/state/test_left_behind.py",
    "tests/state/test_restored_state.py",
    "tests/test_benchmarks.py",
    "tests/test_contract.py::test_the_demo_ends_well",
    "tests/test_documents.py::test_what_is_shown_for_gitlab_runs",
    "tests/test_far_side.py::test_an_answer_without_end_ends_the_run",
    "tests/test_far_side.py::test_malformed_answers",
    "tests/test_gitlab.py",
    "tests/test_kills.py",
    "tests/test_native.py",
    "tests/test_play_life.py::test_the_whole_life_of_a_release",
    "tests/test_play_run.py::test_a_gibibyte_needs_little_memory",
    "tests/test_reach.py::test_a_refusal_is_one_of_google_plays_own",
    "tests/test_release_steps.py",
    "tests/test_secrets.py::test_a_key_in_the_wrong_place_is_not_told",
    "tests/test_secrets.py::test_mail_fields_move_no_terminal",
    "tests/test_secrets.py::test_no_ending_tells_a_secret[gitlab",
    "tests/test_secrets.py::test_no_ending_tells_a_secret[console",
    "tests/test_signals.py::test_a_signal_at_any_moment",
    "tests/test_signals.py::test_a_signal_is_heard_while_the_program_is_loaded",
    "tests/test_universal_apk.py::test_a_download_that_breaks_goes_on_where_it_was",
    "tests/test_wheel.py",
    "tests/transfer/test_schedules.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the slow ones."""
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
