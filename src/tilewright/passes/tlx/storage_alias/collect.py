"""Collects the storage aliases of a module: specs, their allocations, groups and overlaps.

``memory`` speaks of buffers by name and of groups by their path in a tree; a `Spec` keeps the way
back to the ops, so that findings can be shown where they belong. Names are those of the source (the
SSA name, or the name in the location) and made unique in the module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, OpResult, SSAValue

from tilewright.dialects.tlx import (
    ReuseGroupOp,
    SetBufferOverlapOp,
    StorageAliasLocalAllocOp,
    StorageAliasSpecOp,
    leaves_of,
)
from tilewright.dialects.ttg.checks import memdesc
from tilewright.ir.diagnostics import resolve
from tilewright.ir.traversal import walk
from tilewright.memory import (
    Buffer,
    Group,
    Leaf,
    Memory,
    Path,
    Phase,
    ReuseKind,
    StorageRegion,
    Tree,
    UnitError,
)
from tilewright.passes.tlx.storage_alias.carriers import array_of

OpT = TypeVar("OpT", bound=Operation)

PHASE = "phase"
"""The attribute of an overlap definition that names it where there are several."""

NOT_A_LEAF = "could not find StorageAliasLocalAllocOp in overlap definition"
NO_SPEC = "storage_alias_spec not found for this allocation"
IMMUTABLE = "allocations from a storage_alias_spec share storage and must be mutable"
NAMELESS = "the phase of an overlap definition is a string"
_OTHER_MEMORY = "storage = {kind} contradicts the type of the spec, which is used for {memory}"


@dataclass(frozen=True)
class SpecError:
    """Something wrong with one op, in the step that has to care."""

    op: Operation
    message: str
    step: int
    rule: str | None = None


@dataclass(frozen=True)
class Spec:
    """One spec with everything that refers to it. `region` is what ``memory`` gets to see."""

    op: StorageAliasSpecOp
    region: StorageRegion
    allocations: Mapping[str, StorageAliasLocalAllocOp]
    overlaps: tuple[SetBufferOverlapOp, ...] = ()
    groups: tuple[ReuseGroupOp, ...] = ()
    """Groups of this spec's allocations that no overlap definition speaks of."""

    @property
    def is_understood(self) -> bool:
        """Whether all allocations from this spec are known, so that planning makes sense."""
        users = (use.operation for use in self.op.result.uses)
        count = sum(isinstance(user, StorageAliasLocalAllocOp) for user in users)
        return count == len(self.allocations)

    def with_region(self, region: StorageRegion) -> Spec:
        return replace(self, region=region)

    def roots(self) -> Iterator[tuple[Operation, SSAValue]]:
        """Every tree: the op that stands for it, and its root."""
        for overlap in self.overlaps:
            yield overlap, overlap.overlap_def
        for group in self.groups:
            yield group, group.result

    def group_at(self, path: Path, label: str) -> Operation:
        """The group op at the end of `path`; `label` selects the tree, the last tree else."""
        found = [op for _, root in self.roots() if (op := _follow(root, path)) is not None]
        labelled = [op for op in found if _label(op) == label]
        return (labelled or found[-1:] or [self.op])[0]

    def overlap_of(self, buffer: str) -> Operation:
        """The last op that defines how `buffer` overlaps others."""
        preferred = self.allocations[buffer].result
        saying = [op for op, root in self.roots() if preferred in leaves_of(root)]
        return saying[-1] if saying else self.op


@dataclass(frozen=True)
class Collected:
    """All specs of a module, in module order, and what could not be understood."""

    specs: tuple[Spec, ...]
    problems: tuple[SpecError, ...] = ()
    buffers: Mapping[SSAValue, Buffer] = field(default_factory=dict[SSAValue, Buffer])

    def groups_of(self, spec: Spec) -> tuple[Group, ...]:
        """The groups of `spec` that no overlap definition speaks of, as trees."""
        trees = (tree_of(group.result, self.buffers) for group in spec.groups)
        return tuple(tree for tree in trees if isinstance(tree, Group))


def _follow(root: SSAValue, path: Path) -> ReuseGroupOp | None:
    """The group that `path` leads to, or the one around it where it leads to a leaf."""
    group = root.owner
    for index in path:
        if not isinstance(group, ReuseGroupOp) or index >= len(group.elements):
            return None
        below = group.elements[index].owner
        group = below if isinstance(below, ReuseGroupOp) else group
    return group if isinstance(group, ReuseGroupOp) else None


def _label(op: ReuseGroupOp) -> str:
    return op.kind + (f"*{op.size}" if op.size != 1 else "")


def function_of(op: Operation) -> Operation:
    """The function around `op`: kernels do not share memory, so each is looked at by itself."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, ModuleOp):
        op, parent = parent, parent.parent_op()
    return op


def source_of(op: Operation) -> str:
    """File and line, human-readable."""
    position = resolve(op.location).primary
    return "" if position is None else f"{position.file}:{position.line}"


class Names:
    """Makes names that occur once in the module, and none that is `taken` already."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._used: set[str] = {*taken}
        self._count = 0

    def of(self, value: SSAValue, fallback: str) -> str:
        """The name of `value` in the source, or ``fallback0``, ``fallback1``, …"""
        preferred = value.name_hint or _located_name(value)
        if preferred is None:
            preferred = f"{fallback}{self._count}"
            self._count += 1
        name, suffix = preferred, 0
        while name in self._used:
            suffix += 1
            name = f"{preferred}.{suffix}"
        self._used.add(name)
        return name


