"""Tile ops as code of one thread; one file for each kind of op."""
