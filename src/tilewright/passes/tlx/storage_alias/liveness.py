"""Live ranges of the buffers of a spec, for several overlap definitions in one region.

Time is the order of the ops directly in the function: a loop, or a ``warp_specialize``, is one
moment, and buffers accessed inside are live through all of it. Everything a buffer is seen through
counts: views, captures, loop-carried values. An unused buffer is never live. In a function
with jumps between blocks there is no such order, and nothing is known: all buffers are taken to be
live all the time.

Whether an access has completed when the next begins (asynchronous copies, MMAs) is the
business of barriers, not of this file.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation
from xdsl.traits import CallableOpInterface

from tilewright.dialects.tlx import ReuseGroupOp, SetBufferOverlapOp
from tilewright.memory import LiveRanges
from tilewright.passes.tlx.storage_alias.carriers import reachable, views_of
from tilewright.passes.tlx.storage_alias.collect import Spec


def live_ranges(spec: Spec) -> LiveRanges | None:
    """First and last moment of every buffer of `spec`, or None where there is no order."""
    body = _body_of(spec.op)
    if body is None:
        return None
    moments = {op: moment for moment, op in enumerate(body.ops)}
    ranges: dict[str, tuple[int, int]] = {}
    for name, allocation in spec.allocations.items():
        accessed = {
            moments[_top_level(use.operation, body)]
            for value in reachable(allocation.result, views_of)
            for use in value.uses
            if not isinstance(use.operation, ReuseGroupOp | SetBufferOverlapOp)
        }
        # An unused buffer gets a moment before all others, for itself alone.
        untouched = -1 - len(ranges)
        ranges[name] = (min(accessed, default=untouched), max(accessed, default=untouched))
    return ranges


def _body_of(op: Operation) -> Block | None:
    """The only block of the function around `op`."""
    function = op.parent_op()
    while function is not None and function.get_trait(CallableOpInterface) is None:
        function = function.parent_op()
    if function is None or len(function.regions[0].blocks) != 1:
        return None
    return function.regions[0].blocks[0]


def _top_level(op: Operation, body: Block) -> Operation:
    """The op directly in `body` that `op` is, or is inside of."""
    while op.parent is not body:
        outer = op.parent_op()
        assert outer is not None, "a use of a buffer is inside its function"
        op = outer
    return op
