"""Signs of integers: those of the IR have none, so the declared dtype of a buffer decides."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import BlockArgument, SSAValue

from tilewright.dialects.func import argument_attributes
from tilewright.dialects.tile import names
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.allocs import AllocOp
from tilewright.dialects.tile.reducers import ReducerAllocOp
from tilewright.dialects.type_utils import bit_width, element_type_of

_UNSIGNED = "uint"


def is_unsigned(buffer: SSAValue) -> bool:
    """Whether the user declared a buffer of unsigned integers."""
    base = base_of(buffer)
    owner = base.owner
    if isinstance(owner, AllocOp | ReducerAllocOp):
        return owner.dtype is not None and owner.dtype.data.startswith(_UNSIGNED)
    if not isinstance(base, BlockArgument):
        return False
    dtype = argument_attributes(base).get(names.DTYPE)
    return isinstance(dtype, StringAttr) and dtype.data.startswith(_UNSIGNED)


def unsigned_dtype(buffer: SSAValue) -> str | None:
    """The dtype that a new buffer for elements of this one must be given: None if they have a sign.

    Without it the elements of a copy with more than 2^(n-1) - 1 would be read as negative.
    """
    return f"uint{bit_width(element_type_of(buffer.type))}" if is_unsigned(buffer) else None
