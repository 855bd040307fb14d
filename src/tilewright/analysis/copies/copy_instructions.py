"""Which instructions can do a copy, and if one cannot, why.

A table of conditions, each with the sentence that explains its failure, so that a fallback can
always be explained (docs/design/passes.md#copy-instructions). Bulk tensor copies (TMA), PTX ISA
"Tensor-copy":

* the innermost dimension is contiguous, the strides of the others are multiples of 16 bytes;
* the box is at most 256 elements wide in every dimension, and a multiple of 16 bytes innermost;
* the box starts at a multiple of 16 bytes innermost, inside or past the tensor; that of a load
  before it, too;
* at most five dimensions; elements as they are, nothing but zero where the box leaves the tensor.

A store writes the rest of the 16 bytes in which a row ends, so rows end at such a multiple.

Any other start ends the kernel with an illegal instruction (measured on an H200: loads, stores and
reductions, every swizzle, one to three dimensions). So it is proved, or TMA is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.analysis.tensors.outside_values import other_than_zero, tensor_of
from tilewright.analysis.tensors.tensor_geometry import (
    extent_is_multiple,
    is_known_to_host,
    name_of,
    row_strides,
    uneven_start,
    uneven_stride,
)
from tilewright.dialects.func import argument_attributes
from tilewright.dialects.tile import (
    AllocOp,
    AsyncCopyOp,
    AtomicOp,
    CopyOp,
    Im2colOp,
    RegionOp,
    Space,
    space_of,
)
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.regions import ViewOp
from tilewright.dialects.tile.slots import SlotOp
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.layouts.hardware.swizzle import ATOM_ROWS, choose_swizzle

MAX_RANK = 5
MAX_BOX = 256
EXPANDED_BYTES = 128
"""A row of a box that TMA expands: elements of 4 bits in the lower halves of 16 bytes each."""
GRANULE_BYTES = 16
BOX_ROW_BYTES = 128
"""The multiple of bytes at which a copy writes shared memory."""


@dataclass(eq=False)
class Starts:
    """Proofs about where copies inside `root` start; nothing is analysed before the first query."""

    root: Operation
    _ranges: IndexRanges | None = None

    def is_multiple(self, start: Mixed, unit: int, at: Operation) -> bool:
        """Whether `start` is proved to be a multiple of `unit` where `at` runs."""
        if isinstance(start, int):
            return start % unit == 0
        return self.ranges.context(at).is_multiple(self.ranges.poly(start), unit)

    def is_never_multiple(self, start: Mixed, unit: int, at: Operation) -> bool:
        """Whether no value of `start` is a multiple of `unit`."""
        if isinstance(start, int):
            return start % unit != 0
        remainder = self.ranges.context(at).congruence(self.ranges.poly(start)).modulo(unit)
        return remainder is not None and remainder != 0

    def is_nonneg(self, start: Mixed, at: Operation) -> bool:
        """Whether `start` is proved not to be negative where `at` runs."""
        if isinstance(start, int):
            return start >= 0
        return self.ranges.context(at).is_nonneg(self.ranges.poly(start))

    def is_below(self, value: Mixed, limit: int, at: Operation) -> bool:
        """Whether `value` is proved to be less than `limit` where `at` runs."""
        if isinstance(value, int):
            return value < limit
        return self.ranges.context(at).is_positive(limit - self.ranges.poly(value))

    def is_negative(self, start: Mixed, at: Operation) -> bool:
        """Whether `start` is proved to be negative where `at` runs."""
        if isinstance(start, int):
            return start < 0
        return self.ranges.context(at).is_positive(-self.ranges.poly(start))

    @property
    def ranges(self) -> IndexRanges:
        """The analysis, made on first use."""
        if self._ranges is None:
            self._ranges = IndexRanges(self.root)
        return self._ranges


@dataclass(frozen=True)
class BulkCopy:
    """A copy from global to shared memory, as the conditions see it."""

    op: CopyOp | Im2colOp | AtomicOp
    tensor: SSAValue
    """The global tensor, as the copy names it: a view has extents and strides of its own."""
    box: tuple[int, ...]
    """Extents of the copied box."""
    corner: tuple[Mixed, ...]
    """The indices at which it starts, outermost first."""
    starts: Starts

    @property
    def src(self) -> SSAValue:
        """What is copied, or added to the target."""
        if not isinstance(self.op, AtomicOp):
            return self.op.src
        assert self.op.value is not None
        return self.op.value

    @property
    def dst(self) -> SSAValue:
        return self.op.dst

    @property
    def start(self) -> Mixed:
        return self.corner[-1]

    def known(self) -> IndexRanges:
        """What is known of run-time values where the copy is."""
        return self.starts.ranges

    @property
    def element_bits(self) -> int:
        return bit_width(element_type_of(self.src.type))

    @property
    def bytes(self) -> int:
        return prod(self.box) * self.element_bits // 8


Condition = Callable[[BulkCopy], str | None]


def is_enabled(copy: BulkCopy) -> str | None:
    """Whether the user allows TMA."""
    if not isinstance(copy.op, CopyOp):
        return None
    return "TMA is disabled by the user (disable_tma=True)" if copy.op.disable_tma else None


def _keeps_elements(copy: BulkCopy) -> str | None:
    source, target = element_type_of(copy.src.type), element_type_of(copy.dst.type)
    if source == target and copy.element_bits % 8 == 0:
        return None
    if source == target:
        return f"elements of type {source} are not a whole number of bytes"
    return f"the copy converts {source} to {target}"


def _is_a_tensor(copy: BulkCopy) -> str | None:
    if is_known_to_host(copy.tensor, copy.op):
        return None
    if isinstance(copy.tensor.owner, ViewOp):
        return f"{name_of(copy.tensor)} is a view that depends on what the kernel computes"
    return "the tensor is not an argument of the kernel"


def _rank(copy: BulkCopy) -> str | None:
    rank = len(shape_of(copy.tensor.type))
    return None if rank <= MAX_RANK else f"the tensor has {rank} dimensions, the limit is 5"


def _has_known_box(copy: BulkCopy) -> str | None:
    return "the extents of the box are not constant" if DYNAMIC_INDEX in copy.box else None


def _fits_box(copy: BulkCopy) -> str | None:
    wide = [extent for extent in copy.box[:-1] if extent > MAX_BOX]
    return f"the box is {wide[0]} elements wide, the limit is {MAX_BOX}" if wide else None


def _divides_into_boxes(copy: BulkCopy) -> str | None:
    """A tile wider than a box is copied in several boxes, each contiguous in shared memory."""
    if plain_box_columns(copy.box, copy.element_bits) is not None:
        return None
    columns = copy.box[-1]
    if rows_of(copy.box) % ATOM_ROWS == 0 and choose_swizzle(columns, copy.element_bits):
        return None
    return f"a row of {columns} elements is not divisible into boxes of at most {MAX_BOX}"


def rows_of(box: Sequence[int]) -> int:
    """The rows of a tile: tensors may have dimensions of one element before the columns."""
    return next((extent for extent in reversed(box[:-1]) if extent != 1), 1)


def plain_box_columns(box: Sequence[int], bits: int) -> int | None:
    """The columns of one box of a tile with contiguous rows, if there is such a box."""
    *outer, columns = box
    if columns <= MAX_BOX:
        return columns
    if prod(outer) != 1:
        return None
    unit = BOX_ROW_BYTES * 8 // bits
    return next((n for n in range(MAX_BOX, 0, -1) if columns % n == 0 and n % unit == 0), None)


def _has_whole_granules(copy: BulkCopy) -> str | None:
    size = copy.box[-1] * copy.element_bits // 8
    if size % GRANULE_BYTES == 0:
        return None
    return f"rows of the box have {size} bytes, which is not a multiple of {GRANULE_BYTES}"


def granule(element_bits: int) -> int:
    """Elements of the unit at which a box starts."""
    return max(1, GRANULE_BYTES * 8 // element_bits)


def _starts_at_granule(copy: BulkCopy) -> str | None:
    unit = granule(copy.element_bits)
    if copy.starts.is_multiple(copy.start, unit, copy.op):
        return None
    name = copy.tensor.name_hint or "the tensor"
    if isinstance(copy.start, int):
        return (
            f"it starts at column {copy.start} of {name}, byte "
            f"{copy.start * copy.element_bits // 8}, which is not a multiple of {GRANULE_BYTES}"
        )
    return (
        f"the start column in {name} is not known to be a multiple of {unit} elements "
        f"({GRANULE_BYTES} bytes)"
    )


def _starts_inside(copy: BulkCopy) -> str | None:
    name = copy.tensor.name_hint or "the tensor"
    for dimension, start in enumerate(copy.corner):
        if not copy.starts.is_nonneg(start, copy.op):
            known = f"is {start}" if isinstance(start, int) else "is not known to be at least 0"
            return (
                f"the start in dimension {dimension} of {name} {known}: a TMA store must start in "
                "bounds"
            )
    return None


def _ends_at_granule(copy: BulkCopy) -> str | None:
    extent = shape_of(copy.tensor.type)[-1]
    name = copy.tensor.name_hint or "the tensor"
    if extent == DYNAMIC_INDEX:
        last, unit = len(shape_of(copy.tensor.type)) - 1, granule(copy.element_bits)
        if extent_is_multiple(copy.tensor, last, unit, copy.op, copy.known):
            return None
        return f"the row length of {name} is unknown: a TMA store writes whole units of 16 bytes"
    size = extent * copy.element_bits // 8
    if size % GRANULE_BYTES == 0:
        return None
    return (
        f"a row of {name} has {size} bytes, not a multiple of {GRANULE_BYTES}: a TMA store would "
        "write past its end"
    )


def _has_good_strides(copy: BulkCopy) -> str | None:
    """The stride of every dimension but the last is a multiple of 16 bytes."""
    if row_strides(copy.tensor)[-1] != 1:
        return f"the innermost dimension of {name_of(copy.tensor)} is not contiguous"
    unit = granule(copy.element_bits)
    return uneven_stride(copy.tensor, unit, copy.op, copy.known)


def _starts_at_address(copy: BulkCopy) -> str | None:
    """The tensor itself begins at a multiple of 16 bytes."""
    return uneven_start(copy.tensor, GRANULE_BYTES, copy.op, copy.known)


def _pads_with_zero(copy: BulkCopy) -> str | None:
    if isinstance(copy.op, AtomicOp):
        return None
    owner = copy.dst.owner
    if isinstance(owner, AllocOp) and owner.safe_value is not None:
        return "out-of-bounds elements must read as a value other than zero"
    is_load = space_of(copy.src.type) is Space.GLOBAL
    return other_than_zero(copy.op) if is_load else None


def _is_whole(copy: BulkCopy) -> str | None:
    """TMA's layout of a buffer is that of its whole matrix."""
    for side in (copy.src, copy.dst):
        space, owner = space_of(side.type), side.owner
        if space is None or not space.is_shared:
            continue
        if isinstance(owner, ViewOp):
            return "the buffer in shared memory is a reinterpreted view"
        if isinstance(owner, RegionOp):
            shape = shape_of(owner.base.type)
            is_matrix = owner.extents[-2:] == shape[-2:] and owner.offsets[-2:] == (0, 0)
            if not is_matrix or any(extent != 1 for extent in owner.extents[:-2]):
                return "it accesses part of a matrix in shared memory"
    return None


