"""Declarative assembly formats: MLIR's own format language, compiled to a parser and a printer.

An op derives from ``AsmOp`` and states its text once, in the notation of MLIR's op definitions::

    @irdl_op_definition
    class LocalStoreOp(AsmOp):
        name = "ttg.local_store"
        src = operand_def(TensorType)
        dst = operand_def(MemDescType)
        ASM: ClassVar = "$src `,` $dst attr-dict `:` type($src) `->` type($dst)"

Formats understand: literals, ```` `` ```` (no space), ``$name`` of operands, properties, regions
and successors, ``attr-dict``, ``attr-dict-with-keyword``, ``type($x)``, ``stripped(type($x))`` (the
``!dialect.name`` left out), ``functional-type(a, b)``, ``operands``, ``results``, optional groups
``( ... ^ ...)?`` with ``:( ... )`` alternatives, ``oilist( `a` x | `b` y )`` and
``custom<Name>(...)``.

Further class constants, all optional:

* ``SYNTAX``: how a property prints where the format names it (see ``syntax``), if its constraint
  does not say so;
* ``TYPES``: rules for types the text does not show, in order of evaluation, e.g.
  ``{"mask": TypeRule("mask type matches ptr type", lambda t: i1_like(t["ptr"]))}``. They are
  also verified: a violated rule is ``failed to verify that <description>``;
* ``DIRECTIVES``: the ``custom<Name>`` directives, name to ``Directive``.

xDSL has such a language too. This one covers what Triton's dialects use and xDSL's does not
(groups in any order, stripped types, computed types), follows MLIR's spacing rules, and compiles a
format on first use, so importing a dialect costs nothing for ops that never occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from tilewright.ir.text.syntax import AttributeSyntax

if TYPE_CHECKING:
    from tilewright.ir.text.elements import ParseState
    from tilewright.ir.text.format import Format
    from tilewright.ir.text.parser import IRParser
    from tilewright.ir.text.printer import IRPrinter


class Types:
    """Types of an op's operands and results by name, as a type rule sees them."""

    def __init__(self, known: Mapping[str, Sequence[Attribute]]) -> None:
        self._known = known

    def __getitem__(self, name: str) -> Any:
        """The type of a single operand or result."""
        return self._known[name][0]

    def all(self, name: str) -> Sequence[Attribute]:
        """The types of a variadic operand or result."""
        return self._known[name]

    def has(self, name: str) -> bool:
        return bool(self._known.get(name))


@dataclass(frozen=True)
class TypeRule:
    """The type of one operand or result as a function of others.

    `description` completes the sentence "failed to verify that ...".
    """

    description: str
    infer: Callable[[Types], Attribute]


@dataclass(frozen=True)
class Directive:
    """A ``custom<Name>(...)`` directive.

    `parse(parser, state)` stores what it reads in the state; `print(printer, op)` writes the same
    text without the leading space. `is_present(op)` is needed only where it opens a group.
    """

    parse: Callable[[IRParser, ParseState], bool | None]
    print: Callable[[IRPrinter, Any], None]
    is_present: Callable[[Any], bool] = lambda op: True


class AsmOp(IRDLOperation):
    """Base of ops with a declarative format."""

    ASM: ClassVar[str] = ""
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {}
    TYPES: ClassVar[Mapping[str, TypeRule]] = {}
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {}

    @classmethod
    def format(cls) -> Format:
        """The compiled format, made on first use."""
        found = cls.__dict__.get("__format__compiled__")
        if found is None:
            from tilewright.ir.text.format import compile_format

            found = compile_format(cls)
            cls.__format__compiled__ = found
        return cast("Format", found)

    @classmethod
    def parse(cls, parser: Any) -> Self:
        return cast("Self", cls.format().parse(parser))

    def print(self, printer: Any) -> None:
        self.format().print(printer, self)

    def verify_type_rules(self) -> None:
        """Raise if a type differs from its rule."""
        if not self.TYPES:
            return
        known = _TypesOfOp(self)
        types = Types(known)
        for name, rule in self.TYPES.items():
            actual = known[name]
            if not actual:
                continue
            expected = rule.infer(types)
            if any(found is not expected and found != expected for found in actual):
                raise VerifyException(f"failed to verify that {rule.description}")


class _TypesOfOp(Mapping[str, Sequence[Attribute]]):
    """Types of an op's operands and results, looked up when a rule needs them."""

    def __init__(self, op: IRDLOperation) -> None:
        self._op = op

    def __getitem__(self, name: str) -> Sequence[Attribute]:
        value: Any = getattr(self._op, name)
        if value is None:
            return ()
        if isinstance(value, SSAValue):
            return (value.type,)
        return [each.type for each in value]

    def __iter__(self) -> Iterator[str]:
        definition = type(self._op).get_irdl_definition()
        return (name for name, _ in (*definition.operands, *definition.results))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def has_custom_text(op: type[Operation]) -> bool:
    """Whether ops of this class print in a form of their own rather than the generic one."""
    return op.print is not Operation.print
