"""``triton.testing``: timing and comparing.

Where torch uses a GPU, times are the GPU's own (`runtime.cuda.timing`). Else they are those of the
CPU: they compare runs on this machine with each other and do not predict GPU times, which is
reported once.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any, Literal

import numpy as np

from tilewright.compat.notices import print_once
from tilewright.compat.torch_devices import host_memory
from tilewright.runtime.arrays import NumpyArray, host_array, is_array, torch_memory

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
    """Milliseconds that `fn` takes: once to warm up, then for about `rep` ms, at least once.

    On the CPU a first run that takes far longer than `rep` is the only one.
    """
    if return_mode not in _SUMMARIES:
        raise ValueError(f"return_mode is one of {', '.join(_SUMMARIES)}, not {return_mode!r}")

    def call() -> None:
        for tensor in grad_to_none or ():
            tensor.grad = None
        fn()

    times = _gpu_times(call, warmup, rep) if is_on_gpu() else _cpu_times(call, rep)
    if quantiles is None:
        return _SUMMARIES[return_mode](times)
    found = [float(value) for value in np.quantile(times, list(quantiles))]
    return found[0] if len(found) == 1 else found


def is_on_gpu() -> bool:
    """Whether torch, not redirected to the host, works on a GPU."""
    torch: Any = sys.modules.get("torch")
    return (
        torch is not None and torch_memory.as_it_is is nullcontext and torch.cuda.is_initialized()
    )


def _gpu_times(call: Callable[[], object], warmup: float, rep: float) -> list[float]:
    from tilewright.runtime.cuda.timing import compare  # loads the driver

    return list(compare({"it": call}, warmup_ms=warmup, rep_ms=rep)["it"].times)


def _cpu_times(call: Callable[[], object], rep: float) -> list[float]:
    print_once("times are measured on the CPU and do not predict GPU times")
    first = _milliseconds(call)
    # What takes that long is little slower for having been compiled in the first run.
    times = [first] if first > _LONG * rep else []
    while not times or sum(times) < rep:
        times.append(_milliseconds(call))
    return times


_LONG = 20


def _milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def do_bench_cudagraph(
    fn: Callable[[], object],
    rep: float = 20,
    grad_to_none: Iterable[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: Summary = "mean",
) -> Any:
    """`do_bench`: on a GPU it hides the latency of launches too, and the CPU has none."""
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
