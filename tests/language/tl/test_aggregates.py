"""Classes of a kernel: the same IR as Triton's, and the same refusals."""

import re

import numpy as np
import pytest

import tilewright as tw
from tests.language.tl.against_triton import check, our_module, triton_source
from tilewright.dialects.tt import FuncOp
from tilewright.ir.diagnostics import CompileError
from tilewright.language import tl

CLASSES = """
aggregate = tl.core._aggregate

@aggregate
class Window:
    pointer: tl.tensor
    count: tl.tensor
    SIZE: tl.constexpr

    @jit
    def offsets(self, row):
        return row * self.SIZE + tl.arange(0, self.SIZE)

    @jit
    def load(self, row):
        return tl.load(self.pointer + self.offsets(row), mask=self.inside(row))

    @jit
    def inside(self, row):
        return self.offsets(row) < self.count

    @staticmethod
    def of(pointer, count):
        return Window(pointer, count, SIZE=16)

@aggregate
class Scaled(Window):
    factors: tl.tuple
    power: tl.constexpr = 2

    @jit
    def load(self, row):
        value = tl.load(self.pointer + self.offsets(row))
        for _ in tl.static_range(self.power):
            value = value * self.factors[0] + self.factors[1]
        return value

@aggregate
class State:
    total: tl.tensor
    window: Window

    @jit
    def after(self, row):
        return State(self.total + self.window.load(row), self.window)
"""
METHODS = (
    CLASSES
    + """
@jit
def kernel(x, y, n):
    window = Window.of(x, n)
    row = tl.program_id(0)
    tl.store(y + window.offsets(row), window.load(row), mask=window.inside(row))
    scaled = Scaled(x, n, 16, (n, 3))
    tl.store(y + scaled.offsets(row), scaled.load(row))
"""
)
FLOW = (
    CLASSES
    + """
@jit
def kernel(x, y, n):
    state = State(tl.zeros([16], tl.float32), Window(x, n, 16))
    for row in range(n):
        state = state.after(row)
    if n > 7:
        state = State(state.total * 2, state.window)
    elif n > 5:
        state = tl.aggregate_replace(state, window=Window.of(y, n))
    while n > 3:
        n -= 1
        state = tl.aggregate_replace(state, total=state.total + n)
    tl.store(y + tl.arange(0, 16), state.total + state.window.load(0))
"""
)
NOT_INLINE = (
    CLASSES
    + """
@jit(noinline=True)
def first(window, row):
    tl.device_print("row", tl.load(window.pointer + row * window.SIZE))

@jit
def early(state, n):
    if n > 3:
        return state.total
    return state.total + 1

@jit
def kernel(x, y, n):
    window = Window(x, n, 16)
    first(window, n)
    first(tl.aggregate_replace(window, SIZE=32), n)
    tl.store(y + tl.arange(0, 16), early(State(tl.zeros([16], tl.float32), window), n))
"""
)
SUBSCRIPTS = """
@tl.core._aggregate
class Pair:
    first: tl.tensor
    second: tl.tensor

    def __init__(self, first, second):
        self.second = first
        self.first = second

    def __getitem__(self, index, _semantic=None):
        return self.second if index else self.first

    @jit
    def __add__(self, other):
        return Pair(self.first + other.first, self.second + other.second)

@jit
def kernel(x, y, n):
    pair = Pair(n, n + 1)
    both = pair + Pair(n * 3, n)
    tl.static_assert(both.type == pair.type)
    tl.store(y, both[0].to(tl.float32) + both[1])
"""
SIGNATURE = {"x": "*fp32", "y": "*fp32", "n": "i32"}


@pytest.mark.parametrize("source", [METHODS, FLOW, SUBSCRIPTS])
def test_same_as_triton(source: str) -> None:
    text = check(source, SIGNATURE)
    assert "tt.load" in text or "arith.addi" in text


