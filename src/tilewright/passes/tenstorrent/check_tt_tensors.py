"""Refuse accesses to tensors that pages of tiles cannot express.

A tensor on the device consists of tiles of 32 x 32 elements, in pages that the host lays out. A
view with other extents, strides or a start of its own has no pages: its elements are in other
tiles, in another order. Where a block reaches out of its tensor, its tiles hold zeros: a copy that
fills with another value is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.analysis.copies.copy_instructions import Starts
from tilewright.analysis.tensors.outside_values import other_than_zero, stays_inside
from tilewright.dialects.tile import CopyOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.regions import PtrAtOp, ViewOp
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
    """Report views of tensors, and copies that fill with a value other than zero."""

    name = "check-tt-tensors"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            starts = Starts(function)
            for op in walk(function):
                with reporting(engine):
                    _check(op, starts)


def _check(op: Operation, starts: Starts) -> None:
    if isinstance(op, ViewOp) and space_of(op.result.type) is Space.GLOBAL:
        raise NotSupported(op, _view_message(op))
    if isinstance(op, CopyOp) and space_of(op.src.type) is Space.GLOBAL:
        reason = other_than_zero(op)
        if reason is not None and not stays_inside(op, starts.ranges):
            raise NotSupported(
                op,
                f"{reason}: blocks are padded with zeros; select the value with T.if_then_else "
                "after the copy",
            )


def _view_message(op: ViewOp) -> str:
    if isinstance(base_of(op.source).owner, PtrAtOp):
        return (
            "memory at an address that the kernel computes is not supported: the pages of tensors "
            "are in several banks; pass the tensor as an argument"
        )
    shape = shape_text(shape_of(op.result.type))
    return (
        f"a view of '{name_of(base_of(op.source))}' is not supported: its elements are in other "
        f"tiles than those of the tensor; pass a tensor of shape {shape} instead"
    )
