"""Ops that compute on whole tiles: GEMMs, reductions, scans.

    tile.gemm %A, %B -> %C policy full_row {transpose_b} : TA, TB -> TC
    tile.reduce sum %x -> %y dim 1 : memref<64x32xf32, #fragment> -> memref<64xf32, #fragment>
    tile.scan sum %x -> %y dim 0 reverse : T -> T

A GEMM adds to its destination unless ``clear`` is there (or ``clear_if`` holds). A reduction
overwrites its destination unless it has ``accumulate``.

``precision`` is how much of float32 operands takes part: all bits (``ieee``), 10 bits of mantissa
(``tf32``), or sums of such parts (``tf32x3``; ``bf16x3``, ``bf16x6``: parts with the 7 bits of
bfloat16). Without it a target uses its fastest instruction. All of them are lower bounds: a target
may be more precise, as NumPy always is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import AnyFloat, Float32Type, IntegerType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, traits_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import (
    AccessedRegion,
    RegionEffects,
    TileOp,
    Unit,
    base_of,
    region_of,
)
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.base import (
    KeywordSyntax,
    Operand,
    given,
    integer_attr,
    integer_prop,
    keyword_prop,
    mark,
    mark_prop,
    opt_keyword_prop,
    string,
)
from tilewright.dialects.tile.movement import matrix, verify_extents, verify_numeric
from tilewright.dialects.tile.types import (
    BUFFER_OR_REGION,
    have_equal_extents,
    shape_text,
    space_of,
)
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.text.syntax import UNIT, AttributeSyntax

PRECISIONS = KeywordSyntax(("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"))
POLICIES = KeywordSyntax(("square", "full_row", "full_col"))
REDUCE_KINDS = KeywordSyntax(
    ("sum", "prod", "max", "min", "absmax", "abssum", "bitand", "bitor", "bitxor", "any", "all")
)
SCAN_KINDS = KeywordSyntax(("sum", "max"))
REDUCE_SCOPES = KeywordSyntax(("block", "threads"))
_BITWISE = ("bitand", "bitor", "bitxor", "any", "all")
_THREAD_AXES = 3


@irdl_op_definition
class GemmOp(TileOp):
    """``C (+)= op(A) @ op(B)``; `op` transposes where marked.

    Marked ``async``, it may still be at work until ``nv.wgmma.wait``.
    """

    name = "tile.gemm"

    a = operand_def(BUFFER_OR_REGION)
    b = operand_def(BUFFER_OR_REGION)
    c = operand_def(BUFFER_OR_REGION)
    clear_if = opt_operand_def(i1)
    """Whether the GEMM overwrites its destination, as a run-time value."""
    transpose_a = mark_prop()
    transpose_b = mark_prop()
    clear = mark_prop()
    policy = keyword_prop(POLICIES, "square")
    """How the warps split the rows and columns of the GEMM."""
    k_pack = integer_prop(1)
    precision = opt_keyword_prop(PRECISIONS)
    asynchronous = mark_prop("async")

    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = (
        "$a `,` $b `->` $c oilist(`clear_if` $clear_if | `policy` $policy | `k_pack` $k_pack "
        "| `precision` $precision) attr-dict `:` type($a) `,` type($b) `->` type($c)"
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
        policy: str = "square",
        k_pack: int = 1,
        precision: str | None = None,
        asynchronous: bool = False,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        properties = given(
            transpose_a=mark(transpose_a),
            transpose_b=mark(transpose_b),
            clear=mark(clear),
            policy=string(policy),
            k_pack=integer_attr(k_pack),
            precision=string(precision),
        )
        if asynchronous:
            properties.update(given(**{"async": mark(True)}))
        super().__init__(
            operands=[a, b, c, clear_if],
            properties=properties,
            attributes=dict(attributes or {}),
        )

    @property
    def mnk(self) -> tuple[int, int, int]:
        """M, N and K of a verified op."""
        rows, length = self._oriented("first operand", self.a, self.transpose_a is not None)
        _, columns = self._oriented("second operand", self.b, self.transpose_b is not None)
        return rows, columns, length

    def _oriented(self, what: str, value: SSAValue, transposed: bool) -> tuple[int, int]:
        rows, columns = matrix(what, value)
        return (columns, rows) if transposed else (rows, columns)

    @override
    def reads(self) -> list[AccessedRegion]:
        names = ("a", "b") if self.clear is not None else ("a", "b", "c")
        return [region_of(value, self.unit()) for value in self._named(names)]

    @override
    def unit(self) -> Unit:
        return "tensor_core"

    @override
    def is_async(self) -> bool:
        return self.asynchronous is not None

    @override
    def verify_(self) -> None:
        self._verify_spaces()
        self._verify_shapes()
        self._verify_types()
        if self.k_pack.value.data < 1:
            raise VerifyException(f"k_pack must be positive, got {self.k_pack.value.data}")
        if self.clear is not None and self.clear_if is not None:
            raise VerifyException("clear and clear_if are mutually exclusive")
        self._verify_precision()

    def _verify_precision(self) -> None:
        element = element_type_of(self.a.type)
        if self.precision is None:
            return
        if self.precision.data == "ieee":
            if not isinstance(element, AnyFloat):
                raise VerifyException(f"precision ieee is for floats, got '{element}'")
        elif not isinstance(element, Float32Type):
            raise VerifyException(
                f"precision {self.precision.data} is for 'f32' operands, got '{element}'"
            )

    def _verify_spaces(self) -> None:
        if space_of(self.c.type) is Space.LOCAL:
            self._verify_own()
            return
        for name, value in (("A", self.a), ("B", self.b)):
            space = space_of(value.type)
            if space is None or not (space.is_shared or space in (Space.FRAGMENT, Space.TMEM)):
                raise VerifyException(
                    f"{name} must be in shared memory or a fragment, but it is "
                    f"{_where(space)}; copy it to a T.alloc_shared buffer first"
                )
        space = space_of(self.c.type)
        if space not in (Space.FRAGMENT, Space.TMEM):
            raise VerifyException(f"C must be a fragment, but it is {_where(space)}")

    def _verify_own(self) -> None:
        """Arrays of one thread: each thread computes all of C from its own A and B."""
        for name, value in (("A", self.a), ("B", self.b)):
            space = space_of(value.type)
            if space is not Space.LOCAL:
                raise VerifyException(
                    f"{name} must be an array of one thread, as C is, but it is {_where(space)}; "
                    "use T.alloc_fragment for C"
                )
            if base_of(value) is base_of(self.c):
                raise VerifyException(f"{name} and C must be different arrays")
        if self.is_async():
            raise VerifyException("an asynchronous GEMM needs a fragment for C")

    def _verify_shapes(self) -> None:
        rows, length = self._oriented("operand A", self.a, self.transpose_a is not None)
        other, columns = self._oriented("operand B", self.b, self.transpose_b is not None)
        c_rows, c_columns = matrix("operand C", self.c)
        for name, left, actual, right, expected in (
            ("K", "K_A", length, "K_B", other),
            ("M", "M_A", rows, "M_C", c_rows),
            ("N", "N_B", columns, "N_C", c_columns),
        ):
            if not have_equal_extents((actual,), (expected,)):
                raise VerifyException(
                    f"T.gemm {name} shape check failed: {left} = {actual}, {right} = {expected}"
                )

    def _verify_types(self) -> None:
        a, b, c = (element_type_of(value.type) for value in (self.a, self.b, self.c))
        for name, type in (("A", a), ("B", b), ("C", c)):
            if not isinstance(type, (AnyFloat, IntegerType)):
                raise VerifyException(f"element type '{type}' of {name} is not supported in a GEMM")
        both_small = bit_width(a) == bit_width(b) == 8 and is_same_family(a, b)
        if a != b and not both_small:
            raise VerifyException(
                f"A and B must have the same element type, got '{a}' and '{b}': convert "
                "one of them with T.copy"
            )
        if not is_same_family(a, c):
            raise VerifyException(
                f"accumulator type '{c}' is not supported for operands of type '{a}'"
            )
        if bit_width(c) < bit_width(a):
            raise VerifyException(
                f"accumulator type '{c}' is too narrow for operands of type '{a}'"
            )


def is_same_family(one: Attribute, other: Attribute) -> bool:
    """Whether both are floats or both integers."""
    return isinstance(one, AnyFloat) == isinstance(other, AnyFloat)


def _where(space: Space | None) -> str:
    return "in no tile space" if space is None else f"in {space.value} memory"


@irdl_op_definition
class ReduceOp(TileOp):
    """Combines the elements along one dimension.

    In the scope of ``threads`` it combines what each thread holds in a `local` buffer with the
    same element of the other threads along thread axis `dim`; all of them get the result.
    """

    name = "tile.reduce"

    kind = keyword_prop(REDUCE_KINDS)
    src = operand_def(BUFFER_OR_REGION)
    dst = operand_def(BUFFER_OR_REGION)
    dim = integer_prop()
    accumulate = mark_prop()
    nan_propagate = mark_prop()
    scope = keyword_prop(REDUCE_SCOPES, "block")

    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = (
        "$kind $src `->` $dst `dim` $dim (`accumulate` $accumulate^)? attr-dict "
        "`:` type($src) `->` type($dst)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"accumulate": UNIT}
    WRITES: ClassVar[tuple[str, ...]] = ("dst",)

    def __init__(
        self,
        src: Operand,
        dst: Operand,
        kind: str,
        dim: int,
        *,
        clear: bool = True,
        nan_propagate: bool = False,
        scope: str = "block",
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        super().__init__(
            operands=[src, dst],
            properties=given(
                kind=string(kind),
                dim=integer_attr(dim),
                accumulate=mark(not clear),
                nan_propagate=mark(nan_propagate),
                scope=string(scope),
            ),
            attributes=dict(attributes or {}),
        )

    @property
    def clear(self) -> bool:
        """Whether the destination is overwritten rather than combined with."""
        return self.accumulate is None

    @property
    def axis(self) -> int:
        return self.dim.value.data

    @override
    def reads(self) -> list[AccessedRegion]:
        names = ("src",) if self.clear else ("src", "dst")
        return [region_of(value, self.unit()) for value in self._named(names)]

    @override
    def verify_(self) -> None:
        verify_numeric("the source", self.src.type)
        verify_numeric("the destination", self.dst.type)
        source, destination = element_type_of(self.src.type), element_type_of(self.dst.type)
        if not is_same_family(source, destination):
            raise VerifyException(f"'{source}' cannot be combined into '{destination}'")
        if self.kind.data in _BITWISE and isinstance(source, AnyFloat):
            raise VerifyException(f"{self.kind.data} requires integers, got '{source}'")
        if self.scope.data == "threads":
            self._verify_threads()
        else:
            self._verify_shapes()

    def _verify_threads(self) -> None:
        if not 0 <= self.axis < _THREAD_AXES:
            raise VerifyException(f"thread axis must be 0 to 2, got {self.axis}")
        verify_extents(self.src.type, self.dst.type)
        for value in (self.src, self.dst):
            space = space_of(value.type)
            if space is None or not space.is_per_thread:
                raise VerifyException(
                    "a reduction over threads requires local buffers, but the operand is "
                    f"{_where(space)}"
                )

    def _verify_shapes(self) -> None:
        source, destination = shape_of(self.src.type), shape_of(self.dst.type)
        for what, value in (("source", self.src), ("destination", self.dst)):
            if space_of(value.type) is Space.GLOBAL:
                raise VerifyException(f"the {what} of a reduction cannot be in global memory")
        if not 0 <= self.axis < len(source):
            raise VerifyException(
                f"dim {self.axis} is out of bounds for a source with {len(source)} dimensions"
            )
        remaining = (*source[: self.axis], *source[self.axis + 1 :])
        ones = (*source[: self.axis], 1, *source[self.axis + 1 :])
        if not have_equal_extents(remaining, destination):
            raise VerifyException(
                f"reducing dim {self.axis} of {shape_text(source)} gives "
                f"{shape_text(remaining or (1,))} or {shape_text(ones)}, but the "
                f"destination has {shape_text(destination)}"
            )


@irdl_op_definition
class ScanOp(TileOp):
    """Running sums or maxima along one dimension, from the front or from the back."""

    name = "tile.scan"

    kind = keyword_prop(SCAN_KINDS)
    src = operand_def(BUFFER_OR_REGION)
    dst = operand_def(BUFFER_OR_REGION)
    dim = integer_prop()
    reverse = mark_prop()

    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = (
        "$kind $src `->` $dst `dim` $dim (`reverse` $reverse^)? attr-dict "
        "`:` type($src) `->` type($dst)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"reverse": UNIT}
    READS: ClassVar[tuple[str, ...]] = ("src",)
    WRITES: ClassVar[tuple[str, ...]] = ("dst",)

    def __init__(
        self,
        src: Operand,
        dst: Operand,
        kind: str = "sum",
        dim: int = 0,
        *,
        reverse: bool = False,
    ) -> None:
        super().__init__(
            operands=[src, dst],
            properties=given(kind=string(kind), dim=integer_attr(dim), reverse=mark(reverse)),
        )

    @property
    def axis(self) -> int:
        return self.dim.value.data

    @override
    def verify_(self) -> None:
        verify_numeric("the source", self.src.type)
        verify_numeric("the destination", self.dst.type)
        verify_extents(self.src.type, self.dst.type)
        rank = len(shape_of(self.src.type))
        if not 0 <= self.axis < rank:
            raise VerifyException(
                f"dim {self.axis} is out of bounds for a source with {rank} dimensions"
            )
        source, destination = element_type_of(self.src.type), element_type_of(self.dst.type)
        if source != destination:
            raise VerifyException(f"a scan cannot convert '{source}' to '{destination}'")
