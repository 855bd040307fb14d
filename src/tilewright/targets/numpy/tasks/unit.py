"""State of the emitter of tasks, beyond that of every emitter.

A buffer, a barrier and a token are Python objects in one variable: a `Tensor` without axes.

The result of an asynchronous wgmma is an array that is filled in later. Values that may be such an
array are found before code is written (`in_flight`); an op that looks at one of them gets a check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from typing_extensions import override
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tilewright.dialects.scf import ForOp, IfOp, WhileOp
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttg.warps import WarpSpecializeOp
from tilewright.dialects.ttng.wgmma import WarpGroupDotOp, WarpGroupDotWaitOp
from tilewright.ir.traversal import walk
from tilewright.memory import UnitError
from tilewright.targets.numpy.emitter import Emitter, Unit
from tilewright.targets.numpy.tasks.placement import Placement, kind_of
from tilewright.targets.numpy.tasks.support.arena import ArenaKind
from tilewright.targets.numpy.values import EmittedBlock as Described
from tilewright.targets.numpy.values import Expr, Value

_HANDS_ON = frozenset(
    ("tlx.release_layout", "tlx.require_layout", "ttg.convert_layout", "scf.for", "scf.while")
)
_WAITS = frozenset(("ttng.warp_group_dot", "ttng.warp_group_dot_wait"))
_OF_AMD = ("amdg.", "rocdl.", "amdgpu.")
_ENDS = frozenset(("scf.yield", "scf.condition", "ttg.warp_yield"))


@dataclass
class TaskUnit(Unit):
    """What the functions of one kernel share."""

    placement: Placement = field(default_factory=Placement)
    pitch: int = 0
    """Bytes of a row of tensor memory."""
    in_flight: frozenset[SSAValue] = frozenset()
    kinds: dict[ArenaKind, int] = field(default_factory=dict[ArenaKind, int])

    def kind(self, type: MemDescType) -> int:
        """The number of a buffer type in the table of kinds."""
        return self.kinds.setdefault(kind_of(type, self.pitch), len(self.kinds))


class TaskEmitter(Emitter):
    """Writes tasks."""

    def __init__(self, unit: TaskUnit) -> None:
        super().__init__(unit)
        self._stored: dict[int, tuple[Described, Callable[[], Described]]] = {}
        """Descriptors that are in memory, by identity, and how to read them."""

    def stored(self, read: Callable[[], Described]) -> Described:
        """A descriptor that `read` reads; every op that uses it does so again."""
        made = read()
        self._stored[id(made)] = made, read
        return made

    @property
    def tasks(self) -> TaskUnit:
        assert isinstance(self.unit, TaskUnit)
        return self.unit

    def kind(self, value: SSAValue) -> int:
        """The number of the kind of a buffer."""
        assert isinstance(value.type, MemDescType)
        try:
            return self.tasks.kind(value.type)
        except UnitError as error:
            raise self.unsupported(str(error)) from None

    def current_source_id(self) -> int:
        """The number of the current op's location."""
        return self.unit.source_id(self.location)

    def pause(self) -> None:
        """Others may run in between."""
        self.effect("yield")

    def effect_expr(self, template: str, *operands: Expr, axes: int, rank: int) -> Expr:
        """An expression that is computed whether or not its value is used."""
        expr = self.here(template, *operands, axes=axes, rank=rank)
        assert expr.line is not None
        expr.line.is_effect = True
        return expr

    @override
    def op(self, op: Operation) -> None:
        if op.name not in self.unit.rules:
            self.location = op.location
            kind = "AMD op " if op.name.startswith(_OF_AMD) else ""
            raise self.unsupported(
                f"{kind}'{op.name}' is not supported on target numpy",
                "its IR is generated and verified, not executed; remove the op to run the kernel",
            )
        if self.tasks.in_flight and op.name not in _HANDS_ON | _WAITS | _ENDS:
            self.location = op.location
            for operand in op.operands:
                if operand in self.tasks.in_flight:
                    text = f"{{0}}.landed({self.current_source_id()}, {{1}})"
                    self.effect(text, self.runtime, self.expr(operand))
        retained = self._read_again(op) if self._stored and not op.regions else {}
        super().op(op)
        self.values.update(retained)

    def _read_again(self, op: Operation) -> dict[SSAValue, Value]:
        """Give `op` descriptors as they are in memory by now; what they stood for before."""
        self.location = op.location
        retained: dict[SSAValue, Value] = {}
        for operand in op.operands:
            found = self.values.get(operand)
            if isinstance(found, Described) and id(found) in self._stored:
                retained[operand] = found
                self.values[operand] = self._stored[id(found)][1]()
        return retained


def emitter_of(emitter: Emitter) -> TaskEmitter:
    """The emitter that a rule of tasks was given."""
    assert isinstance(emitter, TaskEmitter)
    return emitter


# What may be in flight.


def in_flight(module: ModuleOp) -> frozenset[SSAValue]:
    """Values that may be the result of an MMA in flight."""
    found: dict[SSAValue, None] = {}
    pending: list[SSAValue] = [
        op.d
        for op in walk(module)
        if isinstance(op, WarpGroupDotOp) and bool(op.is_async.value.data)
    ]
    while pending:
        value = pending.pop()
        if value in found:
            continue
        found[value] = None
        for use in value.uses:
            pending.extend(_handed_on(use.operation, use.index))
    return frozenset(found)


def _handed_on(op: Operation, index: int) -> Iterable[SSAValue]:
    """The values that operand `index` of an op may become."""
    if op.name in ("tlx.release_layout", "tlx.require_layout", "ttg.convert_layout"):
        return op.results
    if isinstance(op, WarpGroupDotWaitOp):  # one that leaves MMAs in flight
        return [op.outputs[index]] if op.pendings.value.data else []
    if isinstance(op, ForOp):
        return [] if index < 3 else [op.iter_args[index - 3], op.results[index - 3]]
    if isinstance(op, WhileOp):
        return [op.before_region.block.args[index]]
    parent = op.parent_op()
    if op.name == "scf.yield" and isinstance(parent, ForOp):
        return [parent.iter_args[index], parent.results[index]]
    if op.name == "scf.yield" and isinstance(parent, WhileOp):
        return [parent.before_region.block.args[index]]
    if op.name == "scf.condition" and isinstance(parent, WhileOp) and index > 0:
        return [parent.after_region.block.args[index - 1], parent.results[index - 1]]
    if op.name in ("scf.yield", "ttg.warp_yield") and isinstance(parent, IfOp | WarpSpecializeOp):
        return [parent.results[index]]
    return []


def source_of(value: SSAValue) -> SSAValue:
    """The allocation that a buffer or barrier is a view of, if that is known."""
    while True:
        owner = value.owner
        if isinstance(owner, Block):
            found = _capture(value)
            if found is None:
                return value
            value = found
        elif owner.name.startswith(_VIEWS):
            value = owner.operands[0]
        else:
            return value


_VIEWS = ("ttg.memdesc_", "tlx.", "ttng.map_to_remote", "ttng.tmem_subslice")


def _capture(value: SSAValue) -> SSAValue | None:
    """What a partition's argument, or what a loop carries, is at first."""
    if not isinstance(value, BlockArgument):
        return None
    parent = value.block.parent_op()
    if parent is None:
        return None
    if parent.name == "ttg.warp_specialize.partitions":
        return parent.operands[value.index]
    if isinstance(parent, ForOp) and value.index > 0:
        return parent.operands[2 + value.index]
    return None
