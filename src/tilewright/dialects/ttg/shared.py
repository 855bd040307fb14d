"""Layouts of buffers in shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from typing_extensions import override
from xdsl.ir import Attribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.ttg.bases import (
    cga_of,
    extents,
    identity_bases,
    is_injective,
    is_power_of_two,
    is_surjective,
    joined,
    moves_at_most_once,
    order_of,
    permuted,
    rank_of,
    verify_ranks,
    without_broadcasts,
)
from tilewright.dialects.ttg.cga import CgaStruct, shape_per_cta
from tilewright.dialects.ttg.distributed import verify_order
from tilewright.dialects.ttg.interfaces import SharedEncoding
from tilewright.dialects.ttg.struct import (
    ATTRIBUTE,
    BASES,
    BOOL,
    UINT,
    UINTS,
    Bases,
    FieldKind,
    FieldsAttr,
    Ints,
    Struct,
    bases_text,
    ints_text,
    key,
    struct_attr,
)
from tilewright.ir.text.flavour import Flavour

if TYPE_CHECKING:
    from tilewright.dialects.ttg.types import MemDescType

_DEFAULT_ALIGNMENT = 16


@struct_attr
class _Swizzled(CgaStruct, SharedEncoding):
    """Rows whose groups of `vec` elements are permuted.

    The pattern changes every `per_phase` rows and repeats after `max_phase` patterns.
    """

    vec: int = key("vec", UINT)
    per_phase: int = key("perPhase", UINT)
    max_phase: int = key("maxPhase", UINT)
    order: Ints = key("order", UINTS)

    @property
    @override
    def rank(self) -> int:
        return len(self.order)

    @property
    @override
    def alignment(self) -> int:
        return _DEFAULT_ALIGNMENT

    @override
    def verify(self) -> None:
        verify_order(self.order)
        super().verify()


@struct_attr
class SwizzledSharedEncoding(_Swizzled):
    """Groups of a row are permuted by XOR with the number of the phase."""

    name = "ttg.swizzled_shared"
    ASM_ALIAS: ClassVar[str] = "shared"

    @override
    def after_trans(self, shape: Sequence[int], order: Sequence[int]) -> Attribute | None:
        position = {dim: index for index, dim in enumerate(order)}
        return replace(
            self,
            order=tuple(position[dim] for dim in self.order),
            cga_layout=permuted(self.cga_layout, order),
        )


@struct_attr
class AmdRotatingSharedEncoding(_Swizzled):
    """As swizzled, but the pattern also rotates from block to block of rows."""

    name = "ttg.amd_rotating_shared"
    ASM_ALIAS: ClassVar[str] = "shared"


@struct_attr
class NvmmaSharedEncoding(CgaStruct, SharedEncoding):
    """The tiles TMA writes and wgmma reads: 8 rows of `swizzling_byte_width` bytes, permuted."""

    name = "ttg.nvmma_shared"
    ASM_ALIAS: ClassVar[str] = "shared"

    swizzling_byte_width: int = key("swizzlingByteWidth", UINT)
    transposed: bool = key("transposed", BOOL, default=False, always=True)
    element_bit_width: int = key("elementBitWidth", UINT)
    fp4_padded: bool = key("fp4Padded", BOOL, default=False)
    tensor_rank: int = key("rank", UINT, default=2)

    @property
    @override
    def rank(self) -> int:
        return self.tensor_rank

    @property
    def order(self) -> Ints:
        """Dimensions from the fastest to the slowest."""
        dims = tuple(range(self.rank))
        return dims if self.transposed else dims[::-1]

    @property
    def max_phase(self) -> int:
        return self.swizzling_byte_width // 16 or 1

    @property
    @override
    def alignment(self) -> int:
        return 128 * self.max_phase

    @classmethod
    @override
    def upgrade(cls, values: dict[str, Any], parser: AttrParser) -> dict[str, Any]:
        values = super().upgrade(values, parser)
        cga: Bases = values.get("CGALayout", ())
        if cga:
            values.setdefault("rank", len(cga[0]))
        return values

    @override
    def entries(self, flavour: Flavour) -> Sequence[tuple[str, FieldKind[Any], Any]]:
        shown = super().entries(flavour)
        return [entry for entry in shown if entry[0] != "rank"] if self.cga_layout else shown

    @override
    def after_trans(self, shape: Sequence[int], order: Sequence[int]) -> Attribute | None:
        if tuple(order) != (1, 0):
            return None
        return replace(
            self,
            transposed=not self.transposed,
            cga_layout=permuted(self.cga_layout, order),
        )

    @override
    def verify(self) -> None:
        if self.element_bit_width == 0:
            raise VerifyException("elementBitWidth must be non-zero")
        if self.swizzling_byte_width not in (0, 32, 64, 128):
            raise VerifyException("swizzlingByteWidth must be 0, 32, 64, or 128")
        super().verify()

    @override
    def verify_shape(self, type: MemDescType) -> None:
        """One row of the pattern must fit into the contiguous dimension."""
        block = shape_per_cta(type.alloc_shape, self.cga_layout, self.rank)[-self.rank :]
        contiguous = self.order[0]
        found = block[contiguous] * (2 if self.fp4_padded else 1)
        needed = self.swizzling_byte_width * 8 // self.element_bit_width
        if found < needed:
            raise VerifyException(
                f"block shape along the contiguous dimension {contiguous} is too small for the "
                f"swizzle byte size {self.swizzling_byte_width} in an NVMMASharedLayout, got "
                f"{found} but expected at least {needed}"
            )


class _LinearShared(SharedEncoding):
    """Common part of layouts that map each bit of the offset."""

    offset: Bases
    block: Bases

    @property
    def bases(self) -> Bases:
        return joined((self.offset, self.block))

    @property
    @override
    def rank(self) -> int:
        return rank_of(self.bases)

    @property
    def shape(self) -> Ints:
        """The extents of the tensor that the layout describes."""
        return extents(self.bases, self.rank)

    @property
    def order(self) -> Ints:
        """Dimensions from the fastest to the slowest."""
        return order_of(self.offset, self.rank)

    @property
    @override
    def cga(self) -> Bases:
        return cga_of(self.block)

    @override
    def after_trans(self, shape: Sequence[int], order: Sequence[int]) -> Attribute | None:
        # Padding counts elements of the offset, whatever their coordinates.
        moved = {"offset": permuted(self.offset, order), "block": permuted(self.block, order)}
        return replace(cast("Any", self), **moved)  # a dataclass in every subclass

    @override
    def after_reshape(
        self, shape: Sequence[int], new_shape: Sequence[int], allow_reorder: bool
    ) -> Attribute | None:
        if self.block or tuple(shape) != self.shape:
            return None
        offset = tuple(_unflattened(_flattened(each, shape), new_shape) for each in self.offset)
        moved: dict[str, Any] = {"offset": offset}
        if isinstance(self, PaddedSharedEncoding):
            moved["padded_rank"] = len(new_shape)
        return replace(cast("Any", self), **moved)

    @override
    def verify_shape(self, type: MemDescType) -> None:
        expected = type.alloc_shape[-self.rank :]
        for dim, (size, own) in enumerate(zip(expected, self.shape, strict=True)):
            if size != own:
                raise VerifyException(
                    f"Mismatch in expected shape for dimension {dim}. Expected: {size}, got: {own}"
                )


def _flattened(at: Sequence[int], shape: Sequence[int]) -> int:
    """The index of the element at `at`, row by row."""
    flat = 0
    for index, extent in zip(at, shape, strict=True):
        flat = flat * extent + index
    return flat


def _unflattened(flat: int, shape: Sequence[int]) -> tuple[int, ...]:
    found: list[int] = []
    for extent in reversed(shape):
        flat, index = divmod(flat, extent)
        found.append(index)
    return tuple(reversed(found))


@struct_attr
class SharedLinearEncoding(Struct, _LinearShared):
    """Any linear layout of shared memory: ``<{offset = ..., block = ...}, alignment = 16>``."""

    name = "ttg.shared_linear"
    ASM_ALIAS: ClassVar[str] = "shared"

    offset: Bases = key("offset", BASES)
    block: Bases = key("block", BASES, default=())
    layout_alignment: int = key("alignment", UINT)

    @property
    @override
    def alignment(self) -> int:
        return self.layout_alignment

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            found = cls.parse_entries(parser)
            if "alignment" in found:
                parser.raise_error(
                    "alignment must be specified outside of the linear layout braces"
                )
            parser.parse_punctuation(",")
            parser.parse_keyword("alignment")
            parser.parse_punctuation("=")
            found["alignment"] = parser.parse_integer(allow_boolean=False)
        values = cls.field_values(found, parser)
        return cls.pack((values["offset"], values["block"], values["layout_alignment"]))

    @override
    def print_parameters(self, printer: Printer) -> None:
        block = f", block = {bases_text(self.block)}" if self.block else ""
        printer.print_string(
            f"<{{offset = {bases_text(self.offset)}{block}}}, alignment = {self.alignment}>"
        )

    @override
    def verify(self) -> None:
        if not is_power_of_two(self.layout_alignment):
            raise VerifyException("alignment must be a positive power of two")
        if not self.rank:
            raise VerifyException("Empty Layout not supported")
        verify_ranks(self.bases, self.rank)
        if not is_surjective(self.bases):
            raise VerifyException("The layout must be surjective")
        if not is_injective(without_broadcasts(self.bases)):
            raise VerifyException("After removing the zero bases the layout must be bijective")


@dataclass(frozen=True)
class PaddedSharedEncoding(FieldsAttr, _LinearShared):
    """Rows with gaps: after every `intervals[i]` elements, `paddings[i]` more are left free.

    Printed as ``<[512:+8] {order = [1, 0], shape = [32, 64]}>`` when the elements between the gaps
    follow each other in order, and with bases, ``{offset = [...], block = []}``, otherwise.
    """

    name = "ttg.padded_shared"
    ASM_ALIAS: ClassVar[str] = "shared"

    intervals: Ints
    paddings: Ints
    offset: Bases
    block: Bases
    padded_rank: int

    @classmethod
    def in_order(
        cls, intervals: Ints, paddings: Ints, shape: Ints, order: Ints
    ) -> PaddedSharedEncoding:
        """Contiguous elements of `shape`, with gaps."""
        return cls(intervals, paddings, identity_bases(shape, order), (), len(shape))

    @property
    @override
    def rank(self) -> int:
        return self.padded_rank

    @property
    @override
    def alignment(self) -> int:
        return _DEFAULT_ALIGNMENT

    @property
    def is_in_order(self) -> bool:
        """Whether the elements follow each other, dimension by dimension."""
        return not self.block and self.offset == identity_bases(self.shape, self.order)

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            pairs = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: _parse_interval(parser)
            )
            offset, block, rank = _parse_linear_part(parser)
        intervals = tuple(interval for interval, _ in pairs)
        paddings = tuple(padding for _, padding in pairs)
        return cls.pack((intervals, paddings, offset, block, rank))

    @override
    def print_parameters(self, printer: Printer) -> None:
        pairs = zip(self.intervals, self.paddings, strict=True)
        gaps = ", ".join(f"{interval}:+{padding}" for interval, padding in pairs)
        if self.is_in_order:
            body = f"order = {ints_text(self.order)}, shape = {ints_text(self.shape)}"
        else:
            body = f"offset = {bases_text(self.offset)}, block = {bases_text(self.block)}"
        printer.print_string(f"<[{gaps}] {{{body}}}>")

    @override
    def verify(self) -> None:
        if len(self.intervals) != len(self.paddings):
            raise VerifyException(
                f"intervals size ({len(self.intervals)}) must match paddings size "
                f"({len(self.paddings)})"
            )
        if not self.intervals:
            raise VerifyException("must have at least one interval-padding pair")
        if not all(map(is_power_of_two, self.intervals)):
            raise VerifyException("interval values must all be power of two")
        if not all(map(is_power_of_two, self.paddings)):
            raise VerifyException("padding values must all be power of two")
        if len(set(self.intervals)) != len(self.intervals):
            raise VerifyException("interval values cannot have duplicates")
        if not self.rank:
            raise VerifyException("linearComponent cannot be empty")
        verify_ranks(self.bases, self.rank)
        self._verify_bases()

    def _verify_bases(self) -> None:
        if not is_injective(self.offset):
            raise VerifyException("Broadcasting in offset dimension is not supported.")
        for bases in (self.offset, self.block):
            if not moves_at_most_once(bases):
                raise VerifyException("Each offset basis must move in at most one dimension.")
            values = (value for basis in bases for value in basis)
            if not all(value == 0 or is_power_of_two(value) for value in values):
                raise VerifyException("Each offset basis must be 0 or a power of two.")


def _parse_interval(parser: AttrParser) -> tuple[int, int]:
    """``512:+8``"""
    interval = parser.parse_integer(allow_boolean=False, allow_negative=False)
    parser.parse_punctuation(":")
    parser.parse_punctuation("+")
    return interval, parser.parse_integer(allow_boolean=False, allow_negative=False)


_LINEAR_PART: dict[str, FieldKind[Any]] = {
    "offset": BASES,
    "block": BASES,
    "order": UINTS,
    "shape": UINTS,
}


def _parse_linear_part(parser: AttrParser) -> tuple[Bases, Bases, int]:
    """``{offset = ..., block = ...}`` or ``{order = ..., shape = ...}``: bases and rank."""
    found: dict[str, Any] = {}

    def entry() -> None:
        name = parser.parse_identifier()
        if name not in _LINEAR_PART:
            parser.raise_error(f'Unexpected attribute "{name}" found')
        parser.parse_punctuation("=")
        found[name] = _LINEAR_PART[name].parse(parser, name)

    parser.parse_comma_separated_list(parser.Delimiter.BRACES, entry)
    in_order = "offset" not in found and "block" not in found
    for name in ("order", "shape") if in_order else ("offset", "block"):
        if name not in found:
            parser.raise_error(f"expected basis of '{name}' not found")
    if not in_order:
        extra = next((name for name in ("order", "shape") if name in found), None)
        if extra is not None:
            parser.raise_error(f'Unexpected attribute "{extra}" found')
        return found["offset"], found["block"], rank_of(found["offset"], found["block"])
    order, shape = found["order"], found["shape"]
    if len(order) != len(shape):
        parser.raise_error("Mismatch of shape and order ranks in padded layout")
    verify_order(order)
    if not all(map(is_power_of_two, shape)):
        parser.raise_error("shape values must all be power of two")
    return identity_bases(shape, order), (), len(shape)


@struct_attr
class PartitionedSharedEncoding(Struct, SharedEncoding):
    """A tensor cut along `partition_dim`, distributed over partitions of shared memory."""

    name = "ttg.partitioned_shared"
    ASM_ALIAS: ClassVar[str] = "shared"

    num_partitions: int = key("numPartitions", UINT)
    num_groups: int = key("numGroups", UINT)
    partition_dim: int = key("partitionDim", UINT)
    partition_layout: Attribute = key("partitionLayout", ATTRIBUTE)

    @property
    def inner_layout(self) -> SharedEncoding:
        assert isinstance(self.partition_layout, SharedEncoding), "checked by verify"
        return self.partition_layout

    @property
    @override
    def rank(self) -> int:
        return self.inner_layout.rank

    @property
    @override
    def cga(self) -> Bases:
        return self.inner_layout.cga

    @property
    @override
    def alignment(self) -> int:
        return self.inner_layout.alignment

    @override
    def verify(self) -> None:
        if not isinstance(self.partition_layout, SharedEncoding):
            raise VerifyException("partitionLayout must be a SharedEncodingTrait")
        if self.num_partitions < 2 or not is_power_of_two(self.num_partitions):
            raise VerifyException("numPartitions must be a power of 2 and at least 2")
        if not is_power_of_two(self.num_groups):
            raise VerifyException("numGroups must be a power of 2 and greater than 0")
        if self.partition_dim >= self.rank:
            raise VerifyException(
                f"partitionDim ({self.partition_dim}) must be less than the layout rank "
                f"({self.rank})"
            )
