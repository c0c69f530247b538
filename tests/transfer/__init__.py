"""The transfer of files and calls, from the request to the result."""
