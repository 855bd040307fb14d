"""How long work on a GPU takes: events around each run, cold caches, medians.

    do_bench(lambda: kernel[grid](x, y))                      # milliseconds, the median
    do_bench(call, quantiles=(0.5, 0.2, 0.8))                 # several of them
    compare({"ours": ours, "cuBLAS": reference}, progress=show)  # in turns, in one run

Every run is between two events in the stream. Before each run a buffer as large as twice the L2
cache is overwritten, as data of a real program would not be there either; so often that the GPU is
busy with it until the host has put the run into the queue: the time of the host does not count.
Clocks drop under load, so calls that are to be compared alternate.
"""

from __future__ import annotations

import ctypes
import statistics
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from time import perf_counter
from typing import Any

from tilewright.runtime.cuda.context import current_device, device_properties
from tilewright.runtime.cuda.driver import driver
from tilewright.runtime.cuda.streams import current_stream, stream_handle

_ESTIMATED_RUNS = 5
_MIN_RUNS = 5
_MAX_RUNS = 2000
_FLUSH_RATE = 5e12
"""Bytes that a GPU overwrites in a second, at most."""
_AHEAD = 1.5
"""How much longer the GPU stays busy than the host needs."""
_MAX_FLUSHES = 32
"""Of a run whose host takes long, perhaps because it waits for the GPU itself."""

Progress = Callable[[int, int], object]
"""Called with the number of finished runs and the total."""


@dataclass(frozen=True)
class Timing:
    """Milliseconds of every run, in order."""

    times: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    def quantile(self, part: float) -> float:
        """The time that `part` of the runs stay under, linearly interpolated."""
        ordered = sorted(self.times)
        rank = part * (len(ordered) - 1)
        low = int(rank)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (rank - low)

    def __str__(self) -> str:
        return (
            f"{self.median * 1000:.2f} us (20%: {self.quantile(0.2) * 1000:.2f}, 80%: "
            f"{self.quantile(0.8) * 1000:.2f}, {len(self.times)} runs)"
        )


def do_bench(
    call: Callable[[], object],
    *,
    warmup_ms: float = 25.0,
    rep_ms: float = 100.0,
    quantiles: Sequence[float] | None = None,
    flush_l2: bool = True,
    stream: Any = None,
    progress: Progress | None = None,
) -> Any:
    """Milliseconds of `call`: the median, or the `quantiles` in a list."""
    found = compare(
        {"it": call},
        warmup_ms=warmup_ms,
        rep_ms=rep_ms,
        flush_l2=flush_l2,
        stream=stream,
        progress=progress,
    )["it"]
    return found.median if quantiles is None else [found.quantile(part) for part in quantiles]


def compare(
    calls: Mapping[str, Callable[[], object]],
    *,
    warmup_ms: float = 25.0,
    rep_ms: float = 100.0,
    flush_l2: bool = True,
    stream: Any = None,
    progress: Progress | None = None,
) -> dict[str, Timing]:
    """Every one of `calls` for about `rep_ms`, alternating."""
    device = current_device()
    where = current_stream(device) if stream is None else stream_handle(stream)
    with _flusher(device, where, active=flush_l2) as flush:
        runs = _warm_up(calls, flush, where, warmup_ms, rep_ms)
        total, done = runs * len(calls), 0
        spans: dict[str, list[_Span]] = {name: [] for name in calls}
        with _Events() as events:
            for _ in range(runs):
                for name, call in calls.items():
                    spans[name].append(_flushed(events, call, flush, where))
                    done += 1
                    if progress is not None:
                        progress(done, total)
            wait(where)
            return {
                name: Timing(tuple(_milliseconds(span) for span in each))
                for name, each in spans.items()
            }


def estimate(call: Callable[[], object], *, flush_l2: bool = True, stream: Any = None) -> float:
    """About how many milliseconds `call` takes: the median of a few runs after a first one."""
    device = current_device()
    where = current_stream(device) if stream is None else stream_handle(stream)
    with _flusher(device, where, active=flush_l2) as flush:
        return _estimate(call, flush, where)


