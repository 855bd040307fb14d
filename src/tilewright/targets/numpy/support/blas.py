"""One BLAS thread for matrix multiplications.

Multiplications of tiles are small. Splitting one over threads costs more than it gains, far more
where other work keeps the processors busy, and lets the result depend on how many there are.
NumPy's wheels carry OpenBLAS; with any other library nothing is changed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

_GET, _SET = "scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"


@cache
def _library() -> Any | None:
    """The OpenBLAS that NumPy has loaded."""
    directory = Path(np.__file__).parent
    for libraries in (directory.with_name("numpy.libs"), directory / ".dylibs"):
        for path in sorted(libraries.glob("libscipy_openblas64_*")):
            try:
                library = ctypes.CDLL(str(path))
            except OSError:
                continue
            if hasattr(library, _GET) and hasattr(library, _SET):
                return library
    return None


@contextmanager
def one_thread() -> Generator[None]:
    """Run the body with one BLAS thread."""
    library = _library()
    if library is None:
        yield
        return
    before = getattr(library, _GET)()
    getattr(library, _SET)(1)
    try:
        yield
    finally:
        getattr(library, _SET)(before)
