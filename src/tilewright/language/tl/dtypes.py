"""The types of `tl`: scalars, pointers, blocks.

A type of `tl` retains what the IR drops: ``i32`` is both `int32` and `uint32`, and which of the two
decides whether a division is ``arith.divsi`` or ``arith.divui``. What there is to know about a
scalar is one row of a table.

    float32                          fp32
    pointer_type(float32)            pointer<fp32>            !tt.ptr<f32>
    block_type(float32, [64, 32])    <['64', '32'], fp32>     tensor<64x32xf32>

Names, and the texts in the middle column, are those of Triton: annotations, error messages and
mangled function names are built from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, TypeAlias, TypeVar

from typing_extensions import override
from xdsl.ir import Attribute

from tilewright.dialects.tt import PtrType
from tilewright.dialects.type_utils import POINTER_BITS, AnyTensor, tensor_of
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.scalar_table import SCALARS, Scalar, ScalarKind, Signedness

TRITON_MAX_TENSOR_NUMEL = 1048576


_VOID = "void"


_T = TypeVar("_T")


class _OneEach(type):
    """There is one object for each scalar type: kernels compare them with ``is``."""

    made: ClassVar[dict[object, Any]] = {}

    def __call__(cls: type[_T], *args: Any, **kwargs: Any) -> _T:
        if cls is not dtype:
            return type.__call__(cls, *args, **kwargs)
        name = unwrap(args[0] if args else kwargs.get("name"))
        if name not in _OneEach.made:
            _OneEach.made[name] = type.__call__(cls, name)
        return _OneEach.made[name]


class dtype(metaclass=_OneEach):
    """A scalar type, and the base of the types built from scalars."""

    SIGNEDNESS: TypeAlias = Signedness
    KIND: TypeAlias = ScalarKind

    # Names of types, as Triton groups them.
    SINT_TYPES: ClassVar[Sequence[str]] = ["int8", "int16", "int32", "int64"]
    UINT_TYPES: ClassVar[Sequence[str]] = ["int1", "uint8", "uint16", "uint32", "uint64"]
    FP_TYPES: ClassVar[Sequence[str]] = [name for name in SCALARS if name[:2] in ("fp", "bf")]
    STANDARD_FP_TYPES: ClassVar[Sequence[str]] = ["fp16", "bf16", "fp32", "fp64"]
    OTHER_TYPES: ClassVar[Sequence[str]] = ["void"]

    @override
    def __reduce__(self) -> Any:
        if type(self) is dtype:
            return dtype, (self.name,)
        return object.__new__, (type(self),), self.__dict__

    def __init__(self, name: str) -> None:
        name = unwrap(name)
        if name not in SCALARS and name != _VOID:
            known = ", ".join((*SCALARS, _VOID))
            raise ValueError(f"unknown scalar type {name!r}; expected one of {known}")
        self.name = name

    # What it is.

    @property
    def _row(self) -> Scalar | None:
        return SCALARS.get(self.name)

    def _is_kind(self, *kinds: ScalarKind) -> bool:
        row = self._row
        return row is not None and row.kind in kinds

    def kind(self) -> ScalarKind:
        """Bool, integer or float; a pointer has none of these kinds."""
        row = self._row
        if row is None:
            raise TypeError(f"{self} is not a scalar type: expected bool, integer or float")
        return row.kind

    def is_floating(self) -> bool:
        return self._is_kind(ScalarKind.FLOATING)

    def is_standard_floating(self) -> bool:
        return self.is_floating() and not self.is_fp8()

    def is_int(self) -> bool:
        """Whether it is an integer; `int1` counts as one."""
        return self._is_kind(ScalarKind.BOOLEAN, ScalarKind.INTEGRAL)

    def is_int_signed(self) -> bool:
        row = self._row
        return row is not None and row.signed

    def is_int_unsigned(self) -> bool:
        """Whether it is an unsigned integer; `int1` counts as one."""
        return self.is_int() and not self.is_int_signed()

    def is_bool(self) -> bool:
        return self._is_kind(ScalarKind.BOOLEAN)

    def is_fp8(self) -> bool:
        return self.is_floating() and self.primitive_bitwidth == 8

    def is_fp8e4nv(self) -> bool:
        return self.name == "fp8e4nv"

    def is_fp8e4b8(self) -> bool:
        return self.name == "fp8e4b8"

    def is_fp8e4b15(self) -> bool:
        return self.name == "fp8e4b15"

    def is_fp8e5(self) -> bool:
        return self.name == "fp8e5"

    def is_fp8e5b16(self) -> bool:
        return self.name == "fp8e5b16"

    def is_fp16(self) -> bool:
        return self.name == "fp16"

    def is_bf16(self) -> bool:
        return self.name == "bf16"

    def is_fp32(self) -> bool:
        return self.name == "fp32"

    def is_fp64(self) -> bool:
        return self.name == "fp64"

    def is_int1(self) -> bool:
        return self.name == "int1"

    def is_int8(self) -> bool:
        return self.name == "int8"

    def is_int16(self) -> bool:
        return self.name == "int16"

    def is_int32(self) -> bool:
        return self.name == "int32"

    def is_int64(self) -> bool:
        return self.name == "int64"

    def is_uint8(self) -> bool:
        return self.name == "uint8"

    def is_uint16(self) -> bool:
        return self.name == "uint16"

    def is_uint32(self) -> bool:
        return self.name == "uint32"

    def is_uint64(self) -> bool:
        return self.name == "uint64"

    def is_void(self) -> bool:
        return self.name == _VOID

    def is_block(self) -> bool:
        return False

    def is_ptr(self) -> bool:
        return False

    def is_const(self) -> bool:
        return False

    @staticmethod
    def is_dtype(type_str: str) -> bool:
        """Whether a scalar type has that name."""
        return type_str in SCALARS or type_str == _VOID

    # How large it is.

    @property
    def primitive_bitwidth(self) -> int:
        row = self._row
        return 0 if row is None else row.bits

    @property
    def itemsize(self) -> int:
        """Bytes of one element; 0 for `int1`."""
        return self.primitive_bitwidth // 8

    def _integer(self, attribute: str) -> Scalar:
        row = self._row
        if row is None or row.kind is ScalarKind.FLOATING:
            raise AttributeError(f"{self} has no {attribute}: it is not an integer type")
        return row

    def _float(self, attribute: str) -> Scalar:
        row = self._row
        if row is None or row.kind is not ScalarKind.FLOATING:
            raise AttributeError(f"{self} has no {attribute}: it is not a floating-point type")
        return row

    @property
    def int_bitwidth(self) -> int:
        return self._integer("int_bitwidth").bits

    @property
    def int_signedness(self) -> Signedness:
        signed = self._integer("int_signedness").signed
        return Signedness.SIGNED if signed else Signedness.UNSIGNED

    @property
    def fp_mantissa_width(self) -> int:
        return self._float("fp_mantissa_width").mantissa_bits

    @property
    def exponent_bias(self) -> int:
        return self._float("exponent_bias").exponent_bias

    def get_int_max_value(self) -> int:
        row = self._integer("largest integer")
        return 2 ** (row.bits - 1) - 1 if row.signed else 2**row.bits - 1

    def get_int_min_value(self) -> int:
        row = self._integer("smallest integer")
        return -(2 ** (row.bits - 1)) if row.signed else 0

    # What it is built from.

    @property
    def scalar(self) -> dtype:
        """The type of one element."""
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def numel(self) -> int:
        return 1

    def with_element_ty(self, element_ty: dtype) -> dtype:
        """A type of the same shape with elements of another type."""
        return element_ty

    def to_ir(self) -> Attribute:
        row = self._row
        if row is None:
            raise TypeError(f"no value can have type {self}")
        return row.ir

    # How it is written.

    def codegen_name(self) -> str:
        """The name as in source text: `float32` for fp32."""
        if self.name.startswith("fp"):
            return f"float{self.name[2:]}"
        if self.name.startswith("bf"):
            return f"bfloat{self.name[2:]}"
        return self.name

    def mangle(self) -> str:
        """The name as part of a function's name."""
        row = self._row
        return "V" if row is None else row.short

    @property
    def cache_key_part(self) -> str:
        return self.name

    @override
    def __str__(self) -> str:
        return self.name

    @override
    def __repr__(self) -> str:
        return f"tl.{self.codegen_name()}"

    @override
    def __eq__(self, other: object) -> bool:
        other = unwrap(other)
        return type(self) is type(other) and isinstance(other, dtype) and self.name == other.name

    @override
    def __hash__(self) -> int:
        return hash(self.name)


