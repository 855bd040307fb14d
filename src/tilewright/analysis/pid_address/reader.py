"""Reading kernels for analysis, a little less strictly than a compiler would.

People sketch kernels: a scalar added to a tensor without ``tt.splat``, three dots for what does not
matter, no ``tt.return``. Addresses are well defined all the same. Text is read strictly first,
so that every correct file is read as everywhere else; a sketch is tried only if that fails. Of two
readings that fail, the one that got further reports the error.
"""

from __future__ import annotations

import re
from typing import Any

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import UnresolvedOperand

from tilewright.dialects.type_utils import element_type_of, is_tensor
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source
from tilewright.ir.text.parser import IRParser

_DOTS = re.compile(r"^[ \t]*\.\.\.[ \t]*$", re.MULTILINE)


def read_kernels(
    context: Context, text: str, name: str, engine: DiagnosticEngine
) -> ModuleOp | None:
    """The module in `text`; None, with errors in `engine`, if it cannot be read."""
    strict, loose = DiagnosticEngine(), DiagnosticEngine()
    source = parse_source(context, text, name, strict)
    if source is None:
        without_dots = _DOTS.sub(lambda dots: " " * len(dots[0]), text)
        source = parse_source(context, without_dots, name, loose, parser_class=_SketchParser)
    engine.sources.add(name, text, 1)
    if source is not None:
        return source.module
    for diagnostic in max((strict, loose), key=_progress).diagnostics:
        engine.emit(diagnostic)
    return None


def _progress(engine: DiagnosticEngine) -> tuple[int, int]:
    """How far a reading got before its first error."""
    position = next((each.trail.primary for each in engine.diagnostics), None)
    return (0, 0) if position is None else (position.line, position.column)


class _SketchParser(IRParser):
    """Takes a scalar where a tensor of such scalars is required: the same value in every lane."""

    @override
    def resolve_operand(self, operand: UnresolvedOperand, type: Any) -> Any:
        known = self.ssa_values.get(operand.operand_name)
        if known is not None and operand.index < len(known):
            value = known[operand.index]
            if is_tensor(type) and value.type == element_type_of(type):
                return value
        return super().resolve_operand(operand, type)
