"""What is known of a retained panel: the annotation ``tt.retained`` on its buffer.

A retained panel stays in its circular buffer while consecutive blocks of a core need the same data:
the reader loads it in the first block of such a run, compute releases it in the last. In between
nothing is pushed and nothing popped, so a step of the panel is addressed by its position in it.

    for k { wait a, (k + 1) * tiles ; math on tiles k * tiles + t }   ...   if last { pop a, panel }
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.scf import IfOp
from tilewright.dialects.tile import AllocOp
from tilewright.passes.tenstorrent.annotations import get, put
from tilewright.passes.tenstorrent.buffer_uses import alloc_of

RETAINED = "tt.retained"


@dataclass(frozen=True)
class RetainedPanel:
    """One panel: the contents that the loads of one block write."""

    tensor: str
    axes: tuple[str, ...]
    """The block indices that the panel depends on, of ``x``, ``y``, ``z``."""
    loops: int
    """Loops around the load, inside the loop over blocks; all their bounds are constants."""
    steps: int
    """Loads of a block: the trip counts of the loops, multiplied."""
    tiles: int
    """Pages of one load."""
    copies: int
    """Panels that the circular buffer has space for."""
    loads: int
    """Panels that all cores together load."""
    blocks: int
    """Blocks of all cores, ghost steps included: the loads if nothing were retained."""

    @property
    def pages(self) -> int:
        """Pages of the panel."""
        return self.steps * self.tiles

    @property
    def saved_page_reads(self) -> int:
        return (self.blocks - self.loads) * self.pages


def keep(alloc: AllocOp, panel: RetainedPanel) -> None:
    put(alloc, RETAINED, {**asdict(panel), "axes": list(panel.axes)})


def retained_panel(buffer: SSAValue) -> RetainedPanel | None:
    """The panel of a buffer whose contents stay; None for one that is loaded in every block."""
    data: dict[str, Any] | None = get(alloc_of(buffer), RETAINED)
    if data is None:
        return None
    fields: dict[str, Any] = {**data, "axes": tuple(data["axes"])}
    return RetainedPanel(**fields)


def is_retained(buffer: SSAValue) -> bool:
    owner = buffer.owner
    return isinstance(owner, AllocOp) and RETAINED in owner.attributes


def loop_of_load(load: Operation, buffer: SSAValue) -> Operation | None:
    """The loop or program around the load of a buffer; the condition of a panel is passed."""
    parent = load.parent_op()
    return parent.parent_op() if isinstance(parent, IfOp) and is_retained(buffer) else parent