class pointer_type(dtype):
    """A pointer to elements in global memory; `const` ones cannot be stored to."""

    def __init__(
        self, element_ty: dtype, address_space: str = "global", const: bool = False
    ) -> None:
        element_ty = unwrap(element_ty)
        if not isinstance(element_ty, dtype):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"element_ty has type `{type(element_ty).__name__}`; expected `dtype`, "
                "such as tl.float32"
            )
        self.element_ty = element_ty
        self.address_space = address_space
        self.const = const
        self.name = f"{'const_' if const else ''}pointer<{element_ty}>"

    @override
    def is_ptr(self) -> bool:
        return True

    @override
    def is_const(self) -> bool:
        return self.const

    @property
    @override
    def primitive_bitwidth(self) -> int:
        return POINTER_BITS

    @cached_property
    def _ir(self) -> PtrType:
        # What cannot be written lives in an address space of its own.
        space = "constant" if self.const else self.address_space
        return PtrType.get(self.element_ty.to_ir(), space)

    @override
    def to_ir(self) -> PtrType:
        return self._ir

    @override
    def mangle(self) -> str:
        return f"P{self.element_ty.mangle()}"

    @override
    def __repr__(self) -> str:
        return self.name

    @override
    def __eq__(self, other: object) -> bool:
        other = unwrap(other)
        return (
            isinstance(other, pointer_type)
            and self.element_ty == other.element_ty
            and self.address_space == other.address_space
            and self.const == other.const
        )

    @override
    def __hash__(self) -> int:
        return hash((self.name, self.address_space))


