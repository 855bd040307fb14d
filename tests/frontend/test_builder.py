"""Where ops go: the current builder, per thread."""

from __future__ import annotations

import threading

import pytest
from xdsl.dialects.builtin import IntegerAttr, UnknownLoc, i32
from xdsl.ir import Block

from tests.frontend.mini import jit, lines, store
from tilewright.dialects.arith import ConstantOp
from tilewright.frontend.builder import Builder, current, is_tracing, using
from tilewright.ir.text.locations import file_location

HERE = file_location("here.py", 3, 4)


def constant(value: int) -> ConstantOp:
    return ConstantOp(IntegerAttr(value, i32))


def values(block: Block) -> list[int]:
    return [op.value.value.data for op in block.ops if isinstance(op, ConstantOp)]


def test_ops_go_to_the_end_of_the_block() -> None:
    outer, inner = Block(), Block()
    builder = Builder(outer)
    builder.insert(constant(1))
    with builder.at(inner):
        builder.insert(constant(2))
    builder.insert(constant(3))
    assert (values(outer), values(inner)) == ([1, 3], [2])


def test_places_can_be_given() -> None:
    builder = Builder(Block())
    assert isinstance(builder.insert(constant(1)).location, UnknownLoc)
    with builder.located(HERE):
        assert builder.insert(constant(2)).location == HERE
        own = constant(3)
        own.location = file_location("own.py", 1, 1)
        assert builder.insert(own).location == file_location("own.py", 1, 1)
    assert isinstance(builder.insert(constant(4)).location, UnknownLoc)


def test_the_insertion_point_comes_back_after_an_error() -> None:
    block = Block()
    builder = Builder(block)
    with pytest.raises(KeyError), builder.at(Block()), builder.located(HERE):
        raise KeyError
    assert builder.block is block
    assert isinstance(builder.location(), UnknownLoc)


def test_there_is_a_builder_only_inside_of_kernels() -> None:
    assert not is_tracing()
    with pytest.raises(RuntimeError, match="inside a function decorated with @jit"):
        current()
    builder = Builder(Block())
    with using(builder):
        assert is_tracing()
        assert current() is builder
        with using(Builder(Block())) as other:
            assert current() is other
        assert current() is builder
    assert not is_tracing()


@jit
def kernel(n, m):
    s = n
    for i in range(m):
        s = s + i
    store(s, m)


def test_threads_trace_their_own_kernels() -> None:
    found: list[list[str]] = []

    def work() -> None:
        for _ in range(5):
            found.append(lines(kernel))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20
    assert all(each == found[0] for each in found)
    assert found[0][0].startswith("%s = scf.for")
