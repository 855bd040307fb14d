"""Between the layouts of the IR and the arithmetic of ``layouts``.

``linear_of`` turns an encoding into a map over bits (register, lane, warp, CTA to element), and
``encoding_for`` writes such a map as ``#ttg.linear``. With both, ops that only rename elements
change any layout exactly, whatever its kind::

    tt.reshape   the row-major number of an element stays, its coordinates change
    tt.join      one more register bit, which runs along the new last dimension
    tt.split     ... taken away; possible if a thread holds both halves of every pair
    tt.trans     coordinates change places
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xdsl.ir import Attribute

from tilewright.dialects.ttg.distributed import (
    BlockedEncoding,
    DotOperandEncoding,
    LinearEncoding,
    SliceEncoding,
)
from tilewright.dialects.ttg.mma import NvidiaMmaEncoding
from tilewright.dialects.ttg.shared import NvmmaSharedEncoding, SwizzledSharedEncoding
from tilewright.dialects.ttng.attributes import unwrapped
from tilewright.layouts.encodings import (
    Blocked,
    DotOperand,
    Encoding,
    NvidiaMma,
    NvmmaShared,
    Slice,
    SwizzledShared,
)
from tilewright.layouts.encodings.tiling import repeated, wrapped
from tilewright.layouts.linear import BLOCK, LANE, REGISTER, WARP, LinearLayout, dim

_INPUTS = (REGISTER, LANE, WARP, BLOCK)

Shape = tuple[int, ...]


def arithmetic_of(encoding: Attribute) -> Encoding | None:
    """An encoding as a value of ``layouts``; None for kinds that it does not have."""
    match unwrapped(encoding):
        case BlockedEncoding() as e:
            return Blocked(e.size_per_thread, e.threads, e.warps_per_cta, e.order, e.cga_layout)
        case NvidiaMmaEncoding() as e:
            version = (e.version_major, e.version_minor)
            return NvidiaMma(version, e.warps_per_cta, e.instr_shape, e.cga_layout)
        case DotOperandEncoding() as e:
            parent = arithmetic_of(e.parent)
            if not isinstance(parent, NvidiaMma | Blocked):
                return None
            return DotOperand(e.op_idx, parent, e.k_width)
        case SliceEncoding() as e:
            above = arithmetic_of(e.parent)
            return None if above is None else Slice(e.dim, above)
        case NvmmaSharedEncoding() as e:
            return NvmmaShared(
                e.swizzling_byte_width,
                e.element_bit_width,
                e.transposed,
                e.fp4_padded,
                e.cga_layout,
            )
        case SwizzledSharedEncoding() as e:
            return SwizzledShared(e.vec, e.per_phase, e.max_phase, e.order, e.cga_layout)
        case _:
            return None


@cache
def linear_of(encoding: Attribute, shape: Shape) -> LinearLayout | None:
    """Where the elements of a tensor of `shape` are, over bits; None if that is not known."""
    plain = unwrapped(encoding)
    if isinstance(plain, LinearEncoding):
        parts = (plain.register, plain.lane, plain.warp, plain.block)
        sizes = {dim(axis): extent for axis, extent in enumerate(shape)}
        tile = LinearLayout.of(dict(zip(_INPUTS, parts, strict=True)))
        # A broadcast keeps its layout, so a tensor may be smaller or larger than the tile.
        return wrapped(repeated(tile, sizes, REGISTER), sizes)
    found = arithmetic_of(plain)
    return None if found is None else found.to_linear(shape)


def encoding_for(layout: LinearLayout) -> LinearEncoding:
    """`layout`, from registers, lanes, warps and CTAs to elements, as an encoding."""
    register, lane, warp, block = (
        layout.bases_of(name) if name in layout.in_names else () for name in _INPUTS
    )
    return LinearEncoding(register=register, lane=lane, warp=warp, block=block)


# -- renaming elements ---------------------------------------------------------------------------


def reshaped(encoding: Attribute, shape: Shape, new_shape: Shape) -> Attribute | None:
    """The layout with the same owner of every element, for another shape of the tensor."""
    layout = linear_of(encoding, shape)
    if layout is None:
        return None
    # Outputs are joined with the first one lowest, elements are counted with the last one fastest.
    fastest_first = layout.reordered(layout.in_names, tuple(reversed(_dims(len(shape)))))
    sizes = {
        name: new_shape[axis] for axis, name in reversed(list(enumerate(_dims(len(new_shape)))))
    }
    found = fastest_first.reshaped_outs(sizes)
    return encoding_for(found.reordered(found.in_names, _dims(len(new_shape))))


def turned(encoding: Attribute, shape: Shape, order: Sequence[int]) -> Attribute | None:
    """The layout once dimension ``order[i]`` has become dimension ``i``."""
    layout = linear_of(encoding, shape)
    if layout is None:
        return None
    bases = {
        name: [tuple(basis[axis] for axis in order) for basis in layout.bases_of(name)]
        for name in layout.in_names
    }
    sizes = {dim(axis): shape[old] for axis, old in enumerate(order)}
    return encoding_for(LinearLayout.of(bases, sizes))


def joined(encoding: Attribute, shape: Shape) -> Attribute | None:
    """The layout of pairs: every thread holds both elements of each pair it holds one of."""
    layout = linear_of(encoding, shape)
    if layout is None:
        return None
    rank = len(shape)
    bases = {name: [(*basis, 0) for basis in layout.bases_of(name)] for name in layout.in_names}
    bases[REGISTER] = [(*(0,) * rank, 1), *bases.get(REGISTER, [])]
    sizes = {dim(axis): extent for axis, extent in enumerate((*shape, 2))}
    return encoding_for(LinearLayout.of(bases, sizes))


def halved(encoding: Attribute, shape: Shape) -> Attribute | None:
    """The layout of one half of the pairs; None unless each thread holds its pairs whole."""
    layout = linear_of(encoding, shape)
    if layout is None:
        return None
    remaining: dict[str, list[tuple[int, ...]]] = {}
    pairs = 0
    for name in layout.in_names:
        remaining[name] = []
        for basis in layout.bases_of(name):
            if not basis[-1]:
                remaining[name].append(basis[:-1])
            elif name == REGISTER and not any(basis[:-1]):
                pairs += 1
            else:
                return None
    if pairs != 1:
        return None
    sizes = {dim(axis): extent for axis, extent in enumerate(shape[:-1])}
    return encoding_for(LinearLayout.of(remaining, sizes))


def _dims(rank: int) -> tuple[str, ...]:
    return tuple(dim(axis) for axis in range(rank))


# -- conversions ---------------------------------------------------------------------------------


def is_free(source: Attribute, target: Attribute, shape: Shape) -> bool | None:
    """Whether a conversion only renames registers: no thread needs what another one holds.

    None if the layouts cannot be computed.
    """
    before, after = linear_of(source, shape), linear_of(target, shape)
    if before is None or after is None:
        return None
    change = after.invert_and_compose(before)
    names = [name for name in (LANE, WARP, BLOCK) if name in change.in_names]
    return change.quotient(names) is not None
