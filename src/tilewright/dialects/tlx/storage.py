"""Storage aliasing: which buffers may share bytes.

A *spec* stands for one region of memory without an address. Buffers are allocated from it, and a
tree of groups arranges them in it: the children of a ``shared`` group start at the same offset,
those of a ``distinct`` group follow each other::

    %spec = tlx.storage_alias_spec storage = smem : !tlx.storage_alias_spec<smem>
    %a = tlx.storage_alias_local_alloc %spec : !tlx.storage_alias_spec<smem> -> A
    %b = tlx.storage_alias_local_alloc %spec : !tlx.storage_alias_spec<smem> -> B
    %g = tlx.reuse_group(%a, %b) group_kind = shared : (A, B) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%spec, %g) : (...) -> ()

Lowering replaces all of it by one allocation and a ``tlx.local_alias`` for each buffer.
"""

# pyright: reportIncompatibleMethodOverride=false
# xDSL declares `get_effects` of a trait as a class method.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import ClassVar, cast

from typing_extensions import override
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, i64
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tlx.types import (
    GROUP_KIND,
    STORAGE_KIND,
    ReuseGroupType,
    StorageAliasSpecType,
    verify_size,
)
from tilewright.dialects.tt.base import Operand, i32_prop
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.types import MEMDESC, MemDescType, SharedMemorySpace
from tilewright.dialects.ttng.attributes import TensorMemorySpace
from tilewright.dialects.ttng.base import TENSOR_OR_MEMDESC
from tilewright.ir.constraints import Satisfies, either, instance_of
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.syntax import INT64, AttributeSyntax

SPEC = instance_of("storage alias specification", StorageAliasSpecType)
GROUP = instance_of("reuse group", ReuseGroupType)
I64_ATTR = Satisfies(
    "64-bit signless integer attribute",
    lambda attribute: isinstance(attribute, IntegerAttr) and attribute.type == i64,
    (IntegerAttr,),
)
I64_ARRAY_ATTR = Satisfies(
    "i64 dense array attribute",
    lambda attribute: isinstance(attribute, DenseArrayBase) and attribute.elt_type == i64,
    (DenseArrayBase,),
)
_ONE = IntegerAttr(1, i64)


class Reserves(MemoryEffect):
    """The result stands for memory of its own: dropped when unused, never merged with another."""

    @classmethod
    @override
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.ALLOC, op.results[0])}


@irdl_op_definition
class StorageAliasSpecOp(AsmOp):
    """A region that buffers share. Size and shape are computed where they are not given."""

    name = "tlx.storage_alias_spec"
    storage = i32_prop()
    buffer_size_bytes = cast("IntegerAttr | None", opt_prop_def(I64_ATTR))
    buffer_shape = cast("DenseArrayBase[IntegerType] | None", opt_prop_def(I64_ARRAY_ATTR))
    result = result_def(SPEC)
    traits = traits_def(Reserves())

    ASM: ClassVar[str] = (
        "`storage` `=` $storage (`,` `size` `=` $buffer_size_bytes^)? attr-dict `:` type($result)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {
        "storage": STORAGE_KIND,
        "buffer_size_bytes": INT64,
    }

    def __init__(self, storage: str, buffer_size_bytes: int | None = None) -> None:
        size = None if buffer_size_bytes is None else IntegerAttr(buffer_size_bytes, i64)
        super().__init__(
            result_types=[StorageAliasSpecType(storage, buffer_size_bytes)],
            properties={"storage": STORAGE_KIND.attribute(storage), "buffer_size_bytes": size},
        )

    @property
    def storage_kind(self) -> str:
        """``smem`` or ``tmem``."""
        return STORAGE_KIND.keyword(self.storage)

    @property
    def size(self) -> int | None:
        """The size in bytes, where it is known."""
        return None if self.buffer_size_bytes is None else self.buffer_size_bytes.value.data

    @override
    def verify_(self) -> None:
        if self.storage_kind not in STORAGE_KIND.keywords:
            raise VerifyException(
                "unsupported storage kind for storage_alias_spec, expected smem or tmem"
            )
        verify_size(self.size)


_SPACES = {
    "smem": (SharedMemorySpace, "shared memory"),
    "tmem": (TensorMemorySpace, "tensor memory"),
}


@irdl_op_definition
class StorageAliasLocalAllocOp(AsmOp):
    """Buffers in the region of a spec; the first dimension counts them."""

    name = "tlx.storage_alias_local_alloc"
    storage_alias = operand_def(SPEC)
    result = result_def(MEMDESC)
    traits = traits_def(Reserves())

    ASM: ClassVar[str] = "$storage_alias attr-dict `:` type($storage_alias) `->` type($result)"

    def __init__(self, storage_alias: Operand, result_type: MemDescType) -> None:
        super().__init__(operands=[storage_alias], result_types=[result_type])

    @override
    def verify_(self) -> None:
        spec = self.storage_alias.type
        assert isinstance(spec, StorageAliasSpecType)
        space, description = _SPACES[spec.storage]
        if not isinstance(memdesc(self.result.type).memory_space, space):
            raise VerifyException(
                f"storage_alias_spec has {spec.storage} storage but result is not in {description}"
            )


