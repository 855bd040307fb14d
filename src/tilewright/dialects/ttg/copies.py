"""Asynchronous copies from global to shared memory, and from one CTA's to another's.

A copy returns a token. Tokens are collected in groups; waiting leaves at most `num` groups open::

    %a = ttg.async_copy_global_to_local %ptrs, %buffer mask %m : ...
    %b = ttg.async_commit_group tokens %a
    %c = ttg.async_wait %b {num = 0 : i32}
    %x = ttg.local_load %buffer token %c : ...

The ops on *remote* shared memory are TLX's: they write into the CTA of the cluster whose rank is
given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, cast

from typing_extensions import override
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    var_operand_def,
)

from tilewright.dialects.tt.base import FALSE, Operand, bool_prop, i32_prop, ints_attr
from tilewright.dialects.tt.cache_text import CachedAccess, access_attributes
from tilewright.dialects.tt.constraints import TENSOR, VALUE
from tilewright.dialects.ttg.base import I1_TENSOR, PTR_TENSOR, integers, ttg_traits
from tilewright.dialects.ttg.checks import verify_mutable
from tilewright.dialects.ttg.effects import AccessEffect, GlobalToShared
from tilewright.dialects.ttg.types import MEMDESC, TOKEN_TYPE
from tilewright.dialects.type_utils import i1_like, pointee_type
from tilewright.ir.text.assembly import AsmOp, Directive, TypeRule

_ONE = IntegerAttr(1, i32)
_SEGMENTS = "operandSegmentSizes"


@irdl_op_definition
class AsyncCopyGlobalToLocalOp(CachedAccess):
    """Starts copying what pointers point to into a buffer; `other` where the mask is false.

    In TLX, one bulk copy of `bulk_size` bytes may replace single ones (``useBulk``); it
    reports its end to a barrier.
    """

    name = "ttg.async_copy_global_to_local"
    src = operand_def(PTR_TENSOR)
    result = operand_def(MEMDESC)
    mask = opt_operand_def(I1_TENSOR)
    other = opt_operand_def(VALUE)
    bulk_size = opt_operand_def(i32)
    barrier = opt_operand_def(MEMDESC)
    policy = opt_prop_def(Attribute, prop_name="cachePolicy")
    is_volatile = bool_prop(False, name="isVolatile")
    contiguity = i32_prop(1)
    use_bulk = bool_prop(False, name="useBulk")
    token = result_def(TOKEN_TYPE)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = ttg_traits(GlobalToShared())

    ASM: ClassVar[str] = (
        "$src `,` $result (`mask` $mask^)? (`other` $other^)? "
        "(`bulk_size` $bulk_size^ `:` type($bulk_size))? (`barrier` $barrier^ `:` type($barrier))? "
        "`` custom<Attributes>($cachePolicy, $isVolatile, $contiguity, $useBulk) "
        "`:` type($src) `->` stripped(type($result))"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Attributes": access_attributes(
            ("isVolatile", "contiguity", "useBulk"),
            {"isVolatile": FALSE, "contiguity": _ONE, "useBulk": FALSE},
        )
    }
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "mask": TypeRule("infer mask type from src type", lambda types: i1_like(types["src"])),
        "other": TypeRule(
            "infer other type from src type", lambda types: pointee_type(types["src"])
        ),
    }

    def __init__(
        self,
        src: Operand,
        result: Operand,
        mask: Operand | None = None,
        other: Operand | None = None,
        *,
        policy: Attribute | None = None,
        contiguity: int = 1,
    ) -> None:
        super().__init__(
            operands=[src, result, mask, other, None, None],
            result_types=[TOKEN_TYPE],
            properties={
                "cachePolicy": policy,
                "isVolatile": FALSE,
                "contiguity": IntegerAttr(contiguity, i32),
                "useBulk": FALSE,
            },
        )

    @classmethod
    @override
    def create(cls, *, properties: Mapping[str, Attribute] = {}, **parts: Any) -> Self:
        # Only TLX has the last two operands: generic text of others counts four.
        updated = dict(properties)
        sizes = updated.get(_SEGMENTS)
        if isinstance(sizes, DenseArrayBase) and len(sizes) == 4:
            known = integers(cast("DenseArrayBase[IntegerType]", sizes))
            updated[_SEGMENTS] = ints_attr((*known, 0, 0))
        return super().create(properties=updated, **parts)

    @override
    def verify_(self) -> None:
        verify_mutable(self.result.type)


@irdl_op_definition
class AsyncCommitGroupOp(AsmOp):
    """Closes a group of copies; the token stands for all of them."""

    name = "ttg.async_commit_group"
    input_tokens = var_operand_def(TOKEN_TYPE)
    token = result_def(TOKEN_TYPE)
    traits = ttg_traits()

    ASM: ClassVar[str] = "(`tokens` $input_tokens^)? attr-dict"

    def __init__(self, tokens: Sequence[Operand] = ()) -> None:
        super().__init__(operands=[tokens], result_types=[TOKEN_TYPE])


@irdl_op_definition
class AsyncWaitOp(AsmOp):
    """Waits until at most `num` groups of copies are in flight in this thread."""

    name = "ttg.async_wait"
    tokens = var_operand_def(TOKEN_TYPE)
    num = i32_prop()
    token = result_def(TOKEN_TYPE)
    traits = ttg_traits()

    ASM: ClassVar[str] = "($tokens^)? attr-dict"

    def __init__(self, tokens: Sequence[Operand] = (), num: int = 0) -> None:
        super().__init__(
            operands=[tokens],
            result_types=[TOKEN_TYPE],
            properties={"num": IntegerAttr(num, i32)},
        )


@irdl_op_definition
class RemoteShmemStoreOp(AsmOp):
    """Writes a tensor into the buffer of another CTA."""

    name = "ttg.remote_shmem_store"
    src = operand_def(TENSOR)
    dst = operand_def(MEMDESC)
    cta_rank = operand_def(i32)
    traits = ttg_traits(AccessEffect(writes=("dst",)))

    ASM: ClassVar[str] = (
        "$src `,` `rank` $cta_rank `,` $dst attr-dict `:` type($src) `->` type($dst)"
    )

    def __init__(self, src: Operand, dst: Operand, cta_rank: Operand) -> None:
        super().__init__(operands=[src, dst, cta_rank])


class _AsyncRemote(AsmOp):
    """Base of writes into another CTA that report their end to a barrier."""

    def __init__(self, src: Operand, dst: Operand, cta_rank: Operand, barrier: Operand) -> None:
        super().__init__(operands=[SSAValue.get(each) for each in (src, dst, cta_rank, barrier)])


_REMOTE_ASM = (
    "$src `,` `rank` $cta_rank `,` $dst `barrier` $barrier attr-dict "
    "`:` type($src) `->` type($dst) `barrier_ty` type($barrier)"
)


@irdl_op_definition
class AsyncRemoteShmemStoreOp(_AsyncRemote):
    """Starts writing a tensor into the buffer of another CTA."""

    name = "ttg.async_remote_shmem_store"
    src = operand_def(TENSOR)
    dst = operand_def(MEMDESC)
    cta_rank = operand_def(i32)
    barrier = operand_def(MEMDESC)
    traits = ttg_traits(AccessEffect(writes=("dst", "barrier")))

    ASM: ClassVar[str] = _REMOTE_ASM


@irdl_op_definition
class AsyncRemoteShmemCopyOp(_AsyncRemote):
    """Starts copying a buffer of this CTA into the buffer of another."""

    name = "ttg.async_remote_shmem_copy"
    src = operand_def(MEMDESC)
    dst = operand_def(MEMDESC)
    cta_rank = operand_def(i32)
    barrier = operand_def(MEMDESC)
    traits = ttg_traits(AccessEffect(reads=("src",), writes=("dst", "barrier")))

    ASM: ClassVar[str] = _REMOTE_ASM
