"""Reuse of a plain buffer, rewritten as a spec.

Before there were specs, a buffer was put over another by ``local_alloc(..., reuse=other)``, in IR
``tlx.local_alias`` of an allocation. That is a region without a tree: all from offset 0, at the
user's responsibility. It becomes a spec, so that sizes, alignment, checks and diagrams hold::

    %a = ttg.local_alloc : () -> A          %s = tlx.storage_alias_spec storage = smem
    %b = tlx.local_alias %a : A -> B        %a = tlx.storage_alias_local_alloc %s -> A
                                            %b = tlx.storage_alias_local_alloc %s -> B

Where the owner is in a spec already, the newcomer joins it, outside of the tree. Views that the
lowering has made carry a record and are left alone; so is an alias of anything but an allocation,
which ``tlx-rewrite-local-alias`` reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tlx import (
    LocalAliasOp,
    StorageAliasLocalAllocOp,
    StorageAliasSpecOp,
)
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.memory import LocalAllocOp
from tilewright.dialects.ttg.views import MemDescIndexOp
from tilewright.dialects.ttng.tmem import TMEMAllocOp
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.memory import Finding, finding
from tilewright.passes.tlx.storage_alias.buffers import memory_of
from tilewright.passes.tlx.storage_alias.collect import SpecError
from tilewright.passes.tlx.storage_alias.record import PLACEMENT

INDEXED = "reuse= requires a whole allocation, got one buffer of an array"

_PlainAllocation = LocalAllocOp | TMEMAllocOp


@dataclass(frozen=True)
class Retired:
    """The rewritten old form: warnings, one for each reuse, and errors.

    `specs` are those that replace it; that their buffers all overlap is intended.
    """

    findings: tuple[tuple[Operation, Finding], ...] = ()
    problems: tuple[SpecError, ...] = ()
    specs: frozenset[Operation] = frozenset()


def retire_reuse(module: ModuleOp, rewriter: Rewriter) -> Retired:
    """Rewrite every legacy alias of `module`; nothing is changed where one cannot be."""
    aliases = list(_legacy_aliases(module))
    problems = tuple(
        SpecError(alias, INDEXED, 0)
        for alias in aliases
        if isinstance(root_of(alias).owner, MemDescIndexOp)
    )
    if problems:
        return Retired(problems=problems)
    findings: list[tuple[Operation, Finding]] = []
    made: set[Operation] = set()
    for alias in aliases:
        root = root_of(alias)
        is_new = isinstance(root.owner, _PlainAllocation)
        spec = _spec_of(root, rewriter)
        if spec is None:
            continue
        if is_new and isinstance(spec.owner, Operation):
            made.add(spec.owner)
        newcomer = StorageAliasLocalAllocOp(spec, memdesc(alias.result.type))
        owner = root.name_hint or "buffer"
        rewriter.replace_op(alias, newcomer)
        # In a spec the owner may have any offset, and an alias of it used to have the same one.
        note = f"the buffer starts at offset 0 of the spec, whatever the offset of '{owner}'"
        notes = (note,) if spec.owner not in made else ()
        findings.append((newcomer, finding("W5", owner=owner, notes=notes)))
    return Retired(tuple(findings), specs=frozenset(made))


def _legacy_aliases(module: ModuleOp) -> Iterator[LocalAliasOp]:
    for op in walk(module):
        if isinstance(op, LocalAliasOp) and PLACEMENT not in op.attributes:
            yield op


def root_of(alias: LocalAliasOp) -> SSAValue:
    """What an alias is an alias of in the end."""
    value = alias.src
    while isinstance(value.owner, LocalAliasOp):
        value = value.owner.src
    return value


def _spec_of(root: SSAValue, rewriter: Rewriter) -> SSAValue | None:
    """The spec that `root` is allocated from; a plain allocation gets one of its own."""
    owner = root.owner
    if isinstance(owner, StorageAliasLocalAllocOp):
        return owner.storage_alias
    if not isinstance(owner, _PlainAllocation) or not _is_plain(owner) or _is_lowered(root):
        return None
    type = memdesc(root.type)
    spec = StorageAliasSpecOp(memory_of(type).value)
    rewriter.insert_before(owner, spec)
    allocation = StorageAliasLocalAllocOp(spec.result, type)
    rewriter.insert_before(owner, allocation)
    rewriter.replace_all_uses(root, allocation.result)
    rewriter.erase(owner)
    return spec.result


def _is_lowered(root: SSAValue) -> bool:
    """Whether `root` is the storage of a spec already."""
    return any(PLACEMENT in use.operation.attributes for use in root.uses)


def _is_plain(op: _PlainAllocation) -> bool:
    """Whether `op` only reserves memory: no contents, no token, no wish that a spec lacks."""
    if op.src is not None or len(op.results) != 1:
        return False
    return not isinstance(op, LocalAllocOp) or op.alignment is None
