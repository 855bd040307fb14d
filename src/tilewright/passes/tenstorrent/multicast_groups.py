"""Cores that load the same pages, as rectangles with one sender each.

The cores that read the same pages of an operand in the same iterations form a class; a class is
covered with rectangles, and a rectangle of two cores or more becomes a group. Its first core reads
from DRAM and sends to the others. All cores run the same program, so its multicasts have the same
order on all of them, and the first one that is not complete can always proceed: no deadlock.

The write pointers of the circular buffer have to be equal on all members: what is compared is
therefore every load into that buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tensix.multicast import (
    Core,
    Multicast,
    MulticastGroup,
    SemaphorePlan,
    groups_of,
)
from tilewright.dialects.tensix.plan import Assignment
from tilewright.dialects.tensix.program import CoreProgramOp
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import CopyOp
from tilewright.dialects.tile.access import base_of
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import MULTICAST, MULTICAST_GROUPS, get
from tilewright.passes.tenstorrent.assignments import rectangles
from tilewright.passes.tenstorrent.block_ops import buffer_tiles
from tilewright.passes.tenstorrent.block_shapes import name_of
from tilewright.passes.tenstorrent.buffer_uses import role_of
from tilewright.passes.tenstorrent.in_place import is_in_place_copy
from tilewright.passes.tenstorrent.page_sequences import PageSequence, PageSequences

Rectangle = tuple[int, int, int, int]


@dataclass(frozen=True)
class SharedLoad:
    """A load, and the rectangles of cores that read the same pages of it."""

    load: CopyOp
    rectangles: tuple[Rectangle, ...]
    """Of two cores or more."""
    saved_pages: int
    """Page reads from DRAM that are not needed with a sender for each rectangle."""

    @property
    def pages(self) -> int:
        """Pages of one execution."""
        rows, columns = buffer_tiles(self.load.dst)
        return rows * columns


def loads_of(program: CoreProgramOp) -> list[CopyOp]:
    """The loads that a multicast may replace.

    Of tensors that the program does not write and that are not used in place.
    """
    copies = [op for op in walk(program) if isinstance(op, CopyOp)]
    written = {base_of(op.dst) for op in copies if role_of(op) is Role.WRITER}
    return [
        op
        for op in copies
        if role_of(op) is Role.READER
        and base_of(op.src) not in written
        and not is_in_place_copy(op)
    ]


class LoadedPages:
    """What all cores of a program load."""

    def __init__(self, program: CoreProgramOp, assignments: Sequence[Assignment]) -> None:
        self.loads = loads_of(program)
        self._sequences = PageSequences(program, self.loads)
        active = [core for core in assignments if core.count]
        self._found = {(core.x, core.y): self._sequences.of_core(core) for core in active}

    def executions(self, load: CopyOp) -> tuple[int, int]:
        """The executions of a load on the cores that have the fewest and the most of them."""
        if load not in self._sequences.loads:
            return 0, 0
        counts = [self._sequences.executions(each[load]) for each in self._found.values()]
        return min(counts), max(counts)

    def shared(self) -> tuple[SharedLoad, ...]:
        """The loads of which several cores read the same pages."""
        shared: list[SharedLoad] = []
        for load in self._sequences.loads:
            beside = [op for op in self.loads if op.dst is load.dst]
            if not all(op in self._sequences.loads for op in beside):
                continue
            classes: dict[tuple[PageSequence, ...], list[Core]] = {}
            for core, by_load in self._found.items():
                classes.setdefault(tuple(by_load[op] for op in beside), []).append(core)
            own = _shared(load, beside.index(load), classes, self._sequences)
            if own is not None:
                shared.append(own)
        return tuple(shared)


def _shared(
    load: CopyOp,
    position: int,
    classes: dict[tuple[PageSequence, ...], list[Core]],
    sequences: PageSequences,
) -> SharedLoad | None:
    rows, columns = buffer_tiles(load.dst)
    found: list[Rectangle] = []
    saved = 0
    for description, cores in classes.items():
        executions = sequences.executions(description[position])
        for each in covering(cores):
            receivers = (each[2] - each[0] + 1) * (each[3] - each[1] + 1) - 1
            if receivers and executions:
                found.append(each)
                saved += receivers * executions * rows * columns
    return SharedLoad(load, tuple(sorted(found, key=_order)), saved) if found else None


def _order(each: Rectangle) -> tuple[int, int]:
    return each[1], each[0]


def covering(cores: Sequence[Core]) -> tuple[Rectangle, ...]:
    """Few rectangles that cover `cores`: runs along rows or along columns first."""
    by_rows = rectangles(cores)
    turned = rectangles([(y, x) for x, y in cores])
    by_columns = tuple((x0, y0, x1, y1) for y0, x0, y1, x1 in turned)
    return min(by_rows, by_columns, key=len)


# -- groups ----------------------------------------------------------------------------------------


def operand_names(shared: Sequence[SharedLoad]) -> list[str]:
    """A name for each load: its tensor, with the buffer where a tensor is loaded twice."""
    tensors = [name_of(base_of(each.load.src)) for each in shared]
    names: list[str] = []
    for each, tensor in zip(shared, tensors, strict=True):
        name = tensor
        if tensors.count(tensor) > 1:
            name = f"{tensor}_{name_of(each.load.dst)}"
        count = 2
        while name in names:
            name, count = f"{tensor}_{count}", count + 1
        names.append(name)
    return names


def groups_of_load(
    shared: SharedLoad, operand: str, ready: int, valid: int
) -> tuple[MulticastGroup, ...]:
    """One group for each rectangle; the first core sends."""
    found: list[MulticastGroup] = []
    for x0, y0, x1, y1 in shared.rectangles:
        axis = "x" if y0 == y1 else "y" if x0 == x1 else "xy"
        # The sender is left out of the rectangle of a line; of others it cannot be.
        dests = (
            (x0 + 1, y0, x1, y1) if axis == "x" else (x0, y0 + 1, x1, y1) if axis == "y" else None
        )
        found.append(
            MulticastGroup(
                operand=operand,
                axis=axis,
                sender=(x0, y0),
                dests=dests or (x0, y0, x1, y1),
                num_dests=(x1 - x0 + 1) * (y1 - y0 + 1) - 1,
                ready_sem=ready,
                valid_sem=valid,
                pages_per_step=shared.pages,
            )
        )
    return tuple(found)


# -- annotations -----------------------------------------------------------------------------------


def multicast_of(function: FuncOp) -> Multicast | None:
    """The groups of a function and their semaphores; None without a group."""
    groups = groups_of(get(function, MULTICAST_GROUPS) or [])
    if not groups:
        return None
    names: dict[int, str] = {}
    for each in groups:
        names[each.ready_sem] = f"{each.operand}_ready"
        names[each.valid_sem] = f"{each.operand}_valid"
    return Multicast(
        groups, tuple(SemaphorePlan(index, names[index], 0) for index in sorted(names))
    )


def operand_of(load: CopyOp) -> str | None:
    """The operand of a load whose pages are multicast."""
    found = load.attributes.get(MULTICAST)
    return found.data if isinstance(found, StringAttr) else None
