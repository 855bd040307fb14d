"""Dead code elimination: drop ops whose results are unused and that have no effects.

Walking backwards, an op is visited after all its users, so one sweep also removes what only dead
ops used. Unused reads and allocations count as dead; results and arguments
of loops and branches stay as they are, which is the canonicaliser's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import always_removable, is_removable, never_removable
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk


@dataclass(frozen=True)
class Dce(Pass):
    """Erase unused ops without side effects."""

    name = "dce"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        eliminate_dead_code(module, Rewriter())


def eliminate_dead_code(root: Operation, rewriter: Rewriter) -> None:
    """Erase the dead ops inside ``root``."""
    for op in reversed(list(walk(root))[1:]):
        removable = _removable(type(op))
        if removable is False or any(result.first_use is not None for result in op.results):
            continue
        if removable or is_removable(op):
            rewriter.erase(op)


@cache
def _removable(cls: type[Operation]) -> bool | None:
    """Whether unused ops of a class may go; ``None`` if that depends on the op."""
    if never_removable(cls):
        return False
    return True if always_removable(cls) else None
