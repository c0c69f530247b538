"""Which refusals are about the account's rights, and so exit 3 instead of 4."""

from __future__ import annotations

import pytest

from uploader.errors import ApiError, CredentialsError
from uploader.services.base import Call, Flow, Outcome
from uploader.services.batch import explain_refusals

CALL = Call("POST", "https://www.googleapis.com", "/x")


def flow() -> Flow:
    """One call, and the end."""
    yield CALL
    return Outcome("done")


def refused(status: int, reason: str) -> ApiError:
    """A refusal as the driver throws it."""
    return ApiError("The service refused it: No.", status=status, reason=reason, message="No.")


@pytest.mark.parametrize("reason", ["insufficientPermissions", "forbidden", "PERMISSION_DENIED", "accessNotConfigured"])
def test_a_missing_right_is_about_the_credentials(reason: str) -> None:
    """The service's own words stay, with what to do about rights."""
    steps = explain_refusals(flow())
    next(steps)
    with pytest.raises(CredentialsError, match=r"refused it: No\..* grant the account the permission"):
        steps.throw(refused(403, reason))


@pytest.mark.parametrize(("status", "reason"), [(403, "storageQuotaExceeded"), (400, "forbidden"), (403, "")])
def test_any_other_refusal_stays_one(status: int, reason: str) -> None:
    """A full drive, a bad request, or a 403 without a reason that is known: exit 4."""
    steps = explain_refusals(flow())
    next(steps)
    with pytest.raises(ApiError):
        steps.throw(refused(status, reason))


def test_a_flow_that_is_not_refused_is_left_alone() -> None:
    """Steps, answers and the outcome pass through."""
    steps = explain_refusals(flow())
    assert next(steps) == CALL
    with pytest.raises(StopIteration) as end:
        steps.send({})
    assert end.value.value == Outcome("done")
