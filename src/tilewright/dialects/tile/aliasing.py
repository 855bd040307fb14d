"""Storage aliasing: which buffers may share bytes, as specified by the user.

A *spec* stands for bytes without an address. Buffers are allocated from it, and a tree of groups
defines their offsets: the children of a ``shared`` group start at the same offset, those of a
``distinct`` group follow each other::

    %spec = tile.storage_alias_spec shared : !tile.storage_alias_spec<shared>
    %a = tile.alloc alias %spec : A
    %b = tile.alloc alias %spec : B
    %g = tile.reuse_group shared(%a, %b) : (A, B) -> !tile.reuse_group<shared>
    tile.set_buffer_overlap %spec, %g : ...

It means the same as in ``tlx``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import OpResult, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import Allocates, States
from tilewright.dialects.tile.allocs import AllocOp
from tilewright.dialects.tile.base import (
    KeywordSyntax,
    Operand,
    given,
    integer_attr,
    integer_of,
    integer_prop,
    keyword_prop,
    opt_integer_prop,
)
from tilewright.dialects.tile.types import (
    BUFFER,
    GROUP,
    SPEC,
    ReuseGroupType,
    StorageAliasSpecType,
)
from tilewright.ir.constraints import either
from tilewright.ir.text.assembly import AsmOp

STORAGES = KeywordSyntax(("shared", "tmem"))
GROUP_KINDS = KeywordSyntax(("shared", "distinct"))


@irdl_op_definition
class StorageAliasSpecOp(AsmOp):
    """Bytes that buffers share. Their number is computed where it is not given."""

    name = "tile.storage_alias_spec"
    storage = keyword_prop(STORAGES)
    size_bytes = opt_integer_prop()
    result = result_def(SPEC)
    traits = traits_def(Allocates())

    ASM: ClassVar[str] = "$storage (`size` $size_bytes^)? attr-dict `:` type($result)"

    def __init__(self, storage: str = "shared", size_bytes: int | None = None) -> None:
        super().__init__(
            result_types=[StorageAliasSpecType(storage)],
            properties=given(storage=StringAttr(storage), size_bytes=integer_attr(size_bytes)),
        )

    @property
    def size(self) -> int | None:
        """The size in bytes, where it is known."""
        return integer_of(self.size_bytes)

    @override
    def verify_(self) -> None:
        if self.size is not None and self.size < 1:
            raise VerifyException(f"size must be positive, got {self.size}")
        type = self.result.type
        if isinstance(type, StorageAliasSpecType) and type.keyword != self.storage:
            raise VerifyException(
                f"storage is {self.storage.data} but the type has {type.keyword.data}"
            )


@irdl_op_definition
class ReuseGroupOp(AsmOp):
    """How buffers, and groups of them, overlap.

    `group_size` consecutive buffers of each child make one: sub-tiles of a tile.
    """

    name = "tile.reuse_group"
    kind = keyword_prop(GROUP_KINDS)
    elements = var_operand_def(either(BUFFER, GROUP))
    group_size = integer_prop(1)
    result = result_def(GROUP)
    traits = traits_def(Pure())

    ASM: ClassVar[str] = (
        "$kind `(` $elements `)` (`group_size` $group_size^)? attr-dict "
        "`:` functional-type($elements, $result)"
    )

    def __init__(self, elements: Sequence[Operand], kind: str, group_size: int = 1) -> None:
        super().__init__(
            operands=[elements],
            result_types=[ReuseGroupType(kind)],
            properties=given(kind=StringAttr(kind), group_size=integer_attr(group_size)),
        )

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
        type = self.result.type
        if isinstance(type, ReuseGroupType) and type.keyword != self.kind:
            raise VerifyException(f"kind is {self.kind.data} but the type has {type.keyword.data}")


IMPLIED = "tile.implied"
"""The attribute of an overlap definition that no call made: a group implies it."""


def leaves_of(value: SSAValue) -> Iterator[SSAValue]:
    """The buffers of a tree of groups, from left to right.

    A group that is named twice is walked twice: a walk over a tree that is not proved to be one
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
    """Defines how the buffers of a spec are allocated in its bytes."""

    name = "tile.set_buffer_overlap"
    spec = operand_def(SPEC)
    group = operand_def(GROUP)
    traits = traits_def(States())

    ASM: ClassVar[str] = "$spec `,` $group attr-dict `:` type($spec) `,` type($group)"

    def __init__(self, spec: Operand, group: Operand) -> None:
        super().__init__(operands=[spec, group])

    @override
    def verify_(self) -> None:
        if not isinstance(self.group.owner, ReuseGroupOp):
            raise VerifyException("the group must be defined by a tile.reuse_group op")
        leaves: dict[SSAValue, None] = {}
        for leaf in leaves_of(self.group):
            if leaf in leaves:
                raise VerifyException(
                    "reuse_group tree contains duplicate elements; "
                    "each allocation can only appear once in the tree"
                )
            leaves[leaf] = None
        for leaf in leaves:
            self._verify_leaf(leaf)

    def _verify_leaf(self, leaf: SSAValue) -> None:
        allocation = leaf.owner
        storage = allocation.storage() if isinstance(allocation, AllocOp) else None
        if not isinstance(allocation, AllocOp) or storage is None:
            raise VerifyException(
                "all elements in the reuse_group tree must be allocated from a "
                "storage_alias_spec, but found an element that is not"
            )
        if storage is not self.spec:
            raise VerifyException(
                "all allocations in the reuse_group must reference the same "
                f"storage_alias_spec, but '{allocation.buffer_name}' uses a different one"
            )
