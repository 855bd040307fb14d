"""`choose-direct-copies`: copies from global memory to LDS that need no registers.

    tile.pipeline num_stages(2) { copy %A[...] -> %As; gemm }
      ->  { copy %A[...] -> %As {amd.direct}; gemm }

On GPUs that copy 16 bytes a lane directly to LDS (gfx950), such copies of pipelined loops are
started an iteration or two before their tile is used; `insert-lds-waits` counts those in flight.
They need no registers and no LDS writes. A wave fills consecutive bytes of LDS, so the swizzle of
the tile is applied to the addresses that lanes read; rows of the tensor have to consist of whole
16-byte chunks, and the tile of whole copies by all waves. Offsets in a tensor have 32 bits.

What does not qualify is staged through registers (`stage-copies`); a remark gives the reason. A
loop has one kind of copies: the hardware counts loads into registers as well, and iterations that
are unrolled for direct copies have no registers left for staged ones.

Targets of direct copies are arrays of their own, one for each version (`expand-pipeline`): the
compiler of the generated code would otherwise wait for all copies before every read of LDS. So
they share no bytes with other buffers, and where they do not fit beside them, a loop has fewer
versions, or no direct copies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, UnitAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.analysis.layout_inference.amd_storage import COLUMNS, contiguous_axes
from tilewright.analysis.layout_inference.scopes import kernels, threads_of
from tilewright.analysis.pipelining import Dependences
from tilewright.analysis.tensors.outside_values import other_than_zero
from tilewright.analysis.tensors.tensor_geometry import row_strides
from tilewright.analysis.threads.thread_dependence import begins_by_thread
from tilewright.analysis.threads.uniformity import comes_together
from tilewright.dialects.amd import names
from tilewright.dialects.amd.moves import MAX_PENDING
from tilewright.dialects.func import FuncOp, argument_attributes
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import AllocOp, CopyOp, KernelOp, PipelineOp
from tilewright.dialects.tile import names as tile_names
from tilewright.dialects.tile.interfaces import writes
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import Chip
from tilewright.memory.units import element_bytes
from tilewright.passes.amd.stage_copies import is_fill, is_pipelined
from tilewright.passes.gpu.narrow_accesses import unaligned
from tilewright.passes.gpu.shared_sizes import bytes_of
from tilewright.passes.tile.naming import buffer_name
from tilewright.passes.tile.tile_regions import part_of

NOT_DIRECT = "TW7504"
COPY_BYTES = 16
"""What a lane copies at once."""
MAX_VERSIONS = 3
"""Of a tile; one more copy of the loop body for each."""
_STAGED_VERSIONS = 2
_OFFSET_BYTES = 1 << 31
"""Offsets of buffer accesses are signed 32-bit integers."""
MAX_ARRAYS = 8
"""Arrays that LLVM keeps apart when it decides whether a read has to wait for a copy."""


@dataclass(frozen=True)
class ChooseDirectCopies(Pass):
    """Mark copies of pipelined loops that go from global memory to LDS directly."""

    name = "choose-direct-copies"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            chip = amd_chip_of(kernel)
            if chip is not None and COPY_BYTES in chip.direct_copy_bytes:
                _Kernel(kernel, chip, engine).choose()


@dataclass
class _Kernel:
    """One kernel, and how much of LDS is left."""

    kernel: KernelOp
    chip: Chip
    engine: DiagnosticEngine

    def choose(self) -> None:
        self.axes: Mapping[SSAValue, int] = contiguous_axes(self.kernel)
        self.ranges = IndexRanges(_function_of(self.kernel))
        self.written = {region.base for op in walk(self.kernel) for region in writes(op)}
        for loop in list(walk(self.kernel)):
            if isinstance(loop, PipelineOp) and loop.plan is None and comes_together(loop):
                self._loop(loop)

    def _loop(self, loop: PipelineOp) -> None:
        copies = [
            op for op in walk(loop) if isinstance(op, CopyOp) and is_fill(op) and is_pipelined(op)
        ]
        if not copies:
            return
        dependences = Dependences(loop)
        reasons = {op: self._reason(op, loop, dependences) for op in copies}
        others = [buffer_name(op.dst) for op, reason in reasons.items() if reason is not None]
        together = f"'{others[0]}' of the same loop does" if others else self._too_much(copies)
        for op, reason in reasons.items():
            found = reason or together
            if found is None:
                op.attributes[names.DIRECT] = UnitAttr()
            else:
                self._refuse(op, found)

    def _refuse(self, op: CopyOp, reason: str) -> None:
        text = f"copy to '{buffer_name(op.dst)}' goes through registers: {reason}"
        self.engine.remark(op, text, NOT_DIRECT)

    def _reason(self, op: CopyOp, loop: PipelineOp, dependences: Dependences) -> str | None:
        """Why a copy cannot go to LDS directly, or None."""
        return next(
            (
                each
                for each in (
                    _reason_of_loop(op, loop, dependences),
                    self._reason_of_tile(op),
                    self._reason_of_tensor(op),
                )
                if each is not None
            ),
            None,
        )

    def _reason_of_tile(self, op: CopyOp) -> str | None:
        if self.axes.get(op.dst) == COLUMNS:
            return "it transposes the tile: matrix instructions read the other dimension"
        if _is_stored_twice(op, self.axes):
            return "the tile is stored transposed as well, and loaded once"
        owner = op.dst.owner
        assert isinstance(owner, AllocOp)
        if owner.layout is not None or owner.alias is not None or owner.offset_bytes is not None:
            return "the user chose where elements of the tile are"
        if op.coalesced_width is not None or op.loop_layout is not None:
            return "the user chose the threads of its elements"
        if begins_by_thread(op.src) or begins_by_thread(op.dst):
            return "each thread copies a part of its own"
        if element_type_of(op.src.type) != element_type_of(op.dst.type):
            return f"it converts {element_type_of(op.src.type)} to {element_type_of(op.dst.type)}"
        threads, size = threads_of(op).count, bytes_of(owner)
        if threads % self.chip.wave:
            return f"{threads} threads are not whole waves of {self.chip.wave}"
        if size % (threads * COPY_BYTES):
            return (
                f"{size} B are not a multiple of what {threads} threads copy at once "
                f"({threads * COPY_BYTES} B)"
            )
        row = shape_of(op.dst.type)[-1] * _size(op.dst)
        return None if row % COPY_BYTES == 0 else f"rows of the tile have {row} B, not whole 16 B"

    def _reason_of_tensor(self, op: CopyOp) -> str | None:
        source, target = part_of(op.src), part_of(op.dst)
        if [source.extents[axis] for axis in source.axes] != [
            target.extents[axis] for axis in target.axes
        ]:
            return "the parts of the tensor and of the tile differ in their dimensions"
        tensor, shape = source.buffer, shape_of(source.buffer.type)
        lanes = COPY_BYTES // _size(tensor)
        if row_strides(tensor)[-1] != 1 or source.axes[-1:] != [len(shape) - 1]:
            return "rows of the tile are not contiguous in the tensor"
        uneven = unaligned(tensor, lanes, op, lambda: self.ranges)
        if uneven is not None:
            return uneven
        if DYNAMIC_INDEX in shape:
            return "the size of the tensor is a run-time value, and offsets have 32 bits"
        if shape[-1] % lanes:
            return f"rows of the tensor have {shape[-1]} elements, not a multiple of {lanes}"
        last = self.ranges.poly(source.offsets[-1])
        if not self.ranges.context(op).is_multiple(last, lanes):
            return f"the first column is not known to be a multiple of {lanes}"
        strides = zip(shape, row_strides(tensor), strict=True)
        span = 1 + sum((extent - 1) * (stride or 0) for extent, stride in strides)
        if span * _size(tensor) >= _OFFSET_BYTES:
            return f"the tensor has {span * _size(tensor)} B, and offsets have 32 bits"
        if tensor in self.written or _is_aliased(tensor):
            return "the kernel writes the tensor, and copies read it at any time until their wait"
        return other_than_zero(op)

    # -- memory --------------------------------------------------------------------------------

    def _too_much(self, chosen: list[CopyOp]) -> str | None:
        """Why the tiles of a loop cannot have two versions in arrays of their own."""
        needed = lds_bytes(self.kernel, {op.dst: _STAGED_VERSIONS for op in chosen})
        if needed > self.chip.lds_bytes:
            return (
                f"{needed} B of LDS needed for two versions of each tile, "
                f"{self.chip.lds_bytes} B available on {self.chip}"
            )
        arrays = _STAGED_VERSIONS * (len(direct_copies(self.kernel)) + len(chosen))
        if arrays > MAX_ARRAYS:
            return f"the kernel would have {arrays} arrays for direct copies, at most {MAX_ARRAYS}"
        if in_flight(chosen) > MAX_PENDING:
            return f"{in_flight(chosen)} copies a wave in flight, at most {MAX_PENDING}"
        return None


def lds_bytes(kernel: KernelOp, versions: Mapping[SSAValue, int]) -> int:
    """What buffers take if those given have so many versions, and share no bytes with others.

    Other targets of pipelined copies have two.
    """
    counts = {op.dst: _STAGED_VERSIONS for op in direct_copies(kernel)}
    for op in walk(kernel):
        if isinstance(op, CopyOp) and is_fill(op) and is_pipelined(op):
            counts.setdefault(op.dst, _STAGED_VERSIONS)
    counts |= versions
    shared = [op for op in walk(kernel) if isinstance(op, AllocOp) and op.space.is_shared]
    return sum(bytes_of(op) * counts.get(op.result, 1) for op in shared)


def in_flight(copies: list[CopyOp]) -> int:
    """Copies of a wave that fill the tiles of one iteration."""
    return sum(copies_of(op) for op in copies)


def copies_of(op: CopyOp) -> int:
    """How many direct copies of each wave a copy takes."""
    size = prod(shape_of(op.dst.type)) * _size(op.dst)
    return size // (threads_of(op).count * COPY_BYTES)


def direct_copies(kernel: KernelOp) -> list[CopyOp]:
    """The copies of a kernel that are marked."""
    return [op for op in walk(kernel) if isinstance(op, CopyOp) and names.DIRECT in op.attributes]


def _reason_of_loop(op: CopyOp, loop: PipelineOp, dependences: Dependences) -> str | None:
    if loop.stages < _STAGED_VERSIONS:
        return "num_stages=1 requests one version of the tile, and a direct copy needs two"
    if op.parent_op() is not loop:
        return "it is conditional, or in an inner loop"
    position = dependences.positions[op]
    if any(dependences.feeds(other, position) for other in range(len(dependences.ops))):
        return "it copies what another statement of the loop computes"
    if dependences.renamable.get(op.dst) != position:
        return dependences.why_not_renamable(op.dst)
    if not all(loop.is_ancestor(use.operation) for use in op.dst.uses):
        return f"{buffer_name(op.dst)} is also used outside of the loop"
    return None


def _is_stored_twice(op: CopyOp, axes: Mapping[SSAValue, int]) -> bool:
    second = op.next_op
    return isinstance(second, CopyOp) and second.src is op.src and axes.get(second.dst) == COLUMNS


def _is_aliased(tensor: SSAValue) -> bool:
    is_argument = isinstance(tensor, BlockArgument)
    return not is_argument or tile_names.ALIASED in argument_attributes(tensor)


def _size(buffer: SSAValue) -> int:
    return element_bytes(bit_width(element_type_of(buffer.type)))


def _function_of(op: Operation) -> FuncOp:
    outer = op.parent_op()
    while not isinstance(outer, FuncOp):
        assert outer is not None
        outer = outer.parent_op()
    return outer
