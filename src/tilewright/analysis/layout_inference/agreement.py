"""Who holds what so far, and what is said where two cannot agree.

A fragment gets its layout once (`_give`), and every later one must be the same, or hold the same
elements in more threads. Who reads an element must hold it, and who writes it must be everyone who
holds it (`_check_access`); who is to hold a result of a reduction must come by all its parts. Most
disagreements are mended by a detour through shared memory: `clash` names the op and the fragment.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.accesses import FragmentAccess
from tilewright.analysis.layout_inference.describe import name_of, place_in, shown, some, who_asks
from tilewright.analysis.layout_inference.reductions import plan as plan_reduction
from tilewright.analysis.layout_inference.relations import (
    contains,
    first_difference,
    is_update,
    threads_at,
)
from tilewright.analysis.layout_inference.table import NotALayout, Table
from tilewright.dialects.tile import AllocOp, GemmOp, KernelOp, ParallelOp, ReduceOp
from tilewright.dialects.tile.access import base_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.layouts.diff import Side, side_by_side

CONFLICT, UNRESOLVED, UNREPRESENTABLE = "TW2020", "TW2021", "TW2022"


@dataclass
class Loop:
    """A parallel loop and what it touches."""

    op: ParallelOp
    shape: tuple[int, ...]
    accesses: list[FragmentAccess]
    table: Table | None = None
    origin: Operation | None = None
    """What decided the table."""


@dataclass(frozen=True)
class LayoutConflict:
    """An op and a fragment that could not agree."""

    op: ParallelOp | ReduceOp | GemmOp
    fragment: SSAValue
    reason: str
    """Why, as the end of a sentence."""


class Failed(Exception):
    """Something was reported; there is no plan."""


@dataclass
class Agreement:
    """The layouts of one kernel as far as they are known."""

    kernel: KernelOp
    engine: DiagnosticEngine
    arch: int
    wgmma: bool = True
    fragments: dict[SSAValue, Table] = field(default_factory=dict[SSAValue, Table])
    origins: dict[SSAValue, Operation] = field(default_factory=dict[SSAValue, Operation])
    """What decided each of them."""
    clash: LayoutConflict | None = None
    """What could not agree, if that is why there is no plan."""
    is_trial: bool = False
    """Whether a failure is only a reason to try something else."""

    def _check_reduction(self, op: ReduceOp) -> None:
        """Whoever is to hold a result must come by all parts of it."""
        source, target = base_of(op.src), base_of(op.dst)
        if source not in self.fragments or target not in self.fragments:
            return
        try:
            plan_reduction(self.fragments[source], self.fragments[target], op.axis)
        except NotALayout as error:
            raise self._no_reduction(op, error) from error

    def _no_reduction(self, op: ReduceOp, error: NotALayout) -> Failed:
        if not self.is_trial:
            self.clash = LayoutConflict(op, base_of(op.src), str(error))
        return self._failure(
            op,
            UNREPRESENTABLE,
            f"the threads that hold '{name_of(base_of(op.src))}' cannot reduce it: {error}",
            "T.copy it to shared memory (T.alloc_shared), and reduce that into a fragment of its "
            "own",
        )

    def _check_access(self, loop: Loop, access: FragmentAccess) -> None:
        assert loop.table is not None
        buffer = base_of(access.buffer)
        table = self.fragments[buffer]
        threads = threads_at(loop.table, access)
        if access.is_write and not is_update(access):
            held = table.holders[access.elements]
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
        buffer = base_of(access.buffer)
        assert loop.table is not None
        element = tuple(int(each[point]) for each in access.elements)
        held = self.fragments[buffer].holders[element]
        asked = loop.table.holders[point[: len(loop.shape)]]
        does = "writes" if access.is_write else "reads"
        reason = f"this loop {does} its elements in other threads than those that hold them"
        self.clash = LayoutConflict(loop.op, buffer, reason)
        verb = "write" if access.is_write else "read"
        what = verb if len(asked) > 1 else f"{verb}s"
        message = (
            f"two layouts for '{name_of(buffer)}': element {shown(element)} is held by "
            f"{some(held)}, but {some(asked)} {what} it here"
        )
        failure = self._failure(
            access.op,
            CONFLICT,
            message,
            f"copy '{name_of(buffer)}' to shared memory (T.alloc_shared) and use that in the loop",
            note=(self.origins[buffer], f"the layout of '{name_of(buffer)}' comes from here"),
            picture=who_asks(
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
            (known.registers != table.registers) | (known.holders[..., 0] != table.holders[..., 0])
        )
        point = tuple(int(each) for each in different[0])
        raise self._failure(
            origin,
            CONFLICT,
            f"two layouts for '{name_of(buffer)}': element {shown(point)} is held by "
            f"{some(table.holders[point])} here, by {some(known.holders[point])} there",
            _without_both(buffer, self.origins[buffer]),
            note=(self.origins[buffer], "the other layout comes from here"),
            picture=side_by_side(
                table.shape,
                point,
                Side(f"'{name_of(buffer)}' here", place_in(table)),
                Side("there", place_in(known)),
            ),
        )

    def _failure(
        self,
        op: Operation,
        code: str,
        message: str,
        help: str | None,
        note: tuple[Operation, str] | None = None,
        picture: str | None = None,
    ) -> Failed:
        if self.is_trial:
            return Failed()
        diagnostic = self.engine.error(op, message, code=code)
        if note is not None:
            diagnostic.note(note[0], note[1])
        if picture is not None:
            diagnostic.note(None, f"threads around that element:\n{picture}")
        if help is not None:
            diagnostic.note(None, f"help: {help}")
        return Failed()


def _between_gemms(buffer: SSAValue, one: Operation, other: Operation) -> LayoutConflict | None:
    """The GEMM that uses a fragment through shared memory where two want it in other threads.

    Operands rather than sums: those are moved once, not there and back.
    """
    gemms = [op for op in (other, one) if isinstance(op, GemmOp)]
    reading = [op for op in gemms if buffer in (base_of(op.a), base_of(op.b))]
    chosen = next(iter(reading or gemms), None)
    if chosen is None:
        return None
    what = "multiplies its elements" if reading else "adds to its elements"
    return LayoutConflict(
        chosen, buffer, f"this GEMM {what} in other threads than another op holds them"
    )


def _without_both(buffer: SSAValue, origin: Operation) -> str:
    """The smallest change with which a fragment has one layout."""
    if isinstance(origin, AllocOp):
        return f"leave '{name_of(buffer)}' out of T.annotate_layout: the instruction decides it"
    return "use a second buffer and T.copy through shared memory, or one instruction for both"
