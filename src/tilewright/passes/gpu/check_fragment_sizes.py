"""`check-fragment-sizes`: a fragment that cannot be in registers, however they are used.

A thread of an NVIDIA GPU has at most 255 registers of 32 bits, and a block 65536; on AMD GPUs the
waves of a block share the registers of a few SIMDs. What a fragment takes of each thread is known
once layouts are; a fragment that takes more goes to memory, with every use. The kernel stays right,
so this is a warning, with a change after which it fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import ModuleOp

from tilewright.analysis.layout_inference.scopes import kernels, threads_of
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import AllocOp, KernelOp
from tilewright.dialects.tile.attributes import FragmentAttr
from tilewright.dialects.tile.maps import FragmentMap
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import Chip

TOO_MANY = "TW5011"
REGISTERS, REGISTER_FILE = 255, 65536
"""Of a thread, and of a multiprocessor, which runs a whole block; on all NVIDIA GPUs known here."""
_REGISTER_BITS = 32
_MAX_THREADS = 1024


@dataclass(frozen=True)
class CheckFragmentSizes(Pass):
    """Warn of fragments that take more registers than a thread has."""

    name = "check-fragment-sizes"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            for op in walk(kernel):
                if isinstance(op, AllocOp) and isinstance(op.layout, FragmentAttr):
                    _check(op, op.layout.data, kernel, engine)


def _check(op: AllocOp, map: FragmentMap, kernel: KernelOp, engine: DiagnosticEngine) -> None:
    user = next((use.operation for use in op.result.uses), None)
    if user is None:
        return
    threads = threads_of(user).count
    size = prod(shape_of(op.result.type)) * map.replicate
    registers = -(-size * bit_width(element_type_of(op.result.type)) // _REGISTER_BITS)
    block = kernel.num_threads or threads
    each = -(-registers // threads)
    available = _Available(amd_chip_of(kernel))
    if each <= available.per_thread(block):
        return
    diagnostic = engine.warning(
        op,
        f"fragment '{op.buffer_name}' needs {each} registers per thread ({threads} "
        f"threads), {available.per_thread(block)} available: it will be spilled to "
        f"{available.memory}",
        TOO_MANY,
    )
    fix = _suggest_fix(registers, threads, block - threads, available)
    diagnostic.note(None, f"help: {fix}")


@dataclass(frozen=True)
class _Available:
    """Registers of the target; None is NVIDIA's."""

    chip: Chip | None

    @property
    def memory(self) -> str:
        """Where registers of a thread spill to."""
        return "local memory" if self.chip is None else "scratch memory"

    def per_thread(self, block: int) -> int:
        """What each thread of a block can have."""
        if self.chip is None:
            return min(REGISTERS, REGISTER_FILE // block)
        return self.chip.registers_with(block)


def _suggest_fix(registers: int, threads: int, others: int, available: _Available) -> str:
    """More threads if they have enough together, else a smaller tile."""
    for part in (1, 2, 4, 8):
        count = threads
        while count + others <= _MAX_THREADS:
            # A quarter is for everything else.
            if registers // part <= available.per_thread(count + others) * 3 // 4 * count:
                more = f"threads={count}"
                return more if part == 1 else f"use a tile of 1/{part} of the size with {more}"
            count *= 2
    return "use a smaller tile"
