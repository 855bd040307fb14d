"""The user's name of a buffer, for messages."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import BlockArgument, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tile import AllocOp, ReducerAllocOp
from tilewright.dialects.tile.interfaces import base_of
from tilewright.dialects.tile.names import NAME


def buffer_name(value: SSAValue) -> str:
    """The name of the allocation or argument that `value` is, or is a part of."""
    base = base_of(value)
    owner = base.owner
    if isinstance(owner, AllocOp | ReducerAllocOp):
        return owner.buffer_name
    given = _argument_name(base) if isinstance(base, BlockArgument) else None
    return given or base.name_hint or "buffer"


def _argument_name(argument: BlockArgument) -> str | None:
    function = argument.block.parent_op()
    if not isinstance(function, FuncOp):
        return None
    name = function.argument_attributes(argument.index).get(NAME)
    return name.data if isinstance(name, StringAttr) else None
