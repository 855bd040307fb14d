"""The order that `analysis.barriers.order` derives, on events written by hand."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block

from tilewright.analysis.barriers.events import AccessEvent, BoxAccess, Commit, FaultKind, WaitGroup
from tilewright.analysis.barriers.order import check
from tilewright.analysis.barriers.trace import Trace
from tilewright.dialects.func import ReturnOp

BUFFER = Block(arg_types=[IndexType()]).args[0]


def _copies_then_read(copies: int, left: int, part: int) -> Trace:
    """Copies to parts of a buffer, each a group; a wait; a read of one part."""
    op = ReturnOp()
    events = [
        event
        for each in range(copies)
        for event in (
            AccessEvent(op, (BoxAccess(BUFFER, ((each, each + 1),), True),), "copies"),
            Commit(op, "copies"),
        )
    ]
    read = AccessEvent(op, (BoxAccess(BUFFER, ((part, part + 1),), False),))
    return Trace("block", 32, (*events, WaitGroup(op, "copies", left), read))


@pytest.mark.parametrize("left", range(6))
@pytest.mark.parametrize("part", range(3))
def test_a_wait_leaves_the_last_groups_alone(left: int, part: int) -> None:
    """Also where it leaves more than there are: then nothing has been waited for."""
    fault = check([_copies_then_read(3, left, part)])
    if part < 3 - left:
        assert fault is None
    else:
        assert fault is not None
        assert fault.kind is FaultKind.UNORDERED


def test_copies_of_one_group_are_not_ordered_among_themselves() -> None:
    op = ReturnOp()
    write = AccessEvent(op, (BoxAccess(BUFFER, ((0, 4),), True),), "copies")
    fault = check([Trace("block", 32, (write, write, Commit(op, "copies")))])
    assert fault is not None
    assert fault.kind is FaultKind.UNORDERED
