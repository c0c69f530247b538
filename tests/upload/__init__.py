"""One upload of one file, from its first request to its proof."""
