"""The calls of circular buffers that a kernel makes for given run-time arguments, in order.

Kernels consist of loops, branches and integer arithmetic on arguments and indices, so they can be
followed without any data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.scf import ForOp
from tilewright.dialects.tensix.arguments import ArgAtOp, ArgOp, CtArgOp, RasterOp
from tilewright.dialects.tensix.buffers import (
    CBCountOp,
    CBPopOp,
    CBPushOp,
    CBReserveOp,
    CBWaitOp,
    cb_index,
)
from tilewright.dialects.tensix.program import KernelOp
from tilewright.dialects.tensix.tables import TableOp
from tilewright.ir.interfaces import constant_value

_MASK = 0xFFFFFFFF


class NotAnalysed(Exception):
    """A kernel that makes more calls than are followed, or whose control flow is not understood."""


@dataclass(frozen=True)
class Call:
    """One call."""

    kind: str
    """``reserve``, ``push``, ``wait`` or ``pop``."""
    cb: int
    pages: int
    op: Operation


_KINDS: Mapping[type[CBCountOp], str] = {
    CBReserveOp: "reserve",
    CBPushOp: "push",
    CBWaitOp: "wait",
    CBPopOp: "pop",
}

_BINARY: Mapping[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: (a + b) & _MASK,
    "arith.subi": lambda a, b: (a - b) & _MASK,
    "arith.muli": lambda a, b: (a * b) & _MASK,
    "arith.divui": lambda a, b: a // b,
    "arith.remui": lambda a, b: a % b,
    "arith.divsi": lambda a, b: a // b,
    "arith.remsi": lambda a, b: a % b,
    "arith.floordivsi": lambda a, b: (_signed(a) // _signed(b)) & _MASK,
    "arith.ceildivsi": lambda a, b: -(-_signed(a) // _signed(b)) & _MASK,
    "arith.ceildivui": lambda a, b: -(-a // b),
    "arith.minui": lambda a, b: min(a, b),
    "arith.maxui": lambda a, b: max(a, b),
    "arith.minsi": lambda a, b: min(_signed(a), _signed(b)) & _MASK,
    "arith.maxsi": lambda a, b: max(_signed(a), _signed(b)) & _MASK,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
}
_SAME = ("arith.index_cast", "arith.extui")

_COMPARISONS: Sequence[Callable[[int, int], bool]] = (
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: _signed(a) < _signed(b),
    lambda a, b: _signed(a) <= _signed(b),
    lambda a, b: _signed(a) > _signed(b),
    lambda a, b: _signed(a) >= _signed(b),
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
)


def _signed(value: int) -> int:
    return value - (1 << 32) if value & 0x80000000 else value


def calls_of(kernel: KernelOp, arguments: Sequence[int], limit: int) -> Iterator[Call]:
    """The calls, one at a time; `NotAnalysed` after `limit` of them."""
    yield from _Follower(arguments, limit).block(kernel.body.block)


class _Follower:
    """Values of the integers that are known so far."""

    def __init__(self, arguments: Sequence[int], limit: int) -> None:
        self._arguments = arguments
        self._values: dict[SSAValue, int] = {}
        self._left = limit

    def block(self, block: Block) -> Iterator[Call]:
        for op in block.ops:
            yield from self._op(op)

    def _op(self, op: Operation) -> Iterator[Call]:
        if isinstance(op, CBCountOp):
            yield self._call(op)
        elif isinstance(op, ForOp):
            yield from self._for(op)
        elif op.name == "scf.if":
            yield from self._if(op)
        elif isinstance(op, ArgOp):
            self._values[op.result] = self._arguments[op.index]
        elif isinstance(op, ArgAtOp):
            self._values[op.result] = self._arguments[op.first + self._value(op.index)]
        elif isinstance(op, RasterOp):
            tile, rows, columns = (self._value(each) for each in op.position)
            self._values[op.row], self._values[op.column] = op.raster.at(tile, rows, columns)
        elif op.results and not isinstance(op, CtArgOp):
            self._integer(op)

    def _call(self, op: CBCountOp) -> Call:
        self._left -= 1
        index = cb_index(op.cb)
        if self._left < 0 or index is None:
            raise NotAnalysed
        return Call(_KINDS[type(op)], index, self._value(op.pages), op)

    def _for(self, op: ForOp) -> Iterator[Call]:
        bounds = [self._value(each) for each in (op.lower_bound, op.upper_bound, op.step)]
        carried = [self._value(each) for each in op.init_args]
        has_calls = any(isinstance(each, CBCountOp) for each in op.walk())
        if not has_calls and not op.results:
            return
        for value in range(*bounds):
            self._values[op.induction_variable] = value
            self._values.update(zip(op.iter_args, carried, strict=True))
            yield from self.block(op.body.block)
            carried = [self._value(each) for each in op.yield_op.operands]
        self._values.update(zip(op.results, carried, strict=True))

    def _if(self, op: Operation) -> Iterator[Call]:
        chosen = op.regions[0 if self._value(op.operands[0]) else 1]
        if not chosen.blocks:
            return
        yield from self.block(chosen.block)
        last = chosen.block.last_op
        if op.results and last is not None:
            values = [self._value(each) for each in last.operands]
            self._values.update(zip(op.results, values, strict=True))

    def _integer(self, op: Operation) -> None:
        if op.name == "arith.cmpi":
            predicate: int = cast("Any", op.properties["predicate"]).value.data
            left, right = (self._value(each) for each in op.operands)
            self._values[op.results[0]] = _COMPARISONS[predicate](left, right)
        elif op.name in _BINARY:
            left, right = (self._value(each) for each in op.operands)
            self._values[op.results[0]] = _BINARY[op.name](left, right)
        elif op.name == "arith.select":
            test, first, second = (self._value(each) for each in op.operands)
            self._values[op.results[0]] = first if test else second
        elif isinstance(op, TableOp):
            self._values[op.result] = op.entries[self._value(op.position)] & _MASK
        elif op.name in _SAME:
            self._values[op.results[0]] = self._value(op.operands[0])

    def _value(self, value: SSAValue) -> int:
        found = self._values.get(value)
        if found is not None:
            return found
        constant = constant_value(value)
        if isinstance(constant, IntegerAttr):
            return constant.value.data
        # An L1 address or an accessor: nothing that control flow depends on.
        return 0
