"""Placeholders become layouts.

The warp count of a task is unknown while its kernel is traced. So values that are read from or
written to tensor memory have a placeholder, which is decided here:

* ``#tlx.dummy_register_layout<..., true>``: a layout in which tensor memory can be read and
  written, by the number of warps of the task;
* ``#tlx.dummy_register_layout<..., false>``: blocked, rows first;
* ``#tlx.dummy_tmem_layout``: that of scale factors if an MMA uses them so, else a plain matrix.

From here on no pass chooses layouts of buffers, so user-specified ones need no mark.

Tensor memory has 128 lanes, 32 of them within reach of each warp of a warp group. So a warp holds
32 rows and each of its threads one of them; with eight warps, two share rows and split columns.
Of 64 rows, each warp holds 16, and two threads share one::

    rows  warps   a thread has   threads    warps
    128   4       1 x N          32 x 1     4 x 1
    128   8       1 x N/2        32 x 1     4 x 2
    64    4       1 x N/2        16 x 2     4 x 1
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.tlx.attributes import DummyRegisterLayout, DummyTMemLayout
from tilewright.dialects.ttg.context import (
    PARTITIONS_OP,
    num_ctas_at,
    num_warps_at,
    threads_per_warp_at,
)
from tilewright.dialects.ttg.distributed import BlockedEncoding
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng import TCGen5MMAScaledOp, TMEMCopyOp
from tilewright.dialects.ttng.attributes import (
    TensorMemoryEncoding,
    TensorMemoryScalesEncoding,
    unwrapped,
)
from tilewright.dialects.type_utils import encoding_of, is_tensor, with_encoding
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tlx.finalize_user_layouts import unwrap_buffers
from tilewright.passes.ttg.assign_descriptor_layouts import defined_values
from tilewright.passes.ttg.blocked import default_blocked, whole_in_every_cta
from tilewright.passes.ttg.memdesc_types import retype_buffer

NO_LAYOUT = "TW2043"

WARP_GROUP = 4
_LANES = 128
_ALLOCATIONS = frozenset(("ttng.tmem_alloc", "tlx.storage_alias_local_alloc"))


@dataclass(frozen=True)
class ResolvePlaceholderLayouts(Pass):
    """Replace placeholders by layouts for the warps at hand."""

    name = "tlx-resolve-placeholder-layouts"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        rewriter = Rewriter()
        unwrap_buffers(module, rewriter)
        for op in list(walk(module)):
            if op.name in _ALLOCATIONS:
                _resolve_memory(op.results[0], rewriter)
        for op in list(walk(module)):
            for value in list(defined_values(op)):
                layout = encoding_of(value.type)
                if layout is None:
                    continue
                dummy = unwrapped(layout)
                if not isinstance(dummy, DummyRegisterLayout):
                    continue
                accessor = _accessing_op(value, op)
                found = _resolved(dummy, accessor)
                if found is None:
                    engine.error(
                        op,
                        f"tensor memory of {dummy.shape[0]} rows requires a task of 4 or 8 warps, "
                        f"got {num_warps_at(accessor)}",
                        NO_LAYOUT,
                    )
                    return
                assert is_tensor(value.type)
                rewriter.retype(value, with_encoding(value.type, found))


def _resolve_memory(buffer: SSAValue, rewriter: Rewriter) -> None:
    """A placeholder for tensor memory: scale factors by their use, else a matrix as it is."""
    type = buffer.type
    if not isinstance(type, MemDescType) or not isinstance(type.encoding, DummyTMemLayout):
        return
    rows, columns = type.shape[-2:]
    layout: Attribute = TensorMemoryScalesEncoding()
    if not _is_scale(buffer):
        layout = TensorMemoryEncoding(block_m=rows, block_n=columns, col_stride=1)
    retype_buffer(buffer, type.with_encoding(layout), rewriter)


def _is_scale(buffer: SSAValue) -> bool:
    """Whether `buffer`, or a view of it, holds the scale factors of an MMA."""
    return any(_takes_scale(use.operation, use.index) for use in buffer.uses)


def _takes_scale(op: Operation, index: int) -> bool:
    if isinstance(op, TCGen5MMAScaledOp):
        return op.operands[index] in (op.a_scale, op.b_scale)
    if isinstance(op, TMEMCopyOp):
        return index == 1  # tcgen05.cp fills scale factors from bytes
    if op.name == PARTITIONS_OP:
        return any(_is_scale(region.blocks[0].args[index]) for region in op.regions)
    views = [result for result in op.results if isinstance(result.type, MemDescType)]
    return index == 0 and any(map(_is_scale, views))


def _accessing_op(value: SSAValue, op: Operation) -> Operation:
    """An op that runs on the warps that hold `value`."""
    owner = value.owner
    if isinstance(owner, Operation):
        return owner
    return owner.first_op or op


def _resolved(dummy: DummyRegisterLayout, accessor: Operation) -> Attribute | None:
    warps, ctas = num_warps_at(accessor) or WARP_GROUP, num_ctas_at(accessor)
    if not dummy.tmem_compatible:
        return default_blocked(dummy.shape, warps, ctas, threads_per_warp_at(accessor))
    return tensor_memory_registers(dummy.shape, warps, ctas)


def tensor_memory_registers(
    shape: tuple[int, ...], num_warps: int, num_ctas: int = 1
) -> BlockedEncoding | None:
    """The layout in which `num_warps` warps read or write a matrix in tensor memory."""
    if len(shape) != 2 or num_warps % WARP_GROUP or shape[0] not in (_LANES // 2, _LANES):
        return None
    rows, columns = shape
    groups = num_warps // WARP_GROUP
    threads = (32, 1) if rows == _LANES else (16, 2)
    share = max(1, columns // groups // threads[1])
    return BlockedEncoding(
        size_per_thread=(1, share),
        threads=threads,
        warps_per_cta=(WARP_GROUP, groups),
        order=(0, 1),
        cga_layout=whole_in_every_cta(2, num_ctas),
    )
