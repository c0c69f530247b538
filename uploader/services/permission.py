"""Tells a refusal for lack of rights from every other one: the account is to be changed then, not the upload."""

from __future__ import annotations

from uploader.errors import CredentialsError, Refused
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


def heeded(flow: Flow) -> Flow:
    """The same flow, whose refusals have a cause and a cure, and for lack of rights are a `CredentialsError`."""
    try:
        return (yield from flow)
    except Refused as refused:
        if refused.status == 403 and refused.reason in _DENIED:
            raise CredentialsError(
                refused.what,
                cause=refused.cause or "The account is known, but it may not do this here, or the API is switched off.",
                cure=refused.cure
                or "Enable the API in the account's project, and give the account the right to do it.",
            ) from refused
        refused.cause = refused.cause or "What was asked does not suit the method, or the place that it goes to."
        refused.cure = refused.cure or "The service's own words say what to change; then run again."
        raise
