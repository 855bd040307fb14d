"""Compiled programs of the examples, for tests of the cost model."""

from __future__ import annotations

import runpy
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.runtime.tile.jit import TileJIT
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.targets.tenstorrent.artefact import Artefact

EXAMPLES = Path(__file__).parents[3] / "examples" / "tile"


@cache
def _example(file: str, name: str) -> TileJIT:
    return runpy.run_path(str(EXAMPLES / f"{file}.py"))[name]


def zeros(*shape: int) -> np.ndarray[Any, Any]:
    return np.zeros(shape, ml_dtypes.bfloat16)


@cache
def example(
    file: str,
    name: str,
    shapes: tuple[tuple[int, ...], ...],
    cores: str,
    target: str = "tenstorrent:wormhole",
    settings: tuple[tuple[str, Any], ...] = (),
    **options: Any,
) -> Artefact:
    """A kernel of an example, compiled for arrays of these shapes on a grid of cores."""
    configs = {"tt.core_grid": cores, **dict(settings)}
    kernel = TileJIT(_example(file, name).function, target=target, pass_configs=configs)
    found = kernel.compile(*(zeros(*shape) for shape in shapes), **options).tenstorrent
    assert found is not None
    return found.artefact


def gemm(
    sizes: tuple[int, int, int],
    blocks: tuple[int, int, int],
    cores: str,
    target: str = "tenstorrent:wormhole",
    num_stages: int = 2,
    settings: tuple[tuple[str, Any], ...] = (),
) -> Artefact:
    """The GEMM of the examples: sizes and blocks are M, N and K."""
    (m, n, k), (high, wide, deep) = sizes, blocks
    return example(
        "gemm",
        "gemm",
        ((m, k), (k, n)),
        cores,
        target,
        settings,
        block_M=high,
        block_N=wide,
        block_K=deep,
        num_stages=num_stages,
        dtype="bfloat16",
    )


class _Gemm:
    """The GEMM of the examples, traced and not compiled."""

    def jit(self, cores: str, **settings: Any) -> TileJIT:
        configs = {"tt.core_grid": cores, **settings}
        function = _example("gemm", "gemm").function
        return TileJIT(function, target="tenstorrent:wormhole", pass_configs=configs)

    def __call__(
        self,
        sizes: tuple[int, int, int],
        blocks: tuple[int, int, int],
        cores: str,
        **settings: Any,
    ) -> CompiledTileKernel:
        (m, n, k), (high, wide, deep) = sizes, blocks
        return self.jit(cores, **settings).traced(
            zeros(m, k),
            zeros(k, n),
            block_M=high,
            block_N=wide,
            block_K=deep,
            num_stages=2,
            dtype="bfloat16",
        )


gemm_kernel = _Gemm()


def add(sizes: tuple[int, int], cores: str) -> Artefact:
    """The element-wise sum of the examples."""
    return example("elementwise_add", "add", (sizes, sizes), cores, dtype="bfloat16")


def softmax(sizes: tuple[int, int], cores: str) -> Artefact:
    """The online softmax of the examples."""
    return example("online_softmax", "softmax", (sizes,), cores, dtype="bfloat16")
