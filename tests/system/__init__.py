"""Runs of the whole program, as a CI job or a shell starts it, with the emulator as Google."""
