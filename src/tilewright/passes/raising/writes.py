"""Work that writes memory: for every element of a tensor, or once a program for a scalar."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.raising.slots import Slot
from tilewright.analysis.raising.views import memory_of
from tilewright.dialects.type_utils import is_tensor, shape_of
from tilewright.passes.raising.expressions import Point
from tilewright.passes.raising.groups import Work, submit
from tilewright.passes.raising.moves import accesses_of
from tilewright.passes.raising.state import Raising


def _shape(value: SSAValue) -> tuple[int, ...]:
    """The elements of an access; a scalar is accessed once a program."""
    return shape_of(value.type) if is_tensor(value.type) else (1,)


def write(
    state: Raising,
    op: Operation,
    value: SSAValue,
    make: Callable[[Point, tuple[SSAValue, ...]], None],
    writes: tuple[Slot, ...] = (),
    defines: tuple[SSAValue, ...] = (),
) -> None:
    """Submit `make` for the elements that `op` writes."""
    is_whole = is_tensor(value.type)

    def run(point: Point, indices: tuple[SSAValue, ...]) -> None:
        make(point, indices if is_whole else ())

    reads, loads = accesses_of(state, [(operand, False) for operand in op.operands])
    base = memory_of(state.plan.accesses[op].base)
    stores = ((base, op.operands[0]),)
    submit(state, Work(op, _shape(value), run, reads, writes, defines, loads, stores))
