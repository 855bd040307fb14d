"""Replace ops by what they compute, and put constants on the right.

The rules are those of ``dialects.folding`` and of ops that carry ``Foldable`` themselves. An
attribute that a rule returns becomes a gathered constant. The constant of a commutative op goes to
the right, so that every other rule needs to look there only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from typing_extensions import override
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import Commutative

from tilewright.dialects.folding import FoldRule, rule_for
from tilewright.ir.rewrite import RewritePattern, Rewriter
from tilewright.ir.text.accessors import operands_of
from tilewright.passes.cleanup.canonicalization.constants import ConstantPool, is_constant_class


@dataclass(frozen=True, slots=True)
class _Plan:
    """What folding means for one op class."""

    rule: FoldRule | None
    commutative: bool


class FoldOps(RewritePattern[Operation]):
    """Folding, as a pattern."""

    def __init__(self, pool: ConstantPool):
        self._pool = pool
        self._plans: dict[type[Operation], _Plan | None] = {}

    @override
    def starts_from(self, cls: type[Operation]) -> bool:
        return self._plan(cls) is not None

    def _plan(self, cls: type[Operation]) -> _Plan | None:
        try:
            return self._plans[cls]
        except KeyError:
            plan = self._plans[cls] = _plan_for(cls)
            return plan

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> None:
        plan = self._plan(op.__class__)
        if plan is None:
            return
        value_of = self._pool.value
        constants = [value_of(each) for each in operands_of(op)]
        folded = None if plan.rule is None else plan.rule(op, constants)
        if folded is not None:
            self._replace(op, folded, rewriter)
        elif plan.commutative:
            self._order_operands(op, constants, rewriter)

    def _replace(
        self, op: Operation, folded: Sequence[SSAValue | Attribute], rewriter: Rewriter
    ) -> None:
        if all(a is b for a, b in zip(folded, op.results, strict=True)):
            return
        results: list[SSAValue] = []
        for value, result in zip(folded, op.results, strict=True):
            if isinstance(value, Attribute):
                constant = self._pool.get(value, result.type, op, rewriter)
                if constant is None:
                    return
                value = constant
            results.append(value)
        rewriter.replace_op(op, (), results)

    def _order_operands(
        self, op: Operation, constants: Sequence[Attribute | None], rewriter: Rewriter
    ) -> None:
        if len(constants) != 2 or constants[0] is None or constants[1] is not None:
            return
        op.operands = (op.operands[1], op.operands[0])
        rewriter.modified(op)


def _plan_for(cls: type[Operation]) -> _Plan | None:
    if is_constant_class(cls):
        return None
    rule, commutative = rule_for(cls), _is_commutative(cls)
    return _Plan(rule, commutative) if rule is not None or commutative else None


@cache
def _is_commutative(cls: type[Operation]) -> bool:
    return cls.get_trait(Commutative) is not None
