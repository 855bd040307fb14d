"""The compiler of assembly formats: format text → elements.

Whether a space stands before an element depends only on the format, never on the op (that is
MLIR's rule as well), so it is decided here, once:

* a literal gets a space before it unless it is punctuation that hugs the token to its left;
* anything else gets one unless it follows an opening bracket or an empty literal;
* an attribute dictionary has its own space, since it may be absent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, OptionalDef, VariadicDef
from xdsl.irdl.constraints import AttrConstraint, EqAttrConstraint, RangeLengthConstraint, RangeOf

from tilewright.ir.constraints import Satisfies
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.elements import (
    AllOperands,
    AllResultTypes,
    AttributeDictionary,
    Custom,
    Element,
    FunctionalType,
    Group,
    Literal,
    NewLine,
    Operands,
    OptionalClauses,
    Property,
    Regions,
    Slot,
    Successors,
    TypeOf,
)
from tilewright.ir.text.syntax import ANY, AttributeSyntax

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")

_FORMAT_TOKEN = re.compile(
    r"\s*(?:`(?P<literal>[^`]*)`|\$(?P<variable>\w+)|custom<(?P<custom>\w+)>"
    r"|(?P<keyword>[a-z][a-z-]*)|(?P<mark>[()^?:|,]))"
)


class FormatError(ValueError):
    """A format string that cannot be compiled; a fault of the dialect, found by its tests."""


class _Reader:
    """Tokens of a format string."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        position = 0
        text = text.strip()
        while position < len(text):
            match = _FORMAT_TOKEN.match(text, position)
            if match is None:
                raise FormatError(f"cannot read format at: {text[position:]}")
            kind = cast(str, match.lastgroup)
            self.tokens.append((kind, match[kind]))
            position = match.end()
        self.at = 0

    def peek(self) -> tuple[str, str] | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self) -> tuple[str, str]:
        token = self.peek()
        if token is None:
            raise FormatError("format ends too early")
        self.at += 1
        return token

    def skip(self, mark: str) -> bool:
        if self.peek() == ("mark", mark):
            self.at += 1
            return True
        return False

    def expect(self, mark: str) -> None:
        if not self.skip(mark):
            raise FormatError(f"expected '{mark}' in format, found {self.peek()}")


_HUGS_LEFT = frozenset("<>(){}[],")
_CLOSES = frozenset(">)}],")
_OPENS = frozenset("<({[")


