"""`sink-tensor-reads`: tensor memory is read in the branch that uses it.

    tile.copy %C -> %f  (128 x 256)          scf.if %whole {
    scf.if %whole {                            tile.copy %C -> %f
      ... %f ...                      ->       ... %f ...
    } else {                                 } else {
      ... %f ...                               tile.copy %C -> %f
    }                                          ... %f ...
                                             }

`stream-tensor-memory` divides a copy and the statements of its block that use the result. Where
they are in another block, a row of 256 columns would take all registers of a thread, across the
branch. Read in each branch, the columns are divided there. It is done where every use is in a
branch that all threads of a role take together, nothing in between may write what is read, and
every copy that it makes can be divided.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.analysis.layout_inference.tensor_memory import is_move
from tilewright.analysis.pipelining.dependences import has_unknown_effects
from tilewright.analysis.tensor_memory.chains import chains, has_many_registers, is_pure
from tilewright.analysis.threads.thread_dependence import is_by_thread
from tilewright.dialects.scf import IfOp
from tilewright.dialects.tile import AllocOp, CopyOp, KernelOp, Space
from tilewright.dialects.tile.interfaces import reads, writes
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tile.clone_ops import copy_op


@dataclass(frozen=True)
class SinkTensorReads(Pass):
    """Read wide rows of tensor memory in the branches that use them."""

    name = "sink-tensor-reads"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            for op in list(walk(kernel)):
                if isinstance(op, AllocOp) and op.space is Space.FRAGMENT and op.layout is None:
                    _sink(op, kernel)


def _sink(alloc: AllocOp, kernel: KernelOp) -> None:
    """Move the only copy that fills a fragment into the branches after it."""
    fragment = alloc.result
    users = {use.operation for use in fragment.uses}
    fills = [op for op in users if isinstance(op, CopyOp) and op.dst is fragment and is_move(op)]
    if len(fills) != 1 or len(shape_of(fragment.type)) != 2 or not has_many_registers(fragment):
        return
    (fill,) = fills
    users.remove(fill)
    targets = _targets(fill.next_op, fill, users, is_branch=False)
    if not targets or users:
        return
    rewriter = Rewriter()
    made: list[CopyOp] = []
    for target in targets:
        copy = copy_op(fill, {})
        assert isinstance(copy, CopyOp)
        rewriter.insert_before(target, copy, fill)
        made.append(copy)
    following, block = fill.next_op, fill.parent
    assert following is not None and block is not None, "its users come after it"
    fill.detach()
    divided = {op for chain in chains(kernel) for op in chain.ops}
    if all(copy in divided for copy in made):
        fill.erase()
        return
    block.insert_op_before(fill, following)
    for copy in made:
        rewriter.erase(copy)


def _targets(
    op: Operation | None, fill: CopyOp, users: set[Operation], *, is_branch: bool
) -> list[Operation] | None:
    """The statements before which to fill, from `op` on; None if it has to be done before them.

    Takes the users of the fragment that come after one of them from `users`.
    """
    while op is not None:
        inside = [each for each in op.walk() if each in users]
        if not inside:
            if _interferes(op, fill):
                return None
        elif isinstance(op, IfOp) and not is_by_thread(op.condition):
            return _targets_in(op, fill, users)
        elif is_branch:
            _remove_from(op, users)
            return [op]
        else:
            return None
        op = op.next_op
    return []


def _targets_in(branch: IfOp, fill: CopyOp, users: set[Operation]) -> list[Operation] | None:
    """Where to fill in the regions of a branch."""
    found: list[Operation] = []
    for region in branch.regions:
        if region.blocks:
            targets = _targets(region.block.first_op, fill, users, is_branch=True)
            if targets is None:
                return None
            found += targets
    return found


def _remove_from(op: Operation, users: set[Operation]) -> None:
    """Remove the users in and after a statement of a block."""
    current: Operation | None = op
    while current is not None:
        users.difference_update(current.walk())
        current = current.next_op


def _interferes(op: Operation, fill: CopyOp) -> bool:
    """Whether the copy may not be moved past an op."""
    if is_pure(op):
        return False
    if has_unknown_effects(op):
        return True
    return any(one.may_overlap(other) for one in writes(op) for other in reads(fill))
