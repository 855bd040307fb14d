"""Type constraints with MLIR's descriptions.

MLIR reports a wrong operand as ``operand #0 must be ranked tensor of floating-point values, but
got 'i32'``. The description in the middle belongs to the constraint, so a constraint here is a
predicate and its description; ``ir.verify`` makes the sentence. It is an order of magnitude
cheaper to check than a tree of xDSL constraint objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import TypeVar, override
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint
from xdsl.irdl.constraints import IntConstraint, VerificationContext
from xdsl.utils.exceptions import VerifyException


@dataclass(frozen=True)
class Satisfies(AttrConstraint[Attribute]):
    """Holds for types the predicate accepts; `bases` lists the only classes it can accept."""

    description: str
    predicate: Callable[[Any], bool]
    bases: tuple[type[Attribute], ...] = ()
    syntax: Any = field(default=None, compare=False)
    """How a property prints where a format names it, an `ir.text.syntax.AttributeSyntax`."""

    @override
    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not self.predicate(attr):
            raise VerifyException(f"must be {self.description}, but got '{attr}'")

    @override
    def get_bases(self) -> set[type[Attribute]] | None:
        return set(self.bases) or None

    @override
    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]
    ) -> AttrConstraint[Attribute]:
        return self


def instance_of(description: str, *classes: type[Attribute]) -> Satisfies:
    """Attributes of one of `classes`."""
    return Satisfies(description, lambda attribute: isinstance(attribute, classes), classes)


def either(*constraints: Satisfies) -> Satisfies:
    """What any of `constraints` accepts, described as MLIR joins alternatives."""
    return Satisfies(
        " or ".join(constraint.description for constraint in constraints),
        lambda attribute: any(constraint.predicate(attribute) for constraint in constraints),
        tuple(base for constraint in constraints for base in constraint.bases),
    )
