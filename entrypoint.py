"""Runs the program that is beside this file or installed for this Python, never one in the working
directory.
"""

from uploader.__main__ import main

if __name__ == "__main__":
    main()
