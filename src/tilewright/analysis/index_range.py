"""What index values of tile kernels can be: linear forms, ranges, remainders, decided conditions.

Every integer of a function becomes a polynomial over what cannot be computed further (indices of
loops and blocks, arguments, extents, loaded values), every truth value a formula. They are
simplified with what is known where they are computed:

    tile.kernel (%bx) in (%g)          0 <= bx < g
    scf.for, tile.parallel, ...        lower <= i < upper, i = lower modulo the step
    tile.assume %c                     c, from there to the end of the block
    scf.if %c                          c in one branch, not c in the other

``index`` values do not wrap: an index that leaves 64 bits addresses nothing. Integers of a width
are followed as long as they provably fit it; where they may wrap, a new unknown begins.

The analysis looks at every op once and at no more than `budget` of them; what lies beyond, or
deeper than `MAX_DEPTH` regions, is unknown. Answers are about the values as they were read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, MemRefType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from tilewright.analysis.affine import Context, Formula, Interval, Poly, Space
from tilewright.dialects.arith import CmpiOp, SelectOp
from tilewright.dialects.memref import DimOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tile import AssumeOp, KernelOp, ParallelOp, PersistentOp, PipelineOp
from tilewright.dialects.tile.kernel import kernel_of
from tilewright.dialects.tile.mixed import Mixed
from tilewright.ir.interfaces import constant_value

BUDGET = 20_000
MAX_DEPTH = 48
_INDEX_BITS = 64


def is_integer(type: Attribute) -> bool:
    """Whether values of the type are followed as numbers."""
    return isinstance(type, IndexType | IntegerType) and not is_truth(type)


def is_truth(type: Attribute) -> bool:
    return isinstance(type, IntegerType) and type.width.data == 1


def range_of_type(type: Attribute) -> Interval:
    width = type.width.data if isinstance(type, IntegerType) else _INDEX_BITS
    return Interval.of_bits(width)


@dataclass
class IndexRanges:
    """Polynomials and formulas of the values inside `root`."""

    root: Operation
    budget: int = BUDGET
    space: Space = field(default_factory=Space)
    contexts: dict[Operation, Context] = field(default_factory=dict[Operation, Context])
    """What is known in front of an op."""
    _polys: dict[SSAValue, Poly] = field(default_factory=dict[SSAValue, Poly])
    _truths: dict[SSAValue, Formula] = field(default_factory=dict[SSAValue, Formula])
    _extents: dict[tuple[SSAValue, int], Poly] = field(
        default_factory=dict[tuple[SSAValue, int], Poly]
    )
    sources: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    """Id of an atom -> the value that it stands for."""

    def __post_init__(self) -> None:
        for region in self.root.regions:
            for block in region.blocks:
                self._block(block, self.space.root, 0)

    # -- questions ---------------------------------------------------------------------------

    def poly(self, value: Mixed) -> Poly:
        """The value as a polynomial; a new unknown where nothing is known of it."""
        if isinstance(value, int):
            return self.space.const(value)
        found = self._polys.get(value)
        if found is None:
            found = self._number(value)
        return found

    def formula(self, value: SSAValue) -> Formula:
        """A truth value as a formula."""
        found = self._truths.get(value)
        if found is None:
            constant = constant_value(value)
            if isinstance(constant, IntegerAttr):
                found = self.space.true if constant.value.data else self.space.false
            else:
                found = self.space.predicate(f"{value.name_hint or 'c'}.{len(self._truths)}")
            self._truths[value] = found
        return found

    def context(self, op: Operation) -> Context:
        """What is known in front of `op`."""
        return self.contexts.get(op, self.space.root)

    def range(self, value: Mixed, at: Operation) -> Interval:
        """Between which numbers `value` lies where `at` runs."""
        return self.context(at).range(self.poly(value))

    def learn(self, value: SSAValue, poly: Poly) -> None:
        """Say what a value is that was made after the analysis."""
        self._polys[value] = poly

    # -- unknowns ----------------------------------------------------------------------------

    def _number(self, value: SSAValue) -> Poly:
        constant = constant_value(value)
        if isinstance(constant, IntegerAttr):
            poly = self.space.const(constant.value.data)
        else:
            poly = self._unknown(value, range_of_type(value.type))
        self._polys[value] = poly
        return poly

    def _unknown(self, value: SSAValue, within: Interval) -> Poly:
        poly = self.space.symbol(f"{value.name_hint or 'v'}.{len(self.sources)}", within)
        atom = poly.atom
        assert atom is not None  # a symbol without a divisor
        self.sources[atom.id] = value
        self._polys[value] = poly
        return poly

    def _extent(self, op: DimOp) -> Poly:
        axis = self.poly(op.operands[1]).constant
        type = op.operands[0].type
        if axis is None or not isinstance(type, MemRefType) or not 0 <= axis < type.get_num_dims():
            return self._unknown(op.results[0], Interval(0, None))
        key = (op.operands[0], axis)
        static = type.get_shape()[axis]
        if static >= 0:
            return self.space.const(static)
        if key not in self._extents:
            limit = range_of_type(op.results[0].type).hi
            self._extents[key] = self._unknown(op.results[0], Interval(0, limit))
        return self._extents[key]

    # -- reading -----------------------------------------------------------------------------

    def _block(self, block: Block, ctx: Context, depth: int) -> Context:
        """Read a block from its start; what is known at its end."""
        for op in block.ops:
            if self.budget <= 0 or depth > MAX_DEPTH:
                return ctx
            self.budget -= 1
            self.contexts[op] = ctx
            ctx = self._op(op, ctx, depth)
        return ctx

    def _op(self, op: Operation, ctx: Context, depth: int) -> Context:
        if isinstance(op, AssumeOp):
            return ctx.assume(self.formula(op.operands[0]))
        if isinstance(op, IfOp):
            self._branches(op, ctx, depth)
        elif op.regions:
            self._body(op, ctx, depth)
        else:
            self._result(op, ctx)
        return ctx

    def _branches(self, op: IfOp, ctx: Context, depth: int) -> None:
        condition = self.formula(op.operands[0])
        for region, taken in zip(op.regions, (condition, ~condition), strict=False):
            for block in region.blocks:
                self._block(block, ctx.assume(taken), depth + 1)
        ends = [region.blocks[0].last_op for region in op.regions if region.blocks]
        if len(ends) != 2:
            return
        yes, no = ends
        for number, result in enumerate(op.results):
            if yes is not None and no is not None and is_integer(result.type):
                values = self.poly(yes.operands[number]), self.poly(no.operands[number])
                self._polys[result] = ctx.select(condition, *values)

    def _body(self, op: Operation, ctx: Context, depth: int) -> None:
        for region in op.regions:
            for block in region.blocks:
                inside = self._enter(op, block, ctx)
                self._block(block, inside, depth + 1)

    def _enter(self, op: Operation, block: Block, ctx: Context) -> Context:
        """Give the indices of a loop their ranges; what is known inside of it."""
        if isinstance(op, ForOp):
            ranges: Sequence[tuple[Mixed, Mixed]] = [(op.lower_bound, op.upper_bound)]
        elif isinstance(op, KernelOp):
            ranges = [(0, extent) for extent in op.grid]
        elif isinstance(op, ParallelOp | PipelineOp | PersistentOp):
            ranges = op.ranges
        else:
            return ctx
        for argument, (lower, upper) in zip(block.args, ranges, strict=False):
            ctx = self._run(argument, self.poly(lower), self.poly(upper), ctx)
        if isinstance(op, ForOp):
            ctx = self._stepped(op, block.args[0], ctx)
        return ctx

    def _run(self, index: SSAValue, lower: Poly, upper: Poly, ctx: Context) -> Context:
        least, most = ctx.range(lower).lo, ctx.range(upper).hi
        is_empty = least is not None and most is not None and least >= most
        within = Interval() if is_empty else Interval(least, None if most is None else most - 1)
        poly = self._unknown(index, within)
        return ctx.assume(ctx.compare("<=", lower, poly)).assume(ctx.compare("<", poly, upper))

    def _stepped(self, op: ForOp, index: SSAValue, ctx: Context) -> Context:
        step, start = self.poly(op.step).constant, self.poly(op.lower_bound).constant
        if step is None or step < 2 or start is None:
            return ctx
        return ctx.assume(ctx.compare("=", ctx.mod(self.poly(index) - start, step)))

    def _result(self, op: Operation, ctx: Context) -> None:
        if len(op.results) != 1:
            return
        (result,) = op.results
        if is_truth(result.type):
            found = _truth(self, op, ctx)
            if found is not None:
                self._truths[result] = found
        elif is_integer(result.type):
            poly = self._value(op, result, ctx)
            if poly is not None:
                self._polys[result] = poly

    def _value(self, op: Operation, result: OpResult, ctx: Context) -> Poly | None:
        if isinstance(op, DimOp):
            return self._extent(op)
        if op.name in _IDS:
            return self._unknown(result, _ids(op))
        if isinstance(op, SelectOp):
            if not is_truth(op.condition.type):
                return None
            sides = self.poly(op.true_value), self.poly(op.false_value)
            return ctx.select(self.formula(op.condition), *sides)
        rule = _RULES.get(op.name)
        if rule is None:
            return None
        poly = rule(ctx, *(self.poly(operand) for operand in op.operands))
        return poly if poly is not None and _fits(ctx, poly, result.type) else None


def _fits(ctx: Context, poly: Poly, type: Attribute) -> bool:
    """Whether the number is the value: an integer of a width may have wrapped."""
    if isinstance(type, IndexType):
        return True
    return range_of_type(type).contains(ctx.range(poly))


# -- numbers -----------------------------------------------------------------------------------

Rule = Callable[..., Poly | None]


def _unsigned(rule: Rule) -> Rule:
    """A rule for numbers without sign, which holds for those that are not negative anyway."""

    def checked(ctx: Context, *operands: Poly) -> Poly | None:
        return rule(ctx, *operands) if all(map(ctx.is_nonneg, operands)) else None

    return checked


def _shifted(rule: Rule) -> Rule:
    def checked(ctx: Context, value: Poly, amount: Poly) -> Poly | None:
        known = amount.constant
        return rule(ctx, value, amount) if known is not None and 0 <= known < 63 else None

    return checked


def _sum(ctx: Context, one: Poly, other: Poly) -> Poly:
    return ctx.limited(one + other)


def _difference(ctx: Context, one: Poly, other: Poly) -> Poly:
    return ctx.limited(one - other)


def _product(ctx: Context, one: Poly, other: Poly) -> Poly:
    return ctx.limited(one * other)


def _rounded_up(ctx: Context, dividend: Poly, divisor: Poly) -> Poly | None:
    return ctx.ceil_div(dividend, divisor) if ctx.is_positive(divisor) else None


def _same(ctx: Context, value: Poly) -> Poly:
    return value


_RULES: dict[str, Rule] = {
    "arith.addi": _sum,
    "arith.subi": _difference,
    "arith.muli": _product,
    "arith.floordivsi": Context.fdiv,
    "arith.divsi": Context.tdiv,
    "arith.remsi": Context.trem,
    "arith.divui": _unsigned(Context.fdiv),
    "arith.remui": _unsigned(Context.mod),
    "arith.ceildivsi": _rounded_up,
    "arith.ceildivui": _unsigned(Context.ceil_div),
    "arith.minsi": Context.minimum,
    "arith.maxsi": Context.maximum,
    "arith.minui": _unsigned(Context.minimum),
    "arith.maxui": _unsigned(Context.maximum),
    "arith.andi": Context.bit_and,
    "arith.ori": Context.bit_or,
    "arith.xori": Context.bit_xor,
    "arith.shli": _shifted(Context.shl),
    "arith.shrsi": _shifted(Context.shr),
    "arith.shrui": _shifted(_unsigned(Context.shr)),
    "arith.index_cast": _same,
    "arith.index_castui": _unsigned(_same),
    "arith.extsi": _same,
    "arith.extui": _unsigned(_same),
    "arith.trunci": _same,
}

_IDS = ("gpu.thread_id", "gpu.block_id", "gpu.grid_dim", "gpu.block_dim")


def _ids(op: Operation) -> Interval:
    """The range of a thread's number in its block; others are not negative."""
    kernel = kernel_of(op)
    threads = None if kernel is None else kernel.thread_extents
    if op.name != "gpu.thread_id" or threads is None:
        return Interval(0, (1 << 31) - 1)
    return Interval(0, max(threads) - 1)


