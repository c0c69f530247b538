"""GitLab's runner as the tests start it."""
