"""Passes of the TLX language, in the order they run: fixup, layouts, storage aliasing."""
