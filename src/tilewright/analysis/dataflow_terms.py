"""What a kernel leaves in global memory, as terms over what was there before.

Every op that writes memory is an uninterpreted function: what it writes is a term that consists of
the op, the integers it uses, and the terms that it reads. Two kernels that end with the same terms
at the same addresses compute the same, whatever the ops mean::

    iteration 0:  s = copy(A[0:8]);   acc = gemm(s, fill(0))
    iteration 1:  s = copy(A[8:16]);  acc = gemm(s, gemm(copy(A[0:8]), fill(0)))

Terms are stored as digests. Loops run with concrete integers, as in `analysis.barriers`;
asynchronous copies count as done where they are issued, since that they are done in time is proved
there. A buffer that has become a ring buffer is read slot by slot: its contents matter, not their
address.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

from typing_extensions import override
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tilewright.analysis.barriers.concurrent_roles import ConcurrentRoles, Member, TripCounts
from tilewright.analysis.barriers.events import Box
from tilewright.analysis.barriers.trace import NotAnalysed, OpProperties, Writer
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tile import (
    KernelOp,
    PersistentOp,
    PipelineOp,
    RegionType,
    Space,
    space_of,
)
from tilewright.dialects.tile.access import AccessedRegion
from tilewright.dialects.tile.interfaces import reads, writes
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.effects import always_removable
from tilewright.ir.traversal import walk

_ORDERING = ("nv.", "tile.sync")
_COPIES = ("tile.copy", "tile.async_copy")


def terms_of(kernel: KernelOp, argument: int) -> tuple[str, ...]:
    """The final contents of global memory, with `argument` for run-time integers.

    One entry for each tensor, in the order of the arguments, and one for what it printed. Raises
    `NotAnalysed` where loops cannot be evaluated.
    """
    threads = tuple(range(kernel.num_threads or 1))
    member = Member("block", (kernel.body_block,), threads)
    roles = ConcurrentRoles(kernel, (member,), is_custom=True)
    run = _Terms(member, TripCounts(None, None, argument), OpProperties(roles))
    run.write()
    return run.final_terms()


def _digest(*parts: object) -> str:
    return blake2b(repr(parts).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class _Written:
    """A part of a buffer, and the term that was written there."""

    box: Box
    is_exact: bool
    term: str


class _Known:
    """What is the same whenever an op runs."""

    def __init__(self, op: Operation) -> None:
        self.reads, self.writes = reads(op), writes(op)
        self.signature = _digest(_signature(op))
        self.captured = list(_captured(op))


@dataclass
class _Terms(Writer):
    memory: dict[SSAValue, list[_Written]] = field(default_factory=dict[SSAValue, list[_Written]])
    values: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    effects: list[str] = field(default_factory=list[str])
    known: dict[Operation, _Known] = field(default_factory=dict[Operation, "_Known"])

    def final_terms(self) -> tuple[str, ...]:
        tensors: dict[int, str] = {}
        for base, entries in self.memory.items():
            if isinstance(base, BlockArgument):
                shown = [(each.box, each.is_exact, each.term) for each in entries]
                if not _overlap(entries):
                    shown.sort()
                tensors[base.index] = _digest(shown)
        return (*(f"{index}: {tensors[index]}" for index in sorted(tensors)), *self.effects)

    # -- control -----------------------------------------------------------------------------

    @override
    def _block(self, block: Block) -> None:
        for op in block.ops:
            self._op(op)

    @override
    def _op(self, op: Operation) -> None:
        if isinstance(op, IfOp) and self.integer(op.operands[0]) is None:
            self._whole(op)
        elif isinstance(op, ForOp | PipelineOp | PersistentOp | IfOp) and not op.results:
            super()._op(op)
        elif op.regions:
            self._whole(op)
        else:
            self._leaf(op)

    @override
    def _is_followed(self, op: Operation) -> bool:
        return True

    @override
    def _leaf(self, op: Operation) -> None:
        if op.name.startswith(_ORDERING):
            return
        self._whole(op)
        if isinstance(op, StoreOp):
            self._store(op)
        if not isinstance(op, LoadOp):
            self._compute(op)

    @override
    def _whole(self, op: Operation) -> None:
        if op not in self.known:
            if any(isinstance(each, PipelineOp) for each in walk(op)):
                raise NotAnalysed(op, f"a pipelined loop inside of {op.name} is not analysed")
            self.known[op] = _Known(op)
        invariants = self.known[op]
        seen = tuple(self._content(region) for region in invariants.reads)
        written = invariants.writes
        if isinstance(op, LoadOp):
            self._compute(op)
            self.values[op.results[0]] = _digest("load", seen)
            return
        if not written and (always_removable(type(op)) or (not seen and not _acts(op))):
            return
        term = _digest(invariants.signature, tuple(map(self._value, invariants.captured)), seen)
        for result in op.results:
            self.values[result] = _digest(term, "result", result.index)
        if not written:
            self.effects.append(term)
        for index, region in enumerate(written):
            self._write(region, _digest(term, index))

    # -- values ------------------------------------------------------------------------------

    @override
    def _compute(self, op: Operation) -> None:
        super()._compute(op)
        if always_removable(type(op)):
            parts = tuple(self._value(operand) for operand in op.operands)
            for result in op.results:
                self.values[result] = _digest(op.name, _attributes(op), parts)

    def _value(self, value: SSAValue) -> str:
        index = self.integer(value)
        if index is not None:
            return str(index)
        if value in self.values:
            return self.values[value]
        owner = value.owner
        if isinstance(value, BlockArgument):
            return f"argument {value.index}"
        if isinstance(owner, Operation) and always_removable(type(owner)):
            self._compute(owner)
        return self.values.get(value, "memory")

    # -- memory ------------------------------------------------------------------------------

    def _spans(self, region: AccessedRegion) -> tuple[Box, bool]:
        """Where a region is; a dimension about which nothing is known counts as a whole."""
        spans: list[tuple[int, int]] = []
        exact = bool(region.offsets)
        shape = shape_of(region.base.type)
        for offset, extent, size in zip(region.offsets, region.extents, shape, strict=False):
            start, length = self._bound(offset), self._bound(extent)
            if start is None or length is None:
                exact = False
                start, length = 0, size if size >= 0 else 1 << 40
            spans.append((start, start + length))
        return tuple(spans), exact

    def _content(self, region: AccessedRegion) -> str:
        box, exact = self._spans(region)
        found: list[object] = []
        for entry in reversed(self.memory.get(region.base, [])):
            if not _intersect(entry.box, box):
                continue
            found.append((_relative(entry.box, box), entry.is_exact, entry.term))
            if entry.is_exact and _covers(entry.box, box):
                break
        else:
            found.append(_untouched(region.base, box))
        return _digest(found, exact)

    def _write(self, region: AccessedRegion, term: str) -> None:
        box, exact = self._spans(region)
        entries = self.memory.setdefault(region.base, [])
        if exact:
            entries[:] = [entry for entry in entries if not _covers(box, entry.box)]
        entries.append(_Written(box, exact, term))


def _captured(op: Operation) -> Iterator[SSAValue]:
    """The integers from outside that an op computes with; memory is identified by its contents."""
    for each in walk(op):
        for operand in each.operands:
            inside = op.is_ancestor(operand.owner) and operand.owner is not op
            if not inside and not isinstance(operand.type, MemRefType | RegionType):
                yield operand


def _acts(op: Operation) -> bool:
    return op.name in ("tile.print", "tile.extern", "tile.assert")


def _untouched(base: SSAValue, box: Box) -> object:
    """The contents of a buffer that no op wrote: the caller's data, or nothing."""
    if isinstance(base, BlockArgument) and space_of(base.type) is Space.GLOBAL:
        return base.index, box
    return "nothing"


