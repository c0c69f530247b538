"""Logins: the token endpoint, the ways in without a key, and the check of every API request's
token.
"""
