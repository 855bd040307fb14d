"""Let buffers have the layouts that their users require.

``tlx.require_layout`` on a buffer is the layout that an instruction or a copy needs. The buffer it
leads back to, through views, is allocated in that layout, unless it has a user-specified one
(``tlx.user_layout``) or another user needs a different one; both are errors. After this pass every
buffer has its required layout, and the ops are gone. Tasks that disagree about a buffer keep their
requirements with ``partition-conflicts=keep``, which a later pass may satisfy by a second buffer.

Requirements on tensors that have layouts are satisfied by loads or conversions
(``tensor_requirements``); without layouts they stay, for the pass that gives tensors their layouts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue

from tilewright.dialects.tlx import RequireLayoutOp
from tilewright.dialects.tlx.attributes import UserLayout
from tilewright.dialects.tt.layout_rules import LayoutRules
from tilewright.dialects.ttg.base import integers
from tilewright.dialects.ttg.context import PARTITIONS_OP
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttg.views import MemDescTransOp
from tilewright.dialects.ttng.attributes import unwrapped
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tlx.tensor_requirements import satisfy_tensors
from tilewright.passes.ttg.memdesc_types import CannotFollow, memdesc_of, retype_buffer

CONFLICT = "TW2042"

_SAME = frozenset(
    (
        "ttg.memdesc_index",
        "ttg.memdesc_subslice",
        "ttg.memdesc_dynamic_subslice",
        "ttng.tmem_subslice",
    )
)


@dataclass(frozen=True)
class PropagateLayout(Pass):
    """Give buffers the layouts that their users require."""

    name = "tlx-propagate-layout"

    partition_conflicts: Literal["keep", "error"] = "keep"
    """What to do about tasks that need different layouts of one buffer."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        rewriter = Rewriter()
        satisfy_tensors(module, rewriter)
        required = [
            op
            for op in walk(module)
            if isinstance(op, RequireLayoutOp) and isinstance(op.src.type, MemDescType)
        ]
        if self.partition_conflicts == "keep":
            disputed = _disputed(required)
            required = [op for op in required if op not in disputed]
        decided: dict[SSAValue, tuple[Attribute, Operation]] = {}
        for op in required:
            if not _satisfy(op, decided, rewriter, engine):
                return
        for op in required:
            rewriter.replace_op(op, (), [op.src])


def _disputed(required: Sequence[RequireLayoutOp]) -> set[RequireLayoutOp]:
    """Requirements on buffers of which tasks need different layouts."""
    by_root = defaultdict[SSAValue, list[RequireLayoutOp]](list)
    needs = defaultdict[SSAValue, set[tuple[Region | None, Attribute | None]]](set)
    for op in required:
        root, layout = _root(op.src, unwrapped(memdesc_of(op.result).encoding))
        by_root[root].append(op)
        needs[root].add((_partition(op), layout))
    found = set[RequireLayoutOp]()
    for root, ops in by_root.items():
        tasks = {task for task, _ in needs[root]}
        layouts = {layout for _, layout in needs[root]}
        # A task that disagrees with itself is a conflict whatever the others do.
        if len(layouts) > 1 and len(tasks) == len(needs[root]):
            found.update(ops)
    return found


def _partition(op: Operation) -> Region | None:
    """The task that `op` is in."""
    region = op.parent_region()
    while region is not None:
        parent = region.parent_op()
        if parent is None or parent.name == PARTITIONS_OP:
            return region if parent is not None else None
        region = parent.parent_region()
    return None


def _satisfy(
    op: RequireLayoutOp,
    decided: dict[SSAValue, tuple[Attribute, Operation]],
    rewriter: Rewriter,
    engine: DiagnosticEngine,
) -> bool:
    """Give the buffer of `op` the layout that `op` requires; False if it cannot have it."""
    required = unwrapped(memdesc_of(op.result).encoding)
    root, layout = _root(op.src, required)
    has = memdesc_of(op.src).encoding
    if layout is None:
        engine.error(op, f"layout conflict: no view of the buffer has {required}", CONFLICT)
        return False
    known, first = decided.setdefault(root, (layout, op))
    if known != layout:
        _conflict(op, layout, known, first, engine)
        return False
    if unwrapped(has) == required:
        return True
    if isinstance(memdesc_of(root).encoding, UserLayout):
        owner = root.owner
        diagnostic = engine.error(op, f"layout conflict: {required} is required here", CONFLICT)
        diagnostic.note(owner if isinstance(owner, Operation) else None, "user-specified layout")
        return False
    try:
        retyped = retype_buffer(root, memdesc_of(root).with_encoding(layout), rewriter)
    except CannotFollow as problem:
        engine.error(op, f"layout conflict: {required} is required, but {problem}", CONFLICT)
        return False
    decided[retyped] = decided[root]
    return True


def _conflict(
    op: Operation, layout: Attribute, known: Attribute, first: Operation, engine: DiagnosticEngine
) -> None:
    diagnostic = engine.error(op, f"layout conflict: this use requires {layout}", CONFLICT)
    diagnostic.note(first, f"this use requires {known}; use two buffers")


def _root(value: SSAValue, layout: Attribute) -> tuple[SSAValue, Attribute | None]:
    """The buffer that `value` is a view of, and its layout if the view has `layout`."""
    found: Attribute | None = layout
    while found is not None:
        if isinstance(value, BlockArgument):
            parent = value.owner.parent_op()
            if parent is None or parent.name != PARTITIONS_OP:
                return value, found
            value = parent.operands[value.index]
            continue
        op = value.owner
        assert isinstance(op, Operation)
        if op.name in _SAME:
            value = op.operands[0]
        elif isinstance(op, MemDescTransOp):
            found = _turned_back(op, found)
            value = op.src
        else:
            return value, found
    return value, found


def _turned_back(op: MemDescTransOp, layout: Attribute) -> Attribute | None:
    order = integers(op.order)
    back = [order.index(dim) for dim in range(len(order))]
    shape = memdesc_of(op.result).shape
    return layout.after_trans(shape, back) if isinstance(layout, LayoutRules) else None