class FormatCompiler:
    def __init__(self, op: type[AsmOp]) -> None:
        self.op = op
        definition = op.get_irdl_definition()
        self.operands = {n: _slot(n, d) for n, d in definition.operands}
        self.results = {n: _slot(n, d) for n, d in definition.results}
        self.regions = {n: _slot(n, d) for n, d in definition.regions}
        self.successors = {n: _slot(n, d) for n, d in definition.successors}
        self.properties = {
            name: default.default_value for name, default in definition.properties.items()
        }
        self.reader = _Reader(op.ASM)
        self.shown: set[str] = set()
        self.wants_space = True
        self.after_punctuation = False

    def compile(self) -> list[Element]:
        elements = self._sequence(end=None)
        for element in _flatten(elements):
            if isinstance(element, AttributeDictionary):
                element.hidden = frozenset(self.shown) | frozenset(_SEGMENTS)
        return elements

    def _sequence(self, end: str | None) -> list[Element]:
        elements: list[Element] = []
        while (token := self.reader.peek()) is not None:
            if token[0] == "mark" and token[1] in (")", "|", "^") and end is not None:
                break
            elements.extend(self._element())
        return elements

    def _element(self) -> list[Element]:
        kind, text = self.reader.take()
        match kind:
            case "literal":
                return self._literal(text)
            case "mark" if text == "(":
                return [self._group()]
            case "keyword" if text in ("attr-dict", "attr-dict-with-keyword", "prop-dict"):
                self.after_punctuation = False
                return [] if text == "prop-dict" else [self._dictionary(text)]
            case "keyword" if text == "oilist":
                return [self._clauses()]
            case "variable":
                return [self._spaced(self._variable(text))]
            case "custom":
                return [self._spaced(self._custom(text))]
            case "keyword":
                return [self._spaced(self._directive(text))]
            case _:
                raise FormatError(f"unexpected '{text}' in format of {self.op.name}")

    def _literal(self, text: str) -> list[Element]:
        if text == "":
            self.wants_space, self.after_punctuation = False, True
            return []
        if text == " ":
            self.wants_space, self.after_punctuation = False, False
            return [_blank()]
        if text == "\\n":
            self.wants_space, self.after_punctuation = False, True
            return [NewLine()]
        literal = Literal(text)
        literal.space = self.wants_space and _needs_space(text, self.after_punctuation)
        self.wants_space = len(text) != 1 or text not in _OPENS
        self.after_punctuation = not literal.is_keyword
        return [literal]

    def _spaced(self, element: Element) -> Element:
        element.space = self.wants_space or not self.after_punctuation
        self.after_punctuation = False
        self.wants_space = True
        return element

    def _variable(self, name: str) -> Element:
        if name in self.operands:
            return Operands(self.operands[name])
        if name in self.regions:
            return Regions(self.regions[name])
        if name in self.successors:
            return Successors(self.successors[name])
        if name in self.properties:
            self.shown.add(name)
            return Property(name, self._syntax(name), self.properties[name])
        raise FormatError(f"'{name}' is neither operand, property, region nor successor")

    def _syntax(self, name: str) -> AttributeSyntax:
        constraint = self.op.get_irdl_definition().properties[name].constr
        own = constraint.syntax if isinstance(constraint, Satisfies) else None
        return self.op.SYNTAX.get(name) or own or ANY

    def _custom(self, name: str) -> Element:
        if self.reader.skip("("):
            while not self.reader.skip(")"):
                kind, text = self.reader.take()
                if kind == "variable" and text in self.properties:
                    self.shown.add(text)
                elif kind == "mark" and text == "(":
                    raise FormatError("write custom<Name>($a, $b) without nested calls")
        if name not in self.op.DIRECTIVES:
            raise FormatError(f"{self.op.name} has no directive '{name}'")
        return Custom(self.op.DIRECTIVES[name])

    def _directive(self, keyword: str) -> Element:
        match keyword:
            case "operands":
                return AllOperands(list(self.operands.values()))
            case "type" | "qualified":
                return self._type(keyword)
            case "stripped":
                self.reader.expect("(")
                inner = self._directive(self.reader.take()[1])
                self.reader.expect(")")
                if not isinstance(inner, TypeOf):
                    raise FormatError("stripped() takes type($x)")
                inner.bare_class = _type_class(self.op, inner.slot.name)
                return inner
            case "functional-type":
                return self._functional_type()
            case _:
                raise FormatError(f"unknown directive '{keyword}'")

    def _type(self, keyword: str) -> Element:
        self.reader.expect("(")
        if keyword == "qualified":
            inner = self._directive(self.reader.take()[1])
        else:
            kind, name = self.reader.take()
            if (kind, name) == ("keyword", "results"):
                inner = AllResultTypes()
            elif kind == "variable" and (slot := self._value_slot(name)) is not None:
                inner = TypeOf(slot)
            else:
                raise FormatError(f"type() of '{name}'")
        self.reader.expect(")")
        return inner

    def _value_slot(self, name: str) -> Slot | None:
        return self.operands.get(name) or self.results.get(name)

    def _functional_type(self) -> Element:
        self.reader.expect("(")
        first = self.reader.take()[1]
        self.reader.expect(",")
        second = self.reader.take()[1]
        self.reader.expect(")")
        operands = None if first == "operands" else self.operands[first]
        results = None if second == "results" else self.results[second]
        return FunctionalType(operands, results)

    def _dictionary(self, keyword: str) -> Element:
        defaults = {n: d for n, d in self.properties.items() if d is not None}
        names = frozenset(self.properties)
        with_keyword = keyword == "attr-dict-with-keyword"
        return AttributeDictionary(frozenset(), names, defaults, with_keyword)

    def _group(self) -> Element:
        elements: list[Element] = []
        anchor: Element | None = None
        while not self.reader.skip(")"):
            elements.extend(self._element())
            if self.reader.skip("^"):
                anchor = elements[-1]
        otherwise: list[Element] = []
        if self.reader.skip(":"):
            self.reader.expect("(")
            while not self.reader.skip(")"):
                otherwise.extend(self._element())
        self.reader.expect("?")
        if anchor is None or not elements:
            raise FormatError(f"an optional group of {self.op.name} needs an anchor '^'")
        return Group(elements, anchor, otherwise)

    def _clauses(self) -> Element:
        self.reader.expect("(")
        clauses: list[tuple[Literal, Sequence[Element]]] = []
        while True:
            first, *rest = self._sequence(end=")")
            if not isinstance(first, Literal):
                raise FormatError("a clause of oilist starts with a literal")
            clauses.append((first, rest))
            if self.reader.skip(")"):
                return OptionalClauses(clauses)
            self.reader.expect("|")


def _blank() -> Element:
    blank = Literal("x")
    blank.text = " "
    blank.parse = lambda parser, state: None
    return blank


def _needs_space(text: str, after_punctuation: bool) -> bool:
    if len(text) != 1 and text != "->":
        return True
    return text[0] not in (_CLOSES if after_punctuation else _HUGS_LEFT)


def _flatten(elements: Sequence[Element]) -> list[Element]:
    flat: list[Element] = []
    for element in elements:
        flat.append(element)
        if isinstance(element, Group):
            flat.extend(_flatten([*element.elements, *element.otherwise]))
        elif isinstance(element, OptionalClauses):
            for _, inner in element.clauses:
                flat.extend(_flatten(inner))
    return flat


def _slot(name: str, definition: Any) -> Slot:
    is_optional = isinstance(definition, OptionalDef)
    is_variadic = isinstance(definition, VariadicDef) and not is_optional
    return Slot(name, is_optional, is_variadic, _constant_type(definition))


def element_constraint(definition: Any) -> AttrConstraint:
    """The constraint on each single type of an operand or result definition."""
    constraint: Any = definition.constr
    if isinstance(constraint, RangeLengthConstraint):
        constraint = cast("Any", constraint).constraint
    if isinstance(constraint, RangeOf):
        constraint = cast("Any", constraint).constr
    return constraint


def _constant_type(definition: Any) -> Attribute | None:
    """The only type the definition allows, if there is just one."""
    if not hasattr(definition, "constr"):
        return None
    constraint = element_constraint(definition)
    return constraint.attr if isinstance(constraint, EqAttrConstraint) else None


def _type_class(op: type[IRDLOperation], name: str) -> type[Any]:
    definition = op.get_irdl_definition()
    for slot, value in (*definition.operands, *definition.results):
        if slot == name:
            bases = element_constraint(value).get_bases()
            if bases is not None and len(bases) == 1:
                return next(iter(bases))
    raise FormatError(f"stripped(type(${name})) needs an operand of one type class")