# -- truths ------------------------------------------------------------------------------------

_SIGNED = {"eq": "=", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}
_UNSIGNED = {"ult": "<", "ule": "<=", "ugt": ">", "uge": ">="}


def _truth(reader: IndexRanges, op: Operation, ctx: Context) -> Formula | None:
    if isinstance(op, CmpiOp):
        if not is_integer(op.lhs.type):
            return None
        return _comparison(ctx, op.predicate_name, reader.poly(op.lhs), reader.poly(op.rhs))
    if op.name not in ("arith.andi", "arith.ori", "arith.xori"):
        return None
    left, right = (reader.formula(operand) for operand in op.operands)
    if op.name == "arith.andi":
        return ctx.known(left & right)
    return ctx.known(left | right if op.name == "arith.ori" else left ^ right)


def _comparison(ctx: Context, predicate: str, left: Poly, right: Poly) -> Formula | None:
    if predicate in _SIGNED:
        return ctx.compare(_SIGNED[predicate], left, right)
    relation = _UNSIGNED[predicate]
    small, large = (left, right) if relation[0] == "<" else (right, left)
    if not ctx.is_nonneg(large):
        return None
    # Read without sign, a negative number is larger than every positive one.
    plain = ctx.compare("<=" if relation.endswith("=") else "<", small, large)
    inside = ctx.known(ctx.compare("<=", 0, small) & plain)
    return inside
