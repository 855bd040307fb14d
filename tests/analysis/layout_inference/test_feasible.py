"""Which GEMMs some MMA instruction can do, and the help text if none can."""

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
from tilewright.analysis.layout_inference.nvidia_gemms import partition

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
        (
            BRAIN,
            HALF,
            90,
            "bfloat16 operands accumulates in float32, the accumulator is float16",
            "in float32",
        ),
        (HALF, BRAIN, 90, "in float32 or float16, the accumulator is bfloat16", "in float32"),
        (
            IntegerType(8),
            SINGLE,
            90,
            "accumulates in int32, the accumulator is float32",
            "in int32",
        ),
        (EIGHT, SINGLE, 86, "require sm_89, the target is sm_86", "to float16"),
        (
            Float64Type(),
            Float64Type(),
            90,
            "no MMA instruction for float64",
            "one of float16, bfloat16",
        ),
        (IntegerType(16), IntegerType(32), 90, "no MMA instruction for int16", "T.Parallel"),
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
    with pytest.raises(Infeasible, match=f"K = {k} is not a multiple of") as caught:
        feasible.depth_for(type, k)
    assert f"K = {up}:" in (caught.value.help or "")
    feasible.depth_for(type, up)


def test_threads_are_whole_warps():
    feasible.check_threads(96)
    with pytest.raises(Infeasible, match="100 threads") as caught:
        feasible.check_threads(100)
    assert caught.value.help == "use T.Kernel(..., threads=128)"


@pytest.mark.parametrize(
    ("m", "n", "warps", "help"),
    [
        (24, 64, 4, "use tiles with M = 32"),
        (32, 20, 4, "use tiles with N = 24"),
        (16, 16, 8, "use threads=64 or a larger tile"),
        (16, 40, 12, "use threads=160 or a larger tile"),
    ],
)
def test_a_gemm_that_warps_cannot_share(m, n, warps, help):
    def fits(count: int) -> bool:
        return partition(m, n, count, "square", by_groups=False) is not None

    assert not fits(warps)
    found = feasible.too_small(m, n, warps, fits)
    assert (found.help or "").startswith(help)
    if help.startswith("use threads="):
        assert fits(int(help.removeprefix("use threads=").partition(" ")[0]) // 32)
