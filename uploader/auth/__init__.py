"""Who the program acts as: the credentials that were given are checked without network, and become
a login that hands out tokens.
"""
