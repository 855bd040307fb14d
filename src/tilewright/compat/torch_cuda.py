"""``torch.cuda`` for a machine whose GPU is its CPU: one device, always synchronised.

Only the functions that scripts use around kernels are replaced; the rest of the module is torch's
own and reports itself what it cannot do without a GPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tilewright.compat import described_gpu as gpu


class Event:
    """A moment on the one queue of work there is."""

    def __init__(self, *_: object, **__: object) -> None:
        self._time: float | None = None

    def record(self, stream: object = None) -> None:
        self._time = time.perf_counter()

    def wait(self, stream: object = None) -> None:
        """Nothing to wait for: work is synchronous."""

    def synchronize(self) -> None:
        """Nothing to wait for: work is synchronous."""

    def query(self) -> bool:
        return True

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to `end_event`."""
        if self._time is None or end_event._time is None:
            raise RuntimeError("elapsed_time: both events must be recorded first")
        return (end_event._time - self._time) * 1e3


class Stream:
    """The one queue of work there is."""

    cuda_stream = 0
    device_index = 0

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def synchronize(self) -> None:
        """Nothing to wait for: work is synchronous."""

    def wait_stream(self, stream: object) -> None:
        """Nothing to wait for: work is synchronous."""

    def wait_event(self, event: object) -> None:
        """Nothing to wait for: work is synchronous."""

    def record_event(self, event: Event | None = None) -> Event:
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        return True

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Chosen:
    """``with torch.cuda.device(...)``, ``with torch.cuda.stream(...)``: there is only one."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def _properties(device: object = None) -> SimpleNamespace:
    major, minor = gpu.capability()
    return SimpleNamespace(
        name=gpu.name(),
        major=major,
        minor=minor,
        total_memory=gpu.MEMORY_BYTES,
        multi_processor_count=gpu.MULTIPROCESSORS,
        max_threads_per_multi_processor=gpu.THREADS_PER_MULTIPROCESSOR,
        regs_per_multiprocessor=gpu.REGISTERS,
        shared_memory_per_block=gpu.SHARED_MEMORY_DEFAULT_BYTES,
        shared_memory_per_block_optin=gpu.SHARED_MEMORY_BYTES,
        shared_memory_per_multiprocessor=gpu.SHARED_MEMORY_BYTES,
        warp_size=gpu.WARP_SIZE,
        L2_cache_size=gpu.L2_BYTES,
        gcnArchName="",
        is_integrated=False,
    )


def _constant(value: object) -> Callable[..., object]:
    return lambda *_, **__: value


def _capability(_device: object = None) -> tuple[int, int]:
    return gpu.capability()


def _name(_device: object = None) -> str:
    return gpu.name()


_IDLE = """\
empty_cache init ipc_collect manual_seed manual_seed_all reset_accumulated_memory_stats
reset_max_memory_allocated reset_peak_memory_stats seed seed_all set_device set_stream synchronize
"""
"""What there is nothing to do for. Random numbers are the CPU's, whose seed torch sets itself."""

_COUNTS = """\
max_memory_allocated max_memory_reserved memory_allocated memory_reserved
"""
"""Memory of a device that has none."""

_FUNCTIONS: dict[str, object] = {
    **{name: _constant(None) for name in _IDLE.split()},
    **{name: _constant(0) for name in _COUNTS.split()},
    "Event": Event,
    "Stream": Stream,
    "current_device": _constant(0),
    "current_stream": Stream,
    "default_stream": Stream,
    "device": Chosen,
    "device_count": _constant(1),
    "device_of": Chosen,
    "get_arch_list": lambda: ["sm_{}{}".format(*gpu.capability())],
    "get_device_capability": _capability,
    "get_device_name": _name,
    "get_device_properties": _properties,
    "is_available": _constant(True),
    "is_bf16_supported": _constant(True),
    "is_initialized": _constant(True),
    "mem_get_info": _constant((gpu.MEMORY_BYTES, gpu.MEMORY_BYTES)),
    "stream": Chosen,
}

_RANGES: dict[str, object] = {
    "mark": _constant(None),
    "range": Chosen,
    "range_pop": _constant(0),
    "range_push": _constant(0),
}


def replace_cuda_functions(torch: Any) -> None:
    """Replace those of ``torch.cuda`` by these functions."""

    def get_rng_state(device: object = None) -> Any:
        return torch.get_rng_state()

    def set_rng_state(new_state: Any, device: object = None) -> None:
        torch.set_rng_state(new_state)

    for name, function in _FUNCTIONS.items():
        setattr(torch.cuda, name, function)
    for name, function in _RANGES.items():
        setattr(torch.cuda.nvtx, name, function)
    torch.cuda.get_rng_state = get_rng_state
    torch.cuda.set_rng_state = set_rng_state
