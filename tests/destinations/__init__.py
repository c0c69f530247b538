"""Every destination through the entrypoint, as a CI job meets it, with the emulator as Google."""
