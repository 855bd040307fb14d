"""The warning about registers of a kernel that spill, which lists its large arrays of registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.ir import Operation

from tilewright.dialects.func import FuncOp
from tilewright.dialects.scf import ForOp, WhileOp
from tilewright.dialects.tile import AllocOp, Space
from tilewright.dialects.type_utils import bit_width, element_type_of, num_elements
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk

SPILLED = "TW5012"
"""Registers that spill."""
_REGISTER_BITS = 32
_LARGE = 16
"""Registers of an array that is worth a line."""


def warn(
    function: FuncOp,
    message: str,
    threads: int,
    suggest_fix: Callable[[str], str],
    engine: DiagnosticEngine,
) -> None:
    """Warn; `threads` hold the arrays, and the fix may name the largest of them (or none: "")."""
    warning = engine.warning(function, message, SPILLED)
    arrays = list(register_arrays(function))
    for op, size in arrays:
        warning.note(
            op, f"'{op.buffer_name}' needs {size} registers per thread ({threads} threads)"
        )
    largest = max(arrays, key=lambda each: each[1], default=None)
    name = "" if largest is None else largest[0].buffer_name
    warning.note(None, f"help: {suggest_fix(name)}")


def register_arrays(function: FuncOp) -> Iterator[tuple[AllocOp, int]]:
    """Those that are live throughout, not allocated in each iteration, and their registers."""
    for op in walk(function):
        if not isinstance(op, AllocOp) or op.space is not Space.LOCAL or _is_in_loop(op):
            continue
        bits = num_elements(op.result.type) * bit_width(element_type_of(op.result.type))
        if bits >= _LARGE * _REGISTER_BITS:
            yield op, -(-bits // _REGISTER_BITS)


def _is_in_loop(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        if isinstance(parent, ForOp | WhileOp):
            return True
        parent = parent.parent_op()
    return False