def _located_name(value: SSAValue) -> str | None:
    if not isinstance(value, OpResult):
        return None
    names = resolve(value.op.location).names
    return names[-1] if names else None


class _Collector:
    """Goes over a module once."""

    def __init__(self, module: ModuleOp) -> None:
        self.ops = list(walk(module))
        self.problems: list[SpecError] = []
        self.buffers: dict[SSAValue, Buffer] = {}
        self.below: dict[SSAValue, frozenset[SSAValue]] = {}

    def collect(self) -> Collected:
        specs, allocations = self._only(StorageAliasSpecOp), self._only(StorageAliasLocalAllocOp)
        if not specs and not allocations:
            return Collected(())
        names = Names()
        spec_names = {op: names.of(op.result, "spec") for op in specs}
        by_spec: dict[StorageAliasSpecOp, dict[str, StorageAliasLocalAllocOp]] = {
            op: {} for op in specs
        }
        for op in allocations:
            self._add_allocation(op, names.of(op.result, "buffer"), by_spec)
        overlaps, groups = self._only(SetBufferOverlapOp), self._only(ReuseGroupOp)
        found = tuple(self._spec(op, spec_names[op], by_spec[op], overlaps, groups) for op in specs)
        return Collected(found, tuple(self.problems), self.buffers)

    def _only(self, kind: type[OpT]) -> list[OpT]:
        return [op for op in self.ops if isinstance(op, kind)]

    def _add_allocation(
        self,
        op: StorageAliasLocalAllocOp,
        name: str,
        by_spec: Mapping[StorageAliasSpecOp, dict[str, StorageAliasLocalAllocOp]],
    ) -> None:
        spec = op.storage_alias.owner
        if not isinstance(spec, StorageAliasSpecOp):
            self.problems.append(SpecError(op, NO_SPEC, 3))
            return
        if not memdesc(op.result.type).mutable:
            self.problems.append(SpecError(op, IMMUTABLE, 1))
            return
        try:
            buffer = array_of(name, op.result, source_of(op))
        except ValueError as error:
            rule = error.rule if isinstance(error, UnitError) else None
            self.problems.append(SpecError(op, str(error), 1, rule))
            return
        if buffer.memory is not Memory(spec.storage_kind):
            # The op and its type name different memories, and the allocation believed the type.
            text = _OTHER_MEMORY.format(kind=spec.storage_kind, memory=buffer.memory.full_name)
            problem = SpecError(spec, text, 0)
            if problem not in self.problems:
                self.problems.append(problem)
            return
        self.buffers[op.result] = buffer
        by_spec[spec][name] = op

    def _spec(
        self,
        op: StorageAliasSpecOp,
        name: str,
        allocations: Mapping[str, StorageAliasLocalAllocOp],
        overlaps: Sequence[SetBufferOverlapOp],
        groups: Sequence[ReuseGroupOp],
    ) -> Spec:
        defined = tuple(each for each in overlaps if each.storage_alias_spec is op.result)
        own = {alloc.result for alloc in allocations.values()}
        free = tuple(g for g in groups if not defined and own.intersection(self._below(g.result)))
        region = StorageRegion(
            name,
            Memory(op.storage_kind),
            tuple(self.buffers[value] for value in self.buffers if value in own),
            tuple(phase for each in defined if (phase := self._phase(each)) is not None),
            op.size,
            source_of(op),
        )
        return Spec(op, region, allocations, defined, free)

    def _below(self, value: SSAValue) -> frozenset[SSAValue]:
        """The leaves below a group, each once. Memoised, since groups may share leaves."""
        op = value.owner
        if not isinstance(op, ReuseGroupOp):
            return frozenset((value,))
        if value not in self.below:
            self.below[value] = frozenset[SSAValue]().union(*map(self._below, op.elements))
        return self.below[value]

    def _phase(self, overlap: SetBufferOverlapOp) -> Phase | None:
        if any(not isinstance(v.owner, StorageAliasLocalAllocOp) for v in _leaves(overlap)):
            self.problems.append(SpecError(overlap, NOT_A_LEAF, 2))
        tree = tree_of(overlap.overlap_def, self.buffers)
        name = overlap.attributes.get(PHASE)
        if name is not None and not isinstance(name, StringAttr):
            self.problems.append(SpecError(overlap, NAMELESS, 2))
        phase = name.data if isinstance(name, StringAttr) else ""
        return None if tree is None else Phase(tree, phase)


def _leaves(overlap: SetBufferOverlapOp) -> Iterator[SSAValue]:
    return leaves_of(overlap.overlap_def)


def has_repetitions(group: ReuseGroupOp) -> bool:
    """Whether something is in `group` twice. A group in a group in a group has no end of leaves."""
    seen: set[SSAValue] = set()
    pending = [*group.elements]
    while pending:
        value = pending.pop()
        if value in seen:
            return True
        seen.add(value)
        if isinstance(value.owner, ReuseGroupOp):
            pending += value.owner.elements
    return False


def tree_of(value: SSAValue, buffers: Mapping[SSAValue, Buffer]) -> Tree | None:
    """The tree of groups below `value`; None where a leaf is not one of `buffers`."""
    op = value.owner
    if not isinstance(op, ReuseGroupOp):
        return Leaf(buffers[value]) if value in buffers else None
    children = [tree_of(element, buffers) for element in op.elements]
    known = tuple(child for child in children if child is not None)
    if len(known) != len(children):
        return None
    return Group(ReuseKind(op.kind), known, op.size, source_of(op))


def collect(module: ModuleOp) -> Collected:
    """All specs of `module`."""
    return _Collector(module).collect()