def test_symbols_name_the_class_as_tritons_do() -> None:
    module = our_module(NOT_INLINE, SIGNATURE, {})
    names = [
        re.sub(r"kernel_of_ours_\d+", "k", op.sym_name.data)
        for op in module.ops
        if isinstance(op, FuncOp)
    ]
    assert names == [
        "kernel",
        "k.first__k.Window<Pfp32, i32, c16>_i32",
        "k.first__k.Window<Pfp32, i32, c32>_i32",
        "k.early__k.State<fp32S16S, k.Window<Pfp32, i32, c16>>_i32",
    ]
    theirs = re.sub(r"kernel_of_triton_\d+", "k", triton_source(NOT_INLINE, SIGNATURE, {}))
    assert [name for name in names if f'@"{name}"' not in theirs] == ["kernel"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Window(x, n)", "missing required argument: 'SIZE'"),
        ("Window(x, n, 16, 17)", "takes 4 positional arguments but 5 were given"),
        ("Window(x, n, 16, n=2)", "unexpected keyword argument 'n'"),
        ("Window(x, n, 16, pointer=x)", "got multiple values for argument 'pointer'"),
        ("Window(x, n, n)", "Expected constexpr for attribute 'SIZE' of Window, got the run-time"),
        ("Window(x, 3, 16)", "Expected tensor for attribute 'count' of Window, got the constant 3"),
        ("State(n, n)", "Expected Window for attribute 'window' of State, got int32"),
        ("Window.of(x, n).pointer = y", "assignment to an attribute is not supported"),
        ("tl.aggregate_replace(Window.of(x, n), size=3)", "Window has no field 'size'"),
        ("tl.aggregate_replace(n, size=3)", "expects an aggregate instance"),
        ("w = Window.of(x, n) if n > 3 else State(n, Window.of(x, n))", "Window"),
    ],
)
def test_what_is_refused(line: str, message: str) -> None:
    source = f"{CLASSES}\n@jit\ndef kernel(x, y, n):\n    {line}\n"
    with pytest.raises(CompileError, match=message.replace("(", r"\(")):
        our_module(source, SIGNATURE, {})


@tw.aggregate
class Shape:
    rows: tl.constexpr
    columns: "tl.constexpr" = 4

    @tw.constexpr_function
    def size(self):
        return self.rows * self.columns


def test_outside_of_kernels() -> None:
    shape = Shape(3)
    assert isinstance(shape.rows, tl.constexpr)
    assert (shape.rows.value, shape.columns.value, shape.size()) == (3, 4, 12)
    assert tl.aggregate_replace(shape, columns=5).size() == 15
    with pytest.raises(
        AttributeError, match="cannot assign to field 'rows' on immutable aggregate"
    ):
        shape.rows = 7
    with pytest.raises(AttributeError, match="Shape has no attribute 'depth'"):
        shape.depth = 7


def test_a_base_class_is_an_aggregate() -> None:
    class Plain:
        pass

    with pytest.raises(TypeError, match="Aggregates can only inherit from other aggregates"):

        @tw.aggregate
        class Derived(Plain):
            size: tl.constexpr


def test_a_constructor_fills_every_field() -> None:
    @tw.aggregate
    class Half:
        first: tl.constexpr
        second: tl.constexpr

        def __init__(self, first):
            self.first = first

    with pytest.raises(AttributeError, match="did not initialize attribute 'second'"):
        Half(1)


@tw.aggregate
class Sum:
    total: tl.tensor
    count: tl.tensor
    SIZE: tl.constexpr

    @tw.jit
    def plus(self, pointer):
        values = tl.load(pointer + tl.arange(0, self.SIZE))
        return tl.aggregate_replace(self, total=self.total + values, count=self.count + 1)


@tw.jit
def mean_of_rows(x, y, rows, SIZE: tl.constexpr):
    sums = Sum(tl.zeros([SIZE], tl.float32), tl.to_tensor(0), SIZE)
    for row in range(rows):
        sums = sums.plus(x + row * SIZE)
    tl.store(y + tl.arange(0, SIZE), sums.total / sums.count)


def test_values() -> None:
    x = np.random.default_rng(3).normal(size=(5, 8)).astype(np.float32)
    y = np.full(8, np.nan, np.float32)
    mean_of_rows[1,](x, y, 5, SIZE=8)
    np.testing.assert_allclose(y, x.mean(0), rtol=1e-6)
