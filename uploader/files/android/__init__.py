"""Checks, offline and in seconds, what goes with a Play release beside its bundles and APKs.

Each function takes a path and the name that people gave it, reads what it must, and returns what Play is to get,
together with warnings; everything that is surely wrong is raised at once as one InputError under the input's own name.
`within` is the folder that real paths may not leave (None: any place is allowed).
"""
