"""Report where layouts cost time, without changing anything.

* A conversion in a loop that moves values between threads goes through shared memory and a barrier
  in every iteration.
* A register operand of ``wgmma`` that was just loaded from shared memory could have stayed there.
* A buffer that shares storage with another one may have its layout from there, and be read or
  written by the threads of a warp in several passes (bank conflicts).

Conversions that only rename registers cost nothing and are not mentioned; how values move is
computed (``layouts``), not guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.dialects.tt.memory import StoreOp
from tilewright.dialects.ttg import ConvertLayoutOp, LocalLoadOp, LocalStoreOp
from tilewright.dialects.ttg.context import PARTITIONS_OP, threads_per_warp_at
from tilewright.dialects.ttg.distributed import (
    BlockedEncoding,
    DotOperandEncoding,
    SliceEncoding,
)
from tilewright.dialects.ttg.mma import MFMA_WARP, NvidiaMmaEncoding
from tilewright.dialects.ttg.shared import NvmmaSharedEncoding
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttg.views import MemDescReinterpretOp
from tilewright.dialects.ttng import WarpGroupDotOp
from tilewright.dialects.ttng.attributes import unwrapped
from tilewright.dialects.type_utils import bit_width, encoding_of, is_tensor, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.banks import linear_conflicts
from tilewright.passes.ttg.linear import is_free, linear_of

CONVERSION = "TW2050"
OPERAND = "TW2051"
BANKS = "TW2052"

_LOOPS = frozenset(("scf.for", "scf.while"))


@dataclass(frozen=True)
class RemarkLayouts(Pass):
    """Remarks on layouts that cost time."""

    name = "remark-layouts"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in walk(module):
            match op:
                case ConvertLayoutOp():
                    _conversion(op, engine)
                case WarpGroupDotOp():
                    _operand(op, engine)
                case LocalLoadOp():
                    _banks(op, op.result, op.src, engine)
                case LocalStoreOp():
                    _banks(op, op.src, op.dst, engine)
                case _:
                    pass


def _loop_of(op: Operation) -> Operation | None:
    """The innermost loop around an op."""
    parent = op.parent_op()
    while parent is not None and parent.name not in _LOOPS:
        parent = parent.parent_op()
    return parent


def _conversion(op: ConvertLayoutOp, engine: DiagnosticEngine) -> None:
    before, after, loop = encoding_of(op.src.type), encoding_of(op.result.type), _loop_of(op)
    if before is None or after is None or loop is None:
        return
    shape = shape_of(op.src.type)
    if is_free(before, after, shape) or _is_left_to_triton(op):
        return
    size = prod(shape) * bit_width(op.src.type) // 8
    extents = " x ".join(map(str, shape))
    diagnostic = engine.remark(
        op,
        f"layout conversion in every iteration: {extents} tensor, {size} B through shared memory, "
        f"from {_kind(before)} to {_kind(after)}",
        CONVERSION,
    )
    diagnostic.note(loop, "in each iteration of this loop")
    is_stored = any(use.operation.name == StoreOp.name for use in op.result.uses)
    fix = (
        "store after the loop, or store the tile with a tensor descriptor (TMA)"
        if is_stored
        else "move the use of the tensor out of the loop"
    )
    diagnostic.note(None, f"help: this costs time only; to avoid it, {fix}")


def _is_left_to_triton(op: ConvertLayoutOp) -> bool:
    """Whether an operand is read from LDS for a dot on AMD, whose layout Triton has yet to choose.

    Triton then reads it in that layout at once.
    """
    after = encoding_of(op.result.type)
    return (
        isinstance(after, DotOperandEncoding)
        and isinstance(after.parent, BlockedEncoding)
        and isinstance(op.src.owner, LocalLoadOp)
        and threads_per_warp_at(op) == MFMA_WARP
    )


def _kind(encoding: object) -> str:
    """The kind of a layout, and what distinguishes it from others of the kind."""
    match encoding:
        case NvidiaMmaEncoding():
            return "an MMA accumulator layout"
        case DotOperandEncoding():
            return "an MMA operand layout"
        case BlockedEncoding():
            elements = " x ".join(map(str, encoding.size_per_thread))
            return f"a blocked layout ({elements} elements per thread)"
        case SliceEncoding():
            return f"a slice of {_kind(encoding.parent)}"
        case _:
            return "another layout"


def _operand(op: WarpGroupDotOp, engine: DiagnosticEngine) -> None:
    if not is_tensor(op.a.type):
        return
    source = op.a
    while isinstance(source.owner, ConvertLayoutOp):
        source = source.owner.src
    load = source.owner
    if not isinstance(load, LocalLoadOp):
        return
    type = load.src.type
    if isinstance(type, MemDescType) and isinstance(unwrapped(type.encoding), NvmmaSharedEncoding):
        diagnostic = engine.remark(op, "wgmma operand A is copied to registers first", OPERAND)
        diagnostic.note(load, "loaded here; wgmma can read A directly from this buffer")


def _banks(op: Operation, tensor: SSAValue, buffer: SSAValue, engine: DiagnosticEngine) -> None:
    alias = _alias_of(buffer)
    type = buffer.type
    registers = encoding_of(tensor.type)
    if alias is None or registers is None or not isinstance(type, MemDescType):
        return
    if _moves_matrices(registers, type):
        return
    shape = shape_of(tensor.type)
    held, placed = linear_of(registers, shape), linear_of(type.encoding, shape)
    if held is None or placed is None:
        return
    found = linear_conflicts(held, placed, bit_width(tensor.type))
    if found.conflicts:
        diagnostic = engine.remark(
            op, f"bank conflicts in a buffer with aliased storage: {found}", BANKS
        )
        diagnostic.note(alias, "the layout of this view determines the address of each element")


def _alias_of(buffer: SSAValue) -> Operation | None:
    """The op that makes `buffer` a view of storage with another type, if there is one."""
    value = buffer
    while not isinstance(value, BlockArgument):
        op = value.owner
        if isinstance(op, MemDescReinterpretOp):
            return op
        if not isinstance(op, Operation) or not op.operands:
            return None
        value = op.operands[0]
    parent = value.owner.parent_op()
    if parent is None or parent.name != PARTITIONS_OP:
        return None
    return _alias_of(parent.operands[value.index])


def _moves_matrices(registers: object, type: MemDescType) -> bool:
    """Whether whole 8 x 8 matrices move between the two (``ldmatrix``, ``stmatrix``)."""
    is_fragment = isinstance(registers, NvidiaMmaEncoding | DotOperandEncoding)
    return is_fragment and bit_width(type.element_type) == 16
