"""`vectorize-loops`: a loop over lanes becomes wide accesses and arithmetic on registers.

    scf.for %l = 0 to 8 {vectorize}            simt.move %A[%b] -> %stage[0] lanes(8)
      %x = memref.load %A[%b + %l]       ->    scf.for %l = 0 to 8 {unroll}
      memref.store f(%x), %C[%b + %l]            %y = f(stage[%l]); store %y, %out[%l]
                                               simt.move %out[0] -> %C[%b] lanes(8)

An access is made wide if its address grows by one with the lane, begins at a multiple of the width,
and is guarded by nothing that differs between lanes (docs/design/passes.md#vector-width). What is
not wide stays in the loop; a remark gives the reason (TW3010).

A value that is read from memory, or chosen by a branch, is an unknown to the algebra of indices. It
differs between lanes if what it is computed from does: in ``X[I[j], j]`` each lane has its own row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    NoneAttr,
    UnitAttr,
)
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.analysis.affine import Atom, Poly, SymbolKind
from tilewright.analysis.index_range import IndexRanges
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp, IfOp, YieldOp
from tilewright.dialects.simt import MoveOp
from tilewright.dialects.tile import AllocOp, Space, SpaceAttr, names, space_of
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.narrow_accesses import remark_narrow, uneven_stride
from tilewright.passes.gpu.strides import row_strides
from tilewright.passes.tile.index_builder import IndexBuilder

ACCESS_BITS = 128
_UNKNOWN = (SymbolKind.SYMBOL, SymbolKind.CALL)


@dataclass(frozen=True)
class VectorizeLoops(Pass):
    """Replace loops over lanes with wide accesses."""

    name = "vectorize-loops"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in walk(module):
            if not isinstance(function, FuncOp):
                continue
            loops = [op for op in walk(function) if isinstance(op, ForOp) and is_vector(op)]
            if loops:
                ranges = IndexRanges(function)
                for loop in loops:
                    _Vectors(loop, ranges, engine).run()


def is_vector(loop: ForOp) -> bool:
    return names.VECTORIZE in loop.attributes


@dataclass(frozen=True)
class Wide:
    """An access that is made wide, and what guards it."""

    op: LoadOp | StoreOp
    guard: IfOp | None
    base: list[SSAValue]
    lanes: int


class _Vectors:
    """One loop over lanes."""

    def __init__(self, loop: ForOp, ranges: IndexRanges, engine: DiagnosticEngine) -> None:
        self.loop = loop
        self.ranges = ranges
        self.engine = engine
        self.lane = loop.body.block.args[0]
        atom = ranges.poly(self.lane).atom
        assert atom is not None
        self.atom = atom
        bound = constant_value(loop.upper_bound)
        assert isinstance(bound, IntegerAttr)
        self.count = bound.value.data

    def run(self) -> None:
        block = self.loop.body.block
        for op in list(block.ops):
            if isinstance(op, (LoadOp, StoreOp)):
                self._consider(op, None)
            elif isinstance(op, IfOp):
                inner = _guarded_access(op)
                if inner is not None:
                    self._consider(inner, op)
        del self.loop.attributes[names.VECTORIZE]
        self.loop.attributes[names.UNROLL] = UnitAttr()

    def _consider(self, op: LoadOp | StoreOp, guard: IfOp | None) -> None:
        space = space_of(op.memref.type)
        if space is None or space.is_per_thread or space is Space.FRAGMENT or not self._steps(op):
            return
        widest = min(self.count, ACCESS_BITS // max(8, bit_width(element_type_of(op.memref.type))))
        while self.count % widest:
            widest //= 2
        problem, lanes = self._problem(op, guard, widest), widest
        while lanes > 1 and self._problem(op, guard, lanes) is not None:
            lanes //= 2
        if problem is not None and space is Space.GLOBAL:
            done = "read" if isinstance(op, LoadOp) else "written"
            remark_narrow(op, done, op.memref, lanes, widest, problem, self.engine)
        if lanes > 1:
            self._widen(op, guard, lanes)

    # -- may it be wide? -----------------------------------------------------------------------

    def _steps(self, op: LoadOp | StoreOp) -> bool:
        """Whether consecutive lanes access contiguous memory."""
        *outer, last = op.indices
        start = self.ranges.poly(last) - self.ranges.poly(self.lane)
        addresses = (start, *map(self.ranges.poly, outer))
        is_dense = row_strides(op.memref)[-1] == 1
        return is_dense and not any(map(self._varies(op.indices), addresses))

    def _problem(self, op: LoadOp | StoreOp, guard: IfOp | None, lanes: int) -> str | None:
        """Why an access cannot take `lanes` lanes at once."""
        if lanes == 1:
            return None
        context = self.ranges.context(guard if guard is not None else op)
        start = self.ranges.poly(op.indices[-1]) - self.ranges.poly(self.lane)
        if not context.is_multiple(start, lanes):
            return f"the index of the first element is not known to be a multiple of {lanes}"
        uneven = uneven_stride(op.memref, lanes)
        if uneven is not None:
            return uneven
        if guard is not None and not self._is_uniform(guard.condition, lanes):
            return f"its guard may differ among {lanes} consecutive elements"
        return None

    def _is_uniform(self, condition: SSAValue, lanes: int) -> bool:
        """Whether all lanes of an access agree: ``start + lane < extent`` with multiples."""
        owner = condition.owner
        if not isinstance(owner, Operation):
            return True
        if owner.name == "arith.andi":
            return all(self._is_uniform(each, lanes) for each in owner.operands)
        if owner.name != "arith.cmpi":
            return not self._depends(condition, {})
        left, right = (self.ranges.poly(each) for each in owner.operands)
        varies = self._varies(owner.operands)
        if not varies(left) and not varies(right):
            return True
        return self._steps_together(left, right, owner, lanes)

    def _steps_together(self, left: Poly, right: Poly, op: Operation, lanes: int) -> bool:
        predicate = op.properties["predicate"].value.data  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
        is_upper = predicate in (2, 6)  # slt, ult: index < extent
        is_lower = predicate in (5, 9)  # sge, uge: index >= 0
        start = left - self.ranges.poly(self.lane)
        context = self.ranges.context(op)
        varies = self._varies(op.operands)
        if varies(start) or varies(right):
            return False
        both = context.is_multiple(start, lanes) and context.is_multiple(right, lanes)
        return (is_upper or is_lower) and both

    def _varies(self, values: Sequence[SSAValue]) -> Callable[[Poly], bool]:
        """Whether an index that is computed from `values` differs between lanes."""
        atoms = [self.atom, *self._unknowns(values)]
        return lambda poly: any(poly.mentions(each) for each in atoms)

    def _unknowns(self, values: Sequence[SSAValue]) -> list[Atom]:
        """What stands for values of the loop that depend on the lane in a way that is not known."""
        depends: dict[SSAValue, bool] = {}
        for value in values:
            self._depends(value, depends)
        found: list[Atom] = []
        for each in (value for value, is_so in depends.items() if is_so and _is_integer(value)):
            atom = self.ranges.poly(each).atom
            if atom is not None and atom is not self.atom and atom.kind in _UNKNOWN:
                inputs = map(self.ranges.poly, filter(_is_integer, _needed_by(each.owner)))
                if not any(poly.mentions(atom) for poly in inputs):  # it stands for this value
                    found.append(atom)
        return found

    def _depends(self, value: SSAValue, known: dict[SSAValue, bool]) -> bool:
        """Whether `value` is computed from the lane; `known` has all values that were seen."""
        if value is self.lane:
            return True
        owner = value.owner
        if not isinstance(owner, Operation) or owner.parent is not self.loop.body.block:
            return False
        if value not in known:
            needed = [self._depends(each, known) for each in _needed_by(owner)]
            known[value] = any(needed)
        return known[value]

    # -- making it wide ------------------------------------------------------------------------

    def _widen(self, op: LoadOp | StoreOp, guard: IfOp | None, lanes: int) -> None:
        stage = self._stage(op)
        code = IndexBuilder(self.loop)
        mapping = self._lane_values(op, guard)
        if isinstance(op, LoadOp):
            for part in range(0, self.count, lanes):
                self._move(code, op, guard, mapping, part, lanes, stage)
            replaced = op if guard is None else guard
            taken = LoadOp(stage, [self.lane])
            inside = IndexBuilder(replaced)
            inside.add(taken)
            inside.rewriter.replace_op(replaced, [], [taken.result])
        else:
            replaced = op if guard is None else guard
            IndexBuilder(replaced).add(StoreOp(op.value, stage, [self.lane]))
            self._after(op, guard, mapping, lanes, stage)
            IndexBuilder(replaced).rewriter.erase(replaced)

    def _stage(self, op: LoadOp | StoreOp) -> SSAValue:
        type = MemRefType(
            element_type_of(op.memref.type), (self.count,), NoneAttr(), SpaceAttr(Space.LOCAL)
        )
        hint = f"{op.memref.name_hint or 'buffer'}_lanes"
        return IndexBuilder(self.loop).add(AllocOp(type, name=hint)).results[0]

    def _lane_values(self, op: LoadOp | StoreOp, guard: IfOp | None) -> list[SSAValue]:
        """What the addresses and the guard need: their roots in the loop."""
        needed = list(op.indices)
        if guard is not None:
            needed.append(guard.condition)
        return needed

    def _move(
        self,
        code: IndexBuilder,
        op: LoadOp | StoreOp,
        guard: IfOp | None,
        needed: list[SSAValue],
        part: int,
        lanes: int,
        stage: SSAValue,
    ) -> None:
        """One access of lanes `part` and up, with its addresses computed for the first lane."""
        first = code.index(part)
        values: dict[SSAValue, SSAValue] = {self.lane: first}
        at = [self._outside(code, each, values) for each in op.indices]
        memory = self._outside(code, op.memref, values)  # it may be a view that is made in the loop
        if guard is not None:
            condition = self._outside(code, guard.condition, values)
            then = Block([YieldOp()])
            otherwise: Region | None = None
            if isinstance(op, LoadOp):
                fill = Block([YieldOp()])
                otherwise = Region(fill)
                self._fill(code, fill, guard, stage, part, lanes)
            code.add(IfOp(condition, [], Region(then), otherwise))
            code = code.inside(then)
        staged_at = code.index(part)
        if isinstance(op, LoadOp):
            code.add(MoveOp(memory, at, stage, [staged_at], lanes))
        else:
            code.add(MoveOp(stage, [staged_at], memory, at, lanes))

    def _fill(
        self, code: IndexBuilder, block: Block, guard: IfOp, stage: SSAValue, part: int, lanes: int
    ) -> None:
        inside = code.inside(block)
        end = guard.else_region.block.last_op
        assert end is not None
        constant = constant_value(end.operands[0])
        assert isinstance(constant, FloatAttr | IntegerAttr), (
            "values used from outside are constants"
        )
        safe = inside.add(ConstantOp(constant)).results[0]
        for lane in range(part, part + lanes):
            inside.add(StoreOp(safe, stage, [inside.index(lane)]))

    def _outside(
        self, code: IndexBuilder, value: SSAValue, values: dict[SSAValue, SSAValue]
    ) -> SSAValue:
        """A value of the loop computed before it, for another lane."""
        if value in values:
            return values[value]
        owner = value.owner
        if not isinstance(owner, Operation) or owner.parent is not self.loop.body.block:
            return value
        operands = {each: self._outside(code, each, values) for each in _needed_by(owner)}
        copy = owner.clone(operands)
        code.add(copy)
        for old, new in zip(owner.results, copy.results, strict=True):
            values[old] = new
        return values[value]

    def _after(
        self,
        op: StoreOp,
        guard: IfOp | None,
        needed: list[SSAValue],
        lanes: int,
        stage: SSAValue,
    ) -> None:
        """The moves of a store come after the loop."""
        following = self.loop.next_op
        assert following is not None
        code = IndexBuilder(following)
        for part in range(0, self.count, lanes):
            self._move(code, op, guard, needed, part, lanes, stage)


def _is_integer(value: SSAValue) -> bool:
    return isinstance(value.type, IndexType | IntegerType)


def _needed_by(op: Operation | Block) -> list[SSAValue]:
    """Values from outside of an op that it uses, inside of its regions too."""
    assert isinstance(op, Operation)
    used = dict.fromkeys(value for inner in walk(op) for value in inner.operands)
    return [value for value in used if not op.is_ancestor(value.owner)]


def _has_constant_else(op: IfOp) -> bool:
    """Whether what is read outside is constant: user-defined branches may compute it."""
    if not op.else_region.blocks:
        return False
    end = op.else_region.block.last_op
    if end is None or len(end.operands) != 1:
        return False
    return isinstance(constant_value(end.operands[0]), FloatAttr | IntegerAttr)


def _guarded_access(op: IfOp) -> LoadOp | StoreOp | None:
    """The access of an `if` that `guard-memory-accesses` has made."""
    body = [each for each in op.then_region.block.ops if not isinstance(each, YieldOp)]
    if len(body) != 1 or not isinstance(body[0], (LoadOp, StoreOp)):
        return None
    access = body[0]
    if isinstance(access, LoadOp):
        end = op.then_region.block.last_op
        is_yielded = end is not None and list(end.operands) == [access.result]
        return access if is_yielded and len(op.results) == 1 and _has_constant_else(op) else None
    return access if not op.results else None