def _estimate(call: Callable[[], object], flush: _Flush, stream: int) -> float:
    call()  # compiles, perhaps
    with _Events() as events:
        spans = [_flushed(events, call, flush, stream) for _ in range(_ESTIMATED_RUNS)]
        wait(stream)
        return max(statistics.median(map(_milliseconds, spans)), 1e-4)


def _warm_up(
    calls: Mapping[str, Callable[[], object]],
    flush: _Flush,
    stream: int,
    warmup_ms: float,
    rep_ms: float,
) -> int:
    """Warm up clocks and caches; returns how many runs fill `rep_ms`."""
    slowest = 0.0
    for call in calls.values():
        about = _estimate(call, flush, stream)
        for _ in range(min(int(warmup_ms / about), _MAX_RUNS)):
            call()
        wait(stream)
        slowest = max(slowest, about)
    return max(_MIN_RUNS, min(int(rep_ms / slowest), _MAX_RUNS))


_Span = tuple[ctypes.c_void_p, ctypes.c_void_p]


class _Events:
    """Events that are destroyed together."""

    def __init__(self) -> None:
        self._made: list[ctypes.c_void_p] = []

    def __enter__(self) -> _Events:
        return self

    def __exit__(self, *_: object) -> None:
        for event in self._made:
            driver().call("cuEventDestroy", event)

    def _new(self) -> ctypes.c_void_p:
        event = ctypes.c_void_p()
        driver().call("cuEventCreate", ctypes.byref(event), 0)
        self._made.append(event)
        return event

    def around(self, call: Callable[[], object], stream: int) -> _Span:
        before, after = self._new(), self._new()
        record, where = driver().call, ctypes.c_void_p(stream)
        record("cuEventRecord", before, where)
        call()
        record("cuEventRecord", after, where)
        return before, after


def _flushed(events: _Events, call: Callable[[], object], flush: _Flush, stream: int) -> _Span:
    flush(call)
    start = perf_counter()
    span = events.around(call, stream)
    flush.note(call, perf_counter() - start)
    return span


def _milliseconds(span: _Span) -> float:
    time = ctypes.c_float()
    driver().call("cuEventElapsedTime", ctypes.byref(time), *span)
    return time.value


def wait(stream: int = 0) -> None:
    """Until everything in `stream` is done."""
    driver().call("cuStreamSynchronize", ctypes.c_void_p(stream))


class _Flush:
    """Pushes everything out of the L2 cache, by overwriting other memory."""

    def __init__(self, address: ctypes.c_uint64, size: int, stream: int) -> None:
        self._address, self._size, self._stream = address, size, stream
        self._host: dict[Callable[[], object], float] = {}

    def note(self, call: Callable[[], object], seconds: float) -> None:
        """Note how long the host takes to put `call` into the queue."""
        self._host[call] = seconds

    def __call__(self, call: Callable[[], object]) -> None:
        """Keep the GPU busy for as long as the host will need for `call`."""
        if not self._size:
            return
        needed = _AHEAD * self._host.get(call, 0.0) * _FLUSH_RATE / self._size
        for _ in range(max(1, min(ceil(needed), _MAX_FLUSHES))):
            driver().call(
                "cuMemsetD8Async",
                self._address,
                0,
                ctypes.c_size_t(self._size),
                ctypes.c_void_p(self._stream),
            )


@contextmanager
def _flusher(device: int, stream: int, *, active: bool) -> Generator[_Flush]:
    """What is overwritten before each run; nothing if not `active`."""
    address = ctypes.c_uint64()
    if not active:
        yield _Flush(address, 0, stream)
        return
    cuda = driver()
    size = 2 * device_properties(device).l2_bytes
    cuda.call("cuMemAlloc", ctypes.byref(address), ctypes.c_size_t(size))
    try:
        yield _Flush(address, size, stream)
    finally:
        wait(stream)
        cuda.call("cuMemFree", address)
