"""Every example becomes a code object for every AMD GPU, without spills or scratch memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.examples.tile_examples import NAMES, fresh, load
from tests.passes.amd.amd_support import TARGETS
from tests.targets.hip.support import needs_clang
from tilewright.targets.hip.compile import compile_module
from tilewright.targets.numpy import tile as tiles


def kernels_of(name: str) -> list[ModuleOp]:
    """The kernels that an example runs."""
    found: list[ModuleOp] = []
    compiled = tiles.compile_tile_module

    def keeping(module: ModuleOp) -> Any:
        found.append(module.clone())
        return compiled(module)

    tiles.compile_tile_module = keeping
    try:
        fresh(load(name)).example(np.random.default_rng(0))
    finally:
        tiles.compile_tile_module = compiled
    return found


@needs_clang
@pytest.mark.slow
@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_an_example_compiles_without_spills(name: str, arch: str) -> None:
    for module in kernels_of(name):
        for kernel in compile_module(module, arch).kernels.values():
            metadata = kernel.metadata
            assert (metadata.vgpr_spills, metadata.sgpr_spills, metadata.scratch_bytes) == (0, 0, 0)
            assert kernel.code_object[:4] == b"\x7fELF"