def _signature(op: Operation) -> tuple[object, ...]:
    """What an op is, apart from the values it uses; a copy is a copy, whichever unit performs
    it."""
    name = _COPIES[0] if op.name in _COPIES else op.name
    attributes = () if op.name in _COPIES else _attributes(op)
    inside = tuple((each.name, _attributes(each)) for each in walk(op) if each is not op)
    return name, attributes, str(op.location), inside


def _attributes(op: Operation) -> tuple[tuple[str, str], ...]:
    found = {**op.properties, **op.attributes}
    return tuple(sorted((name, str(value)) for name, value in found.items()))


def _intersect(one: Box, other: Box) -> bool:
    return all(max(a, c) < min(b, d) for (a, b), (c, d) in zip(one, other, strict=False))


def _covers(one: Box, other: Box) -> bool:
    return all(a <= c and d <= b for (a, b), (c, d) in zip(one, other, strict=False))


def _relative(entry: Box, box: Box) -> tuple[tuple[int, int], ...]:
    """The position of an entry relative to a box of the buffer, without dimensions of extent 1."""
    return tuple(
        (a - c, b - a)
        for (a, b), (c, d) in zip(entry, box, strict=False)
        if (a - c, b - a, d - c) != (0, 1, 1)
    )


def _overlap(entries: list[_Written]) -> bool:
    return any(
        _intersect(one.box, other.box)
        for index, one in enumerate(entries)
        for other in entries[index + 1 :]
    )


__all__ = ["NotAnalysed", "terms_of"]
