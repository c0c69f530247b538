"""Explains a service's refusals: one for lack of permission ends like a failed login, as the account must change."""

from __future__ import annotations

from uploader.errors import ApiError, CredentialsError
from uploader.services.base import Flow

# What Google's APIs give as reason or status with a 403 when the account may not do it, in either error model.
_DENIED = frozenset(
    {
        "accessNotConfigured",
        "SERVICE_DISABLED",
        "ACCESS_TOKEN_SCOPE_INSUFFICIENT",
        "IAM_PERMISSION_DENIED",
        "PERMISSION_DENIED",
        "appNotAuthorizedToFile",
        "delegationDenied",
        "domainPolicy",
        "forbidden",
        "insufficientFilePermissions",
        "insufficientParentPermissions",
        "insufficientPermissions",
    }
)


def explain_refusals(flow: Flow) -> Flow:
    """The same flow, whose refusals have a cause and a cure; one for lack of permission is a `CredentialsError`."""
    try:
        return (yield from flow)
    except ApiError as refused:
        if refused.status == 403 and refused.reason in _DENIED:
            raise CredentialsError(
                refused.what,
                cause=refused.cause
                or "The login worked, but the account lacks permission for this, or the API is not enabled.",
                hint=refused.hint or "Enable the API in the account's project, and grant the account the permission.",
                code="permission-denied",
            ) from refused
        refused.cause = refused.cause or "The method, or the resource that it works on, does not accept this request."
        refused.hint = refused.hint or "Correct what the service's message names, then run again."
        raise
