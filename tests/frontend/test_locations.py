"""Every op knows where it comes from: file, line, column, name, and the calls that led there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Operation

from tests.frontend.mini import compiled, jit, store, traced
from tilewright.dialects.tt import FuncOp
from tilewright.frontend.functions.function import KernelFunction
from tilewright.frontend.locations import current_location
from tilewright.ir.diagnostics import resolve

SOURCE = """\
@jit
def helper(a, b):
    c = a + b
    return c * 2

@jit
def kernel(n, m):
    x = load(n + 1)
    y = 7
    y += m
    if n > m:
        x = x + m
    elif n == m:
        store(0, n)
    z = x if m > 0 else y
    for i in range(0, n):
        z = z + helper(i,
                       m)
    while z < 10:
        z = z * 3
    a, b = 5, load(n)
    w = (load(a)
         .twice(plus=(
             b > n)
                if False
                else b)
         .T)
    store(
        w,
        [load(q) for q in (1, n)][1],
    )
    v: int = n + z
    k: constexpr = n + 9
    u = (t := n + v) + t
    if n > 0:
        return
    store(k,  u)
"""


def places(kernel: KernelFunction, **constants: Any) -> list[str]:
    """`op line:column name`, of every op."""
    return [describe(op) for op in walk(kernel, **constants)]


def walk(kernel: KernelFunction, **constants: Any) -> Iterator[Operation]:
    module = traced(kernel, **constants).module
    yield from (op for op in module.walk() if op is not module)


def describe(op: Operation) -> str:
    trail = resolve(op.location)
    assert trail.primary is not None
    calls = "".join(f" < {c.position.line}:{c.position.column}" for c in trail.callers)
    names = "".join(f" {name}" for name in trail.names)
    return f"{op.name} {trail.primary.line}:{trail.primary.column}{names}{calls}"


def test_every_op_is_where_the_author_wrote_it() -> None:
    kernel = compiled(SOURCE)["kernel"]
    assert places(kernel) == [
        "tt.func 7:1",
        "arith.constant 8:14 x",
        "arith.addi 8:14 x",
        "tt.call 8:9 x",
        "arith.constant 9:5 y",
        "arith.addi 10:5 y",
        "arith.cmpi 11:8",
        "scf.if 11:5",
        "arith.addi 12:13 x",
        "scf.yield 12:13 x",
        "arith.cmpi 13:10",
        "scf.if 13:5",
        "arith.constant 14:9",
        "tt.call 14:9",
        "scf.yield 14:9",
        "scf.yield 13:5",
        "scf.yield 13:5",
        "arith.constant 15:14 z",
        "arith.cmpi 15:14 z",
        "scf.if 15:9 z",
        "scf.yield 15:9 z",
        "scf.yield 15:9 z",
        "arith.constant 16:5",
        "arith.constant 16:5",
        "scf.for 16:5 z",
        "arith.addi 3:9 c < 17:17",
        "arith.constant 4:12 < 17:17",
        "arith.muli 4:12 < 17:17",
        "arith.addi 17:13 z",
        "scf.yield 16:5",
        "scf.while 19:5 z",
        "arith.constant 19:11",
        "arith.cmpi 19:11",
        "scf.condition 19:11",
        "arith.constant 20:13 z",
        "arith.muli 20:13 z",
        "scf.yield 19:5",
        "tt.call 21:15",
        "arith.constant 21:5",
        "tt.call 22:10 w",
        "arith.addi 22:10 w",
        "arith.addi 22:10 w",
        "arith.constant 22:10 w",
        "arith.muli 22:10 w",
        "arith.constant 30:10",
        "tt.call 30:10",
        "tt.call 30:10",
        "tt.call 28:5",
        "arith.addi 32:14 v",
        "arith.constant 33:20",
        "arith.addi 33:20",
        "arith.addi 34:15 t",
        "arith.addi 34:9 u",
        "arith.constant 35:8",
        "arith.cmpi 35:8",
        "cf.cond_br 35:8",
        "tt.return 36:9",
        "tt.call 37:5",
        "tt.return 7:1",
    ]


def test_arguments_are_named_and_at_the_function() -> None:
    kernel = compiled(SOURCE)["kernel"]
    (function,) = [op for op in walk(kernel) if isinstance(op, FuncOp)]
    arguments = [resolve(argument.location) for argument in function.body.blocks[0].args]
    assert [(trail.names, trail.primary.line) for trail in arguments] == [(("n",), 7), (("m",), 7)]


def test_arguments_of_loops_are_named_after_their_variables() -> None:
    kernel = compiled(SOURCE)["kernel"]
    (loop,) = [op for op in walk(kernel) if op.name == "scf.for"]
    arguments = [resolve(argument.location) for argument in loop.regions[0].block.args]
    assert [(trail.names, trail.primary.line) for trail in arguments] == [
        (("i",), 16),
        (("z",), 15),
    ]


class TestIndented:
    def test_a_function_inside_of_others(self) -> None:
        def make() -> KernelFunction:
            # The text of the string begins in the first column.
            @jit
            def inside(n):
                """One
                two
                """
                store(n, 1)

            return inside

        kernel = make()
        here = Path(__file__).read_text(encoding="utf-8").splitlines()
        line = here.index("                store(n, 1)") + 1
        assert places(kernel)[1:3] == [f"arith.constant {line}:17", f"tt.call {line}:17"]
        assert {resolve(op.location).primary.file for op in walk(kernel)} == {__file__}


def test_calls_of_functions_of_the_ir_begin_anew() -> None:
    source = """\
@jit(noinline=True)
def apart(x):
    return x + 1

@jit
def kernel(n):
    store(0, apart(n))
"""
    assert places(compiled(source)["kernel"])[-4:] == [
        "tt.func 2:1",
        "arith.constant 3:12",
        "arith.addi 3:12",
        "tt.return 3:5",
    ]


def test_chains_of_calls_are_told_from_the_inside_out() -> None:
    source = """\
@jit
def one(x):
    return x + 1

@jit
def two(x):
    return one(x)

@jit
def kernel(n):
    z = two(n)
    store(0, z)
"""
    assert places(compiled(source)["kernel"])[2] == "arith.addi 3:12 < 7:12 < 11:9"


def test_functions_of_a_language_are_placed_where_they_are_called() -> None:
    library = compiled(
        "@jit\ndef double(x):\n    y = x + HIDDEN\n    return y + x\n",
        file="library.py",
        __name__="tilewright.language.made_up",
        HIDDEN=3,  # a language may use whatever is in its module
    )["double"]
    source = "@jit\ndef kernel(n):\n    z = double(n)\n    store(0, z)\n"
    kernel = compiled(source, double=library)["kernel"]
    assert library.is_library
    assert places(kernel)[1:4] == ["arith.constant 3:9 z", "arith.addi 3:9 z", "arith.addi 3:9 z"]


def test_columns_count_bytes_as_tritons_do() -> None:
    source = '@jit\ndef kernel(n):\n    s: constexpr = "ä"; store(n, n)\n'
    assert places(compiled(source)["kernel"])[1] == "tt.call 3:26"


def test_nothing_is_executed_outside_of_kernels() -> None:
    assert isinstance(current_location(), UnknownLoc)


def test_equal_places_share_one_location() -> None:
    source = "@jit\ndef kernel(n):\n    for i in static_range(2):\n        store(load(i), n)\n"
    calls = [op for op in walk(compiled(source)["kernel"]) if op.name == "tt.call"]
    stores = [op for op in calls if not op.results]
    assert stores[0].location is stores[1].location
