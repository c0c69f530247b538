"""Why Google refuses a login: its own words, the likely cause and what to do, in one table."""

from __future__ import annotations

from collections.abc import Mapping

from uploader.errors import CredentialsError
from uploader.protocol.google_error import GoogleError

# The error's code and the words, in lower case, that the response holds (the first row counts): likely cause and hint.
CAUSES: Mapping[tuple[str, str], tuple[str, str]] = {
    ("key-deleted", "invalid jwt signature"): (
        "The key was deleted or disabled, or it belongs to another account.",
        "Create a new key for the service account and replace the secret.",
    ),
    ("clock-wrong", "reasonable timeframe"): ("This machine's clock is wrong.", "Set the clock (NTP) and run again."),
    ("account-not-found", "account not found"): (
        "The service account was deleted, or its e-mail address is wrong.",
        "Check the account in the Google Cloud console.",
    ),
    ("user-not-found", "invalid email or user id"): (
        "`impersonate-user` is not a user of the domain, or is an alias.",
        "Give the user's primary address.",
    ),
    ("delegation-missing", "unauthorized_client: client is unauthorized"): (
        "Domain-wide delegation is not set up for this service account and these scopes.",
        "In the Admin console (API controls, Domain-wide delegation) add the account's client ID with these scopes.",
    ),
    ("reauthentication-required", "invalid_rapt"): (
        "The organisation requires its users to reauthenticate periodically.",
        "Log in again (`gcloud auth application-default login`), or use a service account.",
    ),
    ("refresh-token-revoked", "expired or revoked"): (
        "The refresh token was revoked, or has not been used for too long.",
        "Log in again and replace the secret, or use a service account.",
    ),
    ("client-invalid", "invalid_client"): (
        "`client_id` and `client_secret` do not belong together, or the client was deleted.",
        "Create the credential again.",
    ),
    ("attribute-condition", "attribute condition"): (
        "The provider's attribute condition excludes this repository, branch or job.",
        "Compare the condition of the workload identity provider with the job's token.",
    ),
    ("audience-wrong", "expected audience"): (
        "The CI system's token was issued for a different audience.",
        "Keep the default audience; on GitLab set `aud` to https://iam.googleapis.com/ plus the provider's name.",
    ),
    ("id-token-expired", "stale to sign-in"): (
        "The CI system's token has expired, or this machine's clock is wrong.",
        "Run the job again; in GitLab raise the job's timeout, which is also the token's lifetime.",
    ),
    ("provider-invalid", "invalid_target"): (
        "The workload identity provider does not exist, is disabled, or names its project by id.",
        "Check `workload-identity-provider`; it must contain the project number: projects/NUMBER/locations/global/…",
    ),
    ("sign-jwt-not-permitted", "signjwt"): (
        "Without a key, acting for a user needs a signature from IAM, which this account may not request.",
        "Grant the pool's principal roles/iam.serviceAccountTokenCreator on the service account.",
    ),
    ("impersonation-not-permitted", "getaccesstoken"): (
        "The pool's principal may not act as the service account, or the account does not exist.",
        "Grant it roles/iam.workloadIdentityUser on the service account.",
    ),
    ("api-disabled", "has not been used in project"): (
        "The IAM Service Account Credentials API is not enabled.",
        "Enable iamcredentials.googleapis.com in the project named in the answer.",
    ),
    ("scope-not-allowed", "invalid_scope"): (
        "The scope is unknown, or this credential may not ask for it.",
        "Use a service account, or log in again with the scope.",
    ),
}


def refused(host: str, error: GoogleError, message: str) -> CredentialsError:
    """The refusal of a token endpoint; `message` is its own words, already fit to be seen."""
    said = message if error.reason in ("", message) else f"{error.reason}: {message}"
    everything = f"{said} {error.body.get('error_subtype', '')}".lower()
    known = ((code, *advice) for (code, words), advice in CAUSES.items() if words in everything)
    code, cause, hint = next(known, ("", "", ""))
    what = f"{host} refused the login (HTTP {error.status}): {said.rstrip('.')}."
    return CredentialsError(what, cause=cause, hint=hint or "Check the credential and its permissions.", code=code)
