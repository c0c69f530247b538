"""HTTP as the other parts of the emulator see it: a request, its body, the response, and errors
instead of one.
"""
