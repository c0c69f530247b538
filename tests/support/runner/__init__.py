"""Stand-ins for the machines that run the program: what they do to its environment, its files and its log."""
