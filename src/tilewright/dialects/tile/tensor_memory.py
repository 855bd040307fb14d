"""GEMMs of Blackwell's tensor cores, which keep accumulators in tensor memory.

    tile.tcgen05_gemm %a, %b -> %c clear_if %first barrier %done[%i] : TA, TB -> TC, TBAR
    tile.tcgen05_gemm %a, %b -> %c scales(%sa, %sb) at %k granularity [128, 128] : ...
    tile.tcgen05_commit %full[%i] : memref<2x!nv.mbarrier, #barrier>
    tile.tcgen05_copy_scales %packed -> %cells : TW -> TC
    tile.transpose_scales %packed : TW

One thread issues; the tensor core works through what it issued in order, and later. A barrier gets
one arrival when everything issued before is complete: that of the GEMM itself, or of a
``tcgen05_commit``. Until a wait for that phase has returned, the accumulator must not be accessed
and operands must not change.

With ``two_cta`` the first block of a pair issues for both: each block has its rows of A and of the
accumulator and half of the columns of B, and its accumulator has all columns. Arrivals then go to
the barrier of both blocks.

Scales are bytes (e8m0), four along K in 32 bits. `transpose_scales` exchanges the elements of each
128 between the order of rows and that of ``tcgen05.cp``, which `tcgen05_copy_scales` copies into
the cells of tensor memory: element ``4 * l + c`` of chunk ``g`` goes to lanes ``l + 32 * w``,
column ``4 * g + c``. So the scales of row ``r`` are at lane ``r mod 32``, column ``r div 32``.
Which of the four bytes a K step uses follows from where it begins along K and from the granularity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    IntegerType,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import (
    AccessedRegion,
    Orders,
    RegionEffects,
    TileOp,
    Unit,
    region_of,
)
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.base import (
    Operand,
    given,
    integer_attr,
    mark,
    mark_prop,
    opt_integer_prop,
)
from tilewright.dialects.tile.kernel import kernel_of
from tilewright.dialects.tile.mbarrier import BarrierOp
from tilewright.dialects.tile.mixed import INDEX
from tilewright.dialects.tile.movement import AsyncCopyOp, matrix, verify_barrier
from tilewright.dialects.tile.types import BUFFER, BUFFER_OR_REGION, shape_text, space_of
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.traversal import walk

LANES = 128
"""Rows of tensor memory."""
CHUNK = 128
"""Packed scales that one ``tcgen05.cp`` copies."""
K_STEP_BYTES = 32
"""Of an operand's row, that one instruction multiplies."""

_HALVES = (Float16Type(), BFloat16Type())
_EIGHTS = (Float8E4M3FNType(), Float8E5M2Type())
_BYTE, _INT32 = IntegerType(8), IntegerType(32)


