"""Analyses of IR, which never modify it."""
