"""`remark-register-indices`: an array of registers that the run indexes is no array of registers.

    L = T.alloc_local((8,), "float32")
    C[tx] = L[I[tx]]            # TW5010: registers have no addresses

The hardware names registers in the instruction. An index that is a constant once loops are unrolled
costs nothing; a run-time index puts the array into local memory, or needs a chain of
comparisons. The kernel is right either way, so this is a remark.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AllocOp, Space, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.type_utils import bit_width, element_type_of, num_elements
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk

INDEXED_AT_RUN_TIME = "TW5010"


@dataclass(frozen=True)
class RemarkRegisterIndices(Pass):
    """Remark register arrays that are indexed by run-time values."""

    name = "remark-register-indices"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if isinstance(function, FuncOp) and simt_names.KERNEL in function.attributes:
                _look_at(function, engine)


def _look_at(function: FuncOp, engine: DiagnosticEngine) -> None:
    seen: set[SSAValue] = set()
    for op in walk(function):
        if not isinstance(op, (LoadOp, StoreOp)) or space_of(op.memref.type) is not Space.LOCAL:
            continue
        buffer = base_of(op.memref)
        if buffer in seen or num_elements(op.memref.type) == 1:
            continue
        if all(_is_fixed(index) for index in op.indices):
            continue
        seen.add(buffer)
        _remark(op, buffer, engine)


def _remark(op: LoadOp | StoreOp, buffer: SSAValue, engine: DiagnosticEngine) -> None:
    owner = buffer.owner
    name = owner.buffer_name if isinstance(owner, AllocOp) else "an array"
    count = num_elements(op.memref.type)
    size = count * bit_width(element_type_of(op.memref.type)) // 8
    diagnostic = engine.remark(
        op,
        f"'{name}' is indexed by a run-time value: registers have no addresses, so its "
        f"{count} elements ({size} B per thread) are placed in local memory or selected "
        "by comparisons",
        INDEXED_AT_RUN_TIME,
    )
    diagnostic.note(
        None,
        "help: make the index constant by unrolling (for j in T.unroll(...)), or "
        "allocate the buffer in shared memory (T.alloc_shared)",
    )


def _is_fixed(value: SSAValue) -> bool:
    """Whether an index is constant once all loops with constant bounds are unrolled."""
    if constant_value(value) is not None:
        return True
    if isinstance(value, BlockArgument):
        loop = value.block.parent_op()
        return isinstance(loop, ForOp) and value.index == 0 and _is_counted(loop)
    owner = value.owner
    if not isinstance(owner, Operation) or not owner.name.startswith("arith."):
        return False
    return all(_is_fixed(each) for each in owner.operands)


def _is_counted(loop: ForOp) -> bool:
    bounds = (loop.lower_bound, loop.upper_bound, loop.step)
    return all(isinstance(constant_value(each), IntegerAttr) for each in bounds)
