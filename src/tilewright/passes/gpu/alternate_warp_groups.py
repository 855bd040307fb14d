"""`alternate-warp-groups`: warp groups issue their MMAs one after the other.

    for k { S = Q @ K[k]; commit               for k { wait for the group before
            O += P @ V[k - 1]; commit    ->            S = Q @ K[k]; commit
            wait 1; P = softmax(S)                     O += P @ V[k - 1]; commit
            wait 0 }                                   let the next group go on
                                                       wait 1; P = softmax(S)
                                                       wait 0 }

The loop is one that `overlap-wgmma` arranged. Warp groups of a role that run it independently tend
to be in step: their MMAs share the tensor core, then all of them compute, and it has nothing to do.
In an order, one group computes while the others' MMAs run. Each group has a named barrier, at which
it waits for the group before it. All of them run the loop equally often, since its bounds, and all
conditions around it, are equal for the threads of the role; the last group lets the first begin.
No access is ordered by these barriers: a kernel without them is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.analysis.uniformity import differs
from tilewright.dialects.arith import CmpiOp, DivuiOp, SelectOp, SubiOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu import SubgroupIdOp
from tilewright.dialects.nv import (
    BarOp,
    GroupBarOp,
    WgmmaCommitOp,
    WgmmaFenceOp,
    WgmmaOp,
    WgmmaWaitOp,
)
from tilewright.dialects.scf import ForOp, IfOp, YieldOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.simt.target import NVIDIA_WARP
from tilewright.dialects.tile.warps import Role, WsOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tile.index_builder import IndexBuilder

_WARPS, _NAMED_BARRIERS = 4, 16
_GROUP = _WARPS * NVIDIA_WARP


@dataclass(frozen=True)
class AlternateWarpGroups(Pass):
    """Have the warp groups of a role issue overlapped MMAs one after the other."""

    name = "alternate-warp-groups"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if isinstance(function, FuncOp) and simt_names.KERNEL in function.attributes:
                ops = list(walk(function))
                warp = next((op for op in ops if isinstance(op, SubgroupIdOp)), None)
                for op in ops:
                    if isinstance(op, WsOp) and warp is not None:
                        _alternate(function, op, warp.results[0])


@dataclass(frozen=True)
class _Issue:
    """Where a group issues the MMAs of an iteration."""

    first: Operation
    last: WgmmaCommitOp


def _alternate(function: FuncOp, op: WsOp, warp: SSAValue) -> None:
    for role, body in zip(op.roles, op.bodies, strict=True):
        groups = role.num_threads // _GROUP
        if len(role.ranges) != 1 or role.num_threads % _GROUP or groups < 2:
            continue
        issues = list(_issues(op, body.block.ops))
        taken = {bar.id.value.data for bar in walk(function) if isinstance(bar, BarOp)}
        taken |= {bar.id.value.data + n for bar in _group_bars(function) for n in range(groups)}
        first_id = next(
            (n for n in range(1, _NAMED_BARRIERS - groups + 1) if not taken & set(_ids(n, groups))),
            None,
        )
        if issues and first_id is not None:
            _order(role, groups, first_id, issues, warp)


def _ids(first: int, groups: int) -> range:
    return range(first, first + groups)


def _group_bars(function: FuncOp) -> list[GroupBarOp]:
    return [op for op in walk(function) if isinstance(op, GroupBarOp)]


def _issues(owner: WsOp, ops: Iterable[Operation]) -> Iterator[_Issue]:
    """The loops of a role whose MMAs overlap with what it computes."""
    for loop in (inner for op in ops for inner in walk(op)):
        if isinstance(loop, ForOp) and (found := _issue(loop)) and _is_uniform(loop, owner):
            yield found


def _issue(loop: ForOp) -> _Issue | None:
    """Two groups of MMAs, of which the first is waited for before the second."""
    ops = list(loop.body.block.ops)
    kinds = [op for op in ops if isinstance(op, WgmmaCommitOp | WgmmaWaitOp)]
    if [getattr(op, "count", None) for op in kinds] != [None, None, 1, 0]:
        return None
    if sum(isinstance(op, WgmmaCommitOp | WgmmaWaitOp) for op in walk(loop)) != len(kinds):
        return None
    first = next(op for op in ops if isinstance(op, WgmmaFenceOp | WgmmaOp))
    last = kinds[1]
    assert isinstance(last, WgmmaCommitOp)
    return _Issue(first, last)


def _is_uniform(loop: ForOp, owner: WsOp) -> bool:
    """Whether all threads of the role run the loop equally often."""
    op: Operation | None = loop
    while op is not None and op is not owner:
        if isinstance(op, ForOp) and (differs(op.lower_bound) or differs(op.upper_bound)):
            return False
        if isinstance(op, IfOp) and differs(op.condition):
            return False
        if not isinstance(op, ForOp | IfOp):
            return False
        op = op.parent_op()
    return op is owner


def _order(role: Role, groups: int, first_id: int, issues: list[_Issue], warp: SSAValue) -> None:
    """Put barriers around what is issued."""
    block = issues[0].first
    while not isinstance(block.parent_op(), WsOp):
        outer = block.parent_op()
        assert outer is not None  # the loop is in a role
        block = outer
    assert block.parent is not None and block.parent.first_op is not None
    code = IndexBuilder(block.parent.first_op)
    start = code.index(role.ranges[0][0] // NVIDIA_WARP)
    group = code.add(DivuiOp(code.add(SubiOp(warp, start)).results[0], code.index(_WARPS)))
    last = code.add(CmpiOp("eq", group.results[0], code.index(groups - 1))).results[0]
    plus = code.plus(group.results[0], 1)
    zero = code.index(0)
    following = code.add(SelectOp(last, zero, code.index(plus))).results[0]
    begin = Block([YieldOp()])
    code.add(IfOp(last, [], Region(begin)))
    code.inside(begin).add(GroupBarOp("arrive", first_id, zero, 2 * _GROUP))
    for issue in issues:
        before, after = IndexBuilder(issue.first), issue.last.next_op
        before.add(GroupBarOp("sync", first_id, group.results[0], 2 * _GROUP))
        assert after is not None  # a wait follows
        IndexBuilder(after).add(GroupBarOp("arrive", first_id, following, 2 * _GROUP))
