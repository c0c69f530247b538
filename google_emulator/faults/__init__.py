"""Faults that were asked for: what there is, when each is due, what it does, and the receipts of those that fired."""
