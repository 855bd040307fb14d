"""Lists in which some numbers are known and others are values: ``[%i, 0, 128]``.

An op keeps such a list as MLIR does: an array with a marker where a value stands, and the values
as operands. Constructors take integers and values in one list, and a value that a constant defines
counts as known; accessors give the list back in the same form.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from struct import unpack
from typing import ClassVar, TypeAlias, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    i32,
    i64,
)
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, VariadicDef, opt_prop_def, prop_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.utils.exceptions import VerifyException

from tilewright.ir.constraints import Satisfies
from tilewright.ir.interfaces import constant_value
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter

Mixed: TypeAlias = int | SSAValue
"""A number that is known, or the value that holds it."""

MixedOperand: TypeAlias = int | SSAValue | Operation

Integers: TypeAlias = DenseArrayBase[IntegerType]

INDEX = IndexType()

_SEGMENTS = "operandSegmentSizes"

I64_ARRAY_ATTR = Satisfies(
    "i64 dense array attribute",
    lambda attribute: isinstance(attribute, DenseArrayBase) and attribute.elt_type == i64,
    (DenseArrayBase,),
)


def integers_prop() -> Integers:
    """An array of numbers."""
    return cast("Integers", prop_def(I64_ARRAY_ATTR))


def opt_integers_prop() -> Integers | None:
    """An array of numbers that may be missing."""
    return cast("Integers | None", opt_prop_def(I64_ARRAY_ATTR))


def integers_attr(values: Sequence[int]) -> Integers:
    return DenseArrayBase.from_list(i64, [int(value) for value in values])


def opt_integers_attr(values: Sequence[int] | None) -> Integers | None:
    return None if values is None else integers_attr(values)


def integers(attribute: Integers) -> tuple[int, ...]:
    """The numbers of an array."""
    if attribute.elt_type is i64 or attribute.elt_type == i64:
        return _decoded(attribute.data.data)
    return tuple(int(value) for value in attribute.get_values())


@lru_cache(maxsize=1024)
def _decoded(array: bytes) -> tuple[int, ...]:
    return unpack(f"<{len(array) // 8}q", array)


def opt_integers(attribute: Integers | None) -> tuple[int, ...] | None:
    return None if attribute is None else integers(attribute)


def known(value: MixedOperand) -> Mixed:
    """`value` as a number where it is one."""
    if isinstance(value, int):
        return value
    if isinstance(value, Operation):
        value = SSAValue.get(value)
    constant = constant_value(value)
    if isinstance(value.type, IndexType) and isinstance(constant, IntegerAttr):
        return constant.value.data
    return value


def split(values: Sequence[MixedOperand]) -> tuple[Integers, list[SSAValue]]:
    """The array with markers, and the values."""
    found = [known(value) for value in values]
    static = [value if isinstance(value, int) else DYNAMIC_INDEX for value in found]
    return integers_attr(static), [value for value in found if not isinstance(value, int)]


def join(static: Integers, dynamic: Sequence[SSAValue]) -> tuple[Mixed, ...]:
    """The list again."""
    rest = iter(dynamic)
    return tuple(next(rest) if value == DYNAMIC_INDEX else value for value in integers(static))


def static_extent(value: Mixed) -> int:
    """An extent as printed in types: the integer, or the marker."""
    return value if isinstance(value, int) else DYNAMIC_INDEX


def verify_mixed(what: str, static: Integers, dynamic: Sequence[SSAValue]) -> None:
    """Raise unless there is a value for each marker."""
    markers = integers(static).count(DYNAMIC_INDEX)
    if markers != len(dynamic):
        raise VerifyException(f"{what}: {markers} dynamic entries but {len(dynamic)} values")


class MixedLists(IRDLOperation):
    """Base of ops with such lists: a property ``static_<name>`` and operands ``dynamic_<name>``."""

    MIXED: ClassVar[tuple[str, ...]] = ()
    """The names of the lists."""

    def absorb_constants(self) -> bool:
        """Replace values that constants define by known integers; whether there were any."""
        dynamic = (value for name in self.MIXED for value in self._dynamic(name))
        if not any(isinstance(known(value), int) for value in dynamic):
            return False
        lists = {name: self._split_again(name) for name in self.MIXED}
        operands: list[list[SSAValue]] = []
        for slot, definition in self.get_irdl_definition().operands:
            name = slot.removeprefix("dynamic_")
            found = getattr(self, slot)
            if name in lists and slot != name:
                operands.append(lists[name][1])
            elif isinstance(definition, VariadicDef):
                operands.append(list(found))
            else:
                operands.append([found])
        self.operands = [value for group in operands for value in group]
        for name, (static, _) in lists.items():
            self.properties[f"static_{name}"] = static
        if _SEGMENTS in self.properties:
            self.properties[_SEGMENTS] = DenseArrayBase.from_list(i32, list(map(len, operands)))
        return True

    def _dynamic(self, name: str) -> Sequence[SSAValue]:
        return getattr(self, f"dynamic_{name}")

    def _split_again(self, name: str) -> tuple[Integers, list[SSAValue]]:
        return split(join(getattr(self, f"static_{name}"), self._dynamic(name)))


# -- text --------------------------------------------------------------------------------------


def parse_mixed_value(parser: IRParser) -> int | UnresolvedOperand:
    if parser.at_value():
        return parser.parse_unresolved_operand()
    return parser.parse_integer(allow_boolean=False)


def parse_mixed(
    parser: IRParser, delimiter: Parser.Delimiter = Parser.Delimiter.SQUARE
) -> tuple[Integers, list[UnresolvedOperand]]:
    """``[%i, 0, 128]``."""
    found = parser.parse_comma_separated_list(delimiter, lambda: parse_mixed_value(parser))
    return split_unresolved(found)


def split_unresolved(
    found: Sequence[int | UnresolvedOperand],
) -> tuple[Integers, list[UnresolvedOperand]]:
    """The array with markers, and the names."""
    static = [each if isinstance(each, int) else DYNAMIC_INDEX for each in found]
    return integers_attr(static), [each for each in found if not isinstance(each, int)]


def resolve_indices(parser: IRParser, names: Sequence[UnresolvedOperand]) -> list[SSAValue]:
    """The values of names that stand for indices."""
    return [parser.resolve_operand(name, INDEX) for name in names]


def print_mixed_value(printer: IRPrinter, value: Mixed) -> None:
    if isinstance(value, int):
        printer.print_string(str(value))
    else:
        printer.print_operand(value)


def print_mixed(printer: IRPrinter, values: Sequence[Mixed], brackets: str = "[]") -> None:
    """``[%i, 0, 128]``."""
    printer.print_string(brackets[0])
    printer.print_list(values, lambda value: print_mixed_value(printer, value))
    printer.print_string(brackets[1])
