"""Variables whose names are numbers to xDSL: `_0`, `_0_1`."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright import T, tl
from tilewright.ir.hints import name_hint_of
from tilewright.targets.cuda.compile import compile_module


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("x", "x"),
        ("_", "_"),
        ("_x_0", "_x_0"),
        ("_4_i8", "_4_i8"),
        ("_0", None),
        ("_0_112", None),
        ("", None),
        ("1x", None),
        (None, None),
    ],
)
def test_names_that_values_may_have(name: str | None, hint: str | None) -> None:
    assert name_hint_of(name) == hint


@tw.jit
def doubled(_0, _1, _2: tl.constexpr):
    _3 = tl.program_id(0) * _2 + tl.arange(0, _2)
    _0_1 = tl.zeros((_2,), tl.float32)
    for _4 in range(2):
        _0_1 += tl.load(_0 + _3)
    tl.store(_1 + _3, _0_1)


def test_a_kernel_on_pointers() -> None:
    x = np.random.default_rng(0).standard_normal(64).astype(np.float32)
    out = np.full_like(x, np.nan)
    doubled[(2,)](x, out, 32)
    np.testing.assert_array_equal(out, 2 * x)
    kernel = doubled.warmup(x, out, 32, grid=(2,), target="cuda:sm_90a").raised
    assert "doubled" in kernel.get_kernel_source()


@T.prim_func
def halved(_0: T.Tensor((64,), "float32"), _1: T.Tensor((64,), "float32")):
    with T.Kernel(2, threads=32) as _2:
        _3 = T.alloc_fragment((32,), "float32")
        T.copy(_0[_2 * 32], _3)
        for _4 in T.Parallel(32):
            _3[_4] = _3[_4] / 2
        T.copy(_3, _1[_2 * 32])


def test_a_kernel_on_tiles() -> None:
    x = np.random.default_rng(0).standard_normal(64).astype(np.float32)
    out = np.full_like(x, np.nan)
    tw.compile(halved)(x, out)
    np.testing.assert_array_equal(out, x / 2)
    (kernel,) = compile_module(halved.module, "sm_90a").kernels.values()
    assert "halved" in kernel.source
