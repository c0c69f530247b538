"""Who the program acts as: what was given is checked without network, and becomes a login that hands out bearer tokens.

`credential_source` reads and checks, `login` decides when a token is fetched, `token_request` is one request to a token
endpoint, and `oidc_token` brings the CI system's own token for a keyless login. Everything that google-auth raises is
translated inside this folder.
"""
