"""How properties of tile ops are declared, printed and read.

Kinds, policies and scopes are keywords: a string property with few allowed values, and
which prints without quotes. Marks (``transpose_b``) are unit properties: present or absent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from typing_extensions import override
from xdsl.dialects.builtin import IndexType, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.elementwise import is_signless_integer
from tilewright.ir.constraints import Satisfies, instance_of
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter
from tilewright.ir.text.syntax import STRING, AttributeSyntax

Operand: TypeAlias = SSAValue | Operation
"""A value, or an op with one result standing for it."""

ANY = Satisfies("any type", lambda type: True)
INTEGER_OR_INDEX = Satisfies(
    "signless integer or index",
    lambda type: isinstance(type, IndexType) or is_signless_integer(type),
)
I64_ATTR = Satisfies(
    "64-bit signless integer attribute",
    lambda attribute: isinstance(attribute, IntegerAttr) and attribute.type == i64,
    (IntegerAttr,),
)
STRING_ATTR = instance_of("string attribute", StringAttr)


@dataclass(frozen=True)
class KeywordSyntax(AttributeSyntax):
    """``sum``: one of a few keywords, stored as a string."""

    keywords: tuple[str, ...]

    @override
    def parse(self, parser: IRParser) -> Attribute:
        return StringAttr(
            parser.parse_keyword_from({keyword: keyword for keyword in self.keywords})
        )

    @override
    def parse_optional(self, parser: IRParser) -> Attribute | None:
        return self.parse(parser) if parser.next_text in self.keywords else None

    @override
    def print(self, attribute: Any, printer: IRPrinter) -> None:
        printer.print_string(attribute.data)

    @property
    def constraint(self) -> Satisfies:
        return Satisfies(
            f"one of {', '.join(self.keywords)}",
            lambda attribute: isinstance(attribute, StringAttr) and attribute.data in self.keywords,
            (StringAttr,),
            self,
        )


@dataclass(frozen=True)
class IntegerSyntax(AttributeSyntax):
    """``128``: a 64-bit integer."""

    @override
    def parse(self, parser: IRParser) -> Attribute:
        return IntegerAttr(parser.parse_integer(allow_boolean=False), i64)

    @override
    def parse_optional(self, parser: IRParser) -> Attribute | None:
        value = parser.parse_optional_integer(allow_boolean=False)
        return None if value is None else IntegerAttr(value, i64)

    @override
    def print(self, attribute: Any, printer: IRPrinter) -> None:
        printer.print_string(str(attribute.value.data))


INTEGER = IntegerSyntax()
_INTEGER_PROPERTY = replace(I64_ATTR, syntax=INTEGER)
_STRING_PROPERTY = replace(STRING_ATTR, syntax=STRING)


def keyword_prop(syntax: KeywordSyntax, default: str | None = None) -> StringAttr:
    """One of the keywords of `syntax`."""
    value = None if default is None else StringAttr(default)
    return cast("StringAttr", prop_def(syntax.constraint, default_value=value))


def opt_keyword_prop(syntax: KeywordSyntax) -> StringAttr | None:
    """One of the keywords of `syntax`, or nothing."""
    return cast("StringAttr | None", opt_prop_def(syntax.constraint))


def string_prop() -> StringAttr:
    return cast("StringAttr", prop_def(_STRING_PROPERTY))


def opt_string_prop() -> StringAttr | None:
    return cast("StringAttr | None", opt_prop_def(_STRING_PROPERTY))


def integer_prop(default: int | None = None) -> IntegerAttr:
    """A 64-bit integer."""
    value = None if default is None else IntegerAttr(default, i64)
    return cast("IntegerAttr", prop_def(_INTEGER_PROPERTY, default_value=value))


def opt_integer_prop() -> IntegerAttr | None:
    return cast("IntegerAttr | None", opt_prop_def(_INTEGER_PROPERTY))


def mark_prop(name: str | None = None) -> UnitAttr | None:
    """Present or absent."""
    return opt_prop_def(UnitAttr, prop_name=name)


def mark(value: bool) -> UnitAttr | None:
    return UnitAttr() if value else None


def integer_attr(value: int | None) -> IntegerAttr | None:
    return None if value is None else IntegerAttr(value, i64)


def string(value: str | None) -> StringAttr | None:
    return None if value is None else StringAttr(value)


def integer_of(attribute: IntegerAttr | None) -> int | None:
    """The value of a property that may be missing."""
    return None if attribute is None else attribute.value.data


def verify_range(name: str, attribute: IntegerAttr, last: int) -> None:
    """An integer property is 0 to `last`."""
    if not 0 <= attribute.value.data <= last:
        raise VerifyException(f"{name} must be 0 to {last}, got {attribute.value.data}")


def given(**properties: Attribute | None) -> dict[str, Attribute]:
    """The properties that are there."""
    return {name: value for name, value in properties.items() if value is not None}
