"""The text of buffer accesses, which changed with Triton 3.9.

::

    before   amdg.buffer_load %p[%o], %m cacheModifier = cg stride = %s : T
    3.9      amdg.buffer_load %p[%o], %m stride = %s {cachePolicy = ...} : !tt.ptr<f32> -> T

``ACCESS`` is the text between the operands and the colon, ``types`` the text after it. TLX
writes the older form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute
from xdsl.parser import UnresolvedOperand

from tilewright.dialects.tt.attributes import NO_MODIFIER, CachePolicy, CachePolicyAttr
from tilewright.dialects.tt.base import i32_attr
from tilewright.dialects.tt.cache_text import writes_clauses
from tilewright.dialects.tt.enums import CACHE_MODIFIER
from tilewright.dialects.tt.types import PtrType
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.text.assembly import Directive
from tilewright.ir.text.elements import ParseState
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter

POLICY = "cachePolicy"
CONTIGUITY = "contiguity"
DEFAULTS: Mapping[str, Attribute | None] = {POLICY: None, CONTIGUITY: i32_attr(1)}
"""The properties in the dictionary of a buffer access, and which values are not printed."""


def parse_modifier(parser: IRParser) -> CachePolicyAttr | None:
    """``cacheModifier = cg`` of older text, as a policy."""
    if parser.next_text != "cacheModifier":
        return None
    parser.parse_keyword("cacheModifier")
    parser.parse_punctuation("=")
    modifier = parser.parse_keyword_from({name: name for name in CACHE_MODIFIER.keywords})
    return CachePolicyAttr.get(modifier)


def print_modifier(printer: IRPrinter, policy: Attribute | None) -> None:
    """The same. Buffer accesses of older releases have no eviction policy, which is but a hint."""
    if isinstance(policy, CachePolicy) and policy.cache_modifier != NO_MODIFIER:
        printer.print_string(f" cacheModifier = {policy.cache_modifier}")


def parse_named_operand(parser: IRParser, name: str) -> list[UnresolvedOperand]:
    """``name = %value``, if it comes next."""
    if parser.next_text != name:
        return []
    parser.parse_keyword(name)
    parser.parse_punctuation("=")
    return [parser.parse_unresolved_operand("expected SSA operand")]


def print_named_operand(printer: IRPrinter, name: str, value: Any) -> None:
    """The same, with a space before it; nothing for an absent operand."""
    if value is None:
        return
    printer.print_string(f" {name} = ")
    printer.print_operand(value)


def _parse_access(parser: IRParser, state: ParseState) -> None:
    policy = parse_modifier(parser)
    if policy is not None:
        state.properties[POLICY] = policy
    state.operands["stride"] = parse_named_operand(parser, "stride")
    state.types["stride"] = (i32,) * len(state.operands["stride"])
    for name, attribute in parser.parse_optional_attr_dict().items():
        target = state.properties if name in DEFAULTS else state.attributes
        target[name] = attribute


def _print_access(printer: IRPrinter, op: Any) -> None:
    shown = {
        name: value
        for name, value in op.properties.items()
        if name in DEFAULTS and value != DEFAULTS[name]
    }
    if writes_clauses(printer.flavour):
        print_modifier(printer, shown.pop(POLICY, None))
    print_named_operand(printer, "stride", op.stride)
    printer.print_op_attributes({**shown, **op.attributes})


ACCESS = Directive(_parse_access, _print_access)


def types(value: str, of: Callable[[Any], Any]) -> Directive:
    """The type of the pointer and of `value`, an operand or result that `of` finds in the op."""

    def parse(parser: IRParser, state: ParseState) -> None:
        first = parser.parse_type()
        if parser.parse_optional_punctuation("->") is not None:
            state.types["ptr"] = (first,)
            state.types[value] = (parser.parse_type(),)
            return
        state.types[value] = (first,)
        state.types["ptr"] = (PtrType.get(element_type_of(first)),)

    def write(printer: IRPrinter, op: Any) -> None:
        if not writes_clauses(printer.flavour):
            printer.print_attribute(op.ptr.type)
            printer.print_string(" -> ")
        printer.print_attribute(of(op).type)

    return Directive(parse, write)
