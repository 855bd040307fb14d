"""Write down what AMD's matrix instructions demand of tensors and buffers that have layouts.

* A conversion to the layout of an operand, of something that was loaded from LDS, is a requirement:
  propagation may let the load have that layout.
* A buffer is required to have a layout for the operand that is read from it, unless it is read for
  other purposes as well, for two different operands, or has a user-specified layout.
* TDM can pad rows but not swizzle them, so the buffer of each of its copies is required to have
  rows with gaps.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tilewright.dialects.amdg import (
    AsyncTDMCopyGlobalToLocalOp,
    AsyncTDMCopyLocalToGlobalOp,
    AsyncTDMFusedCopyGlobalToLocalOp,
    BufferLoadToLocalOp,
)
from tilewright.dialects.tlx import RequireLayoutOp
from tilewright.dialects.ttg import AsyncCopyGlobalToLocalOp, ConvertLayoutOp, LocalLoadOp
from tilewright.dialects.ttg.context import TARGET, threads_per_warp_at
from tilewright.dialects.ttg.distributed import DotOperandEncoding
from tilewright.dialects.ttg.shared import NvmmaSharedEncoding, SwizzledSharedEncoding
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.type_utils import encoding_of
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import CHIPS, Chip
from tilewright.passes.tlx.operand_buffers import (
    is_amd_operand,
    padded_for_copies,
    padded_for_tdm,
    plain_rows,
    swizzled_rows,
)
from tilewright.passes.tlx.tensor_requirements import Carried
from tilewright.passes.ttg.memdesc_types import memdesc_of, root_buffer

_DOTS = frozenset(("tt.dot", "tt.dot_scaled"))
_MATRIX = 2
_COPIES = (AsyncCopyGlobalToLocalOp, BufferLoadToLocalOp)


def require_operands(module: ModuleOp, rewriter: Rewriter) -> None:
    """Insert the requirements of a module for an AMD GPU; nothing for other targets."""
    stated = module.attributes.get(TARGET)
    vendor, _, arch = (stated.data if isinstance(stated, StringAttr) else "").partition(":")
    if vendor != "hip":
        return
    _require_tensors(module, rewriter)
    operands = _operands(module)
    _require_tdm(module, operands, rewriter)
    _require_buffers(module, operands, CHIPS.get(arch), rewriter)


# -- tensors -------------------------------------------------------------------------------------


def _require_tensors(module: ModuleOp, rewriter: Rewriter) -> None:
    carried = Carried.of(module)
    for op in [each for each in walk(module) if isinstance(each, ConvertLayoutOp)]:
        layout = encoding_of(op.result.type)
        if layout is None or not is_amd_operand(layout):
            continue
        if not any(use.operation.name in _DOTS for use in op.result.uses):
            continue
        if any(isinstance(each.owner, LocalLoadOp) for each in carried.origins(op.src)):
            rewriter.replace_op(op, RequireLayoutOp(op.src, layout))


# -- buffers -------------------------------------------------------------------------------------


def _operands(module: ModuleOp) -> dict[LocalLoadOp, DotOperandEncoding]:
    """Loads whose value is only an operand, always the same one."""
    carried = Carried.of(module)
    found: dict[LocalLoadOp, DotOperandEncoding] = {}
    for op in walk(module):
        if not isinstance(op, LocalLoadOp):
            continue
        layouts = {encoding_of(op.result.type)}
        if not all(map(is_amd_operand, layouts)):
            layouts = set(_layouts_required(op.result, carried))
        layout = next(iter(layouts)) if len(layouts) == 1 else None
        if isinstance(layout, DotOperandEncoding) and is_amd_operand(layout):
            found[op] = layout
    return found


def _layouts_required(value: SSAValue, carried: Carried) -> Iterator[Attribute | None]:
    """The layouts in which `value` is used, wherever control flow hands it; None for any."""
    for each in carried.connected([value]):
        for use in each.uses:
            if isinstance(use.operation, RequireLayoutOp):
                yield encoding_of(use.operation.result.type)
            elif (use.operation, each) not in carried.ends:
                yield None


def _require_buffers(
    module: ModuleOp,
    operands: dict[LocalLoadOp, DotOperandEncoding],
    chip: Chip | None,
    rewriter: Rewriter,
) -> None:
    copied = {root_buffer(_copied(op)) for op in walk(module) if isinstance(op, _COPIES)}
    by_tdm = {root_buffer(buffer) for op in walk(module) for _, buffer in _tdm_buffers(op)}
    for op, operand in operands.items():
        type, root = memdesc_of(op.src), root_buffer(op.src)
        order = _order(type)
        if root in by_tdm or order is None or isinstance(op.src.owner, RequireLayoutOp):
            continue
        if isinstance(root, BlockArgument):
            continue  # others decide about it
        layout: Attribute | None = None
        if root in copied:
            layout = padded_for_copies(type, operand, order, threads_per_warp_at(op))
        if layout is None and chip is not None:
            layout = swizzled_rows(type, operand, order, chip)
        if layout is not None:
            op.operands[0] = _required(op, op.src, layout, rewriter)


def _order(type: MemDescType) -> tuple[int, ...] | None:
    """The order of the dimensions of a buffer whose layout is open."""
    layout = type.encoding
    if len(type.shape) != _MATRIX or type.alloc_shape[-_MATRIX:] != type.shape:
        return None
    if isinstance(layout, SwizzledSharedEncoding | NvmmaSharedEncoding):
        return tuple(layout.order)
    return None


def _copied(op: Operation) -> SSAValue:
    if isinstance(op, BufferLoadToLocalOp):
        return op.dest
    assert isinstance(op, AsyncCopyGlobalToLocalOp)
    return op.result


def _required(op: Operation, buffer: SSAValue, layout: Attribute, rewriter: Rewriter) -> SSAValue:
    found = RequireLayoutOp(buffer, layout)
    rewriter.insert_before(op, found)
    return found.result


# -- TDM -----------------------------------------------------------------------------------------


def _tdm_buffers(op: Operation) -> Iterator[tuple[int, SSAValue]]:
    """The buffers that TDM accesses by `op`, each with the index of the operand."""
    match op:
        case AsyncTDMCopyGlobalToLocalOp():
            buffers = [op.result]
        case AsyncTDMFusedCopyGlobalToLocalOp():
            buffers = list(op.results_)
        case AsyncTDMCopyLocalToGlobalOp():
            buffers = [op.src]
        case _:
            return
    for index, operand in enumerate(op.operands):
        if operand in buffers:
            yield index, operand


def _require_tdm(
    module: ModuleOp, operands: dict[LocalLoadOp, DotOperandEncoding], rewriter: Rewriter
) -> None:
    read = dict[SSAValue, set[DotOperandEncoding]]()
    for op, operand in operands.items():
        read.setdefault(root_buffer(op.src), set()).add(operand)
    for op in list(walk(module)):
        for index, buffer in list(_tdm_buffers(op)):
            has = memdesc_of(buffer).encoding
            if isinstance(buffer.owner, RequireLayoutOp) or not isinstance(
                has, SwizzledSharedEncoding
            ):
                continue
            layout: Attribute = plain_rows(has)
            if not isinstance(op, AsyncTDMCopyLocalToGlobalOp):
                readers = read.get(root_buffer(buffer), set())
                layout = padded_for_tdm(
                    memdesc_of(buffer), next(iter(readers)) if len(readers) == 1 else None
                )
            op.operands[index] = _required(op, buffer, layout, rewriter)
