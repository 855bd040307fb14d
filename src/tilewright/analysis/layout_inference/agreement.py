"""The layouts found so far, and the errors for layouts that conflict.

A fragment gets its layout once (`_give`), and every later one must be the same, or hold the same
elements in more threads. A thread that reads an element must own it, and an element is written by
all its owners (`_check_access`); the owner of a result of a reduction must receive all its partial
results. Most conflicts are resolved by staging the fragment through shared memory: `clash` names
the op and the fragment.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.accesses import FragmentAccess
from tilewright.analysis.layout_inference.describe import (
    access_diagram,
    name_of,
    owner_of,
    shown,
    some,
)
from tilewright.analysis.layout_inference.gemm_plan import Gpu
from tilewright.analysis.layout_inference.reductions import plan as plan_reduction
from tilewright.analysis.layout_inference.relations import (
    contains,
    first_difference,
    is_update,
    threads_at,
)
from tilewright.analysis.layout_inference.table import NotALayout, Table
from tilewright.dialects.tile import AllocOp, CopyOp, GemmOp, KernelOp, ParallelOp, ReduceOp
from tilewright.dialects.tile.access import base_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.layouts.diff import Side, compare

CONFLICT, UNRESOLVED, UNREPRESENTABLE = "TW2020", "TW2021", "TW2022"


@dataclass
class Loop:
    """A parallel loop and its accesses to fragments."""

    op: ParallelOp
    shape: tuple[int, ...]
    accesses: list[FragmentAccess]
    table: Table | None = None
    origin: Operation | None = None
    """The op that determined the table."""


@dataclass(frozen=True)
class LayoutConflict:
    """An op and a fragment whose layouts conflict."""

    op: ParallelOp | ReduceOp | GemmOp | CopyOp
    fragment: SSAValue
    reason: str
    """Why, as the end of a sentence."""
    result: SSAValue | None = None
    """The fragment that a reduction writes."""
    origin: Operation | None = None
    """The op that its layout follows from."""


class Failed(Exception):
    """Something was reported; there is no plan."""


@dataclass
class Agreement:
    """The layouts of one kernel as far as they are known."""

    kernel: KernelOp
    engine: DiagnosticEngine
    gpu: Gpu
    wgmma: bool = True
    fragments: dict[SSAValue, Table] = field(default_factory=dict[SSAValue, Table])
    origins: dict[SSAValue, Operation] = field(default_factory=dict[SSAValue, Operation])
    """The op that determined each of them."""
    clash: LayoutConflict | None = None
    """The conflict, if that is why there is no plan."""
    is_trial: bool = False
    """Whether a failure is only a reason to try something else."""

    def _check_reduction(self, op: ReduceOp) -> None:
        """The owner of a result must receive all partial results."""
        source, target = base_of(op.src), base_of(op.dst)
        if source not in self.fragments or target not in self.fragments:
            return
        try:
            plan_reduction(self.fragments[source], self.fragments[target], op.axis)
        except NotALayout as error:
            raise self._no_reduction(op, error) from error

    def _no_reduction(self, op: ReduceOp, error: NotALayout) -> Failed:
        if not self.is_trial:
            target = base_of(op.dst)
            self.clash = LayoutConflict(
                op, base_of(op.src), str(error), target, self.origins.get(target)
            )
        return self._failure(
            op,
            UNREPRESENTABLE,
            f"layout of '{name_of(base_of(op.src))}' does not allow this reduction: {error}",
            "T.copy the fragment to shared memory (T.alloc_shared) and reduce that into another "
            "fragment",
        )

    def _check_access(self, loop: Loop, access: FragmentAccess) -> None:
        assert loop.table is not None
        buffer = access.buffer
        table = self.fragments[buffer]
        threads = threads_at(loop.table, access)
        if access.is_write and not is_update(access):
            held = table.owners[access.elements]
            if held.shape == threads.shape and (held == threads).all():
                return
            point = first_difference(held, threads)
        else:
            point = table.first_absent(access.elements, threads)
            if point is None:
                return
        raise self._conflict(loop, access, point)

    def _conflict(self, loop: Loop, access: FragmentAccess, point: tuple[int, ...]) -> Failed:
        if self.is_trial:
            return Failed()  # nothing is reported, so there is no message to build
        buffer = access.buffer
        assert loop.table is not None
        element = tuple(int(each[point]) for each in access.elements)
        held = self.fragments[buffer].owners[element]
        accessing = loop.table.owners[point[: len(loop.shape)]]
        does = "writes" if access.is_write else "reads"
        reason = f"this loop {does} elements in threads that do not own them"
        self.clash = LayoutConflict(loop.op, buffer, reason)
        what = "written" if access.is_write else "read"
        message = (
            f"conflicting layouts for '{name_of(buffer)}': element {shown(element)} is owned by "
            f"{some(held)}, but {what} by {some(accessing)} here"
        )
        failure = self._failure(
            access.op,
            CONFLICT,
            message,
            f"T.copy '{name_of(buffer)}' to shared memory (T.alloc_shared) and use the copy in "
            "the loop",
            note=(self.origins[buffer], f"the layout of '{name_of(buffer)}' comes from here"),
            diagram=access_diagram(
                self.fragments[buffer], access, threads_at(loop.table, access), element
            ),
        )
        return failure

    # -- reports -----------------------------------------------------------------------------

    def _give(self, buffer: SSAValue, table: Table, origin: Operation) -> None:
        known = self.fragments.get(buffer)
        if known is None:
            self.fragments[buffer] = table
            self.origins[buffer] = origin
            return
        if known == table or contains(known, table):
            return
        if contains(table, known):
            self.fragments[buffer] = table
            self.origins[buffer] = origin
            return
        if not self.is_trial:
            self.clash = _between_gemms(buffer, self.origins[buffer], origin)
        different = np.argwhere(
            (known.registers != table.registers) | (known.owners[..., 0] != table.owners[..., 0])
        )
        point = tuple(int(each) for each in different[0])
        raise self._failure(
            origin,
            CONFLICT,
            f"conflicting layouts for '{name_of(buffer)}': element {shown(point)} is owned by "
            f"{some(table.owners[point])} here, by {some(known.owners[point])} in the other "
            "layout",
            _without_both(buffer, self.origins[buffer]),
            note=(self.origins[buffer], _other_layout(self.origins[buffer])),
            diagram=compare(
                table.shape,
                point,
                Side(f"'{name_of(buffer)}' here", owner_of(table)),
                Side("other layout", owner_of(known)),
            ),
        )

    def _failure(
        self,
        op: Operation,
        code: str,
        message: str,
        help: str | None,
        note: tuple[Operation, str] | None = None,
        diagram: str | None = None,
    ) -> Failed:
        if self.is_trial:
            return Failed()
        diagnostic = self.engine.error(op, message, code=code)
        if note is not None:
            diagnostic.note(note[0], note[1])
        if diagram is not None:
            diagnostic.note(None, f"owning threads near that element:\n{diagram}")
        if help is not None:
            diagnostic.note(None, f"help: {help}")
        return Failed()


def _between_gemms(buffer: SSAValue, one: Operation, other: Operation) -> LayoutConflict | None:
    """The GEMM to stage a fragment for, where two ops require different layouts of it.

    Operands rather than accumulators: an operand is moved once, not there and back.
    """
    gemms = [op for op in (other, one) if isinstance(op, GemmOp)]
    reading = [op for op in gemms if buffer in (base_of(op.a), base_of(op.b))]
    chosen = next(iter(reading or gemms), None)
    if chosen is None:
        return None
    what = "reads" if reading else "accumulates into"
    return LayoutConflict(
        chosen, buffer, f"this GEMM {what} elements in threads that do not own them"
    )


def _other_layout(origin: Operation) -> str:
    if isinstance(origin, AllocOp):
        return "the other layout is the one that T.annotate_layout sets for this buffer"
    return "the other layout comes from here"


def _without_both(buffer: SSAValue, origin: Operation) -> str:
    """The fix-it for a fragment with two layouts."""
    if isinstance(origin, AllocOp):
        return f"remove '{name_of(buffer)}' from T.annotate_layout: the MMA determines its layout"
    return "T.copy to a second buffer through shared memory, or use one MMA instruction for both"
