"""Mutants of the multicast protocol: one op of a reader dropped, moved, or with another operand.

drop         calls of semaphores and circular buffers, multicasts, barriers, reads
move         the same, before or after the adjacent call
count        page counts, semaphore values, destinations, bytes, by one
semaphore    another semaphore of the kernel
rectangle    one corner only, or the rectangle of another operand
core         the sender of another operand
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue

from tilewright.ir.interfaces import constant_integer
from tilewright.dialects.arith import AddiOp, ConstantOp, SubiOp
from tilewright.dialects.tensix import buffers, noc
from tilewright.dialects.tensix.arguments import ArgOp
from tilewright.dialects.tensix.program import KernelOp

PROTOCOL = (
    buffers.CBReserveOp,
    buffers.CBPushOp,
    noc.SemSetOp,
    noc.SemIncOp,
    noc.SemWaitOp,
    noc.McastOp,
    noc.SemMcastOp,
    noc.NocBarrierOp,
    noc.NocReadTileOp,
)
COUNTS: Mapping[type[Operation], tuple[str, ...]] = {
    buffers.CBReserveOp: ("pages",),
    buffers.CBPushOp: ("pages",),
    noc.SemSetOp: ("value",),
    noc.SemIncOp: ("value",),
    noc.SemWaitOp: ("value",),
    noc.McastOp: ("dests", "bytes"),
    noc.SemMcastOp: ("dests",),
}
PAGE_BYTES = 2048


@dataclass(frozen=True)
class ProtocolMutant:
    """One mutant: the kernel that it changes, which op, and how."""

    kernel: str
    position: int
    op: str
    kind: str
    """The class of the change, for a table."""
    change: str
    kernels: Mapping[str, KernelOp]
    original: Operation
    exchanged: str | None = None
    """The op that a moved one is exchanged with."""

    def __str__(self) -> str:
        return f"{self.kernel} {self.position} {self.op}: {self.change}"

    @property
    def is_outermost(self) -> bool:
        """Whether the op is outside of all loops."""
        return isinstance(self.original.parent_op(), KernelOp)


def protocol_mutants(kernels: Mapping[str, KernelOp]) -> Iterator[ProtocolMutant]:
    """Every mutant of the readers of a program; the kernels are copies."""
    for name, kernel in kernels.items():
        if not any(isinstance(op, (noc.SemIncOp, noc.McastOp)) for op in kernel.walk()):
            continue
        for position, op in enumerate(kernel.walk()):
            if not isinstance(op, PROTOCOL):
                continue
            for kind, change in _changes(op):
                copy = kernel.clone()
                target = list(copy.walk())[position]
                other = _adjacent(target, change) if kind == "move" else None
                exchanged = None if other is None else name_of(other)
                if _apply(target, change):
                    changed = {**kernels, name: copy}
                    yield ProtocolMutant(
                        name, position, name_of(op), kind, change, changed, op, exchanged
                    )


def name_of(op: Operation) -> str:
    """The name of an op without its dialect; of a barrier with its kind."""
    name = op.name.removeprefix("tensix.")
    return f"{op.kind.data} barrier" if isinstance(op, noc.NocBarrierOp) else name


def _changes(op: Operation) -> Iterator[tuple[str, str]]:
    yield "drop", "drop"
    yield "move", "move earlier"
    yield "move", "move later"
    for name in COUNTS.get(type(op), ()):
        yield "count", f"{name} + 1"
        yield "count", f"{name} - 1"
    if isinstance(op, (noc.SemSetOp, noc.SemIncOp, noc.SemWaitOp, noc.SemMcastOp)):
        for index in range(3):
            yield "semaphore", f"other semaphore {index}"
    if isinstance(op, (noc.McastOp, noc.SemMcastOp)):
        # Rectangles are one core high or wide: the other axis would change nothing.
        axis = "x" if _operand(op).startswith("A") else "y"
        yield "rectangle", f"{axis}_end = {axis}_start"
        yield "rectangle", "rectangle of another operand"
    if isinstance(op, noc.SemIncOp):
        yield "core", "core of another operand"


def _apply(op: Operation, change: str) -> bool:
    """Change one op; False if the change is not possible or changes nothing."""
    if change == "drop":
        op.detach()
        op.erase()
        return True
    if change.startswith("move"):
        return _move(op, change)
    if change.startswith("other semaphore"):
        return _other_semaphore(op, int(change[-1]))
    if "another operand" in change:
        return _other_operand(op)
    if "=" in change:
        to, _, source = change.partition(" = ")
        return _replace(op, to, getattr(op, source))
    name, sign, _ = change.split(" ")
    return _count(op, name, sign)


def _operand(op: noc.McastOp | noc.SemMcastOp) -> str:
    """The operand of a rectangle, from the name of its argument."""
    owner = op.x_start.owner
    assert isinstance(owner, ArgOp) and owner.label is not None
    return owner.label.data


def _names(op: Operation) -> list[str]:
    return [each for each, _ in op.get_irdl_definition().operands]


def _replace(op: Operation, name: str, value: SSAValue) -> bool:
    if getattr(op, name) is value:
        return False
    op.operands[_names(op).index(name)] = value
    return True


def _count(op: Operation, name: str, sign: str) -> bool:
    value: SSAValue = getattr(op, name)
    unit = PAGE_BYTES if name == "bytes" else 1
    known = constant_integer(value)
    if sign == "-" and known is not None and known < unit:
        return False
    constant = ConstantOp.of(unit, IndexType())
    made = (AddiOp if sign == "+" else SubiOp)(value, constant.results[0])
    block = op.parent
    assert block is not None
    block.insert_ops_before([constant, made], op)
    return _replace(op, name, made.results[0])


def _semaphores(op: Operation) -> list[SSAValue]:
    kernel = op
    while not isinstance(kernel, KernelOp):
        parent = kernel.parent_op()
        assert parent is not None
        kernel = parent
    return [each.result for each in kernel.walk() if isinstance(each, noc.SemOp)]


def _other_semaphore(op: Operation, index: int) -> bool:
    others = [each for each in _semaphores(op) if each not in op.operands]
    return index < len(others) and _replace(op, "sem", others[index])


def _other_operand(op: Operation) -> bool:
    """The rectangle or the core of the same kind of op for another operand."""
    kernel = op.parent_op()
    while kernel is not None and not isinstance(kernel, KernelOp):
        kernel = kernel.parent_op()
    assert kernel is not None
    names = ("x", "y") if isinstance(op, noc.SemIncOp) else ("x_start", "y_start", "x_end", "y_end")
    for other in kernel.walk():
        if type(other) is type(op) and getattr(other, names[0]) is not getattr(op, names[0]):
            for name in names:
                _replace(op, name, getattr(other, name))
            return True
    return False


def _adjacent(op: Operation, change: str) -> Operation | None:
    """The adjacent call of the protocol, or a loop; None if what is between depends on it."""
    earlier = change.endswith("earlier")
    other = op.prev_op if earlier else op.next_op
    while other is not None and not isinstance(other, PROTOCOL) and not other.regions:
        if _uses(op, other) if earlier else _uses(other, op):
            return None
        other = other.prev_op if earlier else other.next_op
    return None if other is None or other.next_op is None else other


def _move(op: Operation, change: str) -> bool:
    """Exchange an op and the adjacent call of the protocol, over index arithmetic between them."""
    other = _adjacent(op, change)
    block = op.parent
    if other is None or block is None:
        return False
    op.detach()
    if change.endswith("earlier"):
        block.insert_op_before(op, other)
    else:
        block.insert_op_after(op, other)
    return True


def _uses(op: Operation, other: Operation) -> bool:
    inner = [op, *op.walk()]
    return any(operand.owner is other for each in inner for operand in each.operands)
