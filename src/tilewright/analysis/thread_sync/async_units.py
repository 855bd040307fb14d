"""TMA and the tensor cores: their reads and writes, and the warps that issue them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FixedBitwidthType
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.analysis.concurrency import Groups
from tilewright.analysis.thread_sync.arena import BufferSpan, bits_of_elements
from tilewright.analysis.thread_sync.clocks import GROUP
from tilewright.analysis.thread_sync.faults import (
    FaultError,
    FaultKind,
    NotAnalysedError,
    SyncFault,
)
from tilewright.analysis.thread_sync.program import Act, Compiler, Rule
from tilewright.analysis.thread_sync.registers import InFlightMma, check_fenced
from tilewright.analysis.thread_sync.shadow import ShadowMemory
from tilewright.analysis.thread_sync.state import BlockState, Frame, distinct
from tilewright.analysis.thread_sync.sync import barrier_at
from tilewright.analysis.thread_sync.thread_accesses import CODE
from tilewright.analysis.thread_sync.threads import address_of, span_of
from tilewright.analysis.thread_sync.values import Value
from tilewright.dialects.func import FuncOp
from tilewright.dialects.nv.launch_control import ClcTryCancelOp
from tilewright.dialects.nv.matrix import MatrixDescriptorOp, WgmmaOp
from tilewright.dialects.nv.tma import (
    BulkLoadOp,
    BulkOp,
    TensorMapOp,
    TmaLoadOp,
    TmaStoreBase,
)
from tilewright.dialects.simt.across import LaunchOp
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.descriptors import MatrixDescriptor, read_address
from tilewright.layouts.hardware.swizzle import UNIT_BYTES

_RESPONSE_BYTES = 16
"""What cluster launch control writes."""
_PATTERN = 1024
"""Bytes after which every swizzle repeats."""


# -- TMA ---------------------------------------------------------------------------------------


def _tile_bytes(op: Operation, map: SSAValue) -> int:
    """The bytes of one box of a tensor map, which the host encodes."""
    made = _map_of(map)
    if made is None:
        raise NotAnalysedError(op, "the definition of the tensor map is not visible")
    return int(np.prod(made.extents)) * bit_width(element_type_of(made.tensor.type)) // 8


def _completed_bytes(map: SSAValue, size: int) -> int:
    """What a load of so many bytes of shared memory completes: those of the tensor."""
    made = _map_of(map)
    return size // 2 if made is not None and made.expands is not None else size


def _map_of(map: SSAValue) -> TensorMapOp | None:
    """The op that encodes a map; for an argument of a kernel, that of its launch."""
    owner = map.owner
    if isinstance(owner, TensorMapOp):
        return owner
    function = owner.parent_op() if not isinstance(owner, Operation) else None
    if not isinstance(map, BlockArgument) or not isinstance(function, FuncOp):
        return None
    module = function.parent_op()
    for op in () if module is None else walk(module):
        if isinstance(op, LaunchOp) and op.kernel.root_reference.data == function.sym_name.data:
            return _map_of(op.arguments[map.index])
    return None


def _issuer(frame: Frame, op: Operation) -> int | None:
    """The position of the thread that issues a copy; None where it is unknown."""
    leader = frame.leader()
    if frame.is_unsure:
        return None
    if leader is None:
        text = f"{frame.active_count} threads issue a TMA copy, expected 1"
        raise FaultError(SyncFault(FaultKind.COUNT, op, text))
    return leader


def of_leader(value: Value, leader: int) -> Value:
    return value if value is None or isinstance(value, int) else int(value[leader])


def _load(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, TmaLoadOp | BulkLoadOp | ClcTryCancelOp)
    dst, dst_index = _destination(op)
    region, span = span_of(compiler, dst)
    address = address_of(compiler, dst, [dst_index])
    at, buffer = compiler.slot(op.barrier_index), op.barrier
    receivers = completed = None
    if isinstance(op, TmaLoadOp):
        size = _tile_bytes(op, op.map)
        completed = _completed_bytes(op.map, size)
        receivers = None if op.multicast is None else compiler.slot(op.multicast)
    elif isinstance(op, BulkLoadOp):
        size = op.elements.value.data * bits_of_elements(op.dst) // 8
    else:
        size = _RESPONSE_BYTES

    def act(frame: Frame) -> None:
        leader = _issuer(frame, op)
        if leader is None:
            return
        start, index = of_leader(address(frame), leader), of_leader(frame.env[at], leader)
        if start is None or index is None:
            raise NotAnalysedError(op, "the destination of the copy is a run-time value")
        mask = None if receivers is None else of_leader(frame.env[receivers], leader)
        if isinstance(op, ClcTryCancelOp) and op.multicast is not None:
            mask = (1 << len(frame.block.cluster)) - 1
        for block in _receivers(frame, mask):
            target = region, span, start, size
            _start_load(frame, op, block, target, (buffer, index), leader, completed)

    return act


def _destination(op: TmaLoadOp | BulkLoadOp | ClcTryCancelOp) -> tuple[SSAValue, SSAValue]:
    """The buffer in shared memory that an op writes, and the element where it begins."""
    if isinstance(op, ClcTryCancelOp):
        return op.result_buffer, op.result_index
    return op.dst, op.dst_index


def _receivers(frame: Frame, mask: int | None) -> list[BlockState]:
    """The blocks that receive a tile."""
    if mask is None:
        return [frame.block]
    return [block for rank, block in enumerate(frame.block.cluster) if mask >> rank & 1]


def _start_load(
    frame: Frame,
    op: Operation,
    block: BlockState,
    target: tuple[int, BufferSpan, int, int],
    barrier_ref: tuple[SSAValue, int],
    leader: int,
    completed: int | None,
) -> None:
    """Start a load to bytes of shared memory; `completed` of them are counted, all by default."""
    region, span, start, size = target
    # A pair's loads report to the leading block.
    is_pair = isinstance(op, TmaLoadOp) and op.pair is not None
    receiver = block.cluster[block.rank - block.rank % 2] if is_pair else block
    barrier = barrier_at(frame, op, *barrier_ref, receiver)
    if not barrier.is_fenced:
        raise FaultError(
            SyncFault(
                FaultKind.FENCE,
                op,
                f"no fence after the initialisation of {barrier.name}: it may not be visible to "
                "TMA (async proxy)",
                ((barrier.op, "initialised here"),),
            )
        )
    frame.flush()
    history = block.regions[region]
    cells = _run(start, size, history.cell_bytes) - history.origin
    access = frame.by_engine(op, region, span, cells, block)
    agent, time = block.clocks.next_load()
    # Only in kernels with tensor memory are clocks forwarded: else only the arrival is ordered.
    is_here = block is frame.block
    warp = int(frame.codes[leader]) // CODE
    issuer = frame.clocks.forwarded(frame.clocks.of_warp(warp), frame.block.rank, block.rank)
    if access is not None and (is_here or frame.clocks.blocks > 1):
        history.write_by_engine(access, agent, time, issuer)
    elif access is not None:
        history.mark_by_engine(access, agent, time)
    issuer.observed[agent] = time
    barrier.add_signal(block.clocks.forwarded(issuer, block.rank, receiver.rank))
    barrier.complete_by(op, size if completed is None else completed)


def _run(start: int, size: int, cell_bytes: int) -> Any:
    return np.arange(start // cell_bytes, -(-(start + size) // cell_bytes))


@dataclass(frozen=True)
class _Store:
    """A bulk store in flight."""

    op: Operation
    agent: int
    time: int


def _store(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, TmaStoreBase | BulkOp)
    region, span = span_of(compiler, op.src)
    address = address_of(compiler, op.src, [op.src_index])
    if isinstance(op, TmaStoreBase):
        size = _tile_bytes(op, op.map)
    else:
        size = op.elements.value.data * bits_of_elements(op.src) // 8

    def act(frame: Frame) -> None:
        leader = _issuer(frame, op)
        start = None if leader is None else of_leader(address(frame), leader)
        if leader is None or start is None:
            return
        frame.flush()
        thread = int(frame.codes[leader])
        history, warp = frame.block.regions[region], thread // CODE
        cells = _run(start, size, history.cell_bytes) - history.origin
        agent = 2 * frame.clocks.warps + warp
        store = _Store(op, agent, frame.clocks.tick(agent))
        access = frame.by_engine(op, region, span, cells)
        if access is not None:
            history.read_by_engine(access, agent, store.time, frame.clocks.of_warp(warp), thread)
        groups = frame.stores.get(thread)
        if groups is None:
            groups = frame.stores[thread] = Groups[Any]()
            frame.block.stores.append(groups)
        groups.open.append(store)

    return act


# -- tensor cores ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Operand:
    """An operand of an MMA in shared memory."""

    region: int
    span: BufferSpan
    start: Value
    leading: int
    stride: int
    swizzle: int


def matrix(compiler: Compiler, op: Operation) -> Act:
    """A descriptor of an operand."""
    assert isinstance(op, MatrixDescriptorOp)
    region, span = span_of(compiler, op.buffer)
    address, result = address_of(compiler, op.buffer, [op.index]), compiler.slot(op.result)
    swizzle, leading, stride = (each.value.data for each in (op.swizzle, op.leading, op.stride))
    advance = op.advance_bytes

    def act(frame: Frame) -> None:
        start = address(frame)
        start = None if start is None else start + advance
        frame.env[result] = Operand(region, span, start, leading, stride, swizzle)

    return act


def cells_of(
    side: Operand,
    start: int,
    shape: tuple[int, int],
    bits: int,
    k_major: bool,
    history: ShadowMemory,
) -> Any:
    """The cells of an operand of an MMA in a region of shared memory."""
    rest = start % _PATTERN
    cells = _operand_cells(
        *(rest, side.leading, side.stride, side.swizzle),
        *(shape, bits, k_major, history.cell_bytes),
    )
    return cells + ((start - rest) // history.cell_bytes - history.origin)


@cache
def _operand_cells(
    start: int,
    leading: int,
    stride: int,
    swizzle: int,
    shape: tuple[int, int],
    bits: int,
    k_major: bool,
    cell_bytes: int,
) -> Any:
    """Cells of an operand that begins in the first bytes of shared memory."""
    along, depth = np.indices(shape)
    descriptor = MatrixDescriptor(start, leading, stride, swizzle)
    address: Any = read_address  # its formulas hold for arrays as for integers
    where = address(descriptor, along, depth, bits, k_major)
    return distinct(where // cell_bytes)


def _wgmma(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, WgmmaOp)
    a, b = compiler.slot(op.a), compiler.slot(op.b)
    m, n, k = op.mnk
    assert isinstance(op.a_type, FixedBitwidthType) and isinstance(op.b_type, FixedBitwidthType)
    sides = [(b, (n, k), op.b_type.bitwidth, op.transposed_b is None)]
    taken = None
    if op.a_index is None:
        sides.append((a, (m, k), op.a_type.bitwidth, op.transposed_a is None))
    else:
        taken = op.a

    def act(frame: Frame) -> None:
        frame.flush()
        accumulator = check_fenced(frame, op.acc, op)
        operand = None if taken is None else check_fenced(frame, taken, op)
        for first in frame.groups():
            agent = frame.clocks.warps + first
            mma = InFlightMma(accumulator, operand, first, agent, frame.clocks.tick(agent))
            issuer = frame.clocks.common(slice(first, min(first + GROUP, frame.clocks.warps)))
            for slot, shape, bits, k_major in sides:
                side: Operand | None = frame.env[slot]
                start = None if side is None else frame.value_of_group(side.start, first)
                if side is None or start is None or start % UNIT_BYTES:
                    continue
                history = frame.block.regions[side.region]
                cells = cells_of(side, start, shape, bits, k_major, history)
                access = frame.by_engine(op, side.region, side.span, cells)
                if access is not None:
                    history.read_by_engine(access, agent, mma.time, issuer, None)
            mma.start(op)
            frame.mmas.open.append(mma)

    return act


def _loads(op: Operation) -> list[SSAValue]:
    assert isinstance(op, TmaLoadOp | BulkLoadOp | ClcTryCancelOp)
    found = [_destination(op)[1], op.barrier_index]
    if isinstance(op, TmaLoadOp) and op.multicast is not None:
        found.append(op.multicast)
    return found


def _stores(op: Operation) -> list[SSAValue]:
    assert isinstance(op, TmaStoreBase | BulkOp)
    return [op.src_index]


def _operands(op: Operation) -> list[SSAValue]:
    assert isinstance(op, WgmmaOp)
    return [op.b] if op.a_index is not None else [op.a, op.b]


RULES: Mapping[str, Rule] = {
    "nv.tma_load": Rule(_loads, _load),
    "nv.bulk_load": Rule(_loads, _load),
    "nv.clc.try_cancel": Rule(_loads, _load),
    "nv.tma_store": Rule(_stores, _store),
    "nv.tma_reduce": Rule(_stores, _store),
    "nv.bulk_store": Rule(_stores, _store),
    "nv.matrix": Rule(lambda op: op.operands[1:], matrix, lambda op: False),
    "nv.wgmma": Rule(_operands, _wgmma),
}
