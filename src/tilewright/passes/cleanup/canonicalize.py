"""Rewrite IR into one form: folded, simplified, constants gathered at the top of functions.

All rules run together until none applies: folding (``dialects.folding``), the rewrites in
``passes.canonicalization``, and removal of dead ops. What they agree on is MLIR's canonical form
where MLIR has one: constants on the right, one op per constant, no loop that runs never or once.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import AnyPattern, RewritePattern, Rewriter, apply_patterns
from tilewright.passes.cleanup.canonicalization.arith import arith_patterns
from tilewright.passes.cleanup.canonicalization.blocks import block_patterns, simplify_blocks
from tilewright.passes.cleanup.canonicalization.branches import branch_patterns
from tilewright.passes.cleanup.canonicalization.constants import ConstantPool
from tilewright.passes.cleanup.canonicalization.fold import FoldOps
from tilewright.passes.cleanup.canonicalization.loops import loop_patterns
from tilewright.passes.cleanup.canonicalization.shapes import SHAPE_PATTERNS
from tilewright.passes.cleanup.canonicalization.tiles import TILE_PATTERNS


@dataclass(frozen=True)
class Canonicalize(Pass):
    """Fold and simplify until nothing changes."""

    name = "canonicalize"

    max_iterations: int = 10
    """Sweeps over the module before giving up; the result is valid all the same."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        canonicalize(module, self.max_iterations)


def canonicalize(root: Operation, max_iterations: int = 10) -> bool:
    """Rewrite everything inside ``root`` into canonical form; false if it did not converge."""
    rewriter = Rewriter()
    pool = ConstantPool()
    pool.gather(root, rewriter)
    rules = Rules(pool)
    for _ in range(max_iterations):
        result = apply_patterns(root, [rules], max_iterations)
        if not simplify_blocks(root, rewriter):
            return result.converged
    return False


class Rules(RewritePattern[Operation]):
    """All rules as one pattern, which finds those of an op by its name."""

    def __init__(self, pool: ConstantPool):
        self._fold = FoldOps(pool)
        self._by_name: dict[str, list[AnyPattern]] = {}
        patterns = (
            *arith_patterns(pool),
            *branch_patterns(pool),
            *loop_patterns(pool),
            *block_patterns(pool),
            *SHAPE_PATTERNS,
            *TILE_PATTERNS,
        )
        for each in patterns:
            for root in each.roots:
                name = root if isinstance(root, str) else root.name
                self._by_name.setdefault(name, []).append(each)

    @override
    def starts_from(self, cls: type[Operation]) -> bool:
        return self._fold.starts_from(cls) or cls.name in self._by_name

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> None:
        self._fold.match_and_rewrite(op, rewriter)
        for each in self._by_name.get(op.name, ()):
            if rewriter.changed:
                return
            each.match_and_rewrite(op, rewriter)
