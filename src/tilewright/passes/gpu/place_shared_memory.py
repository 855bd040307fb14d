"""`place-shared-memory`: every shared buffer of a kernel gets its place in one arena.

Barriers come first, outside of any sharing. Then buffers in their order, each at a multiple of the
alignment it asks for.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from tilewright.dialects.func import FuncOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.tile import AllocOp
from tilewright.dialects.type_utils import bit_width, element_type_of, num_elements
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass

LIMIT = 232448
"""Bytes of shared memory that a block of Hopper may have."""
_BARRIER_BYTES = 8
_DEFAULT_ALIGN = 16


@dataclass(frozen=True)
class PlaceSharedMemory(Pass):
    """Give shared buffers their addresses."""

    name = "place-shared-memory"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if isinstance(function, FuncOp) and nv_names.KERNEL in function.attributes:
                _place(function, engine)


def _place(function: FuncOp, engine: DiagnosticEngine) -> None:
    allocs = [
        op
        for op in function.walk()
        if isinstance(op, AllocOp) and (op.space.is_shared or op.space.is_barrier)
    ]
    top = 0
    # Large alignments first: nothing is lost between them.
    for op in sorted(allocs, key=lambda op: -_alignment(op)):
        align = _alignment(op)
        top = -(-top // align) * align
        op.properties["offset"] = IntegerAttr(top, i64)
        top += _bytes(op)
    function.attributes[nv_names.SHARED_BYTES] = IntegerAttr(top, i64)
    if top > LIMIT:
        diagnostic = engine.error(
            function,
            f"the kernel needs {top} bytes of shared memory, a block has {LIMIT}",
            "TW5001",
        )
        for op in sorted(allocs, key=_bytes, reverse=True)[:5]:
            diagnostic.note(op, f"'{op.buffer_name}' takes {_bytes(op)} bytes")


def _alignment(op: AllocOp) -> int:
    if op.space.is_barrier:
        return _BARRIER_BYTES
    found = op.attributes.get(nv_names.ALIGN)
    return found.value.data if isinstance(found, IntegerAttr) else _DEFAULT_ALIGN


def _bytes(op: AllocOp) -> int:
    if op.space.is_barrier:
        return num_elements(op.result.type) * _BARRIER_BYTES
    return num_elements(op.result.type) * bit_width(element_type_of(op.result.type)) // 8
