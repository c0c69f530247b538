"""Checks, offline and in seconds, what goes with a Play release beside its bundles and APKs.

Each function takes a path as people gave it and the workspace that it is relative to, reads what it must, and returns
what Play is to get, together with warnings; everything that is surely wrong is raised at once as one InputError under
the input's own name.
"""
