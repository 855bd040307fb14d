"""The HIP runtime through AMD's Python bindings, loaded when it is first needed.

    hip().call("hipModuleLoadData", code)      # what the call returns beside its status

The package is ``hip-python`` (extra ``hip``). Every call returns a tuple whose first element is the
status. Tests replace the bindings by an object with the same functions (`using`).
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

_MODULES = ("rocm.bindings.hip", "hip.hip")
"""Of newer releases of ``hip-python``, which have another package below, and of older ones."""
_INSTALL = "pip install 'tilewright[hip]'"


class HipUnavailable(RuntimeError):
    """There are no bindings, no runtime or no device."""


class HipError(RuntimeError):
    """A call of the runtime that did not succeed."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class DeviceProperties:
    """One GPU."""

    index: int
    name: str
    chip: str
    """``gfx942``, without its features."""
    compute_units: int


class Hip:
    """Calls of the bindings, every status checked."""

    def __init__(self, bindings: Any) -> None:
        self.bindings = bindings

    def call(self, name: str, *arguments: object, detail: str = "") -> Any:
        """What `name` returns beside its status: nothing, a value, or a tuple of values."""
        returned = getattr(self.bindings, name)(*arguments)
        status, *values = cast("tuple[Any, ...]", returned)
        if int(status):
            raise self._error(name, int(status), detail)
        return values[0] if len(values) == 1 else tuple(values) or None

    def _error(self, call: str, status: int, detail: str) -> HipError:
        found = self.bindings.hipGetErrorString(self.bindings.hipError_t(status))
        # Older releases return the text alone.
        text = cast("tuple[Any, ...]", found)[-1] if isinstance(found, tuple) else found
        message = f"HIP error {status} in {call}: {_text(text)}"
        return HipError(f"{message}\n  {detail}" if detail else message, status)

    def current_device(self) -> int:
        return int(self.call("hipGetDevice"))

    def properties(self, device: int | None = None) -> DeviceProperties:
        """What `device`, or the current one, is."""
        index = self.current_device() if device is None else device
        found = self.call("hipGetDeviceProperties", index)
        return DeviceProperties(
            index,
            _text(found.name),
            _text(found.gcnArchName).partition(":")[0],
            int(found.multiProcessorCount),
        )


def _text(given: object) -> str:
    return given.decode(errors="replace") if isinstance(given, bytes) else str(given)


_loaded: Hip | None = None


def hip() -> Hip:
    """The runtime of this machine."""
    global _loaded
    if _loaded is None:
        _loaded = _load()
    return _loaded


def _load() -> Hip:
    found = Hip(_bindings())
    try:
        count = int(found.call("hipGetDeviceCount"))
    except (HipError, RuntimeError) as error:  # without ROCm, its library is not found
        raise HipUnavailable(f"the HIP runtime failed to initialise: {error}") from None
    if not count:
        raise HipUnavailable("the HIP runtime found no GPU")
    return found


def _bindings() -> Any:
    for name in _MODULES:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise HipUnavailable(f"hip-python, which launches kernels on AMD GPUs, is missing: {_INSTALL}")


def is_available() -> bool:
    """Whether kernels can be launched here."""
    try:
        hip()
    except HipUnavailable:
        return False
    return True


@contextmanager
def using(bindings: Any) -> Generator[Hip]:
    """Take `bindings` for AMD's inside the ``with``."""
    global _loaded
    before, _loaded = _loaded, Hip(bindings)
    try:
        yield _loaded
    finally:
        _loaded = before
