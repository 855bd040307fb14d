"""Layouts that follow from others: of loops, of fragments, of results of reductions.

A loop that accesses every element of a fragment once is run by the owners of the elements; a
fragment is owned by the threads that run the iterations that access it; a reduction leaves its
results in all threads that owned an element. `_propagate` applies these rules until nothing
changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tilewright.analysis.layout_inference.accesses import FragmentAccess
from tilewright.analysis.layout_inference.agreement import Agreement, Loop
from tilewright.analysis.layout_inference.relations import threads_at
from tilewright.analysis.layout_inference.table import NotALayout, Table, held_by, reduced
from tilewright.dialects.tile import ReduceOp, ScanOp, Space, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.attributes import FragmentAttr
from tilewright.dialects.type_utils import shape_of


@dataclass
class Propagation(Agreement):
    """Parallel loops and reductions of one kernel, and the layouts that follow from known ones."""

    loops: list[Loop] = field(default_factory=list[Loop])
    reductions: list[ReduceOp | ScanOp] = field(default_factory=list["ReduceOp | ScanOp"])

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
        known = [each for each in loop.accesses if base_of(each.buffer) in self.fragments]
        # Written fragments come first: all owners of an element must run the iteration.
        for access in sorted(known, key=lambda each: not each.is_write):
            if access.is_one_to_one:
                table = self.fragments[base_of(access.buffer)]
                owners = table.owners[access.elements]
                registers = table.registers[access.elements]
                loop.table = Table(owners, registers)
                loop.origin = self.origins[base_of(access.buffer)]
                return True
        return self._loop_from_part(loop, known)

    def _loop_from_part(self, loop: Loop, known: Sequence[FragmentAccess]) -> bool:
        """A loop over a part of which all threads hold as much is run by them, too."""
        for access in known:
            if not access.is_distinct:
                continue
            part = self.fragments[base_of(access.buffer)].part(access.elements)
            if part is not None:
                loop.table, loop.origin = part, self.origins[base_of(access.buffer)]
                return True
        return False

    def _fragments_from_loop(self, loop: Loop) -> bool:
        """A fragment is owned by the threads that run the iterations that access it."""
        changed = False
        assert loop.table is not None
        for access in loop.accesses:
            buffer = base_of(access.buffer)
            if buffer in self.fragments:
                continue
            try:
                table = held_by(
                    shape_of(buffer.type),
                    access.elements,
                    threads_at(loop.table, access),
                    loop.table.registers if access.is_one_to_one else None,
                )
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
            found = reduced(table, op.axis)
        except NotALayout as error:
            raise self._no_reduction(op, error) from error
        shape = shape_of(target.type)
        if shape != found.shape:  # the reduced dimension may be retained, with one element
            found = Table(found.owners.reshape(*shape, -1), found.registers.reshape(shape))
        self._give(target, found, op)
        return True
