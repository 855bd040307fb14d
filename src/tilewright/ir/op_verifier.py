"""Checks one op against its definition, with MLIR's messages and at a fraction of xDSL's cost.

What an op class declares (operands, results, properties, regions, traits, type rules) is turned
into a list of checks once per class. A type that was accepted before is not examined again:
types are shared objects within a module, so most operands cost one dictionary lookup. The order
is MLIR's: shape of the op, types, attributes, type rules, traits, then the op's own ``verify_``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AttrConstraint,
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    IRDLOperation,
    OptionalDef,
    OptPropertyDef,
    VariadicDef,
)
from xdsl.irdl.constraints import (
    EqAttrConstraint,
    RangeLengthConstraint,
    RangeOf,
    VerificationContext,
)
from xdsl.irdl.operations import OpDef
from xdsl.traits import HasParent, IsolatedFromAbove, IsTerminator, SymbolTable
from xdsl.utils.exceptions import VerifyException

from tilewright.ir.constraints import Satisfies
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.internals import original_verifier

_CACHE_LIMIT = 4096

_CHECKED_BY_THE_WALK = (IsolatedFromAbove, IsTerminator, HasParent, SymbolTable)
"""Traits about an op's surroundings; ``ir.verify`` sees to them with better messages."""


class _Slot:
    """One operand or result of a definition."""

    def __init__(self, name: str, definition: Any) -> None:
        self.name = name
        self.is_optional = isinstance(definition, OptionalDef)
        self.is_single = not isinstance(definition, VariadicDef)
        self._prefix = "" if self.is_single or self.is_optional else "variadic of "
        self.constraint = element_constraint(definition)
        self.depends_on_others = self.constraint is None or bool(self.constraint.variables())
        self._range = definition.constr
        self._accepted: dict[int, Attribute] = {}

    def check(
        self, types: Sequence[Attribute], first: int, kind: str, context: VerificationContext
    ) -> None:
        """Check the types at positions `first` and following."""
        if self.depends_on_others:
            self._check_range(types, first, kind, context)
            return
        for offset, type in enumerate(types):
            if id(type) not in self._accepted:
                self._examine(type, f"{kind} #{first + offset}", context)

    def _examine(self, type: Attribute, position: str, context: VerificationContext) -> None:
        constraint = self.constraint
        assert constraint is not None
        try:
            constraint.verify(type, context)
        except VerifyException:
            description = f"{self._prefix}{describe(constraint)}"
            message = f"{position} must be {description}, but got '{type}'"
            raise VerifyException(message) from None
        if len(self._accepted) > _CACHE_LIMIT:
            self._accepted.clear()
        self._accepted[id(type)] = type  # the reference keeps the id from being reused

    def _check_range(
        self, types: Sequence[Attribute], first: int, kind: str, context: VerificationContext
    ) -> None:
        try:
            self._range.verify(types, context)
        except VerifyException as error:
            raise VerifyException(f"{kind} #{first}: {error}") from None


def element_constraint(definition: Any) -> AttrConstraint | None:
    """The constraint on each single type of an operand or result definition, if there is one."""
    constraint: Any = definition.constr
    if isinstance(constraint, RangeLengthConstraint):
        constraint = cast("Any", constraint).constraint
    return cast("Any", constraint).constr if isinstance(constraint, RangeOf) else None


def describe(constraint: AttrConstraint) -> str:
    """The description of a constraint."""
    if isinstance(constraint, Satisfies):
        return constraint.description
    if isinstance(constraint, EqAttrConstraint):
        return describe_type(constraint.attr)
    bases = constraint.get_bases()
    if bases:
        return " or ".join(sorted(base.name for base in bases))
    return "of another type"


def describe_type(type: Attribute) -> str:
    """One exact type as MLIR describes it in an error."""
    if isinstance(type, IntegerType):
        return f"{type.width.data}-bit signless integer"
    if isinstance(type, IndexType):
        return "index"
    return f"'{type}'"