@irdl_op_definition
class Tcgen05GemmOp(TileOp):
    """Starts ``C (+)= op(A) @ op(B)`` and goes on; A may be in tensor memory."""

    name = "tile.tcgen05_gemm"

    a = operand_def(BUFFER_OR_REGION)
    b = operand_def(BUFFER_OR_REGION)
    c = operand_def(BUFFER_OR_REGION)
    clear_if = opt_operand_def(i1)
    """Whether it overwrites its destination, as a run-time value."""
    a_scales = opt_operand_def(BUFFER_OR_REGION)
    b_scales = opt_operand_def(BUFFER_OR_REGION)
    k_start = opt_operand_def(INDEX)
    """Where along K the operands begin, which determines the scales."""
    barrier = opt_operand_def(BUFFER)
    barrier_index = opt_operand_def(INDEX)
    transpose_a = mark_prop()
    transpose_b = mark_prop()
    clear = mark_prop()
    two_cta = mark_prop()
    a_granularity = opt_integer_prop()
    """Elements along K that share a scale."""
    b_granularity = opt_integer_prop()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = (
        "$a `,` $b `->` $c (`clear_if` $clear_if^)? "
        "(`scales` `(` $a_scales^ `:` type($a_scales) `,` $b_scales `:` type($b_scales) `)` "
        "`at` $k_start)? "
        "(`barrier` $barrier^ `[` $barrier_index `]` `:` type($barrier))? "
        "attr-dict `:` type($a) `,` type($b) `->` type($c)"
    )
    WRITES: ClassVar[tuple[str, ...]] = ("c",)

    def __init__(
        self,
        a: Operand,
        b: Operand,
        c: Operand,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        clear: bool = False,
        clear_if: Operand | None = None,
        barrier: tuple[Operand, Operand] | None = None,
        scales: tuple[Operand, Operand] | None = None,
        k_start: Operand | None = None,
        granularity: tuple[int, int] | None = None,
        two_cta: bool = False,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        super().__init__(
            operands=[
                *(a, b, c, clear_if),
                *(scales or (None, None)),
                k_start,
                *(barrier or (None, None)),
            ],
            properties=given(
                transpose_a=mark(transpose_a),
                transpose_b=mark(transpose_b),
                clear=mark(clear),
                two_cta=mark(two_cta),
                a_granularity=integer_attr(None if granularity is None else granularity[0]),
                b_granularity=integer_attr(None if granularity is None else granularity[1]),
            ),
            attributes=dict(attributes or {}),
        )

    @property
    def mnk(self) -> tuple[int, int, int]:
        """Rows and columns of one block's accumulator, and K, of a verified op."""
        rows, columns = matrix("operand C", self.c)
        a = matrix("operand A", self.a)
        return rows, columns, a[0] if self.transpose_a is not None else a[1]

    @property
    def is_scaled(self) -> bool:
        return self.a_scales is not None

    @property
    def granularity(self) -> tuple[int, int]:
        """Elements along K that share a scale, of a scaled GEMM."""
        assert self.a_granularity is not None and self.b_granularity is not None
        return self.a_granularity.value.data, self.b_granularity.value.data

    @override
    def reads(self) -> list[AccessedRegion]:
        names = ["a", "b", "a_scales", "b_scales"]
        names += [] if self.clear is not None else ["c"]
        return [region_of(value, self.unit()) for value in self._named(names)]

    @override
    def unit(self) -> Unit:
        return "tensor_core"

    @override
    def is_async(self) -> bool:
        return True

    @override
    def verify_(self) -> None:
        self._verify_spaces()
        self._verify_shapes()
        self._verify_types()
        self._verify_scales()
        verify_barrier(self.barrier, self.barrier_index)
        if self.clear is not None and self.clear_if is not None:
            raise VerifyException("clear and clear_if are mutually exclusive")

    def _verify_spaces(self) -> None:
        a, b, c = (space_of(value.type) for value in (self.a, self.b, self.c))
        if a is None or not (a.is_shared or a is Space.TMEM):
            raise VerifyException(f"A must be in shared or tensor memory, but it is {_where(a)}")
        if b is None or not b.is_shared:
            raise VerifyException(f"B must be in shared memory, but it is {_where(b)}")
        if c is not Space.TMEM:
            raise VerifyException(f"C must be in tensor memory, but it is {_where(c)}")
        if a is Space.TMEM and self.transpose_a is not None:
            raise VerifyException("A in tensor memory cannot be transposed")

    def _verify_shapes(self) -> None:
        a, b = matrix("operand A", self.a), matrix("operand B", self.b)
        rows, length = a[::-1] if self.transpose_a is not None else a
        other, columns = b[::-1] if self.transpose_b is not None else b
        c_rows, c_columns = matrix("operand C", self.c)
        whole = columns * (2 if self.two_cta is not None else 1)
        for name, left, actual, right, expected in (
            ("K", "K_A", length, "K_B", other),
            ("M", "M_A", rows, "M_C", c_rows),
            ("N", "N_B of both blocks" if self.two_cta else "N_B", whole, "N_C", c_columns),
        ):
            if actual != expected:
                raise VerifyException(
                    f"T.tcgen05_gemm {name} shape check failed: {left} = {actual}, "
                    f"{right} = {expected}"
                )

    def _verify_types(self) -> None:
        a, b, c = (element_type_of(value.type) for value in (self.a, self.b, self.c))
        is_eight = {a, b} <= {*_EIGHTS, _BYTE} if self.is_scaled else {a, b} <= set(_EIGHTS)
        accumulators: tuple[Attribute, ...]
        if is_eight:
            accumulators = (Float32Type(),) if self.is_scaled else (Float32Type(), Float16Type())
        elif a == b == Float16Type():
            accumulators = (Float32Type(), Float16Type())
        elif a == b and (a in _HALVES or a == Float32Type()):
            accumulators = (Float32Type(),)
        elif a == b == _BYTE:
            accumulators = (_INT32,)
        else:
            raise VerifyException(
                f"tcgen05 does not multiply '{a}' by '{b}': it takes two of f16, bf16, f32 (tf32) "
                "or i8, or any of e4m3 and e5m2"
            )
        if c not in accumulators:
            shown = " or ".join(f"'{each}'" for each in accumulators)
            raise VerifyException(f"an accumulator for these operands is {shown}, got '{c}'")

    def _verify_scales(self) -> None:
        if not self.is_scaled:
            if self.a_granularity is not None or self.k_start is not None:
                raise VerifyException("a granularity is that of scales, and there are none")
            return
        if self.b_scales is None or self.k_start is None or self.a_granularity is None:
            raise VerifyException("scales require those of A and B, k_start and granularities")
        _, columns, _ = self.mnk
        rows = LANES
        for name, value, extent in (("A", self.a_scales, rows), ("B", self.b_scales, columns)):
            assert value is not None
            if (
                space_of(value.type) is not Space.TMEM
                or bit_width(element_type_of(value.type)) != 32
            ):
                raise VerifyException(f"scales of {name} must be 32-bit integers in tensor memory")
            cells = matrix(f"scales of {name}", value)
            if cells[1] * 32 < extent:
                raise VerifyException(
                    f"scales of {extent} rows of {name} take {-(-extent // 32)} columns, got "
                    f"{shape_text(cells)}"
                )
        for name, granularity in zip(("A", "B"), self.granularity, strict=True):
            if granularity < K_STEP_BYTES or granularity % K_STEP_BYTES:
                raise VerifyException(
                    f"granularity of the scales of {name} must be a multiple of {K_STEP_BYTES}, "
                    f"got {granularity}"
                )


@irdl_op_definition
class Tcgen05CommitOp(BarrierOp):
    """One arrival, when all that this thread has issued to the tensor core is complete."""

    name = "tile.tcgen05_commit"
    barrier = operand_def(BUFFER)
    index = operand_def(INDEX)
    two_cta = mark_prop()
    """Whether the barriers of both blocks of the pair get an arrival."""

    traits = traits_def(Orders())

    def __init__(self, barrier: Operand, index: Operand, *, two_cta: bool = False) -> None:
        super().__init__(operands=[barrier, index], properties=given(two_cta=mark(two_cta)))


@irdl_op_definition
class Tcgen05CopyScalesOp(TileOp):
    """Starts a copy of scales to tensor memory, in the order of the GEMMs."""

    name = "tile.tcgen05_copy_scales"

    src = operand_def(BUFFER_OR_REGION)
    dst = operand_def(BUFFER_OR_REGION)
    two_cta = mark_prop()
    """Whether both blocks of the pair copy their own."""

    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = "$src `->` $dst attr-dict `:` type($src) `->` type($dst)"
    READS: ClassVar[tuple[str, ...]] = ("src",)
    WRITES: ClassVar[tuple[str, ...]] = ("dst",)

    def __init__(self, src: Operand, dst: Operand, *, two_cta: bool = False) -> None:
        super().__init__(operands=[src, dst], properties=given(two_cta=mark(two_cta)))

    @property
    def chunks(self) -> int:
        return shape_of(self.src.type)[-1] // CHUNK

    @override
    def unit(self) -> Unit:
        return "tensor_core"

    @override
    def is_async(self) -> bool:
        return True

    @override
    def verify_(self) -> None:
        _verify_packed(self.src)
        if (
            space_of(self.dst.type) is not Space.TMEM
            or bit_width(element_type_of(self.dst.type)) != 32
        ):
            raise VerifyException("scales are copied to 32-bit integers in tensor memory")
        lanes, columns = matrix("the destination", self.dst)
        if lanes != LANES or columns < self.chunks * 4:
            raise VerifyException(
                f"{self.chunks * CHUNK} packed scales take {LANES} lanes of {self.chunks * 4} "
                f"columns, got {shape_text((lanes, columns))}"
            )


@irdl_op_definition
class TransposeScalesOp(TileOp):
    """Exchanges the elements of every 128 from the order of rows to that of ``tcgen05.cp``."""

    name = "tile.transpose_scales"

    packed = operand_def(BUFFER_OR_REGION)

    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = "$packed attr-dict `:` type($packed)"
    READS: ClassVar[tuple[str, ...]] = ("packed",)
    WRITES: ClassVar[tuple[str, ...]] = ("packed",)

    def __init__(self, packed: Operand) -> None:
        super().__init__(operands=[packed])

    @override
    def verify_(self) -> None:
        _verify_packed(self.packed)


def _verify_packed(value: SSAValue) -> None:
    space = space_of(value.type)
    if space is None or not space.is_shared or bit_width(element_type_of(value.type)) != 32:
        raise VerifyException(f"scales are 32-bit integers in shared memory, got '{value.type}'")
    shape = shape_of(value.type)
    if any(extent != 1 for extent in shape[:-1]) or shape[-1] % CHUNK:
        raise VerifyException(
            f"scales come in rows of {CHUNK} integers, got extents {shape_text(shape)}"
        )


def _where(space: Space | None) -> str:
    return "in no tile space" if space is None else f"in {space.value} memory"


def is_of_pair(op: Operation) -> bool:
    """Whether the tensor core works for a pair of blocks there."""
    return isinstance(op, _TENSOR_CORE) and op.two_cta is not None


_TENSOR_CORE = (Tcgen05GemmOp, Tcgen05CommitOp, Tcgen05CopyScalesOp)


def reports_to_pair(op: AsyncCopyOp) -> bool:
    """Whether the bytes of a copy are counted by the first block of a pair, for both.

    So are those on barriers of the cluster, in a kernel whose tensor cores work for pairs.
    """
    if op.barrier is None or space_of(op.barrier.type) is not Space.CLUSTER_BARRIER:
        return False
    kernel = kernel_of(op)
    return kernel is not None and any(is_of_pair(each) for each in walk(kernel))
