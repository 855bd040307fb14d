"""MMAs: wgmma and tcgen05."""

from __future__ import annotations

from xdsl.ir import Operation

from tilewright.dialects.tlx import DummyTMemLayout
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.attributes import TensorMemoryScalesEncoding, unwrapped
from tilewright.dialects.ttng.tcgen05 import TCGen5CommitOp, TCGen5MMAOp, TCGen5MMAScaledOp
from tilewright.dialects.ttng.tmem import TMEMCopyOp
from tilewright.dialects.ttng.wgmma import WarpGroupDotOp, WarpGroupDotWaitOp
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.traversal import walk
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.tt.shape import full_expr
from tilewright.targets.numpy.tasks.ops.sync import call, predicate
from tilewright.targets.numpy.tasks.ops.views import token
from tilewright.targets.numpy.tasks.unit import emitter_of
from tilewright.targets.numpy.values import Tensor, all_axes

_SCALES = TensorMemoryScalesEncoding, DummyTMemLayout
"""Layouts of scale factors; the second where none has been chosen."""


def _wgmma(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, WarpGroupDotOp)
    tasks = emitter_of(emitter)
    tasks.pause()
    is_buffer = isinstance(op.a.type, MemDescType)
    a = emitter.expr(op.a) if is_buffer else full_expr(emitter, op.a)
    exprs = [a, emitter.expr(op.b), emitter.expr(op.c), predicate(emitter, op.use_c)]
    is_async = bool(op.is_async.value.data)
    name = "{0}.wgmma" if is_async else "yield from {0}.wgmma_now"
    text = f"{name}({{1}}, {{2}}, {{3}}, {{4}}, {tasks.current_source_id()})"
    shape = shape_of(op.d.type)
    axes = all_axes(shape)
    expr = tasks.effect_expr(text, emitter.runtime, *exprs, axes=axes, rank=len(shape))
    emitter.define(op.d, Tensor(expr, shadows=emitter.shadows(op.c)))


def _wgmma_wait(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, WarpGroupDotWaitOp)
    values = [emitter.tensor(value) for value in op.inputs]
    exprs = [value.expr for value in values]
    listed = "".join(f", {{{index + 1}}}" for index in range(len(exprs)))
    source_id = emitter_of(emitter).current_source_id()
    text = f"yield from {{0}}.wgmma_wait({op.pendings.value.data}, {source_id}{listed})"
    star = "*" if len(exprs) == 1 else ""
    results = emitter.several(
        f"{star}{text}",
        [emitter.runtime, *exprs],
        [(expr.axes, expr.rank) for expr in exprs],
        is_pure=False,
    )
    for result, value, expr in zip(op.outputs, values, results, strict=True):
        assert expr.line is not None
        expr.line.is_effect = True
        emitter.define(result, Tensor(expr, shadows=value.shadows))


def _mma(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, TCGen5MMAOp | TCGen5MMAScaledOp)
    fixed = [emitter.expr(each) for each in (op.a, op.b, op.d, op.use_d, op.pred)]
    preds = list(op.barrier_preds) or [None] * len(op.barriers)
    pairs: list[str] = []
    for barrier, pred in zip(op.barriers, preds, strict=True):
        pairs.append(f"({{{len(fixed) + 1}}}, {{{len(fixed) + 2}}})")
        fixed += [emitter.expr(barrier), predicate(emitter, pred)]
    listed = f"({', '.join(pairs)}{',' if len(pairs) == 1 else ''})"
    more = ", pair=True" if op.two_ctas is not None else ""
    if isinstance(op, TCGen5MMAScaledOp):
        first = len(fixed) + 1
        fixed += [emitter.expr(op.a_scale), emitter.expr(op.b_scale)]
        a_along_k = op.a_shape[0] == shape_of(op.a.type)[-2]
        b_along_k = op.b_shape[1] == shape_of(op.b.type)[-1]
        more += (
            f", scales=({{{first}}}, {op.a_format!r}, {a_along_k}, "
            f"{{{first + 1}}}, {op.b_format!r}, {b_along_k})"
        )
    name = "{0}.mma" if op.is_async is not None else "yield from {0}.mma_now"
    text = f"{name}({{1}}, {{2}}, {{3}}, {{4}}, {{5}}, {listed}, {{place}}{more})"
    call(emitter, text, *fixed)
    token(emitter, op.token)


def _commit(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, TCGen5CommitOp)
    pair = ", pair=True" if op.two_ctas is not None or _works_in_pairs(op) else ""
    text = f"{{0}}.mma_commit({{1}}, {{2}}, {{place}}{pair})"
    call(emitter, text, emitter.expr(op.barrier), predicate(emitter, op.pred))


def _works_in_pairs(op: Operation) -> bool:
    """Whether the kernel uses 2-CTA MMAs: a commit then arrives in both CTAs."""
    root = op.get_toplevel_object()
    assert isinstance(root, Operation)
    mmas = (each for each in walk(root) if isinstance(each, TCGen5MMAOp | TCGen5MMAScaledOp))
    return any(each.two_ctas is not None for each in mmas)


def _copy(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, TMEMCopyOp) and isinstance(op.dst.type, MemDescType)
    packs = isinstance(unwrapped(op.dst.type.encoding), _SCALES)
    exprs = [emitter.expr(op.src), emitter.expr(op.dst)]
    barrier = "None"
    if op.barrier is not None:
        exprs.append(emitter.expr(op.barrier))
        barrier = "{3}"
    call(emitter, f"{{0}}.tmem_copy({{1}}, {{2}}, {barrier}, {{place}}, {packs})", *exprs)


RULES: dict[str, Rule] = {
    "ttng.warp_group_dot": _wgmma,
    "ttng.warp_group_dot_wait": _wgmma_wait,
    "ttng.tc_gen5_mma": _mma,
    "ttng.tc_gen5_mma_scaled": _mma,
    "ttng.tc_gen5_commit": _commit,
    "ttng.tmem_copy": _copy,
}
