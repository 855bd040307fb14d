"""What index values of tile kernels can be: linear forms, ranges, remainders, decided conditions.

Every integer of a function becomes a polynomial over atoms (indices of loops and blocks, arguments,
extents, loaded values), every boolean a formula. They are simplified with what is known where they
are computed:

    tile.kernel (%bx) in (%g)          0 <= bx < g
    scf.for, tile.parallel, ...        lower <= i < upper, i = lower modulo the step
    func.func(%n: i32 {tile.divisibility = 8})    n % 8 = 0
    tile.assume %c                     c, from there to the end of the block; x % 8 == 0 makes x a
                                       multiple of 8, however the remainder is rounded
    scf.if %c                          c in one branch, not c in the other

``index`` values do not wrap: an index that leaves 64 bits addresses nothing. Integers of a width
are followed as long as they provably fit it; where they may wrap, a new unknown begins, of which
only the power of two that divides it is known.

The analysis visits every op once and no more than `budget` of them; ops past that, or deeper than
`MAX_DEPTH` regions, are unknown. A visit records only the operands and the scope of an op: values
and scopes become polynomials and contexts on demand, since a pass queries a few accesses and not
most of a kernel. Results describe the code as it was visited, whatever has been rewritten since.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import gcd, prod

from xdsl.dialects.builtin import (
    ArrayAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StridedLayoutAttr,
    StringAttr,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from tilewright.analysis.affine import Context, Formula, Interval, Poly, Space
from tilewright.analysis.integers.divisibility import multiple_in
from tilewright.analysis.integers.index_rules import (
    INTEGER_RULES,
    TRUTH_RULES,
    comparison,
    fits,
    is_integer,
    is_truth,
    range_of_type,
)
from tilewright.dialects.arith import CmpiOp, SelectOp
from tilewright.dialects.func import FuncOp, argument_attributes
from tilewright.dialects.gpu import ThreadIdOp
from tilewright.dialects.memref import DimOp, HasExtents
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.simt.across import StrideOp
from tilewright.dialects.tile import AssumeOp, KernelOp, ParallelOp, PersistentOp, PipelineOp
from tilewright.dialects.tile.kernel import kernel_of
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.names import DIVISIBILITY, INJECTED, SHAPE
from tilewright.dialects.tile.regions import ViewOp
from tilewright.dialects.tile.warps import WsOp
from tilewright.ir.interfaces import constant_value
from tilewright.ir.text.accessors import operands_of

BUDGET = 20_000
MAX_DEPTH = 48
_MAX_EXTENT = range_of_type(IndexType()).hi

_IDS = ("gpu.thread_id", "gpu.block_id", "gpu.grid_dim", "gpu.block_dim")
_READ = frozenset(
    {*INTEGER_RULES, *TRUTH_RULES, CmpiOp.name, DimOp.name, SelectOp.name, StrideOp.name}
)


class Scope:
    """Ops with the same context: that of the outer scope, and a further constraint."""

    def __init__(self, outer: Scope | None, entered: Callable[[Context], Context]) -> None:
        self._outer = outer
        self._entered = entered
        self._context: Context | None = None

    def context(self, root: Context) -> Context:
        """The context, built on first use; from the outside in, as chains are long."""
        unknown: list[Scope] = []
        scope: Scope | None = self
        while scope is not None and scope._context is None:
            unknown.append(scope)
            scope = scope._outer
        context = root if scope is None or scope._context is None else scope._context
        for inner in reversed(unknown):
            context = inner._context = inner._entered(context)
        return context


@dataclass(frozen=True, slots=True)
class _Reading:
    """The definition of a value, and its scope."""

    op: Operation
    operands: tuple[SSAValue, ...]
    scope: Scope


@dataclass
class IndexRanges:
    """Polynomials and formulas of the values inside `root`."""

    root: Operation
    budget: int = BUDGET
    assumes_extents: bool = True
    """Whether extents of arguments are positive: it is assumed, and no launch checks it."""
    space: Space = field(default_factory=Space)
    scopes: dict[Operation, Scope] = field(default_factory=dict[Operation, Scope])
    """The visited ops."""
    sources: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    """Id of an atom -> the value that it represents."""
    _unread: dict[SSAValue, _Reading] = field(default_factory=dict[SSAValue, _Reading])
    _indices: dict[SSAValue, Scope] = field(default_factory=dict[SSAValue, Scope])
    """Indices of loops, which get their ranges when the loop is entered."""
    _ids: dict[SSAValue, Interval] = field(default_factory=dict[SSAValue, Interval])
    _threads: list[SSAValue] = field(default_factory=list[SSAValue])
    """Indices of the thread in its block."""
    _polys: dict[SSAValue, Poly] = field(default_factory=dict[SSAValue, Poly])
    _truths: dict[SSAValue, Formula] = field(default_factory=dict[SSAValue, Formula])
    _extents: dict[Hashable, Poly] = field(default_factory=dict[Hashable, Poly])
    _strides: dict[tuple[SSAValue, int], Poly] = field(
        default_factory=dict[tuple[SSAValue, int], Poly]
    )

    def __post_init__(self) -> None:
        whole = Scope(None, lambda context: context)
        for region in self.root.regions:
            for block in region.blocks:
                self._look_at_block(block, whole, 0)

    @cached_property
    def checked(self) -> IndexRanges:
        """The same, but for what is assumed of extents and not checked."""
        return self if not self.assumes_extents else IndexRanges(self.root, assumes_extents=False)

    # -- queries -----------------------------------------------------------------------------

    def poly(self, value: Mixed) -> Poly:
        """The value as a polynomial; a new unknown where nothing is known of it."""
        if isinstance(value, int):
            return self.space.const(value)
        found = self._polys.get(value)
        if found is None:
            self._read(value)
            found = self._polys.get(value)
        return self._integer(value) if found is None else found

    def formula(self, value: SSAValue) -> Formula:
        """A truth value as a formula."""
        found = self._truths.get(value)
        if found is None:
            self._read(value)
            found = self._truths.get(value)
        return self._condition(value) if found is None else found

    def context(self, op: Operation) -> Context:
        """The context before `op`."""
        scope = self.scopes.get(op)
        return self.space.root if scope is None else scope.context(self.space.root)

    def range(self, value: Mixed, at: Operation) -> Interval:
        """The range of `value` where `at` runs."""
        return self.context(at).range(self.poly(value))

    def extent(self, buffer: SSAValue, axis: int) -> Poly:
        """The extent of a buffer along an axis: that of every `memref.dim` of it.

        Arguments whose sizes have one name in the signature have one extent: a launch checks it.
        """
        type = buffer.type
        assert isinstance(type, MemRefType)
        static = type.get_shape()[axis]
        if static >= 0:
            return self.space.const(static)
        if isinstance(buffer.owner, HasExtents):
            return self.poly(buffer.owner.extent(axis))
        key = _named_extent(buffer, axis)
        if key not in self._extents:
            name = f"{buffer.name_hint or 'buffer'}.extent{axis}"
            self._extents[key] = self.space.symbol(name, Interval(0, _MAX_EXTENT))
        return self._extents[key]

    def stride(self, buffer: SSAValue, axis: int) -> Poly:
        """The stride of a buffer along an axis, in elements: that of every `simt.stride` of it."""
        type = buffer.type
        assert isinstance(type, MemRefType)
        if not isinstance(type.layout, StridedLayoutAttr):
            inner = range(axis + 1, type.get_num_dims())
            return prod((self.extent(buffer, each) for each in inner), start=self.space.const(1))
        declared = list(type.layout.get_strides())[axis]
        if declared is not None:
            return self.space.const(declared)
        if isinstance(buffer.owner, ViewOp):
            given = buffer.owner.stride(axis)
            assert given is not None
            return self.poly(given)
        key = (buffer, axis)
        if key not in self._strides:
            name = f"{buffer.name_hint or 'buffer'}.stride{axis}"
            self._strides[key] = self.space.symbol(name, range_of_type(IndexType()))
        return self._strides[key]

    def learn(self, value: SSAValue, poly: Poly) -> None:
        """Define a value that was created after the analysis."""
        self._polys[value] = poly

    # -- unknowns ----------------------------------------------------------------------------

    def _integer(self, value: SSAValue) -> Poly:
        constant = constant_value(value)
        if isinstance(constant, IntegerAttr):
            poly = self.space.const(constant.value.data)
        else:
            poly = self._unknown(value, self._ids.get(value) or range_of_type(value.type))
        self._polys[value] = poly
        return poly

    def _condition(self, value: SSAValue) -> Formula:
        constant = constant_value(value)
        if isinstance(constant, IntegerAttr):
            formula = self.space.true if constant.value.data else self.space.false
        else:
            formula = self.space.predicate(f"{value.name_hint or 'c'}.{len(self._truths)}")
        self._truths[value] = formula
        return formula

    def _unknown(self, value: SSAValue, within: Interval, divisor: int = 1) -> Poly:
        name = f"{value.name_hint or 'v'}.{len(self.sources)}"
        poly = self.space.symbol(name, within, divisor)
        (atom,) = poly.atom_ids()
        self.sources[atom] = value
        self._polys[value] = poly
        return poly

    def _extent(self, extent: SSAValue, buffer: SSAValue, axis: int | None) -> Poly:
        type = buffer.type
        if axis is None or not isinstance(type, MemRefType) or not 0 <= axis < type.get_num_dims():
            return self._unknown(extent, Interval(0, None))
        key = _named_extent(buffer, axis)
        static = type.get_shape()[axis]
        if static >= 0 or key in self._extents or isinstance(buffer.owner, HasExtents):
            return self.extent(buffer, axis)
        self._extents[key] = self._unknown(extent, Interval(0, _MAX_EXTENT))
        return self._extents[key]

    # -- visiting code -----------------------------------------------------------------------

    def _look_at_block(self, block: Block, scope: Scope, depth: int) -> None:
        if isinstance(block.parent_op(), FuncOp):
            scope = self._look_at_arguments(block, scope)
        for op in block.ops:
            if self.budget <= 0 or depth > MAX_DEPTH:
                return
            self.budget -= 1
            self.scopes[op] = scope
            if op.name == AssumeOp.name and (self.assumes_extents or not _is_of_extent(op)):
                scope = Scope(scope, partial(self._assumed, op.operands[0], True))
            elif op.regions:
                self._look_inside(op, scope, depth)
            elif op.name in _READ:
                self._unread[op.results[0]] = _Reading(op, operands_of(op), scope)
            elif op.name in _IDS:
                self._ids[op.results[0]] = _range_of_id(op)
                if _is_thread_of_block(op):
                    self._threads.append(op.results[0])

    def _look_at_arguments(self, block: Block, scope: Scope) -> Scope:
        for argument in block.args:
            stated = argument_attributes(argument).get(DIVISIBILITY)
            if isinstance(stated, IntegerAttr) and is_integer(argument.type):
                scope = Scope(scope, partial(self._multiple, argument, stated.value.data))
        return scope

    def _look_inside(self, op: Operation, scope: Scope, depth: int) -> None:
        if isinstance(op, IfOp):
            self._look_at_branches(op, scope, depth)
            return
        if isinstance(op, WsOp) and op.is_custom:
            self._look_at_roles(op, scope, depth)
            return
        ranges = _ranges(op)
        step = op.step if isinstance(op, ForOp) else None
        for region in op.regions:
            for block in region.blocks:
                inside = scope
                if ranges is not None:
                    bounds = list(zip(block.args, ranges, strict=False))
                    inside = Scope(scope, partial(self._index_ranges, bounds, step))
                    self._indices.update((index, inside) for index, _ in bounds)
                self._look_at_block(block, inside, depth + 1)

    def _look_at_roles(self, op: WsOp, scope: Scope, depth: int) -> None:
        """Each role is run by threads of its own, whose indices are those of the block."""
        for role, region in zip(op.roles, op.regions, strict=True):
            lowest = min(first for first, _ in role.ranges)
            end = max(last for _, last in role.ranges)
            inside = Scope(scope, partial(self._in_role, lowest, end))
            for block in region.blocks:
                self._look_at_block(block, inside, depth + 1)

    def _in_role(self, lowest: int, end: int, outside: Context) -> Context:
        context = outside
        for thread in self._threads:
            index = self.poly(thread)
            context = context.assume(context.compare("<=", lowest, index))
            context = context.assume(context.compare("<", index, end))
        return context

    def _look_at_branches(self, op: IfOp, scope: Scope, depth: int) -> None:
        condition = op.operands[0]
        for region, holds in zip(op.regions, (True, False), strict=False):
            for block in region.blocks:
                inside = Scope(scope, partial(self._assumed, condition, holds))
                self._look_at_block(block, inside, depth + 1)
        ends = [region.blocks[0].last_op for region in op.regions if region.blocks]
        if len(ends) != 2:
            return
        yes, no = ends
        for position, result in enumerate(op.results):
            if yes is not None and no is not None and is_integer(result.type):
                operands = (condition, yes.operands[position], no.operands[position])
                self._unread[result] = _Reading(op, operands, scope)

    # -- what is known inside ----------------------------------------------------------------

    def _assumed(self, condition: SSAValue, holds: bool, outside: Context) -> Context:
        formula = self.formula(condition)
        inside = outside.assume(formula if holds else ~formula)
        found = multiple_in(condition) if holds else None
        if found is None:
            return inside
        return self._multiple(*found, inside)

    def _multiple(self, value: SSAValue, divisor: int, outside: Context) -> Context:
        return outside.assume(outside.compare("=", outside.mod(self.poly(value), divisor)))

    def _index_ranges(
        self,
        bounds: Sequence[tuple[SSAValue, tuple[Mixed, Mixed]]],
        step: SSAValue | None,
        outside: Context,
    ) -> Context:
        """Give the indices of a loop their ranges."""
        context = outside
        for index, (lower, upper) in bounds:
            context = self._index_range(index, self.poly(lower), self.poly(upper), context)
        if step is None:
            return context
        index, (lower, _) = bounds[0]
        return self._stepped(index, self.poly(lower).constant, self.poly(step).constant, context)

    def _index_range(self, index: SSAValue, lower: Poly, upper: Poly, ctx: Context) -> Context:
        lowest, highest = ctx.range(lower).lo, ctx.range(upper).hi
        is_empty = lowest is not None and highest is not None and lowest >= highest
        within = (
            Interval() if is_empty else Interval(lowest, None if highest is None else highest - 1)
        )
        poly = self._unknown(index, within)
        return ctx.assume(ctx.compare("<=", lower, poly)).assume(ctx.compare("<", poly, upper))

    def _stepped(
        self, index: SSAValue, start: int | None, step: int | None, ctx: Context
    ) -> Context:
        if step is None or step < 2 or start is None:
            return ctx
        return ctx.assume(ctx.compare("=", ctx.mod(self.poly(index) - start, step)))

    # -- reading values ----------------------------------------------------------------------

    def _read(self, value: SSAValue) -> None:
        """A value after its operands; without recursion, as chains are long."""
        entered = self._indices.pop(value, None)
        if entered is not None:
            entered.context(self.space.root)
        waiting = [value]
        while waiting:
            reading = self._unread.get(waiting[-1])
            if reading is None:
                waiting.pop()
                continue
            first = [each for each in reading.operands if each in self._unread]
            if first:
                waiting.extend(reversed(first))
                continue
            value = waiting.pop()
            del self._unread[value]
            context = reading.scope.context(self.space.root)
            if is_truth(value.type):
                formula = self._truth(reading.op, reading.operands, context)
                if formula is not None:
                    self._truths[value] = formula
            elif is_integer(value.type):
                poly = self._value(value, reading.op, reading.operands, context)
                if poly is not None:
                    self._polys[value] = poly

    def _value(
        self, result: SSAValue, op: Operation, operands: tuple[SSAValue, ...], ctx: Context
    ) -> Poly | None:
        if isinstance(op, DimOp):
            return self._extent(result, operands[0], self.poly(operands[1]).constant)
        if isinstance(op, StrideOp):
            return self.stride(operands[0], op.axis.value.data)
        if isinstance(op, SelectOp | IfOp):
            condition, yes, no = operands
            if not is_truth(condition.type):
                return None
            return ctx.select(self.formula(condition), self.poly(yes), self.poly(no))
        poly = INTEGER_RULES[op.name](ctx, *map(self.poly, operands))
        if poly is None or fits(ctx, poly, result.type):
            return poly
        return self._unknown(result, range_of_type(result.type), _divisor(ctx, poly, result.type))

    def _truth(self, op: Operation, operands: tuple[SSAValue, ...], ctx: Context) -> Formula | None:
        if isinstance(op, CmpiOp):
            left, right = operands
            if not is_integer(left.type):
                return None
            return comparison(ctx, op.predicate_name, self.poly(left), self.poly(right))
        rule = TRUTH_RULES.get(op.name)
        return None if rule is None else rule(ctx, *map(self.formula, operands))


def _divisor(ctx: Context, poly: Poly, type: Attribute) -> int:
    """The power of two that divides an integer that may have wrapped: the width is one, too."""
    assert isinstance(type, IntegerType)
    return gcd(ctx.congruence(poly).divisor, 1 << (type.width.data - 1))


def _ranges(op: Operation) -> Sequence[tuple[Mixed, Mixed]] | None:
    """The bounds of the indices of a loop."""
    if isinstance(op, ForOp):
        return [(op.lower_bound, op.upper_bound)]
    if isinstance(op, KernelOp):
        return [(0, extent) for extent in op.grid]
    if isinstance(op, ParallelOp | PipelineOp | PersistentOp):
        return op.ranges
    return None


def _range_of_id(op: Operation) -> Interval:
    """The range of a thread index in its block; other ids are not negative."""
    kernel = kernel_of(op)
    threads = None if kernel is None else kernel.thread_extents
    if op.name != "gpu.thread_id" or threads is None:
        return Interval(0, (1 << 31) - 1)
    return Interval(0, max(threads) - 1)


def _is_thread_of_block(op: Operation) -> bool:
    """Whether an id is different for all threads of a block."""
    kernel = kernel_of(op)
    threads = None if kernel is None else kernel.thread_extents
    return isinstance(op, ThreadIdOp) and threads is not None and max(threads) == prod(threads)


def _is_of_extent(op: Operation) -> bool:
    """Whether an assumption is about an argument, and not about the launch."""
    return INJECTED in op.attributes and isinstance(op.parent_op(), FuncOp)


def _named_extent(buffer: SSAValue, axis: int) -> Hashable:
    """What identifies an extent: its name in the signature, else the buffer and the axis."""
    if isinstance(buffer, BlockArgument):
        sizes = argument_attributes(buffer).get(SHAPE)
        size = sizes.data[axis] if isinstance(sizes, ArrayAttr) else None
        if isinstance(size, StringAttr) and size.data.isidentifier():
            return buffer.block, size.data
    return buffer, axis
