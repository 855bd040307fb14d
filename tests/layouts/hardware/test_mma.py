"""Fragments of mma.sync and wgmma against the formulas of the PTX ISA and against Triton's."""

from __future__ import annotations

import pytest

from tests.oracles.layouts.block_fragments import (
    mma_accumulator,
    mma_operand_a,
    mma_operand_b,
    wgmma_accumulator,
    wgmma_operand_a,
)
from tests.oracles.layouts.from_linear import fragment_from_linear
from tilewright.layouts.encodings import DotOperand, NvidiaMma
from tilewright.layouts.fragment import Fragment
from tilewright.layouts.hardware.mma_sync import MMA_DEPTHS, mma_a, mma_b, mma_c
from tilewright.layouts.hardware.wgmma import (
    is_wgmma_width,
    wgmma_a,
    wgmma_d,
    wgmma_depth,
    widest_wgmma,
)

# For each instruction and operand: the row and column of element i of a lane's fragment, with
# g = lane / 4 and t = lane % 4, as the PTX ISA writes them ("Matrix Fragments for mma.…").
PTX_A = {
    (4, 32): lambda g, t, i: (g + 8 * (i == 1), t),
    (8, 32): lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
    (8, 16): lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)),
    (16, 16): lambda g, t, i: (
        g if i in (0, 1, 4, 5) else g + 8,
        t * 2 + (i & 1) + (8 if i >= 4 else 0),
    ),
    (16, 8): lambda g, t, i: (g if i < 4 else g + 8, t * 4 + (i & 3)),
    (32, 8): lambda g, t, i: (
        g if i < 4 or 8 <= i < 12 else g + 8,
        t * 4 + (i & 3) + (16 if i >= 8 else 0),
    ),
}
PTX_B = {
    (4, 32): lambda g, t, i: (t, g),
    (8, 32): lambda g, t, i: (t if i == 0 else t + 4, g),
    (8, 16): lambda g, t, i: (t * 2 + i, g),
    (16, 16): lambda g, t, i: (t * 2 + (i & 1) + (8 if i >= 2 else 0), g),
    (16, 8): lambda g, t, i: (t * 4 + i, g),
    (32, 8): lambda g, t, i: (t * 4 + (i & 3) + (16 if i >= 4 else 0), g),
}
SHAPES = [(k, bits) for bits, depths in MMA_DEPTHS.items() for k in depths]


def contents(fragment: Fragment, lane: int) -> list[tuple[int, ...] | None]:
    return [fragment.inverse(lane, register) for register in range(fragment.num_registers)]


