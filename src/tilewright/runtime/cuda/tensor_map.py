"""Tensor maps made on the host: the tensor descriptors of TMA (Hopper and later).

A tensor map is 128 opaque bytes that the driver makes of address, element type, shape, strides, the
box that one copy moves, and the swizzle of shared memory. It lists dimensions innermost first;
everything here, as in kernels, is outermost first.

One copy moves at most 256 elements along each dimension, and along the innermost one not more than
a row of the swizzle holds. Blocks that are larger are moved by several copies, which the kernel
issues itself; `box_of` gives the part that one of them moves:

    block 64 x 128 of fp16, swizzle 128 bytes:   box 64 x 64, two copies
    block 64 x 128 of fp16, no swizzle:          box 64 x 128, one copy

Encoding takes a microsecond or two, so maps are cached by the parameters they are encoded from.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tilewright.runtime.cuda.driver import Driver, driver
from tilewright.runtime.cuda.errors import CudaError

MAP_BYTES = 128
MAP_ALIGNMENT = 64

_ALIGNMENT_BYTES = 16  # of address and strides
_WIDE_ALIGNMENT_BYTES = 32  # for elements of 4 bits that shared memory pads to 8
_MAX_BOX = 256
_MAX_RANK = 5
_MAX_SHAPE = 2**32
_MAX_STRIDE_BYTES = 2**40
_MAX_ELEMENT_STRIDE = 8
_L2_PROMOTION = 2  # CU_TENSOR_MAP_L2_PROMOTION_L2_128B
_MAX_CACHED = 4096

# CUtensorMapDataType by the names of kernels and of IR; types the engine does not know move as
# unsigned integers of their width.
_TYPES = {
    0: (
        *("i8", "u8", "i1", "u1", "fp8e4nv", "fp8e5", "fp8e4b15", "fp8e4b8", "fp8e5b16"),
        *("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ"),
    ),
    1: ("i16", "u16"),
    2: ("u32",),
    3: ("i32",),
    4: ("u64",),
    5: ("i64",),
    6: ("fp16", "f16"),
    7: ("fp32", "f32"),
    8: ("fp64", "f64"),
    9: ("bf16",),
}
_TYPE_OF = {name: code for code, names in _TYPES.items() for name in names}
_FLOATS = range(6, 13)
_FP4_PADDED = 14  # CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B

_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}  # CUtensorMapSwizzle by bytes of a row
_FILLS = {"zero": 0, "nan": 1}  # CUtensorMapFloatOOBfill


def cuda_type_of(element: str) -> int:
    """The driver's code of an element type, written as in kernels or as in IR."""
    found = _TYPE_OF.get(element)
    if found is None:
        raise ValueError(
            f"tensor maps do not support element type {element}; expected one of "
            f"{', '.join(_TYPE_OF)}"
        )
    return found


