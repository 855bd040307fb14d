"""How many bits of register arrays are live at once.

An array is live from the first to the last op that accesses it, among the ops of the smallest block
that contains all its accesses: what only one loop uses, or one branch, takes no registers in the
next. The bits of an op with regions are those of its region with the most. Arrays that are
filled outside of a loop are accessed outside of it, so they count for all of it. An array whose
last access is the first one of another is converted to it, element by element: the larger counts.

    fill acc                                    acc
    for { scores = ...; acc += scores }         acc + scores
    for { scores_1 = ...; acc += scores_1 }     acc + scores_1      the peak: not all three
    store acc                                   acc
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, Region, SSAValue

_Path = tuple[tuple[Block, Operation], ...]
"""The op of each block, from the outermost one to that of an access."""
_Ranges = dict[Block, list[tuple[set[Operation], int]]]
"""The ops of a block that access an array, and its bits."""


def peak_bits(region: Region, arrays: Mapping[SSAValue, int]) -> int:
    """The most bits of `arrays`, which have so many each, that are live in `region` at once."""
    ranges: _Ranges = {}
    for array, bits in arrays.items():
        paths = [path for op in _accesses(array) if (path := _path(op, region))]
        if not paths:
            continue
        depth = _common_depth(paths)
        block = paths[0][depth][0]
        ranges.setdefault(block, []).append(({path[depth][1] for path in paths}, bits))
    return _peak(region, ranges)


def sequence_bits(region: Region, arrays: Mapping[SSAValue, int]) -> int:
    """The bits of all arrays, of those that only one op of the region's block accesses the most
    that an op has: of loops that run sequentially, one at a time."""
    outside, inside = 0, dict[Operation, int]()
    for array, bits in arrays.items():
        around = {path[0][1] for op in _accesses(array) if (path := _path(op, region))}
        if len(around) == 1:
            (op,) = around
            inside[op] = inside.get(op, 0) + bits
        else:
            outside += bits
    return outside + max(inside.values(), default=0)


def _accesses(array: SSAValue) -> Iterator[Operation]:
    """The ops that use an array, or a view of it."""
    pending, seen = [array], {array}
    while pending:
        for use in pending.pop().uses:
            yield use.operation
            for result in use.operation.results:
                if isinstance(result.type, MemRefType) and result not in seen:
                    seen.add(result)
                    pending.append(result)


def _path(op: Operation, region: Region) -> _Path:
    """Empty if the op is not inside of the region."""
    found: list[tuple[Block, Operation]] = []
    current: Operation | None = op
    while current is not None and current.parent is not None:
        found.append((current.parent, current))
        if current.parent.parent is region:
            return tuple(reversed(found))
        current = current.parent_op()
    return ()


def _common_depth(paths: list[_Path]) -> int:
    """The depth of the smallest block that contains all."""
    depth = 0
    while all(len(path) > depth + 1 for path in paths):
        if len({path[depth + 1][0] for path in paths}) > 1:
            break
        depth += 1
    return depth


def _peak(region: Region, ranges: _Ranges) -> int:
    peak = 0
    for block in region.blocks:
        own = ranges.get(block, [])
        ops = list(block.ops)
        at = {op: index for index, op in enumerate(ops)} if own else {}
        change = [0] * (len(ops) + 1)
        begins, ends = [0] * len(ops), [0] * len(ops)
        for accesses, bits in own:
            positions = [at[op] for op in accesses]
            first, last = min(positions), max(positions)
            change[first] += bits
            change[last + 1] -= bits
            if first != last:
                begins[first] += bits
                ends[last] += bits
        for index, (op, live) in enumerate(zip(ops, accumulate(change), strict=False)):
            inner = max((_peak(each, ranges) for each in op.regions), default=0)
            peak = max(peak, live - min(begins[index], ends[index]) + inner)
    return peak
