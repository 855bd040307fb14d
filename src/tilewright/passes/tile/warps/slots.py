"""How many slots the ring buffers of a loop get: ``num_stages``, or more where that is free.

Copies have to be issued about a microsecond before their data is used. ``num_stages`` small tiles
may be less than what arrives in that time, so a loop gets up to four slots, until they hold
`_BYTES_AHEAD`.

On Hopper `sink-wgmma-waits` keeps the GEMM of one iteration in flight while the next begins, and
releases its slot an iteration later. That takes a slot from the copies in flight: with two slots
none is left, and the producer waits for the tensor cores as they wait for it. So such a loop gets
one slot more, and at least `DEFERRED`.

More slots are given only where

* shared memory has space for them beside all other buffers of the kernel,
* as many blocks still share a multiprocessor, as far as their registers and the grid let them, and
* the loop has that many iterations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tile import AllocOp, KernelOp, Space, StorageAliasSpecOp, TargetAttr
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.compute import GemmOp
from tilewright.dialects.tile.interfaces import reads, writes
from tilewright.dialects.type_utils import bit_width, num_elements
from tilewright.ir.traversal import children, walk
from tilewright.memory.multiprocessors import MULTIPROCESSORS, REGISTERS
from tilewright.memory.targets import target_named
from tilewright.passes.tile.bind_target import TARGET
from tilewright.passes.tile.warps.candidates import Candidate

DEFERRED = 4
"""Slots with which deferring a GEMM pays in any case: three copies are still in flight."""
_HOPPER = 90
_BYTES_AHEAD = 64 << 10
"""An H200 reads 36 KB for each multiprocessor in a microsecond, and from the L2 cache more."""
_SPARE_BYTES = 1024
"""For barriers and alignment."""
_OTHER_REGISTERS = 32
"""Registers of a thread beside its fragments."""
_PRODUCER_REGISTERS = 24
_REGISTER_BITS, _BYTE_BITS = 32, 8


def slots_of(candidates: Sequence[Candidate], kernel: KernelOp, producers: int) -> list[int]:
    """The slots of each loop."""
    found = [each.loop.stages for each in candidates]
    if _arch(kernel) != _HOPPER or any(isinstance(op, StorageAliasSpecOp) for op in walk(kernel)):
        return found
    for index, each in enumerate(candidates):
        if found[index] < 2 or not each.groups:  # without a group nothing reads the copies
            continue
        capacity = _Capacity.of(kernel, candidates, found, producers)
        trips = _trip_count(each)
        for slots in _proposed(each):
            more = (slots - found[index]) * _bytes_of_slot(each)
            if (trips is None or slots <= trips) and capacity.has(more):
                found[index] = slots
                break
    return found


def _proposed(candidate: Candidate) -> Iterator[int]:
    """More slots than requested, the best number first."""
    stages = candidate.loop.stages
    if _is_deferred(candidate):
        yield from dict.fromkeys((max(stages + 1, DEFERRED), max(stages, DEFERRED)))
    yield from range(min(DEFERRED, _BYTES_AHEAD // _bytes_of_slot(candidate)), stages, -1)


def _is_deferred(candidate: Candidate) -> bool:
    """Whether the loop's only GEMM may run into the next iteration: nothing else of the loop
    accesses its result, or writes its operands."""
    ops = list(children(candidate.loop))
    gemms = [op for op in ops if isinstance(op, GemmOp)]
    if len(gemms) != 1 or any(op.parent_op() is not candidate.loop for op in gemms):
        return False
    (gemm,) = gemms
    copied = {buffer for group in candidate.groups for buffer in group.buffers}
    issued = {issue.copy.op for group in candidate.groups for issue in group.issues}
    result, operands = base_of(gemm.c), {base_of(gemm.a), base_of(gemm.b)}
    for op in ops:
        if op is gemm or op in issued:
            continue
        written = {region.base for region in writes(op)}
        read = {region.base for region in reads(op)}
        if result in written | read or operands & written:
            return False
    return bool(operands & copied)


@dataclass(frozen=True)
class _Capacity:
    """What the blocks of a kernel take of a multiprocessor."""

    arch: int
    threads: int
    bytes: int
    blocks: int
    """Blocks that share one now, as far as registers and the grid let them."""

    @staticmethod
    def of(
        kernel: KernelOp, candidates: Sequence[Candidate], slots: Sequence[int], producers: int
    ) -> _Capacity:
        versions: dict[SSAValue, int] = {}
        for each, count in zip(candidates, slots, strict=True):
            versions.update({b: count for group in each.groups for b in group.buffers})
        consumers = kernel.num_threads or 0
        shared = fragment_bits = 0
        for op in walk(kernel):
            if not isinstance(op, AllocOp):
                continue
            bits = num_elements(op.result.type) * bit_width(op.result.type)
            if op.space is Space.SHARED:
                shared += bits // _BYTE_BITS * versions.get(op.result, 1)
            elif op.space is Space.FRAGMENT:
                fragment_bits += bits
        arch = _arch(kernel)
        threads = consumers + producers
        bytes = shared + _SPARE_BYTES
        registers = fragment_bits // _REGISTER_BITS + _OTHER_REGISTERS * consumers
        blocks = REGISTERS // (registers + _PRODUCER_REGISTERS * producers)
        blocks = min(blocks, MULTIPROCESSORS[arch].blocks_of(threads, bytes))
        if all(isinstance(each, int) for each in kernel.grid):
            grid = prod(each for each in kernel.grid if isinstance(each, int))
            blocks = min(blocks, -(-grid // MULTIPROCESSORS[arch].count))
        return _Capacity(arch, threads, bytes, blocks)

    def has(self, more: int) -> bool:
        """Whether every block can have so many bytes more."""
        if self.bytes + more > target_named(f"sm_{self.arch}").smem_bytes:
            return False
        return MULTIPROCESSORS[self.arch].blocks_of(self.threads, self.bytes + more) >= self.blocks


def _bytes_of_slot(candidate: Candidate) -> int:
    return sum(
        num_elements(buffer.type) * bit_width(buffer.type) // _BYTE_BITS
        for group in candidate.groups
        for buffer in group.buffers
    )


def _trip_count(candidate: Candidate) -> int | None:
    lower, upper = candidate.loop.lower, candidate.loop.upper
    return upper - lower if isinstance(lower, int) and isinstance(upper, int) else None


def _arch(kernel: KernelOp) -> int:
    """The number in ``sm_90a``; 0 for what is not NVIDIA's."""
    function = kernel.parent_op()
    bound = function.attributes.get(TARGET) if isinstance(function, FuncOp) else None
    if not isinstance(bound, TargetAttr) or bound.data.kind != "cuda":
        return 0
    digits = "".join(letter for letter in bound.data.arch or "" if letter.isdigit())
    return int(digits) if digits else 0
