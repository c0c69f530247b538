"""What is said on the wire, as pure functions and frozen values: no network, no file, no clock in
this folder.
"""