@pytest.mark.parametrize(("k", "bits"), SHAPES)
def test_operands_as_in_the_ptx_manual(k: int, bits: int):
    for fragment, table, count in (
        (mma_a(k, bits), PTX_A, 16 * k // 32),
        (mma_b(k, bits), PTX_B, 8 * k // 32),
    ):
        assert fragment.num_registers == count
        assert fragment.is_complete()
        for lane in range(32):
            expected = [table[k, bits](lane // 4, lane % 4, i) for i in range(count)]
            assert contents(fragment, lane) == expected


def test_accumulators_as_in_the_ptx_manual():
    for lane in range(32):
        g, t = lane // 4, lane % 4
        expected = [(g if i < 2 else g + 8, t * 2 + (i & 1)) for i in range(4)]
        assert contents(mma_c(), lane) == expected


def test_instructions_that_do_not_exist():
    with pytest.raises(ValueError, match=r"no m16n8k32 for 16-bit elements"):
        mma_a(32, 16)
    with pytest.raises(ValueError, match=r"no m16n8k8 for 64-bit elements"):
        mma_b(8, 64)


@pytest.mark.parametrize("warps", [(1, 1), (2, 2), (4, 1), (1, 4)])
def test_a_blocks_accumulator(warps: tuple[int, int]):
    shape = (64, 96)
    whole = mma_accumulator(shape, warps)
    assert whole.is_complete()
    assert whole.num_threads == 32 * warps[0] * warps[1]
    rows, columns = shape[0] // warps[0], shape[1] // warps[1]
    for i, j in ((0, 0), (17, 33), (63, 95), (40, 7), (15, 88)):
        ((thread, register),) = whole.owners(i, j)
        warp = i // rows * warps[1] + j // columns
        inner = i % rows, j % columns
        instruction = inner[0] // 16 * (columns // 8) + inner[1] // 8
        assert (thread, register) == (
            32 * warp + inner[0] % 8 * 4 + inner[1] % 8 // 2,
            4 * instruction + inner[0] % 16 // 8 * 2 + inner[1] % 2,
        )


def test_one_warp_column_is_tritons_layout():
    ours = mma_accumulator((64, 8), (4, 1))
    assert ours == fragment_from_linear(NvidiaMma((2, 0), (4, 1), (16, 8)).to_linear([64, 8]))
    parent = NvidiaMma((2, 0), (1, 1), (16, 8))
    a = fragment_from_linear(DotOperand(0, parent, 2).to_linear([16, 16]))
    assert mma_a(16, 16) == a
    b = fragment_from_linear(DotOperand(1, parent, 4).to_linear([32, 8]))
    assert mma_b(32, 8) == b


def test_operands_of_a_block_have_a_copy_in_every_warp_that_needs_them():
    warps = (2, 4)
    a = mma_operand_a((64, 48), warps, 16, 16)
    b = mma_operand_b((48, 96), warps, 16, 16)
    c = mma_accumulator((64, 96), warps)
    assert (a.replicas, b.replicas) == (4, 2)
    needs_a: dict[int, set[int]] = {}
    needs_b: dict[int, set[int]] = {}
    for (i, j), (thread,) in zip(c.points(), c.threads, strict=True):
        needs_a.setdefault(i, set()).add(thread // 32)
        needs_b.setdefault(j, set()).add(thread // 32)
    for (i, _), threads in zip(a.points(), a.threads, strict=True):
        assert {thread // 32 for thread in threads} == needs_a[i]
    for (_, j), threads in zip(b.points(), b.threads, strict=True):
        assert {thread // 32 for thread in threads} == needs_b[j]
    assert a.is_injective()
    assert b.is_injective()
    with pytest.raises(ValueError, match="100 is not a multiple of 4 warps x 8"):
        mma_accumulator((64, 100), (1, 4))


@pytest.mark.parametrize("n", [8, 16, 80, 96, 176, 256])
def test_wgmma_accumulators_as_in_the_ptx_manual(n: int):
    fragment = wgmma_d(n)
    assert fragment.num_threads == 128
    assert fragment.num_registers == n // 2
    assert fragment.is_complete()
    for thread in range(0, 128, 5):
        warp, g, t = thread // 32, thread % 32 // 4, thread % 4
        expected = [
            (16 * warp + g + 8 * (i // 2 % 2), 8 * (i // 4) + 2 * t + i % 2) for i in range(n // 2)
        ]
        assert contents(fragment, thread) == expected


def test_wgmma_accumulators_are_tritons():
    ours = wgmma_accumulator((128, 64), (2, 1))
    right = NvidiaMma((3, 0), (8, 1), (16, 64, 16)).to_linear([128, 64])
    assert ours == fragment_from_linear(right)


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_wgmma_operand_a_is_that_of_four_warps_of_mma(bits: int):
    depth = wgmma_depth(bits)
    assert wgmma_a(bits) == mma_operand_a((64, depth), (4, 1), depth, bits)
    parent = NvidiaMma((3, 0), (4, 1), (16, 64, depth))
    right = DotOperand(0, parent, 32 // bits).to_linear([64, depth])
    assert wgmma_a(bits) == fragment_from_linear(right)


def test_depths_of_wgmma():
    assert [wgmma_depth(bits) for bits in (32, 16, 8)] == [8, 16, 32]
    assert wgmma_a(16).shape == (64, 16)
    assert wgmma_a(16).num_registers == 8
    with pytest.raises(ValueError, match="64 bits, expected 8, 16 or 32"):
        wgmma_depth(64)


def test_an_accumulator_is_the_operand_of_the_next_mma():
    """P of attention: 16-bit elements of an accumulator are already an operand A in registers."""
    accumulator = wgmma_d(128)
    operand = wgmma_operand_a((64, 128), 16)
    for i, j in accumulator.points():
        ((thread, register),) = accumulator.owners(i, j)
        assert operand.owners(i, j) == ((thread, register),)


def test_groups_side_by_side_share_operand_a():
    a = wgmma_operand_a((64, 32), 16, (1, 2))
    c = wgmma_accumulator((64, 64), (1, 2))
    assert c.num_threads == 256
    for row in (0, 13, 63):
        groups = {thread // 128 for j in range(64) for thread, _ in c.owners(row, j)}
        assert {thread // 128 for thread, _ in a.owners(row, 7)} == groups == {0, 1}


def test_widths_of_wgmma():
    assert widest_wgmma(176) == 176
    assert widest_wgmma(512) == 256
    assert widest_wgmma(320) == 160
    assert widest_wgmma(88, integer=True) == 8
    assert widest_wgmma(12) is None
    assert [n for n in range(8, 65, 8) if is_wgmma_width(n, integer=True)] == [
        8,
        16,
        24,
        32,
        48,
        64,
    ]
    with pytest.raises(ValueError, match="multiple of 8 up to 256"):
        wgmma_d(260)
    tall = wgmma_accumulator((128, 176))
    assert tall.num_registers == 2 * 88
    assert tall.owners(64, 0) == ((0, 88),)
    with pytest.raises(ValueError, match="not divisible into 64 x"):
        wgmma_accumulator((96, 64))
