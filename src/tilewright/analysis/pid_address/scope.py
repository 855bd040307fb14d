"""The state of the evaluation: a program point on a path, the facts there, and the findings.

``Machine`` is one analysis: its symbols, names and findings. ``Scope`` is one point in it: the
values of one function on one call path, the conditions under which the point is reached, and the
loops around it. A body that is evaluated twice (loops) writes its findings twice; the last writing
is the one with the solved values, so findings are stored by op and path and overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import Context, Formula, Interval, Poly, Space
from tilewright.analysis.pid_address.atoms import Atoms
from tilewright.analysis.pid_address.report import AccessKind, AssumptionKind, Loop
from tilewright.analysis.pid_address.types import integer_range, is_boolean, rank
from tilewright.analysis.pid_address.values import (
    AXIS_BITS,
    Base,
    Boolean,
    Data,
    Integer,
    Pointer,
    Value,
    basis_of,
    deps_of,
)
from tilewright.dialects.type_utils import PointerLike, element_type_of, shape_of
from tilewright.ir.symbols import SymbolTables
from tilewright.ir.text.names import ValueNames

MAX_FORMULA = 256
"""Parts of a condition, repeated ones counted; a larger one is opaque."""

Path: TypeAlias = tuple[str, ...]
ControlRule: TypeAlias = "Callable[[Scope, Operation], Scope]"
"""Evaluates an op with control flow; returns the scope after it."""


@dataclass(frozen=True)
class Site:
    """An access as recorded; its properties are derived afterwards."""

    operation: Operation
    path: Path
    kind: AccessKind
    address: SSAValue
    base: Base
    offset: Integer
    elem_bytes: int
    shape: tuple[int, ...]
    mask: Formula | None
    mask_basis: int
    scope: Scope
    box: BoxParts | None = None
    is_descriptor: bool = False
    is_descriptor_argument: bool = False
    inside: Formula | None = None
    """Part of the mask: what the tile language itself guards, that the element exists."""
    part: int = 0
    """Which of the op's accesses it is."""


@dataclass(frozen=True)
class BoxParts:
    """The tensor of a block access, and the offset of the block in it."""

    offset: Poly
    shape: tuple[Poly, ...]
    strides: tuple[Poly, ...]
    block: tuple[int, ...]
    indices: tuple[Poly, ...]


@dataclass(frozen=True)
class Premise:
    """An assumption of the values, as recorded."""

    id: int
    kind: AssumptionKind
    operation: Operation
    value: SSAValue
    expr: Poly
    limits: Interval
    scope: Scope


