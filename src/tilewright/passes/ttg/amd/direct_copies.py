"""Copies from global memory to LDS that use no registers: which are possible, and their layout.

All lanes of a wave write consecutive bytes of LDS: lane `l` writes ``base + size * l``. So the
layout of the addresses follows from that of the buffer: the lowest bits of the LDS offset are the
elements that a lane copies, the next ones the lanes, then the waves::

    offset bits   e e e | l l l l l l | w w | ...
                  copy    lanes         waves  more copies

Padding is not part of the offset, and must not interrupt what a wave writes at once. Of a
swizzle (XOR), Triton moves the global addresses between the lanes itself, which is possible if a
wave writes whole rows, in copies no wider than the groups that are permuted.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import Attribute, SSAValue

from tilewright.analysis.axis_info import AxisFacts
from tilewright.dialects.amdg import BufferLoadToLocalOp
from tilewright.dialects.ttg import AsyncCopyGlobalToLocalOp
from tilewright.dialects.ttg.bases import identity_bases
from tilewright.dialects.ttg.distributed import GenericLinearEncoding, LinearEncoding
from tilewright.dialects.ttg.shared import (
    PaddedSharedEncoding,
    SharedLinearEncoding,
    SwizzledSharedEncoding,
)
from tilewright.dialects.ttg.struct import Bases
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.attributes import unwrapped
from tilewright.dialects.type_utils import bit_width
from tilewright.layouts.hardware.amd_chips import Chip
from tilewright.passes.ttg.coalescing import run_length

DIRECT = "tilewright.direct"
"""The attribute of a copy that is made without registers: how many elements a lane copies."""

DirectCopy = AsyncCopyGlobalToLocalOp | BufferLoadToLocalOp


def buffer_of(op: DirectCopy) -> SSAValue:
    """The buffer that `op` writes."""
    return op.dest if isinstance(op, BufferLoadToLocalOp) else op.result


def destination(op: DirectCopy) -> MemDescType:
    """The type of the buffer that `op` writes."""
    found = buffer_of(op).type
    assert isinstance(found, MemDescType)
    return found


def offset_bases(type: MemDescType) -> Bases | None:
    """The element at each bit of the offset into a buffer, before a swizzle; None if not linear."""
    layout = unwrapped(type.encoding)
    if isinstance(layout, PaddedSharedEncoding | SharedLinearEncoding):
        return layout.offset
    if isinstance(layout, SwizzledSharedEncoding):
        return identity_bases(type.shape, layout.order)
    return None


def direct_elements(
    op: DirectCopy, chip: Chip, threads: int, warp_size: int, axis_info: AxisFacts
) -> int:
    """How many elements a lane copies at once if `op` needs no registers; 0 if it needs them."""
    type = destination(op)
    bases = offset_bases(type)
    if bases is None or prod(type.shape) != 1 << len(bases):
        return 0
    size = bit_width(type.element_type) // 8
    proved = proved_bytes(op, bases, axis_info)
    for count in sorted(chip.direct_copy_bytes, reverse=True):
        elements, rest = divmod(count, max(1, size))
        if rest or elements & (elements - 1) or count > proved:
            continue
        if prod(type.shape) >= elements * threads and _fits(type, elements, elements * warp_size):
            return elements
    return 0


def _fits(type: MemDescType, elements: int, chunk: int) -> bool:
    """Whether a wave can write `chunk` elements at once, each lane `elements` of them."""
    layout = unwrapped(type.encoding)
    if isinstance(layout, PaddedSharedEncoding):
        return min(layout.intervals) >= chunk
    if isinstance(layout, SwizzledSharedEncoding) and layout.max_phase > 1:
        return elements <= layout.vec and type.shape[layout.order[0]] <= chunk
    return True


def proved_bytes(op: DirectCopy, bases: Bases, axis_info: AxisFacts) -> int:
    """How many bytes are consecutive in global memory and in the buffer, under one mask."""
    dim = next((axis for axis, step in enumerate(bases[0]) if step), 0) if bases else 0
    size = bit_width(destination(op).element_type) // 8
    straight = 1
    for bit, basis in enumerate(bases):
        if basis != tuple(1 << bit if axis == dim else 0 for axis in range(len(basis))):
            break
        straight *= 2
    if isinstance(op, BufferLoadToLocalOp):
        run = run_length(op.offsets, op.mask, dim, axis_info, base=op.ptr)
        run = max(run, op.contiguity.value.data)
    else:
        run = run_length(op.src, op.mask, dim, axis_info)
    return min(run, straight) * size


def direct_layout(value: SSAValue, elements: int, num_warps: int, warp_size: int) -> Attribute:
    """The layout of addresses for a direct copy into the buffer `value`."""
    type = value.type
    assert isinstance(type, MemDescType)
    bases = offset_bases(type)
    assert bases is not None, "checked when the copy was found to be direct"
    copy, lanes, warps = (count.bit_length() - 1 for count in (elements, warp_size, num_warps))
    first, last = copy + lanes, copy + lanes + warps
    # A basis that moves in two dimensions is a swizzle.
    is_plain = all(sum(step != 0 for step in basis) == 1 for basis in bases)
    kind = LinearEncoding if is_plain else GenericLinearEncoding
    return kind(
        register=(*bases[:copy], *bases[last:]),
        lane=bases[copy:first],
        warp=bases[first:last],
        block=(),
    )
