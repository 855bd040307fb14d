"""What the blocks of a kernel take of a multiprocessor, and whether they can have more.

By default the bytes of all shared buffers are added, whatever may overlap later. For one loop only
those count that may be in use while it runs: not the buffer that stages the results after it. Of
fragments that one loop uses, those of the loop with the most count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.lifetimes.array_peaks import sequence_bits
from tilewright.dialects.func import FuncOp
from tilewright.dialects.tile import AllocOp, KernelOp, PipelineOp, Space, TargetAttr
from tilewright.dialects.type_utils import bit_width, num_elements
from tilewright.ir.traversal import walk
from tilewright.memory.multiprocessors import MULTIPROCESSORS, REGISTERS
from tilewright.memory.targets import target_named
from tilewright.passes.tile.bind_target import TARGET

_SPARE_BYTES = 1024
"""For barriers and alignment."""
_OTHER_REGISTERS = 32
"""Registers of a thread beside its fragments."""
_PRODUCER_REGISTERS = 24
_REGISTER_BITS, _BYTE_BITS = 32, 8


@dataclass(frozen=True)
class Capacity:
    """What a block takes, and how many of them share a multiprocessor."""

    arch: int
    threads: int
    bytes: int
    blocks: int
    """Blocks that share one now, as far as registers and the grid let them."""

    @staticmethod
    def of(
        kernel: KernelOp,
        versions: Mapping[SSAValue, int],
        producers: int,
        loop: PipelineOp | None = None,
    ) -> Capacity:
        """The capacity with so many versions of each buffer; while `loop` runs, if one is given."""
        consumers = kernel.num_threads or 0
        shared = after = 0
        fragments: dict[SSAValue, int] = {}
        for op in walk(kernel):
            if not isinstance(op, AllocOp):
                continue
            if op.space is Space.FRAGMENT:
                fragments[op.result] = bytes_of(op.result) * _BYTE_BITS
            elif op.space is Space.SHARED:
                size = bytes_of(op.result) * versions.get(op.result, 1)
                if loop is not None and _is_free_until_end(op, loop):
                    after += size
                else:
                    shared += size
        arch = arch_of(kernel)
        threads = consumers + producers
        bits = sequence_bits(kernel.body, fragments)
        registers = bits // _REGISTER_BITS + _OTHER_REGISTERS * consumers
        blocks = REGISTERS // (registers + _PRODUCER_REGISTERS * producers)
        needed = max(shared, after) + _SPARE_BYTES
        blocks = min(blocks, MULTIPROCESSORS[arch].blocks_of(threads, needed))
        if all(isinstance(each, int) for each in kernel.grid):
            grid = prod(each for each in kernel.grid if isinstance(each, int))
            blocks = min(blocks, -(-grid // MULTIPROCESSORS[arch].count))
        return Capacity(arch, threads, shared + _SPARE_BYTES, blocks)

    def has(self, more: int) -> bool:
        """Whether every block can have so many bytes more."""
        if self.bytes + more > target_named(f"sm_{self.arch}").smem_bytes:
            return False
        return MULTIPROCESSORS[self.arch].blocks_of(self.threads, self.bytes + more) >= self.blocks


def bytes_of(buffer: SSAValue) -> int:
    return num_elements(buffer.type) * bit_width(buffer.type) // _BYTE_BITS


def arch_of(kernel: KernelOp) -> int:
    """The number in ``sm_90a``; 0 for what is not NVIDIA's."""
    function = kernel.parent_op()
    bound = function.attributes.get(TARGET) if isinstance(function, FuncOp) else None
    if not isinstance(bound, TargetAttr) or bound.data.kind != "cuda":
        return 0
    digits = "".join(letter for letter in bound.data.arch or "" if letter.isdigit())
    return int(digits) if digits else 0


def _is_free_until_end(op: AllocOp, loop: PipelineOp) -> bool:
    """Whether the kernel, which runs `loop` once, accesses a buffer only after it, if at all."""
    if op.alias is not None or op.offset_bytes is not None:
        return False
    if not isinstance(loop.parent_op(), KernelOp):
        return False
    around = (_beside(use.operation, loop) for use in op.result.uses)
    return all(each is not None and loop.is_before_in_block(each) for each in around)


def _beside(op: Operation, loop: PipelineOp) -> Operation | None:
    """The op of the loop's block that `op` is, or is inside of."""
    current: Operation | None = op
    while current is not None and current.parent is not loop.parent:
        current = current.parent_op()
    return current
