"""Writes the code of tile-level IR, with the tables of the pointer level for scalar arithmetic.

A block runs as ordinary Python: loops are loops, tile ops are calls, buffers are objects. Only the
body of a `tile.parallel` (and of a kernel that names its threads) is written over arrays, one
element for each iteration. Values that differ between iterations have the live axis `LANE`; any
number of array axes counts as one here, since arrays over an index space always broadcast.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.dialects.tile.mixed import Mixed
from tilewright.ir.codes.shared import NOT_ON_NUMPY
from tilewright.ir.diagnostics import Diagnostic, Severity
from tilewright.ir.interfaces import constant_value
from tilewright.targets.numpy.dtypes import ScalarType, scalar_type
from tilewright.targets.numpy.emitter import Emitter, Unit
from tilewright.targets.numpy.errors import Unsupported
from tilewright.targets.numpy.ops.checks import require_defined
from tilewright.targets.numpy.tile.patterns import ParallelProperties
from tilewright.targets.numpy.values import PROGRAM, Expr, Nest, Scope, Tensor

LANE = PROGRAM
"""The live axis of what differs between iterations."""

_LEVEL = ("tile", "nv", "memref", "scf", "arith", "math")
"""The dialects of tile-level IR."""
_ENDS = frozenset(("tile.yield", "tile.return", "func.return", "scf.yield", "scf.condition"))


@dataclass
class TileUnit(Unit):
    """What the functions of one module share."""

    is_concurrent: bool = False
    """Whether the order of events is a matter of choice, so that code consists of generators."""
    explicit: set[SSAValue] = field(default_factory=set[SSAValue])
    """Barriers on which the kernel issues expect-tx itself."""
    divided: dict[SSAValue, Operation] = field(default_factory=dict[SSAValue, Operation])
    """Shared and local buffers that store quotients, each with a division that produces one."""
    arena_bytes: int = 0
    arenas: dict[SSAValue | None, str] = field(default_factory=dict["SSAValue | None", str])


class TileEmitter(Emitter):
    """Writes one function of tile-level IR."""

    unit: TileUnit

    def __init__(self, unit: TileUnit) -> None:
        super().__init__(unit)
        self.memory: dict[SSAValue, Expr] = {}
        """Buffers, regions and barriers."""
        self.lanes: Expr | None = None
        """The iterations that run at once, in a parallel loop."""
        self.threads: Expr | None = None
        """The threads of a kernel that names them."""
        self.properties: ParallelProperties | None = None
        """What is known about the accesses of the parallel loop."""
        self.private: set[SSAValue] = set()
        """Buffers of which each iteration has its own."""
        self.first_thread = 0
        """The number of the first thread of a role that counts those of the block."""
        self.divergence = 0
        """How many branches and loops around depend on the iteration."""
        self.written: set[Operation] = set()
        """Ops that were emitted ahead of their position."""
        self.in_task = False
        """Whether code is written that a task runs, which others may interrupt."""
        self.in_combiner = False
        """Whether code is written that is applied to whole arrays of elements."""

    # -- values ------------------------------------------------------------------------------

    def buffer(self, value: SSAValue) -> Expr:
        """A buffer, a region or a row of barriers."""
        found = self.memory.get(value)
        if found is None:
            raise self.unsupported(
                f"type '{value.type}' is not memory that the NumPy target supports"
            )
        return found

    @override
    def tensor(self, value: SSAValue) -> Tensor:
        if value not in self.values:
            name = value.name_hint or "a value"
            raise self.unsupported(f"'{name}' of type '{value.type}' is used before it is defined")
        return super().tensor(value)

    def mixed(self, value: Mixed) -> Expr:
        """A number that is known, or a value."""
        if isinstance(value, int):
            return Expr(str(value), 0, 0, 0)
        return self.expr(value)

    def uniform(self, value: Mixed, what: str) -> Expr:
        """As `mixed`, for something that all iterations must agree on."""
        expr = self.mixed(value)
        if not isinstance(value, int):
            require_defined(self, self.tensor(value), what, ())
        if expr.axes:
            raise self.unsupported(
                f"{what} differs between iterations",
                "write element by element inside T.Parallel, or move the op out of the loop",
            )
        return expr

    def element_type(self, type: Attribute) -> ScalarType:
        """The scalar type of a buffer's elements."""
        found = scalar_type(type)
        if found is None:
            raise self.unsupported(f"the element type of '{type}' has no NumPy equivalent")
        return found

    def listed(self, exprs: Sequence[Expr]) -> str:
        """`(a, b)`."""
        inner = ", ".join(expr.text for expr in exprs)
        return f"({inner},)" if len(exprs) == 1 else f"({inner})"

    @property
    @override
    def checker(self) -> Expr:
        return self.lanes or self.threads or self.runtime

    def quotients(self, value: SSAValue) -> tuple[str, list[Expr]]:
        """Where the divisors that a value depends on are not zero, as an option of a call."""
        shadows = self.tensor(value).shadows
        if not shadows:
            return "", []
        pairs = [
            f"({each.expr.text}, {self.unit.source_id(each.origin, each.why)})" for each in shadows
        ]
        return f", quotients=({', '.join(pairs)},)", [each.expr for each in shadows]

    @override
    def unsupported(self, message: str, fix: str | None = None) -> Unsupported:
        diagnostic = Diagnostic(Severity.ERROR, message, self.location, NOT_ON_NUMPY)
        if fix is not None:
            diagnostic.note(None, fix)
        return Unsupported(diagnostic, self.unit.sources)

    # -- ops ---------------------------------------------------------------------------------

    @override
    def block(self, block: Block) -> None:
        self._count_iterations(block)
        for op in block.ops:
            if op in self.written:
                self.written.discard(op)  # a loop may be written again
            elif op.name not in _ENDS:
                self.op(op)

    def _count_iterations(self, block: Block) -> None:
        """At the start of the body of a `while` loop, which may wait for a task or never end."""
        parent = block.parent_op()
        if parent is None or parent.name != "scf.while" or block is not parent.regions[1].block:
            return
        self.location = parent.location
        self.step()
        if self.lanes is None and self.threads is None:
            self.effect(f"rt.turn({self.site()})")

    @override
    def op(self, op: Operation) -> None:
        if op.name not in self.unit.rules:
            self.location = op.location
            is_of_level = op.name.partition(".")[0] in _LEVEL
            raise self.unsupported(
                f"'{op.name}' is not supported by the NumPy target",
                None if is_of_level else f"use tile-level IR: {', '.join(_LEVEL)}",
            )
        super().op(op)

    def step(self) -> None:
        """A point where other tasks may go on."""
        if self.in_task:
            self.effect("yield")

    def site(self) -> int:
        """The number of the current op's location."""
        return self.unit.source_id(self.location)

    def call(self, text: str, *operands: Expr) -> None:
        """A statement that accesses memory."""
        self.step()
        self.effect(text, *operands)

    # -- nesting -----------------------------------------------------------------------------

    @contextmanager
    def nested(self, header: str, *deps: Expr, is_function: bool = False) -> Generator[Scope]:
        """Statements under a header."""
        scope = Scope(is_barrier=is_function)
        location = self.location
        self.scopes.append(scope)
        yield scope
        self.scopes.pop()
        lines = tuple(expr.line for expr in deps if expr.line is not None)
        nest = Nest(header, (), lines, location, is_effect=True, scope=scope)
        self.scope.lines.append(nest)

    @override
    @contextmanager
    def diverging(self, differ: bool) -> Generator[None]:
        is_parallel = self.in_combiner or (self.lanes or self.threads) is not None
        self.divergence += is_parallel and differ
        yield
        self.divergence -= is_parallel and differ

    @contextmanager
    def iterating(self, lanes: Expr, properties: ParallelProperties | None) -> Generator[None]:
        """Code that all iterations run at once."""
        state = self.lanes, self.properties, self.control, self.divergence
        self.lanes, self.properties, self.control, self.divergence = lanes, properties, lanes, 0
        yield
        self.lanes, self.properties, self.control, self.divergence = state


def constant_of(value: Mixed) -> int | None:
    """The number a value is known to be."""
    if isinstance(value, int):
        return value
    found = constant_value(value)
    return found.value.data if isinstance(found, IntegerAttr) else None