def _consists_of_atoms(part: RegionOp) -> bool:
    """Whether a part of a matrix consists of whole atoms of any swizzle the matrix may get.

    A box is then contiguous in shared memory, and starts where the pattern does. The widest
    swizzle decides: narrower atoms divide its atoms. A plain matrix has no such boxes, so a
    buffer that may stay plain does not qualify.
    """
    base, shape = part.base, shape_of(part.base.type)
    if not isinstance(base.owner, AllocOp) or len(shape) != 2 or is_seen_otherwise(base):
        return False
    bits = bit_width(element_type_of(base.type))
    swizzle = None if bits % 8 else choose_swizzle(shape[1], bits)
    if shape[0] % ATOM_ROWS or not swizzle:
        return False
    units = ATOM_ROWS, swizzle * 8 // bits
    return all(
        isinstance(start, int)
        and isinstance(extent, int)
        and start % unit == extent % unit == 0
        and 0 <= start < start + extent <= limit
        for start, extent, unit, limit in zip(part.offsets, part.extents, units, shape, strict=True)
    )


def _has_no_own_layout(copy: BulkCopy) -> str | None:
    for side in (copy.src, copy.dst):
        base = base_of(side)
        if isinstance(base.owner, AllocOp) and base.owner.layout is not None:
            return "TMA does not support the user-specified layout of the buffer"
        if isinstance(base, BlockArgument) and "tile.layout" in argument_attributes(base):
            return "TMA does not support the user-specified layout of the tensor"
    return None


