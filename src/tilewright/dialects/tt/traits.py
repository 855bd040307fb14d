"""Rules that many ops share: sizes of tensors, equal shapes, equal encodings, effects.

Messages are those of MLIR and Triton. The order in which an op lists its traits is the order in
which they are checked, and with it decides which of several faults is reported.

A type that was found sound is remembered by identity (types are shared within a module), so that
the size of a tensor is computed once and not for every op that uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from typing_extensions import override
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr
from xdsl.ir import Attribute, Operation, OpTrait
from xdsl.traits import (
    ConditionallySpeculatable,
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    Resource,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.elementwise import (
    check_same_shape,
    check_same_type,
    have_compatible_shapes,
)
from tilewright.dialects.tt.layout_rules import is_deferred, without_marks
from tilewright.dialects.tt.types import block_pointee
from tilewright.dialects.type_utils import element_type_of, encoding_of, is_tensor, num_elements
from tilewright.ir.text.printer import print_operation

MAX_TENSOR_ELEMENTS = 1 << 20

_MEMO_LIMIT = 4096


class TensorSize(OpTrait):
    """Tensors have a power of two of elements, and not more than a million or so."""

    _sound: dict[int, Attribute] = {}

    def verify(self, op: Operation) -> None:
        for type in (*op.operand_types, *op.result_types):
            if id(type) not in self._sound:
                self._examine(type, op)

    def _examine(self, type: Attribute, op: Operation) -> None:
        if is_tensor(type) and DYNAMIC_INDEX not in type.get_shape():
            _check_size(num_elements(type), op)
        if len(self._sound) >= _MEMO_LIMIT:
            self._sound.clear()
        self._sound[id(type)] = type


def _check_size(count: int, op: Operation) -> None:
    if count > MAX_TENSOR_ELEMENTS:
        raise VerifyException(
            f"Maximum allowed number of elements is {MAX_TENSOR_ELEMENTS}, "
            f"but {print_operation(op)} has more than that"
        )
    if count & (count - 1):
        raise VerifyException(
            f"Number of elements must be power-of-two, but {print_operation(op)} "
            f"doesn't follow the rule ({count}) elements"
        )


# Shapes.


class SameOperandsAndResultType(OpTrait):
    """All operands and results have one type."""

    def verify(self, op: Operation) -> None:
        check_same_type((*op.result_types, *op.operand_types))


class SameTypeOperands(OpTrait):
    """All operands have one type."""

    def verify(self, op: Operation) -> None:
        first = op.operands[0].type
        if any(operand.type != first for operand in op.operands):
            raise VerifyException("requires all operands to have the same type")


class SameOperandsAndResultElementType(OpTrait):
    """All operands and results have one element type."""

    def verify(self, op: Operation) -> None:
        types = (*op.operand_types, *op.result_types)
        first = element_type_of(types[0])
        if any(element_type_of(type) != first for type in types):
            raise VerifyException("requires the same element type for all operands and results")


class SameOperandsAndResultShape(OpTrait):
    """All operands and results have one shape."""

    def verify(self, op: Operation) -> None:
        if not op.operands or not op.results:
            return
        check_same_shape((*op.operand_types, *op.result_types))


class SameOperandsShape(OpTrait):
    """All operands have one shape."""

    def verify(self, op: Operation) -> None:
        if op.operands and not have_compatible_shapes(op.operand_types):
            raise VerifyException("requires the same shape for all operands")


class SameAccessShape(OpTrait):
    """Operands and results of a load or store have one shape; a block pointer has its block's."""

    def verify(self, op: Operation) -> None:
        results = [_accessed(type) for type in op.result_types]
        operands = [_accessed(type) for type in op.operand_types]
        if results and not have_compatible_shapes((operands[0], *results)):
            raise VerifyException("requires the same shape for all operands and results")
        if not have_compatible_shapes(operands):
            raise VerifyException("requires the same shape for all operands")


def _accessed(type: Attribute) -> Attribute:
    block = block_pointee(type)
    return type if block is None else block


# Encodings.


class SameOperandsEncoding(OpTrait):
    """Operands that have an encoding have the same one."""

    def verify(self, op: Operation) -> None:
        if not _have_same_encoding(op.operand_types):
            raise VerifyException("requires the same encoding for all operands")


class SameOperandsAndResultEncoding(SameOperandsEncoding):
    """Operands and results that have an encoding have the same one."""

    @override
    def verify(self, op: Operation) -> None:
        if op.operands and not _have_same_encoding((op.operands[0].type, *op.result_types)):
            raise VerifyException("requires the same encoding for all operands and results")
        super().verify(op)


def _have_same_encoding(types: Sequence[Attribute]) -> bool:
    encodings = [found for type in types if (found := encoding_of(type)) is not None]
    if all(found is encodings[0] or found == encodings[0] for found in encodings):
        return True
    bare = [without_marks(found) for found in encodings]
    return any(map(is_deferred, encodings)) and all(found == bare[0] for found in bare)


# Effects.


@dataclass(frozen=True)
class GlobalMemory(Resource):
    """The memory of the device, which all programs share."""

    @override
    def name(self) -> str:
        return "<GlobalMemory>"


_GLOBAL = GlobalMemory()


class GlobalRead(MemoryEffect):
    """Reads global memory through the first operand, a pointer or a descriptor."""

    @classmethod
    @override
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.READ, op.operands[0], _GLOBAL)}


class GlobalWrite(MemoryEffect):
    """Writes global memory through the first operand."""

    @classmethod
    @override
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.WRITE, op.operands[0], _GLOBAL)}


class GlobalReadWrite(MemoryEffect):
    """Reads and writes global memory through the first operand."""

    @classmethod
    @override
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return GlobalRead.get_effects(op) | GlobalWrite.get_effects(op)


class VolatileRead(GlobalRead):
    """As ``GlobalRead``; a volatile access happens as often as written, as if it wrote as well."""

    @classmethod
    @override
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        effects = super().get_effects(op)
        if _is_true(op.properties.get("isVolatile")):
            return effects | {EffectInstance(MemoryEffectKind.WRITE)}
        return effects


class ObservableGlobalWrite(MemoryEffect):
    """Must happen where it stands, though no address is known: printing, asserting."""

    @classmethod
    @override
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.WRITE, resource=_GLOBAL)}


class GlobalFence(MemoryEffect):
    """Orders all accesses to global memory around it."""

    @classmethod
    @override
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        kinds = (MemoryEffectKind.READ, MemoryEffectKind.WRITE)
        return {EffectInstance(kind, resource=_GLOBAL) for kind in kinds}


class PureIfMarked(MemoryEffect, ConditionallySpeculatable):
    """Foreign code: without effect if its ``pure`` property is set, else it may do anything."""

    @classmethod
    @override
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        if cls.is_speculatable(op):
            return frozenset()
        kinds = (MemoryEffectKind.READ, MemoryEffectKind.WRITE)
        return {EffectInstance(kind) for kind in kinds}

    @classmethod
    @override
    def is_speculatable(cls, op: Operation) -> bool:
        return _is_true(op.properties.get("pure"))


def _is_true(attribute: Attribute | None) -> bool:
    return isinstance(attribute, IntegerAttr) and bool(attribute.value.data)
