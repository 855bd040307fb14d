"""IR as readable NumPy code, run batch by batch with every access checked.

`compile_module` makes a `NumpyKernel` from pointer-level IR; `NumpyKernel.launch` runs it.
"""

from __future__ import annotations

from tilewright.targets.numpy.api import (
    Argument,
    Buffer,
    Descriptor,
    NumpyFault,
    RunOptions,
    RunReport,
)
from tilewright.targets.numpy.errors import Unsupported
from tilewright.targets.numpy.kernel import NumpyKernel, compile_module

__all__ = [
    "Argument",
    "Buffer",
    "Descriptor",
    "NumpyFault",
    "NumpyKernel",
    "RunOptions",
    "RunReport",
    "Unsupported",
    "compile_module",
]
