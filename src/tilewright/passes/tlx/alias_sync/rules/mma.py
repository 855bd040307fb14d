"""MMAs by wgmma and tcgen05.

wgmma is waited for in groups; MMAs, copies and commits of tcgen05 complete in order and arrive on
barriers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.alias_sync.machine import AliasRange
from tilewright.analysis.alias_sync.machine import Operation as Issued
from tilewright.analysis.concurrency import Steps
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.tcgen05 import TCGen5CommitOp, TCGen5MMAOp, TCGen5MMAScaledOp
from tilewright.dialects.ttng.tmem import TMEMCopyOp
from tilewright.dialects.ttng.wgmma import WarpGroupDotOp, WarpGroupDotWaitOp
from tilewright.passes.tlx.alias_sync.rules.barriers import barrier_of, wait_groups
from tilewright.passes.tlx.alias_sync.rules.buffers import at_rank, nothing, proxy_of
from tilewright.passes.tlx.alias_sync.views import View
from tilewright.passes.tlx.alias_sync.walk import MmaIssue, Rule, Walk


def _wgmma(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, WarpGroupDotOp)
    yield None
    values = [value for value in (op.a, op.b) if isinstance(value.type, MemDescType)]
    views = [walk.view(op, value) for value in values]
    machine = walk.run.machine
    issued = machine.issue(
        walk.task,
        f"the wgmma with {' @ '.join(view.name for view in views)}",
        f"wgmma of {walk.task.name} of CTA {walk.rank}",
        walk.position(op),
        [AliasRange(view.region(), "async") for view in views],
        in_order=True,
    )
    machine.groups(walk.task, "wgmma").issue_alone(issued)
    walk.env[op.d] = MmaIssue(issued)
    if not op.is_async.value.data:
        yield from wait_groups(walk, op, "wgmma", 0)


def _wgmma_wait(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, WarpGroupDotWaitOp)
    for result, operand in zip(op.results, op.operands, strict=True):
        walk.env[result] = walk.env.get(operand)
    yield from wait_groups(walk, op, "wgmma", op.pendings.value.data)


def _pair(walk: Walk, is_pair: bool) -> list[int]:
    return [walk.rank & ~1, walk.rank | 1] if is_pair else [walk.rank]


def _mma(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, TCGen5MMAOp | TCGen5MMAScaledOp)
    yield None
    nothing(walk, op)
    is_pair = op.two_ctas is not None
    if not walk.holds(op, op.pred) or (is_pair and walk.rank % 2):
        return
    ranks = _pair(walk, is_pair)
    a, b, d = (walk.view(op, value) for value in (op.a, op.b, op.d))
    reads = [at_rank(walk, view, rank) for view in (a, b) for rank in ranks]
    if isinstance(op, TCGen5MMAScaledOp):
        reads += [walk.view(op, op.a_scale), walk.view(op, op.b_scale)]
    parts = [AliasRange(view.region(), proxy_of(view, "async")) for view in reads]
    adds = walk.holds(op, op.use_d)
    parts += [
        AliasRange(at_rank(walk, d, rank).region(), "tensor", writes=True, also_reads=adds)
        for rank in ranks
    ]
    issued = _tensor_core(
        walk,
        op,
        f"the tcgen05.mma {a.name} @ {b.name} -> {d.name}",
        parts,
        [
            view
            for each in _barriers(walk, op)
            for view in ([at_rank(walk, each, rank) for rank in ranks] if is_pair else [each])
        ],
    )
    if op.is_async is None:
        yield from walk.run.machine.wait_for(walk.task, issued, walk.position(op))


def _barriers(walk: Walk, op: TCGen5MMAOp | TCGen5MMAScaledOp) -> list[View]:
    predicates: Sequence[SSAValue | None] = list(op.barrier_preds) or [None] * len(op.barriers)
    return [
        walk.view(op, barrier)
        for barrier, pred in zip(op.barriers, predicates, strict=True)
        if walk.holds(op, pred)
    ]


def _tensor_core(
    walk: Walk, op: Operation, what: str, parts: Sequence[AliasRange], barriers: Sequence[View]
) -> Issued:
    """MMAs, copies and commits of a CTA complete in order."""
    return walk.run.machine.issue(
        walk.task,
        what,
        f"tcgen05 of CTA {walk.rank}",
        walk.position(op),
        parts,
        in_order=True,
        arrives=[(barrier_of(walk, op, each), 1) for each in barriers],
    )


def _commit(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, TCGen5CommitOp)
    yield None
    is_pair = op.two_ctas is not None or walk.run.kernel.works_in_pairs
    if not walk.holds(op, op.pred) or (is_pair and walk.rank % 2):
        return
    barrier = walk.view(op, op.barrier)
    barriers = (
        [at_rank(walk, barrier, rank) for rank in _pair(walk, True)] if is_pair else [barrier]
    )
    _tensor_core(walk, op, f"the commit to {barrier.name}", (), barriers)


def _tmem_copy(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, TMEMCopyOp)
    yield None
    source, target = walk.view(op, op.src), walk.view(op, op.dst)
    parts = [
        AliasRange(source.region(), "async"),
        AliasRange(target.region(), "tensor", writes=True),
    ]
    barriers = [] if op.barrier is None else [walk.view(op, op.barrier)]
    _tensor_core(walk, op, f"the copy {source.name} -> {target.name}", parts, barriers)


RULES: Mapping[str, Rule] = {
    "ttng.warp_group_dot": _wgmma,
    "ttng.warp_group_dot_wait": _wgmma_wait,
    "ttng.tc_gen5_mma": _mma,
    "ttng.tc_gen5_mma_scaled": _mma,
    "ttng.tc_gen5_commit": _commit,
    "ttng.tmem_copy": _tmem_copy,
}
