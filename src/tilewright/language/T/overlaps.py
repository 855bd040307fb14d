"""Overlap that reuse groups imply: a group that no `T.set_buffer_overlap` names still means it.

At the end of a trace every spec without an explicit definition gets one for each of its roots, the
groups that are part of no other one, marked as implied. `plan-storage-alias` places the root with
most buffers, and refuses a kernel in which another one does not hold there.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import SSAValue

from tilewright.dialects.tile import AllocOp, ReuseGroupOp, SetBufferOverlapOp
from tilewright.dialects.tile.aliasing import IMPLIED, leaves_of
from tilewright.frontend.errors import FrontendError
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.language.T.loop_forms import BAD_ARGUMENT


def check_spec(group: SSAValue) -> None:
    """Raise unless all buffers below `group` are allocated from one storage-alias spec."""
    first: AllocOp | None = None
    for leaf in leaves_of(group):
        owner = leaf.owner
        if not isinstance(owner, AllocOp) or owner.alias is None:
            name = owner.buffer_name if isinstance(owner, AllocOp) else leaf.name_hint or "a buffer"
            raise FrontendError(
                f"T.reuse_group: {name} is not allocated from a storage_alias_spec: "
                "allocate it with reuse=spec, or remove it from the group",
                code=BAD_ARGUMENT,
            )
        first = first or owner
        if owner.alias is not first.alias:
            raise FrontendError(
                f"T.reuse_group: {first.buffer_name} and {owner.buffer_name} are allocated from "
                "different storage_alias_specs, whose bytes are disjoint: make one group for each",
                code=BAD_ARGUMENT,
            )


def imply_overlaps(module: ModuleOp) -> None:
    """Add the definitions that groups of `module` imply."""
    groups = [op for op in walk(module) if isinstance(op, ReuseGroupOp)]
    if not groups:
        return
    explicit = {op.spec for op in walk(module) if isinstance(op, SetBufferOverlapOp)}
    for group in groups:
        is_inner = any(isinstance(use.operation, ReuseGroupOp) for use in group.result.uses)
        owner = next(leaves_of(group.result)).owner
        assert isinstance(owner, AllocOp)  # checked where the group was made
        spec = owner.alias
        if is_inner or spec is None or spec in explicit:
            continue
        overlap = SetBufferOverlapOp(spec, group.result)
        overlap.attributes[IMPLIED] = UnitAttr()
        Rewriter().insert_after(group, overlap)
