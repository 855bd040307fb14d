"""The total of a section of a line, and how groups of lanes exchange totals."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.ir import SSAValue

from tilewright.dialects.arith import CmpiOp, MinuiOp, SelectOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile.lanes import ShuffleOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.passes.gpu.lower.lines import Here, distance, folded
from tilewright.passes.gpu.lower.loops import opened
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined

Both: TypeAlias = Callable[[IndexBuilder, SSAValue, SSAValue], SSAValue]
Loaded: TypeAlias = Callable[[IndexBuilder, Here, Mixed, SSAValue | None, SSAValue], SSAValue]
"""The element at a position along the line, or nothing where there is none."""


def total_of_section(
    code: IndexBuilder, here: Here, nothing: SSAValue, loaded: Loaded, both: Both
) -> SSAValue:
    """All elements of the thread's section as one, in all lanes that share it."""

    def more(body: IndexBuilder, step: Mixed, before: SSAValue) -> SSAValue:
        position, exists = here.position(body, step)
        value = loaded(body, here, position, exists, nothing)
        return value if here.deal.steps == 1 else both(body, before, value)

    total = folded(code, here.deal.steps, nothing, more)
    reach = here.deal.along // 2
    while reach:
        lanes = distance(code, reach * here.deal.side)
        other = code.add(ShuffleOp("xor", total, lanes)).results[0]
        total = both(code, total, other)
        reach //= 2
    return total


def publish(code: IndexBuilder, here: Here, exchange: SSAValue, total: SSAValue) -> None:
    """Put the total of a section where the other groups of its line find it."""
    first = code.add(CmpiOp("eq", code.index(here.along), code.index(0))).results[0]
    inside = opened(code, first)
    inside.add(StoreOp(total, exchange, [inside.index(_slot(inside, here, here.group))]))


def what_came_before(
    code: IndexBuilder, here: Here, exchange: SSAValue, start: SSAValue, both: Both
) -> SSAValue:
    """What the sections before the thread's own give in all."""
    found = start
    for section in range(here.deal.sections - 1):
        value = section_total(code, here, exchange, section)
        limit = code.index(section)
        is_before = code.add(CmpiOp("ugt", code.index(here.section), limit)).results[0]
        more = both(code, found, value)
        found = code.add(SelectOp(is_before, more, found)).results[0]
    return found


def section_total(code: IndexBuilder, here: Here, exchange: SSAValue, section: int) -> SSAValue:
    """The total that a section of the thread's line has stored."""
    first = combined(code, "-", here.group, here.section)
    group = combined(code, "+", first, section)
    if here.deal.whole_groups % here.deal.sections:
        # Groups that are left over have no use for what they read, but read what there is.
        last = code.index(here.deal.whole_groups - 1)
        group = code.add(MinuiOp(code.index(group), last)).results[0]
    slot = _slot(code, here, group)
    return code.add(LoadOp(exchange, [code.index(slot)])).results[0]


def _slot(code: IndexBuilder, here: Here, group: Mixed) -> Mixed:
    return combined(code, "+", combined(code, "*", group, here.deal.side), here.side)
