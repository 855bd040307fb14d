"""Arrays of a launch that share bytes, for kernels that are raised to tiles.

    kernel[grid](x, x, n)                out_ptr is x_ptr
    kernel[grid](a[:, :64], a[:, 64:])   the second pointer is the first one, 64 elements on

Triton guarantees nothing about pointers, and our code has ``__restrict__`` on each. So pointers
whose memory overlaps, one of them written, become one pointer before the kernel is raised: what
they access is then memory of one argument, whose accesses stay in order. Each combination of
distances is a kernel of its own. Pointers of other element types, or at other distances than whole
elements, cannot be expressed so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from numpy.lib.stride_tricks import as_strided
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import SSAValue

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.tt import AddPtrOp, FuncOp
from tilewright.ir.rewrite import Rewriter
from tilewright.language.T.prim_func import Param
from tilewright.runtime.arrays import HostArray
from tilewright.runtime.cuda.arrays import DeviceArray


class Span(NamedTuple):
    """The memory of an argument; a tuple, since every launch makes them."""

    position: int
    """Among the parameters of the raised function."""
    start: int
    size: int

    @property
    def end(self) -> int:
        return self.start + self.size


@dataclass(frozen=True)
class Merge:
    """A parameter that is another one, some elements on."""

    position: int
    into: int
    elements: int


@dataclass(frozen=True)
class NotMerged:
    """Two parameters that share bytes, and why they cannot be one."""

    written: int
    other: int
    reason: str


def merges_of(
    spans: Sequence[Span],
    written: Collection[int],
    params: Sequence[Param],
    pointers: Collection[int],
) -> tuple[Merge, ...] | NotMerged:
    """What to merge; nothing if all that is written is memory of its own.

    `pointers` are the positions of what is not a tensor descriptor.
    """
    if not _overlap(spans, written):
        return ()
    merges: list[Merge] = []
    for group in _groups(spans, written):
        first = group[0]
        for each in group[1:]:
            reason = _reason(first, each, params)
            if not {first.position, each.position} <= {*pointers}:
                reason = "one of them is a tensor descriptor"
            if reason is not None:
                pair = (each, first) if each.position in written else (first, each)
                return NotMerged(pair[0].position, pair[1].position, reason)
            elements = (each.start - first.start) // params[first.position].dtype.bytes
            merges.append(Merge(each.position, first.position, elements))
    return tuple(merges)


def _overlap(spans: Sequence[Span], written: Collection[int]) -> bool:
    """Whether a span that is written overlaps another; on every launch, so in one pass."""
    for position, start, size in spans:
        if position in written:
            for other, begin, length in spans:
                if start < begin + length and begin < start + size and other != position:
                    return True
    return False


def _groups(spans: Sequence[Span], written: Collection[int]) -> Iterator[list[Span]]:
    """Spans that are connected by bytes that they share, the lowest first, with a written one."""
    group: list[Span] = []
    end = -1
    for each in [*sorted(spans, key=lambda span: (span.start, span.position)), None]:
        if each is None or (each.size and each.start >= end):
            if len(group) > 1 and any(one.position in written for one in group):
                yield group
            group = []
        if each is not None and each.size:
            group.append(each)
            end = max(end, each.end)


def _reason(first: Span, other: Span, params: Sequence[Param]) -> str | None:
    one, two = params[first.position].dtype, params[other.position].dtype
    if one != two:
        return f"one has elements of type {one}, the other of {two}"
    if (other.start - first.start) % one.bytes:
        return f"they are {other.start - first.start} bytes apart, no whole number of elements"
    return None


def merge_pointers(function: FuncOp, merges: Sequence[Merge]) -> None:
    """Replace merged arguments of a kernel on pointers by those that they are merged into."""
    rewriter = Rewriter()
    arguments = function.body.blocks[0].args
    first = function.body.blocks[0].first_op
    assert first is not None
    for merge in merges:
        value: SSAValue = arguments[merge.into]
        if merge.elements:
            distance = ConstantOp.of(merge.elements, i64)
            moved = AddPtrOp(value, distance.results[0])
            rewriter.insert_before(first, [distance, moved], first)
            value = moved.result
        arguments[merge.position].replace_all_uses_with(value)


def merged_module(module: ModuleOp, merges: Sequence[Merge]) -> ModuleOp:
    """A copy of the module of a kernel on pointers, with merged arguments."""
    made = module.clone()
    function = next(op for op in made.ops if isinstance(op, FuncOp) and op.is_public)
    merge_pointers(function, merges)
    return made


def with_merged_memory(given: list[Any], merges: Sequence[Merge]) -> list[Any]:
    """The values of a launch, whose arrays reach to the end of those that they stand for."""
    found = list(given)
    for merge in merges:
        one, two = found[merge.into], given[merge.position]
        if isinstance(one, DeviceArray):
            count = max(one.shape[0], merge.elements + two.shape[0])
            found[merge.into] = replace(one, shape=(count,))
        else:
            array = one.array
            count = max(array.size, merge.elements + two.array.size)
            memory = as_strided(array, (count,), array.strides, writeable=two.array.flags.writeable)
            found[merge.into] = HostArray(memory, one.finish)
    return found
