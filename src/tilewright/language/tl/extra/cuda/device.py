"""Special registers of an NVIDIA GPU, and programmatic dependent launch."""

from __future__ import annotations

from typing import cast

from tilewright.dialects.tt import GridDependencyLaunchDependentsOp, GridDependencyWaitOp
from tilewright.frontend.builder import current
from tilewright.language.tl.conversion import convert
from tilewright.language.tl.dtypes import dtype, int32, int64
from tilewright.language.tl.inline_asm import inline_asm_elementwise
from tilewright.language.tl.options import current_options
from tilewright.language.tl.tensor import tensor

_WARP = 32


def globaltimer() -> tensor:
    """Nanoseconds by the clock that all multiprocessors share."""
    asm = "mov.u64 $0, %globaltimer;"
    return cast("tensor", inline_asm_elementwise(asm, "=l", [], int64, is_pure=False, pack=1))


def smid() -> tensor:
    """The number of the multiprocessor that the program runs on."""
    asm = "mov.u32 $0, %smid;"
    return cast("tensor", inline_asm_elementwise(asm, "=r", [], int32, is_pure=True, pack=1))


def num_threads() -> int:
    """How many threads run one program."""
    return num_warps() * _WARP


def num_warps() -> int:
    """How many warps run one program."""
    return current_options().num_warps


def gdc_wait() -> None:
    """Wait until the kernels launched before have finished and their writes can be seen."""
    current().insert(GridDependencyWaitOp())


def gdc_launch_dependents() -> None:
    """Let the kernel launched next start, once all programs have come this far."""
    current().insert(GridDependencyLaunchDependentsOp())


def convert_custom_float8_sm80(
    arg: tensor, dst_ty: dtype, fp_downcast_rounding: str | None = None
) -> tensor:
    """`arg` from or to `float8e4b15`."""
    return convert(arg, dst_ty, fp_downcast_rounding)


convert_custom_float8_sm70 = convert_custom_float8_sm80
