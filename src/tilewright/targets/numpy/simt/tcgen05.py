"""MMAs and copies into tensor memory, as the hardware executes them: later, in order.

Operands are found by decoding their descriptors, results by the hardware's layouts
(`layouts/hardware/tcgen05`). An MMA takes effect when it finishes; `commit` is an operation after
it in the same queue, which arrives at barriers and forwards the time of the MMA to the waiting
threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import Float4E2M1FNType, i8
from xdsl.ir import Operation

from tilewright.analysis.thread_sync.tensor_memory import Accessor, Cells
from tilewright.dialects.nv.tcgen05 import (
    Tcgen05CommitOp,
    Tcgen05FenceOp,
    Tcgen05MatrixOp,
    Tcgen05MmaOp,
)
from tilewright.dialects.nv.tensor_memory import Tcgen05CpOp
from tilewright.dialects.simt.target import NVIDIA_WARP
from tilewright.layouts.hardware.descriptors import read_address
from tilewright.layouts.hardware.tcgen05 import (
    ADDRESS_LANE_SHIFT,
    COLUMNS,
    HALF_QUARTER,
    LANES,
    QUARTER,
    SCALE_ROWS,
    decode_matrix,
    encode_matrix,
    operand_lanes,
    result_columns,
    result_location,
)
from tilewright.targets.numpy.dtypes import scalar_type
from tilewright.targets.numpy.simt.copies import target_barrier
from tilewright.targets.numpy.simt.machine import BarrierMisuse, Pending
from tilewright.targets.numpy.simt.mma import as_read, as_signed, elements, matrix_rule, multiply
from tilewright.targets.numpy.simt.problems import SimtRuntimeFault
from tilewright.targets.numpy.simt.program import Act, Compiler, Rule
from tilewright.targets.numpy.simt.state import BlockRun, Frame
from tilewright.targets.numpy.simt.sync import PhaseBarrier, barrier_of_block
from tilewright.targets.numpy.simt.tensor_memory import TensorMemory
from tilewright.targets.numpy.simt.tensor_moves import memory_of

_COLUMN_MASK = 0xFFFF
_MASK64 = (1 << 64) - 1
_E8M0_BIAS = 127
_E8M0_NAN = 255
_EXPANDED = 16


def _unit(frame: Frame) -> str:
    return f"tensor core {frame.block.rank}"


def _pair(frame: Frame, group: int, what: str) -> list[BlockRun]:
    """The blocks that take part; the leading one issues."""
    block = frame.block
    if group == 1:
        return [block]
    if block.rank % 2 or block.rank + 1 >= len(block.cluster):
        raise frame.problem(
            "tensor memory",
            f"{what} of a pair must be issued by the CTA of even rank, of a cluster with both "
            f"CTAs; this is rank {block.rank} of {len(block.cluster)}",
        )
    return [block, block.cluster[block.rank + 1]]


def _split(address: int) -> tuple[int, int]:
    return address >> ADDRESS_LANE_SHIFT, address & _COLUMN_MASK


@cache
def _location(m: int, n: int, group: int) -> tuple[Any, Any, Any]:
    i, j = np.indices((m, n))
    cta, lane, column = result_location(m, n, group, i, j)
    return cta, lane, column


class _Issue:
    """An operation of the tensor core while it is issued: blocks, times and observed clocks."""

    def __init__(self, frame: Frame, op: Operation, group: int) -> None:
        self.frame, self.op = frame, op
        self.leader = frame.leader(op.name)
        self.thread = int(frame.tids[self.leader])
        self.blocks = _pair(frame, group, op.name)
        memory_of(frame)
        self.memories: list[TensorMemory] = [each.tensor_memory for each in self.blocks]
        warp = self.thread // NVIDIA_WARP
        own = self.memories[0]
        own.mark_issue(own.accessor(op, warp))
        here: Accessor = own.accessor(op, warp)
        clocks, rank = frame.block.clocks, frame.block.rank
        self.accessors = [here.forwarded(clocks, rank, each.rank) for each in self.blocks]
        self.times = [
            int(block.clocks.tick(memory.agent))
            for block, memory in zip(self.blocks, self.memories, strict=True)
        ]
        for memory, time in zip(self.memories, self.times, strict=True):
            memory.mark_time(self.thread, time, is_local=memory is own)
        self.checked = frame.block.options.checked

    def value(self, slot: int) -> int:
        return int(self.frame.wide(self.frame.env[slot])[self.leader])

    def reads_shared(self, cta: int, addresses: Any, size: int) -> None:
        """Check an operand in the shared memory of one of the CTAs, and note the access."""
        block = self.blocks[cta]
        last = int(addresses.max()) + size
        if last > len(block.arena):
            raise self.frame.problem(
                "out of bounds",
                f"{self.op.name} operand out of bounds: byte {last - 1} of shared memory, "
                f"but the block has {len(block.arena)} bytes",
            )
        if not self.checked:
            return
        clocks, rank = self.frame.block.clocks, self.frame.block.rank
        issuer = clocks.forwarded(self.frame.signal_of(self.leader), rank, block.rank)
        granules = np.unique(block.shadow.spread(addresses, size))
        thread = self.thread if cta == 0 else None
        agent, time = self.memories[cta].agent, self.times[cta]
        block.shadow.read_by_engine(self.op, granules, agent, time, issuer, thread)

    def reads(self, cta: int, cells: Cells, what: str) -> None:
        memory = self.memories[cta]
        memory.check_allocated(self.op, cells, what)
        if self.checked:
            memory.core_reads(self.accessors[cta], cells, self.times[cta], what)

    def writes(self, cta: int, cells: Cells, what: str) -> None:
        memory = self.memories[cta]
        memory.check_allocated(self.op, cells, what)
        if self.checked:
            memory.core_writes(self.accessors[cta], cells, self.times[cta])

    def start(self, what: str, finish: Any) -> None:
        operation = Pending(what, finish, self.op, self.frame.name)
        self.frame.block.machine.issue(_unit(self.frame), operation, in_order=True)


def operand_addresses(
    frame: Frame, value: int, rows: int, k: int, bits: int, k_major: bool, name: str
) -> Any:
    """Byte addresses of an operand in shared memory, [rows along M or N, depth]."""
    try:
        descriptor = decode_matrix(value & _MASK64)
    except ValueError as error:
        raise frame.problem("shape", f"{name}: {error}") from error
    along, depth = np.indices((rows, k))
    return read_address(descriptor, along, depth, bits, k_major)  # pyright: ignore[reportArgumentType]


# -- MMA ---------------------------------------------------------------------------------------


class _Mma:
    """One `nv.tcgen05.mma` in the code."""

    def __init__(self, compiler: Compiler, op: Tcgen05MmaOp) -> None:
        self.op = op
        self.a, self.b, self.d = compiler.all_slots((op.a, op.b, op.d))
        self.use_acc = None if op.use_acc is None else compiler.slot(op.use_acc)
        self.scales = compiler.all_slots(op.scales)
        self.ids = compiler.all_slots(op.scale_ids)
        self.m, self.n, self.k = op.mnk
        self.group = op.group_size
        self.is_expanded = [isinstance(e, Float4E2M1FNType) for e in (op.a_type, op.b_type)]
        """Which operands have elements of 4 bits, 16 of them in the first 8 of 16 bytes."""
        sides = zip((op.a_type, op.b_type), self.is_expanded, strict=True)
        types = [scalar_type(i8 if narrow else each) for each, narrow in sides]
        types.append(scalar_type(op.d_type))
        self.a_type, self.b_type, self.d_type = (each.dtype for each in types if each is not None)
        self.rows = self.m // self.group
        self.columns = result_columns(self.m, self.n, self.group)
        self.halves = 2 if self.columns != self.n else 1
        self.location = _location(self.m, self.n, self.group)
        self.a_lanes = operand_lanes(self.m, self.group, np.arange(self.rows))

    def issue(self, frame: Frame) -> None:
        op = self.op
        issue = _Issue(frame, op, self.group)
        d_lane, d_column = _split(issue.value(self.d))
        may_be_odd = self.group == 1 and self.m == LANES // 2
        if d_lane not in ((0, HALF_QUARTER) if may_be_odd else (0,)):
            raise frame.problem(
                "tensor memory",
                f"the accumulator of nv.tcgen05.mma starts at lane {d_lane}, "
                f"expected 0{' or 16' if may_be_odd else ''}",
            )
        adds = self.use_acc is None or bool(issue.value(self.use_acc))
        a_value = issue.value(self.a)
        size = self.a_type.itemsize
        a_addresses = None
        if not op.a_in_tensor_memory:
            k_major = op.transposed_a is None
            a_addresses = operand_addresses(
                frame, a_value, self.rows, self.k, 8 * size, k_major, op.name
            )
            a_addresses = self._in_bytes(a_addresses, 0)
        b_addresses = operand_addresses(
            frame,
            issue.value(self.b),
            self.n // self.group,
            self.k,
            8 * self.b_type.itemsize,
            op.transposed_b is None,
            op.name,
        )
        b_addresses = self._in_bytes(b_addresses, 1)
        scales = [issue.value(each) for each in self.scales]
        ids = [issue.value(each) for each in self.ids] or [0, 0]
        for cta in range(self.group):
            if a_addresses is not None:
                issue.reads_shared(cta, a_addresses, size)
            else:
                issue.reads(cta, self._a_cells(a_value), "the operand A of tcgen05.mma reads")
            issue.reads_shared(cta, b_addresses, self.b_type.itemsize)
            for side, address in enumerate(scales):
                cells = self._scale_cells(frame, side, address)
                issue.reads(cta, cells, "scales of tcgen05.mma: it reads")
            lanes = self.location[1][self.location[0] == cta] + d_lane
            cells = Cells.of_lanes(lanes, d_column, self.columns)
            if adds:
                issue.reads(cta, cells, "the accumulator of tcgen05.mma:")
            issue.writes(cta, cells, "tcgen05.mma writes")

        blocks, memories = issue.blocks, issue.memories
        d_location = self.location[0], self.location[1] + d_lane, self.location[2] + d_column

        def finish() -> None:
            b = np.concatenate([self._elements(each, b_addresses, 1) for each in blocks])
            b = as_read(as_signed(b, op.unsigned_b)).astype(self._wide)
            if scales:
                b = b * self._factors(memories[0], scales[1], ids[1], self.n)[:, None]
            held = self._held(memories, d_location)
            c = self._unpacked(held) if adds else np.zeros((self.m, self.n), self.d_type)
            results: list[Any] = []
            step = self.n // self.halves
            for half in range(self.halves):
                a = self._a(blocks, memories, a_addresses, a_value, half)
                if scales:
                    factors = [self._factors(m, scales[0], ids[0], self.rows) for m in memories]
                    a = a * np.concatenate(factors)[:, None]
                part = slice(half * step, (half + 1) * step)
                results.append(multiply(a, b[part].T, c[:, part]))
            self._put(memories, d_location, np.concatenate(results, axis=1))

        issue.start("tcgen05.mma", finish)

    @property
    def _wide(self) -> Any:
        return np.int32 if self.d_type.kind == "i" else np.float32

    def _in_bytes(self, addresses: Any, side: int) -> Any:
        """Where the elements of an operand are: those of 4 bits share bytes."""
        inside: Any = np.arange(int(addresses.shape[1])) % _EXPANDED
        return addresses - inside + inside // 2 if self.is_expanded[side] else addresses

    def _elements(self, block: BlockRun, addresses: Any, side: int) -> Any:
        """An operand in shared memory, [rows along M or N, depth]."""
        if not self.is_expanded[side]:
            return elements(block.arena, addresses, (self.a_type, self.b_type)[side])
        bytes_: Any = elements(block.arena, addresses, np.dtype(np.uint8))
        shifts: Any = (np.arange(int(addresses.shape[1])) % 2 * 4).astype(np.uint8)
        return (bytes_ >> shifts & 15).view(ml_dtypes.float4_e2m1fn)

    # -- operand A -----------------------------------------------------------------------------

    def _a_columns(self) -> int:
        return self.k * self.a_type.itemsize // 4

    def _a_cells(self, address: int) -> Cells:
        lane, column = _split(address)
        lanes = self.a_lanes + lane
        if self.halves == 2:
            lanes = np.concatenate([lanes, lanes + LANES // 2])
        return Cells.of_lanes(lanes % LANES, column, self._a_columns())

    def _a(
        self,
        blocks: Sequence[BlockRun],
        memories: Sequence[TensorMemory],
        addresses: Any,
        address: int,
        half: int,
    ) -> Any:
        """All rows of A, as the lanes of one half of D see them."""
        parts: list[Any] = []
        for block, memory in zip(blocks, memories, strict=True):
            if addresses is not None:
                parts.append(self._elements(block, addresses, 0))
                continue
            lane, column = _split(address)
            lanes = self.a_lanes + lane + half * (LANES // 2)
            bits = memory.contents[lanes, column : column + self._a_columns()]
            parts.append(np.ascontiguousarray(bits).view(self.a_type))
        values = as_signed(np.concatenate(parts), self.op.unsigned_a)
        return as_read(values).astype(self._wide)

    # -- scales --------------------------------------------------------------------------------

    def _scale_cells(self, frame: Frame, side: int, address: int) -> Cells:
        lane, column = _split(address)
        if lane:
            raise frame.problem(
                "tensor memory", f"scales of nv.tcgen05.mma start at lane {lane}, expected 0"
            )
        rows = self.n if side else self.rows
        return Cells.of_lanes(np.arange(LANES), column, -(-rows // SCALE_ROWS))

    def _factors(self, memory: TensorMemory, address: int, id: int, rows: int) -> Any:
        """The factors of rows, from bytes of tensor memory."""
        _, column = _split(address)
        row = np.arange(rows)
        quarters = memory.contents.reshape(LANES // QUARTER, QUARTER, COLUMNS)
        found = quarters[:, row % SCALE_ROWS, column + row // SCALE_ROWS] >> np.uint32(8 * id) & 255
        if (found != found[0]).any():
            raise self._problem_of_quarters(row[(found != found[0]).any(axis=0)])
        factors = np.ldexp(np.float32(1), found[0].astype(np.int32) - _E8M0_BIAS)
        return np.where(found[0] == _E8M0_NAN, np.float32(np.nan), factors).astype(np.float32)

    def _problem_of_quarters(self, rows: Any) -> Exception:
        return SimtRuntimeFault(
            "tensor memory",
            f"the four quarters of tensor memory hold different scales of row {int(rows[0])}: "
            "scales must be copied to all of them (nv.tcgen05.cp of shape 32x128b)",
            self.op,
        )

    # -- D -------------------------------------------------------------------------------------

    def _held(self, memories: Sequence[TensorMemory], location: tuple[Any, Any, Any]) -> Any:
        cta, lane, column = location
        found = memories[0].contents[lane, column]
        for rank in range(1, len(memories)):
            found = np.where(cta == rank, memories[rank].contents[lane, column], found)
        return found

    def _unpacked(self, bits: Any) -> Any:
        if self.d_type.itemsize == 2:
            return bits.astype(np.uint16).view(self.d_type)
        return bits.view(self.d_type)

    def _put(
        self, memories: Sequence[TensorMemory], location: tuple[Any, Any, Any], values: Any
    ) -> None:
        values = np.ascontiguousarray(values.astype(self.d_type))
        bits = values.view(np.uint16 if self.d_type.itemsize == 2 else np.uint32)
        cta, lane, column = location
        for rank, memory in enumerate(memories):
            own = cta == rank
            memory.contents[lane[own], column[own]] = bits[own]


def _mma(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, Tcgen05MmaOp)
    return _Mma(compiler, op).issue


# -- copies ------------------------------------------------------------------------------------


def _cp(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, Tcgen05CpOp)
    source, target = compiler.slot(op.src), compiler.slot(op.address)
    rows, columns = op.extent
    group = op.group.value.data

    def act(frame: Frame) -> None:
        issue = _Issue(frame, op, group)
        value = issue.value(source)
        lane, column = _split(issue.value(target))
        if lane:
            raise frame.problem("tensor memory", f"nv.tcgen05.cp starts at lane {lane}, expected 0")
        addresses = operand_addresses(frame, value, rows, columns, 32, True, op.name)
        cells = Cells.of_lanes(np.arange(LANES), column, columns)
        for cta in range(group):
            issue.reads_shared(cta, addresses, 4)
            issue.writes(cta, cells, "tcgen05.cp writes")

        def finish() -> None:
            for block, memory in zip(issue.blocks, issue.memories, strict=True):
                bits = elements(block.arena, addresses, np.dtype(np.uint32))
                copies = np.tile(bits, (LANES // rows, 1))
                memory.contents[:, column : column + columns] = copies

        issue.start("tcgen05.cp", finish)

    return act


# -- commit and fences -------------------------------------------------------------------------


def _commit(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, Tcgen05CommitOp)
    where, at = compiler.slot(op.barrier), compiler.slot(op.index)
    receivers = None if op.multicast is None else compiler.slot(op.multicast)
    group = op.group.value.data

    def act(frame: Frame) -> None:
        leader = frame.leader(op.name)
        block = frame.block
        own = target_barrier(frame, where, at, leader)
        targets: list[tuple[int, PhaseBarrier]] = [(block.rank, own)]
        if receivers is not None:
            mask = int(frame.wide(frame.env[receivers])[leader])
            slot = int(frame.wide(frame.env[at])[leader])
            buffer = frame.env[where]
            targets = [
                (rank, barrier_of_block(frame, buffer, slot, rank))
                for rank in range(len(block.cluster))
                if mask >> rank & 1
            ]
        thread = int(frame.tids[leader])
        signal = frame.signal_of(leader)
        for each in _pair(frame, group, op.name):
            memory: TensorMemory = each.tensor_memory
            agent, time = memory.issued(thread, is_local=each is block)
            agent += 0 if each is block else block.clocks.foreign(block.rank, each.rank)
            signal.observed[agent] = max(int(signal.observed[agent]), time)

        def finish() -> None:
            for rank, barrier in targets:
                barrier.signal(block.clocks.forwarded(signal, block.rank, rank))
                try:
                    barrier.arrive(1)
                except BarrierMisuse as error:
                    raise frame.problem("barrier", str(error)) from error

        operation = Pending("tcgen05.commit", finish, op, frame.name)
        block.machine.issue(_unit(frame), operation, in_order=True)

    return act


def _fence(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, Tcgen05FenceOp)
    is_before = op.side.data == "before"

    def act(frame: Frame) -> None:
        memory = frame.block.tensor_memory
        if memory is None:
            return
        warps = frame.active_warps
        if is_before:
            memory.fence_before(warps)
        else:
            memory.fence_after(warps)

    return act


def _matrix(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, Tcgen05MatrixOp)
    return matrix_rule(compiler, op, encode_matrix, "tcgen05")


RULES: Mapping[str, Rule] = {
    "nv.tcgen05.matrix": _matrix,
    "nv.tcgen05.mma": _mma,
    "nv.tcgen05.cp": _cp,
    "nv.tcgen05.commit": _commit,
    "nv.tcgen05.fence": _fence,
}