BULK_CONDITIONS: tuple[Condition, ...] = (
    is_enabled,
    _keeps_elements,
    _is_a_tensor,
    _rank,
    _has_known_box,
    _fits_box,
    _divides_into_boxes,
    _has_whole_granules,
    _has_good_strides,
    _starts_at_address,
    _starts_at_granule,
    _pads_with_zero,
    _has_no_own_layout,
    _is_whole,
)


def corner_of(side: SSAValue) -> tuple[Mixed, ...]:
    """The indices at which a region, or a whole tensor, starts."""
    owner = side.owner
    return owner.offsets if isinstance(owner, RegionOp) else (0,) * len(shape_of(side.type))


def bulk_copy(op: CopyOp, starts: Starts) -> BulkCopy | str:
    """`op` as a bulk copy into shared memory, or why it cannot be one."""
    target = space_of(op.dst.type)
    if space_of(op.src.type) is not Space.GLOBAL or target is None or not target.is_shared:
        return "it does not copy global memory to shared memory"
    source = op.src.owner
    is_part = isinstance(source, RegionOp)
    if not is_part and not isinstance(op.src.type, MemRefType):
        return "the tensor is not an argument of the kernel"
    box = tuple(shape_of(op.src.type))
    copy = BulkCopy(op, tensor_of(op.src), box, corner_of(op.src), starts)
    for condition in BULK_CONDITIONS:
        problem = condition(copy)
        if problem is not None:
            return problem
    return copy


