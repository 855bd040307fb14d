"""How buffers, elements and threads are named in messages."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from tilewright.analysis.layout_inference.accesses import FragmentAccess
from tilewright.analysis.layout_inference.table import Table
from tilewright.dialects.tile import (
    AllocOp,
)
from tilewright.dialects.tile.reducers import ReducerAllocOp
from tilewright.layouts.diff import Assignment, Owners, Side, compare


def name_of(value: SSAValue) -> str:
    owner = value.owner
    is_named = isinstance(owner, (AllocOp, ReducerAllocOp))
    return owner.buffer_name if is_named else value.name_hint or "buffer"


def shown(point: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, point))})"


def some(threads: np.ndarray) -> str:
    listed = [int(each) for each in threads]
    if len(listed) == 1:
        return f"thread {listed[0]}"
    shown = ", ".join(map(str, listed[:3]))
    return f"threads {shown}{' ...' if len(listed) > 3 else ''}"


def owner_of(table: Table) -> Owners:
    """The owners of an element, in the form that diagrams take."""

    def owner(point: tuple[int, ...]) -> Assignment:
        return tuple(int(each) for each in table.owners[point]), int(table.registers[point])

    return owner


def access_diagram(
    table: Table, access: FragmentAccess, threads: np.ndarray, element: tuple[int, ...]
) -> str:
    """A diagram of the owners of the elements near one, and of the threads that access them."""
    name = name_of(access.buffer)

    def accessing(point: tuple[int, ...]) -> Assignment:
        is_here = np.logical_and.reduce(
            [each == at for each, at in zip(access.elements, point, strict=True)]
        )
        return tuple(int(each) for each in np.unique(threads[is_here])), 0

    what = "written by" if access.is_write else "read by"
    held = Side(f"'{name}' owned by", owner_of(table))
    return compare(table.shape, element, held, Side(f"{what}, here", accessing))
