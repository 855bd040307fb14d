"""Scalar arguments of the user as run-time words of a kernel.

    %alpha: f32 of the function        ->   %0 = tensix.arg 6 "alpha"        the fp32 bit pattern
                                            %1 = arith.index_cast %0 : index to i32
                                            %2 = arith.bitcast %1 : i32 to f32

A word has 32 bits: floats of 16 bits are passed as fp32. Arguments of other types, and those that
decide about control flow, addresses or extents, are no words: the program is compiled for their
values (`fix-arguments`), because the plan states the traffic of every core.
"""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat, IndexType, f32, i32
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tilewright.dialects.arith import BitcastOp, IndexCastOp, TruncfOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.tensix.formats import Format, format_of


def word_of(value: SSAValue) -> SSAValue | None:
    """What holds a run-time scalar: the function's argument, or the word of a kernel."""
    if isinstance(value, BlockArgument):
        is_argument = isinstance(value.block.parent_op(), FuncOp)
        return value if is_argument and is_word_type(value.type) else None
    owner = value.owner
    if isinstance(owner, TruncfOp) and isinstance(owner.operands[0].owner, BitcastOp):
        owner = owner.operands[0].owner
    if isinstance(owner, BitcastOp):
        owner = owner.operands[0].owner
    if isinstance(owner, IndexCastOp) and isinstance(owner.operands[0].type, IndexType):
        return owner.operands[0] if owner.results[0].type == i32 else None
    return None


def is_word_type(type: Attribute) -> bool:
    """Whether a scalar of this type fits into a word."""
    return format_of_scalar(type) is not None


def format_of_scalar(type: Attribute) -> Format | None:
    """How a word holds a scalar of the type: as fp32 or as int32."""
    if isinstance(type, AnyFloat):
        return Format.F32 if format_of(type) is not None else None
    return Format.I32 if type == i32 else None


def scalar_ops(word: SSAValue, type: Attribute) -> list[Operation]:
    """The ops that convert a word to a scalar of the user's type, which the last one has."""
    made: list[Operation] = [IndexCastOp(word, i32)]
    if type != i32:
        made.append(BitcastOp(made[0].results[0], f32))
    if type not in (i32, f32):
        made.append(TruncfOp(made[1].results[0], type))
    return made
