"""Which operands an op reads and writes.

Most ops of this dialect access memory through descriptors and return nothing, so what they do
*is* their memory effects. ``AccessEffect`` lists them by the operand names of the definition::

    traits = ttng_traits(AccessEffect(reads=("src",), writes=("dst",)))

An effect names the value it goes through and, from the type of that value, the memory: global
for pointers and tensor descriptors, shared or tensor memory for buffers.
"""

# pyright: reportIncompatibleMethodOverride=false
# xDSL declares `get_effects` as a class method; a trait here carries the names of operands.

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, cast

from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Resource

from tilewright.dialects.ttg.effects import GLOBAL, SHARED
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.attributes import TensorMemorySpace
from tilewright.ir.interfaces import constant_value

COLUMN_OFFSET = "tensor_memory_col_offset"
"""The attribute with the address of an allocation, once that is decided."""


@dataclass(frozen=True)
class TensorMemory(Resource):
    """The memory of the tensor cores of one CTA."""

    @override
    def name(self) -> str:
        return "<TensorMemory>"


TENSOR = TensorMemory()


def memory_of(type: Attribute) -> Resource:
    """The memory of a value of `type`."""
    if not isinstance(type, MemDescType):
        return GLOBAL
    return TENSOR if isinstance(type.memory_space, TensorMemorySpace) else SHARED


def _values(op: Operation, names: tuple[str, ...]) -> Iterator[SSAValue]:
    """The operands of `op` called `names`; variadic ones contribute all, absent ones nothing."""
    for name in names:
        found: Any = getattr(op, name)
        if isinstance(found, SSAValue):
            yield found
        elif found is not None:
            yield from cast("tuple[SSAValue, ...]", found)


def _effects(kind: MemoryEffectKind, op: Operation, names: tuple[str, ...]) -> set[EffectInstance]:
    return {EffectInstance(kind, value, memory_of(value.type)) for value in _values(op, names)}


@dataclass(frozen=True)
class AccessEffect(MemoryEffect):
    """The op reads and writes memory through the operands named, and nothing else."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    @override
    def get_effects(self, op: Operation) -> AbstractSet[EffectInstance]:
        read = _effects(MemoryEffectKind.READ, op, self.reads)
        return read | _effects(MemoryEffectKind.WRITE, op, self.writes)


@dataclass(frozen=True)
class ReadsBuffers(MemoryEffect):
    """The op reads those of the operands named that are memory descriptors, not tensors."""

    names: tuple[str, ...]

    @override
    def get_effects(self, op: Operation) -> AbstractSet[EffectInstance]:
        read = _effects(MemoryEffectKind.READ, op, self.names)
        return {effect for effect in read if effect.resource is not GLOBAL}


@dataclass(frozen=True)
class Accumulates(MemoryEffect):
    """A matrix instruction: reads its inputs, updates ``d``, signals ``barriers``.

    It reads the accumulator only if ``use_d`` may be true.
    """

    inputs: tuple[str, ...]

    @override
    def get_effects(self, op: Operation) -> AbstractSet[EffectInstance]:
        effects = _effects(MemoryEffectKind.READ, op, self.inputs)
        effects |= _effects(MemoryEffectKind.WRITE, op, ("d", "barriers"))
        uses = constant_value(next(_values(op, ("use_d",))))
        if not (isinstance(uses, IntegerAttr) and uses.value.data == 0):
            effects |= _effects(MemoryEffectKind.READ, op, ("d",))
        return effects


class TensorMemoryAllocation(MemoryEffect):
    """A new buffer, perhaps with contents: it may be dropped when unused, but never merged.

    Immutable memory equals other memory with the same contents, so allocating it is
    no effect until the buffer has an address.
    """

    @classmethod
    @override
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        buffer = op.results[0]
        is_mutable = isinstance(buffer.type, MemDescType) and buffer.type.mutable
        if not is_mutable and COLUMN_OFFSET not in op.attributes:
            return frozenset()
        effects = {EffectInstance(MemoryEffectKind.ALLOC, buffer, TENSOR)}
        if op.operands:
            effects.add(EffectInstance(MemoryEffectKind.WRITE, buffer, TENSOR))
        return effects
