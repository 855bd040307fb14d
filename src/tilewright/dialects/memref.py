"""The ``memref`` dialect, as far as tile kernels use it: elements and extents of buffers.

    %v = memref.load %A[%i, %j] : memref<64x64xf16, #tile.space<global>>
    memref.store %v, %A[%i, %j] : memref<64x64xf16, #tile.space<global>>
    %m = memref.dim %A, %c0 : memref<?x64xf16, #tile.space<global>>

These are ours: xDSL's raise a plain ``Exception`` for a wrong number of indices, do not name
the buffer they access, and have no text for ``memref.cast``. The other ops are xDSL's.
"""

# pyright: reportIncompatibleMethodOverride=false
# xDSL declares `get_effects` of a trait as a class method.

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects import memref as stock
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BoolAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    UnrankedMemRefType,
)
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import EffectInstance, MemoryEffectKind, Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.elementwise import Operand, value_of
from tilewright.dialects.type_utils import element_type_of, rank_of, shape_of
from tilewright.ir.constraints import instance_of
from tilewright.ir.effects import EffectsInOrder
from tilewright.ir.interfaces import FoldBy, Folded
from tilewright.ir.text.assembly import AsmOp, TypeRule

INDEX = IndexType()
MEMREF = instance_of("memref of any type values", MemRefType)
MEMREF_OR_UNRANKED = instance_of("ranked or unranked memref", MemRefType, UnrankedMemRefType)


@dataclass(frozen=True)
class _BufferEffect(EffectsInOrder):
    """An access to the buffer that an operand names."""

    kind: MemoryEffectKind

    @property
    @override
    def certain(self) -> frozenset[MemoryEffectKind]:
        return frozenset((self.kind,))

    @override
    def has_writes(self, op: Operation) -> bool:
        return self.kind is not MemoryEffectKind.READ

    @override
    def iter_effects(self, op: Operation) -> Iterator[EffectInstance]:
        assert isinstance(op, (LoadOp, StoreOp))
        yield EffectInstance(self.kind, op.memref)


def _verify_indices(buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
    rank = rank_of(buffer.type)
    if len(indices) != rank:
        raise VerifyException(
            f"expects one index per dimension of the buffer: it has {rank}, got {len(indices)}"
        )


@irdl_op_definition
class LoadOp(AsmOp):
    """One element of a buffer."""

    name = "memref.load"

    memref = operand_def(MEMREF)
    indices = var_operand_def(INDEX)
    nontemporal = opt_prop_def(BoolAttr)
    result = result_def()

    traits = traits_def(_BufferEffect(MemoryEffectKind.READ))
    ASM: ClassVar[str] = "$memref `[` $indices `]` attr-dict `:` type($memref)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "result": TypeRule(
            "result type matches element type of 'memref'",
            lambda types: element_type_of(types["memref"]),
        )
    }

    def __init__(self, memref: Operand, indices: Sequence[Operand]) -> None:
        memref = value_of(memref)
        super().__init__(operands=[memref, indices], result_types=[element_type_of(memref.type)])

    @override
    def verify_(self) -> None:
        _verify_indices(self.memref, self.indices)


@irdl_op_definition
class StoreOp(AsmOp):
    """Replaces one element of a buffer."""

    name = "memref.store"

    value = operand_def()
    memref = operand_def(MEMREF)
    indices = var_operand_def(INDEX)
    nontemporal = opt_prop_def(BoolAttr)

    traits = traits_def(_BufferEffect(MemoryEffectKind.WRITE))
    ASM: ClassVar[str] = "$value `,` $memref `[` $indices `]` attr-dict `:` type($memref)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "value": TypeRule(
            "type of 'value' matches element type of 'memref'",
            lambda types: element_type_of(types["memref"]),
        )
    }

    def __init__(self, value: Operand, memref: Operand, indices: Sequence[Operand]) -> None:
        super().__init__(operands=[value, memref, indices])

    @override
    def verify_(self) -> None:
        _verify_indices(self.memref, self.indices)


class HasExtents(ABC):
    """An op whose result is a buffer with extents that are its operands."""

    @abstractmethod
    def extent(self, dimension: int) -> SSAValue | int:
        """The extent of the result along a dimension."""


def _fold_dim(op: Operation, constants: Sequence[Attribute | None]) -> Folded:
    shape, dimension = shape_of(op.operands[0].type), constants[1]
    if not isinstance(dimension, IntegerAttr) or not 0 <= dimension.value.data < len(shape):
        return None
    extent = shape[dimension.value.data]
    if extent != DYNAMIC_INDEX:
        return [IntegerAttr(extent, INDEX)]
    owner = op.operands[0].owner
    given = owner.extent(dimension.value.data) if isinstance(owner, HasExtents) else None
    return [given] if isinstance(given, SSAValue) else None


@irdl_op_definition
class DimOp(AsmOp):
    """The extent of a buffer along one dimension."""

    name = "memref.dim"

    source = operand_def(MEMREF_OR_UNRANKED)
    index = operand_def(INDEX)
    result = result_def(INDEX)

    traits = traits_def(Pure(), FoldBy(_fold_dim))
    ASM: ClassVar[str] = "attr-dict $source `,` $index `:` type($source)"

    def __init__(self, source: Operand, index: Operand) -> None:
        super().__init__(operands=[source, index], result_types=[INDEX])


@irdl_op_definition
class CastOp(AsmOp):
    """The same buffer where more, or less, of its type is known."""

    name = "memref.cast"

    source = operand_def(MEMREF_OR_UNRANKED)
    dest = result_def(MEMREF_OR_UNRANKED)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = "$source attr-dict `:` type($source) `to` type($dest)"

    def __init__(self, source: Operand, type: Attribute) -> None:
        super().__init__(operands=[source], result_types=[type])

    @override
    def verify_(self) -> None:
        source, dest = self.source.type, self.dest.type
        if not _are_castable(source, dest):
            raise VerifyException(
                f"operand type '{source}' and result type '{dest}' are cast incompatible"
            )


def _are_castable(one: Attribute, other: Attribute) -> bool:
    """Whether both may be types of one buffer: what both know is the same."""
    if element_type_of(one) != element_type_of(other):
        return False
    if not isinstance(one, MemRefType) or not isinstance(other, MemRefType):
        return True
    one_shape, other_shape = one.get_shape(), other.get_shape()
    return (
        one.memory_space == other.memory_space
        and len(one_shape) == len(other_shape)
        and all(
            a == b or DYNAMIC_INDEX in (a, b) for a, b in zip(one_shape, other_shape, strict=True)
        )
    )


_OURS: Sequence[type[Operation]] = (CastOp, DimOp, LoadOp, StoreOp)
_REPLACED = frozenset(op.name for op in _OURS)

Memref = Dialect(
    "memref",
    [*(op for op in stock.MemRef.operations if op.name not in _REPLACED), *_OURS],
    list(stock.MemRef.attributes),
)
