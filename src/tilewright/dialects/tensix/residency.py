"""The part of a plan with the operands that stay in L1 from one block to the next.

``residency`` in ``tt.plan.json`` is null where every block loads all it needs. Otherwise

    mode        ``auto`` or ``on``
    panels[]    what stays: {tensor, buffer, cb, axes, pages, copies, loads, blocks,
                saved_page_reads}. A panel of `pages` pages depends on the block indices `axes` and
                is loaded `loads` times by all cores together for their `blocks` blocks.
    streamed[]  what could stay by its address and is loaded in every block, with the reason:
                {tensor, buffer, pages, saved_page_reads, reason}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilewright.dialects.tensix.json_attr import Json


@dataclass(frozen=True)
class PanelPlan:
    """A panel that stays in its circular buffer while consecutive blocks need it."""

    tensor: str
    buffer: str
    cb: int
    axes: tuple[str, ...]
    """The block indices that decide about its contents: ``x``, ``y``, ``z``."""
    pages: int
    copies: int
    """Panels that the circular buffer has space for."""
    loads: int
    """Panels that all cores together load."""
    blocks: int
    """Blocks of all cores, ghost steps included: the loads if every block loaded its own."""

    @property
    def saved_page_reads(self) -> int:
        return (self.blocks - self.loads) * self.pages


@dataclass(frozen=True)
class StreamedPlan:
    """An operand that is loaded in every block."""

    tensor: str
    buffer: str
    pages: int
    """Pages that a block loads."""
    saved_page_reads: int
    """What keeping it would save."""
    reason: str


@dataclass(frozen=True)
class Residency:
    """What stays in L1 over several blocks of a core, and what does not."""

    mode: str
    panels: tuple[PanelPlan, ...]
    streamed: tuple[StreamedPlan, ...]


def residency_data(residency: Residency) -> dict[str, Json]:
    """The entry of the plan file."""
    return {
        "mode": residency.mode,
        "panels": [
            {
                "tensor": each.tensor,
                "buffer": each.buffer,
                "cb": each.cb,
                "axes": list(each.axes),
                "pages": each.pages,
                "copies": each.copies,
                "loads": each.loads,
                "blocks": each.blocks,
                "saved_page_reads": each.saved_page_reads,
            }
            for each in residency.panels
        ],
        "streamed": [
            {
                "tensor": each.tensor,
                "buffer": each.buffer,
                "pages": each.pages,
                "saved_page_reads": each.saved_page_reads,
                "reason": each.reason,
            }
            for each in residency.streamed
        ],
    }


def residency_of(data: Mapping[str, Any]) -> Residency:
    """The entry of a parsed plan file."""
    return Residency(
        data["mode"],
        tuple(_panel(each) for each in data["panels"]),
        tuple(StreamedPlan(**each) for each in data["streamed"]),
    )


def _panel(data: Mapping[str, Any]) -> PanelPlan:
    fields: dict[str, Any] = {
        name: value for name, value in data.items() if name != "saved_page_reads"
    }
    fields["axes"] = tuple(data["axes"])
    return PanelPlan(**fields)
