"""The elements of assembly formats: what ``$x``, ``type($x)``, ``(...)?`` and the rest do.

Each element can parse itself into a ``ParseState`` and print itself from an op.
Whether a space precedes it is decided by the compiler and stored in ``space``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Block, Region
from xdsl.parser import UnresolvedOperand

from tilewright.ir.text.assembly import Directive
from tilewright.ir.text.syntax import UNIT, AttributeSyntax

if TYPE_CHECKING:
    from tilewright.ir.text.parser import IRParser
    from tilewright.ir.text.printer import IRPrinter


@dataclass
class ParseState:
    """What has been read of one op so far, by the names of its definition."""

    operands: dict[str, list[UnresolvedOperand]] = field(default_factory=dict[str, Any])
    types: dict[str, Sequence[Attribute]] = field(default_factory=dict[str, Any])
    properties: dict[str, Attribute] = field(default_factory=dict[str, Any])
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Any])
    regions: dict[str, list[Region]] = field(default_factory=dict[str, Any])
    successors: dict[str, list[Block]] = field(default_factory=dict[str, Any])
    flat_operand_types: Sequence[Attribute] | None = None
    flat_result_types: Sequence[Attribute] | None = None


@dataclass(frozen=True)
class Slot:
    """An operand, result, region or successor of the definition."""

    name: str
    is_optional: bool
    is_variadic: bool
    constant_type: Attribute | None = None

    def values(self, op: Any) -> Sequence[Any]:
        value = getattr(op, self.name)
        if value is None:
            return ()
        return value if self.is_optional_or_variadic and not self.is_optional else (value,)

    @property
    def is_optional_or_variadic(self) -> bool:
        return self.is_optional or self.is_variadic


class Element:
    """One part of a format."""

    space = False
    """Whether a space is printed before it."""

    def parse(self, parser: IRParser, state: ParseState) -> None:
        raise NotImplementedError

    def parse_optional(self, parser: IRParser, state: ParseState) -> bool:
        """Parse if present; used for the first element of a group."""
        raise ValueError(f"{self} cannot open an optional group")

    def print(self, printer: IRPrinter, op: Any) -> None:
        raise NotImplementedError

    def is_present(self, op: Any) -> bool:
        return True


@dataclass
class Literal(Element):
    text: str

    def __post_init__(self) -> None:
        self.is_keyword = self.text[0].isalpha() or self.text[0] == "_"

    def parse(self, parser: IRParser, state: ParseState) -> None:
        if parser.next_text == self.text:
            parser.parse_characters(self.text)
        else:
            parser.raise_error(f"expected '{self.text}'")

    def parse_optional(self, parser: IRParser, state: ParseState) -> bool:
        return parser.parse_optional_characters(self.text) is not None

    def print(self, printer: IRPrinter, op: Any) -> None:
        printer.print_string(" " + self.text if self.space else self.text)


@dataclass
class NewLine(Element):
    def parse(self, parser: IRParser, state: ParseState) -> None:
        return

    def print(self, printer: IRPrinter, op: Any) -> None:
        printer.print_new_line()


class Spaced(Element):
    """An element that is not a literal: prints its space, then its body."""

    def print(self, printer: IRPrinter, op: Any) -> None:
        if self.space:
            printer.print_string(" ")
        self.print_body(printer, op)

    def print_body(self, printer: IRPrinter, op: Any) -> None:
        raise NotImplementedError


@dataclass
class Operands(Spaced):
    slot: Slot

    def parse(self, parser: IRParser, state: ParseState) -> None:
        name = self.slot.name
        if not self.slot.is_optional_or_variadic:
            state.operands[name] = [parser.parse_unresolved_operand("expected SSA operand")]
        else:
            self.parse_optional(parser, state)

    def parse_optional(self, parser: IRParser, state: ParseState) -> bool:
        found: list[UnresolvedOperand] = []
        if parser.at_value():
            found.append(parser.parse_unresolved_operand())
            while self.slot.is_variadic and parser.parse_optional_characters(","):
                found.append(parser.parse_unresolved_operand("expected SSA operand"))
        state.operands[self.slot.name] = found
        return bool(found)

    def print_body(self, printer: IRPrinter, op: Any) -> None:
        printer.print_list(self.slot.values(op), printer.print_operand)

    def is_present(self, op: Any) -> bool:
        return bool(self.slot.values(op))


@dataclass
class AllOperands(Spaced):
    """``operands``: all of them in order, when the definition has one variadic at most."""

    slots: Sequence[Slot]

    def parse(self, parser: IRParser, state: ParseState) -> None:
        found: list[UnresolvedOperand] = []
        if parser.at_value():
            found = parser.parse_comma_separated_list(
                parser.Delimiter.NONE, parser.parse_unresolved_operand
            )
        surplus = len(found) - sum(not s.is_optional_or_variadic for s in self.slots)
        if surplus < 0:
            parser.raise_error("too few operands")
        for slot in self.slots:
            count = surplus if slot.is_optional_or_variadic else 1
            state.operands[slot.name], found = found[:count], found[count:]

    def print_body(self, printer: IRPrinter, op: Any) -> None:
        printer.print_list(op.operands, printer.print_operand)


@dataclass
class Property(Spaced):
    name: str
    syntax: AttributeSyntax
    default: Attribute | None

    def parse(self, parser: IRParser, state: ParseState) -> None:
        state.properties[self.name] = self.syntax.parse(parser)

    def parse_optional(self, parser: IRParser, state: ParseState) -> bool:
        found = self.syntax.parse_optional(parser)
        if found is not None:
            state.properties[self.name] = found
        return found is not None

    def print(self, printer: IRPrinter, op: Any) -> None:
        if self.syntax is not UNIT:
            super().print(printer, op)

    def print_body(self, printer: IRPrinter, op: Any) -> None:
        attribute = op.properties.get(self.name, self.default)
        if attribute is not None:
            self.syntax.print(attribute, printer)

    def is_present(self, op: Any) -> bool:
        found = op.properties.get(self.name)
        return found is not None and found != self.default


@dataclass
class Regions(Spaced):
    slot: Slot

    def parse(self, parser: IRParser, state: ParseState) -> None:
        if not self.slot.is_optional_or_variadic:
            state.regions[self.slot.name] = [parser.parse_region()]
        else:
            self.parse_optional(parser, state)

    def parse_optional(self, parser: IRParser, state: ParseState) -> bool:
        found: list[Region] = []
        while parser.next_text == "{":
            found.append(parser.parse_region())
            if not self.slot.is_variadic or parser.parse_optional_characters(",") is None:
                break
        state.regions[self.slot.name] = found
        return bool(found)

    def print_body(self, printer: IRPrinter, op: Any) -> None:
        printer.print_list(self.slot.values(op), printer.print_region)

    def is_present(self, op: Any) -> bool:
        return bool(self.slot.values(op))


@dataclass
class Successors(Spaced):
    slot: Slot

    def parse(self, parser: IRParser, state: ParseState) -> None:
        state.successors[self.slot.name] = [parser.parse_successor()]

    def print_body(self, printer: IRPrinter, op: Any) -> None:
        printer.print_list(self.slot.values(op), printer.print_block_name)


@dataclass
class TypeOf(Spaced):
    """``type($x)``, or ``stripped(type($x))`` for a type without its ``!dialect.name``."""

    slot: Slot
    bare_class: type[Any] | None = None

    def parse(self, parser: IRParser, state: ParseState) -> None:
        name = self.slot.name
        if self.slot.is_variadic:
            state.types[name] = parser.parse_comma_separated_list(
                parser.Delimiter.NONE, lambda: self._parse_one(parser)
            )
        elif self.slot.is_optional and not state.operands.get(name, True):
            state.types[name] = ()
        else:
            state.types[name] = (self._parse_one(parser),)

    def parse_optional(self, parser: IRParser, state: ParseState) -> bool:
        first = parser.parse_optional_type()
        if first is None:
            state.types[self.slot.name] = ()
            return False
        found: list[Attribute] = [first]
        while self.slot.is_variadic and parser.parse_optional_characters(","):
            found.append(self._parse_one(parser))
        state.types[self.slot.name] = found
        return True

    def _parse_one(self, parser: IRParser) -> Attribute:
        if self.bare_class is not None and parser.next_text == "<":
            return parser.parse_bare(self.bare_class)
        return parser.parse_type()

    def print_body(self, printer: IRPrinter, op: Any) -> None:
        write = printer.print_attribute if self.bare_class is None else printer.print_stripped
        printer.print_list([value.type for value in self.slot.values(op)], write)

    def is_present(self, op: Any) -> bool:
        return bool(self.slot.values(op))


@dataclass
class FunctionalType(Spaced):
    """``(operand types) -> result types``; None stands for all operands or all results."""

    operands: Slot | None
    results: Slot | None

    def parse(self, parser: IRParser, state: ParseState) -> None:
        type = parser.parse_function_type()
        if self.operands is None:
            state.flat_operand_types = type.inputs.data
        else:
            state.types[self.operands.name] = type.inputs.data
        if self.results is None:
            state.flat_result_types = type.outputs.data
        else:
            state.types[self.results.name] = type.outputs.data

    def print_body(self, printer: IRPrinter, op: Any) -> None:
        operands = op.operands if self.operands is None else self.operands.values(op)
        results = op.results if self.results is None else self.results.values(op)
        printer.print_function_type([v.type for v in operands], [v.type for v in results])


@dataclass
class AllResultTypes(Spaced):
    """``type(results)``: the result types, separated by commas."""

    def parse(self, parser: IRParser, state: ParseState) -> None:
        state.flat_result_types = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_type
        )

    def print_body(self, printer: IRPrinter, op: Any) -> None:
        printer.print_list([v.type for v in op.results], printer.print_attribute)


@dataclass
class AttributeDictionary(Element):
    """``attr-dict``: all attributes that the rest of the format omits, minus default values."""

    hidden: frozenset[str]
    properties: frozenset[str]
    defaults: Mapping[str, Attribute]
    with_keyword: bool

    def parse(self, parser: IRParser, state: ParseState) -> None:
        if self.with_keyword and parser.parse_optional_keyword("attributes") is None:
            return
        found = parser.parse_optional_attr_dict()
        for name, attribute in found.items():
            target = state.properties if name in self.properties else state.attributes
            target[name] = attribute

    def print(self, printer: IRPrinter, op: Any) -> None:
        shown = {
            name: attribute
            for name, attribute in op.properties.items()
            if name not in self.hidden and self.defaults.get(name) != attribute
        }
        if not shown and not op.attributes:
            return
        shown.update(op.attributes)
        printer.print_op_attributes(shown, print_keyword=self.with_keyword)


@dataclass
class Custom(Spaced):
    directive: Directive

    def parse(self, parser: IRParser, state: ParseState) -> None:
        self.directive.parse(parser, state)

    def parse_optional(self, parser: IRParser, state: ParseState) -> bool:
        return bool(self.directive.parse(parser, state))

    def print_body(self, printer: IRPrinter, op: Any) -> None:
        self.directive.print(printer, op)

    def is_present(self, op: Any) -> bool:
        return self.directive.is_present(op)


@dataclass
class Group(Element):
    """``( ... ^ ... )? : ( ... )``"""

    elements: Sequence[Element]
    anchor: Element
    otherwise: Sequence[Element]

    def parse(self, parser: IRParser, state: ParseState) -> None:
        first, *rest = self.elements
        if first.parse_optional(parser, state):
            if isinstance(self.anchor, Property) and self.anchor.syntax is UNIT:
                state.properties[self.anchor.name] = UnitAttr()
            for element in rest:
                if element is not self.anchor or not _is_unit(element):
                    element.parse(parser, state)
            return
        for element in self.otherwise:
            element.parse(parser, state)

    def print(self, printer: IRPrinter, op: Any) -> None:
        chosen = self.elements if self.anchor.is_present(op) else self.otherwise
        for element in chosen:
            element.print(printer, op)

    def parse_optional(self, parser: IRParser, state: ParseState) -> bool:
        self.parse(parser, state)
        return True

    def is_present(self, op: Any) -> bool:
        return self.anchor.is_present(op)


@dataclass
class OptionalClauses(Element):
    """``oilist``: clauses that start with a keyword, each at most once, in any order."""

    clauses: Sequence[tuple[Literal, Sequence[Element]]]

    def parse(self, parser: IRParser, state: ParseState) -> None:
        remaining = {literal.text: elements for literal, elements in self.clauses}
        while (elements := remaining.pop(parser.next_text, None)) is not None:
            parser.parse_characters(parser.next_text)
            for element in elements:
                element.parse(parser, state)

    def print(self, printer: IRPrinter, op: Any) -> None:
        for literal, elements in self.clauses:
            if all(element.is_present(op) for element in elements):
                literal.print(printer, op)
                for element in elements:
                    element.print(printer, op)


def _is_unit(element: Element) -> bool:
    return isinstance(element, Property) and element.syntax is UNIT
