"""Logins: the token endpoint, the keyless login, and the check of the token of every API
request.
"""
