"""Where the contents of buffers are read for the last time.

Contents are pages of a circular buffer: written once, read any count of times, and released by
the consumer after the last read. A backward walk over the structured program finds, for every op,
the buffers that are read later; contents that are not are released

- by the op that reads them last, or right after the op that wrote them for no reader;
- on the edges of the control flow: before a branch that does not read them, at the start of an
  iteration that overwrites them, after a loop whose last iteration leaves them unread.

Panels that stay over several blocks (`retained_panels`) are left out: their end is in the program.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tilewright.dialects.scf import ForOp, IfOp, YieldOp
from tilewright.dialects.tensix.blocks import ReleaseOp, set_released
from tilewright.dialects.tensix.loops import MatmulKLoopOp
from tilewright.dialects.tensix.program import CoreProgramOp
from tilewright.ir.rewrite import Rewriter
from tilewright.passes.tenstorrent.buffer_uses import buffers_read, buffers_written, is_block_op
from tilewright.passes.tenstorrent.retained_panels import is_retained

Live = frozenset[SSAValue]


@dataclass
class _Releases:
    """Where contents end: by ops, and at points between them."""

    by_op: dict[Operation, list[SSAValue]] = field(default_factory=dict[Operation, list[SSAValue]])
    after: dict[Operation, list[SSAValue]] = field(default_factory=dict[Operation, list[SSAValue]])
    at_start: dict[Block, list[SSAValue]] = field(default_factory=dict[Block, list[SSAValue]])


def _effects(op: Operation) -> tuple[list[SSAValue], list[SSAValue]]:
    reads, writes = buffers_read(op), buffers_written(op)
    if isinstance(op, MatmulKLoopOp):  # its operands are loaded and released in every iteration
        reads = [each for each in reads if each not in (op.a, op.b)]
    # A retained panel is released by an op of its own, in the last block that needs it.
    return [each for each in reads if not is_retained(each)], [
        each for each in writes if not is_retained(each)
    ]


def _block(block: Block, live: Live, found: _Releases | None) -> Live:
    """The buffers that are read from the start of `block` on."""
    for op in reversed(list(block.ops)):
        if isinstance(op, ForOp):
            live = _loop(op, live, found)
        elif isinstance(op, IfOp):
            live = _branches(op, live, found)
        elif is_block_op(op):
            live = _step(op, live, found)
    return live


def _step(op: Operation, live: Live, found: _Releases | None) -> Live:
    reads, writes = _effects(op)
    if found is not None:
        ended = [each for each in reads if each not in live or each in writes]
        found.by_op[op] = list(dict.fromkeys(ended))
        found.after[op] = [each for each in writes if each not in live]
    return (live - frozenset(writes)) | frozenset(reads)


def _loop(op: ForOp, live: Live, found: _Releases | None) -> Live:
    header = live
    while True:
        entered = _block(op.body.block, header, None)
        if header | entered == header:
            break
        header |= entered
    if found is not None:
        entered = _block(op.body.block, header, found)
        found.at_start[op.body.block] = _sorted(header - entered)
        found.after[op] = _sorted(header - live)
    return header


def _branches(op: IfOp, live: Live, found: _Releases | None) -> Live:
    blocks = [region.block for region in op.regions if region.blocks]
    entered = [_block(block, live, found) for block in blocks]
    if len(blocks) < 2:
        entered.append(live)
    before = frozenset[SSAValue]().union(*entered)
    if found is not None:
        for block, each in zip(blocks, entered, strict=False):
            found.at_start[block] = _sorted(before - each)
        if len(blocks) < 2 and before - live:
            _add_else(op, _sorted(before - live))
    return before


def _add_else(op: IfOp, buffers: list[SSAValue]) -> None:
    """A branch for the case in which the buffers are not read."""
    block = Block()
    for each in buffers:
        block.add_op(ReleaseOp(each))
    block.add_op(YieldOp())
    op.regions[1].add_block(block)


def _sorted(buffers: Live) -> list[SSAValue]:
    """In the order of their allocation, which is the same in every run."""

    def position(value: SSAValue) -> int:
        owner = value.owner
        assert isinstance(owner, Operation)
        count, op = 0, owner.prev_op
        while op is not None:
            count, op = count + 1, op.prev_op
        return count

    return sorted(buffers, key=position)


def live_at_start(program: CoreProgramOp) -> list[SSAValue]:
    """Buffers that some path reads before it has written them."""
    return _sorted(_block(program.body_block, frozenset(), None))


def release_buffers(program: CoreProgramOp) -> None:
    """Mark or insert the end of all contents."""
    found = _Releases()
    _block(program.body_block, frozenset(), found)
    rewriter = Rewriter()
    for op, buffers in found.by_op.items():
        if not isinstance(op, ReleaseOp):
            set_released(op, buffers)
    for op, buffers in found.after.items():
        for each in reversed(buffers):
            rewriter.insert_after(op, ReleaseOp(each))
    for block, buffers in found.at_start.items():
        for each in buffers:
            first = block.first_op
            assert first is not None
            rewriter.insert(ReleaseOp(each), InsertPoint.before(first), first)
