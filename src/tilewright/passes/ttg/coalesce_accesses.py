"""Accesses get layouts in which they are coalesced.

In a module whose tensors have layouts, every access to global memory through a tensor of pointers
is done in the layout of ``coalescing``, and every load from shared memory in one with wide rows;
operands are converted before, results after::

    %v = tt.load %p : #slow      %q = convert_layout %p : #slow -> #fast
                                 %w = tt.load %q : #fast
                                 %v = convert_layout %w : #fast -> #slow

A user-specified layout stays: a store is done in the layout of its value, loads are left alone.
Conversions that are not needed are for ``tritongpu-remove-layout-conversions`` to find.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.analysis.axis_info import AxisFacts, solve_axis_info
from tilewright.dialects.tt import StoreOp
from tilewright.dialects.ttg import ConvertLayoutOp, LocalLoadOp
from tilewright.dialects.ttg.context import num_ctas_at, num_warps_at, threads_per_warp_at
from tilewright.dialects.ttg.distributed import BlockedEncoding
from tilewright.dialects.ttng.attributes import LayoutMark, unwrapped
from tilewright.dialects.type_utils import (
    bit_width,
    encoding_of,
    is_tensor,
    shape_of,
    with_encoding,
)
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.ttg.accesses import access_of
from tilewright.passes.ttg.coalescing import MAX_ACCESS_BYTES, coalesced, in_wide_rows
from tilewright.passes.ttg.memdesc_types import memdesc_of


@dataclass(frozen=True)
class CoalesceAccesses(Pass):
    """Do each access in a layout for wide accesses."""

    name = "tritongpu-coalesce"

    max_vec_bits: int = MAX_ACCESS_BYTES * 8
    """The widest access of one thread to global memory."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        axis_info = solve_axis_info(module)
        ops = list(walk(module))
        chosen = [(op, self._layout(op, axis_info)) for op in ops]
        rewriter = Rewriter()
        for op, layout in chosen:
            if layout is not None:
                _access_in(op, layout, rewriter)

    def _layout(self, op: Operation, axis_info: AxisFacts) -> Attribute | None:
        """The layout for the tensors of `op`, or None if they stay as they are."""
        pinned = _pinned(op)
        if isinstance(op, LocalLoadOp):
            return None if pinned is not None else _wide_rows(op)
        access = access_of(op)
        if access is None or not isinstance(encoding_of(access.pointers.type), Attribute):
            return None
        if pinned is not None:
            return unwrapped(pinned) if isinstance(op, StoreOp) else None
        warps = num_warps_at(op)
        if warps is None or not _is_blocked(access.pointers):
            return None
        return coalesced(
            access.pointers,
            access.mask,
            axis_info,
            warps,
            num_ctas_at(op),
            threads_per_warp_at(op),
            base=access.base,
            known_run=access.known_run,
            max_bytes=self.max_vec_bits // 8,
        )


def _pinned(op: Operation) -> Attribute | None:
    """A layout of a tensor of `op` that the user specified."""
    for value in (*op.operands, *op.results):
        layout = encoding_of(value.type) if is_tensor(value.type) else None
        if isinstance(layout, LayoutMark):
            return layout
    return None


def _is_blocked(value: SSAValue) -> bool:
    return isinstance(encoding_of(value.type), BlockedEncoding)


def _wide_rows(op: LocalLoadOp) -> Attribute | None:
    type, warps = memdesc_of(op.src), num_warps_at(op)
    order = getattr(type.encoding, "order", None)
    if warps is None or order is None or not _is_blocked(op.result):
        return None
    return in_wide_rows(
        shape_of(op.result.type),
        bit_width(type.element_type),
        tuple(order),
        warps,
        num_ctas_at(op),
        threads_per_warp_at(op),
    )


def _access_in(op: Operation, layout: Attribute, rewriter: Rewriter) -> None:
    """Let `op` have all of its tensors in `layout`."""
    for index, value in enumerate(op.operands):
        if is_tensor(value.type) and encoding_of(value.type) not in (None, layout):
            found = ConvertLayoutOp(value, with_encoding(value.type, layout))
            rewriter.insert_before(op, found)
            op.operands[index] = found.result
    for result in list(op.results):
        type = result.type
        if is_tensor(type) and encoding_of(type) not in (None, layout):
            new = rewriter.retype(result, with_encoding(type, layout))
            back = ConvertLayoutOp(new, type)
            rewriter.insert_after(op, back)
            for use in list(new.uses):
                if use.operation is not back:
                    use.operation.operands[use.index] = back.result
