"""Encodings that cannot be are refused with the reason."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tilewright.layouts.encodings import (
    Blocked,
    DotOperand,
    NvidiaMma,
    NvmmaShared,
    SwizzledShared,
    TensorMemory,
    TensorMemoryScales,
    tensor_memory_registers,
)

MMA = NvidiaMma((2, 0), (4, 1), (16, 8))
WGMMA = NvidiaMma((3, 0), (4, 1), (16, 64, 16))
TMEM = TensorMemory((128, 64))

REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: Blocked((1, 1), (32,), (4, 1), (1, 0)), "one value per dimension"),
    (lambda: Blocked((1, 1), (32, 1), (4, 1), (1, 1)), "an order of the dimensions"),
    (lambda: NvidiaMma((5, 0), (4, 1), (16, 8)), "version 5 is neither"),
    (lambda: DotOperand(2, MMA, 2), "op_idx is 2, expected 0 or 1"),
    (lambda: DotOperand(0, MMA), "needs k_width"),
    (lambda: DotOperand(1, WGMMA, 2), "must be in shared memory, not in registers"),
    (lambda: NvmmaShared(16, 16), "width is 16 bytes, expected 0, 32, 64 or 128"),
    (lambda: NvmmaShared(128, 4), "4 bits, expected 8, 16, 32 or 64"),
    (lambda: NvmmaShared(64, 8, fp4_padded=True), "padded FP4 needs"),
    (lambda: NvmmaShared(128, 16).to_linear([4, 64]), r"smaller than the 8 x 64 pattern"),
    (lambda: NvmmaShared(128, 16).to_linear([64, 32]), r"smaller than the 8 x 64 pattern"),
    (lambda: NvmmaShared(128, 16, True).to_linear([64, 2, 64]), "has two dimensions"),
    (lambda: SwizzledShared(3, 1, 8, (1, 0)), "powers of two"),
    (lambda: TensorMemory((32, 64)), "32 rows, expected 64 or 128"),
    (lambda: TensorMemory((128, 96)), "the columns of a block must be a power of two, got 96"),
    (lambda: TMEM.to_linear([64, 64]), "not divisible into blocks of 128 x 64"),
    (lambda: TensorMemoryScales().to_linear([64, 4]), "tile of scales, 128 x 4"),
    (lambda: tensor_memory_registers(TMEM, [128, 64], 32, 2), "2 warps cannot access tensor "
                                                              "memory, expected 4, 8, …"),
    (lambda: tensor_memory_registers(TMEM, [128, 64], 32, 4, "8x8b"), "unknown tensor-memory atom "
                                                                      "'8x8b'"),
    (lambda: tensor_memory_registers(TensorMemory((128, 4)), [128, 4], 32, 4, "16x256b"), "narrower than one instruction"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_refused(make: Callable[[], object], reason: str):
    with pytest.raises(ValueError, match=reason):
        make()


def test_alignment_of_patterns():
    assert [NvmmaShared(width, 16).alignment for width in (0, 32, 64, 128)] == [128, 256, 512, 1024]
