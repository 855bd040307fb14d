"""A parallel loop as what each thread runs of it.

    tile.parallel (%i, %j) in (64, 64)      scf.for %r = 0 to 4 {unroll}
      layout thread/index               ->    scf.for %l = 0 to 8 {unroll, vectorize}
                                                %i, %j from (%tid, %r, %l)

Iterations of a thread are numbered as the registers of the layout. Neighbours along the innermost
variable that follow each other in this order make an inner loop, which `vectorize-loops` turns into
wide accesses. An iteration that several threads share (a replica) is run by all of them, but what
it writes to memory only by the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import IndexType, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.analysis.layout_inference.accesses import Iterations, loop_shape
from tilewright.analysis.layout_inference.fit import (
    Numbers,
    digits,
    expression,
    formula,
)
from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.analysis.layout_inference.table import NotALayout, Table
from tilewright.dialects.arith import CmpiOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.scf import ForOp, IfOp, YieldOp
from tilewright.dialects.tile import AtomicOp, ParallelOp, Space, names, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.attributes import FragmentAttr
from tilewright.dialects.tile.expressions import Coordinate, LayoutExpr
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.reducers import ReducerAllocOp
from tilewright.passes.gpu.lower.conversions import lower_conversion
from tilewright.passes.gpu.lower.expressions import combined, written
from tilewright.passes.gpu.lower.places import Places
from tilewright.passes.tile.code import Code

_MOST_LANES = 16


@dataclass(frozen=True)
class Share:
    """The iterations of one thread: `turns` rounds of `lanes` neighbours."""

    table: Table
    """With more columns than the loop has, if its own do not come out even."""
    lanes: int
    shape: tuple[int, ...]
    """Of the loop, or its number of iterations if they are counted through."""

    @property
    def columns(self) -> int:
        return self.shape[-1]

    @property
    def turns(self) -> int:
        return self.table.num_registers // self.lanes


def lower_parallel(loop: ParallelOp, places: Places) -> None:
    """Replace the loop by the share of the running thread."""
    shape = loop_shape(loop)
    assert shape is not None and isinstance(loop.layout, FragmentAttr)
    table = Table.from_map(loop.layout.data)
    threads = threads_of(loop)
    share = _share(table, shape, is_wide=_touches_memory(loop))
    code = Code(loop)
    if lower_conversion(loop, table, places):
        return
    tid = places.thread(code, threads)
    inside = _guarded(code, table, tid, threads.count)
    writer = _Writer(loop, places, share, Iterations(loop, shape), tid)
    writer.write(inside)
    code.rewriter.erase(loop)


def _share(table: Table, shape: tuple[int, ...], *, is_wide: bool) -> Share:
    filled = table.filled()
    if filled is None:
        # Rows do not come out even: count the iterations through.
        size = table.registers.size
        shape = (size,)
        flat = Table(table.holders.reshape(size, -1), table.registers.reshape(size))
        filled = flat.filled()
    if filled is None:
        raise NotALayout("no formula gives the iterations of a thread")
    return Share(filled, _lanes(filled) if is_wide else 1, shape)


def _touches_memory(loop: ParallelOp) -> bool:
    return any(
        isinstance(op, (LoadOp, StoreOp)) and not _is_private(op.memref) for op in loop.walk()
    )


def _is_private(buffer: SSAValue) -> bool:
    space = space_of(buffer.type)
    return space is Space.FRAGMENT or (space is not None and space.is_per_thread)


def _lanes(table: Table) -> int:
    """How many registers in a row hold neighbours along the last dimension, for all threads."""
    registers = table.num_registers
    *outer, last = table.inverse
    lanes = 1
    while lanes < _MOST_LANES and registers % (lanes * 2) == 0:
        wider = lanes * 2
        runs = last.reshape(-1, wider)
        same = all(
            (each.reshape(-1, wider) == each.reshape(-1, wider)[:, :1]).all() for each in outer
        )
        if not same or (np.diff(runs, axis=1) != 1).any():
            break
        lanes = wider
    return lanes


def _guarded(code: Code, table: Table, tid: Mixed, threads: int) -> Code:
    """Code that only threads with iterations run."""
    if table.num_threads == threads:
        return code
    inside = code.add(CmpiOp("ult", code.index(tid), code.index(table.num_threads))).results[0]
    return opened(code, inside)


def opened(code: Code, condition: SSAValue) -> Code:
    """Code inside an `if`."""
    block = Block([YieldOp()])
    code.add(IfOp(condition, [], Region(block)))
    return code.inside(block)


def counted(code: Code, count: int, *marks: str) -> tuple[Code, SSAValue]:
    """A loop from 0 to `count`: code inside it, and its variable."""
    block = Block([YieldOp()], arg_types=[IndexType()])
    zero, step = code.index(0), code.index(1)
    loop = ForOp(zero, code.index(count), step, [], Region(block))
    for mark in marks:
        loop.attributes[mark] = UnitAttr()
    code.add(loop)
    return code.inside(block), block.args[0]


class _Writer:
    """Writes the share of a thread."""

    def __init__(
        self, loop: ParallelOp, places: Places, share: Share, iterations: Iterations, tid: Mixed
    ) -> None:
        self.loop = loop
        self.places = places
        self.share = share
        self.iterations = iterations
        self.tid = tid
        self.values: dict[SSAValue, SSAValue] = {}
        self.turn: Mixed = 0
        self.lane: Mixed = 0

    def write(self, code: Code) -> None:
        share = self.share
        if share.turns > 1:
            code, self.turn = counted(code, share.turns, names.UNROLL, nv_names.SHARE)
        if share.lanes > 1:
            marks = (names.UNROLL, names.VECTORIZE, nv_names.SHARE)
            code, self.lane = counted(code, share.lanes, *marks)
        code = self._first_replica(code)
        axes = range(len(share.shape))
        coordinates = [self._coordinate(code, axis, axis == axes[-1]) for axis in axes]
        if share.table.shape[-1] != share.columns:
            last = code.index(coordinates[-1])
            inside = code.add(CmpiOp("ult", last, code.index(share.columns))).results[0]
            code = opened(code, inside)
        if share.shape != self.iterations.shape:
            coordinates = _split(code, coordinates[0], self.iterations.shape)
        for variable, coordinate in zip(self.loop.body.block.args, coordinates, strict=True):
            self.values[variable] = code.index(coordinate)
        self._block(code, self.loop.body.block)

    def _coordinate(self, code: Code, axis: int, is_last: bool) -> Mixed:
        table = self.share.table
        at = self._at_turns(table.inverse[axis])
        found = formula(at)
        if found is not None:
            base = written(code, found.text, (self.tid, self.turn))
        else:
            base = self._by_number(code, axis)
        return combined(code, "+", base, self.lane) if is_last else base

    def _by_number(self, code: Code, axis: int) -> Mixed:
        """The coordinate through the number of the iteration, for sizes that do not divide."""
        table = self.share.table
        number = np.zeros_like(table.inverse[0])
        for size, each in zip(table.shape, table.inverse, strict=True):
            number = number * size + each
        found = formula(self._at_turns(number))
        if found is None:
            raise NotALayout("no formula gives the iterations of a thread")
        place = written(code, found.text, (self.tid, self.turn))
        for size in reversed(table.shape[axis + 1 :]):
            place = combined(code, "floordiv", place, size)
        return combined(code, "mod", place, table.shape[axis]) if axis else place

    def _at_turns(self, table: Numbers) -> Numbers:
        """A table over registers at the first lane of each turn."""
        return table[:, :: self.share.lanes]

    def _first_replica(self, code: Code) -> Code:
        """Only one of several threads with the same iteration writes to memory."""
        table = self.share.table
        if table.replicas == 1 or not (_writes_memory(self.loop) or _updates_reducer(self.loop)):
            return code
        replica = np.full((table.num_threads, 1), -1, dtype=np.int64)
        for number in range(table.replicas):
            replica[table.holders[..., number].ravel(), 0] = number
        found = digits(replica[:, 0])
        if found is None:
            raise NotALayout("no formula tells the copies of an iteration apart")
        text = expression(found, Coordinate(0), table.num_threads)
        number_ = written(code, text, (self.tid,))
        zero = code.index(0)
        return opened(code, code.add(CmpiOp("eq", code.index(number_), zero)).results[0])

    # -- the body ----------------------------------------------------------------------------

    def _block(self, code: Code, block: Block) -> None:
        for op in block.ops:
            if op.name in ("tile.yield", "scf.yield") and block is self.loop.body.block:
                continue
            self._op(code, op)

    def _op(self, code: Code, op: Operation) -> None:
        if isinstance(op, LoadOp):
            buffer, indices = self._access(code, op)
            new: Operation = code.add(LoadOp(buffer, indices))
        elif isinstance(op, StoreOp):
            buffer, indices = self._access(code, op)
            new = code.add(StoreOp(self.values.get(op.value, op.value), buffer, indices))
        elif isinstance(op, AtomicOp):
            new = self._atomic(code, op)
        elif op.regions:
            new = self._nested(code, op)
        else:
            new = op.clone(dict(self.values))
            code.add(new) if not _is_end(op) else self._end(code, new)
        new.location = op.location
        for old, result in zip(op.results, new.results, strict=True):
            result.name_hint = old.name_hint
            self.values[old] = result

    def _atomic(self, code: Code, op: AtomicOp) -> Operation:
        indices: list[Mixed] = [self.values.get(each, each) for each in op.indices]
        buffer = op.dst
        space = space_of(buffer.type)
        if space is not None and space.is_shared:
            part = self.places.shared_part(code, buffer)
            buffer, indices = part.buffer, [part.place(code, indices)]
        value = None if op.value is None else self.values.get(op.value, op.value)
        new = AtomicOp(
            op.kind.data,
            buffer,
            [code.index(each) for each in indices],
            value,
            return_previous=op.previous is not None,
            memory_order=op.memory_order.data if op.memory_order is not None else None,
        )
        return code.add(new)

    def _end(self, code: Code, op: Operation) -> None:
        """The end of a nested block takes the place of the one it was made with."""
        assert code.block is not None and code.block.last_op is not None
        code.block.erase_op(code.block.last_op)
        code.block.add_op(op)

    def _nested(self, code: Code, op: Operation) -> Operation:
        """A loop or a branch inside: the same, with its blocks written anew."""
        regions: list[Region] = []
        pending: list[tuple[Block, Block]] = []
        for region in op.regions:
            blocks = [Block([YieldOp()], arg_types=[a.type for a in b.args]) for b in region.blocks]
            pending += list(zip(region.blocks, blocks, strict=True))
            regions.append(Region(blocks))
        new = type(op).create(
            operands=[self.values.get(each, each) for each in op.operands],
            result_types=[each.type for each in op.results],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
            regions=regions,
        )
        code.add(new)
        for old, fresh in pending:
            for before, after in zip(old.args, fresh.args, strict=True):
                after.name_hint = before.name_hint
                self.values[before] = after
            inner = code.inside(fresh)
            for each in old.ops:
                self._op(inner, each)
        return new

    def _access(self, code: Code, op: LoadOp | StoreOp) -> tuple[SSAValue, list[SSAValue]]:
        buffer = op.memref
        indices: list[Mixed] = [self.values.get(each, each) for each in op.indices]
        space = space_of(buffer.type)
        if space is Space.FRAGMENT:
            registers = self.places.registers[base_of(buffer)]
            return registers.buffer, [code.index(self._register(code, op))]
        if space is not None and space.is_shared:
            part = self.places.shared_part(code, buffer)
            return part.buffer, [code.index(part.place(code, indices))]
        return buffer, [code.index(each) for each in indices]

    def _register(self, code: Code, op: LoadOp | StoreOp) -> Mixed:
        """The register of an element, as an expression of the turn and the lane."""
        access = self.iterations.access(op)
        table = self.places.registers[base_of(op.memref)].table
        numbers = table.registers[access.elements]
        if access.extra:
            return self._register_with_unknown(code, op, numbers)
        return self._of_turn_and_lane(code, self._by_share(numbers))

    def _by_share(self, numbers: Numbers) -> Numbers:
        """What the iterations of each thread have, by thread and register.

        Iterations beyond the loop's columns are not run: any number that keeps the others' pattern
        will do, and the one that goes on as the last two did is taken.
        """
        inverse = self.share.table.inverse
        numbers = numbers.reshape(self.share.shape)
        extra = self.share.table.shape[-1] - self.share.columns
        if extra:
            more = np.arange(1, extra + 1, dtype=np.int64)
            last = numbers[..., -1:]
            step = last - numbers[..., -2:-1] if numbers.shape[-1] > 1 else np.ones_like(last)
            numbers = np.concatenate([numbers, last + step * more], axis=-1)
            known = self._extended(numbers, inverse)
            if known is not None:
                return known
        return numbers[inverse]

    def _extended(self, numbers: Numbers, inverse: tuple[Numbers, ...]) -> Numbers | None:
        """By register alone, from the threads that run the iteration."""
        found = numbers[inverse]
        is_run = inverse[-1] < self.share.columns
        result = np.full(found.shape[1], -1, dtype=np.int64)
        for register in range(found.shape[1]):
            values = np.unique(found[is_run[:, register], register])
            if len(values) != 1:
                return None
            result[register] = values[0]
        return np.broadcast_to(result, found.shape)

    def _of_turn_and_lane(self, code: Code, numbers: Numbers) -> Mixed:
        lanes = self.share.lanes
        if (numbers != numbers[:1]).any():
            raise NotALayout("threads keep the same element in different registers")
        grid = numbers[0].reshape(self.share.turns, lanes)
        step = int(grid[0, 1] - grid[0, 0]) if lanes > 1 else 0
        if (grid != grid[:, :1] + np.arange(lanes) * step).any():
            raise NotALayout("lanes keep neighbours in registers that are not evenly apart")
        found = digits(grid[:, 0])
        if found is None:
            raise NotALayout("no formula gives the register of an element")
        text: LayoutExpr = expression(found, Coordinate(0), self.share.turns) + int(grid[0, 0])
        base = written(code, text, (self.turn,))
        return combined(code, "+", base, combined(code, "*", self.lane, step))

    def _register_with_unknown(self, code: Code, op: LoadOp | StoreOp, numbers: Numbers) -> Mixed:
        """Dimensions that a serial loop walks: their share of the number is added to it."""
        rank = len(self.iterations.shape)
        origin = (slice(None),) * rank + (0,) * (numbers.ndim - rank)
        total = self._of_turn_and_lane(code, self._by_share(numbers[origin]))
        rebuilt = numbers[origin].reshape(*self.iterations.shape, *(1,) * (numbers.ndim - rank))
        unknown = self.iterations.unknown(op)
        for number, index in enumerate(unknown):
            axis = rank + number
            line = numbers[(0,) * axis + (slice(None),) + (0,) * (numbers.ndim - axis - 1)]
            found = digits(line)
            if found is None:
                raise NotALayout("no formula gives the register of an element")
            text = expression(found, Coordinate(0), len(line))
            value = self.values.get(index, index)
            total = combined(code, "+", total, written(code, text, (value,)))
            shape = [1] * numbers.ndim
            shape[axis] = len(line)
            rebuilt = rebuilt + (line - line[0]).reshape(shape)
        if (rebuilt != numbers).any():
            raise NotALayout("the register of an element is no sum over its dimensions")
        return total


def _split(code: Code, number: Mixed, shape: tuple[int, ...]) -> list[Mixed]:
    """The coordinates of an iteration, from its number."""
    found: list[Mixed] = []
    for size in reversed(shape[1:]):
        found.append(combined(code, "mod", number, size))
        number = combined(code, "floordiv", number, size)
    return [number, *reversed(found)]


def _is_end(op: Operation) -> bool:
    return op.name in ("scf.yield", "scf.condition", "tile.yield")


def _updates_reducer(loop: ParallelOp) -> bool:
    """Whether iterations add to a reducer: each of them once, whoever runs it."""
    read = {id(op.memref) for op in loop.walk() if isinstance(op, LoadOp)}
    return any(
        isinstance(op, StoreOp)
        and isinstance(base_of(op.memref).owner, ReducerAllocOp)
        and id(op.memref) in read
        for op in loop.walk()
    )


def _writes_memory(loop: ParallelOp) -> bool:
    return any(
        (isinstance(op, StoreOp) and not _is_private(op.memref)) or op.name == "tile.atomic"
        for op in loop.walk()
    )
