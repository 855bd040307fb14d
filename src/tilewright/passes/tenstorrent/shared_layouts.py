"""One arrangement for a tensor that several launches of a chain use.

Each launch suggests the arrangement that suits its own accesses; the buffer on the device is the
same for all. Granules and the dimensions of tiles have to agree, and the largest reach counts. What
one launch writes and a later one reads stays on the device: the host does not pad it, so that it
has to fill its tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from xdsl.ir import Operation

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tensix.json_attr import Json
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import CopyOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import SHARD, get, put
from tilewright.passes.tenstorrent.block_shapes import name_of
from tilewright.passes.tenstorrent.buffer_uses import role_of
from tilewright.passes.tenstorrent.in_place import tensor_of
from tilewright.passes.tenstorrent.tensor_layouts import (
    NONE,
    TILE,
    TensorLayout,
    layout_from_data,
)

NOT_SHARED = "TW7014"


def unify_layouts(chain: Sequence[FuncOp], engine: DiagnosticEngine) -> None:
    """Give every tensor of a chain one arrangement, or report why it has none."""
    data = [list[dict[str, Any]](get(function, SHARD)) for function in chain]
    for position in range(len(data[0])):
        users = [n for n, entries in enumerate(data) if entries[position]]
        if len(users) < 2:
            continue
        layouts = [layout_from_data(data[n][position]) for n in users]
        problem = _difference(layouts)
        if problem is None:
            problem = _padding(position, [chain[n] for n in users], _largest(layouts))
        if problem is not None:
            function = chain[users[-1]]
            name = name_of(function.body.block.args[position])
            at = _first_copy(function, position) or function
            engine.error(at, f"'{name}' is used by {len(users)} launches: {problem}", NOT_SHARED)
            continue
        for n in users:
            memory = data[n][position]["memory"]
            data[n][position] = {**_largest(layouts).to_data(), "memory": memory}
    for function, entries in zip(chain, data, strict=True):
        put(function, SHARD, list[Json](entries))


def _largest(layouts: Sequence[TensorLayout]) -> TensorLayout:
    """The arrangement that all accesses reach."""
    rows, columns = (max(each.blocks[axis] for each in layouts) for axis in (0, 1))
    return replace(layouts[0], blocks=(rows, columns))


def _difference(layouts: Sequence[TensorLayout]) -> str | None:
    first = layouts[0]
    for other in layouts[1:]:
        if other.dims != first.dims:
            return (
                f"dimensions {first.dims[-2:]} and {other.dims[-2:]} form its tiles; transpose it "
                "in one of them"
            )
        is_same = (other.starts, other.limits) == (first.starts, first.limits)
        if other.granules != first.granules or not is_same:
            return (
                f"their blocks are cut at multiples of {first.granules[0]} x {first.granules[1]} "
                f"and of {other.granules[0]} x {other.granules[1]} elements; use block sizes that "
                f"are multiples of {TILE}"
            )
    return None


def _padding(position: int, functions: Sequence[FuncOp], layout: TensorLayout) -> str | None:
    """Why a launch may not read what another one wrote."""
    writers = [n for n, each in enumerate(functions) if _roles(each, position) & {Role.WRITER}]
    readers = [n for n, each in enumerate(functions) if _roles(each, position) & {Role.READER}]
    if not any(reader > writer for reader in readers for writer in writers):
        return None
    extents = [1 if dim == NONE else layout.shape[dim] for dim in layout.dims[-2:]]
    padded = list(layout.padded[-2:])
    if extents == padded:
        return None
    return (
        f"one writes and another reads it, and its {extents[0]} x {extents[1]} elements are "
        f"{padded[0]} x {padded[1]} with the padding to tiles and blocks, which the host would "
        f"have to clear in between; use sizes that are multiples of {TILE} and of the blocks, or "
        "two kernels"
    )


def _roles(function: FuncOp, position: int) -> set[Role]:
    tensor = function.body.block.args[position]
    return {role_of(op) for op in walk(function) if tensor_of(op) is tensor}


def _first_copy(function: FuncOp, position: int) -> Operation | None:
    tensor = function.body.block.args[position]
    return next(
        (op for op in walk(function) if isinstance(op, CopyOp) and tensor_of(op) is tensor), None
    )
