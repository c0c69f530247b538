"""The protocol without network: tables, properties, and every sequence of faults."""
