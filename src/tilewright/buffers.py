"""``tilewright.buffers``: the buffer registry, under the name that users import.

The names, signatures and layouts are those of ``cubie.buffer_registry``, so this module can be
served in place of it. What it does is in `tilewright.memory.registry`.
"""

from tilewright.memory.registry import (
    Block,
    BufferGroup,
    BufferRegistry,
    Canary,
    CUDABuffer,
    Damage,
    FirstFit,
    GeneralPlanner,
    Layouts,
    PlanError,
    Planner,
    Policy,
    Spot,
    buffer_registry,
)

__all__ = [
    "Block",
    "BufferGroup",
    "BufferRegistry",
    "CUDABuffer",
    "Canary",
    "Damage",
    "FirstFit",
    "GeneralPlanner",
    "Layouts",
    "PlanError",
    "Planner",
    "Policy",
    "Spot",
    "buffer_registry",
]
