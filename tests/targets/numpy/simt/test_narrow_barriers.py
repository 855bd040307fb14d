"""Barriers that order LDS alone leave accesses to tensors unordered: the executor sees the race."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.numpy.simt.amd_kernels import G, S, fault, kernel, run, tensors

WIDE = "gpu.barrier"
NARROW = "gpu.barrier memfence [#gpu.address_space<workgroup>]"
BOTH = "gpu.barrier memfence [#gpu.address_space<workgroup>, #gpu.address_space<global>]"


def reversed_through(memory: str, barriers: str) -> str:
    """A thread reads what another one wrote, in LDS (`s`) or in the tensor."""
    buffer, type = ("%s", S) if memory == "LDS" else ("%Out", G)
    return f"""
    %s = tile.alloc "s" offset 0 : {S}
    %one = arith.constant 1 : index
    %last = arith.subi %c128, %one : index
    %other = arith.subi %last, %tid : index
    %high = arith.addi %tid, %c256 : index
    %x = memref.load %In[%tid] : {G}
    memref.store %x, {buffer}[%tid] : {type}
    {barriers}
    %y = memref.load {buffer}[%other] : {type}
    memref.store %y, %Out[%high] : {G}"""


@pytest.mark.parametrize(
    ("memory", "barriers"),
    [
        ("LDS", NARROW),
        ("LDS", WIDE),
        ("tensor", WIDE),
        ("tensor", BOTH),
        ("tensor", f"{NARROW}\n{WIDE}"),
        ("tensor", f"{WIDE}\n{NARROW}"),
    ],
)
@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
def test_barriers_that_order_the_accesses(memory: str, barriers: str, chip: str):
    arrays = tensors()
    run(kernel(reversed_through(memory, barriers), chip), arrays)
    np.testing.assert_array_equal(arrays["Out"][256:384], np.arange(1, 129)[::-1])


@pytest.mark.parametrize("barriers", [NARROW, f"{NARROW}\n{NARROW}"])
@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
def test_barriers_that_do_not(barriers: str, chip: str):
    found = fault(kernel(reversed_through("tensor", barriers), chip), tensors())
    assert found.kind == "race"
    assert "thread 0 reads Out[127], and nothing orders it after warp" in str(found)