@irdl_op_definition
class ReuseGroupOp(AsmOp):
    """How buffers, and groups of them, overlap.

    `group_size` consecutive buffers of each child make one: sub-tiles of a tile.
    """

    name = "tlx.reuse_group"
    elements = var_operand_def(either(MEMDESC, GROUP))
    group_kind = i32_prop()
    group_size = cast("IntegerAttr", prop_def(I64_ATTR, default_value=_ONE))
    result = result_def(GROUP)
    traits = traits_def(Pure())

    ASM: ClassVar[str] = (
        "`(` $elements `)` `group_kind` `=` $group_kind (`,` `group_size` `=` $group_size^)? "
        "attr-dict `:` `(` type($elements) `)` `->` type($result)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {
        "group_kind": GROUP_KIND,
        "group_size": INT64,
    }

    def __init__(self, elements: Sequence[Operand], kind: str, group_size: int = 1) -> None:
        super().__init__(
            operands=[elements],
            result_types=[ReuseGroupType(kind)],
            properties={
                "group_kind": GROUP_KIND.attribute(kind),
                "group_size": IntegerAttr(group_size, i64),
            },
        )

    @property
    def kind(self) -> str:
        """``shared`` or ``distinct``."""
        return GROUP_KIND.keyword(self.group_kind)

    @property
    def size(self) -> int:
        """How many buffers of a child make one."""
        return self.group_size.value.data

    @override
    def verify_(self) -> None:
        if not self.elements:
            raise VerifyException("reuse_group requires at least one element")
        if self.size < 1:
            raise VerifyException(f"group_size must be a positive integer, got {self.size}")
        result = self.result.type
        assert isinstance(result, ReuseGroupType)
        if self.kind != result.group_kind:
            raise VerifyException(
                f"group_kind attribute ({self.kind}) doesn't match result type group kind "
                f"({result.group_kind})"
            )


def leaves_of(value: SSAValue) -> Iterator[SSAValue]:
    """The buffers of a tree of groups, from left to right.

    A group that is named twice is walked twice: a walk of a tree that is not proved to be one
    must stop at the first buffer that comes again.
    """
    pending = [value]
    while pending:
        found = pending.pop()
        if isinstance(found, OpResult) and isinstance(found.op, ReuseGroupOp):
            pending.extend(reversed(found.op.elements))
        else:
            yield found


@irdl_op_definition
class SetBufferOverlapOp(AsmOp):
    """Defines how the buffers of a spec overlap in its region."""

    name = "tlx.set_buffer_overlap"
    storage_alias_spec = operand_def(SPEC)
    overlap_def = operand_def(GROUP)

    ASM: ClassVar[str] = (
        "`(` $storage_alias_spec `,` $overlap_def `)` "
        "`:` `(` type($storage_alias_spec) `,` type($overlap_def) `)` `->` `(` `)` attr-dict"
    )

    def __init__(self, storage_alias_spec: Operand, overlap_def: Operand) -> None:
        super().__init__(operands=[storage_alias_spec, overlap_def])

    @override
    def verify_(self) -> None:
        if not isinstance(self.overlap_def.owner, ReuseGroupOp):
            raise VerifyException("overlap_def must be defined by a tlx.reuse_group op")
        leaves: dict[SSAValue, None] = {}
        for leaf in leaves_of(self.overlap_def):
            if leaf in leaves:
                raise VerifyException(
                    "reuse_group tree contains duplicate elements; "
                    "each allocation can only appear once in the tree"
                )
            leaves[leaf] = None
        if not leaves:
            raise VerifyException("reuse_group tree must contain at least one allocation")
        for leaf in leaves:
            self._verify_leaf(leaf.owner)

    def _verify_leaf(self, allocation: object) -> None:
        if not isinstance(allocation, StorageAliasLocalAllocOp):
            raise VerifyException(
                "all elements in the reuse_group tree must be allocated via "
                "tlx.storage_alias_local_alloc, but found an element that is not"
            )
        if allocation.storage_alias is not self.storage_alias_spec:
            raise VerifyException(
                "all allocations in the reuse_group must reference the same "
                "storage_alias_spec, but found an allocation that uses a different spec"
            )


@irdl_op_definition
class LocalAliasOp(AsmOp):
    """Another view of the memory of a buffer: other shape, element type or layout."""

    name = "tlx.local_alias"
    src = operand_def(TENSOR_OR_MEMDESC)
    result = result_def(TENSOR_OR_MEMDESC)
    traits = traits_def(Pure())

    ASM: ClassVar[str] = "$src attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: Operand, result_type: Attribute) -> None:
        super().__init__(operands=[src], result_types=[result_type])

    @override
    def verify_(self) -> None:
        source, result = self.src.type, self.result.type
        if not isinstance(source, MemDescType) or not isinstance(result, MemDescType):
            raise VerifyException("requires the MemDescType for all operands and results")
        if source.memory_space != result.memory_space:
            raise VerifyException("requires the same memory space for all operands and results")
