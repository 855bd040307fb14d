"""Answers about IR, never a change to it."""
