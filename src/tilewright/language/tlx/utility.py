"""Small questions: types and sizes, where in the cluster this CTA is, what time it is."""

from __future__ import annotations

from tilewright.dialects import arith, gpu
from tilewright.dialects.nvg import ClusterIdOp
from tilewright.dialects.tt import FpToFpOp
from tilewright.dialects.ttg import Clock64Op
from tilewright.dialects.ttng import ClusterSize1DOp
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.descriptors import tensor_descriptor
from tilewright.language.tl.dtypes import (
    bfloat16,
    dtype,
    float8e4nv,
    float8e5,
    float16,
    float32,
    int32,
    int64,
    pointer_type,
)
from tilewright.language.tl.options import current_options
from tilewright.language.tl.tensor import emit, tensor
from tilewright.language.tlx.allocate import BLACKWELL
from tilewright.language.tlx.tasks import replica_id

_ROUNDED = (float8e5, float8e4nv, float16, bfloat16)
_AXES = ("x", "y", "z")
_FORMATS = {float8e5: "e5m2", float8e4nv: "e4m3"}


def cluster_cta_rank() -> tensor:
    """The number of this CTA in its cluster, over all dimensions."""
    return emit(ClusterIdOp(), int32)


def cluster_size_1d() -> tensor:
    """How many CTAs the cluster has, over all dimensions."""
    return emit(ClusterSize1DOp(), int32)


def thread_id(axis: int) -> tensor:
    """The number of this thread in its CTA along `axis`."""
    dimension = unwrap(axis)
    if dimension not in (0, 1, 2):
        raise ValueError(f"thread_id axis must be 0, 1, or 2 but got {dimension}")
    index = emit(gpu.ThreadIdOp(_AXES[dimension]), int64)
    return emit(arith.IndexCastOp(index.handle, int32.to_ir()), int32)


def async_task_replica_id() -> int:
    """Which copy of a replicated task this is, from 0 on."""
    return replica_id()


def dtype_of(v: tensor | tensor_descriptor) -> dtype:
    """The type of an element of a tensor or descriptor, or of what a pointer points to."""
    if isinstance(v, tensor):
        element = v.type.scalar
        return element.element_ty if isinstance(element, pointer_type) else element
    if isinstance(v, tensor_descriptor):  # pyright: ignore[reportUnnecessaryIsInstance]
        return v.dtype
    raise ValueError(f"dtype_of only works on tensors and tensor descriptors, but got {v}")


def size_of(dtype: dtype) -> int:
    """The bytes of one element."""
    return _known(dtype, "size_of").primitive_bitwidth // 8


def get_fp8_format_name(dtype: dtype) -> str:
    """The format name of an 8-bit float in scaled dots: ``e5m2`` or ``e4m3``."""
    element = _known(dtype, "get_fp8_format_name")
    if element not in _FORMATS:
        raise AssertionError(
            "get_fp8_format_name only supports tl.float8e5 (e5m2) and tl.float8e4nv (e4m3), but "
            f"got {element}"
        )
    return _FORMATS[element]


def _known(value: object, function: str) -> dtype:
    element = unwrap(value)
    if not isinstance(element, dtype):
        raise AssertionError(f"{function} expects a dtype, but got {type(element)}")
    return element


def clock64() -> tensor:
    """The value of the hardware's timer."""
    return emit(Clock64Op(), int64)


def stoch_round(src: tensor, dst_ty: dtype, rand_bits: tensor) -> tensor:
    """`src` as a smaller float, rounded up or down as `rand_bits` decide (Blackwell)."""
    target, destination = current_options().target, unwrap(dst_ty)
    if not target.is_cuda_from(BLACKWELL):
        raise AssertionError(
            "stoch_round requires compute capability >= 100 (Blackwell GPU), current capability: "
            f"{target.arch}"
        )
    if src.dtype != float32:
        raise AssertionError(
            f"Stochastic rounding only supports fp32 source, got {src.dtype}. Source must be "
            "float32."
        )
    if destination not in _ROUNDED:
        raise AssertionError(
            f"Stochastic rounding only supports fp8/fp16/bf16 destination, got {destination}. "
            "Supported types: float8e5 (fp8 E5M2), float8e4nv (fp8 E4M3FN), float16, bfloat16"
        )
    if src.type.is_block() != rand_bits.type.is_block():
        raise ValueError(
            "src and rand_bits must both be blocks or both be scalars, got "
            f"src_ty.is_block()={src.type.is_block()}, "
            f"rbits_ty.is_block()={rand_bits.type.is_block()}"
        )
    if src.shape != rand_bits.shape:
        raise AssertionError(
            f"rand_bits shape {list(rand_bits.shape)} must match src shape {list(src.shape)}"
        )
    type = src.type.with_element_ty(destination)
    return emit(FpToFpOp(src.handle, type.to_ir(), "rs", rand_bits.handle), type)
