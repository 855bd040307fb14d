"""``triton.testing``: timing and comparing.

Times are those of the CPU. They compare runs on this machine with each other and do
not predict GPU times, which is reported once.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from tilewright.compat.notices import print_once
from tilewright.compat.torch_devices import host_memory
from tilewright.runtime.arrays import NumpyArray, host_array, is_array

Summary = Literal["min", "max", "mean", "median", "all"]

_SUMMARIES: dict[str, Callable[[list[float]], Any]] = {
    "min": min,
    "max": max,
    "mean": statistics.mean,
    "median": statistics.median,
    "all": list,
}


def do_bench(
    fn: Callable[[], object],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Iterable[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: Summary = "mean",
) -> Any:
    """Milliseconds that `fn` takes: once to warm up, then for about `rep` ms, at least once."""
    if return_mode not in _SUMMARIES:
        raise ValueError(f"return_mode is one of {', '.join(_SUMMARIES)}, not {return_mode!r}")
    print_once("times are measured on the CPU and do not predict GPU times")
    fn()
    times: list[float] = []
    while not times or sum(times) < rep:
        for tensor in grad_to_none or ():
            tensor.grad = None
        start = time.perf_counter()
        fn()
        times.append((time.perf_counter() - start) * 1e3)
    if quantiles is None:
        return _SUMMARIES[return_mode](times)
    found = [float(value) for value in np.quantile(times, list(quantiles))]
    return found[0] if len(found) == 1 else found


def do_bench_cudagraph(
    fn: Callable[[], object],
    rep: float = 20,
    grad_to_none: Iterable[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: Summary = "mean",
) -> Any:
    """`do_bench`: there are no graphs to capture, and no launch latency to hide."""
    return do_bench(fn, 0, rep, grad_to_none, quantiles, return_mode)


Tolerance = float | Callable[[Any], float] | None

_ABSOLUTE_TOLERANCE = 1e-2


def assert_close(
    x: Any,
    y: Any,
    atol: Tolerance = None,
    rtol: Tolerance = None,
    err_msg: str = "",
) -> None:
    """Raise AssertionError unless all elements agree; NaN equals NaN. `atol` is 0.01, `rtol` 0."""
    dtype = getattr(x, "dtype", None)
    absolute = _ABSOLUTE_TOLERANCE if atol is None else atol(dtype) if callable(atol) else atol
    relative = 0.0 if rtol is None else rtol(dtype) if callable(rtol) else rtol
    np.testing.assert_allclose(
        _comparable(x), _comparable(y), atol=absolute, rtol=relative, err_msg=err_msg
    )


def _comparable(value: Any) -> NumpyArray:
    """`value` as an array that NumPy can compare: small floats become float32."""
    with host_memory():
        array = host_array(value).array if is_array(value) else np.asarray(value)
    return array.astype(np.float32) if array.dtype.kind == "V" else array
