"""AMD GPUs: 75xx."""

from __future__ import annotations

from tilewright.ir.codes.entry import CodeEntry

ENTRIES: tuple[CodeEntry, ...] = (
    CodeEntry(
        code="TW7500",
        severity="remark",
        title="Copy not staged through registers",
        meaning=(
            "A copy from global to shared memory in a pipelined loop is usually split into a load "
            "into registers, which is in flight while the previous iteration computes, and a "
            "store. This one is not, so the threads wait for it where it stands."
        ),
        example="remark[TW7500]: copy to 'A_shared' not staged: 33 x 17 elements do not divide "
        "evenly among 128 threads",
        fix="Use tiles whose rows are multiples of 16 bytes and that all threads share evenly.",
    ),
    CodeEntry(
        code="TW7501",
        severity="remark",
        title="Shared tiles not double-buffered",
        meaning=(
            "Two versions of the tiles of a pipelined loop exceed the shared memory of a block, so "
            "there is one. Stores have to wait for the last reader, with a second barrier in every "
            "iteration; loads into registers still overlap with computation."
        ),
        example="remark[TW7501]: tiles in shared memory not double-buffered: 98304 B needed, "
        "65536 B available per block on gfx942",
        fix="Use smaller tiles; no change is required.",
    ),
)
