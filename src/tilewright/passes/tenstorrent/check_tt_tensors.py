"""Refuse tensors that are not arguments as the host stores them.

A tensor on the device consists of tiles of 32 x 32 elements, in pages that the host lays out. A
view with other extents, strides or a start of its own has no pages: its elements are in other
tiles, in another order.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.regions import ViewOp
from tilewright.dialects.tile.types import shape_text, space_of
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import functions
from tilewright.passes.tenstorrent.block_shapes import name_of
from tilewright.passes.tenstorrent.reports import NotSupported, reporting


@dataclass(frozen=True)
class CheckTtTensors(Pass):
    """Report tensors that the pages of no argument hold: views of global memory."""

    name = "check-tt-tensors"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            for op in walk(function):
                if isinstance(op, ViewOp) and space_of(op.result.type) is Space.GLOBAL:
                    with reporting(engine):
                        raise NotSupported(op, _view_message(op))


def _view_message(op: ViewOp) -> str:
    shape = shape_text(shape_of(op.result.type))
    return (
        f"a view of '{name_of(base_of(op.source))}' is not supported: its elements are in other "
        f"tiles than those of the tensor; pass a tensor of shape {shape} instead"
    )
