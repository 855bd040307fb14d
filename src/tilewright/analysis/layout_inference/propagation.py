"""Layouts that follow from others: of loops, of fragments, of results of reductions.

A loop that accesses every element of a fragment once is run by the owners of the elements; a
fragment is owned by the threads that run the iterations that access it; a reduction leaves its
results in all threads that owned an element. `_propagate` applies these rules until nothing
changes.

While free layouts are tried, the same rules are applied to the same layouts many times. What
follows from a layout depends on nothing else, so it is computed once for each of them (`_once`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from tilewright.analysis.layout_inference.accesses import FragmentAccess
from tilewright.analysis.layout_inference.agreement import Agreement, Loop
from tilewright.analysis.layout_inference.relations import threads_at
from tilewright.analysis.layout_inference.table import NotALayout, Table, held_by, reduced
from tilewright.dialects.tile import ReduceOp, ScanOp, Space, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.attributes import FragmentAttr
from tilewright.dialects.type_utils import shape_of

Found = TypeVar("Found")
_MISSING = object()


@dataclass
class Propagation(Agreement):
    """Parallel loops and reductions of one kernel, and the layouts that follow from known ones."""

    loops: list[Loop] = field(default_factory=list[Loop])
    reductions: list[ReduceOp | ScanOp] = field(default_factory=list["ReduceOp | ScanOp"])
    _known: dict[Hashable, Any] = field(default_factory=dict[Hashable, Any])

    def _once(
        self, what: str, subject: object, tables: Hashable, compute: Callable[[], Found]
    ) -> Found:
        """The result of `compute`, which depends on `subject` and on `tables` alone.

        `subject` is an object of this kernel, as loops and accesses are. Errors are cached, too.
        """
        key = what, id(subject), tables
        found: Any = self._known.get(key, _MISSING)
        if found is _MISSING:
            try:
                found = compute()
            except NotALayout as error:
                found = error
            self._known[key] = found
        if isinstance(found, NotALayout):
            raise found.with_traceback(None)
        return found

    def _propagate(self) -> None:
        changed = True
        while changed:
            changed = False
            for loop in self.loops:
                if loop.table is None:
                    changed |= self._loop_from_fragments(loop)
                if loop.table is not None:
                    changed |= self._fragments_from_loop(loop)
            for op in self.reductions:
                changed |= self._from_reduction(op)

    def _loop_from_fragments(self, loop: Loop) -> bool:
        """The loop is run by the owners of the elements it accesses."""
        given = loop.op.layout
        if isinstance(given, FragmentAttr):
            loop.table, loop.origin = Table.from_map(given.data), loop.op
            return True
        known = [each for each in loop.accesses if each.buffer in self.fragments]
        # Written fragments come first: all owners of an element must run the iteration.
        for access in sorted(known, key=lambda each: not each.is_write):
            if access.is_one_to_one:
                loop.table = self._at_elements(access, self.fragments[access.buffer])
                loop.origin = self.origins[access.buffer]
                return True
        return self._loop_from_part(loop, known)

    def _at_elements(self, access: FragmentAccess, table: Table) -> Table:
        """The layout of the elements that the iterations access, as one of the iterations."""
        return self._once("iterations", access, table, partial(table.at, access.elements))

    def _loop_from_part(self, loop: Loop, known: Sequence[FragmentAccess]) -> bool:
        """A loop over a part of which all threads hold as much is run by them, too."""
        for access in known:
            if not access.is_distinct:
                continue
            table = self.fragments[access.buffer]
            part = self._once("part", access, table, partial(table.part, access.elements))
            if part is not None:
                loop.table, loop.origin = part, self.origins[access.buffer]
                return True
        return False

    def _fragments_from_loop(self, loop: Loop) -> bool:
        """A fragment is owned by the threads that run the iterations that access it."""
        changed = False
        assert loop.table is not None
        for access in loop.accesses:
            buffer = access.buffer
            if buffer in self.fragments:
                continue
            try:
                table = self._once("held", access, loop.table, partial(_held, access, loop.table))
            except NotALayout:
                continue  # another loop may access all of it
            self._give(buffer, table, loop.op)
            changed = True
        return changed

    def _from_reduction(self, op: ReduceOp | ScanOp) -> bool:
        source, target = base_of(op.src), base_of(op.dst)
        if source not in self.fragments or target in self.fragments:
            return False
        if space_of(target.type) is not Space.FRAGMENT:
            return False
        table = self.fragments[source]
        if isinstance(op, ScanOp):
            self._give(target, table, op)
            return True
        try:
            found = self._once("reduced", op, table, partial(reduced, table, op.axis))
        except NotALayout as error:
            raise self._no_reduction(op, error) from error
        shape = shape_of(target.type)
        if shape != found.shape:  # the reduced dimension may be retained, with one element
            found = Table(found.owners.reshape(*shape, -1), found.registers.reshape(shape))
        self._give(target, found, op)
        return True


def _held(access: FragmentAccess, loop: Table) -> Table:
    """The layout of a fragment whose elements belong to the threads that access them."""
    registers = loop.registers if access.is_one_to_one else None
    shape = shape_of(access.buffer.type)
    return held_by(shape, access.elements, threads_at(loop, access), registers)
