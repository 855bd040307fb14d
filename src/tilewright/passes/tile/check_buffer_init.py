"""Report uninitialised reads of buffers in registers, shared and tensor memory.

    %acc = tile.alloc "acc" : memref<64x64xf32, #fragment>
    tile.pipeline %k = 0 to %n { ... tile.gemm %A, %B -> %acc }

    error[TW3040]: uninitialised read: acc is read before it is written
    note: acc is allocated here
    note: help: clear it first with T.clear(acc)

Only certain cases are reported. A read counts if no op before it, on any path, may
write a part of what it reads; in a loop that is the first iteration. A read under a condition (also
that of an accumulator which a GEMM clears under a condition) may never run and is a warning; there,
writes of later statements count as well if a loop is around both. Of roles, which run concurrently,
every write counts for all others; branches on the index of a thread are such roles. Memory whose
address was taken is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir import Region as Code

from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tile import (
    AllocOp,
    GemmOp,
    KernelOp,
    ParallelOp,
    PersistentOp,
    PipelineOp,
    ReducerAllocOp,
    ScaledGemmOp,
    Tcgen05GemmOp,
    WsOp,
    space_of,
)
from tilewright.dialects.tile.interfaces import AccessedRegion, base_of, has_body, reads, writes
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import always_removable
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tile.naming import buffer_name

NOT_WRITTEN = "TW3040"

_RUN_ONCE_AT_LEAST = (ForOp, ParallelOp, PersistentOp, PipelineOp)
"""Loops: nothing is reported for the first iteration if there may be none."""

_HANDS_OUT = ("tile.ptr_of", "tile.extern")


@dataclass(frozen=True)
class CheckBufferInit(Pass):
    """Report reads of shared memory and fragments that nothing wrote."""

    name = "check-buffer-init"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in walk(module):
            if isinstance(op, KernelOp):
                _Kernel(op, engine).run()


@dataclass(frozen=True)
class _Path:
    """How the ops of a block are reached."""

    is_certain: bool = True
    loops: tuple[Operation, ...] = ()
    """Loops around the block, inside of the kernel."""
    elsewhere: tuple[AccessedRegion, ...] = ()
    """What other roles write."""


@dataclass
class _Kernel:
    kernel: KernelOp
    engine: DiagnosticEngine
    written: list[AccessedRegion] = field(default_factory=list[AccessedRegion])
    reported: set[SSAValue] = field(default_factory=set[SSAValue])
    roles: list[Code] | None = None
    """The bodies of all roles, computed on demand."""

    def run(self) -> None:
        self._block(self.kernel.body_block, _Path())

    def _block(self, block: Block, path: _Path) -> None:
        for op in block.ops:
            if _is_role(op):
                self._roles(op, path)
            elif has_body(op):
                self._inside(op, path)
            else:
                self._leaf(op, path)

    def _inside(self, op: Operation, path: _Path) -> None:
        is_loop = isinstance(op, _RUN_ONCE_AT_LEAST)
        loops = (*path.loops, op) if is_loop or op.name == "scf.while" else path.loops
        inner = _Path(path.is_certain and is_loop, loops, path.elsewhere)
        for region in op.regions:
            for block in region.blocks:
                self._block(block, inner)

    def _roles(self, op: Operation, path: _Path) -> None:
        if self.roles is None:
            roles = [each for each in walk(self.kernel) if _is_role(each)]
            self.roles = [region for each in roles for region in each.regions]
        for own in op.regions:
            others = tuple(
                written
                for region in self.roles
                if region is not own and not region.is_ancestor(own)
                for block in region.blocks
                for inner in block.ops
                for written in writes(inner)
            )
            is_certain = path.is_certain and isinstance(op, WsOp)
            inner = _Path(is_certain, path.loops, (*path.elsewhere, *others))
            for block in own.blocks:
                self._block(block, inner)

    def _leaf(self, op: Operation, path: _Path) -> None:
        if op.name in _HANDS_OUT:
            self.reported.update(base_of(operand) for operand in op.operands)
            return
        for region in reads(op):
            self._read(op, region, _path_of_read(op, region, path))
        self.written.extend(writes(op))

    def _read(self, op: Operation, region: AccessedRegion, path: _Path) -> None:
        base = region.base
        space = space_of(base.type)
        if base in self.reported or space is None or not space.is_on_chip or space.is_barrier:
            return
        if not isinstance(base.owner, AllocOp | ReducerAllocOp):
            return
        if any(region.may_overlap(other) for other in (*self.written, *path.elsewhere)):
            return
        if not path.is_certain and _may_come_round(region, path.loops, base.owner):
            return
        self.reported.add(base)
        self._report(op, region, path)

    def _report(self, op: Operation, region: AccessedRegion, path: _Path) -> None:
        name = buffer_name(region.base)
        emit = self.engine.error if path.is_certain else self.engine.warning
        diagnostic = emit(
            op, f"uninitialised read: {name} is read before it is written", NOT_WRITTEN
        )
        owner = region.base.owner
        assert isinstance(owner, Operation)  # only allocations are looked at
        diagnostic.note(owner, f"{name} is allocated here")
        later = _first_write(self.kernel, region)
        if later is not None and later is not op:
            diagnostic.note(later, "first write is here")
        fix = f"help: clear it first with T.clear({name})"
        if isinstance(op, GemmOp | ScaledGemmOp | Tcgen05GemmOp) and base_of(op.c) is region.base:
            fix += ", or pass clear_accum=True to T.gemm"
        diagnostic.note(None, fix)


def _path_of_read(op: Operation, region: AccessedRegion, path: _Path) -> _Path:
    """A GEMM that clears its accumulator under a condition reads it under the opposite one."""
    if not isinstance(op, GemmOp | ScaledGemmOp | Tcgen05GemmOp) or op.clear_if is None:
        return path
    if base_of(op.c) is not region.base:
        return path
    return replace(path, is_certain=False)


def _is_role(op: Operation) -> bool:
    """Whether the bodies of an op run concurrently, each by some of the threads."""
    if isinstance(op, WsOp):
        return True
    return isinstance(op, IfOp) and _depends_on_thread(op.operands[0])


def _depends_on_thread(value: SSAValue) -> bool:
    pending, seen = [value], set[SSAValue]()
    while pending:
        owner = pending.pop().owner
        if not isinstance(owner, Operation) or not always_removable(type(owner)):
            continue
        if owner.name == "gpu.thread_id":
            return True
        fresh = [operand for operand in owner.operands if operand not in seen]
        seen.update(fresh)
        pending.extend(fresh)
    return False


def _may_come_round(
    region: AccessedRegion, loops: Sequence[Operation], allocation: Operation
) -> bool:
    """Whether an earlier iteration of a loop around the read may have written it."""
    for loop in loops:
        if loop.is_ancestor(allocation):
            continue
        if any(region.base is written.base for written in writes(loop)):
            return True
    return False


def _first_write(kernel: KernelOp, region: AccessedRegion) -> Operation | None:
    for op in walk(kernel):
        if not has_body(op) and any(region.may_overlap(written) for written in writes(op)):
            return op
    return None
