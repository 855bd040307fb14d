"""``tilelang.testing``: seeds, and what tests of kernels are decorated with.

The GPU that is described is a Hopper GPU (`compat.described_gpu`); tests that need another one are
skipped by pytest as they would be there.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import operator
import random
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from tilewright.compat.described_gpu import capability
from tilewright.compat.notices import print_once

Test = TypeVar("Test", bound=Callable[..., Any])


def set_random_seed(seed: int = 42) -> None:
    """Seed every source of random numbers that a script may use."""
    random.seed(seed)
    np.random.seed(seed)
    if "torch" in sys.modules:
        importlib.import_module("torch").manual_seed(seed)


def main() -> None:
    """Run the tests of the file that calls this, with pytest."""
    frame = inspect.currentframe()
    caller = None if frame is None else frame.f_back
    path = sys.argv[0] if caller is None else caller.f_globals["__file__"]
    sys.exit(importlib.import_module("pytest").main([path, *sys.argv[1:]]))


def _skipped(test: Test, is_skipped: bool, reason: str) -> Test:
    if not is_skipped:
        return test
    return importlib.import_module("pytest").mark.skip(reason=reason)(test)


def requires_cuda(test: Test) -> Test:
    """The device ``cuda`` is there."""
    return test


requires_cuda_or_cdna = requires_cuda


def requires_rocm(test: Test) -> Test:
    return _skipped(test, True, "needs a GPU of AMD")


requires_cdna = requires_gfx950 = requires_rocm


def requires_metal(test: Test) -> Test:
    return _skipped(test, True, "needs a GPU of Apple")


def requires_llvm(test: Test) -> Test:
    return _skipped(test, True, "needs LLVM")


def requires_package(*packages: str) -> Callable[[Test], Test]:
    """Skip a test where one of `packages` is not installed."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return lambda test: _skipped(test, bool(missing), f"needs {', '.join(missing)}")


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "ge": operator.ge,
    "gt": operator.gt,
    "le": operator.le,
    "lt": operator.lt,
    "eq": operator.eq,
}


def requires_cuda_compute_version(
    major_version: int, minor_version: int = 0, mode: str = "ge"
) -> Callable[[Test], Test]:
    """Skip a test that is for GPUs of another compute capability."""
    expected = (major_version, minor_version)
    fits = _COMPARISONS[mode](capability(), expected)
    reason = f"needs compute capability {mode} {major_version}.{minor_version}"
    return lambda test: _skipped(test, not fits, reason)


requires_cuda_compute_version_ge = partial(requires_cuda_compute_version, mode="ge")
requires_cuda_compute_version_gt = partial(requires_cuda_compute_version, mode="gt")
requires_cuda_compute_version_le = partial(requires_cuda_compute_version, mode="le")
requires_cuda_compute_version_lt = partial(requires_cuda_compute_version, mode="lt")
requires_cuda_compute_version_eq = partial(requires_cuda_compute_version, mode="eq")


def process_func(func: Callable[..., Any], *_: Any, **kwargs: Any) -> None:
    """Time one benchmark of a file, and print it."""
    options = {name: value for name, value in kwargs.items() if name != "name"}
    sys.stdout.write(f"{kwargs.get('name', func.__module__)}: {func(**options)}\n")


def regression(*_: Any, **__: Any) -> None:
    print_once("tilelang.testing.regression compares times of a GPU: there are none here")
