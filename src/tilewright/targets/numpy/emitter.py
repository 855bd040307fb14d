"""Writes the code of one function, op by op, from the tables in `ops`.

Op rules take expressions from the emitter and define values. Three services keep the tables short:

- `pure` writes an expression. It goes into the outermost scope that has its operands, so what does
  not change in a loop is computed before it, and what does not depend on any argument when the
  module is loaded. The same expression is written once.
- `here` writes an expression that must stay where it is (a load), `effect` a statement;
- `phi` makes a variable that several statements assign.

What an op means is decided in its table entry and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.dialects.tt.functions import FuncOp
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.codes.shared import NOT_ON_NUMPY
from tilewright.ir.diagnostics import Diagnostic, Severity, SourceManager
from tilewright.targets.numpy.api import Site
from tilewright.targets.numpy.dtypes import ScalarType, scalar_type
from tilewright.targets.numpy.errors import Unsupported
from tilewright.targets.numpy.names import hint_of
from tilewright.targets.numpy.support.batch import SourceSite
from tilewright.targets.numpy.values import (
    Expr,
    Line,
    Phi,
    Scope,
    Shadow,
    Shadows,
    Tensor,
    Value,
    axis_bit,
    by_origin,
    shadows_of,
    union,
)

_MAX_SHADOWS = 4
"""Shadows of one origin that a value may have: a mask has about as many terms as axes."""

Rule: TypeAlias = Callable[["Emitter", Operation], None]
"""Writes the code of an op."""


@dataclass
class Unit:
    """What the functions of one kernel share."""

    functions: Mapping[str, FuncOp]
    rules: Mapping[str, Rule]
    sources: SourceManager | None = None
    keeps_terms: bool = True
    """Whether integer sums also retain their terms, for addresses."""
    has_terms: bool = False
    """Whether it was done for one that would wrap around."""
    constants: Scope = field(default_factory=Scope)
    hints: dict[int, str] = field(default_factory=dict[int, str])
    """The name each symbol would like to have."""
    sites: list[Site] = field(default_factory=list[Site])
    source_sites: list[SourceSite] = field(default_factory=list[SourceSite])
    """What statements refer to by number when something is wrong."""
    bodies: list[tuple[int, str, Scope]] = field(default_factory=list[tuple[int, str, Scope]])
    """Name, parameters and statements of the Python functions, callees first."""
    aliases: dict[int, Expr] = field(default_factory=dict[int, Expr])
    """Symbols that alias another expression."""
    instances: dict[object, object] = field(default_factory=dict[object, object])
    """Functions already written, by name and how their arguments are passed."""
    calls: list[str] = field(default_factory=list[str])
    """The functions being written, outermost first."""
    largest: int = 1
    """Bytes of the largest tensor."""
    sized: dict[int, Attribute] = field(default_factory=dict[int, Attribute])
    """Types of tensors that were looked at, by identity, which they retain here."""

    def note_size(self, type: Attribute) -> None:
        """A tensor of `type` is defined."""
        if id(type) in self.sized:
            return
        self.sized[id(type)] = type
        found = scalar_type(type)
        itemsize = 8 if found is None else found.dtype.itemsize
        self.largest = max(self.largest, prod(shape_of(type)) * itemsize)

    def symbol(self, hint: str) -> int:
        """A new symbol."""
        symbol = len(self.hints)
        self.hints[symbol] = hint
        return symbol

    def source_id(self, location: Attribute | None, why: str = "") -> int:
        """The id of a location and its remark."""
        self.source_sites.append(SourceSite(location, why))
        return len(self.source_sites) - 1


def symbol_text(symbol: int) -> str:
    """A symbol in text; a name replaces it at the end."""
    return f"\0{symbol}\0"


class Emitter:
    """Writes one Python function."""

    def __init__(self, unit: Unit, *, is_callee: bool = False) -> None:
        self.unit = unit
        self.is_callee = is_callee
        self.runtime = Expr("rt", 0, 0, 1)
        """What is known of the programs that run; see `support/batch.py`."""
        self.control = self.runtime
        """Whose control flow it is: that of the programs, or of elements."""
        self.result_types: Sequence[Attribute] = ()
        """Of the function, for its returns."""
        self.scopes: list[Scope] = [unit.constants, Scope(is_barrier=True)]
        self.values: dict[SSAValue, Value] = {}
        self.location: Attribute | None = None
        self.hint = "t"
        self.loops = 0
        """How many loops the current op is in."""
        self.carried: dict[Operation, object] = {}
        """What is known of loops that were written before, by their op."""

    # -- values ------------------------------------------------------------------------------

    def tensor(self, value: SSAValue) -> Tensor:
        """The value of an operand that is not a pointer."""
        found = self.values[value]
        assert isinstance(found, Tensor)
        return found

    def expr(self, value: SSAValue) -> Expr:
        """The array of an operand that is not a pointer."""
        return self.tensor(value).expr

    def scalar_type(self, value: SSAValue) -> ScalarType:
        """The type of a value's elements."""
        found = scalar_type(value.type)
        if found is None:
            raise self.unsupported(f"type '{value.type}' has no equivalent in NumPy")
        return found

    def define(self, value: SSAValue, defined: Value) -> None:
        """Define the value of a result."""
        self.values[value] = defined
        if isinstance(defined, Tensor):
            self.unit.note_size(value.type)

    def unsupported(self, message: str, fix: str | None = None) -> Unsupported:
        """An error at the current op."""
        diagnostic = Diagnostic(Severity.ERROR, message, self.location, NOT_ON_NUMPY)
        if fix is not None:
            diagnostic.note(None, fix)
        return Unsupported(diagnostic, self.unit.sources)

    # -- ops ---------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        """Write every op of a block but the terminator."""
        for op in block.ops:
            if op.name not in _TERMINATORS:
                self.op(op)

    def op(self, op: Operation) -> None:
        """Write one op."""
        self.location = op.location
        self.hint = hint_of(op)
        rule = self.unit.rules.get(op.name)
        if rule is None:
            raise self.unsupported(
                f"'{op.name}' is not supported on target numpy",
                "the target runs IR before layout assignment (.ttir): tt, arith, math, scf, cf, ub",
            )
        rule(self, op)

    # -- writing -----------------------------------------------------------------------------

    @property
    def depth(self) -> int:
        """Index of the innermost scope."""
        return len(self.scopes) - 1

    @property
    def scope(self) -> Scope:
        return self.scopes[-1]

    def pure(
        self,
        template: str,
        *operands: Expr,
        axes: int | None = None,
        rank: int | None = None,
        hint: str | None = None,
    ) -> Expr:
        """An expression without effects: `{0}`, `{1}` … in the template are the operands.

        Live axes are those of the operands, and the rank is their maximum.
        """
        text = template.format(*[operand.text for operand in operands])
        depth = self._depth_for(operands)
        known = self._known(text, depth)
        if known is not None:
            return known
        if axes is None:
            axes = union(*operands)
        if rank is None:
            rank = max((operand.rank for operand in operands), default=0)
        expr = self._write(text, operands, axes, rank, depth, hint)
        self.scopes[depth].known[text] = expr
        return expr

    def here(
        self, template: str, *operands: Expr, axes: int, rank: int, hint: str | None = None
    ) -> Expr:
        """An expression that depends on when it is computed."""
        text = template.format(*[operand.text for operand in operands])
        return self._write(text, operands, axes, rank, self.depth, hint)

    def several(
        self,
        template: str,
        operands: Sequence[Expr],
        results: Sequence[tuple[int, int]],
        *,
        is_pure: bool = True,
    ) -> list[Expr]:
        """An expression whose value is a tuple; `results` are the axes and ranks of its parts."""
        text = template.format(*[operand.text for operand in operands])
        depth = self._depth_for(operands) if is_pure else self.depth
        symbols = tuple(self.unit.symbol(self.hint) for _ in results)
        line = Line(text, symbols, _lines(operands), self.location)
        self.scopes[depth].lines.append(line)
        return [
            Expr(symbol_text(symbol), axes, rank, depth, line)
            for symbol, (axes, rank) in zip(symbols, results, strict=True)
        ]

    def effect(self, template: str, *operands: Expr) -> None:
        """A statement."""
        text = template.format(*[operand.text for operand in operands])
        line = Line(text, (), _lines(operands), self.location, is_effect=True)
        self.scope.lines.append(line)

    def statement(self, template: str, *operands: Expr, hint: str) -> Expr:
        """A statement that gives something to refer to by name."""
        expr = self.here(template, *operands, axes=0, rank=0, hint=hint)
        assert expr.line is not None
        expr.line.is_effect = True
        return expr

    def statements(self, template: str, *operands: Expr, hints: Sequence[str]) -> list[Expr]:
        """As `statement`, for a tuple."""
        exprs = self.several(template, operands, [(0, 0)] * len(hints), is_pure=False)
        for expr, hint in zip(exprs, hints, strict=True):
            assert expr.line is not None
            expr.line.is_effect = True
            self.unit.hints[int(expr.text.strip("\0"))] = hint
        return exprs

    def unplaced(self, template: str, *operands: Expr, hint: str) -> Expr:
        """An expression whose statement the caller puts where it belongs."""
        text = template.format(*[operand.text for operand in operands])
        symbol = self.unit.symbol(hint)
        line = Line(text, (symbol,), _lines(operands), self.location)
        return Expr(symbol_text(symbol), 0, 0, self.depth, line)

    def variable(self, symbol: int, axes: int) -> Expr:
        """A variable that a header binds in the current scope: of a loop, or a parameter."""
        return Expr(symbol_text(symbol), axes, 0, self.depth)

    def local(self, name: str, text: str) -> Expr:
        """A name for something of the run-time support, bound at the start of the function."""
        known = self.scopes[1].known.get(text)
        if known is not None:
            return known
        symbol = self.unit.symbol(name)
        line = Line(text, (symbol,))
        expr = Expr(symbol_text(symbol), 0, 0, 1, line)
        self.scopes[1].lines.insert(0, line)
        self.scopes[1].known[text] = expr
        return expr

    def constant(self, text: str, hint: str, axes: int = 0, rank: int = 0) -> Expr:
        """A constant of the module."""
        return self.pure(
            text.replace("{", "{{").replace("}", "}}"), axes=axes, rank=rank, hint=hint
        )

    def phi(self, axes: int, rank: int, hint: str, depth: int) -> tuple[Phi, Expr]:
        """A variable that is assigned in several places."""
        symbol = self.unit.symbol(hint)
        line = Phi("", (symbol,), (), self.location)
        return line, Expr(symbol_text(symbol), axes, rank, depth, line)

    def diverging(self, differ: bool) -> AbstractContextManager[None]:
        """Around a loop whose iterations are as many for all lanes, or differ."""
        return nullcontext()

    def _depth_for(self, operands: Iterable[Expr]) -> int:
        depth = max((operand.depth for operand in operands), default=0)
        if depth == 0:
            return 0
        inner = self.depth
        while inner > depth and not self.scopes[inner].is_barrier:
            inner -= 1
        return inner

    def _known(self, text: str, depth: int) -> Expr | None:
        # A scope further in may have written it, before an operand was found to be the same.
        for index in range(depth, -1, -1):
            found = self.scopes[index].known.get(text)
            if found is not None:
                return found
        return None

    def _write(
        self,
        text: str,
        operands: Iterable[Expr],
        axes: int,
        rank: int,
        depth: int,
        hint: str | None,
    ) -> Expr:
        symbol = self.unit.symbol(hint or self.hint)
        line = Line(text, (symbol,), _lines(operands), self.location)
        self.scopes[depth].lines.append(line)
        return Expr(symbol_text(symbol), axes, rank, depth, line)

    # -- shapes ------------------------------------------------------------------------------

    def grown(self, expr: Expr, shape: Sequence[int], axes: int) -> Expr:
        """`expr` with at least the live axes `axes` of a tensor of `shape`."""
        live = expr.axes | axes
        if live == expr.axes or (expr.axes and live == expr.axes | 1):
            return expr if live == expr.axes else _with_axes(expr, live)
        extents = [extent if live & axis_bit(axis) else 1 for axis, extent in enumerate(shape)]
        template = f"grow({{0}}, {tuple(extents)})"
        return self.pure(template, expr, axes=live, rank=len(shape))

    def total(self, terms: Sequence[Expr]) -> Expr:
        """The sum of `terms`."""
        result = terms[0]
        for term in terms[1:]:
            result = self.pure("{0} + {1}", result, term)
        return result

    def conjunction(self, exprs: Sequence[Expr]) -> Expr:
        """All of `exprs` at once; True for none."""
        if not exprs:
            return self.constant("np.True_", "true")
        result = exprs[0]
        for expr in exprs[1:]:
            result = self.pure("{0} & {1}", result, expr)
        return result

    def shadow_map(self, value: Tensor, change: Callable[[Expr], Expr]) -> Shadows:
        """The shadows of a value whose elements were moved as `change` moves them."""
        return tuple(each.on(change(each.expr)) for each in value.shadows)

    @property
    def checker(self) -> Expr:
        """The runtime object that checks whether the used lanes are defined."""
        return self.runtime

    def shadows(self, *operands: SSAValue) -> Shadows:
        """The shadows of something computed from `operands` element by element."""
        return self.joined(shadows_of(*[self.values[operand] for operand in operands]))

    def joined(self, shadows: Shadows) -> Shadows:
        """`shadows`, one for each origin that has too many.

        A value may descend from the same load in many ways, through a network of exchanges for
        example; each way has a shadow of its own.
        """
        if len(shadows) <= _MAX_SHADOWS:
            return shadows
        found: list[Shadow] = []
        for group in by_origin(shadows).values():
            if len(group) > _MAX_SHADOWS:
                expr = self.conjunction([each.expr for each in group])
                group = [group[0].on(expr)]
            found += group
        return tuple(found)


_TERMINATORS = frozenset(
    (
        "cf.br",
        "cf.cond_br",
        "cf.switch",
        "scf.condition",
        "scf.yield",
        "tt.return",
        "tt.reduce.return",
        "tt.scan.return",
        "tt.map_elementwise.return",
    )
)


def _with_axes(expr: Expr, axes: int) -> Expr:
    return Expr(expr.text, axes, expr.rank, expr.depth, expr.line)


def _lines(exprs: Iterable[Expr]) -> tuple[Line, ...]:
    return tuple(expr.line for expr in exprs if expr.line is not None)
