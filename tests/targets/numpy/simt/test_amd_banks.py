"""Bank conflicts of LDS in finished kernels, measured by the addresses that threads use.

Operands of matrix instructions are loaded without conflicts, 16 bytes a lane, and stored without
conflicts whichever way round the tile is in the tensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from xdsl.ir import Operation

from tests.passes.amd.amd_support import amd_pipeline
from tests.targets.numpy.simt.lds_counter import Accesses, counted
from tests.targets.numpy.simt.mutants import subjects
from tests.targets.numpy.simt.simt_support import lowered
from tilewright import T
from tilewright.layouts.hardware.amd_chips import CHIPS
from tilewright.layouts.hardware.banks import BankModel
from tilewright.targets.numpy.simt import Buffer, SimtOptions, compile_simt

OPERANDS = ("A_shared", "B_shared", "Q_shared", "K_shared", "V_shared")


def accesses(
    chip: str, block_k: int, trans_a: bool, trans_b: bool, model: BankModel | None = None
) -> list[Accesses]:
    """Of a GEMM of one block, whose result is right."""
    m = n = 64
    k = 2 * block_k
    a_shape, a_tile = ((k, m), (block_k, m)) if trans_a else ((m, k), (m, block_k))
    b_shape, b_tile = ((n, k), (n, block_k)) if trans_b else ((k, n), (block_k, n))

    @T.prim_func
    def kernel(
        A: T.Tensor(a_shape, "float16"),
        B: T.Tensor(b_shape, "float16"),
        C: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared(a_tile, "float16")
            B_shared = T.alloc_shared(b_tile, "float16")
            C_local = T.alloc_fragment((m, n), "float32")
            T.clear(C_local)
            for step in T.Pipelined(2, num_stages=2):
                if trans_a:
                    T.copy(A[step * block_k, 0], A_shared)
                else:
                    T.copy(A[0, step * block_k], A_shared)
                if trans_b:
                    T.copy(B[0, step * block_k], B_shared)
                else:
                    T.copy(B[step * block_k, 0], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_A=trans_a, transpose_B=trans_b)
            T.copy(C_local, C)

    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, each).astype(np.float16) for each in (a_shape, b_shape))
    c = np.zeros((m, n), np.float32)
    module = lowered(kernel.module, amd_pipeline(chip))
    buffers = [Buffer(name, each) for name, each in (("A", a), ("B", b), ("C", c))]
    with counted(model or CHIPS[chip].banks) as found:
        compile_simt(module).launch(buffers, SimtOptions())
    left, right = (a.T if trans_a else a), (b.T if trans_b else b)
    np.testing.assert_array_equal(c, left.astype(np.float32) @ right.astype(np.float32))
    return list(found.values())


def assert_free(found: list[Accesses]) -> None:
    loads = [each for each in found if not each.writes]
    assert {each.name for each in loads} == {"A_shared", "B_shared"}
    assert {each.width for each in loads} == {16}
    for each in found:
        assert each.conflicts == 0, each


@pytest.mark.parametrize("chip", ["gfx950", "gfx1201"])
def test_operands_of_a_gemm(chip: str):
    assert_free(accesses(chip, 32, trans_a=False, trans_b=False))


@pytest.mark.slow
@pytest.mark.parametrize("chip", CHIPS)
def test_operands_of_gemms_in_every_order(chip: str):
    for block_k, trans_a, trans_b in product((32, 64, 128), (False, True), (False, True)):
        assert_free(accesses(chip, block_k, trans_a, trans_b))


@pytest.mark.slow
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", ["gemm_relu", "attention", "batched_gemm"])
def test_loads_of_operands_of_examples(chip: str, name: str):
    for subject in subjects(name, amd_pipeline(chip)):
        with counted(CHIPS[chip].banks) as found:
            subject.run(subject.module, SimtOptions(checked=False))
        loads = _loads_of_operands(found)
        assert loads
        for each in loads:
            assert (each.width, each.conflicts) == (16, 0), each


def _loads_of_operands(found: Mapping[Operation, Accesses]) -> list[Accesses]:
    return [each for each in found.values() if each.name in OPERANDS and not each.writes]


def test_the_counter_counts():
    """The layout is chosen for the lanes that gfx942 serves together, not for these."""
    banks = CHIPS["gfx942"].banks
    other = replace(banks, read_quads=((0, 2), (1, 3), (4, 6), (5, 7)))
    found = accesses("gfx942", 64, trans_a=False, trans_b=True, model=other)
    assert sum(each.conflicts for each in found if not each.writes) > 0
    assert sum(each.conflicts for each in found if each.writes) == 0
