"""Assign every buffer of a storage-alias spec its offset in the bytes of the spec.

    %spec = tile.storage_alias_spec shared
    %qk = tile.alloc alias %spec : 64x64xf32         %qk = tile.alloc alias %spec offset 0
    %p  = tile.alloc alias %spec : 64x64xf16    ->   %p  = tile.alloc alias %spec offset 0
    %m  = tile.alloc alias %spec : 64xf32            %m  = tile.alloc alias %spec offset 8192
    set_buffer_overlap %spec, shared(%qk, distinct(%p, %m))

The trees mean what they mean in ``tlx``, and the same code plans them (`memory.plan`, by address):
equal trees give equal bytes in both languages, and equal errors equal messages. An allocation of
`T` is one buffer, whatever its shape; a ``tlx`` array of several corresponds to as many
allocations. The plan is proved by `memory.checker`, which does not know the planner, before it is
written down: offsets on the allocations, the size on the spec.

Buffers of tensor memory are placed in columns of 128 lanes; their offset counts the bytes of the
columns before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tile import (
    AllocOp,
    LayoutAttr,
    ReuseGroupOp,
    SetBufferOverlapOp,
    StorageAliasSpecOp,
    TargetAttr,
)
from tilewright.dialects.tile.aliasing import IMPLIED
from tilewright.dialects.tile.base import integer_attr
from tilewright.dialects.tile.names import BUFFERS
from tilewright.dialects.type_utils import bit_width
from tilewright.ir.diagnostics import Diagnostic, DiagnosticEngine, Severity, locate, resolve
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import ancestors, walk
from tilewright.memory import (
    RULES,
    Buffer,
    Finding,
    Group,
    Leaf,
    Memory,
    Mode,
    Options,
    Path,
    Phase,
    Placement,
    PlanResult,
    ReuseKind,
    StoragePlan,
    StorageRegion,
    Swizzled,
    TmemPlaceholder,
    Tree,
    UnitError,
    check_plan,
    finding,
    infer_overlap,
    plan_region,
    smem_buffer,
    target_named,
    tmem_buffer,
)
from tilewright.memory import Severity as FindingSeverity
from tilewright.memory.targets import TMEM_COLUMN_BYTES, TMEM_ROWS
from tilewright.passes.tile.bind_target import TARGET
from tilewright.passes.tlx.storage_alias.messages import (
    ALWAYS_REPORTED,
    GENERAL_CODE,
    INTERNAL_CODE,
    code_of,
)

_SEVERITIES = {
    FindingSeverity.ERROR: Severity.ERROR,
    FindingSeverity.WARNING: Severity.WARNING,
    FindingSeverity.REMARK: Severity.REMARK,
}
_BYTES = {Memory.SMEM: 1, Memory.TMEM: TMEM_ROWS * TMEM_COLUMN_BYTES}
"""What a step of an address is worth."""


@dataclass(frozen=True)
class PlanStorageAlias(Pass):
    """Assign offsets to buffers that share storage, by their reuse groups."""

    name = "plan-storage-alias"

    report: bool = False
    """Also report what is legal and probably not meant."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        specs = [op for op in walk(module) if isinstance(op, StorageAliasSpecOp)]
        planned = [found for op in specs if (found := self._plan(op, engine)) is not None]
        if len(planned) < len(specs):
            return
        for spec, plan in planned:
            if plan is not None:
                _write(spec, plan)

    def _plan(
        self, op: StorageAliasSpecOp, engine: DiagnosticEngine
    ) -> tuple[_Spec, StoragePlan | None] | None:
        """The plan of a spec; None if there are errors."""
        try:
            spec = _collect(op)
        except _NotPlannable as problem:
            engine.error(problem.op, problem.message, problem.code)
            return None
        capacity = _capacity(op, spec.region.memory)
        options = Options(Mode.EXPLICIT, multi_overlap=False, capacity=capacity)
        inference = infer_overlap(spec.region, spec.implied, options)
        if any(found.is_error for found in inference.findings):
            self._report(spec, PlanResult(None, inference.findings), engine)
            return None
        spec = replace(spec, region=inference.region)
        result = plan_region(spec.region, options)
        if len(spec.region.buffers) > 1 and not spec.region.phases:
            alike = finding("W6", spec.region.name, count=len(spec.region.buffers))
            result = replace(result, findings=(*result.findings, alike))
        self._report(spec, result, engine)
        if result.errors:
            return None
        for name, alloc in spec.allocations.items():
            if result.plan is not None and not _is_contiguous(result.plan.of(name)):
                engine.error(
                    alloc, f"buffers of '{name}' that do not follow each other", GENERAL_CODE
                )
                return None
        if result.plan is not None:
            for violation in check_plan(result.plan, capacity):
                message = f"internal compiler error in {self.name}: {violation}"
                engine.error(op, message, INTERNAL_CODE)
                return None
        return spec, result.plan

    def _report(self, spec: _Spec, result: PlanResult, engine: DiagnosticEngine) -> None:
        errors = result.errors
        first = min((found.step for found in errors), default=0)
        for found in result.findings:
            if found.is_error and found.step > first:
                continue  # an earlier step explains it
            if not found.is_error and (errors or not self._is_reported(found)):
                continue
            where = locate(spec.location_of(found))
            diagnostic = Diagnostic(
                _SEVERITIES[found.severity], found.message, where, code_of(found.rule)
            )
            for note in found.notes:
                diagnostic.note(None, note)
            if found.rule == "E3":
                diagnostic.note(spec.overlaps[0], "the first definition is here")
            engine.emit(diagnostic)

    def _is_reported(self, found: Finding) -> bool:
        return self.report or found.rule in ALWAYS_REPORTED


