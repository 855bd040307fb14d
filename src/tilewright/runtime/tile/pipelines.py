"""The passes that make the code of a GPU's threads from a kernel, as its settings have them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tilewright.targets.hip.settings import HipSettings

if TYPE_CHECKING:
    from tilewright.passes.amd.pipeline import AmdPipeline
    from tilewright.passes.gpu.pipeline import GpuPipeline
    from tilewright.runtime.tile.kernel import CompiledTileKernel


def pipeline_of(kernel: CompiledTileKernel, arch: str) -> AmdPipeline | GpuPipeline:
    """The pipeline for the GPU of a kernel, or for NVIDIA's `arch` where it has none."""
    # A launch of a compiled kernel loads no pass.
    if kernel.gpu is not None and isinstance(kernel.gpu.settings, HipSettings):
        from tilewright.passes.amd.pipeline import AmdPipeline
        from tilewright.targets.hip.compile import pipeline_options as hip_options

        return AmdPipeline(**hip_options(kernel.gpu.settings))
    from tilewright.passes.gpu.pipeline import GpuPipeline
    from tilewright.targets.cuda.compile import pipeline_options

    settings = replace(kernel.settings_for(arch), arch=arch)
    return GpuPipeline(**pipeline_options(settings))
