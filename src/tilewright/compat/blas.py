"""``triton._C.libtriton.nvidia.cublas``: the GEMM of cuBLASLt that scripts compare kernels with.

It is computed on the host, in float32; the workspace is not used.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from tilewright.compat.torch_devices import host_memory
from tilewright.runtime.arrays import host_array


class CublasLt:
    """Matrices of torch or NumPy: `b` is transposed, as cuBLASLt's default here."""

    def __init__(self, workspace: object) -> None:
        self.workspace = workspace

    def matmul(self, a: Any, b: Any, c: Any) -> None:
        """``c = a @ b.T``"""
        with host_memory():
            left, right, result = (host_array(each).array for each in (a, b, c))
            result[...] = (left.astype(np.float32) @ right.astype(np.float32).T).astype(
                result.dtype
            )


nvidia = SimpleNamespace(cublas=SimpleNamespace(CublasLt=CublasLt))