@dataclass
class Machine:
    """One analysis of one kernel."""

    space: Space
    atoms: Atoms
    names: ValueNames
    positions: Mapping[Operation, int]
    """Ops numbered in textual order."""
    control: Mapping[str, ControlRule]
    unknown_op: ControlRule
    strict_overflow: bool
    tile_kernel: Operation | None = None
    """Of a function that launches several kernels, the one that is analysed."""
    tile_grid: list[Poly] = field(default_factory=list[Poly])
    """The blocks along each axis of its grid, as the function computes them."""
    changing: frozenset[str] = frozenset()
    """Bases that the kernel both reads and writes."""
    irrelevant: AbstractSet[Operation] = frozenset()
    """Ops that are not evaluated: no address depends on them."""
    symbols: SymbolTables = field(default_factory=SymbolTables)
    sites: dict[tuple[Operation, Path, int], Site] = field(
        default_factory=dict[tuple[Operation, Path, int], Site]
    )
    """By op, call path, and which of the op's accesses it is."""
    premises: dict[tuple[Operation, Path, AssumptionKind], Premise] = field(
        default_factory=dict[tuple[Operation, Path, AssumptionKind], Premise]
    )
    environments: dict[Path, dict[SSAValue, Value]] = field(
        default_factory=dict[Path, dict[SSAValue, Value]]
    )
    calls: dict[Path, tuple[Operation, Path]] = field(
        default_factory=dict[Path, tuple[Operation, Path]]
    )
    """By path: the call it ends with, and the path of the caller."""
    calling: list[Operation] = field(default_factory=list[Operation])
    """Functions being evaluated, so that recursion is found."""
    skipped: dict[tuple[Operation, Path], str] = field(
        default_factory=dict[tuple[Operation, Path], str]
    )
    """Ops that access or may access global memory in a way that has no rule, and why."""
    _unique: dict[tuple[SSAValue, Path], str] = field(
        default_factory=dict[tuple[SSAValue, Path], str]
    )
    _sizes: dict[int, int] = field(default_factory=dict[int, int])
    _taken: set[str] = field(default_factory=set[str])
    _premise_ids: dict[tuple[Operation, Path, AssumptionKind], int] = field(
        default_factory=dict[tuple[Operation, Path, AssumptionKind], int]
    )

    def name(self, value: SSAValue) -> str:
        return f"%{self.names.of(value)}"

    def unique_name(self, value: SSAValue, path: Path) -> str:
        """A name that no other value has: sibling regions may use a name twice."""
        known = self._unique.get((value, path))
        if known is None:
            plain = known = "@".join((self.name(value), *path))
            suffix = 2
            while known in self._taken:
                known = f"{plain}~{suffix}"
                suffix += 1
            self._taken.add(known)
            self._unique[value, path] = known
        return known

    def named_values(self) -> dict[str, SSAValue]:
        """Values of the kernel itself by their unique name: what opaque symbols stand for."""
        return {name: value for (value, path), name in self._unique.items() if not path}

    def formula_size(self, formula: Formula) -> int:
        """The number of parts of a condition, expanded."""
        known = self._sizes.get(formula.id)
        if known is None:
            known = 1 + sum(map(self.formula_size, formula.parts))
            self._sizes[formula.id] = known
        return known

    def position(self, op: Operation) -> int:
        return self.positions[op]

    def control_of(self, op: Operation) -> ControlRule:
        return self.control.get(op.name, self.unknown_op)

    def premise_id(self, key: tuple[Operation, Path, AssumptionKind]) -> int:
        return self._premise_ids.setdefault(key, AXIS_BITS + len(self._premise_ids))


