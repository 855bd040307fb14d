"""Blackwell's tensor core: what is issued now and done later."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.nv.launch_control import ClcQueryOp, ClcTryCancelOp
from tilewright.dialects.tile.tensor_memory import (
    Tcgen05CommitOp,
    Tcgen05CopyScalesOp,
    Tcgen05GemmOp,
    TransposeScalesOp,
)
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.tile.ops.memory import tile
from tilewright.targets.numpy.tile.ops.tiles import whole
from tilewright.targets.numpy.values import Expr, Tensor


def _gemm(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, Tcgen05GemmOp)
    operands = [whole(emitter, value) for value in (op.a, op.b, op.c)]
    options = "".join(
        f", {name}=True"
        for name in ("transpose_a", "transpose_b", "clear", "two_cta")
        if name in op.properties
    )

    def placed(expr: Expr) -> str:
        operands.append(expr)
        return f"{{{len(operands) - 1}}}"

    barrier = ""
    if op.barrier is not None and op.barrier_index is not None:
        row = placed(emitter.buffer(op.barrier))
        index = placed(emitter.uniform(op.barrier_index, "the index of a barrier"))
        barrier = f", {row}, {index}"
    if op.clear_if is not None:
        condition = emitter.uniform(op.clear_if, "the clear condition of a GEMM")
        options += f", clear={placed(condition)}"
    if op.a_scales is not None and op.b_scales is not None and op.k_start is not None:
        cells = [placed(whole(emitter, each)) for each in (op.a_scales, op.b_scales)]
        start = placed(emitter.uniform(op.k_start, "k_start"))
        options += f", scales=Scales({cells[0]}, {cells[1]}, int({start}), {op.granularity})"
    text = f"rt.tcgen05_gemm({{0}}, {{1}}, {{2}}, {emitter.site()}{barrier}{options})"
    emitter.call(text, *operands)


def _commit(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, Tcgen05CommitOp)
    index = emitter.uniform(op.index, "the index of a barrier")
    text = f"rt.tcgen05_commit({{0}}, {{1}}, {emitter.site()}{_pair(op)})"
    emitter.call(text, emitter.buffer(op.barrier), index)


def _copy_scales(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, Tcgen05CopyScalesOp)
    text = f"rt.tcgen05_copy_scales({{0}}, {{1}}, {emitter.site()}{_pair(op)})"
    emitter.call(text, *_sides(emitter, op.src, op.dst))


def _sides(emitter: Emitter, *values: SSAValue) -> list[Expr]:
    return [whole(tile(emitter), each) for each in values]


def _transpose_scales(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, TransposeScalesOp)
    emitter.call("rt.transpose_scales({0})", *_sides(emitter, op.packed))


def _try_cancel(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, ClcTryCancelOp)
    operands = [
        emitter.buffer(op.result_buffer),
        emitter.uniform(op.result_index, "the start of a response"),
        emitter.buffer(op.barrier),
        emitter.uniform(op.barrier_index, "the index of a barrier"),
    ]
    multicast = ", multicast=True" if op.multicast is not None else ""
    text = f"rt.clc_try_cancel({{0}}, {{1}}, {{2}}, {{3}}, {emitter.site()}{multicast})"
    emitter.call(text, *operands)


def _query(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, ClcQueryOp)
    index = emitter.uniform(op.result_index, "the start of a response")
    text = "rt.clc_query({0}, {1})"
    response = emitter.here(text, emitter.buffer(op.result_buffer), index, axes=0, rank=0)
    for position, result in enumerate(op.results):
        expr = emitter.here(f"{{0}}[{position}]", response, axes=0, rank=0)
        emitter.define(result, Tensor(expr))


def _pair(op: Operation) -> str:
    return ", two_cta=True" if "two_cta" in op.properties else ""


RULES: dict[str, Rule] = {
    "nv.clc.try_cancel": _try_cancel,
    "nv.clc.query": _query,
    "tile.tcgen05_gemm": _gemm,
    "tile.tcgen05_commit": _commit,
    "tile.tcgen05_copy_scales": _copy_scales,
    "tile.transpose_scales": _transpose_scales,
}
