"""Loads the fixtures that tests of several folders share."""

pytest_plugins = ["tests.support.fixtures"]
