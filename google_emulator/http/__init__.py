"""HTTP as the emulator's other parts see it: a request, its body, the response, and the errors that
replace one.
"""
