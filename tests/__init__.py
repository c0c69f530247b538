"""The tests, to be read as a specification: their names say what the program does."""
