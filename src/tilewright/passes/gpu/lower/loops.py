"""Branches and counted loops of thread-level code."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, IntegerAttr, UnitAttr, i64
from xdsl.ir import Block, Region, SSAValue

from tilewright.dialects.scf import ForOp, IfOp, YieldOp
from tilewright.dialects.tile import names
from tilewright.passes.tile.index_builder import IndexBuilder


def opened(code: IndexBuilder, condition: SSAValue) -> IndexBuilder:
    """Code inside an `if`."""
    block = Block([YieldOp()])
    code.add(IfOp(condition, [], Region(block)))
    return code.inside(block)


def counted(
    code: IndexBuilder, count: int, *marks: str, at_once: int | None = None
) -> tuple[IndexBuilder, SSAValue]:
    """A loop from 0 to `count`: code inside it, and its variable.

    One that is to be unrolled is so by `at_once` iterations, if there are more.
    """
    block = Block([YieldOp()], arg_types=[IndexType()])
    zero, step = code.index(0), code.index(1)
    loop = ForOp(zero, code.index(count), step, [], Region(block))
    for mark in marks:
        loop.attributes[mark] = UnitAttr()
    if at_once is not None and count > at_once and names.UNROLL in loop.attributes:
        del loop.attributes[names.UNROLL]
        loop.attributes[names.UNROLL_FACTOR] = IntegerAttr(at_once, i64)
    code.add(loop)
    return code.inside(block), block.args[0]
