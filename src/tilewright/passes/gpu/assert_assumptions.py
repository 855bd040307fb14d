"""`assert-assumptions`: the host checks at a launch what the compiler assumes of its arguments.

    func.func @k(%s: i32 {tile.divisibility = 8 : i32})      tile.assert %s % 8 == 0
      tile.assume %n % 16 == 0                         ->    tile.assert %n % 16 == 0
      tile.kernel in (%g) { tile.assume %m > 0 }             tile.assert %g == 0 or %m > 0

Widths of accesses, TMA and dropped guards rely on assumptions. Those that the host can evaluate are
asserted before the launch: what arguments state, and conditions that a kernel states in all cases
and that do not depend on what it computes. A launch works them out once for each combination of
shapes and scalars. What a kernel assumes of its own values only a checked run on the CPU tests.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.dialects.arith import CmpiOp, ConstantOp, OriOp, RemsiOp
from tilewright.dialects.func import FuncOp, argument_attributes
from tilewright.dialects.memref import DimOp
from tilewright.dialects.simt.across import StrideOp
from tilewright.dialects.tile import AssumeOp, KernelOp, names
from tilewright.dialects.tile.hints import AssertOp
from tilewright.dialects.tile.names import DIVISIBILITY
from tilewright.ir.diagnostics import DiagnosticEngine, resolve
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tile.index_builder import IndexBuilder

_NAMES = (
    *("addi", "subi", "muli", "divui", "divsi", "floordivsi", "ceildivsi", "ceildivui"),
    *("remui", "remsi", "minsi", "maxsi", "minui", "maxui", "andi", "ori", "xori"),
    *("shli", "shrsi", "shrui", "cmpi", "select", "index_cast", "index_castui"),
    *("extsi", "extui", "trunci"),
)
_ON_HOST = frozenset((*(f"arith.{name}" for name in _NAMES), DimOp.name, StrideOp.name))
"""Ops that the host does before a launch."""


@dataclass(frozen=True)
class AssertAssumptions(Pass):
    """Let the host check what is assumed of the arguments of a launch."""

    name = "assert-assumptions"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.ops:
            if not isinstance(function, FuncOp) or not function.body.blocks:
                continue
            for argument in function.body.block.args:
                _assert_argument(function, argument)
            for op in list(walk(function)):
                if isinstance(op, AssumeOp) and names.INJECTED not in op.attributes:
                    _assert_condition(op)


def _assert_argument(function: FuncOp, argument: BlockArgument) -> None:
    stated = argument_attributes(argument).get(DIVISIBILITY)
    if not isinstance(stated, IntegerAttr) or isinstance(argument.type, MemRefType):
        return  # addresses of tensors are checked with the tensors
    first = function.body.block.first_op
    assert first is not None
    code = IndexBuilder(first)
    divisor = code.add(ConstantOp.of(stated.value.data, argument.type)).results[0]
    zero = code.add(ConstantOp.of(0, argument.type)).results[0]
    rest = code.add(RemsiOp(argument, divisor)).results[0]
    holds = code.add(CmpiOp("eq", rest, zero)).results[0]
    name = argument.name_hint or f"argument {argument.index}"
    text = f"{function.sym_name.data}: {name} must be a multiple of {stated.value.data}"
    code.add(AssertOp(holds, text))


def _assert_condition(op: AssumeOp) -> None:
    around = op.parent_op()
    if isinstance(around, FuncOp):
        IndexBuilder(op).add(AssertOp(op.condition, _text(op)))
    elif isinstance(around, KernelOp) and _is_known_before(op.condition, around):
        code = IndexBuilder(around)
        holds = _copied(op.condition, around, code, {})
        for extent in around.grid:
            if isinstance(extent, SSAValue):  # no block, no assumption
                none = code.add(CmpiOp("eq", extent, code.index(0))).results[0]
                holds = code.add(OriOp(holds, none)).results[0]
        code.add(AssertOp(holds, _text(op)))


def _text(op: AssumeOp) -> str:
    message = "" if op.message is None else f": {op.message.data}"
    position = resolve(op.location).primary
    where = "" if position is None else f" ({position})"
    return f"an assumption of the kernel does not hold{message}{where}"


def _is_known_before(value: SSAValue, kernel: KernelOp) -> bool:
    """Whether the host can compute a value that a kernel uses."""
    owner = value.owner
    if not _is_inside(value, kernel):
        return True
    if not isinstance(owner, Operation):
        return False
    if constant_value(value) is not None:
        return True
    return owner.name in _ON_HOST and all(_is_known_before(each, kernel) for each in owner.operands)


def _is_inside(value: SSAValue, kernel: KernelOp) -> bool:
    owner = value.owner
    current = owner if isinstance(owner, Operation) else owner.parent_op()
    while current is not None and current is not kernel:
        current = current.parent_op()
    return current is kernel


def _copied(
    value: SSAValue, kernel: KernelOp, code: IndexBuilder, done: dict[SSAValue, SSAValue]
) -> SSAValue:
    """A value of the kernel computed before it."""
    owner = value.owner
    if value in done or not _is_inside(value, kernel):
        return done.get(value, value)
    assert isinstance(owner, Operation)
    made = owner.clone({each: _copied(each, kernel, code, done) for each in owner.operands})
    code.add(made)
    done[value] = made.results[owner.results.index(value)]
    return done[value]
