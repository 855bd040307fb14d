"""Writes the source of one kernel, op by op, from a table.

An op requests the text of its operands and defines its results: an expression, or statements.
An expression that is used once is written where it is used, as a person would; everything else
gets a variable named as in the user's kernel. Nothing is decided here about what the code does:
that happened in the passes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue, Use

from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.diagnostics import Diagnostic, Severity, resolve
from tilewright.ir.interfaces import constant_value
from tilewright.targets.cxx.errors import NO_TEXT, CannotEmit
from tilewright.targets.cxx.flavour import INT, LONG, CType, Flavour
from tilewright.targets.cxx.syntax import Names, c_type, literal

Rule: TypeAlias = Callable[["Emitter", Operation], None]

_INDENT = "  "
_LONG = 90
"""An expression longer than this gets a name, for the reader."""

# How tightly C++ binds, from the loosest.
(
    LOOSE,
    TERNARY,
    OR,
    AND,
    BIT_OR,
    BIT_XOR,
    BIT_AND,
    EQUAL,
    LESS,
    SHIFT,
    SUM,
    MULTIPLY,
    UNARY,
    ATOM,
) = range(14)


@dataclass(frozen=True)
class Text:
    """An expression, and how tightly its outermost operator binds."""

    text: str
    binds: int = ATOM

    def within(self, binds: int) -> str:
        """The text where something that binds so tightly takes it as an operand."""
        return self.text if self.binds >= binds else f"({self.text})"


@dataclass
class Uses:
    """What the source needs besides itself."""

    headers: set[str] = field(default_factory=set[str])
    """Headers of the vendor."""
    functions: dict[str, None] = field(default_factory=dict[str, None])
    """Names of device functions of ours, in the order of their first use."""
    generated: dict[str, str] = field(default_factory=dict[str, str])
    """Text of functions generated for the shapes that are used, by name."""
    sources: dict[str, None] = field(default_factory=dict[str, None])
    """Source supplied by the user."""


class Emitter:
    """Writes statements; `lines` is the body of the kernel."""

    def __init__(
        self,
        rules: Mapping[str, Rule],
        flavour: Flavour,
        *,
        comments: bool = True,
        index_bits: int = 32,
    ) -> None:
        self.rules = rules
        self.flavour = flavour
        self.index_bits = index_bits
        self.uses = Uses()
        self.names = Names()
        self.lines: list[str] = []
        self.depth = 1
        self.comments = comments
        self._values: dict[SSAValue, Text] = {}
        self._current: Operation | None = None
        self._last_line: tuple[str, int] | None = None

    # -- values ------------------------------------------------------------------------------

    def text(self, value: SSAValue) -> Text:
        """The expression for an operand."""
        found = self._values.get(value)
        if found is not None:
            return found
        constant = constant_value(value)
        if constant is not None:
            text = literal(constant, self.flavour)
            if self.index_bits > INT.bits and isinstance(value.type, IndexType):
                text += "LL"
            return Text(text, UNARY if text.startswith("-") else ATOM)
        raise AssertionError(f"value of type {value.type} is used before its definition is emitted")

    def operand(self, value: SSAValue, binds: int = LOOSE) -> str:
        """The expression for an operand, in parentheses where it needs them."""
        return self.text(value).within(binds)

    def define(self, value: SSAValue, text: Text) -> None:
        """Define the expression of a value, without a variable."""
        self._values[value] = text

    def name(self, value: SSAValue, fallback: str = "v") -> str:
        """Give a value a name; the caller declares it."""
        name = self.names.take(value.name_hint, fallback)
        self._values[value] = Text(name)
        return name

    def pure(self, value: SSAValue, text: Text) -> None:
        """A result without effects: written where it is used, or as a constant of its own."""
        use = only_use(value)
        if use is not None and len(text.text) <= _LONG and _is_near(value, use):
            self.define(value, text)
        elif any(True for _ in value.uses):
            self.constant(value, text)

    def same(self, value: SSAValue, other: SSAValue) -> None:
        """A result that is another value."""
        text = self.text(other)
        if text.text.isidentifier():
            self.define(value, text)
        else:
            self.pure(value, text)

    def constant(self, value: SSAValue, text: Text) -> None:
        """A result that is computed here and has a name."""
        type = self.scalar(value.type)
        self.statement(f"const {type.name} {self.name(value)} = {text.text};")

    def pure_pointer(self, value: SSAValue, text: Text) -> None:
        """An address: written where it is used."""
        self.define(value, text)

    def scalar(self, type: Attribute) -> CType:
        """The C++ type of a scalar, with what declares it."""
        found = c_type(type, self.flavour)
        if isinstance(type, IndexType) and self.index_bits > INT.bits:
            found = LONG
        if found is None:
            raise self.refusal(f"type '{type}' has no {self.flavour.name} equivalent")
        self.declare(found)
        return found

    def declare(self, type: CType) -> None:
        """Have a type declared."""
        if type.header is not None:
            self.uses.headers.add(type.header)
        if type.definition is not None:
            self.uses.functions.setdefault(type.definition)

    def element(self, buffer: SSAValue) -> CType:
        """The C++ type of the elements of a buffer."""
        return self.scalar(element_type_of(buffer.type))

    # -- statements --------------------------------------------------------------------------

    def statement(self, text: str) -> None:
        self.lines.append(f"{_INDENT * self.depth}{text}")

    @contextmanager
    def block(self, opening: str, closing: str = "}") -> Generator[None]:
        """``opening {`` … ``}``."""
        self.statement(f"{opening} {{" if opening else "{")
        self.depth += 1
        yield
        self.depth -= 1
        self.statement(closing)

    def body(self, block: Block) -> None:
        """All ops of a block, its end excluded."""
        for op in block.ops:
            self.op(op)

    def op(self, op: Operation) -> None:
        rule = self.rules.get(op.name)
        self._current = op
        if rule is None:
            raise self.refusal(f"'{op.name}' cannot be emitted as {self.flavour.name}")
        self._comment(op)
        rule(self, op)

    def call(self, function: str, arguments: Sequence[str]) -> str:
        """A call of a device function of ours."""
        self.uses.functions.setdefault(function)
        return f"tw::{function}({', '.join(arguments)})"

    def library(self, function: str, arguments: Sequence[str]) -> str:
        """A call of a function of C's library, or of the vendor's."""
        if self.flavour.library is None:
            return self.call(function, arguments)
        name = self.flavour.library.get(function, function)
        return f"{name}({', '.join(arguments)})"

    def identity(self, kind: str, dimension: str) -> str:
        """The index of a thread or block, or how many there are."""
        name = self.flavour.identities[kind].format(dimension)
        return self.call(name, []) if self.flavour.library is None else name

    def refusal(self, message: str, help: str | None = None, code: str = NO_TEXT) -> CannotEmit:
        location = None if self._current is None else self._current.location
        diagnostic = Diagnostic(Severity.ERROR, message, location, code)
        return CannotEmit(diagnostic if help is None else diagnostic.note(None, help))

    def _comment(self, op: Operation) -> None:
        """The user's source line, once for the statements that come from it."""
        if not self.comments or op.name == "arith.constant" or not _does_something(op):
            return
        line = _line_of(op)
        if line is None or line == self._last_line:
            return
        self._last_line = line
        self.statement(f"// {line[0]}:{line[1]}")


def only_use(value: SSAValue) -> Use | None:
    """The use of a value that has one."""
    return value.get_unique_use()


def _is_near(value: SSAValue, use: Use) -> bool:
    """Whether the use is in the same block: a loop inside would compute it again and again."""
    return (
        use.operation.parent is value.owner.parent if isinstance(value.owner, Operation) else True
    )


_ENDS = frozenset(("tile.yield", "func.return", "scf.yield", "scf.condition", "tile.assume"))


def _does_something(op: Operation) -> bool:
    return (bool(op.regions) or not op.results) and op.name not in _ENDS


def _line_of(op: Operation) -> tuple[str, int] | None:
    position = resolve(op.location).primary
    return None if position is None else (position.file.rsplit("/", 1)[-1], position.line)


def is_buffer(type: Attribute) -> bool:
    return isinstance(type, MemRefType)
