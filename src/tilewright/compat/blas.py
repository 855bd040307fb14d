"""``triton._C.libtriton.nvidia.cublas``: the GEMM of cuBLASLt that scripts compare kernels with.

Matrices in host memory are multiplied there, in float32; those of a GPU by torch, which calls the
same library. The workspace is not used.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np

from tilewright.compat.torch_devices import host_memory
from tilewright.runtime.arrays import host_array
from tilewright.runtime.cuda.arrays import device_array


class CublasLt:
    """Matrices of torch or NumPy: `b` is transposed, as cuBLASLt's default here."""

    def __init__(self, workspace: object) -> None:
        self.workspace = workspace

    def matmul(self, a: Any, b: Any, c: Any) -> None:
        """``c = a @ b.T``"""
        if device_array(c) is not None:
            _on_gpu(a, b, c)
            return
        with host_memory():
            left, right, result = (host_array(each).array for each in (a, b, c))
            result[...] = (left.astype(np.float32) @ right.astype(np.float32).T).astype(
                result.dtype
            )


def _on_gpu(a: Any, b: Any, c: Any) -> None:
    torch: Any = importlib.import_module("torch")
    if a.element_size() > 1:
        torch.matmul(a, b.T, out=c)
        return
    scale = torch.ones((), dtype=torch.float32, device=c.device)
    torch._scaled_mm(a, b.T, scale, scale, out_dtype=c.dtype, out=c)


nvidia = SimpleNamespace(cublas=SimpleNamespace(CublasLt=CublasLt))
