"""What ops compute when their operands are constant, by the name of the op.

``fold`` returns constants or existing values for an op's results and changes nothing. The
rules are in one table per kind of op; each file lists which results are never folded and why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from xdsl.ir import Operation

from tilewright.dialects.folding import casts, compare, floating, integer, shape
from tilewright.dialects.folding.constants import Constants
from tilewright.ir.interfaces import Foldable, Folded

FoldRule: TypeAlias = Callable[[Operation, Constants], Folded]

FOLDS: Mapping[str, FoldRule] = {
    **integer.FOLDS,
    **floating.FOLDS,
    **compare.FOLDS,
    **casts.FOLDS,
    **shape.FOLDS,
}


def fold(op: Operation, constants: Constants) -> Folded:
    """What the results of ``op`` are, given its operands' values where they are constant.

    The rule comes from the tables here, or from the op's own ``Foldable`` trait.
    """
    rule = rule_for(type(op))
    return None if rule is None else rule(op, constants)


def rule_for(cls: type[Operation]) -> FoldRule | None:
    """The rule for all ops of a class; a table's rule goes before the class's own."""
    rule = FOLDS.get(cls.name)
    if rule is not None:
        return rule
    trait = cls.get_trait(Foldable)
    return None if trait is None else trait.fold


__all__ = ["FOLDS", "FoldRule", "fold", "rule_for"]
