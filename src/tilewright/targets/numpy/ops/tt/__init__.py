"""The `tt` dialect, a file for each of its own."""

from __future__ import annotations

from tilewright.targets.numpy.emitter import Rule
from tilewright.targets.numpy.ops.tt import (
    atomics,
    descriptors,
    elementwise,
    matmul,
    memory,
    pointers,
    program,
    reductions,
    shape,
)

RULES: dict[str, Rule] = {
    **atomics.RULES,
    **descriptors.RULES,
    **elementwise.RULES,
    **matmul.RULES,
    **memory.RULES,
    **pointers.RULES,
    **program.RULES,
    **reductions.RULES,
    **shape.RULES,
}
