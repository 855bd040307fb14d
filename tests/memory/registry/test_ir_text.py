"""Allocators as IR: the text parses and verifies with xDSL's own dialects, and says the layout."""

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, linalg, memref
from xdsl.dialects.linalg.ops import FillOp
from xdsl.parser import Parser

from tests.memory.registry.support import Owner
from tilewright.buffers import BufferGroup, BufferRegistry


def parsed(text):
    context = Context()
    for dialect in (builtin.Builtin, func.Func, arith.Arith, memref.MemRef, linalg.Linalg):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    [function] = module.ops
    return function


def group():
    made = BufferGroup(policy="strict")
    made.register("counter", 1, "shared", precision=np.int32)
    made.register("state", 3, "shared", precision=np.float64)
    made.register("empty", 0, "shared", precision=np.float16)
    made.register("kept", 2, "local", persistent=True)
    made.register("count", 2, "local", persistent=True, precision=np.int64)
    made.register("scratch", 5, "local")
    made.register("none", 0, "local")
    return made


@pytest.mark.parametrize(
    ("name", "pool", "offset", "result"),
    [
        ("counter", 0, 24, "memref<1xi32>"),
        ("state", 0, 0, "memref<3xf64>"),
        ("empty", 0, 0, "memref<0xf16>"),
        ("kept", 1, 0, "memref<2xf32>"),
        ("count", 1, 8, "memref<2xi64>"),
    ],
)
def test_views_of_pools(name, pool, offset, result):
    function = parsed(group().get_allocator_ir(name))
    constant, view, end = function.body.block.ops
    assert function.sym_name.data == f"allocate_{name}"
    assert function.sym_visibility.data == "private"
    assert constant.value.value.data == offset
    assert view.source is function.body.block.args[pool]
    assert str(view.result.type) == result
    assert list(end.operands) == [view.result]


@pytest.mark.parametrize(
    ("name", "result"), [("scratch", "memref<5xf32>"), ("none", "memref<1xf32>")]
)
def test_local_arrays(name, result):
    function = parsed(group().get_allocator_ir(name))
    made, end = function.body.block.ops
    assert isinstance(made, memref.AllocaOp)
    assert str(made.memref.type) == result
    assert list(end.operands) == [made.memref]


@pytest.mark.parametrize("name", ["state", "count", "scratch"])
def test_zeroing_is_a_fill(name):
    *_, zero, fill, end = parsed(group().get_allocator_ir(name, zero=True)).body.block.ops
    assert isinstance(fill, FillOp)
    assert zero.value.value.data == 0
    assert list(fill.inputs) == [zero.result]
    assert list(fill.outputs) == list(end.operands)


def test_an_empty_view_starts_at_0_wherever_it_was_placed():
    made = BufferGroup(policy="strict")
    made.register("a", 4, "shared")
    made.register("end", 0, "shared")
    assert made.shared_layout["end"] == slice(16, 16)
    constant, view, _ = parsed(made.get_allocator_ir("end")).body.block.ops
    assert constant.value.value.data == 0
    assert str(view.result.type) == "memref<0xf32>"


@pytest.mark.parametrize("name", ["empty", "none"])
def test_nothing_to_zero(name):
    made = group()
    assert made.get_allocator_ir(name, zero=True) == made.get_allocator_ir(name)


def test_through_the_registry_and_with_an_odd_name():
    registry, owner = BufferRegistry(policy="strict"), Owner()
    registry.register("k-1", owner, 2, "shared")
    text = registry.get_allocator_ir("k-1", owner)
    assert parsed(text).sym_name.data == "allocate_k-1"
    assert text == (
        'func.func private @"allocate_k-1"(%shared: memref<?xi8>, %persistent: memref<?xi8>) '
        "-> memref<2xf32> {\n"
        "  %offset = arith.constant 0 : index\n"
        "  %view = memref.view %shared[%offset][] : memref<?xi8> to memref<2xf32>\n"
        "  func.return %view : memref<2xf32>\n"
        "}\n"
    )
