"""How fast the program is beside curl and other clients, as figures that a user can feel: `make
bench`.
"""
