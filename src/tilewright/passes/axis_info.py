"""Report contiguity, divisibility and constancy of every value.

Remarks have the format of Triton's own alignment tests. With ``attributes`` pointers and integers
also get the hints that ``tl.max_contiguous`` and ``tl.multiple_of`` would write by hand, as far as
they are not trivial: ``tt.contiguity``, ``tt.divisibility`` and ``tt.constancy``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.analysis.axis_info import AxisInfo
from tilewright.analysis.pid_address import axis_facts
from tilewright.dialects.folding.constants import from_values
from tilewright.dialects.tt import FuncOp
from tilewright.dialects.type_utils import PointerLike, element_type_of, shape_of, tensor_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk

_MAX_HINT = 2**31 - 1
"""Hints are 32-bit integers."""


@dataclass(frozen=True)
class AxisInfoPass(Pass):
    """Report contiguity, divisibility and constancy of every value, in remarks or hints."""

    name = "axis-info"
    attributes: bool = False
    """Write hints onto ops that compute addresses."""
    remarks: bool = True
    """Report them in remarks."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        known = axis_facts(module)
        for op in list(walk(module)):
            if not op.results or isinstance(op, FuncOp):
                continue
            if self.remarks:
                engine.remark(op, str(known[op.results[0]]))
            if self.attributes and _is_address(op.results[0]):
                op.attributes.update(_hints(op, known[op.results[0]]))


def _is_address(value: SSAValue) -> bool:
    return bool(shape_of(value.type)) and isinstance(element_type_of(value.type), PointerLike)


def _hints(op: Operation, info: AxisInfo) -> dict[str, Attribute]:
    found = {
        "tt.contiguity": info.contiguity,
        "tt.divisibility": info.divisibility,
        "tt.constancy": info.constancy,
    }
    return {
        name: _dense(values)
        for name, values in found.items()
        # User-written hints take precedence, and ones are trivial.
        if name not in op.attributes and any(value > 1 for value in values)
    }


def _dense(values: tuple[int, ...]) -> Attribute:
    made = from_values(list(_fitting(values)), tensor_of(i32, [len(values)]))
    assert made is not None  # which only scalar types lead to
    return made


def _fitting(values: tuple[int, ...]) -> Iterator[int]:
    for value in values:
        while value > _MAX_HINT:
            value //= 2
        yield value
