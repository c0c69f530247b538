"""Who the program acts as: what was given is checked without network, and becomes a login that
hands out tokens.
"""
