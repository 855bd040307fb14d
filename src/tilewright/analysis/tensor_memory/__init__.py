"""Buffers in tensor memory: what may be read or replaced a few columns at a time."""
