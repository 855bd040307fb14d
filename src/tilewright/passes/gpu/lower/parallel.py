"""A parallel loop as what each thread runs of it.

    tile.parallel (%i, %j) in (64, 64)      scf.for %r = 0 to 4 {unroll}
      layout thread/index               ->    scf.for %l = 0 to 8 {unroll, vectorize}
                                                %i, %j from (%tid, %r, %l)

Iterations of a thread are numbered as the registers of the layout. Iterations along the innermost
variable that follow each other in this order make an inner loop, which `vectorize-loops` turns into
wide accesses. An iteration that several threads share (a replica) is run by all of them, but what
it writes to memory only by the first.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.analysis.layout_inference.accesses import (
    Iterations,
    accesses_fragments,
    loop_shape,
)
from tilewright.analysis.layout_inference.relations import (
    ops_done_once,
    writes_registers,
)
from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.analysis.layout_inference.shares import Share, share_of, unknown_steps
from tilewright.analysis.layout_inference.table import Table
from tilewright.dialects.arith import CmpiOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import YieldOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AtomicOp, ParallelOp, Space, names, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.attributes import FragmentAttr
from tilewright.dialects.tile.mixed import Mixed
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage
from tilewright.passes.gpu.lower.conversions import lower_conversion
from tilewright.passes.gpu.lower.loops import counted, opened
from tilewright.passes.gpu.lower.matrix_stores import lower_matrix_store
from tilewright.passes.tile.clone_ops import copy_op
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined, split, written


def lower_parallel(loop: ParallelOp, storage: BufferStorage) -> None:
    """Replace the loop by the share of the running thread."""
    shape = loop_shape(loop)
    assert shape is not None and isinstance(loop.layout, FragmentAttr)
    table = Table.from_map(loop.layout.data)
    threads = threads_of(loop)
    share = share_of(loop, table)
    code = IndexBuilder(loop)
    if lower_conversion(loop, table, storage) or lower_matrix_store(loop, table, storage):
        return
    tid = storage.thread(code, threads)
    inside = _guarded(code, table, tid, threads.count)
    writer = _Writer(loop, storage, share, Iterations(loop, shape), tid)
    writer.write(inside)
    code.rewriter.erase(loop)


def _guarded(code: IndexBuilder, table: Table, tid: Mixed, threads: int) -> IndexBuilder:
    """Code that only threads with iterations run."""
    if table.num_threads == threads:
        return code
    inside = code.add(CmpiOp("ult", code.index(tid), code.index(table.num_threads))).results[0]
    return opened(code, inside)


_AT_ONCE = 16
"""Iterations between memory and memory, a few elements each, that are unrolled: more of them make
the code long, and registers for their addresses spill."""
_NARROW_LANES = 2
"""Elements of an iteration up to which there are many iterations."""


class _Writer:
    """Writes the share of a thread."""

    def __init__(
        self,
        loop: ParallelOp,
        storage: BufferStorage,
        share: Share,
        iterations: Iterations,
        tid: Mixed,
    ) -> None:
        self.loop = loop
        self.storage = storage
        self.share = share
        self.iterations = iterations
        self.tid = tid
        self.values: dict[SSAValue, SSAValue] = {}
        self.round: Mixed = 0
        self.lane: Mixed = 0
        once = ops_done_once(loop) if share.table.replicas > 1 else []
        self.is_first_only = bool(once) and not writes_registers(loop)
        """Whether the first replica alone runs the iterations."""
        self.once = set[Operation]() if self.is_first_only else set(once)
        """What the first replica alone runs of an iteration."""

    def write(self, code: IndexBuilder) -> None:
        share = self.share
        if share.rounds > 1:
            is_narrow = share.lanes <= _NARROW_LANES and not accesses_fragments(self.loop)
            code, self.round = counted(
                code,
                share.rounds,
                names.UNROLL,
                simt_names.SHARE,
                at_once=_AT_ONCE if is_narrow else None,
            )
        axes = range(len(share.shape))
        first = [
            written(code, self.share.coordinate(axis), (self.tid, self.round)) for axis in axes
        ]
        together = self.iterations.shape[-1] % share.lanes == 0
        if together:  # all lanes of an iteration, or none
            code = self._within(code, first)
        if share.lanes > 1:
            marks = [names.UNROLL, names.VECTORIZE, simt_names.SHARE]
            if names.ASYNCHRONOUS in self.loop.attributes:
                marks.append(names.ASYNCHRONOUS)
            code, self.lane = counted(code, share.lanes, *marks)
        if self.is_first_only:
            code = self._first_replica(code)
        if together:
            # No run of lanes goes beyond its row.
            first = self._split(code, first)
        coordinates = [*first[:-1], combined(code, "+", first[-1], self.lane)]
        if not together:
            code = self._within(code, coordinates)
            coordinates = self._split(code, coordinates)
        for variable, coordinate in zip(self.loop.body.block.args, coordinates, strict=True):
            self.values[variable] = code.index(coordinate)
        self._block(code, self.loop.body.block)

    def _split(self, code: IndexBuilder, coordinates: list[Mixed]) -> list[Mixed]:
        """The variables of the loop, where its leading dimensions are counted through."""
        lead = len(self.iterations.shape) - len(self.share.shape) + 1
        linear, *rest = coordinates
        return [*split(code, linear, self.iterations.shape[:lead]), *rest]

    def _within(self, code: IndexBuilder, coordinates: list[Mixed]) -> IndexBuilder:
        """Code for iterations that the loop has."""
        for axis in self.share.cut_short:
            here, size = code.index(coordinates[axis]), code.index(self.share.shape[axis])
            code = opened(code, code.add(CmpiOp("ult", here, size)).results[0])
        return code

    def _first_replica(self, code: IndexBuilder) -> IndexBuilder:
        """Code that only one of several threads with the same iteration runs."""
        replica = written(code, self.share.replica(), (self.tid,))
        zero = code.index(0)
        return opened(code, code.add(CmpiOp("eq", code.index(replica), zero)).results[0])

    # -- the body ----------------------------------------------------------------------------

    def _block(self, code: IndexBuilder, block: Block) -> None:
        for op in block.ops:
            if op.name in ("tile.yield", "scf.yield") and block is self.loop.body.block:
                continue
            self._op(code, op)

    def _op(self, code: IndexBuilder, op: Operation) -> None:
        if op in self.once:
            code = self._first_replica(code)
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
            new = copy_op(op, self.values)
            code.add(new) if not _is_end(op) else self._end(code, new)
        new.location = op.location
        for old, result in zip(op.results, new.results, strict=True):
            result.name_hint = old.name_hint
            self.values[old] = result

    def _atomic(self, code: IndexBuilder, op: AtomicOp) -> Operation:
        indices: list[Mixed] = [self.values.get(each, each) for each in op.indices]
        buffer = op.dst
        space = space_of(buffer.type)
        if space is not None and space.is_shared:
            part = self.storage.shared_part(code, buffer)
            buffer, indices = part.buffer, [part.offset(code, indices)]
        value, compare = (
            None if each is None else self.values.get(each, each) for each in (op.value, op.compare)
        )
        found = [code.index(each) for each in indices]
        return code.add(op.of_element(buffer, found, value, compare))

    def _end(self, code: IndexBuilder, op: Operation) -> None:
        """The end of a nested block replaces its original terminator."""
        assert code.block is not None and code.block.last_op is not None
        code.block.erase_op(code.block.last_op)
        code.block.add_op(op)

    def _nested(self, code: IndexBuilder, op: Operation) -> Operation:
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

    def _access(self, code: IndexBuilder, op: LoadOp | StoreOp) -> tuple[SSAValue, list[SSAValue]]:
        buffer = op.memref
        indices: list[Mixed] = [self.values.get(each, each) for each in op.indices]
        space = space_of(buffer.type)
        if space is Space.FRAGMENT:
            registers = self.storage.registers[base_of(buffer)]
            return registers.buffer, [code.index(self._register(code, op))]
        if space is not None and space.is_shared:
            part = self.storage.shared_part(code, buffer)
            return part.buffer, [code.index(part.offset(code, indices))]
        return buffer, [code.index(each) for each in indices]

    def _register(self, code: IndexBuilder, op: LoadOp | StoreOp) -> Mixed:
        """The register of an element, as an expression of the iteration and the lane."""
        access = self.iterations.access(op)
        table = self.storage.registers[base_of(op.memref)].table
        register_ids = table.registers[access.elements]
        rank = len(self.iterations.shape)
        origin = (slice(None),) * rank + (0,) * access.extra
        found = self.share.register(register_ids[origin])
        register = written(code, found.of_round, (self.round,))
        register = combined(code, "+", register, written(code, found.of_lane, (self.lane,)))
        # Dimensions that a serial loop walks: their share of the register index is added to it.
        steps = unknown_steps(register_ids, rank)
        for index, step in zip(self.iterations.unknown(op), steps, strict=True):
            value = self.values.get(index, index)
            register = combined(code, "+", register, written(code, step, (value,)))
        return register


def _is_end(op: Operation) -> bool:
    return op.name in ("scf.yield", "scf.condition", "tile.yield")
