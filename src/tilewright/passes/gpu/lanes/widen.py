"""Makes accesses of a loop over lanes wide: loads before the loop, stores after it.

Each goes through an array of registers, an element a lane. Addresses and conditions are computed
outside of the loop for the first lane of an access; branches around an access are repeated around
the wide one, so what is only valid inside of a branch is computed inside of it.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import IndexType, MemRefType, NoneAttr, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.dialects.arith import AndiOp, CmpiOp, ConstantOp, RemuiOp
from tilewright.dialects.memref import DimOp, LoadOp, StoreOp
from tilewright.dialects.nv import RedAddOp
from tilewright.dialects.scf import ForOp, IfOp, YieldOp
from tilewright.dialects.simt import MoveOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AllocOp, AtomicOp, Space, SpaceAttr, names
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.passes.gpu.lanes.accesses import LaneAccess, fill_of
from tilewright.passes.gpu.lanes.widths import LaneWidths, Width, needed_by
from tilewright.passes.tile.clone_ops import copy_op
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined

_Values = dict[SSAValue, SSAValue]


class Widening:
    """Rewrites the accesses of one loop."""

    def __init__(self, widths: LaneWidths) -> None:
        self._widths = widths
        self._loop, self._lane = widths.loop, widths.lane
        following = self._loop.next_op
        assert following is not None
        self._following = following

    def widen(self, access: LaneAccess, width: Width) -> None:
        """Make one access wide; accesses are to be given in their order."""
        stage = self._stage(access)
        op, replaced = access.op, access.whole
        if isinstance(op, LoadOp):
            self._moves(IndexBuilder(self._loop), access, width, stage)
            taken = LoadOp(stage, [self._lane])
            inside = IndexBuilder(replaced)
            inside.add(taken)
            inside.rewriter.replace_op(replaced, [], [taken.result])
            return
        self._moves(IndexBuilder(self._following), access, width, stage)
        assert op.value is not None
        inside = IndexBuilder(replaced)
        inside.add(StoreOp(op.value, stage, [self._lane]))
        inside.rewriter.erase(replaced)

    def _stage(self, access: LaneAccess) -> SSAValue:
        element = element_type_of(access.buffer.type)
        type = MemRefType(element, (self._widths.count,), NoneAttr(), SpaceAttr(Space.LOCAL))
        hint = f"{access.buffer.name_hint or 'buffer'}_lanes"
        return IndexBuilder(self._loop).add(AllocOp(type, name=hint)).results[0]

    def _moves(self, code: IndexBuilder, access: LaneAccess, width: Width, stage: SSAValue) -> None:
        for part in range(0, self._widths.count, width.lanes):
            if width.is_cut:
                self._cut_move(code, access, width, part, stage)
            else:
                self._move(code, access, width.lanes, part, stage)

    # -- all lanes or none ---------------------------------------------------------------------

    def _move(
        self, code: IndexBuilder, access: LaneAccess, lanes: int, part: int, stage: SSAValue
    ) -> None:
        """One access of lanes `part` and up, with its addresses computed for the first lane."""
        values: _Values = {self._lane: code.index(part)}
        guards = list(access.guards)
        at_once: tuple[SSAValue, list[SSAValue]] | None = None
        if len(guards) == 1 and access.whole is guards[0]:
            # Nothing but the access is in the branch: its address is computed before.
            at_once = self._address(code, access, values)
        for guard in guards:
            if access.filled > 1 and guard is guards[-access.filled]:
                # One fill for all of the branches, without which they are predicates.
                self._fill(code, guard, stage, range(part, part + lanes))
            condition = self.outside(code, guard.condition, values)
            then, otherwise = Block([YieldOp()]), None
            if guard is guards[-1] and access.filled == 1:
                fill = Block([YieldOp()])
                otherwise = Region(fill)
                self._fill(code.inside(fill), guard, stage, range(part, part + lanes))
            code.add(IfOp(condition, [], Region(then), otherwise))
            code = code.inside(then)
        memory, at = at_once or self._address(code, access, values)
        self._access(code, access, memory, at, lanes, part, stage)

    def _address(
        self, code: IndexBuilder, access: LaneAccess, values: _Values
    ) -> tuple[SSAValue, list[SSAValue]]:
        at = [self.outside(code, each, values) for each in access.op.indices]
        return self.outside(code, access.buffer, values), at  # perhaps a view made in the loop

    def _access(
        self,
        code: IndexBuilder,
        access: LaneAccess,
        memory: SSAValue,
        at: list[SSAValue],
        lanes: int,
        part: int,
        stage: SSAValue,
        is_unaligned: bool = False,
    ) -> None:
        staged_at = [code.index(part)]
        if isinstance(access.op, LoadOp):
            new: Operation = MoveOp(memory, at, stage, staged_at, lanes)
            if is_unaligned:
                new.attributes[simt_names.UNALIGNED] = UnitAttr()
        elif isinstance(access.op, AtomicOp):
            new = RedAddOp(stage, staged_at, memory, at, lanes)
        else:
            new = MoveOp(stage, staged_at, memory, at, lanes)
        code.add(new)

    def _fill(self, code: IndexBuilder, guard: IfOp, stage: SSAValue, lanes: range) -> None:
        safe = _filler(code, guard)
        for lane in lanes:
            code.add(StoreOp(safe, stage, [code.index(lane)]))

    # -- cut at the end of a row ---------------------------------------------------------------

    def _cut_move(
        self, code: IndexBuilder, access: LaneAccess, width: Width, part: int, stage: SSAValue
    ) -> None:
        """One access if the first and the last lane take part, else one for each lane."""
        ends = (part, part + width.lanes - 1)
        tests = [self._taking_part(code, access, lane) for lane in ends]
        if width.row is not None:
            tests.append(self._is_even(code, access.buffer, width))
        if width.is_unaligned:
            tests.append(self._has_units(code, access, part, width.lanes))
        whole = _all(code, [each for each in tests if each is not None])
        then, otherwise = Block([YieldOp()]), Block([YieldOp()])
        code.add(IfOp(whole, [], Region(then), Region(otherwise)))
        inside = code.inside(then)
        memory, at = self._address(inside, access, {self._lane: inside.index(part)})
        self._access(inside, access, memory, at, width.lanes, part, stage, width.is_unaligned)
        self._each(code.inside(otherwise), access, range(part, part + width.lanes), stage)

    def _taking_part(self, code: IndexBuilder, access: LaneAccess, lane: int) -> SSAValue | None:
        """Whether a lane is inside of all branches."""
        values: _Values = {self._lane: code.index(lane)}
        found = [self.outside(code, guard.condition, values) for guard in access.guards]
        return _all(code, found) if found else None

    def _has_units(self, code: IndexBuilder, access: LaneAccess, part: int, lanes: int) -> SSAValue:
        """Whether the tensor does not end within two units from the first element on."""
        shape = shape_of(access.buffer.type)
        values: _Values = {self._lane: code.index(part)}
        linear: Mixed = 0
        for index, extent in zip(access.op.indices, shape, strict=True):
            at = self.outside(code, index, values)
            linear = combined(code, "+", combined(code, "*", linear, extent), at)
        last = code.index(prod(shape) - 2 * lanes)
        return code.add(CmpiOp("sle", code.index(linear), last)).results[0]

    def _is_even(self, code: IndexBuilder, buffer: SSAValue, width: Width) -> SSAValue:
        """Whether every row of a tensor begins at a multiple of the lanes."""
        assert width.row is not None
        extent = code.add(DimOp(buffer, code.index(width.row))).results[0]
        rest = code.add(RemuiOp(extent, code.index(width.lanes))).results[0]
        return code.add(CmpiOp("eq", rest, code.index(0))).results[0]

    def _each(self, code: IndexBuilder, access: LaneAccess, lanes: range, stage: SSAValue) -> None:
        """Every lane by itself."""
        block = Block([YieldOp()], arg_types=[IndexType()])
        loop = ForOp(
            code.index(lanes.start), code.index(lanes.stop), code.index(1), [], Region(block)
        )
        loop.attributes[names.UNROLL] = UnitAttr()
        code.add(loop)
        inside = code.inside(block)
        lane = block.args[0]
        values: _Values = {self._lane: lane}
        if access.is_filled:
            inside.add(StoreOp(_filler(inside, access.guards[-1]), stage, [lane]))
        for guard in access.guards:
            condition = self.outside(inside, guard.condition, values)
            then = Block([YieldOp()])
            inside.add(IfOp(condition, [], Region(then)))
            inside = inside.inside(then)
        memory, at = self._address(inside, access, values)
        if isinstance(access.op, LoadOp):
            inside.add(StoreOp(inside.add(LoadOp(memory, at)).results[0], stage, [lane]))
        else:
            inside.add(StoreOp(inside.add(LoadOp(stage, [lane])).results[0], memory, at))

    # -- values --------------------------------------------------------------------------------

    def outside(self, code: IndexBuilder, value: SSAValue, values: _Values) -> SSAValue:
        """A value of the loop computed outside of it, for another lane."""
        if value in values:
            return values[value]
        owner = value.owner
        if not isinstance(owner, Operation) or not self._widths.is_inside(owner):
            return value
        operands = {each: self.outside(code, each, values) for each in needed_by(owner)}
        copy = copy_op(owner, operands)
        code.add(copy)
        for old, new in zip(owner.results, copy.results, strict=True):
            values[old] = new
        return values[value]


def _filler(code: IndexBuilder, guard: IfOp) -> SSAValue:
    """What a lane that reads nothing gets."""
    found = fill_of(guard)
    assert found is not None, "a branch that is filled yields a value of all lanes"
    return found if isinstance(found, SSAValue) else code.add(ConstantOp(found)).results[0]


def _all(code: IndexBuilder, tests: list[SSAValue]) -> SSAValue:
    found = tests[0]
    for each in tests[1:]:
        found = code.add(AndiOp(found, each)).results[0]
    return found
