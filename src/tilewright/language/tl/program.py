"""Where in the grid the program runs."""

from __future__ import annotations

from tilewright.dialects import tt
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.dtypes import int32
from tilewright.language.tl.tensor import emit, tensor

_AXES = (0, 1, 2)


def _checked(axis: int, function: str) -> int:
    axis = unwrap(axis)
    if axis not in _AXES:
        raise ValueError(
            f"{function} axis must be 0, 1, or 2 but got {axis}: a grid has three axes at most"
        )
    return axis


def program_id(axis: int) -> tensor:
    """The index of this program along an axis of the grid."""
    return emit(tt.GetProgramIdOp(_checked(axis, "program_id")), int32)


def num_programs(axis: int) -> tensor:
    """The number of programs along an axis of the grid."""
    return emit(tt.GetNumProgramsOp(_checked(axis, "num_programs")), int32)
