"""Runs the program: the one beside this file or installed with this Python, never one in the
working directory.
"""

from uploader.__main__ import main

if __name__ == "__main__":
    main()
