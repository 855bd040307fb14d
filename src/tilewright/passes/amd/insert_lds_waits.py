"""`insert-lds-waits`: a wave waits for its direct copies to LDS before their data is read.

    amd.load_lds %A -> %As_1       ->    amd.load_lds %A -> %As_1
    amd.load_lds %B -> %Bs_1             amd.load_lds %B -> %Bs_1
    read %As_0, %Bs_0                    amd.wait loads(2)
                                         read %As_0, %Bs_0

Copies of a wave land in order, so waiting for one leaves those in flight that were started after
it: the pass counts them, on every path to the read, and takes the fewest. Tiles whose copies were
started together are waited for together, as a barrier follows each wait (`insert-thread-syncs`).

If copies are further ahead than one iteration, the wait is moved before those that were just
started, with a barrier: it also lets them overwrite a tile. Otherwise it would be a wait for
everything, and stays after them. The hardware counts loads into registers as well: in a loop
that has some, the waves have waited for everything when those are used, and the wait is moved, too.

Copies to a tile that is still in flight, and those that nothing has waited for at the end of the
kernel, are waited for as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.amd.moves import MAX_PENDING, BufferLoadOp, LoadLdsOp, WaitOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu import BarrierOp
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.simt import MoveOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AllocOp, Space, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.hints import SyncOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk


@dataclass(frozen=True)
class InsertLdsWaits(Pass):
    """Insert waits for direct copies to LDS."""

    name = "insert-lds-waits"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            is_kernel = isinstance(function, FuncOp) and simt_names.KERNEL in function.attributes
            if is_kernel and any(isinstance(op, LoadLdsOp) for op in walk(function)):
                assert isinstance(function, FuncOp)
                _insert(function)


def _insert(function: FuncOp) -> None:
    block, copies = function.body.block, _Copies()
    _run(block, copies, insert=True)
    end = block.last_op
    if copies.after and end is not None:
        block.insert_op_before(_wait(end, copies.fewest(copies.after)), end)


@dataclass
class _Copies:
    """What a wave has in flight."""

    after: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """For each buffer that may be in flight: the copies started since the last one to it."""
    run: set[SSAValue] = field(default_factory=set[SSAValue])
    """Buffers that the latest copies, which follow each other, are for."""
    together: dict[SSAValue, frozenset[SSAValue]] = field(
        default_factory=dict[SSAValue, frozenset[SSAValue]]
    )
    """For each buffer those that copies were started for at the same time."""

    def start(self, buffer: SSAValue) -> None:
        for other in self.after:
            self.after[other] += 1
        self.after[buffer] = 0
        self.run.add(buffer)
        for each in self.run:
            self.together[each] = frozenset(self.run)

    def fewest(self, buffers: Iterable[SSAValue]) -> int:
        """How many copies may stay in flight if those to `buffers` have to land."""
        return min(MAX_PENDING, *(self.after[buffer] for buffer in buffers))

    def wait(self, loads: int) -> None:
        self.after = {buffer: since for buffer, since in self.after.items() if since < loads}
        self.run.clear()

    def copy(self) -> _Copies:
        return _Copies(dict(self.after), set(self.run), dict(self.together))

    def join(self, other: _Copies) -> None:
        """What may be in flight on either path, the fewest copies since."""
        for buffer, since in other.after.items():
            self.after[buffer] = min(since, self.after.get(buffer, since))
        self.run &= other.run
        for buffer, others in other.together.items():
            self.together[buffer] = others | self.together.get(buffer, frozenset())


def _run(block: Block, copies: _Copies, *, insert: bool) -> None:
    for op in list(block.ops):
        if isinstance(op, LoadLdsOp):
            buffer = base_of(op.dst)
            if buffer in copies.after and buffer not in copies.run:
                _wait_for([buffer], op, copies, insert=insert)
            copies.start(buffer)
        elif isinstance(op, WaitOp):
            copies.wait(op.loads.value.data)
        elif any(isinstance(inner, LoadLdsOp) for inner in walk(op)):
            _enter(op, copies, insert=insert)
        elif found := [buffer for buffer in dict.fromkeys(_read(op)) if buffer in copies.after]:
            others = set[SSAValue]().union(*(copies.together[buffer] for buffer in found))
            found += [
                buffer
                for buffer in dict.fromkeys(_until_next_copies(op))
                if buffer in others and buffer in copies.after
            ]
            _wait_for(found, op, copies, insert=insert)
        elif op.regions or isinstance(op, BarrierOp):
            copies.run.clear()


def _enter(op: Operation, copies: _Copies, *, insert: bool) -> None:
    """A loop or a branch with copies inside."""
    copies.run.clear()
    if isinstance(op, IfOp):
        other = copies.copy()
        _run(op.then_region.block, copies, insert=insert)
        if op.else_region.blocks:
            _run(op.else_region.block, other, insert=insert)
        copies.join(other)
        return
    before = copies.copy()
    while True:
        # What is in flight at the beginning of any iteration.
        at_end = copies.copy()
        for region in op.regions:
            for block in region.blocks:
                _run(block, at_end, insert=False)
        known = dict(copies.after)
        copies.join(at_end)
        copies.run.clear()
        if copies.after == known:
            break
    for region in op.regions:
        for block in region.blocks:
            _run(block, copies, insert=insert)
    if not (isinstance(op, ForOp) and _has_iterations(op)):
        copies.join(before)
    copies.run.clear()


def _wait_for(buffers: Iterable[SSAValue], op: Operation, copies: _Copies, *, insert: bool) -> None:
    loads = copies.fewest(buffers)
    if insert:
        block = op.parent
        assert block is not None
        first, earlier = _before_copies(op)
        if loads > earlier or (loads == earlier and _loads_registers(block)):
            barrier = BarrierOp()
            barrier.location = first.location
            block.insert_ops_before([_wait(first, loads - earlier), barrier], first)
        else:
            block.insert_op_before(_wait(op, loads), op)
    copies.wait(loads)


def _loads_registers(block: Block) -> bool:
    """Whether waves load from global memory to registers, too: that counts as copies do."""
    return any(
        isinstance(op, MoveOp | BufferLoadOp | LoadOp) and _is_global(op)
        for outer in block.ops
        for op in walk(outer)
    )


def _is_global(op: MoveOp | BufferLoadOp | LoadOp) -> bool:
    source = op.memref if isinstance(op, LoadOp) else op.src
    return space_of(source.type) is Space.GLOBAL


def _before_copies(op: Operation) -> tuple[Operation, int]:
    """The first of the copies that have just been started before `op`, and their number."""
    first, count = op, 0
    before = op.prev_op
    while before is not None and (isinstance(before, LoadLdsOp) or _uses_no_lds(before)):
        if isinstance(before, LoadLdsOp):
            first, count = before, count + 1
        before = before.prev_op
    return first, count


def _uses_no_lds(op: Operation) -> bool:
    if isinstance(op, BarrierOp | WaitOp) or any(True for _ in _read(op)):
        return False
    return not any(isinstance(inner, LoadLdsOp | SyncOp) for inner in walk(op))


def _until_next_copies(op: Operation) -> Iterable[SSAValue]:
    """What is read from `op` on, until copies start in its block."""
    current: Operation | None = op
    while current is not None and not any(isinstance(each, LoadLdsOp) for each in walk(current)):
        yield from _read(current)
        current = current.next_op


def _read(op: Operation) -> Iterable[SSAValue]:
    """Shared buffers that an op and those in it access."""
    for inner in walk(op):
        if isinstance(inner, AllocOp):
            continue
        for operand in inner.operands:
            base = base_of(operand)
            if isinstance(base.owner, AllocOp) and base.owner.space.is_shared:
                yield base


def _wait(op: Operation, loads: int) -> WaitOp:
    made = WaitOp(loads)
    made.location = op.location
    return made


def _has_iterations(op: ForOp) -> bool:
    low, high = constant_value(op.lower_bound), constant_value(op.upper_bound)
    if not isinstance(low, IntegerAttr) or not isinstance(high, IntegerAttr):
        return False
    return low.value.data < high.value.data
