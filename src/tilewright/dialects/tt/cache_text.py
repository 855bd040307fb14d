"""Cache policies in the text of loads and stores, for every release.

``access_attributes`` is the attribute dictionary of an op with a ``cachePolicy`` property, and the
clauses that preceded it before Triton 3.9. Reading accepts both. Writing queries the
flavour: see ``attributes`` for the two forms. In a format it replaces ``attr-dict``, with
an empty literal before it because it has its own spaces::

    "$ptr `` custom<Attributes>($cachePolicy, $isVolatile) `:` type($ptr)"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.attributes import (
    NO_MODIFIER,
    NORMAL_EVICTION,
    CachePolicy,
    CachePolicyAttr,
)
from tilewright.dialects.tt.enums import CACHE_MODIFIER, EVICTION_POLICY
from tilewright.ir.text.assembly import AsmOp, Directive
from tilewright.ir.text.elements import ParseState
from tilewright.ir.text.flavour import Flavour
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter
from tilewright.ir.text.syntax import Enum

_CLAUSES = {
    "cacheModifier": ("cache_modifier", CACHE_MODIFIER),
    "evictionPolicy": ("eviction_policy", EVICTION_POLICY),
}
_OLD_PROPERTIES = {
    "cache": ("cache_modifier", CACHE_MODIFIER),
    "evict": ("eviction_policy", EVICTION_POLICY),
}


def writes_clauses(flavour: Flavour) -> bool:
    """Whether the policy is written as clauses rather than as an attribute."""
    return flavour.is_tlx or not flavour.at_least(3, 9)


def access_attributes(
    names: Sequence[str], defaults: Mapping[str, Attribute] | None = None
) -> Directive:
    """The attribute dictionary of an op with the properties `names`, and the clauses before it."""
    properties = frozenset((*names, "cachePolicy"))

    def parse(parser: IRParser, state: ParseState) -> None:
        policy = _parse_clauses(parser)
        if policy is not None:
            state.properties["cachePolicy"] = policy
        for name, attribute in parser.parse_optional_attr_dict().items():
            target = state.properties if name in properties else state.attributes
            target[name] = attribute

    def write(printer: IRPrinter, op: AsmOp) -> None:
        shown = {
            name: attribute
            for name, attribute in op.properties.items()
            if name in properties and attribute != (defaults or {}).get(name)
        }
        if writes_clauses(printer.flavour):
            _print_clauses(printer, shown.pop("cachePolicy", None))
        printer.print_op_attributes({**shown, **op.attributes})

    return Directive(parse, write)


def _parse_clauses(parser: IRParser) -> CachePolicyAttr | None:
    found: dict[str, str] = {}
    remaining = dict(_CLAUSES)
    while (clause := remaining.pop(parser.next_text, None)) is not None:
        parser.parse_identifier()
        parser.parse_punctuation("=")
        name, enum = clause
        found[name] = parser.parse_keyword_from({case: case for case in enum.keywords})
    return CachePolicyAttr.get(**found) if found else None


def _print_clauses(printer: IRPrinter, policy: Attribute | None) -> None:
    if not isinstance(policy, CachePolicy):
        return
    if policy.cache_modifier != NO_MODIFIER:
        printer.print_string(f" cacheModifier = {policy.cache_modifier}")
    if isinstance(policy, CachePolicyAttr) and policy.eviction_policy != NORMAL_EVICTION:
        printer.print_string(f" evictionPolicy = {policy.eviction_policy}")


class CachedAccess(AsmOp):
    """Base of ops with a cache policy; generic text of older releases has two enumerations."""

    @classmethod
    @override
    def create(
        cls,
        *,
        properties: Mapping[str, Attribute] = {},
        attributes: Mapping[str, Attribute] = {},
        **parts: Any,
    ) -> Self:
        current, rest = dict(properties), dict(attributes)
        cases = _take_cases(current) | _take_cases(rest)
        if any(case not in (NO_MODIFIER, NORMAL_EVICTION) for case in cases.values()):
            current["cachePolicy"] = CachePolicyAttr.get(**cases)
        return super().create(properties=current, attributes=rest, **parts)

    @property
    def cache_policy(self) -> CachePolicy | None:
        """The policy, if the op has one."""
        policy = self.properties.get("cachePolicy")
        return policy if isinstance(policy, CachePolicy) else None

    @property
    def cache_modifier(self) -> str:
        policy = self.cache_policy
        return NO_MODIFIER if policy is None else policy.cache_modifier

    @property
    def eviction_policy(self) -> str:
        policy = self.cache_policy
        return policy.eviction_policy if isinstance(policy, CachePolicyAttr) else NORMAL_EVICTION


def _take_cases(attributes: dict[str, Attribute]) -> dict[str, str]:
    """Remove the enumerations of older releases; their cases, by name."""
    cases: dict[str, str] = {}
    for key, (name, enum) in _OLD_PROPERTIES.items():
        if _is_case(attributes.get(key), enum):
            cases[name] = enum.keyword(cast("IntegerAttr", attributes.pop(key)))
    return cases


def _is_case(attribute: Attribute | None, enum: Enum) -> bool:
    return isinstance(attribute, IntegerAttr) and enum.keyword(attribute) in enum.keywords


def check_cache_policy(policy: Attribute | None, accesses: str, modifiers: frozenset[str]) -> None:
    """Raise unless `policy` is one, with a modifier that makes sense for `accesses`."""
    if policy is None:
        return
    if not isinstance(policy, CachePolicy):
        raise VerifyException(f"unsupported cache policy attribute {policy}")
    if policy.cache_modifier not in modifiers:
        raise VerifyException(
            f"invalid cache policy: cache modifier '{policy.cache_modifier}' is not supported "
            f"for {accesses}"
        )
