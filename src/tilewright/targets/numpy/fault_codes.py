"""Codes that several executors report for one kind of error found by a run."""

from __future__ import annotations

OUT_OF_BOUNDS = "TW6101"
READ_ONLY = "TW6106"
UNINITIALISED = "TW6107"
DATA_RACE = "TW6108"
DEADLOCK = "TW6121"
BARRIER_MISUSE = "TW6122"
ASSERTION = "TW6124"
SHAPE_MISMATCH = "TW6125"
ENDLESS = "TW6126"
MISSING_FENCE = "TW6133"
MISALIGNED_TILE = "TW6146"
"""Bulk copies, TMA boxes and matrix operands: addresses that have to be multiples of 16 bytes."""
