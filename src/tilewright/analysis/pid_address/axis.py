"""Axis information from polynomials, and what follows from it and the rules together.

A polynomial that is exact in its lanes is more precise than rules that look at one op at a time:
addresses put together by ``join`` and ``reshape``, or swizzled by ``xor``, keep their runs. Hints,
loops, calls and opaque values are the strength of the rules. ``axis_facts`` lets both work on the
same values.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import Atom, Context, Interval, Poly, Substitution
from tilewright.analysis.axis_info import AxisFacts, AxisInfo, solve_axis_info
from tilewright.analysis.pid_address.analysis import evaluate
from tilewright.analysis.pid_address.counting import extent_of
from tilewright.analysis.pid_address.entry_state import start
from tilewright.analysis.pid_address.report import AccessProperties
from tilewright.analysis.pid_address.runs import constancy, longest_run, power_of_two_in
from tilewright.analysis.pid_address.scope import Machine
from tilewright.analysis.pid_address.types import pointee_bytes
from tilewright.analysis.pid_address.values import Boolean, Integer, Pointer, Value
from tilewright.dialects.tt import FuncOp
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.text.names import ValueNames
from tilewright.ir.traversal import walk

_MAX_DIVISOR = 1 << 62


def axis_facts(root: Operation) -> AxisFacts:
    """Contiguity, divisibility and constancy of every value of a module or function."""
    top = root.parent_op() or root if isinstance(root, FuncOp) else root
    names = ValueNames(top, names_from_locations=False, use_hints=True)
    known: dict[SSAValue, tuple[Context, Machine, Value]] = {}
    for function in walk(root):
        if not isinstance(function, FuncOp) or function.is_declaration:
            continue
        begin = start(function, names, AccessProperties())
        machine = evaluate(function, top, names, begin, AccessProperties())
        for value, found in machine.environments[()].items():
            known[value] = (begin.ctx, machine, found)

    def refine(value: SSAValue) -> AxisInfo | None:
        if value not in known:
            return None
        ctx, machine, found = known[value]
        return axis_info_of(ctx, machine, value, found)

    return solve_axis_info(root, refine)


def axis_info_of(ctx: Context, machine: Machine, value: SSAValue, found: Value) -> AxisInfo | None:
    """What the abstract value of `value` implies along each dimension."""
    shape = shape_of(value.type) or (1,)
    lanes = machine.atoms.lane_atoms(shape)
    match found:
        case Integer():
            return _of_poly(ctx, found.expr, lanes, shape, 1, 0)
        case Pointer() if found.base.divisibility is not None:
            unit = pointee_bytes(value.type)
            return _of_poly(ctx, found.offset.expr, lanes, shape, unit, found.base.divisibility)
        case Boolean():
            ones = (1,) * len(shape)
            steady = tuple(
                extent if lane is None else constancy(ctx, found.formula, lane)
                for lane, extent in zip(lanes, shape, strict=True)
            )
            truth = ctx.decide(found.formula)
            return AxisInfo(ones, ones, steady, None if truth is None else int(truth))
        case _:
            return None


def _of_poly(
    ctx: Context,
    expr: Poly,
    lanes: tuple[Atom | None, ...],
    shape: tuple[int, ...],
    unit: int,
    base: int,
) -> AxisInfo:
    """`base` divides an address that `expr` is the offset of; 0 for plain integers."""
    contiguity: list[int] = []
    divisibility: list[int] = []
    steady: list[int] = []
    for lane in lanes:
        if lane is None:
            length, same, first = 1, 1, expr
        else:
            length = longest_run(ctx, expr, lane, unit, may_assume=False).length
            same = longest_run(ctx, expr, lane, 0, may_assume=False).length
            first = _at_groups(ctx, expr, lane, length)
        divisor = power_of_two_in(ctx.congruence(first).divisor, _MAX_DIVISOR)
        contiguity.append(length)
        divisibility.append(min(divisor, base & -base) if base else divisor)
        steady.append(same)
    constant = None if base else expr.constant
    return AxisInfo(tuple(contiguity), tuple(divisibility), tuple(steady), constant)


def _at_groups(ctx: Context, expr: Poly, lane: Atom, size: int) -> Poly:
    """The value at the first lane of each aligned group."""
    if size == 1 or not expr.mentions(lane):
        return expr
    groups = max(extent_of(lane) // size, 1)
    space = ctx.space
    start = space.zero
    if groups > 1:
        start = space.symbol(f"{lane.name}.hi", Interval(0, groups - 1)) * size
    return Substitution(ctx, {lane: start}).poly(expr)
