"""Threads of a block and a warp: barriers, votes, lane numbers; assertions and printing."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerAttr, IntegerType, StringAttr
from xdsl.ir import Attribute, Operation

from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu import SubgroupIdOp, ThreadIdOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.simt.target import NVIDIA_WARP
from tilewright.dialects.tile.hints import PrintOp, SyncOp
from tilewright.dialects.tile.lanes import VoteOp
from tilewright.dialects.tile.warps import WsOp
from tilewright.ir.traversal import enclosing
from tilewright.targets.cxx.control import RULES as CONTROL
from tilewright.targets.cxx.control import roles
from tilewright.targets.cxx.emitter import ATOM, Emitter, Rule, Text


def _assert(emitter: Emitter, op: Operation) -> None:
    message = op.properties.get("message")
    text = message.data if isinstance(message, StringAttr) else "assertion failed"
    with emitter.block(f"if (!({emitter.operand(op.operands[0])}))"):
        emitter.statement(f'printf("%s\\n", "{_escaped(text)}");')
        emitter.statement("__trap();")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _print(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, PrintOp)
    message = _escaped(op.message.data)
    parts = [message.replace("%", "%%")] if message else []
    arguments: list[str] = []
    for value in op.values:
        form, cast = _format(value.type)
        parts.append(form)
        arguments.append(f"{cast}({emitter.operand(value)})")
    where = "block (%d, %d, %d) thread %d: "
    ids = ["int(blockIdx.x)", "int(blockIdx.y)", "int(blockIdx.z)", "int(threadIdx.x)"]
    shown = " ".join(parts)
    emitter.statement(f'printf("{where}{shown}\\n", {", ".join([*ids, *arguments])});')


def _format(type: Attribute) -> tuple[str, str]:
    """How a value is printed, and what it is converted to for that."""
    if isinstance(type, AnyFloat):
        return "%g", "double"
    if isinstance(type, IntegerType) and type.width.data > 32:
        return "%lld", "(long long)"
    if isinstance(type, (IntegerType, IndexType)):
        return "%d", "int"
    return "%p", "(const void*)"


def _sync(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, SyncOp)
    scope = op.scope.data
    if scope == "grid":
        emitter.uses.headers.add("cooperative_groups.h")
        emitter.statement("cooperative_groups::this_grid().sync();")
    elif scope == "cluster":
        emitter.statement(f"{emitter.call('cluster_arrive', [])};")
        emitter.statement(f"{emitter.call('cluster_wait', [])};")
    elif scope == "warp":
        emitter.statement("__syncwarp();")
    elif op.barrier_id is not None and op.arrive_count is not None:
        arguments = [str(op.barrier_id.value.data), str(op.arrive_count.value.data)]
        emitter.statement(f"{emitter.call('named_barrier_sync', arguments)};")
    else:
        emitter.statement("__syncthreads();")


def _expression(text: str) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        emitter.pure(op.results[0], Text(text, ATOM))

    return rule


def _subgroup_id(emitter: Emitter, op: Operation) -> None:
    """At the start of a kernel all threads are convergent: each warp broadcasts its index."""
    if isinstance(op.parent_op(), FuncOp):
        emitter.constant(op.results[0], Text(emitter.call("warp_index", [])))
    else:
        emitter.pure(op.results[0], Text("int(threadIdx.x / 32u)", ATOM))


def _roles(emitter: Emitter, op: Operation) -> None:
    """Roles of whole warps are distinguished by the index of the warp, where the kernel has it."""
    assert isinstance(op, WsOp)
    function = enclosing(op, FuncOp)
    assert function is not None  # roles are part of a kernel
    at_start = function.body.block.ops
    index = next((each for each in at_start if isinstance(each, SubgroupIdOp)), None)
    ends = [end for role in op.roles for each in role.ranges for end in each]
    if index is None or any(end % NVIDIA_WARP for end in ends):
        roles(emitter, op)
    else:
        roles(emitter, op, emitter.operand(index.results[0]), NVIDIA_WARP)


def _thread_id(emitter: Emitter, op: Operation) -> None:
    count = op.attributes.get(nv_names.AGAIN)
    if isinstance(count, IntegerAttr):
        assert isinstance(op, ThreadIdOp)
        function = f"thread_again_{op.dimension.data.value}"
        text = emitter.call(function, [str(count.value.data)])
        emitter.constant(op.results[0], Text(text))
    else:
        CONTROL["gpu.thread_id"](emitter, op)


def _block_barrier(emitter: Emitter, op: Operation) -> None:
    emitter.statement("__syncthreads();")


def _vote(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, VoteOp)
    text = f"__{op.mode.data}_sync(0xffffffffu, {emitter.operand(op.predicate)})"
    emitter.constant(op.result, Text(text))


RULES: Mapping[str, Rule] = {
    "tile.assert": _assert,
    "tile.print": _print,
    "tile.sync": _sync,
    "tile.vote": _vote,
    "gpu.thread_id": _thread_id,
    "gpu.barrier": _block_barrier,
    "gpu.lane_id": _expression("int(threadIdx.x % 32u)"),
    "gpu.subgroup_id": _subgroup_id,
    "tile.ws": _roles,
}
