"""Whether exchanges between lanes fit the warps of the target; a part of `check-launch`.

    tile.shuffle up %x, %c1 width 64 : f32     a warp of 32 lanes has no group of 64
    tile.vote ballot %p : i32                  a wave of 64 lanes has more votes than bits

Both are decided by the number of lanes, which differs between GPUs: NVIDIA's warps have 32, AMD's
waves 32 or 64.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tilewright.dialects.simt.target import warp_size_of
from tilewright.dialects.tile.lanes import ShuffleOp, VoteOp
from tilewright.dialects.type_utils import bit_width
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.arch import arch_name

DOES_NOT_FIT = "TW6016"


def check_warp_ops(kernel: Operation, engine: DiagnosticEngine) -> None:
    """Report shuffles and ballots that the warps of the target cannot do."""
    for op in walk(kernel):
        if isinstance(op, ShuffleOp):
            _check_shuffle(op, engine)
        elif isinstance(op, VoteOp) and op.mode.data == "ballot":
            _check_ballot(op, engine)


def _check_shuffle(op: ShuffleOp, engine: DiagnosticEngine) -> None:
    lanes = warp_size_of(op)
    width = op.lanes(lanes)
    if width <= lanes:
        return
    diagnostic = engine.error(
        op,
        f"shuffle too wide: {width} lanes, but a warp of {arch_name(op)} has {lanes}",
        DOES_NOT_FIT,
    )
    diagnostic.note(None, f"help: use width={lanes}, or a GPU whose warps have {width} lanes")


def _check_ballot(op: VoteOp, engine: DiagnosticEngine) -> None:
    lanes, bits = op.lanes(warp_size_of(op)), bit_width(op.result.type)
    if lanes <= bits:
        return
    diagnostic = engine.error(
        op,
        f"ballot too narrow: {bits} bits, but a wave of {arch_name(op)} has {lanes} lanes",
        DOES_NOT_FIT,
    )
    diagnostic.note(
        None, f'help: use T.ballot(predicate, dtype="uint{lanes}"), or the ballot of 32 threads'
    )
