"""Buffers of a kernel: where they are, and what a variable of a kernel holds of them.

    storage_kind.smem          shared memory of the CTA                 #ttg.shared_memory
    storage_kind.tmem          tensor memory (Blackwell)                #ttng.tensor_memory
    storage_kind.smemCluster   shared memory of another CTA, seen here  #ttng.shared_cluster_memory

A value is an SSA value and a type. `num` counts the buffers of an array, 0 is a single view; an
array is indexed for one of its buffers::

    tiles = tlx.local_alloc((128, 64), tl.float16, 3)   memdesc<3x128x64xf16>, num = 3
    tiles[i]                                            memdesc<128x64xf16>,   num = 0

Barriers and responses of cluster launch control are arrays of 64-bit or 128-bit cells:
``memdesc<4xi64>`` and ``memdesc<1xi64>``.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, cast

from typing_extensions import override
from xdsl.dialects.builtin import IntegerType, Signedness, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.ttg import AsyncTokenType, MemDescIndexOp, MemDescType
from tilewright.dialects.ttg.types import SHARED_MEMORY, TOKEN_TYPE
from tilewright.dialects.ttng.attributes import SHARED_CLUSTER_MEMORY, TENSOR_MEMORY
from tilewright.frontend.builder import current
from tilewright.frontend.values import Value
from tilewright.ir.diagnostics import resolve
from tilewright.language.tl.dtypes import dtype, int64
from tilewright.language.tl.operands import indices
from tilewright.language.tl.tensor import Operand
from tilewright.language.tlx.layouts import layout_encoding, shared_layout_encoding


class storage_kind(enum.Enum):
    """A kind of memory that buffers are in."""

    smem = "smem"
    tmem = "tmem"
    smemCluster = "smemCluster"


_SPACES: Mapping[storage_kind, Attribute] = {
    storage_kind.smem: SHARED_MEMORY,
    storage_kind.tmem: TENSOR_MEMORY,
    storage_kind.smemCluster: SHARED_CLUSTER_MEMORY,
}


def memdesc_type(
    shape: Sequence[int], element: Attribute, encoding: Attribute, storage: storage_kind
) -> MemDescType:
    """The IR type of a mutable buffer."""
    return MemDescType(tuple(shape), element, encoding, _SPACES[storage], mutable=True)


def name_of(buffer: SSAValue) -> str:
    """The variable that a buffer was assigned to, for messages."""
    names = resolve(buffer.owner.location).names if isinstance(buffer.owner, Operation) else ()
    return buffer.name_hint or (names[-1] if names else "buffer")


@dataclass(frozen=True)
class buffered_tensor_type:
    """The type of a buffer, or of an array of `num` of them."""

    element_ty: dtype
    shape: tuple[int, ...]
    num: int
    storage: storage_kind
    layout: layout_encoding

    @property
    def scalar(self) -> dtype:
        """The type of an element."""
        return self.element_ty

    @property
    def _ir_shape(self) -> tuple[int, ...]:
        return (self.num, *self.shape) if self.num else self.shape

    def to_ir(self) -> MemDescType:
        return memdesc_type(
            self._ir_shape, self.element_ty.to_ir(), self.layout.to_ir(), self.storage
        )

    def mangle(self) -> str:
        """The type as part of a function's symbol."""
        extents = [*self.shape, *([self.num] if self.num else [])]
        return f"buffered_{self.element_ty.mangle()}S{'_'.join(map(str, extents))}"

    @override
    def __str__(self) -> str:
        return f"buffered_tensor_<{self.element_ty}, {list(self.shape)}, {self.layout}, {self.num}>"


class _Buffer(Value):
    """Base of what is one SSA value, a memory descriptor."""

    __slots__ = ("_kind", "handle")

    def __init__(self, handle: SSAValue | None, type: buffered_tensor_type) -> None:
        # Outside of a kernel a buffer may be described without there being one.
        self.handle: SSAValue = cast("SSAValue", handle)
        self._kind = type

    @property
    def type(self) -> buffered_tensor_type:
        return self._kind

    @property
    def num(self) -> int:
        """How many there are; 0 for a single one."""
        return self.type.num

    @property
    def ir_type(self) -> MemDescType:
        """The type in the IR, with the layout that views have given it."""
        type = self.handle.type
        assert isinstance(type, MemDescType)
        return type

    @override
    def handles(self) -> Sequence[SSAValue]:
        return (self.handle,)

    @override
    def rebuild(self, handles: Iterator[SSAValue]) -> Self:
        made = object.__new__(self.__class__)
        made.handle = next(handles)
        made._kind = self._kind
        return made

    @override
    def kind(self) -> object:
        # Views of one type may differ in a property of the IR: the allocation they are of.
        return _Kind(self.type, self.handle.type)

    @override
    def __str__(self) -> str:
        return str(self.type)

    def _element(self, index: Operand) -> SSAValue:
        """One of the buffers."""
        position = indices((index,))[0]
        source = self.ir_type
        shape = source.shape[1:] or (1,)
        result = source.with_shape(shape)
        return current().insert(MemDescIndexOp(self.handle, position.handle, result)).results[0]


@dataclass(frozen=True)
class _Kind:
    """What must agree where two buffers are merged."""

    type: buffered_tensor_type
    ir: Attribute

    @override
    def __str__(self) -> str:
        return str(self.type)


