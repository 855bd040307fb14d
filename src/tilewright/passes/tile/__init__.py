"""Passes of the tile level, in the order in which they run (`docs/passes.md`)."""