def moves_out_of_shared(op: CopyOp | AsyncCopyOp | AtomicOp) -> bool:
    """Whether a tile in shared memory is stored to a tensor, or updates one."""
    source = op.value if isinstance(op, AtomicOp) else op.src
    space = None if source is None else space_of(source.type)
    return space_of(op.dst.type) is Space.GLOBAL and space is not None and space.is_shared


REDUCIBLE = frozenset(("f32", "f16", "bf16", "i32"))
"""Types of elements that TMA adds."""


def bulk_reduction(op: AtomicOp, starts: Starts) -> BulkCopy | str:
    """`op` as an update by TMA of a tensor with a tile in shared memory, or why it is not."""
    if op.kind.data != "add" or str(element_type_of(op.dst.type)) not in REDUCIBLE:
        return f"TMA has no {op.kind.data} of {element_type_of(op.dst.type)}"
    if op.order != "relaxed":
        return f"updates of TMA are not {op.order}"
    return bulk_store(op, starts)


def bulk_store(
    op: CopyOp | AtomicOp, starts: Starts, *, is_guaranteed: bool = False
) -> BulkCopy | str:
    """`op` as a bulk copy out of shared memory, or why it cannot be one.

    With `is_guaranteed` the user guarantees where it starts.
    """
    if not moves_out_of_shared(op):
        return "it does not copy shared memory to global memory"
    box = tuple(shape_of(op.dst.type))
    copy = BulkCopy(op, tensor_of(op.dst), box, corner_of(op.dst), starts)
    waived = (_starts_at_granule, _starts_inside) if is_guaranteed else ()
    if isinstance(copy.src.owner, RegionOp):
        if isinstance(op, AtomicOp) or not _consists_of_atoms(copy.src.owner):
            return "it copies part of a buffer in shared memory"
        waived = (*waived, _is_whole)
    for condition in (*BULK_CONDITIONS, _starts_inside, _ends_at_granule):
        problem = None if condition in waived else condition(copy)
        if problem is not None:
            return problem
    return copy


def is_seen_otherwise(buffer: SSAValue) -> bool:
    """Whether a view has elements of another type.

    Bytes of two such elements are next to each other only in a plain layout.
    """
    return any(
        (isinstance(op, ViewOp) and element_type_of(op.result.type) != element_type_of(buffer.type))
        or is_seen_otherwise(op.results[0])
        for op in (use.operation for use in buffer.uses)
        if isinstance(op, ViewOp | RegionOp | SlotOp)
    )
