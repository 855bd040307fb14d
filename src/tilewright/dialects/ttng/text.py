"""Parts of assembly formats that NVIDIA ops share.

* ``TOKEN``: ``%d[]`` or ``%d[%token]``. Brackets after an operand mean that the op returns a
  token; what stands inside is the token it waits for.
* ``BARRIERS``: ``, %bar[%pred], %bar2[%pred2]``, barriers with the predicates under which they
  are signalled.
* ``attributes``: an attribute dictionary that differs between releases. In a format it follows
  an empty literal, since it has its own space: ``$src `` custom<Attributes>() `:` ...``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, TypeAlias, cast

from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Attribute
from xdsl.irdl import opt_prop_def

from tilewright.dialects.tt.base import I32_PROPERTY
from tilewright.dialects.ttg.types import TOKEN_TYPE
from tilewright.ir.text.assembly import AsmOp, Directive
from tilewright.ir.text.elements import ParseState
from tilewright.ir.text.flavour import Flavour
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter


def token_directive(dependency: str, result: str = "token") -> Directive:
    """``[%dependency]`` for an optional token operand and an optional token result."""

    def parse(parser: IRParser, state: ParseState) -> bool:
        state.operands[dependency] = []
        state.types[dependency] = ()
        state.types[result] = ()
        if parser.parse_optional_characters("[") is None:
            return False
        state.types[result] = (TOKEN_TYPE,)
        if parser.at_value():
            state.operands[dependency] = [parser.parse_unresolved_operand()]
            state.types[dependency] = (TOKEN_TYPE,)
        parser.parse_characters("]")
        return True

    def write(printer: IRPrinter, op: Any) -> None:
        if getattr(op, result) is None:
            return
        value = getattr(op, dependency)
        printer.print_string("[")
        if value is not None:
            printer.print_operand(value)
        printer.print_string("]")

    return Directive(parse, write, lambda op: getattr(op, result) is not None)


def _parse_barriers(parser: IRParser, state: ParseState) -> bool:
    barriers = state.operands["barriers"] = []
    predicates = state.operands["barrier_preds"] = []
    while parser.parse_optional_characters(",") is not None:
        barriers.append(parser.parse_unresolved_operand("expected SSA operand"))
        parser.parse_characters("[")
        predicates.append(parser.parse_unresolved_operand("expected SSA operand"))
        parser.parse_characters("]")
    state.types["barrier_preds"] = (i1,) * len(predicates)
    if not barriers:
        state.types["barriers"] = ()
    return bool(barriers)


def _print_barriers(printer: IRPrinter, op: Any) -> None:
    for barrier, predicate in zip(op.barriers, op.barrier_preds, strict=True):
        printer.print_string(", ")
        printer.print_operand(barrier)
        printer.print_string("[")
        printer.print_operand(predicate)
        printer.print_string("]")


BARRIERS = Directive(_parse_barriers, _print_barriers, lambda op: bool(op.barriers))


ReleaseFormat: TypeAlias = Callable[[dict[str, Attribute], Flavour], Mapping[str, Attribute]]
"""From the properties to print, by current name, to what is printed for a release."""


def attributes(defaults: Mapping[str, Attribute | None], format_for: ReleaseFormat) -> Directive:
    """An attribute dictionary that differs between releases.

    `defaults` names the properties it holds and, where there is one, the value not printed.
    """

    def parse(parser: IRParser, state: ParseState) -> bool:
        found = parser.parse_optional_attr_dict()
        for name, attribute in found.items():
            target = state.properties if name in defaults else state.attributes
            target[name] = attribute
        return bool(found)

    def write(printer: IRPrinter, op: Any) -> None:
        shown = {
            name: value
            for name, value in op.properties.items()
            if name in defaults and value != defaults[name]
        }
        printer.print_op_attributes({**format_for(shown, printer.flavour), **op.attributes})

    return Directive(parse, write)


class RenamedProperties(AsmOp):
    """Base of ops some of whose properties had other names, in plain and in generic text."""

    OLD_NAMES: ClassVar[Mapping[str, str]] = {}
    """Old name to current one."""

    @classmethod
    @override
    def create(
        cls,
        *,
        properties: Mapping[str, Attribute] = {},
        attributes: Mapping[str, Attribute] = {},
        **parts: Any,
    ) -> Self:
        old = {name: value for name, value in attributes.items() if name in cls.OLD_NAMES}
        current = {name: value for name, value in attributes.items() if name not in cls.OLD_NAMES}
        renamed = {cls.OLD_NAMES.get(n, n): v for n, v in {**properties, **old}.items()}
        return super().create(properties=renamed, attributes=current, **parts)


def opt_i32_prop(*, name: str | None = None) -> IntegerAttr | None:
    """A 32-bit integer, or nothing."""
    return cast("IntegerAttr | None", opt_prop_def(I32_PROPERTY, prop_name=name))


def rename(attributes: dict[str, Attribute], old: str, new: str) -> dict[str, Attribute]:
    """`attributes` with one of them called differently."""
    return {new if name == old else name: value for name, value in attributes.items()}