class OpVerifier:
    """The checks of one op class."""

    def __init__(self, op: type[IRDLOperation]) -> None:
        definition = op.get_irdl_definition()
        self._definition = definition
        self._operands = [_Slot(name, value) for name, value in definition.operands]
        self._results = [_Slot(name, value) for name, value in definition.results]
        self._operand_sizes = _segments(definition, AttrSizedOperandSegments)
        self._result_sizes = _segments(definition, AttrSizedResultSegments)
        self._required = [
            (name, value.constr)
            for name, value in definition.properties.items()
            if not isinstance(value, OptPropertyDef)
        ]
        self._optional = [
            (name, value.constr)
            for name, value in definition.properties.items()
            if isinstance(value, OptPropertyDef)
        ]
        self._known = frozenset(definition.properties)
        self._traits = sorted(
            (t for t in definition.traits if not isinstance(t, _CHECKED_BY_THE_WALK)),
            key=lambda trait: type(trait).__name__,
        )
        self._own = original_verifier(op)
        self._rules: Callable[[Any], None] | None = getattr(op, "verify_type_rules", None)
        if self._rules is AsmOp.verify_type_rules and not getattr(op, "TYPES", None):
            self._rules = None

    def verify(self, op: Operation) -> None:
        """Raise VerifyException for the first thing wrong with `op`, nested ops excluded."""
        context = VerificationContext()
        self._check_values(op, "operand", self._operands, self._operand_sizes, context)
        self._check_values(op, "result", self._results, self._result_sizes, context)
        self._check_counts(op)
        self._check_properties(op.properties, context)
        if self._rules is not None:
            self._rules(op)
        for trait in self._traits:
            trait.verify(op)
        if self._own is not None:
            self._own(op)

    def _check_values(
        self,
        op: Operation,
        kind: str,
        slots: Sequence[_Slot],
        segments: str | None,
        context: VerificationContext,
    ) -> None:
        values: Sequence[Any] = op.operands if kind == "operand" else op.results
        sizes = self._sizes(op, kind, slots, segments, len(values))
        first = 0
        for slot, size in zip(slots, sizes, strict=True):
            slot.check([value.type for value in values[first : first + size]], first, kind, context)
            first += size

    def _sizes(
        self, op: Operation, kind: str, slots: Sequence[_Slot], segments: str | None, count: int
    ) -> Sequence[int]:
        """How many values belong to each slot."""
        if segments is not None:
            return _declared_sizes(op, kind, slots, segments, count)
        fixed = sum(slot.is_single for slot in slots)
        if fixed == len(slots):
            if count != fixed:
                raise VerifyException(wrong_count(kind, fixed, count))
            return (1,) * count
        flexible = count - fixed
        slot = next(slot for slot in slots if not slot.is_single)
        if flexible < 0:
            raise VerifyException(wrong_count(kind, fixed, count, or_more=True))
        if slot.is_optional and flexible > 1:
            raise VerifyException(wrong_count(kind, fixed + 1, count))
        # Several variadics without sizes in the op share what is left equally.
        share, rest = divmod(flexible, len(slots) - fixed)
        if rest:
            raise VerifyException(
                f"requires the same number of values in each of its {len(slots) - fixed} "
                f"variadic {kind}s, but found {flexible} in all"
            )
        return [1 if slot.is_single else share for slot in slots]

    def _check_counts(self, op: Operation) -> None:
        definition = self._definition
        for kind, slots, actual in (
            ("region", definition.regions, len(op.regions)),
            ("successor", definition.successors, len(op.successors)),
        ):
            fixed = sum(not isinstance(value, VariadicDef) for _, value in slots)
            if actual < fixed or (fixed == len(slots) and actual != fixed):
                or_more = fixed != len(slots)
                raise VerifyException(wrong_count(kind, fixed, actual, or_more=or_more))

    def _check_properties(
        self, properties: Mapping[str, Attribute], context: VerificationContext
    ) -> None:
        for name, constraint in self._required:
            if name not in properties:
                raise VerifyException(f"requires attribute '{name}'")
            self._check_property(name, properties[name], constraint, context)
        for name, constraint in self._optional:
            if name in properties:
                self._check_property(name, properties[name], constraint, context)
        if not self._known.issuperset(properties):
            unknown = next(name for name in properties if name not in self._known)
            raise VerifyException(f"has no property '{unknown}'")

    def _check_property(
        self,
        name: str,
        attribute: Attribute,
        constraint: AttrConstraint,
        context: VerificationContext,
    ) -> None:
        try:
            constraint.verify(attribute, context)
        except VerifyException:
            expected = _describe_attribute(constraint)
            raise VerifyException(
                f"attribute '{name}' failed to satisfy constraint: {expected}"
            ) from None


