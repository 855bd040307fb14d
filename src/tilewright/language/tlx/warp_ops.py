"""What the threads of a warp decide together."""

from __future__ import annotations

from tilewright.dialects.ttng import VoteBallotSyncOp
from tilewright.language.tl.constants import scalar_constant
from tilewright.language.tl.constexpr import constexpr, unwrap
from tilewright.language.tl.dtypes import block_type, float32, int1, int32
from tilewright.language.tl.inline_asm import inline_asm_elementwise
from tilewright.language.tl.tensor import emit, tensor

_REDUCTIONS = {
    "max": ("max", False),
    "min": ("min", False),
    "abs_max": ("max", True),
    "abs_min": ("min", True),
}
"""How to reduce, and whether to look at magnitudes."""
_WITHOUT_SIGN = "and.b32 t, t, 0x7FFFFFFF; "


def vote_ballot_sync(mask: int | constexpr, pred: tensor) -> tensor:
    """One bit for each thread of the warp in `mask` whose `pred` is true."""
    is_true = pred if pred.dtype == int1 else pred != 0
    threads = scalar_constant(_signed(int(unwrap(mask))), int32)
    type = block_type(int32, is_true.shape) if is_true.type.is_block() else int32
    return emit(VoteBallotSyncOp(threads.handle, is_true.handle), type)


def _signed(mask: int) -> int:
    return mask - 2**32 if mask >= 2**31 else mask


def warp_redux(x: tensor, op: str) -> tensor:
    """Every element replaced by the reduction over its warp (Blackwell): "max", "min", "abs_max" or
    "abs_min"."""
    name = unwrap(op)
    if name not in _REDUCTIONS:
        raise ValueError(f"op must be 'max', 'min', 'abs_max' or 'abs_min', got {name!r}")
    kind, magnitude = _REDUCTIONS[name]
    strip = _WITHOUT_SIGN if magnitude else ""
    asm = (
        f"{{ .reg .b32 t; mov.b32 t, $1; {strip}redux.sync.{kind}.f32 t, t, 0xFFFFFFFF; "
        "mov.b32 $0, t; }"
    )
    result = inline_asm_elementwise(asm, "=f,f", [x], dtype=float32, is_pure=True, pack=1)
    assert isinstance(result, tensor)
    return result
