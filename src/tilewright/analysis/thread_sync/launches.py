"""Which blocks of a kernel are analysed, and with which values for run-time arguments.

If nothing depends on the block index, one block represents all; otherwise the first and the last
one are analysed, since loops over a triangle or over the remaining tiles differ there, and one next
to the first where indices of shared memory grow with it (`origins.py`). Extents and other integer
arguments are all assumed to be the same value, each of `EXTENTS` in turn: so that loops have trip
counts of one, a few, and so many that every ring buffer wraps around. Elements of tensors grow with
their index, as the offsets of packed sequences do; where an index of shared memory grows with them,
a second run with zeros checks those accesses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.analysis.thread_sync.origins import Origin
from tilewright.analysis.thread_sync.run import SMALL, Launch, Program
from tilewright.analysis.thread_sync.state import Triple
from tilewright.analysis.thread_sync.values import Value, constant_of, function_of
from tilewright.dialects.simt.across import LaunchOp

EXTENTS = (896, 96, 1)


def launches_of(program: Program, host: LaunchOp | None) -> Iterator[Launch]:
    """The runs that a kernel is checked with."""
    integers = [
        argument
        for argument in program.function.body.block.args
        if argument in program.compiler.needed
        and isinstance(argument.type, IntegerType | IndexType)
    ]
    for extent in EXTENTS if integers else EXTENTS[:1]:
        arguments = {argument.index: _given(host, argument.index, extent) for argument in integers}
        grid = _grid(host, extent)
        is_made_up = bool(integers) or len({_grid(host, each) for each in EXTENTS}) > 1
        for index in _blocks(program, grid):
            yield Launch(index, grid, arguments, is_made_up)
            if Origin.TENSOR in program.compiler.followed:
                yield Launch(index, grid, arguments, is_made_up, elements_are_zero=True)


def _given(host: LaunchOp | None, index: int, extent: int) -> int:
    """An argument as the host computes it from extents."""
    found = None if host is None else _evaluated(host.arguments[index], extent, {})
    return found if isinstance(found, int) else extent


def _grid(host: LaunchOp | None, extent: int) -> Triple:
    if host is None:
        return 1, 1, 1
    known: dict[SSAValue, Value] = {}
    x, y, z = (_evaluated(each, extent, known) for each in host.grid)
    return x or 1, y or 1, z or 1


def _evaluated(value: SSAValue, extent: int, known: dict[SSAValue, Value]) -> Value:
    """An integer of the host, if its arguments and the extents of its tensors are `extent`."""
    if value not in known:
        known[value] = _compute(value, extent, known)
    return known[value]


def _compute(value: SSAValue, extent: int, known: dict[SSAValue, Value]) -> Value:
    if isinstance(value, BlockArgument):
        return extent
    op = value.owner
    assert isinstance(op, Operation)
    if op.name == "arith.constant":
        return constant_of(op)
    function = function_of(op)
    if function is None:
        return extent
    operands = [_evaluated(each, extent, known) for each in op.operands]
    return None if any(each is None for each in operands) else function(*operands)


def _blocks(program: Program, grid: Triple) -> list[Triple]:
    x, y, z = last = tuple(extent - 1 for extent in grid)
    if not program.needs("gpu.block_id") or not any(last):
        return [(0, 0, 0)]
    near = min(x, SMALL), min(y, SMALL), min(z, SMALL)
    is_followed = Origin.BLOCK in program.compiler.followed and near != last
    return [(x, y, z), *([near] if is_followed else []), (0, 0, 0)]


def describe(launch: Launch, arguments: Mapping[int, str]) -> str:
    """The block and the arguments of a run."""
    integers = {arguments[index]: value for index, value in (launch.arguments or {}).items()}
    given = ", ".join(f"{name} = {value}" for name, value in integers.items())
    where = f"block {launch.index} of {launch.grid}"
    return f"{where}, with {given}" if given else where