@dataclass(frozen=True)
class Scope:
    """A program point on one call path."""

    machine: Machine
    path: Path
    env: dict[SSAValue, Value]
    """By SSA value; shared by all scopes of one path."""
    ctx: Context
    guard: Formula
    facts: tuple[Formula, ...] = ()
    loops: tuple[Loop, ...] = ()
    basis: int = 0
    """What the conditions and the bounds of the loops rest on."""
    lane_shape: tuple[int, ...] = ()
    """Extents of the ``tile.parallel`` around: their indices are lanes of the scalars inside."""

    # Where.

    @property
    def atoms(self) -> Atoms:
        return self.machine.atoms

    @property
    def space(self) -> Space:
        return self.machine.space

    def under(self, condition: Formula, basis: int = 0) -> Scope:
        """The same point, reached only if `condition` holds."""
        if condition.truth is True:
            return replace(self, basis=self.basis | basis) if basis else self
        return replace(
            self,
            ctx=self.ctx.assume(condition),
            guard=self.guard & condition,
            basis=self.basis | basis,
        )

    def knowing(self, fact: Formula) -> Scope:
        """The same point, with a fact that is not a path condition."""
        if fact.truth is True:
            return self
        return replace(self, ctx=self.ctx.assume(fact), facts=(*self.facts, fact))

    def inside(self, loop: Loop, bound: Formula, basis: int) -> Scope:
        """The body of a loop, where `bound` is known of its counter."""
        return replace(
            self,
            ctx=self.ctx.assume(bound),
            loops=(*self.loops, loop),
            basis=self.basis | basis,
        )

    def loop_mask(self) -> int:
        """Dependence on the iteration of every loop around."""
        mask = 0
        for loop in self.loops:
            mask |= loop.counter.deps_mask
        return mask

    # Values.

    def get(self, value: SSAValue) -> Value:
        known = self.env.get(value)
        return self.unknown(value, self.atoms.unsupported) if known is None else known

    def set(self, value: SSAValue, known: Value) -> None:
        if isinstance(known, Boolean) and known.formula.parts:
            known = Boolean(self.limited(value, known.formula), known.basis)
        self.env[value] = known

    def limited(self, value: SSAValue, formula: Formula) -> Formula:
        """The condition, or an opaque one for it if it has grown out of hand."""
        if self.machine.formula_size(formula) <= MAX_FORMULA:
            return formula
        return self.opaque_formula(value, formula.deps_mask | self.atoms.unsupported)

    def integer(self, value: SSAValue) -> Integer:
        known = self.get(value)
        if isinstance(known, Integer):
            return known
        if isinstance(known, Boolean):
            expr = self.ctx.indicator(known.formula)
            return Integer(expr, expr, basis=known.basis)
        return self.opaque_integer(value, deps_of(known), basis_of(known))

    def formula(self, value: SSAValue) -> Boolean:
        known = self.get(value)
        if isinstance(known, Boolean):
            return known
        mask = deps_of(known) | (0 if isinstance(known, Data) else self.atoms.unsupported)
        return Boolean(self.opaque_formula(value, mask), basis_of(known))

    def pointer(self, value: SSAValue) -> Pointer:
        known = self.get(value)
        return known if isinstance(known, Pointer) else self.unknown_pointer(value, deps_of(known))

    # Opaque values.

    def opaque_name(self, value: SSAValue) -> str:
        return self.machine.unique_name(value, self.path)

    def opaque_integer(self, value: SSAValue, mask: int, basis: int = 0) -> Integer:
        expr = self.atoms.opaque(
            self.opaque_name(value), mask, self.shape(value), integer_range(value.type)
        )
        return Integer(expr, expr, basis=basis)

    def opaque_formula(self, value: SSAValue, mask: int) -> Formula:
        return self.atoms.predicate(self.opaque_name(value), mask, self.shape(value))

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """The extents of a value's lanes: its own, or those of the loop it is in."""
        return shape_of(value.type) or self.lane_shape

    def unknown_pointer(self, value: SSAValue, mask: int, basis: int = 0) -> Pointer:
        """A pointer to an unknown address."""
        base = Base("?", None, None, mask)
        return Pointer(base, Integer(self.space.zero, self.space.zero, basis=basis))

    def unknown(self, value: SSAValue, mask: int, basis: int = 0) -> Value:
        """A value of which only its type and its dependencies are known."""
        element = element_type_of(value.type)
        if isinstance(element, PointerLike):
            return self.unknown_pointer(value, mask, basis)
        if is_boolean(value.type):
            return Boolean(self.opaque_formula(value, mask), basis)
        if integer_range(value.type).is_bounded:
            return self.opaque_integer(value, mask, basis)
        return Data(mask, basis)

    def set_unknown(self, op: Operation, reason: int, dropped: int = 0) -> None:
        """Results that depend on all operands, but not on the lanes in `dropped`."""
        mask, basis = reason, 0
        for operand in op.operands:
            known = self.get(operand)
            mask |= deps_of(known)
            basis |= basis_of(known)
        for result in op.results:
            self.set(result, self.unknown(result, mask & ~dropped, basis))

    # Findings.

    def premise(self, kind: AssumptionKind, op: Operation, expr: Poly, limits: Interval) -> int:
        """The bit of an assumption about an op, made here."""
        value: SSAValue = op.results[0]
        key = (op, self.path, kind)
        id = self.machine.premise_id(key)
        self.machine.premises[key] = Premise(id, kind, op, value, expr, limits, self)
        return 1 << id

    def needs_no_premise(self, kind: AssumptionKind, op: Operation) -> None:
        """Forget an assumption that an earlier evaluation made and this one does not need."""
        self.machine.premises.pop((op, self.path, kind), None)

    def record(self, site: Site) -> None:
        """Keep an access; a mask that is constantly true is none."""
        if site.mask is not None and site.mask.truth is True:
            site = replace(site, mask=None)
        self.machine.sites[site.operation, site.path, site.part] = site

    def not_analysed(self, op: Operation, reason: str) -> None:
        """Note an op whose accesses to global memory the report does not contain."""
        self.machine.skipped[op, self.path] = reason


def is_scalar(value: SSAValue) -> bool:
    return rank(value.type) == 0
