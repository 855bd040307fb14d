"""Buffers in LDS that are read as operands of matrix instructions get a layout for that.

A lane reads the elements of K that its instruction takes, so rows should run along K. They do where
what is written to the buffer is consecutive along K in global memory; otherwise rows run along the
other dimension, as global memory does, and the copy stays wide.

All lanes that read at once read the same columns: in plain rows they hit the same banks. The XOR of
the group number with the row number spreads them, by the parameters that Triton uses for its own
buffers on AMD GPUs::

    group       the elements of K that a lane holds
    per phase   rows that fit into one row of banks
    phases      lanes that read at once, but no more than there are groups in a row

Only buffers whose layout the kernel leaves open are changed, and whose readers agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.axis_info import AxisFacts, solve_axis_info
from tilewright.dialects.tlx import RequireLayoutOp
from tilewright.dialects.tt import DotOp
from tilewright.dialects.ttg import LocalLoadOp, LocalStoreOp
from tilewright.dialects.ttg.base import integers
from tilewright.dialects.ttg.context import TARGET
from tilewright.dialects.ttg.shared import SwizzledSharedEncoding
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttg.views import MemDescTransOp
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import CHIPS, Chip
from tilewright.passes.ttg.accesses import access_of
from tilewright.passes.ttg.amd.direct_copies import DirectCopy, buffer_of
from tilewright.passes.ttg.layout_links import is_alike
from tilewright.passes.ttg.memdesc_types import root_buffer

_BANK_BITS = 32
_LANES_AT_ONCE = 16
_MATRIX = 2
_SAME = ("ttg.memdesc_index", "ttg.memdesc_subslice", "ttg.memdesc_dynamic_subslice")


@dataclass(frozen=True)
class SwizzleDotOperands(Pass):
    """Require layouts of buffers that matrix instructions read."""

    name = "swizzle-dot-operands"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        chip = _chip_of(module)
        loads = [op for op in walk(module) if isinstance(op, LocalLoadOp)]
        found = [(op, *use) for op in loads if (use := _use(op)) is not None]
        if chip is None or not found:
            return
        written = _written_along(module, solve_axis_info(module))
        rewriter = Rewriter()
        chosen: dict[SSAValue, SwizzledSharedEncoding | None] = {}
        required: list[tuple[LocalLoadOp, SwizzledSharedEncoding]] = []
        for op, dot, index in found:
            layout = _layout(op, dot, index, chip, written)
            if layout is None:
                continue
            required.append((op, layout))
            root, plain = root_buffer(op.src), _of_root(op.src, layout)
            # Readers that disagree leave the buffer as it is.
            chosen[root] = plain if chosen.setdefault(root, plain) == plain else None
        for op, layout in required:
            if chosen[root_buffer(op.src)] is not None:
                demand = RequireLayoutOp(op.src, layout)
                rewriter.insert_before(op, demand)
                op.operands[0] = demand.result


def _chip_of(module: ModuleOp) -> Chip | None:
    stated = module.attributes.get(TARGET)
    name = stated.data.partition(":")[2] if isinstance(stated, StringAttr) else ""
    return CHIPS.get(name)


def _use(load: LocalLoadOp) -> tuple[DotOp, int] | None:
    """The dot that the loaded tensor is an operand of, if that is its only use."""
    value: SSAValue = load.result
    while True:
        uses = list(value.uses)
        if not uses:
            return None
        op = uses[0].operation
        if isinstance(op, DotOp):
            side = uses[0].index
            is_same = all(isinstance(use.operation, DotOp) and use.index == side for use in uses)
            return (op, side) if is_same and side < _MATRIX else None
        if len(uses) > 1 or not is_alike(op) or len(op.operands) != 1 or len(op.results) != 1:
            return None
        value = op.results[0]


# -- layouts -------------------------------------------------------------------------------------


def _layout(
    load: LocalLoadOp, dot: DotOp, index: int, chip: Chip, written: dict[SSAValue, int | None]
) -> SwizzledSharedEncoding | None:
    """The layout of the buffer as `load` sees it; None if it stays as it is."""
    type = load.src.type
    assert isinstance(type, MemDescType)
    has = type.encoding
    # A layout with a mark is the user's.
    if not isinstance(has, SwizzledSharedEncoding) or len(type.shape) != _MATRIX:
        return None
    if has.max_phase > 1:
        return None
    depth = 1 - index
    fastest = _own_dim(load.src, written.get(root_buffer(load.src)))
    fastest = has.order[0] if fastest is None else fastest
    order = (fastest, 1 - fastest)
    if fastest != depth:
        return replace(has, order=order)
    names = [str(element_type_of(operand.type)) for operand in (dot.a, dot.b)]
    instructions = chip.instructions_for(names[0], names[1])
    if not instructions:
        return replace(has, order=order)
    bits, inner = bit_width(type.element_type), type.shape[depth]
    vec = instructions[0].width
    per_phase = max(1, chip.lds_banks * _BANK_BITS // bits // inner)
    phases = max(1, min(_LANES_AT_ONCE // per_phase, inner // vec))
    return replace(has, vec=vec, per_phase=per_phase, max_phase=phases, order=order)


def _written_along(module: ModuleOp, axis_info: AxisFacts) -> dict[SSAValue, int | None]:
    """The dimension of each buffer along which what is written to it is consecutive in memory.

    None where that is not known, or not one dimension.
    """
    found: dict[SSAValue, int | None] = {}
    for op in walk(module):
        for buffer, access in _writes(op):
            along = None
            contiguity = axis_info[access].contiguity
            if max(contiguity) > 1:
                along = _root_dim(buffer, contiguity.index(max(contiguity)))
            root = root_buffer(buffer)
            found[root] = along if found.setdefault(root, along) == along else None
    return found


def _writes(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    """The buffer that `op` writes, and the addresses in global memory that it is filled from."""
    if isinstance(op, DirectCopy):
        access = access_of(op)
        if access is not None:
            yield buffer_of(op), access.pointers
    elif isinstance(op, LocalStoreOp):
        source = op.src.owner
        while isinstance(source, Operation) and is_alike(source) and len(source.operands) == 1:
            source = source.operands[0].owner
        access = access_of(source) if isinstance(source, Operation) else None
        if access is not None:
            yield op.dst, access.pointers


# -- views ---------------------------------------------------------------------------------------


def _root_dim(view: SSAValue, dim: int) -> int | None:
    """The dimension of the buffer that dimension `dim` of `view` is; None if not one of them."""
    while isinstance(view.owner, Operation):
        op = view.owner
        if isinstance(op, MemDescTransOp):
            dim = integers(op.order)[dim]
        elif op.name not in _SAME:
            return dim if view is root_buffer(view) else None
        view = op.operands[0]
    return dim


def _own_dim(view: SSAValue, dim: int | None) -> int | None:
    """The dimension of `view` that dimension `dim` of its buffer is."""
    return next((own for own in range(_MATRIX) if _root_dim(view, own) == dim), None)


def _of_root(view: SSAValue, layout: SwizzledSharedEncoding) -> SwizzledSharedEncoding:
    """`layout`, of a view, as the layout of its buffer."""
    order = tuple(_root_dim(view, dim) for dim in layout.order)
    return replace(layout, order=tuple(dim for dim in order if dim is not None))
