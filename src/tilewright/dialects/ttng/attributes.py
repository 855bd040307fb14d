"""Memory spaces, tensor-memory layouts and the small attributes of NVIDIA ops.

Tensor memory is 128 rows of 512 columns, 32 bits each. A matrix is stored in blocks of
``blockM x blockN``; ``colStride`` is the distance of two elements of a row, in elements::

    #tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>

Scale factors of block-scaled matrix instructions have a fixed arrangement of their own, the
*scales* layout. Both describe the last two dimensions; one leading dimension counts buffers.

Releases up to 3.7 wrote how CTAs share a matrix as ``CTASplitM = 2`` where later ones have basis
vectors, ``CGALayout = [[1, 0]]``. Basis vectors are what is stored here; the older text is read
and, for those releases, written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import FloatAttr, NoneAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.ttg.interfaces import MemDescEncoding, SharedSpace
from tilewright.dialects.ttg.struct import (
    ATTRIBUTE,
    BASES,
    BOOL,
    UINT,
    Bases,
    FieldKind,
    FieldsAttr,
    Struct,
    key,
    keyword,
    struct_attr,
)
from tilewright.dialects.ttg.types import MemDescType, comma
from tilewright.dialects.type_utils import bit_width
from tilewright.ir.text.flavour import Flavour

COLUMN_BITS = 32
"""The width of one column of tensor memory."""


@irdl_attr_definition
class TensorMemorySpace(ParametrizedAttribute):
    """Tensor memory, the private memory of the fifth-generation tensor cores."""

    name = "ttng.tensor_memory"


@irdl_attr_definition
class SharedClusterMemorySpace(ParametrizedAttribute, SharedSpace):
    """The shared memory of any CTA of the cluster, seen from this one."""

    name = "ttng.shared_cluster_memory"


TENSOR_MEMORY = TensorMemorySpace()
SHARED_CLUSTER_MEMORY = SharedClusterMemorySpace()


class LayoutMark(ABC):
    """A layout that is another one with a mark, such as "user-specified"."""

    @property
    @abstractmethod
    def marked(self) -> Attribute:
        """The layout inside."""


def unwrapped(layout: Attribute) -> Attribute:
    """`layout` without any marks around it."""
    while isinstance(layout, LayoutMark):
        layout = layout.marked
    return layout


class TensorMemoryLayout(MemDescEncoding):
    """What all layouts of tensor memory have in common, placeholders included."""

    @property
    @override
    def rank(self) -> int:
        return 2

    @override
    def verify_memdesc(self, type: MemDescType) -> None:
        if not isinstance(type.memory_space, TensorMemorySpace):
            raise VerifyException("memorySpace must be TensorMemorySpace")
        self.verify_shape(type)

    def verify_shape(self, type: MemDescType) -> None:
        """Raise if shape or element type of `type` do not fit this layout."""


def writes_cta_splits(flavour: Flavour) -> bool:
    """Whether `flavour` writes numbers of splits where later releases have basis vectors."""
    return not flavour.is_tlx and not flavour.at_least(3, 8)


def bases_of_splits(split_m: int, split_n: int) -> Bases:
    """Basis vectors of CTAs that cut rows into `split_m` and columns into `split_n` parts."""
    rows = [(1 << bit, 0) for bit in range(split_m.bit_length() - 1)]
    columns = [(0, 1 << bit) for bit in range(split_n.bit_length() - 1)]
    return (*rows, *columns)


def splits_of_bases(bases: Bases) -> tuple[int, int]:
    """Into how many parts `bases` cut the rows and the columns."""
    rows = sum(1 for basis in bases if basis[0])
    columns = sum(1 for basis in bases if basis[1])
    return 1 << rows, 1 << columns


class _CtaStruct(Struct, TensorMemoryLayout):
    """A struct whose CTA layout older releases wrote as two numbers."""

    BRACES: ClassVar[bool] = False
    LEGACY: ClassVar[Mapping[str, FieldKind[Any]]] = {"CTASplitM": UINT, "CTASplitN": UINT}

    @classmethod
    @override
    def upgrade(cls, values: dict[str, Any], parser: AttrParser) -> dict[str, Any]:
        split_m, split_n = values.pop("CTASplitM", 1), values.pop("CTASplitN", 1)
        if (split_m, split_n) == (1, 1):
            return values
        if "CGALayout" in values:
            parser.raise_error("CTASplitM and CTASplitN cannot be combined with CGALayout")
        return values | {"CGALayout": bases_of_splits(split_m, split_n)}

    @override
    def entries(self, flavour: Flavour) -> Sequence[tuple[str, FieldKind[Any], Any]]:
        entries = super().entries(flavour)
        if not writes_cta_splits(flavour):
            return entries
        printed: list[tuple[str, FieldKind[Any], Any]] = []
        for entry in entries:
            printed.extend(_as_splits(entry[2]) if entry[0] == "CGALayout" else [entry])
        return printed


def _as_splits(bases: Bases) -> list[tuple[str, FieldKind[Any], Any]]:
    splits = zip(("CTASplitM", "CTASplitN"), splits_of_bases(bases), strict=True)
    return [(name, UINT, count) for name, count in splits if count != 1]


def verify_rank_two(bases: Bases) -> None:
    """Raise if the basis vectors of CTAs are not pairs."""
    if any(len(basis) != 2 for basis in bases):
        raise VerifyException("CGALayout of a tensor memory layout must have rank 2")


CTA_MODES = {"default": "default", "twocta_lhs": "twocta_lhs", "twocta_rhs": "twocta_rhs"}
"""How a pair of CTAs shares an operand of 64 rows: not at all, each half doubled, or halved."""


@struct_attr
class TensorMemoryEncoding(_CtaStruct):
    """The layout of matrices in tensor memory."""

    name = "ttng.tensor_memory_encoding"
    ASM_ALIAS: ClassVar[str] = "tmem"

    block_m: int = key("blockM", UINT)
    block_n: int = key("blockN", UINT)
    col_stride: int = key("colStride", UINT)
    cga_layout: Bases = key("CGALayout", BASES, default=())
    two_ctas: bool = key("twoCTAs", BOOL, default=False)
    cta_mode: str = key("ctaMode", keyword(CTA_MODES), default="default")
    fp4_padded: bool = key("fp4Padded", BOOL, default=False)

    @property
    @override
    def cga(self) -> Bases:
        return self.cga_layout

    @override
    def verify(self) -> None:
        verify_rank_two(self.cga_layout)
        if self.block_m not in (64, 128):
            raise VerifyException(f"blockM must be 64 or 128 but got {self.block_m}")
        if self.block_n < 1 or self.block_n & (self.block_n - 1):
            raise VerifyException(f"blockN must be a power of 2 but got {self.block_n}")
        if self.block_n > 512:
            raise VerifyException(
                f"blockN must be less than or equal to 512 but got {self.block_n}"
            )
        if self.col_stride not in (1, 2, 4):
            raise VerifyException(f"colStride must be 1, 2, or 4 but got but got {self.col_stride}")
        if self.fp4_padded and self.col_stride != 1:
            raise VerifyException(
                f"fp4Padded tensor memory layout requires colStride 1 but got {self.col_stride}"
            )
        if self.two_ctas and self.cga_layout and self.cga_layout[0] != (1, 0):
            raise VerifyException(
                "twoCTAs layout requires the first CGALayout block basis to be [1, 0]"
            )

    @override
    def verify_shape(self, type: MemDescType) -> None:
        width = bit_width(type.element_type)
        if width < 8:
            raise VerifyException(
                f"tensor-memory element type bit width must be at least 8; got {width}"
            )
        if type.rank not in (2, 3):
            raise VerifyException("rank must be 2 or 3")
        if width * self.col_stride > COLUMN_BITS:
            raise VerifyException(
                "bitwidth * colStride must be less than or equal to 32. "
                f"Got {width} and {self.col_stride}"
            )
        # A view may be narrower than a block, and releases differ on buffers that are.
        if type.alloc_shape[-2] < self.block_m:
            raise VerifyException(
                f"the tensor shape must be at least {self.block_m}x{self.block_n}. "
                f"Got {comma(type.shape[-2:])}"
            )


BLOCK_REP_ORDERS = {"mnThenK": "mnThenK", "kThenMn": "kThenMn"}


@struct_attr
class TensorMemoryScalesEncoding(_CtaStruct):
    """The layout of scale factors in tensor memory.

    Blocks of 32x16 bytes, each repeated for the four warps of a warp group. `block_rep_order`
    is the direction in which the blocks of a larger tensor follow each other.
    """

    name = "ttng.tensor_memory_scales_encoding"
    ASM_ALIAS: ClassVar[str] = "tmem_scales"

    cga_layout: Bases = key("CGALayout", BASES, default=())
    block_rep_order: str = key("blockRepOrder", keyword(BLOCK_REP_ORDERS), default="mnThenK")

    @property
    @override
    def cga(self) -> Bases:
        return self.cga_layout

    @override
    def verify(self) -> None:
        verify_rank_two(self.cga_layout)

    @override
    def verify_shape(self, type: MemDescType) -> None:
        # Three dimensions are scales of several pipeline stages, which TLX allocates.
        if type.rank not in (2, 3):
            raise VerifyException(
                f"tensor-memory scale descriptors must have rank 2; got {type.rank}"
            )
        if bit_width(type.element_type) != 8:
            raise VerifyException("bitwidth must be 8")


_REDUCTION = keyword({"min": "min", "max": "max"})


@dataclass(frozen=True)
class ReduceModifier(FieldsAttr):
    """``#ttng.redOp<min>``: what a load from tensor memory reduces each row to."""

    name = "ttng.redOp"

    kind: str

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return cls.pack((_REDUCTION.parse(parser, cls.name),))

    @override
    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.kind}>")


