"""Overlap definitions that the groups of a kernel imply.

    g = tlx.reuse_group(a, b, group_type=distinct)      nothing names g

Making a group already defines how its buffers overlap. In a traced kernel every spec without a
``tlx.set_buffer_overlap`` gets one: the groups that are part of no other group are the roots, and a
single root is the tree. Of several, the one with most leaves is placed, and the others have to hold
there, or the module is refused. An explicit definition wins.

This is for kernels written in Python. Text is lowered as it is written; there
``infer-overlap=true`` does the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import SSAValue

from tilewright.dialects.tlx import (
    ReuseGroupOp,
    SetBufferOverlapOp,
    StorageAliasLocalAllocOp,
    leaves_of,
)
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.memory import Mode, Options, finding, infer_overlap
from tilewright.passes.tlx.storage_alias.collect import PHASE, collect, has_repetitions
from tilewright.passes.tlx.storage_alias.messages import GENERAL_CODE, code_of

DUPLICATES = "V3"
UNPLACED = (
    "the storage_alias_spec of this reuse_group has several groups and no set_buffer_overlap, and "
    "they cannot be compared before the layouts of its buffers are known: put them into one tree "
    "and pass it to set_buffer_overlap"
)


def define_overlaps(module: ModuleOp, engine: DiagnosticEngine) -> None:
    """Add the definitions that groups of `module` imply."""
    groups = [op for op in walk(module) if isinstance(op, ReuseGroupOp)]
    if not groups:
        return
    explicit = {op.storage_alias_spec for op in walk(module) if isinstance(op, SetBufferOverlapOp)}
    roots: dict[SSAValue, list[ReuseGroupOp]] = {}
    for group in groups:
        spec = _spec_of(group)
        if spec is None or spec in explicit or not _is_root(group):
            continue
        if has_repetitions(group):
            engine.error(group, finding(DUPLICATES).message, code_of(DUPLICATES))
            return
        roots.setdefault(spec, []).append(group)
    for spec, found in roots.items():
        if len(found) == 1 or _hold_together(spec, found, module, engine):
            _define(spec, max(found, key=_leaf_count))


def named_phases(module: ModuleOp) -> bool:
    """Whether some spec has several definitions, and each has a name of its own."""
    phases: dict[SSAValue, list[str | None]] = {}
    for op in walk(module):
        if isinstance(op, SetBufferOverlapOp):
            name = op.attributes.get(PHASE)
            text = name.data if isinstance(name, StringAttr) and name.data else None
            phases.setdefault(op.storage_alias_spec, []).append(text)
    several = [names for names in phases.values() if len(names) > 1]
    return bool(several) and all(
        None not in names and len(set(names)) == len(names) for names in several
    )


def _spec_of(group: ReuseGroupOp) -> SSAValue | None:
    """The spec that the buffers of `group` are allocated from; None where there is not just one."""
    owners = [leaf.owner for leaf in leaves_of(group.result)]
    allocations = [op for op in owners if isinstance(op, StorageAliasLocalAllocOp)]
    specs = {op.storage_alias for op in allocations}
    return specs.pop() if len(specs) == 1 and len(allocations) == len(owners) else None


def _is_root(group: ReuseGroupOp) -> bool:
    return not any(isinstance(use.operation, ReuseGroupOp) for use in group.result.uses)


def _leaf_count(group: ReuseGroupOp) -> int:
    return sum(1 for _ in leaves_of(group.result))


def _hold_together(
    spec: SSAValue, roots: Sequence[ReuseGroupOp], module: ModuleOp, engine: DiagnosticEngine
) -> bool:
    """Whether all of `roots` hold where the largest is placed; if not, that is an error."""
    collected = collect(module)
    known = next((each for each in collected.specs if each.op.result is spec), None)
    if known is None or not known.is_understood:
        engine.error(roots[1], UNPLACED, GENERAL_CODE)
        return False
    groups = collected.groups_of(known)
    findings = infer_overlap(known.region, groups, Options(Mode.EXPLICIT)).findings
    for found in findings:
        diagnostic = engine.error(known.op, found.message, code_of(found.rule))
        for root in roots:
            diagnostic.note(root, "one of the groups")
        diagnostic.note(
            None, "put both into one tree, or pass the one that counts to set_buffer_overlap"
        )
    return not findings


def _define(spec: SSAValue, root: ReuseGroupOp) -> None:
    Rewriter().insert_after(root, SetBufferOverlapOp(spec, root.result))
