"""Scratch buffers of nested device functions: their sizes, offsets and allocators.

    registry = BufferRegistry()
    registry.register("k1", step, 8, "shared")
    registry.register("error", step, 8, "local", aliases="k1")
    alloc_k1 = registry.get_allocator("k1", step)          # a numba-cuda device function

Importable as ``tilewright.buffers``. The registry itself needs NumPy only; numba is loaded by the
first allocator that is built.
"""

from tilewright.memory.registry.buffer import CUDABuffer
from tilewright.memory.registry.first_fit import FirstFit
from tilewright.memory.registry.general import GeneralPlanner
from tilewright.memory.registry.group import BufferGroup, Policy
from tilewright.memory.registry.guards import Canary, Damage
from tilewright.memory.registry.layout import Layouts
from tilewright.memory.registry.planning import Block, PlanError, Planner, Spot
from tilewright.memory.registry.registry import BufferRegistry, buffer_registry

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
