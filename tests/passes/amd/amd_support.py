"""Kernels taken to the thread level for an AMD GPU and run there."""

from __future__ import annotations

from tilewright.passes.amd.pipeline import AmdPipeline

TARGETS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")
"""Those that clang 19 compiles for, too."""


def amd_pipeline(arch: str = "gfx942") -> AmdPipeline:
    return AmdPipeline(target=f"hip:{arch}")