_CACHE_MODIFIER = keyword({name: name for name in ("none", "ca", "cg", "wb", "cs", "wt", "cv")})
_PRIORITY = keyword(
    {
        name: name
        for name in (
            "none",
            "evict_normal",
            "evict_unchanged",
            "evict_first",
            "evict_last",
            "no_allocate",
        )
    }
)
_ABSENT = NoneAttr()


@struct_attr
class NvidiaCachePolicy(Struct):
    """``#ttng.cache_policy<...>``: which caches keep the data of an access, and for how long.

    The L2 policy is fractional: `l2_primary` for that fraction of the accesses, `l2_secondary`
    for the others.
    """

    name = "ttng.cache_policy"
    BRACES: ClassVar[bool] = False

    cache_modifier: str = key("cache_modifier", _CACHE_MODIFIER, default="none")
    l1: str = key("l1", _PRIORITY, default="none")
    l2_primary: str = key("l2_primary", _PRIORITY, default="none")
    l2_secondary: str = key("l2_secondary", _PRIORITY, default="none")
    l2_fraction: Attribute = key("l2_fraction", ATTRIBUTE, default=_ABSENT)
    l2_prefetch_size: Attribute = key("l2_prefetch_size", ATTRIBUTE, default=_ABSENT)

    @override
    def verify(self) -> None:
        if self.cache_modifier != "none" and self.l1 != "none":
            raise VerifyException("cache modifier cannot be combined with an L1 eviction priority")
        has_rest = self.l2_secondary != "none" and isinstance(self.l2_fraction, FloatAttr)
        if self.l2_primary != "none" and not has_rest:
            raise VerifyException("L2 policy requires l2_secondary and l2_fraction")
