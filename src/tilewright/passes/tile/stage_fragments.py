"""Letting two layouts meet in shared memory.

    tile.parallel { %B[..] = %A[..] }    ->    tile.parallel { %S[..] = %A[..] }
                                               tile.parallel { %B[..] = %S[..] }

Fragments that one loop uses may have layouts of their own, each dictated by another product, say.
Then elements have to change threads, and shared memory is the way.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import SSAValue

from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import AllocOp, ParallelOp, Space, SpaceAttr
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.tile.code import Code

STAGED = "TW2023"


def stage(loop: ParallelOp, fragment: SSAValue, engine: DiagnosticEngine) -> bool:
    """Let a loop use a fragment through shared memory; whether it does.

    A layout that the author gave is not worked around: it was meant.
    """
    owner = fragment.owner
    accesses = [
        op
        for op in loop.walk()
        if isinstance(op, (LoadOp, StoreOp)) and base_of(op.memref) is fragment
    ]
    is_whole = all(op.memref is fragment for op in accesses)
    if not isinstance(owner, AllocOp) or owner.layout is not None or not accesses or not is_whole:
        return False
    writes = any(isinstance(op, StoreOp) for op in accesses)
    code = Code(loop)
    type = MemRefType(
        element_type_of(fragment.type),
        shape_of(fragment.type),
        NoneAttr(),
        SpaceAttr(Space.SHARED),
    )
    room = code.add(AllocOp(type, name=f"{owner.buffer_name}_staged")).results[0]
    # Also before a loop that writes: it may leave some elements as they are.
    _copied(code, fragment, room)
    for op in accesses:
        place = next(n for n, each in enumerate(op.operands) if each is fragment)
        op.operands[place] = room
    if writes:
        following = loop.next_op
        assert following is not None
        _copied(Code(following), room, fragment)
    engine.remark(
        loop,
        f"'{owner.buffer_name}' goes through shared memory here: this loop "
        f"{'writes' if writes else 'reads'} its elements in other threads than those that hold "
        "them",
        STAGED,
    )
    return True


def _copied(code: Code, source: SSAValue, target: SSAValue) -> None:
    loop = ParallelOp(list(shape_of(source.type)))
    code.add(loop)
    body = code.inside(loop.body.block)
    position = list(loop.body.block.args)
    value = body.add(LoadOp(source, position)).results[0]
    body.add(StoreOp(value, target, position))
