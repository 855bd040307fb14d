"""What is known of the circular buffer of an on-chip buffer: the annotation ``tt.cb``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from xdsl.ir import SSAValue

from tilewright.dialects.tensix.formats import Format, format_of
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import AllocOp
from tilewright.dialects.type_utils import element_type_of
from tilewright.passes.tenstorrent.annotations import get, put
from tilewright.passes.tenstorrent.buffer_uses import alloc_of

CB = "tt.cb"
CONSTANT = "tt.constant"
"""What a buffer of known contents holds: ``scaler`` or ``zero``."""
K_LOOP = "tt.k_loop"
"""The plan of a K loop."""


@dataclass(frozen=True)
class BufferPlan:
    """One circular buffer."""

    index: int
    pages: int
    tiles: int
    """Pages of one version of the contents."""
    producer: str
    consumer: str
    chunk: int
    """Pages of one push."""
    subblock: tuple[int, int]
    """The tiles of a push, rows and columns: the order in which the pages are stored."""
    transposed: bool = False
    """Whether pages are stored column by column."""
    tensor: str = ""
    """The tensor whose shard the pages are; empty for a buffer of its own."""
    row_pages: int = 0
    """Pages from a row of tiles of the shard to the next."""

    @property
    def is_in_place(self) -> bool:
        """Whether the pages are a shard, in which ops index tiles."""
        return bool(self.tensor)

    @property
    def role(self) -> Role:
        """The kernel that releases the contents."""
        return Role(self.consumer)


def set_plan(alloc: AllocOp, plan: BufferPlan) -> None:
    data = {**asdict(plan), "subblock": list(plan.subblock)}
    if not plan.is_in_place:
        del data["tensor"], data["row_pages"]
    put(alloc, CB, data)


def plan_of(buffer: SSAValue) -> BufferPlan | None:
    """The circular buffer of a buffer; None for an accumulator in DST."""
    data: dict[str, Any] | None = get(alloc_of(buffer), CB)
    if data is None:
        return None
    fields: dict[str, Any] = {**data, "subblock": (data["subblock"][0], data["subblock"][1])}
    return BufferPlan(**fields)


def needed_plan(buffer: SSAValue) -> BufferPlan:
    found = plan_of(buffer)
    assert found is not None, buffer
    return found


def format_of_buffer(buffer: SSAValue) -> Format:
    found = format_of(element_type_of(buffer.type))
    assert found is not None, buffer.type
    return found
