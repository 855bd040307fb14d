"""`check-launch`: whether the grid and the clusters of a kernel are what its target can launch.

What every target requires (at most 1024 threads, a grid that clusters divide) is checked where
kernels are built; here is what depends on the GPU, and what is surely not meant. Shuffles and
ballots must fit the warps of the target, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import ModuleOp

from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.dialects.tile import KernelOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.passes.gpu.arch import arch_of
from tilewright.passes.gpu.check_warp_ops import check_warp_ops

NO_CLUSTERS, LARGE_CLUSTER, EMPTY_GRID = "TW6008", "TW6009", "TW6004"
LARGE_GRID = "TW6005"
FIRST_WITH_CLUSTERS = 90
MAX_CLUSTER = 8
"""Blocks of a cluster that every GPU with clusters takes."""
_AXES = "xyz"
MAX_GRID = {"x": 2**31 - 1, "y": 65535, "z": 65535}
"""Blocks of a grid that every GPU takes."""


@dataclass(frozen=True)
class CheckLaunch(Pass):
    """Report grids and clusters that cannot be launched."""

    name = "check-launch"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            _check_grid(kernel, engine)
            _check_cluster(kernel, engine)
            check_warp_ops(kernel, engine)


def _check_grid(kernel: KernelOp, engine: DiagnosticEngine) -> None:
    for axis, extent in zip(_AXES, kernel.grid, strict=False):
        if extent == 0:
            diagnostic = engine.warning(
                kernel,
                f"empty grid: 0 blocks along {axis}, so the kernel does not run and its "
                "outputs are not written",
                EMPTY_GRID,
            )
            diagnostic.note(
                None, "help: use T.ceildiv(size, block), which rounds up; size // block rounds down"
            )
        elif isinstance(extent, int) and extent > MAX_GRID[axis]:
            diagnostic = engine.error(
                kernel,
                f"grid too large: {extent} blocks along {axis}, at most {MAX_GRID[axis]} "
                "are supported",
                LARGE_GRID,
            )
            diagnostic.note(None, _suggest_fix(axis))


def _suggest_fix(axis: str) -> str:
    """Use the first axis, which has the largest limit; beyond it, blocks must do more work each."""
    if axis != "x":
        return (
            f"help: make this extent the first of T.Kernel: x supports up to {MAX_GRID['x']} blocks"
        )
    return "help: use larger tiles, or T.Persistent, in which each block processes several tiles"


def _check_cluster(kernel: KernelOp, engine: DiagnosticEngine) -> None:
    extents = kernel.cluster_extents
    if extents is None or prod(extents) == 1:
        return
    arch = arch_of(kernel)
    shape = " x ".join(map(str, extents))
    if arch < FIRST_WITH_CLUSTERS:
        diagnostic = engine.error(
            kernel,
            f"clusters not supported: the kernel uses clusters of {shape} blocks, which "
            f"require sm_{FIRST_WITH_CLUSTERS}; the target is sm_{arch}",
            NO_CLUSTERS,
        )
        diagnostic.note(None, "help: use T.Kernel instead of T.ClusterKernel")
    elif prod(extents) > MAX_CLUSTER:
        diagnostic = engine.error(
            kernel,
            f"cluster too large: {shape} = {prod(extents)} blocks, at most {MAX_CLUSTER} "
            "are supported",
            LARGE_CLUSTER,
        )
        diagnostic.note(None, f"help: use cluster_dims={_smaller(extents)}")


def _smaller(extents: tuple[int, ...]) -> tuple[int, ...]:
    """Half of the largest extent, as often as it takes."""
    found = list(extents)
    while prod(found) > MAX_CLUSTER:
        largest = found.index(max(found))
        found[largest] = max(1, found[largest] // 2)
    return tuple(found)
