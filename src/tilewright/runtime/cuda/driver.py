"""The CUDA driver, loaded when it is first needed, with every status checked.

ctypes on ``libcuda.so.1`` is the one way in: it is there wherever a GPU is, it needs no package,
and a prepared call of it costs less than one through generated bindings, which wrap every status in
an enumeration. Nothing here imports torch.

    cuda = driver()
    cuda.call("cuCtxGetCurrent", byref(context))      # raises CudaError with the driver's message
    launch = cuda.function("cuLaunchKernelEx")        # unchecked, for the hot path

Tests replace it by an object with the same functions (`using`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from tilewright.runtime.cuda.errors import CudaError, CudaUnavailable, driver_error

_LIBRARY = "libcuda.so.1"

# The driver keeps earlier versions of these calls under their plain names.
_VERSIONED = {
    name: f"{name}_v2"
    for name in (
        "cuEventDestroy",
        "cuMemAlloc",
        "cuMemFree",
        "cuMemcpyDtoD",
        "cuMemcpyDtoH",
        "cuMemcpyHtoD",
    )
}


class Driver:
    """Calls of one driver library."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._functions: dict[str, Callable[..., int]] = {}

    def function(self, name: str) -> Callable[..., int]:
        """The call `name`, which returns its status unchecked."""
        found = self._functions.get(name)
        if found is None:
            try:
                found = getattr(self._library, _VERSIONED.get(name, name))
            except AttributeError:
                raise CudaUnavailable(
                    f"the CUDA driver lacks {name}, which this kernel requires: update the driver"
                ) from None
            self._functions[name] = found
        return found

    def call(self, name: str, *arguments: object) -> None:
        status = self.function(name)(*arguments)
        if status:
            raise self.error(name, status)

    def error(self, call: str, status: int, detail: str = "") -> CudaError:
        """The error for `status`, with the driver's message."""
        name, text = (
            self._error_text("cuGetErrorName", status),
            self._error_text("cuGetErrorString", status),
        )
        return driver_error(call, status, name or "unknown", text or "no description", detail)

    def _error_text(self, call: str, status: int) -> str:
        text = ctypes.c_char_p()
        # A status the driver does not know leaves the text empty.
        self.function(call)(status, ctypes.byref(text))
        return (text.value or b"").decode(errors="replace")


_loaded: Driver | None = None


def driver() -> Driver:
    """The driver of this machine, initialised."""
    global _loaded
    if _loaded is None:
        _loaded = _load()
    return _loaded


def _load() -> Driver:
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        raise CudaUnavailable(
            f"no CUDA driver ({_LIBRARY}) on this machine",
            "use target numpy, or compile without running, with kernel.warmup(...)",
        ) from None
    found = Driver(library)
    count = ctypes.c_int(0)
    try:
        found.call("cuInit", 0)
        found.call("cuDeviceGetCount", ctypes.byref(count))
    except CudaError as error:
        raise CudaUnavailable(f"the CUDA driver failed to initialise: {error}") from None
    if not count.value:
        raise CudaUnavailable("the CUDA driver found no GPU")
    return found


def is_available() -> bool:
    """Whether kernels can be launched here."""
    try:
        driver()
    except CudaUnavailable:
        return False
    return True


@contextmanager
def using(library: Any) -> Generator[Driver]:
    """Take `library` for the driver inside the ``with``."""
    global _loaded
    before, _loaded = _loaded, Driver(library)
    try:
        yield _loaded
    finally:
        _loaded = before
