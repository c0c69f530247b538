"""Which endpoint an artifact goes to, and in which order the calls around it are made."""