class buffered_tensor(_Buffer):
    """A tensor in a buffer that the kernel manages, or an array of such."""

    elsewhere: ClassVar[Mapping[str, str]] = {
        "load": "tlx.local_load(buffer)",
        "store": "tlx.local_store(buffer, value)",
        "T": "tlx.local_trans(buffer)",
        "trans": "tlx.local_trans(buffer)",
        "to": "tlx.local_load(buffer).to(...)",
    }

    def __init__(
        self,
        handle: SSAValue | None,
        element_ty: dtype,
        shape: Sequence[int],
        num: int,
        storage: storage_kind,
        layout: layout_encoding,
    ) -> None:
        super().__init__(
            handle, buffered_tensor_type(element_ty, tuple(shape), num, storage, layout)
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one buffer."""
        return self.type.shape

    @property
    def dtype(self) -> dtype:
        """The type of an element."""
        return self.type.element_ty

    def viewed(
        self,
        handle: SSAValue,
        shape: Sequence[int],
        *,
        num: int = 0,
        element_ty: dtype | None = None,
        layout: layout_encoding | None = None,
    ) -> buffered_tensor:
        """Another view of the same memory."""
        type = self.type
        return buffered_tensor(
            handle, element_ty or type.element_ty, shape, num, type.storage, layout or type.layout
        )

    def __getitem__(self, buffer_idx: Operand) -> buffered_tensor:
        """One buffer of an array; without an array, one element of the first dimension."""
        handle = self._element(buffer_idx)
        inner = self.shape if self.num else self.shape[1:] or (1,)
        return self.viewed(handle, inner)


class _cell_type(buffered_tensor_type):
    """The type of an array of cells in shared memory, or of one cell."""

    CELL: ClassVar[Attribute] = i64

    @property
    @override
    def _ir_shape(self) -> tuple[int, ...]:
        return (self.num or 1,)

    @override
    def to_ir(self) -> MemDescType:
        return memdesc_type(self._ir_shape, self.CELL, self.layout.to_ir(), self.storage)


class mbarrier_type(_cell_type):
    """The type of a barrier, or of an array of barriers."""

    def __init__(
        self,
        num: int,
        layout: shared_layout_encoding,
        storage: storage_kind = storage_kind.smem,
        is_warp_barrier: bool = False,
    ) -> None:
        super().__init__(int64, (1,), num, storage, layout)
        object.__setattr__(self, "is_warp_barrier", is_warp_barrier)

    is_warp_barrier: bool

    @override
    def mangle(self) -> str:
        return f"{'warp_' if self.is_warp_barrier else ''}mbarrier_{self.storage.value}S{self.num}"

    @override
    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, mbarrier_type)
            and super().__eq__(other)
            and self.is_warp_barrier == other.is_warp_barrier
        )

    @override
    def __hash__(self) -> int:
        return hash((super().__hash__(), self.is_warp_barrier))

    @override
    def __str__(self) -> str:
        return f"{'warp_barrier' if self.is_warp_barrier else 'mbarrier'}<{self.num}>"


class mbarrier(_Buffer):
    """A barrier in shared memory, or an array of them.

    At a warp barrier every thread arrives by itself; at others one thread does for all.
    """

    def __init__(
        self,
        handle: SSAValue,
        num: int,
        layout: shared_layout_encoding,
        storage: storage_kind = storage_kind.smem,
        is_warp_barrier: bool = False,
    ) -> None:
        super().__init__(handle, mbarrier_type(num, layout, storage, is_warp_barrier))

    @property
    @override
    def type(self) -> mbarrier_type:
        assert isinstance(self._kind, mbarrier_type)
        return self._kind

    @property
    def layout(self) -> shared_layout_encoding:
        assert isinstance(self.type.layout, shared_layout_encoding)
        return self.type.layout

    @property
    def is_warp_barrier(self) -> bool:
        return self.type.is_warp_barrier

    def __getitem__(self, buffer_idx: Operand) -> mbarrier:
        """One barrier of an array."""
        return mbarrier(
            self._element(buffer_idx), 0, self.layout, self.type.storage, self.is_warp_barrier
        )


class clc_response_type(_cell_type):
    """The type of a response of cluster launch control, or of an array of them."""

    CELL = IntegerType(128, Signedness.UNSIGNED)

    def __init__(self, num: int, layout: shared_layout_encoding) -> None:
        super().__init__(int64, (1,), num, storage_kind.smem, layout)

    @override
    def mangle(self) -> str:
        return f"clc_responseS{self.num}"

    @override
    def __str__(self) -> str:
        return f"clc_response<{self.num}>"


class clc_response(_Buffer):
    """The buffer of a response of cluster launch control, or several of them."""

    def __init__(self, handle: SSAValue, num: int, layout: shared_layout_encoding) -> None:
        super().__init__(handle, clc_response_type(num, layout))

    def __getitem__(self, buffer_idx: Operand) -> clc_response:
        """One response of an array."""
        layout = self.type.layout
        assert isinstance(layout, shared_layout_encoding)
        return clc_response(self._element(buffer_idx), 0, layout)


@dataclass(frozen=True)
class async_token_type:
    """The type of tokens."""

    def to_ir(self) -> AsyncTokenType:
        return TOKEN_TYPE

    def mangle(self) -> str:
        return "async_token"

    @override
    def __str__(self) -> str:
        return "async_token"


class async_token(Value):
    """Stands for asynchronous work, to be waited for."""

    __slots__ = ("handle",)

    def __init__(self, handle: SSAValue) -> None:
        self.handle = handle

    @property
    def type(self) -> async_token_type:
        return async_token_type()

    @override
    def handles(self) -> Sequence[SSAValue]:
        return (self.handle,)

    @override
    def rebuild(self, handles: Iterator[SSAValue]) -> Self:
        return self.__class__(next(handles))

    @override
    def kind(self) -> async_token_type:
        return self.type

    @override
    def __str__(self) -> str:
        return str(self.type)