def box_of(block: Sequence[int], element_bytes: int, swizzle_bytes: int) -> tuple[int, ...]:
    """The part of `block` that one copy moves."""
    box = [min(extent, _MAX_BOX) for extent in block]
    if swizzle_bytes:
        box[-1] = min(box[-1], swizzle_bytes // element_bytes)
    return tuple(box)


@dataclass(frozen=True)
class Request:
    """All that makes a tensor map; extents and strides count elements, outermost first."""

    address: int
    cuda_type: int
    element_bytes: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle_bytes: int
    padding: str
    element_strides: tuple[int, ...]

    def check(self) -> None:
        """Refuse what the driver would refuse without a reason."""
        self._check_rank()
        self._check_address()
        self._check_box()
        for dimension, extent in enumerate(self.shape):
            if not 0 < extent <= _MAX_SHAPE:
                raise ValueError(
                    f"dimension {dimension} of the tensor has {extent} elements, a tensor map "
                    f"supports 1 to {_MAX_SHAPE}"
                )
        for dimension, step in enumerate(self.element_strides):
            if not 1 <= step <= _MAX_ELEMENT_STRIDE:
                raise ValueError(
                    f"element stride {step} of dimension {dimension}: a tensor map supports 1 "
                    f"to {_MAX_ELEMENT_STRIDE}"
                )
        if self.padding not in _FILLS:
            raise ValueError(f"padding must be 'zero' or 'nan', got {self.padding!r}")
        if self.padding == "nan" and self.cuda_type not in _FLOATS:
            raise ValueError("padding 'nan' requires floating-point elements: use 'zero'")

    def _check_rank(self) -> None:
        rank = len(self.shape)
        if not 1 <= rank <= _MAX_RANK:
            raise ValueError(f"a tensor map has 1 to {_MAX_RANK} dimensions, got {rank}")
        for name in ("strides", "box", "element_strides"):
            if len(getattr(self, name)) != rank:
                raise ValueError(
                    f"{name.replace('_', ' ')} {getattr(self, name)} of a tensor map must have one "
                    f"entry for each of the {rank} dimensions of shape {self.shape}"
                )

    def _check_address(self) -> None:
        expected = _WIDE_ALIGNMENT_BYTES if self.cuda_type == _FP4_PADDED else _ALIGNMENT_BYTES
        if self.address % expected:
            raise ValueError(
                f"the address {self.address:#x} of a tensor map must be a multiple of {expected}: "
                "the tensor is a view that starts inside its memory; copy it, or start the view "
                f"at a multiple of {max(expected // self.element_bytes, 1)} elements"
            )
        if self.strides[-1] != 1:
            raise ValueError(
                f"the last dimension of a tensor map must be contiguous, its stride is "
                f"{self.strides[-1]}: swap dimensions or copy the tensor"
            )
        for dimension, stride in enumerate(self.strides[:-1]):
            size = stride * self.element_bytes
            if size % expected or not 0 <= size < _MAX_STRIDE_BYTES:
                raise ValueError(
                    f"stride {stride} of dimension {dimension} is {size} bytes, not a multiple "
                    f"of {expected} below 2^40: pad the rows to "
                    f"{-(-size // expected) * expected // self.element_bytes} elements"
                )

    def _check_box(self) -> None:
        for dimension, extent in enumerate(self.box):
            if not 1 <= extent <= _MAX_BOX:
                raise ValueError(
                    f"dimension {dimension} of the block is {extent}, a TMA box has 1 to "
                    f"{_MAX_BOX} elements per dimension"
                )
        if self.swizzle_bytes not in _SWIZZLES:
            known = ", ".join(map(str, _SWIZZLES))
            raise ValueError(f"swizzle_bytes must be one of {known}, got {self.swizzle_bytes}")
        inner = self.box[-1] * self.element_bytes
        if self.cuda_type == _FP4_PADDED:
            inner //= 2  # two elements of 4 bits in a byte
        if inner % _ALIGNMENT_BYTES:
            raise ValueError(
                f"a row of the TMA box has {inner} bytes ({self.box[-1]} elements of "
                f"{self.element_bytes} bytes), not a multiple of {_ALIGNMENT_BYTES}: make the "
                "last dimension of the block a multiple of "
                f"{_ALIGNMENT_BYTES // self.element_bytes}"
            )
        if self.swizzle_bytes and inner > self.swizzle_bytes:
            raise ValueError(
                f"a row of the TMA box has {inner} bytes, more than its "
                f"{self.swizzle_bytes}-byte swizzle: use at most "
                f"{self.swizzle_bytes // self.element_bytes} elements"
            )


def encode(
    address: int,
    *,
    cuda_type: int,
    element_bytes: int,
    shape: Sequence[int],
    strides: Sequence[int],
    box: Sequence[int],
    swizzle_bytes: int,
    padding: str = "zero",
    element_strides: Sequence[int] | None = None,
    fp4_padded: bool = False,
) -> bytes:
    """The tensor map; `shape` of elements of 4 bits counts bytes, as their arrays do."""
    extents = tuple(shape)
    if fp4_padded:
        extents = (*extents[:-1], extents[-1] * 2)
    request = Request(
        address,
        _FP4_PADDED if fp4_padded else cuda_type,
        element_bytes,
        extents,
        tuple(strides),
        tuple(box),
        swizzle_bytes,
        padding,
        tuple(element_strides or (1,) * len(extents)),
    )
    return _encoded(driver(), request)


@lru_cache(maxsize=_MAX_CACHED)
def _encoded(cuda: Driver, request: Request) -> bytes:
    request.check()
    rank = len(request.shape)
    strides = [stride * request.element_bytes for stride in request.strides[:-1]]
    buffer = ctypes.create_string_buffer(MAP_BYTES + MAP_ALIGNMENT)
    start = -ctypes.addressof(buffer) % MAP_ALIGNMENT
    found = (ctypes.c_char * MAP_BYTES).from_buffer(buffer, start)
    try:
        cuda.call(
            "cuTensorMapEncodeTiled",
            found,
            request.cuda_type,
            rank,
            ctypes.c_void_p(request.address),
            (ctypes.c_uint64 * rank)(*reversed(request.shape)),
            # One entry more than the driver reads, so that rank 1 has an array as well.
            (ctypes.c_uint64 * rank)(*reversed(strides)),
            (ctypes.c_uint32 * rank)(*reversed(request.box)),
            (ctypes.c_uint32 * rank)(*reversed(request.element_strides)),
            0,  # CU_TENSOR_MAP_INTERLEAVE_NONE
            _SWIZZLES[request.swizzle_bytes],
            _L2_PROMOTION,
            _FILLS[request.padding],
        )
    except CudaError as error:
        raise cuda.error("cuTensorMapEncodeTiled", error.status, f"for {request}") from None
    return bytes(found)
