"""Names below `tl` that kernels reach for: `tl.core`, `tl.standard`, functions of own libraries."""

import pytest

from tests.language.tl.against_triton import check, our_module
from tilewright.ir.diagnostics import CompileError
from tilewright.language import tl

NEIGHBOURS = """
@jit
def smaller_first(x, N: tl.constexpr):
    steps: tl.constexpr = tl.standard._log2(N)
    bits = tl.core.get_int_dtype(bitwidth=x.dtype.primitive_bitwidth, signed=True)
    for step in tl.core.static_range(steps):
        pairs = tl.core.reshape(x, [N // 2, 2]).to(bits, bitcast=True)
        other = pairs ^ tl.core.broadcast_to(tl.xor_sum(pairs, 1, True), [N // 2, 2])
        x = tl.core.maximum(pairs, other).to(x.dtype, bitcast=True).reshape([N])
    return x

@jit
def kernel(x, y, N: tl.constexpr):
    offsets = tl.core.arange(0, N)
    tl.static_assert(tl.standard._is_power_of_two(N))
    zero = tl.core.CONSTEXPR_0
    tl.store(y + offsets, smaller_first(tl.load(x + offsets), N) + zero)
"""

OWN_LIBRARY = """
@tl.core.extern
def put(target, size, _semantic=None):
    return tl.core.extern_elementwise(
        "fabric",
        "fabric.bc",
        [target, size],
        {
            (tl.core.dtype("int64"), tl.core.dtype("int32")): ("put_32", tl.core.dtype("int32")),
            (tl.core.dtype("int64"), tl.core.dtype("int64")): ("put_64", tl.core.dtype("int32")),
        },
        is_pure=False,
        _semantic=_semantic,
    )

@jit
def kernel(x, y, n):
    put(x.to(tl.int64), n)
    tl.store(y, put(y.to(tl.int64), n.to(tl.int64)))
"""


@pytest.mark.parametrize("element", ["fp32", "fp16", "i8"])
def test_an_own_sort(element: str) -> None:
    text = check(NEIGHBOURS, {"x": f"*{element}", "y": f"*{element}"}, {"N": 16})
    assert text.count("tt.reduce.return") == 4


def test_an_own_library() -> None:
    text = check(OWN_LIBRARY, {"x": "*fp32", "y": "*i32", "n": "i32"})
    assert text.count('symbol = "put_32"') == 1
    assert text.count('symbol = "put_64"') == 1


def test_types_without_a_symbol_are_told() -> None:
    with pytest.raises(CompileError, match=r"input arg type does not match.*\(int64, fp32\)"):
        our_module(OWN_LIBRARY, {"x": "*fp32", "y": "*i32", "n": "fp32"}, {})


def test_the_rest_of_tl_is_there_too() -> None:
    assert tl.core.load is tl.load
    assert tl.standard.sort is tl.sort
    assert tl.core.get_int_dtype(16, signed=False) == tl.core.dtype("uint16")
    with pytest.raises(AttributeError, match=r"tl.* has no attribute 'lod'"):
        _ = tl.core.lod
