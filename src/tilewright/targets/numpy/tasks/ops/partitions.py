"""Tasks, and the ids of a program.

One program runs at a time, so its ids are scalars: no value differs between programs,
and control flow is Python's own.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, Region

from tilewright.dialects.tt.descriptors import MakeTensorDescOp
from tilewright.dialects.tt.functions import CallOp
from tilewright.dialects.tt.program import GetProgramIdOp
from tilewright.dialects.tt.types import TensorDescType
from tilewright.dialects.ttg.program import GlobalScratchAllocOp
from tilewright.dialects.ttg.warps import WarpSpecializeOp
from tilewright.dialects.ttng.descriptors import ReinterpretTensorDescOp
from tilewright.dialects.type_utils import is_tensor, shape_of
from tilewright.targets.numpy.emitter import Emitter, Rule, symbol_text
from tilewright.targets.numpy.ops import RULES as BASE_RULES
from tilewright.targets.numpy.ops.tt.descriptors import new_descriptor
from tilewright.targets.numpy.tasks.detect import needs_tasks
from tilewright.targets.numpy.tasks.ops.views import nothing
from tilewright.targets.numpy.tasks.unit import TaskEmitter, emitter_of
from tilewright.targets.numpy.values import EmittedBlock as Described
from tilewright.targets.numpy.values import Expr, Nest, Pointer, Scope, Tensor, all_axes


def _specialize(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, WarpSpecializeOp)
    location = op.location
    started: list[str] = []
    for index, region in enumerate(op.partitions):
        name = f"partition{index}"
        symbol = emitter.unit.symbol(name)
        block = _only_block(emitter, region)
        scope = Scope(is_barrier=True)
        emitter.scopes.append(scope)
        for argument, capture in zip(block.args, op.partition_op.operands, strict=True):
            emitter.define(argument, emitter.values[capture])
        emitter_of(emitter).pause()
        emitter.block(block)
        emitter.scopes.pop()
        nest = Nest(f"def {symbol_text(symbol)}():", (), (), location, is_effect=True, scope=scope)
        emitter.scope.lines.append(nest)
        started.append(f"({name!r}, {symbol_text(symbol)}, {op.num_partition_warps[index]})")
    emitter.location = location
    text = f"{{0}}.spawn({', '.join(started)})"
    tasks = emitter.statement(text, emitter.runtime, hint="tasks")
    block = _only_block(emitter, op.default_region)
    emitter_of(emitter).pause()
    emitter.block(block)
    emitter.location = location
    emitter.effect("yield from {0}.join({1})", emitter.runtime, tasks)
    end = block.last_op
    assert end is not None
    for result, value in zip(op.results, end.operands, strict=True):
        emitter.define(result, emitter.values[value])


def _only_block(emitter: Emitter, region: Region) -> Block:
    if len(region.blocks) != 1:
        raise emitter.unsupported(
            "unstructured branches in a task are not supported on target numpy; use if and else"
        )
    return region.blocks[0]


def _call(emitter: Emitter, op: Operation) -> None:
    """A call that could not be inlined: of a function with jumps, which can only compute."""
    assert isinstance(op, CallOp)
    callee = emitter.unit.functions.get(op.callee.root_reference.data)
    if callee is not None and needs_tasks(callee):
        raise emitter.unsupported(
            f"'{callee.sym_name.data}' uses shared or tensor memory and has several returns",
            "use one return, at the end of the function",
        )
    BASE_RULES[op.name](emitter, op)


def _program_id(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, GetProgramIdOp)
    text = f"{{0}}.program_id({op.dimension})"
    emitter.define(op.result, Tensor(emitter.pure(text, emitter.runtime, axes=0)))


def _known(method: str) -> Rule:
    """The rule of an integer that is a constant of the runtime."""

    def rule(emitter: Emitter, op: Operation) -> None:
        expr = emitter.pure(f"{{0}}.{method}()", emitter.runtime, axes=0)
        emitter.define(op.results[0], Tensor(expr))

    return rule


def _thread_id(emitter: Emitter, op: Operation) -> None:
    axis = "xyz".index(str(getattr(op.properties["dimension"], "data", "x"))[0])
    expr = emitter.here(f"{{0}}.thread_id({axis})", emitter.runtime, axes=0, rank=0)
    emitter.define(op.results[0], Tensor(expr))


def _clock(emitter: Emitter, op: Operation) -> None:
    expr = emitter.here("{0}.clock()", emitter.runtime, axes=0, rank=0)
    emitter.define(op.results[0], Tensor(expr))


def _ballot(emitter: Emitter, op: Operation) -> None:
    mask, pred = (emitter.expr(value) for value in op.operands)
    shape = shape_of(op.operands[1].type)
    if is_tensor(op.operands[1].type):
        extents = "".join(f"{extent}, " for extent in shape)
        text = f"{{0}}.ballot({{1}}, {{2}}, ({extents}))"
        axes = all_axes(shape)
        text = text if axes else f"only({text})"
        expr = emitter.here(text, emitter.runtime, mask, pred, axes=axes, rank=len(shape))
        emitter.define(op.results[0], Tensor(expr))
        return
    expr = emitter.pure("{0} if {1} else i32(0)", mask, pred, axes=0)
    emitter.define(op.results[0], Tensor(expr))


def _scalar(name: str) -> Rule:
    """The rule `name`, whose result is a number where the op has no shape."""
    base = BASE_RULES[name]

    def rule(emitter: Emitter, op: Operation) -> None:
        base(emitter, op)
        result = op.results[0]
        found = emitter.values.get(result)
        if isinstance(found, Tensor) and not shape_of(result.type) and found.expr.axes:
            expr = emitter.here("only({0})", found.expr, axes=0, rank=0)
            emitter.define(result, Tensor(expr, shadows=found.shadows))

    return rule


# Descriptors that a program keeps in memory.


def _scratch(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, GlobalScratchAllocOp)
    text = f"{{0}}.scratch({op.nbytes.value.data})"
    expr = emitter.here(text, emitter.runtime, axes=0, rank=0)
    emitter.define(op.result, Pointer((expr,), None))


def _make_descriptor(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, MakeTensorDescOp)
    block = new_descriptor(emitter, op)
    emitter.define(op.result, block)
    if op.desc_ptr is None:
        return
    where = emitter.values[op.desc_ptr]
    assert isinstance(where, Pointer)
    base = emitter.total(block.base.terms)
    exprs = [emitter.total(where.terms), base, *block.shape, *block.strides, block.fill]
    listed = ", ".join(f"{{{index + 1}}}" for index in range(len(exprs)))
    emitter.effect(f"{{0}}.put_descriptor({listed})", emitter.runtime, *exprs)


def _stored_descriptor(emitter: Emitter, op: Operation) -> None:
    """A descriptor in memory: each use reads it there, and gets what was written last."""
    assert isinstance(op, ReinterpretTensorDescOp)
    where, type = emitter.values[op.raw_desc], op.result.type
    assert isinstance(where, Pointer) and isinstance(type, TensorDescType)
    tasks, address = emitter_of(emitter), emitter.total(where.terms)

    def read() -> Described:
        return _read_descriptor(tasks, address, type.shape)

    emitter.define(op.result, tasks.stored(read))


def _read_descriptor(tasks: TaskEmitter, address: Expr, extents: tuple[int, ...]) -> Described:
    rank = len(extents)
    count = 2 + 2 * rank
    text = f"{{0}}.get_descriptor({{1}}, {count}, {tasks.current_source_id()})"
    operands = [tasks.runtime, address]
    base, *parts = tasks.several(text, operands, [(0, 0)] * count, is_pure=False)
    shape, strides = tuple(parts[:rank]), tuple(parts[rank : 2 * rank])
    return Described(Pointer((base,), None), shape, strides, (), extents, parts[-1])


RULES: dict[str, Rule] = {
    "ttg.warp_specialize": _specialize,
    "ttg.warp_yield": nothing,
    "ttg.warp_return": nothing,
    "tt.call": _call,
    "tt.get_program_id": _program_id,
    "tt.atomic_rmw": _scalar("tt.atomic_rmw"),
    "tt.atomic_cas": _scalar("tt.atomic_cas"),
    "tt.make_tensor_descriptor": _make_descriptor,
    "ttng.reinterpret_tensor_descriptor": _stored_descriptor,
    "ttg.global_scratch_alloc": _scratch,
    "nvg.cluster_id": _known("cta_rank"),
    "ttng.cluster_size_1d": _known("cluster_size"),
    "gpu.thread_id": _thread_id,
    "ttg.clock64": _clock,
    "ttng.vote_ballot_sync": _ballot,
}
