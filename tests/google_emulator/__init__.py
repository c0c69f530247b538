"""The emulator seen from outside: plain sockets and http.client, strangers' clients, and never the
project's own.
"""
