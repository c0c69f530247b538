"""Soak and chaos: many releases with faults, kills, clock jumps and rivals drawn by lot, and one
ledger of it all.
"""
