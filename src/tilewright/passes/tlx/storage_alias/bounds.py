"""Indices that are provably out of bounds.

Past the last buffer of an array is another buffer, or nothing: a constant index that is too large
is reported instead of placed. Run-time values are not checked.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.ttg.views import MemDescIndexOp
from tilewright.memory import Finding, finding
from tilewright.passes.tlx.storage_alias.carriers import reachable, whole_views
from tilewright.passes.tlx.storage_alias.collect import Collected


def out_of_bounds(collected: Collected) -> Iterator[tuple[Operation, Finding]]:
    """Every index op with an index that is out of bounds of its array."""
    for value, buffer in collected.buffers.items():
        for op in indices_of(value):
            index = constant_of(op.index)
            if index is None or 0 <= index < buffer.count:
                continue
            count, plural = buffer.count, "s" if buffer.count > 1 else ""
            yield op, finding("E22", index=index, buffer=buffer.name, count=count, plural=plural)


def indices_of(array: SSAValue) -> Iterator[MemDescIndexOp]:
    """The ops that pick a buffer of `array`, wherever it has travelled as a whole."""
    carriers = reachable(array, whole_views)
    found = [use.operation for carrier in carriers for use in carrier.uses]
    yield from dict.fromkeys(op for op in found if isinstance(op, MemDescIndexOp))


def constant_of(value: SSAValue) -> int | None:
    """The number that `value` is, if that is known."""
    op = value.owner
    if not isinstance(op, ConstantOp):
        return None
    constant = op.properties["value"]
    return constant.value.data if isinstance(constant, IntegerAttr) else None
