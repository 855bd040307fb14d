"""Cache policies: the cache hints of a load or store.

Stored is the form of Triton 3.9: one optional property ``cachePolicy``. Releases before and TLX
have two enumerations instead, written as clauses and left out where normal::

    before     tt.load %p cacheModifier = ca evictionPolicy = evict_last
    3.9        tt.load %p {cachePolicy =
                   #tt.cache_policy<cache_modifier = ca, eviction_policy = evict_last>}

Dialects of targets have policies of their own. Whatever has a cache modifier can be a policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from typing_extensions import override
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.enums import CACHE_MODIFIER, EVICTION_POLICY
from tilewright.ir.text.syntax import Enum

NO_MODIFIER = "none"
NORMAL_EVICTION = "evict_normal"

_PARAMETERS = {"cache_modifier": CACHE_MODIFIER, "eviction_policy": EVICTION_POLICY}


@runtime_checkable
class CachePolicy(Protocol):
    """The interface of all cache policies, those of other dialects included."""

    @property
    def cache_modifier(self) -> str: ...


@irdl_attr_definition
class CachePolicyAttr(ParametrizedAttribute):
    """``#tt.cache_policy<...>``: a cache modifier and an eviction policy."""

    name = "tt.cache_policy"

    modifier: StringAttr
    eviction: StringAttr

    @classmethod
    def get(
        cls, cache_modifier: str = NO_MODIFIER, eviction_policy: str = NORMAL_EVICTION
    ) -> CachePolicyAttr:
        """The policy with these two keywords."""
        return cls(StringAttr(cache_modifier), StringAttr(eviction_policy))

    @property
    def cache_modifier(self) -> str:
        return self.modifier.data

    @property
    def eviction_policy(self) -> str:
        return self.eviction.data

    @override
    def verify(self) -> None:
        for enum, case in ((CACHE_MODIFIER, self.modifier), (EVICTION_POLICY, self.eviction)):
            if case.data not in enum.keywords:
                raise VerifyException(f"expected one of: {', '.join(enum.keywords)}")

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        found: dict[str, str] = {}

        def parse_entry() -> None:
            name = parser.parse_identifier(" for a parameter name in struct")
            if name not in _PARAMETERS or name in found:
                parser.raise_error(f"duplicate or unknown struct parameter name: {name}")
            parser.parse_punctuation("=")
            found[name] = _parse_case(parser, _PARAMETERS[name])

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_entry)
        missing = [name for name in _PARAMETERS if name not in found]
        if missing:
            parser.raise_error(f"struct is missing required parameter: {missing[0]}")
        return cls.get(**found).parameters

    @override
    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(
            f"<cache_modifier = {self.cache_modifier}, eviction_policy = {self.eviction_policy}>"
        )


def _parse_case(parser: AttrParser, enum: Enum) -> str:
    case = parser.parse_identifier()
    if case not in enum.keywords:
        parser.raise_error(f"expected one of: {', '.join(enum.keywords)}; found '{case}'")
    return case
