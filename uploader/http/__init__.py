"""The only sockets of the program: requests and answers as values, and one client."""
