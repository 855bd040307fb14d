"""How kernels of public reports are checked: through the GPU pipeline, and at both levels.

A kernel gives the right values at the tile level and, thread by thread with all checks on, at the
thread level; what it lowers to compiles to a cubin for Hopper.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.cuda.nvrtc import compile_source
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import compile_simt


def lowered(kernel: Any, *arguments: np.ndarray) -> tuple[Any, DiagnosticEngine]:
    """Device functions of a kernel; raises `CompileError`."""
    engine = DiagnosticEngine()
    module = kernel.get_tir(*arguments).module.clone()
    GpuPipeline().run(module, engine)
    engine.raise_if_errors()
    return module, engine


def source_of(module: Any) -> str:
    """CUDA C++ of all device functions."""
    return "\n".join(emit_kernel(function).text for function in kernels_of(module))


def check(
    kernel: Any, *arguments: np.ndarray, expected: np.ndarray, cubin: bool = True
) -> DiagnosticEngine:
    """Compare the tile level and the thread level with `expected`, and compile to a cubin.

    The result is what the kernel returns; where it returns nothing, its last argument.
    """
    module, engine = lowered(kernel, *arguments)
    if cubin:
        for function in kernels_of(module):
            source = emit_kernel(function)
            assert compile_source(source.text, "sm_90a").cubin[:4] == b"\x7fELF"
    np.testing.assert_array_equal(by_tiles(kernel, arguments), expected)
    np.testing.assert_array_equal(by_threads(kernel, module, arguments, expected), expected)
    return engine


def by_tiles(kernel: Any, arguments: tuple[np.ndarray, ...]) -> np.ndarray:
    """The result at the level of tiles; the arguments are left as they are."""
    given = [each.copy() for each in arguments]
    result = kernel(*given)
    return given[-1] if result is None else result


def by_threads(
    kernel: Any, module: Any, arguments: tuple[np.ndarray, ...], like: np.ndarray
) -> np.ndarray:
    """The result of a run that follows every thread; what is returned is poisoned first."""
    compiled = kernel.traced(*arguments)
    given = iter(arguments)
    buffers = [
        Buffer(param.name, np.full(like.shape, -77).astype(like.dtype), initialised=False)
        if number in compiled.out_idx
        else Buffer(param.name, next(given).copy())
        for number, param in enumerate(compiled.params)
    ]
    compile_simt(module).launch(buffers)
    return buffers[compiled.out_idx[0] if compiled.out_idx else -1].array


def whole(seed: int, *shape: int, dtype: str = "float16") -> np.ndarray:
    """Small whole numbers: sums are exact in any order."""
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float32) @ b.astype(np.float32)
