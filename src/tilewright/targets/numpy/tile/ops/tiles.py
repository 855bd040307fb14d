"""Tile ops: each is a call of its support function."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tile.compute import GemmOp, ReduceOp, ScanOp
from tilewright.dialects.tile.movement import AsyncCopyOp, CopyOp, FillOp, Im2colOp, TransposeOp
from tilewright.dialects.tile.scaled import ScaledGemmOp
from tilewright.dialects.tile.tensor_memory import reports_to_pair
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.tile.emitter import TileEmitter
from tilewright.targets.numpy.tile.ops.memory import tile
from tilewright.targets.numpy.values import Expr


def whole(emitter: TileEmitter, value: SSAValue) -> Expr:
    """The memory of a tile op, which belongs to the block and not to one iteration."""
    if value in emitter.private:
        raise emitter.unsupported(
            "a tile op on an iteration-private buffer is not supported by the NumPy target",
            "access it element by element",
        )
    if emitter.lanes is not None:
        raise emitter.unsupported(
            "a tile op inside T.Parallel would run once for each iteration",
            "move it out of the loop",
        )
    return emitter.buffer(value)


def _copy(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, CopyOp)
    source, target = whole(emitter, op.src), whole(emitter, op.dst)
    if op.fill is None:
        emitter.call("copy({0}, {1})", source, target)
        return
    emitter.call("copy({0}, {1}, {2})", source, target, emitter.uniform(op.fill, "a fill"))


def _async_copy(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, AsyncCopyOp)
    if op.cluster_mask is not None:
        raise emitter.unsupported("multicast copies are not supported by the NumPy target")
    source, target = whole(emitter, op.src), whole(emitter, op.dst)
    name = "pair_copy" if reports_to_pair(op) else "async_copy"
    text = f"rt.{name}({{0}}, {{1}}, {emitter.site()}"
    zeros = "" if op.zeros is None else ", fill=0"
    if op.expands is not None:
        zeros += ", expand=True"
    if op.barrier is None or op.barrier_index is None:
        emitter.call(f"{text}{zeros})", source, target)
        return
    index = emitter.uniform(op.barrier_index, "the index of a barrier")
    end = f"{zeros})" if op.flatten is None else f", flatten=True{zeros})"
    emitter.call(f"{text}, {{2}}, {{3}}{end}", source, target, emitter.buffer(op.barrier), index)


def _fill(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, FillOp)
    value = emitter.uniform(op.value, "the value of a fill")
    if op.dst in emitter.private and not emitter.divergence:
        # Every iteration fills all of its own.
        emitter.effect("fill({0}, {1})", emitter.buffer(op.dst), value)
        return
    emitter.call("fill({0}, {1})", whole(emitter, op.dst), value)


def _transpose(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, TransposeOp)
    emitter.call("transpose({0}, {1})", whole(emitter, op.src), whole(emitter, op.dst))


def _im2col(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, Im2colOp)
    parameters = [each.value.data for each in (op.kernel, op.stride, op.dilation, op.pad)]
    steps = [emitter.uniform(each, "a step") for each in (op.nhw_step, op.c_step)]
    text = f"im2col({{0}}, {{1}}, {{2}}, {{3}}, {', '.join(map(str, parameters))})"
    emitter.call(text, whole(emitter, op.src), whole(emitter, op.dst), *steps)


def _gemm(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, GemmOp)
    operands = [whole(emitter, value) for value in (op.a, op.b, op.c)]
    options = "".join(
        f", {name}=True"
        for name, mark in (
            ("transpose_a", op.transpose_a),
            ("transpose_b", op.transpose_b),
            ("clear", op.clear),
        )
        if mark is not None
    )
    if op.clear_if is not None and op.clear is None:
        condition = emitter.uniform(op.clear_if, "the clear condition of a GEMM")
        options += ", clear={3}"
        operands.append(condition)
    if op.asynchronous is not None:
        emitter.call(f"rt.async_gemm({{0}}, {{1}}, {{2}}, {emitter.site()}{options})", *operands)
    else:
        emitter.call(f"gemm({{0}}, {{1}}, {{2}}{options})", *operands)


def _scaled_gemm(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, ScaledGemmOp)
    exprs: list[Expr] = []

    def memory(value: SSAValue | None) -> str:
        if value is None:
            return "None"
        exprs.append(whole(emitter, value))
        return f"{{{len(exprs) - 1}}}"

    sides = [
        f"{memory(side.value)}, {memory(side.scale)}, {side.format!r}" for side in (op.lhs, op.rhs)
    ]
    marks = ("transpose_a", "transpose_b", "pack_m", "pack_n", "clear")
    options = "".join(f", {name}=True" for name in marks if getattr(op, name) is not None)
    target = memory(op.c)
    if op.clear_if is not None:
        options += f", clear={{{len(exprs)}}}"
        exprs.append(emitter.uniform(op.clear_if, "the clear condition of a GEMM"))
    emitter.call(f"scaled_gemm({sides[0]}, {sides[1]}, {target}{options})", *exprs)


def _reduce(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, ReduceOp)
    options = "" if op.clear else ", clear=False"
    options += "" if op.nan_propagate is None else ", nan_propagate=True"
    text = f"{op.kind.data!r}, {op.axis}{options})"
    if op.scope.data == "threads":
        threads = emitter.threads
        assert threads is not None, "a kernel that reduces over threads has them"
        source, target = emitter.buffer(op.src), emitter.buffer(op.dst)
        emitter.effect(f"reduce_threads({{0}}, {{1}}, {{2}}, {text}", threads, source, target)
        return
    emitter.call(f"reduce({{0}}, {{1}}, {text}", whole(emitter, op.src), whole(emitter, op.dst))


def _scan(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, ScanOp)
    options = "" if op.reverse is None else ", reverse=True"
    text = f"scan({{0}}, {{1}}, {op.kind.data!r}, {op.axis}{options})"
    emitter.call(text, whole(emitter, op.src), whole(emitter, op.dst))


RULES: dict[str, Rule] = {
    "tile.copy": _copy,
    "tile.async_copy": _async_copy,
    "tile.fill": _fill,
    "tile.transpose": _transpose,
    "tile.im2col": _im2col,
    "tile.gemm": _gemm,
    "tile.scaled_gemm": _scaled_gemm,
    "tile.reduce": _reduce,
    "tile.scan": _scan,
}
