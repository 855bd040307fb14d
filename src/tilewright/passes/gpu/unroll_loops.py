"""`unroll-loops`: loops over registers are unrolled, and unrolling of long loops is limited.

    for i in T.serial(8): L[i] = 0      ->    #pragma unroll, so that L stays in registers
    for i in T.serial(8): f(A[i])       ->    #pragma unroll, so that loads overlap
    for i in T.unroll(100_000): ...     ->    #pragma unroll 4096, and a remark
    for k in T.serial(n): wgmma ...     ->    #pragma unroll 1

Registers have no addresses: an array of them needs indices that are constant once loops are
unrolled, so a loop with known bounds that counts such an index is marked for it, unless the user
chose otherwise. So is a short loop that loads from memory and in which threads do not synchronise:
rolled, every iteration waits for its own loads. A loop that gathers, which copies from addresses
that it loads, is unrolled even if threads synchronise in it. A long loop that only reads a few
bytes of tensors in each iteration is unrolled by eight. A mark requests full unrolling by the
CUDA compiler; for a loop of very many ops that would take minutes, so there the mark becomes a
factor, unless registers are at stake (docs/design/passes.md#unrolling). Loops that the user wants
unrolled explicitly were expanded before tiles were scheduled.

A loop of warp-group MMAs that is not marked stays a loop: unrolled, the descriptors of all its
iterations are computed before it, more than there are uniform registers, from which an MMA takes
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr, i64
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import AsyncMoveOp, WgmmaOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.simt import MoveOp
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import AtomicOp, Space, names, space_of
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_trip_count
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk

LIMITED = "TW3020"
_MAX_OPS = 1 << 13
"""Ops that one loop, and what is in it, may become."""
_MAX_WAITING_OPS = 1 << 10
"""Ops that a loop in which threads wait may become, if it cannot be unrolled fully: little is
gained by then, and an iteration of a role that persists is hundreds of instructions."""
_WAITING = frozenset(("gpu.barrier", "nv.mbarrier.wait", "scf.while"))

_SHORT, _MAX_SHORT = 8, 1 << 11
"""Iterations of a loop that is unrolled for its loads, and ops that it may become."""
_STREAM_BYTES = 32
"""The most that an iteration of a loop loads that is unrolled by eight: 64 registers."""
_SYNCHRONISING = ("gpu.barrier", "nv.", "amd.", "tile.sync", "scf.while")
_ALONE = frozenset({"nv.red_add", "nv.load", "nv.store"})
"""Ops of a single thread among them."""
_COMPUTING = ("nv.mma", "nv.wgmma", "nv.ldmatrix", "nv.tma", "nv.mbarrier", "scf.while")
"""What a loop does that is more than copying."""


@dataclass(frozen=True)
class UnrollLoops(Pass):
    """Mark loops over registers for unrolling, and bound what is unrolled."""

    name = "unroll-loops"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in walk(module):
            if not isinstance(op, ForOp):
                continue
            trip_count = trip_count_of(op)
            if names.UNROLL_FACTOR in op.attributes:
                continue
            if names.UNROLL not in op.attributes and any(isinstance(i, WgmmaOp) for i in walk(op)):
                op.attributes[names.UNROLL_FACTOR] = IntegerAttr(1, i64)
            elif trip_count is None:
                continue
            elif names.UNROLL in op.attributes:
                _bound(op, trip_count, engine)
            elif _is_worth_it(op, trip_count):
                op.attributes[names.UNROLL] = UnitAttr()
        for op in walk(module):  # what is in a loop has been marked by now
            if isinstance(op, ForOp) and _is_stream(op):
                op.attributes[names.UNROLL_FACTOR] = IntegerAttr(_SHORT, i64)


def _is_worth_it(loop: ForOp, trip_count: int) -> bool:
    """Whether a loop that is not marked had better be unrolled."""
    size = trip_count * _size(loop)
    if size <= _MAX_OPS and _counts_registers(loop):
        return True
    is_short = trip_count <= _SHORT and size <= _MAX_SHORT
    if not is_short or amd_chip_of(loop) is not None:  # LLVM unrolls by itself
        return False
    return _may_overlap(loop) or _gathers(loop)


def trip_count_of(loop: ForOp) -> int | None:
    """The trip count of a loop, if it is known."""
    return constant_trip_count(loop.lower_bound, loop.upper_bound, loop.step)


def _size(loop: ForOp) -> int:
    """The ops of one iteration, inner loops unrolled where they are marked."""
    total = 0
    for op in loop.body.block.ops:
        total += _written_out(op)
    return max(total, 1)


def _written_out(op: Operation) -> int:
    bodies = [region.block.ops for region in op.regions if region.blocks]
    inner = 1 + sum(_written_out(each) for body in bodies for each in body)
    if not isinstance(op, ForOp) or names.UNROLL not in op.attributes:
        return inner
    return inner * max(trip_count_of(op) or 1, 1)


def _bound(loop: ForOp, trip_count: int, engine: DiagnosticEngine) -> None:
    size = _size(loop)
    if trip_count * size <= _MAX_OPS or _accesses_registers(loop):
        return
    limit = _MAX_WAITING_OPS if any(op.name in _WAITING for op in walk(loop)) else _MAX_OPS
    factor = 1
    while factor * 2 * size <= limit and factor * 2 < trip_count:
        factor *= 2
    del loop.attributes[names.UNROLL]
    loop.attributes[names.UNROLL_FACTOR] = IntegerAttr(factor, i64)
    engine.remark(
        loop,
        f"loop not fully unrolled: unroll factor {factor} used for trip count "
        f"{trip_count}; full unrolling would give {trip_count * size} operations",
        LIMITED,
    )


def _may_overlap(loop: ForOp) -> bool:
    """Whether the loop loads from memory, and loads of all iterations may be in flight at once."""
    is_loading = False
    for op in loop.body.walk():
        if op.name.startswith(_SYNCHRONISING) and op.name not in _ALONE:
            return False
        if isinstance(op, ForOp) and names.UNROLL not in op.attributes:
            return False
        is_loading |= isinstance(op, LoadOp | MoveOp) and _is_memory(op.operands[0])
    return is_loading


def _gathers(loop: ForOp) -> bool:
    """Whether the loop loads from tensors and starts copies: the addresses may be what it loads.

    Loads of tensors that the kernel does not write pass barriers: those of all iterations come
    first.
    """
    is_loading = is_copying = False
    for op in loop.body.walk():
        if op.name.startswith(_COMPUTING):
            return False
        is_copying |= isinstance(op, AsyncMoveOp)
        is_loading |= isinstance(op, LoadOp) and space_of(op.memref.type) is Space.GLOBAL
    return is_loading and is_copying


def _is_stream(loop: ForOp) -> bool:
    """Whether a long loop that is not marked does little more than to read tensors.

    The loads of eight iterations are then in flight at once. Their results stay in registers.
    """
    trip_count = trip_count_of(loop)
    marks = (names.UNROLL, names.UNROLL_FACTOR)
    if any(each in loop.attributes for each in marks) or amd_chip_of(loop) is not None:
        return False
    if trip_count is None or trip_count <= _SHORT or trip_count % _SHORT:
        return False
    ops = list(loop.body.walk())
    if any(_writes_memory(op) or op.name.startswith(_SYNCHRONISING) for op in ops):
        return False
    if any(isinstance(op, ForOp) and names.UNROLL not in op.attributes for op in ops):
        return False
    loaded = sum(map(_bytes_loaded, ops))
    return 0 < loaded <= _STREAM_BYTES and _SHORT * _size(loop) <= _MAX_SHORT


def _writes_memory(op: Operation) -> bool:
    target = op.operands[1] if isinstance(op, StoreOp | MoveOp) else None
    return isinstance(op, AtomicOp) or (target is not None and _is_memory(target))


def _bytes_loaded(op: Operation) -> int:
    """What one run of an op loads from tensors; far too much in a loop or in a branch."""
    if not isinstance(op, LoadOp | MoveOp) or space_of(op.operands[0].type) is not Space.GLOBAL:
        return 0
    around = op.parent_op()
    if not isinstance(around, ForOp) or names.UNROLL in around.attributes:
        return _STREAM_BYTES + 1
    lanes = op.lanes.value.data if isinstance(op, MoveOp) else 1
    return -(-lanes * bit_width(element_type_of(op.operands[0].type)) // 8)


def _is_memory(buffer: SSAValue) -> bool:
    space = space_of(buffer.type)
    return space is Space.GLOBAL or (space is not None and space.is_shared)


def _counts_registers(loop: ForOp) -> bool:
    """Whether the variable of a loop is part of an index of an array of registers."""
    variables = _derived(loop.body.block.args[0])
    for op in loop.body.walk():
        if not isinstance(op, LoadOp | StoreOp) or space_of(op.memref.type) is not Space.LOCAL:
            continue
        if any(index in variables for index in op.indices):
            return True
    return False


def _accesses_registers(loop: ForOp) -> bool:
    return any(
        space_of(operand.type) is Space.LOCAL for op in loop.body.walk() for operand in op.operands
    )


def _derived(value: SSAValue) -> set[SSAValue]:
    """`value`, and the numbers that are computed from it."""
    found: set[SSAValue] = set()
    stack = [value]
    while stack:
        current = stack.pop()
        if current in found:
            continue
        found.add(current)
        stack += _results(current)
    return found


def _results(value: SSAValue) -> Iterator[SSAValue]:
    for use in value.uses:
        if use.operation.name.startswith("arith."):
            yield from use.operation.results
