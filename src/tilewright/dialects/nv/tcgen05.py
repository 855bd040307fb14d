"""Fifth-generation tensor cores (sm_100a): MMAs into tensor memory, and what completes them.

    nv.tcgen05.alloc %slot[%c0] columns(512) : memref<1xi32, #shared>
    %base = memref.load %slot[%c0] : memref<1xi32, #shared>        // after a barrier
    %da = nv.tcgen05.matrix %As[%o] swizzle(128) leading(16) stride(1024) : memref<8192xf16, ...>
    nv.tcgen05.mma %da, %db -> %base kind(f16) shape [128, 256, 16] types(f16, f16, f32)
        use_acc(%p) : i64
    nv.tcgen05.commit %done[%c0] : memref<1x!nv.mbarrier, #barrier>
    nv.mbarrier.wait %done[%c0], %parity : ...
    nv.tcgen05.fence after
    nv.tcgen05.ld %base -> %acc[%c0] shape("32x32b") count(64) : memref<64xf32, #local>
    nv.tcgen05.wait_ld
    nv.tcgen05.fence before
    nv.tcgen05.dealloc %base columns(512)

This page and ``tensor_memory`` (the ops on tensor memory itself) are the contract of the level.

*Addresses.* Tensor memory has 128 lanes of 512 columns of 32 bits. An address is an ``i32``,
``lane << 16 | column``; ``arith`` computes with it. `alloc` writes the address of lane 0 of the
allocated columns to shared memory.

*MMA.* One thread (of the leading CTA of a pair, that with the even rank) issues
``D = A @ B^T (+ D)``; A is ``M x K``, B ``N x K``. `a` is a descriptor (``i64``, SS) or an address
in tensor memory (``i32``, TS: 32-bit words of packed K-major elements); `b` always is a descriptor.
MMAs execute in the order of issue, later than the issuing thread: D may be read, and A and B
written, once a `commit` that follows has arrived at its barrier. Without `use_acc`, D accumulates.

Where element (i, j) of D is, with ``N' = N`` or, where a row is split, N / 2::

    group  M    per CTA    lane                     column
    1      128  all rows   i                        j
    1      64   all rows   i // 16 * 32 + i % 16    j
    2      256  128 rows   i % 128                  j
    2      128  64 rows    i % 64 + 64*(j // N')    j % N'

A CTA of a pair has its rows of A, and rows ``rank * N / 2 …`` of B, both at the descriptors'
offsets of its own shared memory. Results of 16 bits occupy the low half of a column.

*Block scales.* `scales` are addresses of E8M0 factors of 32 elements of K: the factor of row r is
byte ``id`` of column ``r // 32`` in lane ``r % 32`` (and, the same, in the three other quarters of
the lanes). `ids` are two ``i32`` from 0 to 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    IntegerType,
    i1,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.nv.matrix import MatrixDescriptorOp
from tilewright.dialects.simt.register_mma import verify_shape
from tilewright.dialects.tile.access import (
    AccessedRegion,
    Orders,
    RegionAccess,
    base_of,
    somewhere,
    with_unit,
)
from tilewright.dialects.tile.base import (
    KeywordSyntax,
    Operand,
    given,
    integer_attr,
    integer_prop,
    keyword_prop,
    mark,
    mark_prop,
    string,
)
from tilewright.dialects.tile.mbarrier import BarrierOp
from tilewright.dialects.tile.mixed import INDEX, Integers, integers, integers_attr, integers_prop
from tilewright.dialects.tile.types import BUFFER
from tilewright.dialects.type_utils import bit_width
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.syntax import ANY, INT64_ARRAY, AttributeSyntax

KINDS = KeywordSyntax(("f16", "tf32", "f8f6f4", "i8", "mxf8f6f4"))
FENCES = KeywordSyntax(("before", "after"))
BLOCK_SCALED = "mxf8f6f4"
DEPTH_BYTES = 32
"""K of one instruction, in bytes of elements."""
N_LIMIT = 256
_SCALES = 2

_OPERANDS: Mapping[str, tuple[type[Attribute], ...]] = {
    "f16": (Float16Type, BFloat16Type),
    "tf32": (Float32Type,),
    "f8f6f4": (Float8E4M3FNType, Float8E5M2Type),
    "i8": (IntegerType,),
    "mxf8f6f4": (Float8E4M3FNType, Float8E5M2Type, Float4E2M1FNType),
}
"""Elements of 4 bits have 8 bits each in shared memory: 16 are the first 8 of 16 bytes."""
_RESULTS: Mapping[str, tuple[type[Attribute], ...]] = {
    "f16": (Float32Type, Float16Type),
    "tf32": (Float32Type,),
    "f8f6f4": (Float32Type, Float16Type),
    "i8": (IntegerType,),
    "mxf8f6f4": (Float32Type,),
}


def verify_group(group: int) -> None:
    if group not in (1, 2):
        raise VerifyException(f"CTA group must be 1 or 2, got {group}")


def n_step(kind: str, m: int, group: int) -> int:
    """N of an instruction is a multiple of this."""
    if group == 2:
        return 32
    return 16 if m == 128 or kind == "i8" else 8


@irdl_op_definition
class Tcgen05MatrixOp(MatrixDescriptorOp):
    """The descriptor of an operand in shared memory, as ``tcgen05`` takes it."""

    name = "nv.tcgen05.matrix"


@irdl_op_definition
class Tcgen05MmaOp(AsmOp, RegionAccess):
    """Starts ``d (+)= a @ b`` in tensor memory; by one thread."""

    name = "nv.tcgen05.mma"

    a = operand_def()
    b = operand_def(i64)
    d = operand_def(i32)
    use_acc = opt_operand_def(i1)
    """False forgets what D held."""
    scales = var_operand_def(i32)
    """Addresses of the factors of A and B."""
    scale_ids = var_operand_def(i32)
    """Which byte of a column has the factor; 0 without it."""
    kind = keyword_prop(KINDS)
    shape: Integers = integers_prop()
    a_type = prop_def(TypeAttribute)
    b_type = prop_def(TypeAttribute)
    d_type = prop_def(TypeAttribute)
    group = integer_prop(1)
    transposed_a = mark_prop()
    """`a` is contiguous along M."""
    transposed_b = mark_prop()
    """`b` is contiguous along N."""
    unsigned_a = mark_prop()
    """8-bit integers of `a` have no sign."""
    unsigned_b = mark_prop()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Orders())
    ASM: ClassVar[str] = (
        "$a `,` $b `->` $d `kind` `(` $kind `)` `shape` $shape "
        "`types` `(` $a_type `,` $b_type `,` $d_type `)` (`group` `(` $group^ `)`)? "
        "(`use_acc` `(` $use_acc^ `)`)? (`scales` `(` $scales^ `)`)? "
        "(`ids` `(` $scale_ids^ `)`)? attr-dict `:` type($a)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {
        "shape": INT64_ARRAY,
        "a_type": ANY,
        "b_type": ANY,
        "d_type": ANY,
    }

    def __init__(
        self,
        a: Operand,
        b: Operand,
        d: Operand,
        kind: str,
        shape: Sequence[int],
        types: tuple[Attribute, Attribute, Attribute],
        *,
        group: int = 1,
        use_acc: Operand | None = None,
        scales: Sequence[Operand] = (),
        scale_ids: Sequence[Operand] = (),
        transposed_a: bool = False,
        transposed_b: bool = False,
        unsigned: tuple[bool, bool] = (False, False),
    ) -> None:
        super().__init__(
            operands=[a, b, d, use_acc, scales, scale_ids],
            properties={
                "a_type": types[0],
                "b_type": types[1],
                "d_type": types[2],
                **given(
                    kind=string(kind),
                    shape=integers_attr(shape),
                    group=integer_attr(group),
                    transposed_a=mark(transposed_a),
                    transposed_b=mark(transposed_b),
                    unsigned_a=mark(unsigned[0]),
                    unsigned_b=mark(unsigned[1]),
                ),
            },
        )

    @property
    def mnk(self) -> tuple[int, int, int]:
        m, n, k = integers(self.shape)
        return m, n, k

    @property
    def group_size(self) -> int:
        """CTAs that take part."""
        return self.group.value.data

    @property
    def a_in_tensor_memory(self) -> bool:
        return self.a.type == i32

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        return [
            with_unit(somewhere(base_of(operand.owner.buffer)), "tensor_core")
            for operand in (self.a, self.b)
            if isinstance(operand.owner, MatrixDescriptorOp)
        ]

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return []  # tensor memory is not a buffer

    @override
    def is_async(self) -> bool:
        return True

    @override
    def verify_(self) -> None:
        verify_shape(self.shape)
        verify_group(self.group_size)
        if self.a.type not in (i32, i64):
            raise VerifyException(
                "a must be a descriptor (i64) or an address in tensor memory (i32), "
                f"got '{self.a.type}'"
            )
        if self.a_in_tensor_memory and self.transposed_a is not None:
            raise VerifyException("a in tensor memory is contiguous along K")
        is_transposed = self.transposed_a is not None or self.transposed_b is not None
        if is_transposed and self.kind.data == "tf32":
            raise VerifyException("kind tf32 takes operands that are contiguous along K only")
        sides = ((self.a_type, self.transposed_a), (self.b_type, self.transposed_b))
        if any(isinstance(type, Float4E2M1FNType) and mark is not None for type, mark in sides):
            raise VerifyException("operands of 4 bits are contiguous along K only")
        self._verify_types()
        self._verify_extents()
        self._verify_scales()

    def _verify_types(self) -> None:
        kind = self.kind.data
        for name, type in (("a", self.a_type), ("b", self.b_type)):
            bits = 8 if isinstance(type, Float4E2M1FNType) else bit_width(type)
            if not isinstance(type, _OPERANDS[kind]) or bits != self._operand_bits:
                raise VerifyException(f"kind {kind} does not take {name} of type '{type}'")
        if not isinstance(self.d_type, _RESULTS[kind]):
            raise VerifyException(f"kind {kind} does not accumulate in '{self.d_type}'")
        if isinstance(self.d_type, IntegerType) and bit_width(self.d_type) != 32:
            raise VerifyException(f"kind {kind} does not accumulate in '{self.d_type}'")
        if isinstance(self.d_type, Float16Type) and isinstance(self.a_type, BFloat16Type):
            raise VerifyException("kind f16 accumulates bf16 in f32 only")
        if kind == "f16" and self.a_type != self.b_type:
            raise VerifyException(
                f"kind f16 takes operands of one type, got '{self.a_type}' and '{self.b_type}'"
            )

    @property
    def _operand_bits(self) -> int:
        return {"f16": 16, "tf32": 32}.get(self.kind.data, 8)

    def _verify_extents(self) -> None:
        m, n, k = self.mnk
        kind, group = self.kind.data, self.group_size
        rows = {1: (64, 128), 2: (128, 256)}[group]
        if kind == BLOCK_SCALED:
            rows = rows[1:]
        if m not in rows:
            allowed = " or ".join(map(str, rows))
            raise VerifyException(
                f"tcgen05.mma of kind {kind} with CTA group {group} must have m = {allowed}, "
                f"got m = {m}"
            )
        step = n_step(kind, m, group)
        is_small = kind == "i8" and n == 8 and m == 64 and group == 1
        if not is_small and (n % step or not step <= n <= N_LIMIT):
            raise VerifyException(
                f"tcgen05.mma with m = {m} must have n = {step}, {2 * step}, ... {N_LIMIT}, "
                f"got n = {n}"
            )
        depth = DEPTH_BYTES * 8 // self._operand_bits
        if k != depth:
            raise VerifyException(f"tcgen05.mma of kind {kind} must have k = {depth}, got k = {k}")

    def _verify_scales(self) -> None:
        required = _SCALES if self.kind.data == BLOCK_SCALED else 0
        if len(self.scales) != required:
            raise VerifyException(
                f"kind {self.kind.data} takes {required} scales, got {len(self.scales)}"
            )
        if len(self.scale_ids) not in (0, required):
            raise VerifyException(
                f"kind {self.kind.data} takes {required} scale ids, got {len(self.scale_ids)}"
            )


@irdl_op_definition
class Tcgen05CommitOp(BarrierOp):
    """Arrives once at the barrier when everything this thread has started is complete.

    Covers MMAs and copies (`cp`). With `multicast`, a bit for each CTA of the cluster, arrives at
    the same barrier of those CTAs; without it, at that of this CTA. By one thread.
    """

    name = "nv.tcgen05.commit"
    barrier = operand_def(BUFFER)
    index = operand_def(INDEX)
    multicast = opt_operand_def(i16)
    group = integer_prop(1)

    ASM: ClassVar[str] = (
        "$barrier `[` $index `]` (`group` `(` $group^ `)`)? (`multicast` $multicast^)? attr-dict "
        "`:` type($barrier)"
    )

    def __init__(
        self,
        barrier: Operand,
        index: Operand,
        *,
        group: int = 1,
        multicast: Operand | None = None,
    ) -> None:
        super().__init__(
            operands=[barrier, index, multicast], properties=given(group=integer_attr(group))
        )

    @override
    def verify_(self) -> None:
        super().verify_()
        verify_group(self.group.value.data)


@irdl_op_definition
class Tcgen05FenceOp(AsmOp):
    """Orders tcgen05 ops across a synchronisation of threads.

    `before` goes between the ops and the arrival, `after` between the wait and later ops.
    """

    name = "nv.tcgen05.fence"
    side = keyword_prop(FENCES)
    traits = traits_def(Orders())

    ASM: ClassVar[str] = "$side attr-dict"

    def __init__(self, side: str) -> None:
        super().__init__(properties=given(side=string(side)))
