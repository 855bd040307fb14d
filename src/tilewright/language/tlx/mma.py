"""Asynchronous MMAs.

    Hopper      D = A @ B + acc in registers; A in shared memory or registers, B in shared memory.
                `async_dot_wait` gives what replaces the accumulator.
    Blackwell   acc in tensor memory; A in shared or tensor memory. Barriers signal completion.

Operands must be in layouts that the instructions support; the IR has these requirements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects import arith
from tilewright.dialects.nvg import ClusterIdOp
from tilewright.dialects.tlx import ReleaseLayoutOp
from tilewright.dialects.tt.enums import SCALE_DOT_ELEM_TYPE
from tilewright.dialects.ttg import DotOperandEncoding, NvidiaMmaEncoding
from tilewright.dialects.ttg.types import TOKEN_TYPE
from tilewright.dialects.ttng import (
    TCGen5CommitOp,
    TCGen5MMAOp,
    TCGen5MMAScaledOp,
    WarpGroupDotOp,
    WarpGroupDotWaitOp,
)
from tilewright.frontend.builder import current
from tilewright.language.tl.constants import scalar_constant, splat
from tilewright.language.tl.constexpr import constexpr, unwrap
from tilewright.language.tl.dtypes import (
    bfloat16,
    block_type,
    dtype,
    float16,
    float32,
    int1,
    int8,
    int32,
    uint8,
)
from tilewright.language.tl.options import current_options
from tilewright.language.tl.tensor import Operand, emit, tensor
from tilewright.language.tlx.allocate import BLACKWELL
from tilewright.language.tlx.barriers import known_integer
from tilewright.language.tlx.demands import (
    release,
    require_nv_mma_shared,
    require_registers,
    require_tmem,
    require_tmem_scales,
)
from tilewright.language.tlx.layouts import TMemCTAMode, tensor_memory_layout_encoding
from tilewright.language.tlx.storage import buffered_tensor, mbarrier, storage_kind
from tilewright.language.tlx.tasks import num_warps_here

_MMA_ROWS = 16
_WGMMA_ROWS = 64
_MIN_K = 16
_MAX_N = 256
_INT8_COLUMNS = (224, 208, 192, 176, 160, 144, 128, 112, 96, 80, 64, 48, 32, 24, 16, 8)
_COLUMNS = tuple(range(_MAX_N, 0, -8))
"""Widths that a wgmma instruction can have, the preferred first."""

_OPERANDS = (int8, uint8, float16, bfloat16, float32)
_FORMATS = ("e2m1", "e4m3", "e5m2")
_BLACKWELL_ROWS = (64, 128)
_SCALED_ROWS = 128


def _is_blackwell() -> bool:
    return current_options().target.is_cuda_from(BLACKWELL)


# -- what is multiplied ---------------------------------------------------------------------------


def _check_operands(a: tensor | buffered_tensor, b: buffered_tensor) -> None:
    if a.dtype.is_fp8() and b.dtype.is_fp8():
        return
    for name, element in (("lhs", a.dtype), ("rhs", b.dtype)):
        if element not in _OPERANDS:
            raise AssertionError(f"Unsupported {name} dtype {element}")
    if a.dtype != b.dtype:
        raise AssertionError(f"Both operands must be same dtype. Got {a.dtype} and {b.dtype}")


def _check_shapes(m: int, k: int, n: int) -> None:
    if k < _MIN_K:
        raise AssertionError("K must be at least 16")
    if _is_blackwell() and m not in _BLACKWELL_ROWS:
        raise AssertionError(f"M must be 64 or 128 on Blackwell, but got {m}")
    if not _is_blackwell() and m % _WGMMA_ROWS:
        raise AssertionError(f"M must be a multiple of 64 on Hopper, but got {m}")
    _check_columns(n)


def _check_columns(n: int) -> None:
    if not 8 <= n <= _MAX_N or n % 8:
        raise AssertionError(f"N must be a multiple of 8 in [8, 256], but got {n}")


def _result_element(operand: dtype, out_dtype: dtype) -> dtype:
    if operand.is_int():
        return int32
    if out_dtype.is_bf16():
        raise ValueError(
            "out_dtype=bfloat16 is unsupported. Please use out_dtype=float32/float16 and cast with "
            "`.to(tl.bfloat16)`"
        )
    return float32 if operand in (float32, bfloat16) else out_dtype


def _precision(given: str | None) -> str:
    target = current_options().target
    name = unwrap(given)
    if name is None:
        return target.default_dot_precision
    if name.lower() not in target.dot_precisions:
        raise ValueError(
            f"input_precision must be one of {', '.join(target.dot_precisions)}. Got {name}"
        )
    return name.lower()


def _pair_modes(
    a: tensor | buffered_tensor, acc: object, two_ctas: bool
) -> tuple[TMemCTAMode, TMemCTAMode]:
    """How a pair of CTAs shares A and the accumulator, where its rows are only 64."""
    layout = acc.type.layout if isinstance(acc, buffered_tensor) else None
    is_half = isinstance(layout, tensor_memory_layout_encoding) and layout.blockM == 64
    if not two_ctas or not is_half:
        return TMemCTAMode.DEFAULT, TMemCTAMode.DEFAULT
    is_tmem = isinstance(a, buffered_tensor) and a.type.storage == storage_kind.tmem
    return TMemCTAMode.TwoCTA_LHS if is_tmem else TMemCTAMode.DEFAULT, TMemCTAMode.TwoCTA_RHS


# -- MMAs -----------------------------------------------------------------------------------------


def async_dot(
    A: buffered_tensor | tensor,
    B: buffered_tensor,
    acc: buffered_tensor | tensor | None = None,
    use_acc: Operand | None = None,
    pred: Operand | None = None,
    mBarriers: Sequence[mbarrier] = (),
    two_ctas: bool = False,
    force_async: bool = False,
    input_precision: str | None = None,
    out_dtype: dtype = float32,
) -> tensor | None:
    """Start the MMA of A and B, added to `acc`.

    On Hopper the result is a tensor to wait for. On Blackwell `acc` in tensor memory is changed,
    unless `pred` is false, and overwritten where `use_acc` is; `mBarriers` are signalled on
    completion.
    """
    is_pair = bool(unwrap(two_ctas))
    _check_operands(A, B)
    if len(A.shape) != 2 or len(B.shape) != 2 or A.shape[1] != B.shape[0]:
        raise AssertionError(
            f"First input shape ({list(A.shape)}) and second input shape {list(B.shape)} are not "
            "compatible for matmul (second index of first shape must be equal to first index of "
            "second shape)"
        )
    m, k, n = A.shape[0], A.shape[1], B.shape[1]
    if not isinstance(acc, buffered_tensor):
        type = block_type(_result_element(A.dtype, unwrap(out_dtype)), (m, n))
        accumulator = _accumulator(acc, type)
        _check_shapes(m, k, n)
        if _is_blackwell():
            raise AssertionError("input must be a TMEM tensor")
        return _warp_group_dot(A, B, accumulator, type, _precision(input_precision))
    _check_shapes(m, k, n)
    if not _is_blackwell():
        raise AssertionError("an accumulator in tensor memory requires Blackwell")
    mode_a, mode_acc = _pair_modes(A, acc, is_pair)
    left = _left_operand(A, mode_a)
    right = require_nv_mma_shared(B, swizzled=True)
    result = require_tmem(acc, mode_acc)
    use, allowed, barriers = _conditions(use_acc, pred, mBarriers)
    op = TCGen5MMAOp.build(
        operands=[left, right, result, None, use, allowed, *barriers],
        result_types=[TOKEN_TYPE],
        properties=_marks(is_async=bool(unwrap(force_async) or mBarriers), two_ctas=is_pair),
    )
    current().insert(op)
    return None


def _marks(**marks: bool) -> dict[str, Attribute | None]:
    return {name: UnitAttr() if is_set else None for name, is_set in marks.items()}


def _accumulator(acc: tensor | None, type: block_type) -> tensor:
    if acc is None:
        return splat(scalar_constant(0, type.scalar), type.shape)
    if acc.shape != type.shape:
        raise AssertionError(
            f"expected accumulator shape {list(type.shape)}, got {list(acc.shape)}"
        )
    if acc.dtype != type.scalar:
        raise AssertionError(f"expected accumulator dtype {type.scalar}, got {acc.dtype}")
    return acc


def _left_operand(a: tensor | buffered_tensor, mode: TMemCTAMode) -> SSAValue:
    if isinstance(a, tensor):
        raise AssertionError("register operand is not supported on Blackwell")
    if a.type.storage == storage_kind.smem:
        return require_nv_mma_shared(a, swizzled=True)
    return require_tmem(a, mode)


def _conditions(
    use_acc: Operand | None, pred: Operand | None, barriers: Sequence[mbarrier]
) -> tuple[SSAValue, SSAValue, tuple[list[SSAValue], list[SSAValue]]]:
    """Whether to accumulate, the predicate, and the barriers to arrive on."""
    use, allowed = unwrap(use_acc), unwrap(pred)
    known = None
    if use is not None and not isinstance(use, tensor):
        known = scalar_constant(bool(use), int1).handle
    always = scalar_constant(True, int1).handle
    if isinstance(use, tensor):
        known = use.handle
    given = allowed.handle if isinstance(allowed, tensor) else always
    handles = [barrier.handle for barrier in barriers]
    return always if known is None else known, given, (handles, [always] * len(handles))


def _warp_group_dot(
    a: tensor | buffered_tensor,
    b: buffered_tensor,
    acc: tensor,
    type: block_type,
    precision: str,
) -> tensor:
    left = a.handle
    if isinstance(a, buffered_tensor):
        left = require_nv_mma_shared(a, swizzled=True)
    right = require_nv_mma_shared(b, swizzled=True)
    mma = _accumulator_layout(type.shape, a.dtype)
    accumulator = require_registers(acc.handle, mma)
    if isinstance(a, tensor):
        width = 32 // a.dtype.primitive_bitwidth
        operand = DotOperandEncoding(op_idx=0, parent=mma, k_width=width)
        left = require_registers(a.handle, operand)
    are_fp8 = a.dtype.is_fp8() and b.dtype.is_fp8()
    op = WarpGroupDotOp(
        left,
        right,
        accumulator,
        input_precision=precision,
        max_num_imprecise_acc=current_options().target.max_num_imprecise_acc if are_fp8 else 0,
        is_async=True,
    )
    return tensor(release(current().insert(op).d), type)


def _accumulator_layout(shape: Sequence[int], operand: dtype) -> NvidiaMmaEncoding:
    """Rows are shared out among the warps at hand, one instruction as wide as possible."""
    warps = num_warps_here()
    down = max(shape[0] // _MMA_ROWS, 1)
    widest = max(shape[1] // max(warps // down, 1), 8)
    columns = _INT8_COLUMNS if operand.is_int() else _COLUMNS
    n = next(width for width in columns if shape[1] % width == 0 and width <= widest)
    k = 256 // operand.primitive_bitwidth
    return NvidiaMmaEncoding(
        version_major=3, version_minor=0, warps_per_cta=(warps, 1), instr_shape=(_MMA_ROWS, n, k)
    )


def async_dot_wait(pendings: int | constexpr, inp: tensor) -> tensor:
    """`inp`, valid once at most `pendings` MMAs are in flight."""
    count = known_integer(pendings, "pendings")
    owner = inp.handle.owner
    if not isinstance(owner, ReleaseLayoutOp):
        op = current().insert(WarpGroupDotWaitOp([inp.handle], count))
        return tensor(op.results[0], inp.type)
    # The MMA itself waits: its layout is released only after the wait.
    waited = current().insert(WarpGroupDotWaitOp([owner.src], count))
    if inp.handle.uses or owner.parent is not current().block:
        return tensor(release(waited.results[0]), inp.type)
    owner.detach()
    owner.operands[0] = waited.results[0]
    current().block.add_op(owner)
    return inp


def tcgen05_commit(mBarrier: mbarrier, two_ctas: bool = False) -> None:
    """Let a barrier track all MMAs started before; a barrier of its own, not that of an MMA.

    With `two_ctas` only the even CTA of a pair does it.
    """
    if unwrap(two_ctas):
        rank = emit(ClusterIdOp(), int32)
        two = scalar_constant(2, int32)
        rest = emit(arith.RemuiOp(rank.handle, two.handle), int32)
        zero = scalar_constant(0, int32)
        allowed = emit(arith.CmpiOp("eq", rest.handle, zero.handle), int1)
    else:
        allowed = scalar_constant(True, int1)
    current().insert(TCGen5CommitOp(mBarrier.handle, allowed.handle))


# -- scaled MMAs ----------------------------------------------------------------------------------


def async_dot_scaled(
    A: buffered_tensor,
    B: buffered_tensor,
    acc: buffered_tensor,
    A_scale: buffered_tensor,
    A_format: str,
    B_scale: buffered_tensor,
    B_format: str,
    use_acc: Operand | None = None,
    pred: Operand | None = None,
    mBarriers: Sequence[mbarrier] = (),
    two_ctas: bool = False,
    force_async: bool = False,
    out_dtype: dtype = float32,
) -> None:
    """Start the scaled MMA of A and B, each block along K times its scale factor, added to `acc`.

    Formats are "e2m1" (two elements a byte), "e4m3" and "e5m2".
    """
    if not _is_blackwell():
        raise AssertionError("async_dot_scaled is only available on Blackwell")
    m, k, n = A.shape[0], A.shape[1], B.shape[1]
    if m != _SCALED_ROWS:
        raise AssertionError(f"M must be 128 for the scaled MMA, but got {m}")
    if k < _MIN_K:
        raise AssertionError("K must be at least 16")
    _check_columns(n)
    for operand in (A, B):
        if not isinstance(operand, buffered_tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise AssertionError("input must be a buffered tensor")
    if B.type.storage != storage_kind.smem:
        raise AssertionError("input must be a shared memory tensor")
    formats = {"A_format": unwrap(A_format), "B_format": unwrap(B_format)}
    _check_formats(formats)
    is_pair, is_mixed = bool(unwrap(two_ctas)), formats["A_format"] != formats["B_format"]
    mode_a, mode_acc = _pair_modes(A, acc, is_pair)
    if A.type.storage == storage_kind.smem:
        padded = is_mixed and formats["A_format"] == "e2m1"
        left = require_nv_mma_shared(A, swizzled=True, fp4_padded=padded)
    else:
        left = require_tmem(A, mode_a)
    padded = is_mixed and formats["B_format"] == "e2m1"
    right = require_nv_mma_shared(B, swizzled=True, fp4_padded=padded)
    scales = [_scales("A_scale", A_scale), _scales("B_scale", B_scale)]
    result = require_tmem(acc, mode_acc)
    use, allowed, barriers = _conditions(use_acc, pred, mBarriers)
    op = TCGen5MMAScaledOp.build(
        operands=[left, right, result, None, *scales, use, allowed, *barriers],
        result_types=[TOKEN_TYPE],
        properties={
            "a_type": SCALE_DOT_ELEM_TYPE.attribute(formats["A_format"]),
            "b_type": SCALE_DOT_ELEM_TYPE.attribute(formats["B_format"]),
            **_marks(is_async=bool(unwrap(force_async) or mBarriers), two_ctas=is_pair),
        },
    )
    current().insert(op)


def _check_formats(formats: Mapping[str, str]) -> None:
    for name, format in formats.items():
        if format not in _FORMATS:
            raise AssertionError(f"Unsupported {name}: {format}")


def _scales(name: str, buffer: buffered_tensor) -> SSAValue:
    if not isinstance(buffer, buffered_tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AssertionError(f"{name} must be a buffered tensor")
    if buffer.type.storage == storage_kind.tmem:
        return require_tmem_scales(buffer)
    if buffer.type.storage != storage_kind.smem:
        raise AssertionError(f"{name} must be in SMEM or TMEM")
    return require_nv_mma_shared(buffer, swizzled=False)
