"""Loops over lanes: which of their accesses can be wide, and how they are made so."""