def wrong_count(kind: str, expected: int, actual: int, *, or_more: bool = False) -> str:
    """MLIR's sentence for a wrong number of operands, results, regions or successors."""
    plural = kind if expected == 1 else f"{kind}s"
    if kind == "successor":
        return f"requires {'at least ' if or_more else ''}{expected} {plural} but found {actual}"
    but_found = f", but found {actual}" if kind == "operand" else ""
    if or_more:
        return f"expected {expected} or more {kind}s{but_found}"
    if expected > 1:
        return f"expected {expected} {kind}s{but_found}"
    return f"requires {('zero', 'a single' if kind == 'operand' else 'one')[expected]} {plural}"


def _describe_attribute(constraint: AttrConstraint) -> str:
    if isinstance(constraint, Satisfies):
        return constraint.description
    bases = constraint.get_bases()
    if bases == {IntegerAttr}:
        inner = getattr(constraint, "constr", constraint)
        types = [c for c in getattr(inner, "param_constrs", ()) if isinstance(c, EqAttrConstraint)]
        if types:
            return f"{describe_type(types[-1].attr)} attribute"
        return "integer attribute"
    return f"{describe(constraint)} attribute"


def _segments(definition: OpDef, option: type[Any]) -> str | None:
    for each in definition.options:
        if isinstance(each, option):
            return cast("str", cast("Any", each).attribute_name)
    return None


def _declared_sizes(
    op: Operation, kind: str, slots: Sequence[_Slot], segments: str, count: int
) -> Sequence[int]:
    attribute = op.properties.get(segments)
    if not isinstance(attribute, DenseArrayBase):
        raise VerifyException(f"requires attribute '{segments}'")
    sizes = [int(size) for size in cast("Any", attribute).get_values()]
    if len(sizes) != len(slots):
        raise VerifyException(
            f"'{segments}' attribute for specifying {kind} segments must have {len(slots)} "
            f"elements, but got {len(sizes)}"
        )
    for slot, size in zip(slots, sizes, strict=True):
        if size < 0:
            raise VerifyException(f"'{segments}' attribute cannot have negative elements")
        if (slot.is_single and size != 1) or (slot.is_optional and size > 1):
            raise VerifyException(f"'{segments}' gives {size} {kind}s to '{slot.name}'")
    if sum(sizes) != count:
        raise VerifyException(
            f"{kind} count ({count}) does not match with the total size ({sum(sizes)}) "
            f"specified in attribute '{segments}'"
        )
    return sizes


_verifiers: dict[type[Operation], OpVerifier] = {}


def verify_by_definition(op: Operation) -> None:
    """Raise VerifyException if `op`, taken by itself, is not what its definition allows."""
    verifier = _verifiers.get(op.__class__)
    if verifier is None:
        if not isinstance(op, IRDLOperation):
            op.verify_()
            return
        verifier = _verifiers[op.__class__] = OpVerifier(type(op))
    verifier.verify(op)
