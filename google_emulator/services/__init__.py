"""Google's APIs, each in a module of its own (Play in a folder), with their own rules and their own
memory.
"""
