"""The only sockets of the program: requests and answers as values, which hosts are trusted, connections, one client."""