@dataclass
class _NotPlannable(Exception):
    op: Operation
    message: str
    code: str = GENERAL_CODE


@dataclass(frozen=True)
class _Spec:
    """A spec with everything that refers to it."""

    op: StorageAliasSpecOp
    region: StorageRegion
    allocations: dict[str, AllocOp]
    overlaps: list[SetBufferOverlapOp] = field(default_factory=list[SetBufferOverlapOp])
    implied: tuple[Group, ...] = ()
    """Groups that define the overlap where no definition does."""

    def location_of(self, found: Finding) -> Operation:
        """The op that a finding is about."""
        subject = RULES[found.rule].subject
        if subject == "leaf":
            return self.allocations.get(found.subject, self.op)
        if subject == "group" and self.overlaps:
            return _follow(self.overlaps[-1].group, found.path or ())
        if subject == "overlap" and self.overlaps:
            return self.overlaps[-1]
        return self.op


def _follow(root: SSAValue, path: Path) -> Operation:
    """The group that `path` leads to, or the one around the leaf it leads to."""
    group = root.owner
    assert isinstance(group, ReuseGroupOp)  # verified
    for index in path:
        below = group.elements[index].owner
        if not isinstance(below, ReuseGroupOp):
            break
        group = below
    return group


# -- from ops to regions -------------------------------------------------------------------------


def _collect(op: StorageAliasSpecOp) -> _Spec:
    users = [use.operation for use in op.result.uses]
    allocations = {each.result: each for each in users if isinstance(each, AllocOp)}
    in_order = sorted(allocations.values(), key=_position)
    memory = Memory.TMEM if op.storage.data == "tmem" else Memory.SMEM
    buffers: dict[SSAValue, Buffer] = {}
    for alloc in in_order:
        name = _unique(alloc.buffer_name, {each.name for each in buffers.values()})
        buffers[alloc.result] = _buffer(alloc, name, memory)
    overlaps = sorted(
        (each for each in users if isinstance(each, SetBufferOverlapOp)), key=_position
    )
    region = StorageRegion(
        op.result.name_hint or "spec",
        memory,
        tuple(buffers.values()),
        tuple(Phase(_tree(each.group, buffers)) for each in overlaps if not _is_implied(each)),
        op.size,
        _source(op),
    )
    named = {buffers[alloc.result].name: alloc for alloc in in_order}
    trees = (_tree(each.group, buffers) for each in overlaps if _is_implied(each))
    return _Spec(op, region, named, overlaps, tuple(t for t in trees if isinstance(t, Group)))


def _is_implied(overlap: SetBufferOverlapOp) -> bool:
    return IMPLIED in overlap.attributes


def _position(op: Operation) -> int:
    """The index of an op in its block: the order of uses is arbitrary."""
    block = op.parent
    return 0 if block is None else block.get_operation_index(op)


def _unique(name: str, taken: set[str]) -> str:
    found, suffix = name, 0
    while found in taken:
        suffix += 1
        found = f"{name}.{suffix}"
    return found


def _buffer(alloc: AllocOp, name: str, memory: Memory) -> Buffer:
    shape, source = alloc.type.get_shape(), _source(alloc)
    if any(extent < 0 for extent in shape):
        message = "a buffer with aliased storage requires extents known at compile time"
        raise _NotPlannable(alloc, message)
    layout = alloc.layout
    if isinstance(layout, LayoutAttr):
        shape = layout.data.physical_shape()
    try:
        bits = bit_width(alloc.type.element_type)
        if memory is Memory.TMEM:
            return tmem_buffer(name, (1, *shape), bits, TmemPlaceholder(), source)
        if BUFFERS not in alloc.attributes:
            shape = (1, *shape)
        return smem_buffer(name, shape, bits, Swizzled(), source)
    except UnitError as error:
        code = GENERAL_CODE if error.rule is None else code_of(error.rule)
        raise _NotPlannable(alloc, str(error), code) from None
    except TypeError as error:
        raise _NotPlannable(alloc, str(error)) from None


def _tree(value: SSAValue, buffers: dict[SSAValue, Buffer]) -> Tree:
    op = value.owner
    if not isinstance(op, ReuseGroupOp):
        return Leaf(buffers[value])
    children = tuple(_tree(element, buffers) for element in op.elements)
    return Group(ReuseKind(op.kind.data), children, op.size, _source(op))


def _source(op: Operation) -> str:
    position = resolve(op.location).primary
    return "" if position is None else f"{position.file}:{position.line}"


def _capacity(op: Operation, memory: Memory) -> int | None:
    """The capacity of a memory of the target; None if it is unknown."""
    for function in ancestors(op):
        bound = function.attributes.get(TARGET)
        if isinstance(function, FuncOp) and isinstance(bound, TargetAttr):
            try:
                return target_named(bound.data.arch or "").capacity(memory)
            except LookupError:
                return None
    return None


def _is_contiguous(placed: Placement) -> bool:
    """Whether the buffers of an array follow each other, as `tile.slot` counts them."""
    levels = placed.active
    return not levels or (len(levels) == 1 and levels[0].block == placed.buffer.unit)


def _write(spec: _Spec, plan: StoragePlan) -> None:
    scale = _BYTES[spec.region.memory]
    for name, alloc in spec.allocations.items():
        placed = integer_attr(plan.of(name).offset * scale)
        assert placed is not None  # an offset was given
        alloc.properties["offset"] = placed
    size = integer_attr(plan.backing.size_bytes)
    assert size is not None
    spec.op.properties["size_bytes"] = size
