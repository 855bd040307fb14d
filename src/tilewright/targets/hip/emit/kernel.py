"""One kernel as a source file of its own, for clang and for hiprtc.

    extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(256, 256),
                                         amdgpu_waves_per_eu(2)))
    void gemm_kernel(const _Float16* __restrict__ A, ...) {
      __shared__ __attribute__((aligned(1024))) unsigned char smem[32768];

``__launch_bounds__`` is not enough: clang ignores it and compiles for 1,024 threads. Without a
count of waves clang spreads accumulators over both halves of gfx9's register file and copies
between them. No header is included: hiprtc has none.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from tilewright.dialects.amd import names
from tilewright.dialects.func import FuncOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile.allocs import AllocOp
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import Chip
from tilewright.targets.cxx import kernel as cxx
from tilewright.targets.cxx.emitter import Emitter
from tilewright.targets.cxx.kernel import Source, kernels_of
from tilewright.targets.cxx.memory import alloc
from tilewright.targets.hip.emit import amd_ops, atomics, choices, threads
from tilewright.targets.hip.emit.refresh import HipEmitter, Refresh
from tilewright.targets.hip.header import KEYWORDS, definitions

_ALIGNMENT = 1024
"""Of shared memory in bytes: a multiple of all banks together, so that swizzles hold."""
_HALF_FILE = 256
"""Registers that every instruction of gfx9 can name; the other half holds accumulators alone."""


def _alloc(emitter: Emitter, op: Operation) -> None:
    """A buffer that direct copies write is an array of its own.

    The compiler then sees that reads of other arrays need not wait for the copies.
    """
    assert isinstance(op, AllocOp)
    if names.OWN_ARRAY not in op.attributes:
        alloc(emitter, op)
        return
    type, (size,) = emitter.element(op.result), shape_of(op.result.type)
    name = emitter.name(op.result, "buffer")
    emitter.statement(
        f"__shared__ __attribute__((aligned({_ALIGNMENT}))) {type.name} {name}[{size}];"
    )


RULES = {
    **cxx.RULES,
    **threads.RULES,
    **atomics.RULES,
    **amd_ops.RULES,
    **choices.RULES,
    "tile.alloc": _alloc,
}


def emit_kernel(
    function: FuncOp,
    chip: Chip,
    *,
    comments: bool = True,
    waves_per_simd: int | None = None,
    refresh: Refresh = Refresh.NEVER,
) -> Source:
    """The source of a kernel that `outline-kernels` has made.

    `waves_per_simd` waves must fit into the registers of a SIMD; None for the default. `refresh` is
    where addresses are computed again, which takes fewer registers.
    """
    launch = _Launch.of(function, chip)
    emitter = HipEmitter(
        RULES,
        comments=comments,
        index_bits=cxx.integer_of(function, simt_names.INDEX_BITS, 32),
        threads=launch.threads,
        refresh=refresh,
    )
    parameters = [cxx.parameter(emitter, each) for each in function.body.block.args]
    emitter.body(function.body.block)
    waves = launch.waves_per_simd if waves_per_simd is None else waves_per_simd
    name = function.sym_name.data
    lines = [
        'extern "C" __global__ __attribute__((',
        f"    amdgpu_flat_work_group_size({launch.threads}, {launch.threads}),"
        f" amdgpu_waves_per_eu({waves})))",
        f"void {name}({', '.join(parameters)}) {{",
    ]
    if launch.arena_bytes:
        aligned = f"__attribute__((aligned({_ALIGNMENT})))"
        lines.append(f"  __shared__ {aligned} unsigned char smem[{launch.arena_bytes}];")
    uses = emitter.uses
    parts = [
        KEYWORDS,
        *cxx.user_source(function, emitter),
        definitions(uses.functions, uses.generated, chip),
        "\n".join([*lines, *emitter.lines, "}"]),
    ]
    return Source(name, cxx.joined(parts), launch.threads, launch.shared_bytes)


@dataclass(frozen=True)
class _Launch:
    """Numbers of a kernel."""

    threads: int
    shared_bytes: int
    arena_bytes: int
    """Of `shared_bytes`, those without the arrays of their own."""
    waves_per_simd: int

    @staticmethod
    def of(function: FuncOp, chip: Chip) -> _Launch:
        threads = cxx.integer_of(function, simt_names.THREADS, 2 * chip.wave)
        shared = cxx.integer_of(function, simt_names.SHARED_BYTES, 0)
        own = sum(_bytes(op) for op in walk(function) if _is_own(op))
        blocks = cxx.integer_of(function, simt_names.MIN_BLOCKS, 1)
        waves = -(-threads // chip.wave) * blocks
        # Where half of the registers cannot be named by all instructions, two waves keep to the
        # other half.
        default = max(-(-waves // chip.block_simds), 2 if chip.registers > _HALF_FILE else 1)
        return _Launch(threads, shared, shared - own, default)


def _is_own(op: Operation) -> bool:
    return isinstance(op, AllocOp) and names.OWN_ARRAY in op.attributes


def _bytes(op: Operation) -> int:
    assert isinstance(op, AllocOp)
    (size,) = shape_of(op.result.type)
    return size * max(1, bit_width(element_type_of(op.result.type)) // 8)


__all__ = ["RULES", "Refresh", "emit_kernel", "kernels_of"]
