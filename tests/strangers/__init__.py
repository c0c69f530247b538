"""Programs that nobody here wrote, unchanged: clients against the emulator, the program against
servers, a runner.
"""
