"""Tensor memory: TW508x."""

from __future__ import annotations

from tilewright.ir.codes.entry import CodeEntry

ENTRIES = (
    CodeEntry(
        code="TW5080",
        title="Tensor memory exceeded",
        meaning=(
            "The buffers that a kernel has in tensor memory at one time need more than its 512 "
            "columns. A buffer of 32-bit elements takes as many columns as it has; operands of 16 "
            "bits half as many."
        ),
        example='C = T.alloc_tmem((3, 128, 256), "float32")      # 768 columns: error[TW5080]',
        fix=(
            "Use smaller tiles or fewer stages of accumulators, or let a pair of blocks share the "
            "work (`use_2cta`)."
        ),
    ),
)
