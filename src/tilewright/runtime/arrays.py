"""What a user passes for a pointer, as memory of this machine.

NumPy arrays are taken as they are. Tensors of torch (on the CPU) and anything that speaks DLPack
share their memory with a NumPy view. Arrays that live on a device are copied here before the run
and back after it: slower, but the same results, and reported once.

The view keeps shape and strides. A pointer is the address of its first element; what is between
the elements of a strided view does not belong to it, and the checks of a run know that.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias, cast

import ml_dtypes
import numpy as np

NumpyArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_DTYPE_NAMES: dict[np.dtype[Any], str] = {
    np.dtype(numpy_type): name
    for numpy_type, name in (
        (np.bool_, "i1"),
        (np.int8, "i8"),
        (np.int16, "i16"),
        (np.int32, "i32"),
        (np.int64, "i64"),
        (np.uint8, "u8"),
        (np.uint16, "u16"),
        (np.uint32, "u32"),
        (np.uint64, "u64"),
        (np.float16, "fp16"),
        (np.float32, "fp32"),
        (np.float64, "fp64"),
        (ml_dtypes.bfloat16, "bf16"),
        (ml_dtypes.float8_e4m3fn, "fp8e4nv"),
        (ml_dtypes.float8_e5m2, "fp8e5"),
        (ml_dtypes.float8_e4m3fnuz, "fp8e4b8"),
        (ml_dtypes.float8_e5m2fnuz, "fp8e5b16"),
    )
}

# torch hands these to NumPy only as integers of the same width.
_TORCH_SMALL_FLOATS: dict[str, tuple[str, Any]] = {
    "torch.bfloat16": ("int16", ml_dtypes.bfloat16),
    "torch.float8_e4m3fn": ("uint8", ml_dtypes.float8_e4m3fn),
    "torch.float8_e5m2": ("uint8", ml_dtypes.float8_e5m2),
    "torch.float8_e4m3fnuz": ("uint8", ml_dtypes.float8_e4m3fnuz),
    "torch.float8_e5m2fnuz": ("uint8", ml_dtypes.float8_e5m2fnuz),
    "torch.float8_e8m0fnu": ("uint8", np.uint8),  # exponents: kernels take them as bytes
    "torch.float4_e2m1fn_x2": ("uint8", np.uint8),  # two elements in each
}


@dataclass(frozen=True)
class HostArray:
    """Memory a kernel can work on; `finish` copies the results back if they live elsewhere."""

    array: NumpyArray
    finish: Callable[[], None] | None = None


@dataclass
class TorchMemory:
    """Where tensors of torch are, and how to see their memory.

    A script that was written for a GPU may have its ``cuda`` tensors in host memory
    (`compat.torch_devices`): then they report ``cuda``, and only inside `as_it_is` they report
    ``cpu``.
    """

    device: str = "cpu"
    """For tensors that are allocated for a user."""
    as_it_is: Callable[[], AbstractContextManager[None]] = nullcontext


torch_memory = TorchMemory()


def element_name(dtype: np.dtype[Any]) -> str:
    """How kernels call the element type: ``fp32``, ``bf16``, ``i32``."""
    name = _DTYPE_NAMES.get(dtype)
    if name is None:
        known = ", ".join(sorted({str(known) for known in _DTYPE_NAMES}))
        if dtype.kind == "c":
            instead = f"pass real and imaginary parts, array.view(np.float{dtype.itemsize * 4}), or"
        else:
            instead = "convert the array with astype, or"
        raise TypeError(f"unsupported array element type {dtype}: {instead} use one of {known}")
    return name


def numpy_dtype(element: str) -> np.dtype[Any]:
    """The dtype of elements that kernels call so."""
    return next(dtype for dtype, name in _DTYPE_NAMES.items() if name == element)


def is_array(value: object) -> bool:
    """Whether `value` is passed to a kernel as a pointer."""
    return (
        isinstance(value, np.ndarray)
        or hasattr(value, "__dlpack__")
        or hasattr(value, "__cuda_array_interface__")
        or hasattr(value, "__array_interface__")
    )


def is_jax(value: object) -> bool:
    """Whether `value` is an array of JAX."""
    return type(value).__module__.partition(".")[0] in ("jax", "jaxlib")


def host_array(value: Any) -> HostArray:
    """`value` as NumPy memory, shared where that is possible."""
    if isinstance(value, np.ndarray):
        return HostArray(cast("NumpyArray", value))
    if type(value).__module__.partition(".")[0] == "torch":
        return _from_torch(value)
    if is_jax(value):
        return _from_jax(value)
    if hasattr(value, "__cuda_array_interface__"):
        return _from_device(value)
    if hasattr(value, "__array_interface__"):
        return HostArray(np.asarray(value))
    return _from_dlpack(value)


def _torch_view(tensor: Any) -> NumpyArray:
    tensor = tensor.detach()
    small = _TORCH_SMALL_FLOATS.get(str(tensor.dtype))
    if small is None:
        return tensor.numpy()
    integer, dtype = small
    return tensor.view(getattr(import_module("torch"), integer)).numpy().view(dtype)


def _from_torch(tensor: Any) -> HostArray:
    with torch_memory.as_it_is():
        if tensor.device.type == "cpu":
            return HostArray(_torch_view(tensor))
    _notice_copies(f"torch tensors on {tensor.device}")
    host = tensor.detach().cpu()
    return HostArray(_torch_view(host), lambda: tensor.copy_(host))


def _from_device(array: Any) -> HostArray:
    if not (hasattr(array, "get") and hasattr(array, "set")):
        raise TypeError(
            f"cannot copy {type(array).__module__}.{type(array).__name__} from the device to "
            "the host: pass a NumPy array, a CuPy array or a torch tensor"
        )
    _notice_copies("CuPy arrays")
    host = np.array(array.get())
    return HostArray(host, lambda: array.set(host))


def _from_jax(value: Any) -> HostArray:
    """The memory of an array of JAX, which nothing may change."""
    if any(device.platform != "cpu" for device in value.devices()):
        _notice_copies("arrays of JAX on a device")
    return HostArray(np.asarray(value))


def _from_dlpack(value: Any) -> HostArray:
    view = np.from_dlpack(value)
    if view.flags.writeable:
        return HostArray(view)
    # Producers without a read-only flag are taken as writable, as every GPU launch does.
    address = view.__array_interface__["data"][0]
    interface = {**view.__array_interface__, "data": (address, False)}
    return HostArray(np.asarray(_Shared(interface, value)))


class _Shared:
    """Memory described by the array interface, whose owner is referenced."""

    def __init__(self, interface: dict[str, Any], owner: object) -> None:
        self.__array_interface__ = interface
        self.owner = owner


_noticed: set[str] = set()


def _notice_copies(what: str) -> None:
    if what in _noticed:
        return
    _noticed.add(what)
    warnings.warn(
        f"target numpy runs on the host: {what} are copied to the host before each run and "
        "back afterwards",
        stacklevel=6,
    )
