"""Storage aliasing: which buffers may share bytes.

    spec = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
    a = tlx.local_alloc((64, 64), tl.float32, 2, reuse=spec)
    b = tlx.local_alloc((64, 64), tl.float16, 2, reuse=spec)
    spec.set_buffer_overlap(tlx.reuse_group(a, b, group_type=tlx.reuse_group_type.shared))

A spec is a region of one kind of memory. Buffers allocated from it start at the same offset unless
a tree of groups defines otherwise: the children of a ``shared`` group start at one offset, those of
a ``distinct`` group follow each other. The compiler computes sizes and addresses.

A group that is made in a kernel is in its IR from then on, whether `set_buffer_overlap` names it or
not: without an explicit definition the groups that are part of no other one define the overlap
(``passes.tlx.storage_alias.define_overlaps``). With ``phase=`` a spec has several definitions, one
for each part of a kernel whose parts run sequentially.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from typing_extensions import override
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tlx import (
    ReuseGroupOp,
    ReuseGroupType,
    SetBufferOverlapOp,
    StorageAliasLocalAllocOp,
    StorageAliasSpecOp,
    StorageAliasSpecType,
    leaves_of,
)
from tilewright.frontend.builder import current, is_tracing
from tilewright.frontend.values import Value
from tilewright.language.tl.constexpr import constexpr, unwrap
from tilewright.language.tlx.storage import buffered_tensor, name_of, storage_kind


@dataclass(frozen=True, repr=False)
class storage_alias_spec_type:
    """The type of a spec: the kind of memory, and the size in bytes where the user gave one."""

    storage: storage_kind
    buffer_size_bytes: int | None = None

    def to_ir(self) -> StorageAliasSpecType:
        return StorageAliasSpecType(self.storage.value, self.buffer_size_bytes)

    def mangle(self) -> str:
        size = "" if self.buffer_size_bytes is None else f"_{self.buffer_size_bytes}"
        return f"storage_alias_spec_{self.storage.value}{size}"

    @override
    def __repr__(self) -> str:
        size = "" if self.buffer_size_bytes is None else f", size={self.buffer_size_bytes}"
        return f"storage_alias_spec_type({self.storage.value}{size})"


class storage_alias_spec_value(Value):
    """A region of memory that buffers share; it cannot be changed once it is made."""

    __slots__ = ("_handle", "_type")

    def __init__(
        self,
        handle: SSAValue | None,
        storage: storage_kind,
        buffer_size_bytes: int | None = None,
    ) -> None:
        _check_storage(storage)
        self._handle = handle
        self._type = storage_alias_spec_type(storage, buffer_size_bytes)

    @property
    def handle(self) -> SSAValue | None:
        return self._handle

    @property
    def type(self) -> storage_alias_spec_type:
        return self._type

    @property
    def storage(self) -> storage_kind:
        return self._type.storage

    @property
    def buffer_size_bytes(self) -> int | None:
        return self._type.buffer_size_bytes

    @property
    def ssa(self) -> SSAValue:
        """The spec in the IR."""
        if self._handle is None:
            raise RuntimeError("storage_alias_spec must be created inside a kernel")
        return self._handle

    def set_buffer_overlap(
        self, overlap_def: reuse_group, phase: str | constexpr | None = None
    ) -> None:
        """Define how the buffers of this spec overlap, in one `phase` of the kernel if it is named.

        Several definitions over one spec have a phase each. Buffers that only different phases name
        may overlap, which requires that they are not live at the same time.
        """
        if not isinstance(overlap_def, reuse_group):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"overlap_def must be a reuse_group, got {type(overlap_def).__name__}")
        name = unwrap(phase)
        if name is not None and (not isinstance(name, str) or not name):
            raise TypeError(f"phase must be a name, as in phase='load', got {name!r}")
        op = SetBufferOverlapOp(self.ssa, overlap_def.emit())
        if name is not None:
            op.attributes["phase"] = StringAttr(name)
        current().insert(op)

    @override
    def handles(self) -> Sequence[SSAValue]:
        return (self.ssa,)

    @override
    def rebuild(self, handles: Iterator[SSAValue]) -> Self:
        return self.__class__(next(handles), self.storage, self.buffer_size_bytes)

    @override
    def kind(self) -> storage_alias_spec_type:
        return self._type

    @override
    def __repr__(self) -> str:
        return repr(self._type).replace("_type", "", 1)

    @override
    def __str__(self) -> str:
        return repr(self)


def _check_storage(storage: object) -> None:
    if storage == storage_kind.smemCluster:
        raise ValueError("smemCluster storage is not supported for storage_alias_spec")


def storage_alias_spec(
    storage: storage_kind = storage_kind.smem,
    buffer_size_bytes: int | constexpr | None = None,
) -> storage_alias_spec_value:
    """A region that several `local_alloc` may share, as large as they need, or of a given size."""
    storage, size = unwrap(storage), unwrap(buffer_size_bytes)
    if not isinstance(storage, storage_kind):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"storage must be a tlx.storage_kind, got {type(storage)}")
    _check_storage(storage)
    if size is not None:
        if not isinstance(size, int) or isinstance(size, bool):
            raise ValueError("buffer_size_bytes must be a compile-time constant")
        if size <= 0:
            raise ValueError(f"buffer_size_bytes must be positive, got {size}")
    op = current().insert(StorageAliasSpecOp(storage.value, size))
    return storage_alias_spec_value(op.result, storage, size)


class reuse_group_type(enum.Enum):
    """How the children of a group overlap."""

    shared = "shared"
    distinct = "distinct"


@dataclass(frozen=True)
class reuse_group_ir_type:
    """The type of a group in the IR."""

    group_kind: reuse_group_type

    def to_ir(self) -> ReuseGroupType:
        return ReuseGroupType(self.group_kind.value)

    def mangle(self) -> str:
        return f"reuse_group_{self.group_kind.value}"


class reuse_group:
    """A node of the tree that describes how buffers share a region.

    `group_size` consecutive buffers of each child make one of the group: sub-tiles of a tile.
    """

    __slots__ = ("_args", "_group_size", "_group_type", "_handle")

    def __init__(
        self,
        *args: buffered_tensor | reuse_group,
        group_type: reuse_group_type = reuse_group_type.shared,
        group_size: int | constexpr = 1,
    ) -> None:
        if not args:
            raise ValueError("reuse_group requires at least one element")
        size = unwrap(group_size)
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ValueError(f"group_size must be a positive integer, got {size}")
        for element in args:
            if not isinstance(element, (buffered_tensor, reuse_group)):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(
                    "reuse_group elements must be buffered_tensor or reuse_group, got "
                    f"{type(element).__name__}"
                )
        self._args = args
        self._group_type = reuse_group_type(unwrap(group_type))
        self._group_size = size
        self._handle: SSAValue | None = None
        if is_tracing():
            _check_spec(self.emit())

    @property
    def args(self) -> tuple[buffered_tensor | reuse_group, ...]:
        return self._args

    @property
    def group_type(self) -> reuse_group_type:
        return self._group_type

    @property
    def group_size(self) -> int:
        return self._group_size

    def emit(self) -> SSAValue:
        """The group in the IR, children first; the one that is there if it can be used here."""
        if self._handle is None or not _is_visible(self._handle):
            elements = [
                each.emit() if isinstance(each, reuse_group) else each.handle for each in self._args
            ]
            op = ReuseGroupOp(elements, self._group_type.value, self._group_size)
            self._handle = current().insert(op).result
        return self._handle

    @override
    def __repr__(self) -> str:
        size = "" if self._group_size == 1 else f", group_size={self._group_size}"
        return f"reuse_group(args={self._args}, group_type={self._group_type}{size})"


def _is_visible(value: SSAValue) -> bool:
    """Whether `value` may be used at the insertion point: its block is around it."""
    home = value.owner.parent if isinstance(value.owner, Operation) else value.owner
    block = current().block
    while block is not home:
        outer = block.parent_op()
        if outer is None or outer.parent is None:
            return False
        block = outer.parent
    return True


def _check_spec(group: SSAValue) -> None:
    """Raise unless all buffers below `group` are allocations from one spec."""
    specs: dict[SSAValue, SSAValue] = {}
    for leaf in leaves_of(group):
        allocation = leaf.owner
        if not isinstance(allocation, StorageAliasLocalAllocOp):
            raise TypeError(
                f"reuse_group: '{name_of(leaf)}' is not an allocation from a storage_alias_spec, "
                "so no bytes are shared: pass reuse=spec to its local_alloc, and make the group "
                "where the buffers are allocated"
            )
        specs.setdefault(allocation.storage_alias, leaf)
    if len(specs) > 1:
        first, second = list(specs.values())[:2]
        raise TypeError(
            f"reuse_group: '{name_of(first)}' and '{name_of(second)}' are allocated from different "
            "storage_alias_specs, whose memory is disjoint: make one group for each spec"
        )
