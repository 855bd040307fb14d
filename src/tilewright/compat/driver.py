"""``triton.runtime.driver`` for the GPU that is described (`compat.described_gpu`)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from tilewright.compat.described_gpu import (
    CLOCK_KHZ,
    MEMORY_BUS_BITS,
    MEMORY_CLOCK_KHZ,
    MULTIPROCESSORS,
    REGISTERS,
    SHARED_MEMORY_BYTES,
    WARP_SIZE,
    capability,
)
from tilewright.compat.testing import do_bench
from tilewright.runtime.options import current_target

_CACHE_BYTES = 32 * 1024 * 1024
"""What a benchmark writes between two runs to find the caches cold."""


@dataclass(frozen=True)
class GPUTarget:
    """A kind of GPU, as Triton names it."""

    backend: str
    arch: int | str
    warp_size: int = WARP_SIZE

    def is_cuda_backend(self) -> bool:
        return self.backend == "cuda"

    def is_hip_backend(self) -> bool:
        return self.backend == "hip"


def device_properties(_device: object = None) -> dict[str, int]:
    """What Triton's driver reports about a device."""
    return {
        "max_shared_mem": SHARED_MEMORY_BYTES,
        "max_num_regs": REGISTERS,
        "multiprocessor_count": MULTIPROCESSORS,
        "warpSize": WARP_SIZE,
        "sm_clock_rate": CLOCK_KHZ,
        "mem_clock_rate": MEMORY_CLOCK_KHZ,
        "mem_bus_width": MEMORY_BUS_BITS,
    }


class CpuDriver:
    """Triton's driver, as far as scripts talk to it."""

    def __init__(self) -> None:
        self.utils = SimpleNamespace(get_device_properties=device_properties)

    def get_current_target(self) -> GPUTarget:
        target = current_target()
        return GPUTarget(target.backend, target.arch, target.warp_size)

    def get_active_torch_device(self) -> Any:
        """The device to make tensors on; its name is the GPU's, its memory is the host's."""
        return importlib.import_module("torch").device("cuda", 0)

    def get_device_interface(self) -> Any:
        return importlib.import_module("torch").cuda

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        """There is one device only."""

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        return capability()

    def get_empty_cache_for_benchmark(self) -> np.ndarray[Any, np.dtype[np.int8]]:
        return np.empty(_CACHE_BYTES, np.int8)

    def clear_cache(self, cache: np.ndarray[Any, np.dtype[np.int8]]) -> None:
        cache.fill(0)

    def get_benchmarker(self) -> Callable[..., Any]:
        return do_bench


class Drivers:
    """``triton.runtime.driver``: which driver is in use."""

    def __init__(self) -> None:
        self.default = CpuDriver()
        self.active: Any = self.default

    def set_active(self, driver: object) -> None:
        self.active = driver

    def reset_active(self) -> None:
        self.active = self.default


@dataclass(frozen=True)
class Backend:
    """A backend of Triton, of which scripts read only whether it has a device."""

    driver: Any


class NvidiaDriver(CpuDriver):
    """The kind of driver that would be in use on the GPU that is described."""

    @staticmethod
    def is_active() -> bool:
        return True


backends = {"nvidia": Backend(NvidiaDriver)}

driver = Drivers()
active = driver.default
set_active = driver.set_active
reset_active = driver.reset_active
