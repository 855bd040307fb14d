"""What ops do to shared memory.

``AccessEffect`` names the operands through which an op reads, writes or frees a buffer; effects
that go through different buffers are distinguished by later stages::

    traits = ttg_traits(AccessEffect(reads=("src",)))
"""

# pyright: reportIncompatibleMethodOverride=false
# xDSL declares `get_effects` as a class method; a trait here carries the names of operands.

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from typing_extensions import override
from xdsl.ir import Operation, SSAValue
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Resource

from tilewright.dialects.tt.traits import GlobalMemory
from tilewright.dialects.ttg.types import MemDescType

ALLOCATION_OFFSET = "allocation.offset"


@dataclass(frozen=True)
class SharedMemory(Resource):
    """The memory of one CTA."""

    @override
    def name(self) -> str:
        return "<SharedMemory>"


SHARED = SharedMemory()
GLOBAL = GlobalMemory()


@dataclass(frozen=True)
class AccessEffect(MemoryEffect):
    """Accesses to shared memory through the operands named, and none else."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    frees: tuple[str, ...] = ()

    @override
    def get_effects(self, op: Operation) -> AbstractSet[EffectInstance]:
        kinds = (
            (MemoryEffectKind.READ, self.reads),
            (MemoryEffectKind.WRITE, self.writes),
            (MemoryEffectKind.FREE, self.frees),
        )
        effects: set[EffectInstance] = set()
        for kind, names in kinds:
            for name in names:
                value: object = getattr(op, name)
                if isinstance(value, SSAValue):
                    effects.add(EffectInstance(kind, value, SHARED))
        return effects


class LocalAllocation(MemoryEffect):
    """A new buffer, perhaps with contents.

    Immutable memory equals other memory with the same contents, so allocating it is
    no effect until the buffer has an address.
    """

    @classmethod
    @override
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        buffer = op.results[0]
        mutable = isinstance(buffer.type, MemDescType) and buffer.type.mutable
        if not mutable and ALLOCATION_OFFSET not in op.attributes:
            return frozenset()
        effects = {EffectInstance(MemoryEffectKind.ALLOC, buffer, SHARED)}
        if op.operands:
            effects.add(EffectInstance(MemoryEffectKind.WRITE, buffer, SHARED))
        return effects


class GlobalAllocation(MemoryEffect):
    """The result is fresh global memory."""

    @classmethod
    @override
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.ALLOC, op.results[0], GLOBAL)}


class GlobalToShared(MemoryEffect):
    """Reads global memory through the first operand and writes the buffer of the second."""

    @classmethod
    @override
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {
            EffectInstance(MemoryEffectKind.READ, op.operands[0], GLOBAL),
            EffectInstance(MemoryEffectKind.WRITE, op.operands[1], SHARED),
        }


class ReadsAndWritesAnything(MemoryEffect):
    """Neither moves nor disappears: a clock, code of unknown effect."""

    @classmethod
    @override
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        kinds = (MemoryEffectKind.READ, MemoryEffectKind.WRITE)
        return {EffectInstance(kind) for kind in kinds}
