"""Exchange between the lanes of a warp, by functions of ours."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from tilewright.dialects.simt.across import AllReduceOp
from tilewright.dialects.simt.target import warp_size_of
from tilewright.dialects.tile.lanes import ShuffleOp, WarpReduceOp
from tilewright.targets.cxx.emitter import Emitter, Rule, Text

_SHUFFLES: Mapping[str, str] = {
    "xor": "shuffle_xor",
    "up": "shuffle_up",
    "down": "shuffle_down",
    "idx": "shuffle_from",
}


def shuffle(emitter: Emitter, op: Operation) -> None:
    """The value of another lane."""
    assert isinstance(op, ShuffleOp)
    lanes = op.lanes(warp_size_of(op))
    arguments = [emitter.operand(op.value), emitter.operand(op.offset), str(lanes)]
    function = _SHUFFLES[op.mode.data]
    emitter.constant(op.result, Text(emitter.call(function, arguments)))


def _allreduce(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AllReduceOp)
    raise emitter.refusal("a reduction across threads was not lowered")


def _warp_reduce(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, WarpReduceOp)
    call = emitter.call(f"warp_{op.kind.data}", [emitter.operand(op.value)])
    emitter.constant(op.result, Text(call))


RULES: Mapping[str, Rule] = {
    "simt.allreduce": _allreduce,
    "tile.shuffle": shuffle,
    "tile.warp_reduce": _warp_reduce,
}
