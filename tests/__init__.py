"""The tests, read as a specification: each has its sentence, and none sleeps for real."""
