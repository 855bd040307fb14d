"""Statements whose meaning `tl` decides: the text is Triton's, unused constants included."""

import warnings

import pytest

pytest.importorskip("triton", reason="the texts are compared with Triton's")

from tests.language.tl.against_triton import our_module, our_text
from tests.language.tl.outcomes import check_text
from tilewright.ir.diagnostics import CompileError

NAMES = """
@jit
def kernel(a, N: tl.constexpr):
    x = 5
    y = 2.5
    z = True
    w = N
    v: tl.constexpr = N * 2
    u = v + 1
    t = (1, 2.5, a)
    s, r = 3, N
    q = None
    p = tl.float32
    o = a + 1
    o += 2
    i: tl.int32 = 7
    big = 4294967296
"""
ANNOTATED_FIRST = """
@jit
def kernel(a, b, c, N: tl.constexpr):
    p: tl.constexpr
    q: tl.constexpr
    r: tl.constexpr
    p, x = N, N
    (y, q), z = (N, (N, 3)), 5
    if (r := N * 2) == 8:
        x += a
    else:
        tl.static_assert(False)
    tl.static_assert(p + r + q[1] == 15)
    tl.static_assert(x.dtype == tl.int32 and y.dtype == tl.int32)
    p = a + 1
    w = (v := N) + r
"""
TYPES = """
@jit
def kernel(a, b, c, N: tl.constexpr):
    t = (a, b)
    tl.static_assert(t.type == tl.tuple_type([tl.int32, tl.int64]))
    tl.static_assert(N.type == tl.constexpr_type(4))
    tl.static_assert(a.type == tl.int32)
    u = a + 1 if N.type == b.type else a + 2
"""
COUNTED = """
@jit
def kernel(a, b, c, N: tl.constexpr):
    acc = 0
    for i in range(10):
        acc += i
    for i in range(a):
        acc += i
    for j in range(N, a, 2):
        acc += j
    for k in range(b):
        acc += 1
    for k in range(c, a):
        acc += 1
"""
HINTED = """
@jit
def kernel(a, b, c, N: tl.constexpr):
    acc = 0
    for k in tl.range(a, b, c, num_stages=3, loop_unroll_factor=2, flatten=True,
                      warp_specialize=True, disallow_acc_multi_buffer=True, disable_licm=True):
        acc += 1
    while tl.condition(acc < N, disable_licm=True):
        acc += 1
    while acc:
        acc -= 1
"""
HINTED_BY_MISTAKE = """
@jit
def kernel(a, b, c, N: tl.constexpr):
    acc = 0
    for k in range(a, b, num_stages=3, warp_specialize=True):
        acc += 1
"""
DOWNWARDS = """
@jit
def kernel(a, b, c, N: tl.constexpr):
    acc = 0
    for l in range(10, 0, -1):
        acc += l
    for l in range(a, N, -2):
        acc += l
    for l in tl.range(b, a, -1):
        acc += l.to(tl.int32)
"""
UNROLLED = """
@jit
def kernel(a, b, c, N: tl.constexpr):
    acc = 0
    for m in tl.static_range(3):
        acc += m
    for m in tl.static_range(1, N + 2, 2):
        acc += m * N
"""
CONDITIONS = """
@jit
def kernel(a, b, c, N: tl.constexpr):
    x = a
    if a > 3:
        x = a + 1
    if a:
        x = a + 2
    if c:
        x = a + 3
    if N:
        x = a + 4
    if N > 10:
        x = a + 5
    y = a if a > 3 else 4
    z = 1 if N == 4 else 2
    while x < 10:
        x += 1
    w = a > 1 and a < 5
    v = 1 < a < 5
    u = not (a > 1)
    t = N > 1 and a > 2
    s = a > 2 or N > 1
"""
BUILTINS = """
@jit
def kernel(a, b, c, N: tl.constexpr):
    x = min(a, 3)
    y = max(a, b, 7)
    z = min(N, 3)
    w = max(N, 7) + a
    v = len((1, 2, 3)) + a
    u = int(2.5) + a
    t = float("inf") + c.to(tl.float32)
    s = a if isinstance(a, tl.tensor) else b
    r = N if hasattr(a, "dtype") else 3
    q = getattr(a, "dtype")
"""
SOURCES = {
    name.lower(): text
    for name, text in globals().items()
    if name.isupper() and isinstance(text, str)
}


@pytest.mark.parametrize("name", SOURCES)
def test_same_as_triton(name: str) -> None:
    source = SOURCES[name]
    parameters = {"a": "i32"} if name == "names" else {"a": "i32", "b": "i64", "c": "u32"}
    assert "tt.return" in check_text(source, parameters, {"N": 4})


SHIFTED = """
@jit
def kernel(a, N: tl.constexpr):
    x = a + 1
    y = x << 40
    z = x >> 3
"""


def only_warning(source: str, parameters: dict[str, str]) -> warnings.WarningMessage:
    """What the author of `source` is told; the harness puts one line in front of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(warnings, "simplefilter", lambda *_: None)
            our_module(source, parameters, {"N": 4})
    (found,) = caught
    assert "kernel_of_ours" in found.filename
    return found


def test_a_warning_points_at_the_authors_line() -> None:
    found = only_warning(SHIFTED, {"a": "i32"})
    assert "Value 40 exceeds the maximum bitwidth (32)" in str(found.message)
    assert found.lineno == 6


def test_hints_that_only_tl_range_takes_are_told() -> None:
    found = only_warning(HINTED_BY_MISTAKE, {"a": "i32", "b": "i64", "c": "u32"})
    assert "ignores num_stages, warp_specialize" in str(found.message)
    assert found.lineno == 6


ONE_ELEMENT_APART = """
@jit(noinline=True)
def apart(value):
    tl.device_print("value", value)

@jit
def kernel(a, N: tl.constexpr):
    apart(tl.full((1,), 1, tl.int32) + a)
    apart(tl.full((1, 1), 1, tl.int32))
"""


def test_a_tensor_of_one_element_may_enter_a_function_that_is_not_inlined() -> None:
    text = our_text(ONE_ELEMENT_APART, {"a": "i32"}, {"N": 4})
    assert ": (tensor<1xi32>) -> ()" in text
    assert ": (tensor<1x1xi32>) -> ()" in text


def test_a_tensor_of_more_may_not() -> None:
    more = ONE_ELEMENT_APART.replace("(1, 1)", "(1, 2)")
    with pytest.raises(CompileError, match="noinline, but was called with non-scalar argument"):
        our_module(more, {"a": "i32"}, {"N": 4})
