"""Which products some tensor core does, and what is advised if none does."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
)

from tilewright.analysis.layout_inference import feasible
from tilewright.analysis.layout_inference.feasible import Infeasible
from tilewright.analysis.layout_inference.gemm_instructions import partition

HALF, BRAIN, SINGLE, EIGHT = Float16Type(), BFloat16Type(), Float32Type(), Float8E4M3FNType()


@pytest.mark.parametrize(
    ("a", "c", "arch"),
    [
        (HALF, SINGLE, 80),
        (HALF, HALF, 80),
        (BRAIN, SINGLE, 80),
        (SINGLE, SINGLE, 80),
        (IntegerType(8), IntegerType(32), 80),
        (EIGHT, SINGLE, 89),
    ],
)
def test_types_that_tensor_cores_have(a, c, arch):
    feasible.check_types(a, c, arch)


@pytest.mark.parametrize(
    ("a", "c", "arch", "message", "help"),
    [
        (BRAIN, HALF, 90, "of bfloat16 up in float32, not in float16", "accumulator of float32"),
        (HALF, BRAIN, 90, "up in float32 or float16, not in bfloat16", "accumulator of float32"),
        (IntegerType(8), SINGLE, 90, "of int8 up in int32, not in float32", "of int32"),
        (EIGHT, SINGLE, 86, "from sm_89 on, and this is compiled for sm_86", "to float16"),
        (Float64Type(), Float64Type(), 90, "do not multiply float64", "one of float16, bfloat16"),
        (IntegerType(16), IntegerType(32), 90, "do not multiply int16", "T.Parallel"),
    ],
)
def test_types_that_they_do_not_have(a, c, arch, message, help):
    with pytest.raises(Infeasible, match=message) as caught:
        feasible.check_types(a, c, arch)
    assert help in (caught.value.help or "")


@pytest.mark.parametrize(
    ("type", "k", "depth"), [(HALF, 48, 16), (HALF, 40, 8), (SINGLE, 12, 4), (EIGHT, 96, 32)]
)
def test_the_deepest_instruction_that_divides_k(type, k, depth):
    assert feasible.depth_for(type, k) == depth


@pytest.mark.parametrize(("type", "k", "up"), [(HALF, 20, 24), (SINGLE, 6, 8), (EIGHT, 8, 16)])
def test_no_instruction_divides_k(type, k, up):
    with pytest.raises(Infeasible, match=f"K is {k}, no multiple of") as caught:
        feasible.depth_for(type, k)
    assert f"K = {up}:" in (caught.value.help or "")
    feasible.depth_for(type, up)


def test_threads_are_whole_warps():
    feasible.check_threads(96)
    with pytest.raises(Infeasible, match="100 threads") as caught:
        feasible.check_threads(100)
    assert caught.value.help == "T.Kernel(..., threads=128)"


@pytest.mark.parametrize(
    ("m", "n", "warps", "help"),
    [
        (24, 64, 4, "tiles with M = 32"),
        (32, 20, 4, "tiles with N = 24"),
        (16, 16, 8, "threads=64, or a larger tile"),
        (16, 40, 12, "threads=160, or a larger tile"),
    ],
)
def test_a_product_that_warps_cannot_share(m, n, warps, help):
    def fits(count: int) -> bool:
        return partition(m, n, count, "square", by_groups=False) is not None

    assert not fits(warps)
    found = feasible.too_small(m, n, warps, fits)
    assert (found.help or "").startswith(help)
    if help.startswith("threads="):
        assert fits(int(help.removeprefix("threads=").partition(",")[0]) // 32)
