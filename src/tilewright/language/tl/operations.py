"""`tensor` with all that it can do.

Files of `tl` register their functions as its operators and methods (`operator` and `tensor_method`
in `tl.tensor`) when they are imported. `tl.tensor` and every trace need all of them.
"""

from __future__ import annotations

from typing import Final

from tilewright.language.tl import (
    arithmetic,
    atomics,
    bitwise,
    comparison,
    memory,
    reductions,
    shape,
    sorting,
    standard,
)
from tilewright.language.tl.cast import cast
from tilewright.language.tl.tensor import tensor as tensor

DEFINED_BY: Final = (
    *(arithmetic, atomics, bitwise, comparison, memory, reductions, shape, sorting, standard),
    cast,
)
"""Those files; of the last one the package has the function."""
