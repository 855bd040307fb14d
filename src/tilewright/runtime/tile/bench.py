"""How long a call takes, in milliseconds: of the GPU where there is one, else of this machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.runtime.cuda.driver import is_available

_SUMMARIES: dict[str, Callable[[list[float]], float]] = {
    "min": min,
    "max": max,
    "mean": statistics.mean,
    "median": statistics.median,
}
_BACKENDS = ("event", "cupti", "cudagraph")


def do_bench(
    fn: Callable[[], object],
    warmup: float = 25,
    rep: float = 100,
    _n_warmup: int = 0,
    _n_repeat: int = 0,
    quantiles: Sequence[float] | None = None,
    fast_flush: bool = True,
    backend: str = "event",
    return_mode: str = "mean",
    cache_size: int = 256,
    device: object = None,
    early_stop_baseline: float | None = None,
    **_: Any,
) -> Any:
    """Milliseconds that `fn` takes, from runs that fill about `rep` ms after `warmup` ms.

    With a GPU, events on its stream count, and its L2 cache is overwritten before every run.
    Without one, the clock of the CPU counts and its caches are left as they are; a run that takes
    longer than both times together is measured once. `backend`, `cache_size` and `device` change
    nothing. `early_stop_baseline` ends the measurement when it is clear that it will not be below:
    on a GPU, after a few runs.
    """
    if return_mode not in _SUMMARIES:
        raise ValueError(f"return_mode must be one of {', '.join(_SUMMARIES)}, got {return_mode!r}")
    if backend not in _BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(_BACKENDS)}, got {backend!r}")
    if is_available():
        times = _on_gpu(fn, warmup, rep, fast_flush, early_stop_baseline)
        return _summary(times, quantiles, return_mode)
    first = _milliseconds(fn)
    if first > warmup + rep and not _n_repeat:
        return _summary([first], quantiles, return_mode)
    warm = _n_warmup or int(warmup / max(first, 1e-3))
    for _iteration in range(warm - 1):
        fn()
    times: list[float] = []
    while len(times) < _n_repeat if _n_repeat else (not times or sum(times) < rep):
        times.append(_milliseconds(fn))
        if early_stop_baseline is not None and min(times) > early_stop_baseline:
            break
    return _summary(times, quantiles, return_mode)


def _on_gpu(
    fn: Callable[[], object], warmup: float, rep: float, flush: bool, baseline: float | None
) -> list[float]:
    """Times between events; a call that works on the host is measured all the same."""
    from tilewright.runtime.cuda.timing import compare, estimate

    if baseline is not None and (about := estimate(fn, flush_l2=flush)) > baseline:
        return [about]
    found = compare({"it": fn}, warmup_ms=warmup, rep_ms=rep, flush_l2=flush)
    return list(found["it"].times)


def _milliseconds(fn: Callable[[], object]) -> float:
    start = time.perf_counter()
    fn()
    return (time.perf_counter() - start) * 1e3


def _summary(times: list[float], quantiles: Sequence[float] | None, return_mode: str) -> Any:
    if quantiles is None:
        return _SUMMARIES[return_mode](times)
    found = [float(value) for value in np.quantile(times, list(quantiles))]
    return found[0] if len(found) == 1 else found
