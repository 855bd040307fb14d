"""Copies to LDS that the hardware cannot make without registers go through registers.

AMD's direct copies move a fixed number of bytes a lane (gfx942: 4, gfx950: 4 or 16), and a wave
writes consecutive bytes. Where addresses, mask or the layout of the buffer do not allow that, the
copy becomes a load and a store to LDS. The groups that the kernel commits and waits for then wait
for nothing, which is right: the data is there already. A remark reports what was not proved. Copies
that remain are marked with the elements of a lane, by which their addresses get a layout.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32

from tilewright.analysis.axis_info import solve_axis_info
from tilewright.dialects.amdg import BufferLoadOp, BufferLoadToLocalOp
from tilewright.dialects.tt import LoadOp
from tilewright.dialects.ttg import AsyncCopyGlobalToLocalOp, LocalStoreOp
from tilewright.dialects.ttg.context import num_warps_at, threads_per_warp_at
from tilewright.dialects.type_utils import bit_width
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import CHIPS
from tilewright.passes.ttg.amd.direct_copies import (
    DIRECT,
    DirectCopy,
    buffer_of,
    destination,
    direct_elements,
    offset_bases,
    proved_bytes,
)
from tilewright.passes.ttg.load_narrow_copies import forget_token

STAGED = "TW3051"


@dataclass(frozen=True)
class StageNarrowCopies(Pass):
    """Replace copies to LDS that the GPU cannot make directly by loads and stores."""

    name = "stage-narrow-copies"

    arch: str = "gfx942"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        copies = [op for op in walk(module) if isinstance(op, DirectCopy)]
        if not copies:
            return
        chip = CHIPS.get(self.arch)
        axis_info = solve_axis_info(module)
        rewriter = Rewriter()
        for op in copies:
            lanes = threads_per_warp_at(op)
            threads = (num_warps_at(op) or 4) * lanes
            count = 0 if chip is None else direct_elements(op, chip, threads, lanes, axis_info)
            if count:
                op.attributes[DIRECT] = IntegerAttr(count, i32)
                op.properties["contiguity"] = IntegerAttr(count, i32)
                continue
            bases = offset_bases(destination(op))
            proved = 0 if bases is None else proved_bytes(op, bases, axis_info)
            sizes = () if chip is None else chip.direct_copy_bytes
            if not forget_token(op.token):
                engine.error(
                    op,
                    f"copy to LDS not possible on {self.arch}: its token is used outside of a "
                    "group; pass it to async_load_commit_group only",
                    STAGED,
                )
                continue
            _through_registers(op, rewriter)
            bits = bit_width(destination(op).element_type)
            engine.remark(
                op,
                f"direct copy to LDS not used: {_sizes(sizes)} a lane needed, {proved} proved "
                f"({bits}-bit elements); the copy goes through registers",
                STAGED,
            )


def _sizes(sizes: tuple[int, ...]) -> str:
    powers = [str(size) for size in sizes if not size & (size - 1)]
    return f"{' or '.join(powers)} bytes" if powers else "a chip that has it"


def _through_registers(op: DirectCopy, rewriter: Rewriter) -> None:
    if isinstance(op, AsyncCopyGlobalToLocalOp):
        load = LoadOp(op.src, op.mask, op.other, policy=op.policy)
    else:
        assert isinstance(op, BufferLoadToLocalOp)
        load = BufferLoadOp(
            op.ptr,
            op.offsets,
            op.mask,
            op.other,
            stride=op.stride,
            policy=op.policy,
            contiguity=op.contiguity.value.data,
        )
    rewriter.insert_before(op, [load, LocalStoreOp(load.result, buffer_of(op))])
    rewriter.erase(op)