def is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def check_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """The extents of a block, each a power of two, not too many elements in all."""
    shape = tuple(unwrap(extent) for extent in unwrap(shape))
    count = 1
    for index, extent in enumerate(shape):
        if not isinstance(extent, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"Shape element {index} must have type `constexpr[int]`, got "
                f"`{type(extent).__name__}`: block shapes are compile-time constants. Declare "
                "the extent `: tl.constexpr`, as a parameter or where it is assigned"
            )
        if not is_power_of_two(extent):
            raise ValueError(
                f"Shape element {index} must be a power of 2, but is {extent}"
                + (f"; use {1 << extent.bit_length()} and a mask" if extent > 0 else "")
            )
        count *= extent
    if count > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(
            f"numel ({count}) exceeds triton maximum tensor numel ({TRITON_MAX_TENSOR_NUMEL}): "
            "use smaller blocks and more programs, or a loop"
        )
    return shape


@lru_cache(maxsize=4096)
def _tensor_type(element: dtype, shape: tuple[int, ...]) -> AnyTensor:
    """One object for one type: equal types that are the same object compare fast."""
    return tensor_of(element.to_ir(), shape)


class block_type(dtype):
    """A block of elements of one type, with at least one dimension."""

    def __init__(self, element_ty: dtype, shape: Sequence[int]) -> None:
        self.element_ty = unwrap(element_ty)
        self._shape = check_shape(shape)
        if not self._shape:
            raise TypeError("0d block_type is forbidden: use the element type itself")
        self.name = f"<{[str(extent) for extent in self._shape]}, {self.element_ty}>"

    @override
    def is_block(self) -> bool:
        return True

    @property
    @override
    def scalar(self) -> dtype:
        return self.element_ty

    @property
    @override
    def shape(self) -> tuple[int, ...]:
        return self._shape

    def get_block_shapes(self) -> tuple[int, ...]:
        return self._shape

    @cached_property
    def _numel(self) -> int:
        count = 1
        for extent in self._shape:
            count *= extent
        return count

    @property
    @override
    def numel(self) -> int:
        return self._numel

    @property
    def nbytes(self) -> int:
        return self.numel * self.element_ty.itemsize

    @override
    def with_element_ty(self, element_ty: dtype) -> block_type:
        return block_type(element_ty, self._shape)

    @override
    def to_ir(self) -> AnyTensor:
        return _tensor_type(self.element_ty, self._shape)

    @override
    def mangle(self) -> str:
        return f"{self.element_ty.mangle()}S{'_'.join(map(str, self._shape))}S"

    @override
    def __repr__(self) -> str:
        return self.name

    @override
    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, block_type)
            and self._shape == other._shape
            and self.element_ty == other.element_ty
        )

    @override
    def __hash__(self) -> int:
        return hash((self._shape, self.element_ty))


@dataclass(frozen=True)
class tuple_type:
    """The types of a tuple's elements, and their names if it has any."""

    types: Sequence[object]
    fields: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "types", tuple(self.types))

    @property
    def name(self) -> str:
        names = [""] * len(self.types) if self.fields is None else [f"{f}:" for f in self.fields]
        parts = (f"{field}{type}" for field, type in zip(names, self.types, strict=True))
        return f"[{','.join(parts)}]"

    def __iter__(self) -> Iterator[object]:
        return iter(self.types)

    def __getitem__(self, index: int) -> object:
        return self.types[index]

    @override
    def __str__(self) -> str:
        return self.name


class const:
    """Annotates a pointer parameter whose data the kernel does not write."""


void = dtype("void")
int1 = dtype("int1")
int8 = dtype("int8")
int16 = dtype("int16")
int32 = dtype("int32")
int64 = dtype("int64")
uint8 = dtype("uint8")
uint16 = dtype("uint16")
uint32 = dtype("uint32")
uint64 = dtype("uint64")
float8e5 = dtype("fp8e5")
float8e5b16 = dtype("fp8e5b16")
float8e4nv = dtype("fp8e4nv")
float8e4b8 = dtype("fp8e4b8")
float8e4b15 = dtype("fp8e4b15")
float16 = dtype("fp16")
bfloat16 = dtype("bf16")
float32 = dtype("fp32")
float64 = dtype("fp64")
pi32_t = pointer_type(int32)

_SIGNATURE_NAMES: Mapping[str, str] = {
    **{name: name for name in (*SCALARS, _VOID)},
    **{row.short: name for name, row in SCALARS.items()},
    "i1": "int1",
    "B": "int1",
}


def named_dtype(name: str) -> dtype:
    """The scalar type that a kernel's signature writes ``i32``, ``u8``, ``fp16``, ``i1``."""
    if name not in _SIGNATURE_NAMES:
        raise ValueError(f"unknown scalar type {name!r} in a signature")
    return dtype(_SIGNATURE_NAMES[name])


def get_int_dtype(bitwidth: int, signed: bool) -> dtype:
    """The integer type of that width; there is one of width 1."""
    name = "int1" if bitwidth == 1 else f"{'' if signed else 'u'}int{bitwidth}"
    if name not in SCALARS:
        raise ValueError(f"Unsupported bitwidth {bitwidth} and signedness {signed}")
    return dtype(name)
