"""Mutants of Tensix kernels: one synchronisation or configuration op dropped, moved or changed.

drop      circular-buffer calls, barriers, inits, start-up, DST steps
move      the same, one op earlier or later in their block
change    page counts by one, tile indices and DST slots by one
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation

from tilewright.dialects.arith.constant import ConstantOp
from tilewright.dialects.tensix import buffers, config, math, noc, sfpu
from tilewright.dialects.tensix.program import KernelOp

SYNCHRONISATION = (
    buffers.CBCountOp,
    config.SectionOp,
    config.InitOp,
    config.HwStartupOp,
    config.ReconfigOp,
    config.PackReconfigOp,
    noc.NocBarrierOp,
    noc.SemSetOp,
    noc.SemIncOp,
    noc.SemWaitOp,
)

CHANGED: Mapping[type[Operation], tuple[str, ...]] = {
    buffers.CBReserveOp: ("pages",),
    buffers.CBPushOp: ("pages",),
    buffers.CBWaitOp: ("pages",),
    buffers.CBPopOp: ("pages",),
    math.MatmulTileOp: ("index0", "index1", "dst"),
    math.MatmulBlockOp: ("index0", "index1", "dst"),
    math.BinaryOp: ("index0", "index1", "dst"),
    math.BcastOp: ("index0", "index1", "dst"),
    math.ReduceOp: ("index0", "index1", "dst"),
    math.CopyTileOp: ("index", "dst"),
    sfpu.UnaryOp: ("dst",),
    sfpu.PackOp: ("dst",),
}


def mutants(
    kernels: Mapping[str, KernelOp], step: int = 1
) -> Iterator[tuple[str, dict[str, KernelOp]]]:
    """Every `step`-th mutant of a program, each with a name; the kernels are copies."""
    count = 0
    for role, kernel in kernels.items():
        for position, op in enumerate(kernel.walk()):
            for kind in _kinds(op):
                count += 1
                if count % step:
                    continue
                copy = kernel.clone()
                target = list(copy.walk())[position]
                if _apply(target, kind):
                    yield f"{role} {position} {op.name} {kind}", {**kernels, role: copy}


def _kinds(op: Operation) -> Iterator[str]:
    if isinstance(op, SYNCHRONISATION):
        yield from ("drop", "earlier", "later")
    for name in CHANGED.get(type(op), ()):
        yield from (f"{name} + 1", f"{name} - 1")


def _apply(op: Operation, kind: str) -> bool:
    """Change one op; False if the change is not possible or changes nothing."""
    if kind == "drop":
        op.detach()
        op.erase()
        return True
    if kind in ("earlier", "later"):
        return _move(op, earlier=kind == "earlier")
    name, sign, _ = kind.split(" ")
    block = op.parent
    assert block is not None
    value = getattr(op, name)
    found = _constant(value)
    if found is None or found + (1 if sign == "+" else -1) < 0:
        return False
    more = found + (1 if sign == "+" else -1)
    constant = ConstantOp(IntegerAttr(more, IndexType()))
    block.insert_op_before(constant, op)
    names = [each for each, _ in op.get_irdl_definition().operands]
    op.operands[names.index(name)] = constant.results[0]
    return True


def _constant(value) -> int | None:
    owner = value.owner
    if isinstance(owner, ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def _move(op: Operation, *, earlier: bool) -> bool:
    block = op.parent
    other = op.prev_op if earlier else op.next_op
    if block is None or other is None or other.next_op is None:
        return False
    if earlier and any(operand.owner is other for operand in op.operands):
        return False
    if any(operand.owner is op for operand in other.operands):
        return False
    op.detach()
    if earlier:
        block.insert_op_before(op, other)
    else:
        block.insert_op_after(op, other)
    return True
