"""The state of one raising: what exists already in the new function."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.analysis.raising.plan import RaisePlan
from tilewright.analysis.raising.slots import Slot
from tilewright.dialects.tile import AllocOp, Space, space_attr
from tilewright.passes.raising.builder import Builder
from tilewright.passes.raising.groups import Group
from tilewright.passes.raising.host import Bases
from tilewright.passes.raising.symbols import Symbols


@dataclass(frozen=True)
class BufferPart:
    """A buffer of tasks, or a part of it."""

    buffer: SSAValue
    index: SSAValue | None = None
    """Of a barrier, among those of the buffer."""
    is_transposed: bool = False


@dataclass
class Raising:
    """A kernel on its way to tiles."""

    plan: RaisePlan
    at: Builder
    """Where code of the block goes."""
    top: Builder
    """The start of the kernel, where buffers are allocated."""
    scalars: dict[SSAValue, SSAValue]
    """Scalars of the old function, in the new one."""
    bases: Bases
    """The flat memory of pointers."""
    views: dict[int, SSAValue]
    """The tensors that pointers mean, by their index in the plan."""
    symbols: Symbols
    missing_views: list[int] = field(default_factory=list[int])
    """Views that the kernel makes, and has not made yet."""
    missing_bases: list[tuple[SSAValue, Attribute]] = field(
        default_factory=list[tuple[SSAValue, Attribute]]
    )
    """Addresses that are integers, not computed yet, and the elements there."""
    group: Group = field(default_factory=Group)
    memory: dict[Slot, SSAValue] = field(default_factory=dict[Slot, SSAValue])
    parts: dict[SSAValue, BufferPart] = field(default_factory=dict[SSAValue, BufferPart])
    """Buffers that the user allocated, and parts of them."""
    names: dict[str, int] = field(default_factory=dict[str, int])

    def scalar(self, value: SSAValue) -> SSAValue:
        return self.scalars[value]

    def slot(self, value: SSAValue) -> Slot | None:
        return self.plan.slots.of.get(value)

    def buffer(self, slot: Slot) -> SSAValue:
        """The buffer of a slot; allocated when first needed."""
        slot = slot.memory
        found = self.memory.get(slot)
        if found is None:
            found = self.memory[slot] = self.allocate(slot)
        return found

    def allocate(self, slot: Slot) -> SSAValue:
        shape = slot.shape[::-1] if slot.is_transposed else slot.shape
        space = space_attr(Space.SHARED if slot.is_shared else Space.FRAGMENT)
        type = MemRefType(slot.element, shape, memory_space=space)
        name = self.fresh(slot.name)
        return self.top.value(AllocOp(type, name=name), name)

    def fresh(self, name: str) -> str:
        count = self.names.get(name, 0)
        self.names[name] = count + 1
        return name if count == 0 else f"{name}_{count}"

    def move_to(self, at: Builder) -> Builder:
        """Write code somewhere else; returns the builder before."""
        before, self.at = self.at, at
        return before

    def on_behalf_of(self, op: Operation) -> None:
        """New ops have the location of `op`."""
        self.at.origin = op
