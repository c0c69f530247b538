"""Scripts for developers and workflows; none of them is part of the program."""
