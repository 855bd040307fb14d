"""Attributes of ``arith`` ops: fast-math flags, overflow flags, rounding modes, predicates.

Flags are sets, ``#arith.fastmath<nnan,ninf>`` and ``#arith.overflow<nsw, nuw>`` (the blank is
MLIR's). Named in an op they lose the prefix: ``fastmath<fast>``. Rounding modes and comparison
predicates are plain integers that print as keywords.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import unique
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.dialects.utils import BitEnumAttribute
from xdsl.ir import Attribute
from xdsl.irdl import irdl_attr_definition
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter
from tilewright.ir.text.syntax import AttributeSyntax, Enum


@unique
class FastMathFlag(StrEnum):
    """What a compiler may assume about floating-point numbers, in MLIR's printing order."""

    REASSOC = "reassoc"
    NNAN = "nnan"
    NINF = "ninf"
    NSZ = "nsz"
    ARCP = "arcp"
    CONTRACT = "contract"
    AFN = "afn"


@unique
class IntegerOverflowFlag(StrEnum):
    """Guarantees that an integer result does not wrap around."""

    NSW = "nsw"
    NUW = "nuw"


@irdl_attr_definition
class FastMathFlagsAttr(BitEnumAttribute[FastMathFlag]):
    """``#arith.fastmath<...>``; ``fast`` stands for all flags."""

    name = "arith.fastmath"
    none_value = "none"
    all_value = "fast"

    def __init__(self, flags: Iterable[FastMathFlag] | str | None = None) -> None:
        super().__init__(flags)


@irdl_attr_definition
class IntegerOverflowAttr(BitEnumAttribute[IntegerOverflowFlag]):
    """``#arith.overflow<...>``."""

    name = "arith.overflow"
    none_value = "none"

    def __init__(self, flags: Iterable[IntegerOverflowFlag] | str | None = None) -> None:
        super().__init__(flags)

    def print_parameter(self, printer: Printer) -> None:
        names = [flag.value for flag in IntegerOverflowFlag if flag in self.data]
        printer.print_string(f"<{', '.join(names) or self.none_value}>")


NO_FAST_MATH = FastMathFlagsAttr()
NO_OVERFLOW_FLAGS = IntegerOverflowAttr()


@dataclass(frozen=True)
class Flags(AttributeSyntax):
    """``<nsw, nuw>``: a set of flags without its dialect prefix."""

    attribute_class: type[FastMathFlagsAttr] | type[IntegerOverflowAttr]

    def parse(self, parser: IRParser) -> Attribute:
        return parser.parse_bare(self.attribute_class)

    def parse_optional(self, parser: IRParser) -> Attribute | None:
        return self.parse(parser) if parser.next_text == "<" else None

    def print(self, attribute: Any, printer: IRPrinter) -> None:
        attribute.print_parameter(printer)


ROUNDING_MODES: Mapping[str, int] = {
    "to_nearest_even": 0,
    "downward": 1,
    "upward": 2,
    "toward_zero": 3,
    "to_nearest_away": 4,
}

CMPI_PREDICATES: Mapping[str, int] = {
    name: index
    for index, name in enumerate(
        ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
    )
}

CMPF_PREDICATES: Mapping[str, int] = {
    name: index
    for index, name in enumerate(
        (
            *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
            *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
        )
    )
}

FAST_MATH = Flags(FastMathFlagsAttr)
OVERFLOW = Flags(IntegerOverflowAttr)
ROUNDING_MODE = Enum(ROUNDING_MODES)
CMPI_PREDICATE = Enum(CMPI_PREDICATES, i64)
CMPF_PREDICATE = Enum(CMPF_PREDICATES, i64)

# Attributes are immutable, and making one costs more than making the op that holds it.
CMPI_ATTRIBUTES = {keyword: CMPI_PREDICATE.attribute(keyword) for keyword in CMPI_PREDICATES}
CMPF_ATTRIBUTES = {keyword: CMPF_PREDICATE.attribute(keyword) for keyword in CMPF_PREDICATES}


def check_rounding_mode(attribute: IntegerAttr | None) -> None:
    """Raise unless `attribute`, if there is one, is a rounding mode."""
    if attribute is not None and not _is_case(attribute, ROUNDING_MODE):
        raise VerifyException(
            "attribute 'roundingmode' failed to satisfy constraint: Floating point rounding mode"
        )


def check_predicate(attribute: IntegerAttr, syntax: Enum) -> None:
    """Raise unless `attribute` is one of the predicates of `syntax`."""
    if not _is_case(attribute, syntax):
        cases = ", ".join(str(value) for value in syntax.keywords.values())
        raise VerifyException(
            "attribute 'predicate' failed to satisfy constraint: allowed 64-bit signless integer "
            f"cases: {cases}"
        )


def _is_case(attribute: IntegerAttr, syntax: Enum) -> bool:
    is_known = attribute.value.data in syntax.keywords.values()
    return is_known and attribute.type == syntax.type
