"""Threads of a block and a wave: barriers, exchange, votes, lane numbers; assertions."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr
from xdsl.ir import Operation

from tilewright.dialects.amd.names import KEEPS_COPIES
from tilewright.dialects.gpu import AddressSpace, AddressSpaceAttr, BarrierOp
from tilewright.dialects.simt.target import warp_size_of
from tilewright.dialects.tile.hints import SyncOp
from tilewright.dialects.tile.lanes import ShuffleOp, VoteOp
from tilewright.ir.codes.shared import NO_SUCH_INSTRUCTION
from tilewright.ir.interfaces import constant_value
from tilewright.targets.cxx.emitter import Emitter, Rule, Text
from tilewright.targets.cxx.exchange import shuffle
from tilewright.targets.cxx.syntax import bracketed

_LDS = ArrayAttr([AddressSpaceAttr(AddressSpace.WORKGROUP)])


def _barrier(emitter: Emitter, op: Operation) -> None:
    """All threads of the block; it orders accesses of LDS, and those of tensors where it must."""
    is_local = isinstance(op, BarrierOp) and op.address_spaces == _LDS
    function = "sync_local" if is_local else "sync"
    if is_local and KEEPS_COPIES in op.attributes:
        function = "sync_local_keeping_copies"
    emitter.statement(f"{emitter.call(function, [])};")


def _sync(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, SyncOp)
    scope = op.scope.data
    if scope == "warp":
        emitter.statement(f"{emitter.call('wave_sync', [])};")
    elif scope in ("grid", "cluster"):
        raise emitter.refusal(
            f"AMD GPUs have no barrier of a {scope}",
            "help: end the kernel where all blocks have to wait, and launch another one",
            NO_SUCH_INSTRUCTION,
        )
    elif op.barrier_id is not None and op.arrive_count is not None:
        raise emitter.refusal(
            "AMD GPUs have no named barriers: all threads of a block take part in one",
            "help: use T.sync_threads() without a barrier id, reached by all threads",
            NO_SUCH_INSTRUCTION,
        )
    else:
        _barrier(emitter, op)


def _shuffle(emitter: Emitter, op: Operation) -> None:
    """The value of another lane: a move between registers where the distance is known."""
    assert isinstance(op, ShuffleOp)
    offset = constant_value(op.offset)
    mask = offset.value.data if isinstance(offset, IntegerAttr) else -1
    lanes = op.lanes(warp_size_of(op))
    if op.mode.data != "xor" or not 0 <= mask < lanes:
        shuffle(emitter, op)
        return
    emitter.uses.functions.setdefault("shuffle_xor_by")
    text = f"tw::shuffle_xor_by<{mask}>({emitter.operand(op.value)})"
    emitter.constant(op.result, Text(text))


_VOTES: Mapping[str, str] = {"any": "vote_any", "all": "vote_all", "ballot": "ballot"}


def _vote(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, VoteOp)
    text = emitter.call(_VOTES[op.mode.data], [emitter.operand(op.predicate)])
    if op.mode.data == "ballot":
        text = f"{bracketed(emitter.scalar(op.result.type).name)}({text})"
    emitter.constant(op.result, Text(text))


def _index(function: str) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        type = emitter.scalar(op.results[0].type)
        call = emitter.call(function, [])
        text = call if type.name == "int" else f"{bracketed(type.name)}({call})"
        emitter.pure(op.results[0], Text(text))

    return rule


def _assert(emitter: Emitter, op: Operation) -> None:
    """Ends the kernel; there is nothing to print with."""
    message = op.properties.get("message")
    text = message.data if isinstance(message, StringAttr) else "assertion failed"
    comment = " ".join(text.split())
    with emitter.block(f"if (!({emitter.operand(op.operands[0])}))"):
        emitter.statement(f"{emitter.call('trap', [])};  // {comment}")


def _print(emitter: Emitter, op: Operation) -> None:
    raise emitter.refusal(
        "T.print is not supported on AMD GPUs: printf needs ROCm's device library",
        "help: run the kernel with target='numpy', or store the value in a tensor",
        NO_SUCH_INSTRUCTION,
    )


RULES: Mapping[str, Rule] = {
    "gpu.barrier": _barrier,
    "gpu.lane_id": _index("lane"),
    "gpu.subgroup_id": _index("wave"),
    "tile.assert": _assert,
    "tile.print": _print,
    "tile.shuffle": _shuffle,
    "tile.sync": _sync,
    "tile.vote": _vote,
}
