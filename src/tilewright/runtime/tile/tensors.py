"""Tensors that users pass and get: NumPy arrays, torch tensors, whatever speaks DLPack.

Results are made in the likeness of the arguments: a call with torch tensors gives torch tensors.
Where there are no arguments to look at, torch is taken if the user's program has loaded it; on a
GPU without torch, arrays are `DeviceMemory`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from tilewright.runtime.arrays import NumpyArray, host_array, is_array, is_jax, torch_memory
from tilewright.runtime.cuda.arrays import device_array
from tilewright.runtime.cuda.memory import DeviceMemory
from tilewright.runtime.dlpack import HostExport
from tilewright.runtime.tile.packed_tensors import packed_shape

if TYPE_CHECKING:
    from tilewright.language.T.dtypes import dtype as Dtype

_UNWRITTEN = 0xFF
"""Fills results before a run: NaN, or -1, where a kernel leaves something out."""


def is_torch(value: object) -> bool:
    return type(value).__module__.partition(".")[0] == "torch"


def example_of(values: Sequence[object]) -> object | None:
    """The first tensor among arguments, in whose likeness results are made."""
    return next((value for value in values if is_array(value)), None)


def device_of(tensor: object) -> str:
    """The device of a tensor; ``cuda:0`` and ``cuda`` are the same."""
    return str(getattr(tensor, "device", "cpu")).removesuffix(":0")


def new_tensor(shape: Sequence[int], dtype: Dtype, like: Any) -> Any:
    """A tensor for a kernel to fill."""
    shape = packed_shape(shape, dtype)
    if is_torch(like):
        return _torch().empty(tuple(shape), dtype=dtype.as_torch(), device=like.device)
    if type(like).__module__.partition(".")[0] == "cupy":
        return import_module("cupy").empty(tuple(shape), dtype.as_numpy())
    if isinstance(like, DeviceMemory) or (is_jax(like) and device_array(like) is not None):
        return DeviceMemory(tuple(shape), dtype.as_numpy())
    if like is None and torch_if_loaded() is not None:
        # Without tensors among the arguments, the program's own framework decides.
        return _torch().empty(tuple(shape), dtype=dtype.as_torch(), device=torch_memory.device)
    array = np.empty(tuple(shape), np.uint8 if dtype.is_packed else dtype.as_numpy())
    array.reshape(-1).view(np.uint8).fill(_UNWRITTEN)
    return array


def delivered(tensor: Any, like: Any) -> Any:
    """A result, as the caller has its tensors: JAX takes memory, and makes none to fill."""
    if not is_jax(like):
        return tensor
    exported = HostExport(tensor) if isinstance(tensor, np.ndarray) else tensor
    return import_module("jax.dlpack").from_dlpack(exported)


def copied(tensor: Any) -> Any:
    """The same values in other memory."""
    if isinstance(tensor, DeviceMemory):
        return tensor.copy()
    return tensor.clone() if is_torch(tensor) else np.array(host_array(tensor).array)


def on_host(tensor: Any) -> Any:
    """The same values in memory of this machine."""
    if isinstance(tensor, DeviceMemory):
        return tensor.get()
    return tensor.cpu() if is_torch(tensor) and torch_memory.device == "cpu" else tensor


def in_framework(array: NumpyArray, dtype: Dtype, device: str | None = None) -> Any:
    """`array` as the user's program has its tensors: of torch if it uses torch.

    `device` is where they are to be; host memory by default.
    """
    if torch_if_loaded() is None:
        return array if device is None else DeviceMemory.of(array)
    # NumPy's own types are torch's; of others, torch takes the bits.
    is_foreign = array.dtype.type.__module__ == ml_dtypes.__name__
    plain = array.view(f"i{array.itemsize}") if is_foreign else array
    bits = _torch().from_numpy(plain).to(device or torch_memory.device)
    return bits.view(dtype.as_torch()) if is_foreign else bits


def torch_if_loaded() -> Any | None:
    """torch, if the user's program uses it."""
    return sys.modules.get("torch")


def _torch() -> Any:
    return import_module("torch")  # optional, loaded where it is used
