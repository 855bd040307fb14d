"""Which elementwise work shares a ``tile.parallel``.

Work of one shape is collected in program order and written as one loop. An iteration may use what
it has computed itself; what other iterations write must be complete. So the loop ends before

* work of another shape, or on other buffers of that shape: their layouts need not agree;
* work that reads a buffer at other indices than those at which the loop writes it, or writes one
  that the loop reads at other indices;
* a load from memory that the loop stores to, and a store to memory that it loads from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.raising.slots import Slot
from tilewright.analysis.raising.views import may_be_same
from tilewright.dialects.tile import ParallelOp

if TYPE_CHECKING:
    from tilewright.passes.raising.expressions import Point
    from tilewright.passes.raising.state import Raising


@dataclass(frozen=True)
class Work:
    """What is done for every element."""

    origin: Operation
    shape: tuple[int, ...]
    run: Callable[[Point, tuple[SSAValue, ...]], None]
    reads: tuple[tuple[SSAValue, Slot, bool], ...] = ()
    """Buffers that are read, by the value, and whether at equal indices."""
    writes: tuple[Slot, ...] = ()
    defines: tuple[SSAValue, ...] = ()
    """Values that later work of the loop finds computed, at equal indices."""
    loads: tuple[tuple[str, SSAValue | None], ...] = ()
    """Memory that is read: its base and the addresses, None if they are not a single value."""
    stores: tuple[tuple[str, SSAValue | None], ...] = ()

    def buffers(self) -> set[Slot]:
        """The buffers of the same shape that it reads or writes."""
        slots = {slot for _, slot, _ in self.reads} | {*self.writes}
        return {slot for slot in slots if slot.shape == self.shape}


@dataclass
class Group:
    """Work that has not been written yet."""

    items: list[Work] = field(default_factory=list[Work])

    def accepts(self, work: Work) -> bool:
        if not self.items:
            return True
        if work.shape != self.items[0].shape or not self._is_related(work):
            return False
        return all(_may_follow(work, before, self._defined()) for before in self.items)

    def _is_related(self, work: Work) -> bool:
        """Whether the loop and the work share a buffer of their shape, or one has none."""
        own = work.buffers()
        others = {slot for item in self.items for slot in item.buffers()}
        return not own or not others or bool(own & others)

    def _defined(self) -> set[SSAValue]:
        return {value for item in self.items for value in item.defines}


def _may_follow(work: Work, before: Work, defined: set[SSAValue]) -> bool:
    for value, slot, is_same in work.reads:
        if slot in before.writes and not (is_same and value in defined):
            return False
    for _, slot, is_same in before.reads:
        if slot in work.writes and not is_same:
            return False
    for base, _ in work.loads:
        if any(may_be_same(base, stored) for stored, _ in before.stores):
            return False
    for base, addresses in work.stores:
        if any(may_be_same(base, stored) for stored, _ in before.stores):
            return False
        for loaded, where in before.loads:
            if may_be_same(base, loaded) and (addresses is None or where is not addresses):
                return False
    return True


def submit(state: Raising, work: Work) -> None:
    """Do `work` with what is pending if it may be, else after it."""
    if not state.group.accepts(work):
        flush(state)
    state.group.items.append(work)


def flush(state: Raising) -> None:
    """Write the pending loop."""
    from tilewright.passes.raising.expressions import Point

    items, state.group.items = state.group.items, []
    if not items:
        return
    at = state.at
    before, at.origin = at.origin, items[0].origin
    loop = ParallelOp(items[0].shape)
    inner = at.inside(loop.body.block)
    indices = tuple(loop.body.block.args)
    for name, index in zip("ijklm", indices, strict=False):
        index.name_hint = name
    point = Point(inner, at)
    for item in items:
        inner.origin = at.origin = item.origin
        item.run(point, indices)
    at.origin = items[0].origin
    at.add(loop)
    at.origin = before
