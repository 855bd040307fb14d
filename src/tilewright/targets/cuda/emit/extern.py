"""External code, addresses for it, printing, and explicit waits."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType
from xdsl.ir import Attribute, Operation

from tilewright.dialects.tile.extern import ExternOp, SourceOp
from tilewright.dialects.tile.hints import PrintOp, SyncOp
from tilewright.dialects.tile.regions import PtrOfOp, ViewOp
from tilewright.dialects.type_utils import element_type_of
from tilewright.targets.cuda.emit.emitter import ATOM, SUM, Emitter, Rule, Text, is_buffer
from tilewright.targets.cuda.emit.memory import address


def _source(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, SourceOp)
    emitter.uses.sources.setdefault(op.text.data)


def _extern(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, ExternOp)
    arguments = [emitter.operand(each) for each in op.arguments]
    call = f"{op.callee.data}({', '.join(arguments)})"
    if not op.results_:
        emitter.statement(f"{call};")
        return
    emitter.constant(op.results_[0], Text(call, ATOM))


def _ptr_of(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, PtrOfOp)
    (index,) = op.indices
    emitter.pure_pointer(op.result, Text(address(emitter, op.base, index), SUM))


def _view(emitter: Emitter, op: Operation) -> None:
    """The same address, as a pointer to other elements perhaps."""
    assert isinstance(op, ViewOp)
    element = emitter.element(op.result)
    source = op.source.type
    if is_buffer(source) and element_type_of(source) == element_type_of(op.result.type):
        emitter.define(op.result, emitter.text(op.source))
        return
    text = f"reinterpret_cast<{element.name}*>({emitter.operand(op.source)})"
    emitter.define(op.result, Text(text, ATOM))


def _print(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, PrintOp)
    message = op.message.data.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
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


RULES: Mapping[str, Rule] = {
    "tile.source": _source,
    "tile.extern": _extern,
    "tile.ptr_of": _ptr_of,
    "tile.view": _view,
    "tile.print": _print,
    "tile.sync": _sync,
    "gpu.lane_id": _expression("int(threadIdx.x % 32u)"),
    "gpu.subgroup_id": _expression("int(threadIdx.x / 32u)"),
}
