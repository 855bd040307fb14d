"""What the emitter records about a value while it writes code.

An *expression* (`Expr`) is one Python variable or constant of the generated code. Its shape follows
from two things: the rank of the IR's tensor and the set of *live axes*, a bit mask: bit 0 is the
program axis, bit 1+i is axis i of the tensor. Along other axes nothing changes, so the array has
extent 1 there; with no live axis at all the expression is a NumPy scalar. For
`tensor<64x32xf32>`::

    axes 0b000   np.float32            axes 0b010   (1, 64, 1)
    axes 0b001   (P, 1, 1)             axes 0b111   (P, 64, 32)

P may be 1 at run time. Most values are one expression. A sum of expressions with different live
axes, such as `rows[:, None] * stride + cols[None, :]`, is also stored as its *terms*: an address
computed from it stays a list of small arrays. A conjunction of masks keeps its terms in the same
way. Unused expressions are not written.

A *shadow* marks where a value is defined: a masked load without `other` leaves lanes undefined, and
all values computed from them are undefined too. Shadows cost nothing until a value is stored,
branched on or printed under a mask that does not imply them. A value has few shadows for each
origin; where more come together they are joined, so that code grows with the number of ops.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from xdsl.ir import Attribute

PROGRAM = 1
"""The bit of the program axis."""

NO_OTHER = (
    "it comes from lanes where the mask of this load is false, and `other` is not given: "
    "pass `other` (0.0 for a sum, -float('inf') for a maximum), or mask the use"
)
NO_QUOTIENT = "it comes from a division by zero here: use another divisor there, or mask the use"
NO_RESULT = "it comes from lanes where the mask of this op is false: mask the use"


def axis_bit(axis: int) -> int:
    """The bit of an axis of a tensor."""
    return 2 << axis


def all_axes(shape: Iterable[int]) -> int:
    """Every axis of a tensor that has more than one element."""
    return sum(axis_bit(axis) for axis, extent in enumerate(shape) if extent != 1)


def union(*exprs: Expr) -> int:
    """The axes along which something computed from `exprs` can change."""
    axes = 0
    for expr in exprs:
        axes |= expr.axes
    return axes


@dataclass(eq=False, slots=True)
class Line:
    """A statement of generated code; symbols in its text stand for names given later."""

    text: str
    targets: tuple[int, ...] = ()
    """Symbols it assigns; none for a statement that is there for its effect."""
    deps: tuple[Line, ...] = ()
    location: Attribute | None = None
    is_effect: bool = False
    is_needed: bool = False


@dataclass(eq=False, slots=True)
class Phi(Line):
    """A variable that several assignments give a value: carried by a loop, or set by branches."""

    sources: list[Line] = field(default_factory=list[Line])
    alias: Expr | None = None
    """What it always equals, if no assignment changes it."""


@dataclass(eq=False, slots=True)
class Assign(Line):
    """Assignments to phis, all at once; those of phis that are never read are left out."""

    pairs: list[tuple[Phi, Expr]] = field(default_factory=list[tuple[Phi, "Expr"]])
    wrapper: str = "{new}"
    """The right-hand side: of the symbol `{old}` and the expression `{new}`."""


@dataclass(eq=False, slots=True)
class Nest(Line):
    """A statement with a body: its text is the header."""

    scope: Scope = field(default_factory=lambda: Scope())


@dataclass(eq=False, slots=True)
class Scope:
    """A sequence of statements, and the expressions computed in it."""

    is_barrier: bool = False
    """Whether it may not run: nothing is moved out of it."""
    lines: list[Line] = field(default_factory=list[Line])
    known: dict[str, Expr] = field(default_factory=dict[str, "Expr"])


@dataclass(frozen=True, slots=True)
class Expr:
    """A variable of generated code."""

    text: str
    axes: int
    rank: int
    depth: int
    """Index of the scope it belongs to; 0 for constants of the module."""
    line: Line | None = None

    @property
    def is_scalar(self) -> bool:
        """Whether it is a NumPy scalar."""
        return self.axes == 0


@dataclass(frozen=True, slots=True)
class Shadow:
    """Where a value is defined, and the load that left the rest undefined."""

    expr: Expr
    origin: Attribute | None
    why: str = NO_OTHER

    def on(self, expr: Expr) -> Shadow:
        """The same for a value made from this one."""
        return replace(self, expr=expr)


Shadows: TypeAlias = tuple[Shadow, ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A number or truth value, or a tensor of them."""

    expr: Expr
    terms: tuple[Expr, ...] = ()
    """Expressions whose sum it is, if it was computed as a sum over several axes."""
    conjuncts: tuple[Expr, ...] = ()
    """Expressions whose conjunction it is."""
    shadows: Shadows = ()

    @property
    def mask_terms(self) -> tuple[Expr, ...]:
        return self.conjuncts or (self.expr,)


@dataclass(frozen=True, slots=True)
class Pointer:
    """An address, or a tensor of them: the sum of its terms, no two with the same live axes."""

    terms: tuple[Expr, ...]
    root: int | None
    """The argument of the kernel it was made from."""
    shadows: Shadows = ()


@dataclass(frozen=True, slots=True)
class EmittedBlock:
    """A block pointer or a tensor descriptor: a tensor in memory and a block of it."""

    base: Pointer
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    offsets: tuple[Expr, ...]
    extents: tuple[int, ...]
    """Of the block."""
    fill: Expr
    """What is read beyond the bounds of the tensor."""


Value: TypeAlias = Tensor | Pointer | EmittedBlock


def by_origin(shadows: Iterable[Shadow]) -> dict[object, list[Shadow]]:
    """Shadows by the op that they come from."""
    groups: dict[object, list[Shadow]] = {}
    for shadow in shadows:
        groups.setdefault((id(shadow.origin), shadow.why), []).append(shadow)
    return groups


def shadows_of(*values: Value) -> Shadows:
    """The shadows of something computed from `values`, each once."""
    found: dict[str, Shadow] = {}
    for value in values:
        for shadow in () if isinstance(value, EmittedBlock) else value.shadows:
            found.setdefault(shadow.expr.text, shadow)
    return tuple(found.values())
