"""`drop-layout-hints`: layouts of shared buffers that only request a swizzle are chosen here.

``T.annotate_layout({A: T.make_swizzled_layout(A)})`` requests the absence of bank conflicts, not
that exact layout. The hardware has its own swizzles, which TMA and the tensor cores support;
`infer-layouts` picks the best of them once the hint is gone. A layout of any other form
was meant, and stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tile import AllocOp
from tilewright.dialects.tile.attributes import LayoutAttr
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk

_UNIT_BYTES = 16
_PERIOD_BYTES = 128


@dataclass(frozen=True)
class DropLayoutHints(Pass):
    """Forget layouts of shared buffers that leave the choice to the compiler."""

    name = "drop-layout-hints"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in walk(module):
            if isinstance(op, AllocOp) and op.space.is_shared and _is_hint(op):
                del op.properties["layout"]


def _is_hint(op: AllocOp) -> bool:
    if not isinstance(op.layout, LayoutAttr):
        return False
    shape = shape_of(op.result.type)
    if len(shape) < 2:
        return False
    offsets = _flat(op.layout.data.evaluate(*np.indices(shape)), shape)
    if offsets is None:
        return False
    plain = np.arange(offsets.size).reshape(shape)
    return bool((offsets == plain).all() or (offsets == _swizzled(op, shape)).all())


def _flat(found: Sequence[Any], shape: Sequence[int]) -> np.ndarray | None:
    """The offset of every element, if the layout preserves the extents of the buffer."""
    if len(found) != len(shape):
        return None
    offset: Any = 0
    for each, size in zip(found, shape, strict=True):
        offset = offset * size + np.broadcast_to(np.asarray(each), tuple(shape))
    return np.asarray(offset)


def _swizzled(op: AllocOp, shape: tuple[int, ...]) -> np.ndarray:
    """Column offsets with 16-byte units exchanged row by row."""
    *_, columns = shape
    width = max(1, bit_width(element_type_of(op.result.type)) // 8)
    unit = max(1, _UNIT_BYTES // width)
    period = max(1, min(_PERIOD_BYTES // width, columns) // unit)
    period = 1 << (period.bit_length() - 1)
    *outer, row, column = np.indices(shape)
    moved = ((column // unit) ^ (row % period)) * unit + column % unit
    found = _flat([*outer, row, moved], shape)
    assert found is not None
    return found
