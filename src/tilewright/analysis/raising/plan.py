"""The plan of a raising: what every access, value and loop becomes, and what stands against it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.analysis.affine import Atom, Formula, Poly
from tilewright.analysis.pid_address.atoms import kind_of
from tilewright.analysis.raising.addresses import Addresses, atoms_read
from tilewright.analysis.raising.loops import LoopPlan
from tilewright.analysis.raising.refusals import SLOW, Refusal
from tilewright.analysis.raising.slots import Slots
from tilewright.analysis.raising.tasks import Tasks
from tilewright.analysis.raising.values import ValueClass, Values
from tilewright.analysis.raising.views import Box, View
from tilewright.dialects.scf import ForOp, WhileOp
from tilewright.dialects.tt import DotOp, DotScaledOp, FuncOp
from tilewright.dialects.type_utils import shape_of


@dataclass(frozen=True)
class Rows:
    """A matrix whose rows are accessed in any order."""

    offset: Poly
    shape: tuple[Poly, Poly]
    strides: tuple[Poly, Poly]


@dataclass(frozen=True)
class Access:
    """How an access finds its memory."""

    base: SSAValue
    """A pointer argument, or the integer that is an address."""
    element: Attribute
    address: Poly | None
    """The offset in elements, over the lanes; None: as the kernel adds it up."""
    mask: Formula | None = None
    """Of descriptors and block pointers: which lanes are inside."""
    fills_nan: bool = False
    divisor: int | None = None
    """What divides the address that is an integer, in bytes; None: the size of an element."""
    box: Box | None = None
    rows: Rows | None = None
    """Of gathers and scatters: rows that are read from a tensor of indices."""

    def __str__(self) -> str:
        if self.box is not None:
            starts = ", ".join(map(str, self.box.starts))
            return f"view {self.box.view} at [{starts}], part {list(self.box.parts)}"
        return f"elements at {self.address if self.address is not None else 'computed addresses'}"


@dataclass(frozen=True, eq=False)
class RaisePlan:
    """Everything that is decided before the first op is written."""

    function: FuncOp
    addresses: Addresses
    accesses: dict[Operation, Access]
    views: tuple[View, ...]
    copies: frozenset[Operation]
    """Loads and stores that copy whole boxes; all others access elements."""
    staged: frozenset[Operation]
    """Copies among them that go through shared memory."""
    values: Values
    slots: Slots
    loops: dict[Operation, LoopPlan]
    tasks: Tasks
    refusals: tuple[Refusal, ...]
    remarks: tuple[Refusal, ...] = ()
    """Raised, but slowly."""

    @property
    def is_raised(self) -> bool:
        return not self.refusals

    @property
    def has_slow_gemm_loops(self) -> bool:
        """Whether operands of a GEMM are copied element by element in its loop."""
        return any(each.code == SLOW and _is_in_gemm_loop(each.op) for each in self.remarks)

    @cached_property
    def counters(self) -> frozenset[Atom]:
        """The counters of loops that addresses and conditions need."""
        polys: list[Poly | Formula | None] = []
        for view in self.views:
            polys += [view.origin, *view.strides, *view.extents]
        for access in self.accesses.values():
            polys += [access.address, access.mask]
            if access.box is not None:
                polys += [*access.box.starts, access.box.guard]
            if access.rows is not None:
                polys += [access.rows.offset, *access.rows.shape, *access.rows.strides]
        read = (atom for each in polys if each is not None for atom in atoms_read(each))
        return frozenset(atom for atom in read if kind_of(atom) == "it")

    def verify(self) -> None:
        """Raise ``ValueError`` if the plan contradicts itself."""
        for op, access in self.accesses.items():
            if access.box is not None and not access.box.view < len(self.views):
                raise ValueError(f"'{op.name}' means view {access.box.view}, which does not exist")
        for value, slot in self.slots.of.items():
            if shape_of(value.type) != slot.shape:
                raise ValueError(f"a value of type '{value.type}' shares a buffer of {slot.shape}")

    def _lines(self) -> Iterator[str]:
        yield f"kernel {self.function.sym_name.data}"
        for index, view in enumerate(self.views):
            yield f"  view {index}: {view}"
        for op, access in self.accesses.items():
            way = ", through shared memory" if op in self.staged else ""
            yield f"  {op.name} {access.base.name_hint or 'pointer'}: {access}{way}"
        for value, kind in self.values.classes.items():
            if kind is not ValueClass.EXPRESSION and value in self.slots.of:
                slot = self.slots.of[value]
                yield f"  %{value.name_hint or '_'}: {kind.value} '{slot.name}' {list(slot.shape)}"
        for loop in self.loops.values():
            how = f"pipeline of {loop.stages} stages" if loop.stages else "sequential"
            yield f"  loop: {how}"
        for task in self.tasks.tasks:
            yield f"  {task}"
        for op, counts in self.tasks.arrivals.items():
            yield f"  barriers %{op.results[0].name_hint or '_'}: {list(counts)} arrivals"
        for refusal in self.refusals:
            yield f"  refused: {refusal}"

    def __str__(self) -> str:
        return "\n".join(self._lines())


def _is_in_gemm_loop(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, (ForOp, WhileOp)) and any(
            isinstance(inner, (DotOp, DotScaledOp)) for inner in parent.walk()
        ):
            return True
        parent = parent.parent_op()
    return False
