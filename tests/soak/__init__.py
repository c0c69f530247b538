"""Soak and chaos: many releases, each with faults, kills, clock jumps and rivals drawn by lot, and one ledger of it all."""
