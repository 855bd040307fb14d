"""Loops that run sequentially in the same buffers: one ring, counted across them."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.passes.pass_support import apply
from tests.passes.tile.pipelines import GEMM, LOAD_A, LOAD_B, STORE_D, module, results, serial
from tests.passes.tile.test_specialize_warps import AGAIN, barrier_ops, specialised
from tilewright.dialects.memref import StoreOp
from tilewright.dialects.tile import AllocOp
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.targets.numpy import NumpyFault

BODY = LOAD_A + LOAD_B + GEMM


def two_loops(stages: int, first: str = "0 to %lo", body: str = BODY, before: str = "") -> ModuleOp:
    """A loop in the buffers of the loop that follows it, from 0 on and from `lo` on."""
    ahead = f"""{before}
    tile.pipeline %t = {first} num_stages({stages}) {{
      %i = arith.muli %t, %c8 : index
{body}
    }}
"""
    end = "}" if before else ""
    return module(BODY, before=ahead, after=end, loop=f"%lo to %n num_stages({stages})")


def buffers(kernel: ModuleOp) -> dict[str, list[tuple[int, ...]]]:
    found: dict[str, list[tuple[int, ...]]] = {}
    for op in walk(kernel):
        if isinstance(op, AllocOp):
            found.setdefault(op.buffer_name, []).append(op.type.get_shape())
    return found


def assert_same(split: ModuleOp, plain: ModuleOp, count: int, lower: int) -> None:
    for found, expected in zip(
        results(split, count, lower=lower, schedules=5),
        results(plain, count, lower=lower),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_same_as_the_serial_loops(stages: int) -> None:
    split, plain = specialised(two_loops(stages)), serial(two_loops(0))
    assert buffers(split)["full_0_0"] == [(stages,)]
    assert "full_1_0" not in buffers(split)
    for lower in range(2 * stages + 1):
        for count in range(2 * stages + 2):
            assert_same(split, plain, count, lower)


def test_loops_in_a_loop_share_as_well() -> None:
    split, plain = specialised(two_loops(2, before=AGAIN)), serial(two_loops(0, before=AGAIN))
    assert len(buffers(split)["turn"]) == 2  # one for each role
    for lower in range(4):
        assert_same(split, plain, 3, lower)


def test_loops_that_group_copies_otherwise_have_rings_of_their_own() -> None:
    other = LOAD_A + STORE_D + LOAD_B + GEMM
    split, plain = specialised(two_loops(2, body=other)), serial(two_loops(0, body=other))
    assert {"full_0_0", "full_0_1", "full_1_0"} <= buffers(split).keys()
    for lower in range(4):
        assert_same(split, plain, 3, lower)


@pytest.mark.parametrize("which", range(8))
def test_without_one_of_its_barrier_ops_the_kernel_is_refused(which: int) -> None:
    kernel = specialised(two_loops(2))
    ops = barrier_ops(kernel)
    assert len(ops) == 8
    Rewriter().erase(ops[which])
    with pytest.raises(NumpyFault):
        results(kernel, 7, lower=5, schedules=30)


def test_a_count_that_starts_again_is_refused() -> None:
    """The second loop of the producer waits for the wrong phase."""
    kernel = specialised(two_loops(2))
    counts = [
        op
        for op in walk(kernel)
        if isinstance(op, StoreOp)
        and isinstance(op.memref.owner, AllocOp)
        and op.memref.owner.buffer_name == "turn"
    ]
    assert len(counts) == 6  # for each role: at the start, and in either loop
    Rewriter().erase(counts[1])
    with pytest.raises(NumpyFault):
        results(kernel, 7, lower=5, schedules=30)


def test_barriers_are_proved() -> None:
    apply(specialised(two_loops(3)), "check-barriers")
