"""IR as a tree of Python functions, one an op.

A rule takes an op once, looks up the slots of its operands and results, and returns a function of a
frame. Functions of ops that may have to wait are generators; those of a block that has none
run without one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.simt.target import NVIDIA_WARP
from tilewright.ir.codes.shared import NOT_ON_NUMPY
from tilewright.ir.diagnostics import Diagnostic, Severity
from tilewright.targets.numpy.errors import Unsupported
from tilewright.targets.numpy.simt.machine import Steps
from tilewright.targets.numpy.simt.state import Frame

Act: TypeAlias = Callable[[Frame], None]
Process: TypeAlias = Callable[[Frame], Steps]


@dataclass(frozen=True)
class Blocking:
    """An op that may wait."""

    process: Process


Rule: TypeAlias = Callable[["Compiler", Operation], "Act | Blocking | None"]
"""None: nothing to do."""

_ENDS = frozenset(("scf.yield", "tile.yield", "func.return", "scf.condition"))


@dataclass
class SimtCode:
    """The ops of a block, in order."""

    steps: list[tuple[Operation, Act | None, Process | None]]
    results: list[int]
    """Slots of what its end yields."""

    def __post_init__(self) -> None:
        self.may_wait = any(process is not None for _, _, process in self.steps)

    def run(self, frame: Frame) -> None:
        """For a block in which nothing waits."""
        for op, act, _ in self.steps:
            frame.op = op
            assert act is not None
            act(frame)
        frame.block.steps += len(self.steps)

    def process(self, frame: Frame) -> Steps:
        for op, act, process in self.steps:
            frame.op = op
            frame.block.count_step()
            if act is not None:
                act(frame)
            else:
                assert process is not None
                yield from process(frame)


@dataclass
class Compiler:
    """Makes the code of one function."""

    rules: Mapping[str, Rule]
    slots: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    tracked: set[SSAValue] = field(default_factory=set[SSAValue])
    """Registers used by asynchronous MMAs."""
    offsets: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """Where shared buffers and barriers begin."""
    has_init: bool = True
    """Whether barriers are set up by ops of their own."""
    warp_size: int = NVIDIA_WARP
    """Lanes of a warp of the kernel that is compiled."""

    def slot(self, value: SSAValue) -> int:
        """The slot of a value."""
        return self.slots.setdefault(value, len(self.slots))

    def all_slots(self, values: Any) -> list[int]:
        return [self.slot(each) for each in values]

    def code(self, block: Block) -> SimtCode:
        steps: list[tuple[Operation, Act | None, Process | None]] = []
        for op in block.ops:
            if op.name in _ENDS:
                continue
            made = self.rule(op)
            if isinstance(made, Blocking):
                steps.append((op, None, made.process))
            elif made is not None:
                steps.append((op, made, None))
        end = block.last_op
        operands = [] if end is None or end.name not in _ENDS else list(end.operands)
        return SimtCode(steps, self.all_slots(operands))

    def rule(self, op: Operation) -> Act | Blocking | None:
        found = self.rules.get(op.name)
        if found is None:
            raise unsupported(
                op, f"'{op.name}' is not supported at the thread level of the NumPy target"
            )
        return found(self, op)


def unsupported(op: Operation, message: str) -> Unsupported:
    """An error before anything runs."""
    return Unsupported(Diagnostic(Severity.ERROR, message, op.location, NOT_ON_NUMPY))
