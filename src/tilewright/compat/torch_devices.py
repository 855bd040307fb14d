"""torch's device ``cuda`` as host memory.

A script that requests a tensor on ``cuda`` gets one on the CPU that remembers the requested device.
What the script can see is as on a GPU: ``.device`` and ``.is_cuda`` report ``cuda``, results of
operations on such tensors are such tensors, and moving a tensor between the two devices makes a
copy, so that writing to one does not change the other.

    x = torch.randn(8)          host memory
    y = x.to("cuda")            other host memory, remembered as cuda
    z = y + 1                   cuda, because y is
    z.cpu()                     a copy, not cuda

torch hands every call to a function mode, which replaces the device before torch sees it. The
memory of a tensor carries the mark, so views and saved tensors share it. Inside `host_memory` the
mode is off and tensors are what they are: that is how kernels get at them. Functions of the script
that torch calls meanwhile run inside the mode again (`torch_callbacks`).
"""

from __future__ import annotations

import importlib
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import numpy as np

from tilewright.compat.notices import print_once
from tilewright.compat.torch_callbacks import Callbacks
from tilewright.runtime.arrays import torch_memory

_MARK = "_tilewright_cuda"

Function = Callable[..., Any]
Handler = Callable[[Function, tuple[Any, ...], dict[str, Any]], Any]

_addressed: dict[int, weakref.ref[Any]] = {}
"""Tensors whose address a script has read, and may have stored where a kernel finds it."""


def host_memory() -> AbstractContextManager[None]:
    """Inside the ``with``, tensors are seen as they are: on the CPU."""
    torch = cast("Any", sys.modules.get("torch"))
    return nullcontext() if torch is None else torch._C.DisableTorchFunction()


def addressed_tensors(arguments: Sequence[Any]) -> list[Any]:
    """Tensors that a kernel may reach by an address it reads from memory, besides `arguments`."""
    if not _addressed:
        return []
    direct = {id(argument) for argument in arguments}
    return [
        tensor
        for reference in list(_addressed.values())
        if (tensor := reference()) is not None and id(tensor) not in direct
    ]


def map_cuda_to_cpu(torch: Any) -> None:
    """Make torch keep everything on the CPU from here on, in this thread."""
    from tilewright.compat.torch_cuda import replace_cuda_functions

    mapping = _Mapping(torch)
    base: Any = torch.overrides.TorchFunctionMode

    class CudaOnCpu(base):
        """Replaces devices in calls before torch sees them."""

        def __torch_function__(
            self,
            func: Function,
            types: object,
            args: tuple[Any, ...] = (),
            kwargs: Mapping[str, Any] | None = None,
        ) -> Any:
            return mapping.call(func, args, dict(kwargs or {}))

    cast("Any", CudaOnCpu()).__enter__()
    callbacks = Callbacks(torch, CudaOnCpu, mapping)
    mapping.hook = callbacks.hook
    callbacks.replace()
    _replace_default_device(mapping)
    replace_cuda_functions(torch)
    _replace_generator(torch)
    _replace_autocast(torch)
    torch_memory.device = "cuda"
    torch_memory.as_it_is = host_memory


class _Mapping:
    """What becomes of a call of a torch function."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._tensor: Any = torch.Tensor
        self._cuda = torch.device("cuda", 0)
        self._used = False
        self._reciprocals = (torch.float32, torch.float16, torch.bfloat16)
        """Types whose quotients by a number are made in float32."""
        self.hook: Callable[[Any, Function], Function] = lambda tensor, hook: hook
        """What becomes of a hook on a tensor."""
        tensor = torch.Tensor
        self._handlers: dict[Function, Handler] = {
            tensor.to: self._to,
            tensor.cuda: self._to_cuda,
            tensor.cpu: self._to_cpu,
            tensor.pin_memory: lambda func, args, kwargs: args[0],
            tensor.record_stream: lambda func, args, kwargs: None,
            tensor.get_device: self._index,
            tensor.data_ptr: self._address,
            tensor.device.__get__: self._device,
            tensor.is_cuda.__get__: self._is_cuda,
            tensor.grad.__get__: self._gradient,
            tensor.register_hook: self._hook,
            tensor.register_post_accumulate_grad_hook: self._hook,
            **dict.fromkeys(_accumulating(torch), self._in_float32),
            **dict.fromkeys(_divisions(torch), self._divided),
        }

    def call(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        handler = self._handlers.get(func)
        if handler is not None:
            return handler(func, args, kwargs)
        kwargs.pop("pin_memory", None)
        device = kwargs.get("device")
        if self._names_cuda(device):
            return self.make(func, args, kwargs)
        return self._same(func, args, kwargs)

    def _same(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What `func` computes, on the device of its tensors."""
        device = kwargs.get("device")
        result = func(*args, **kwargs)
        given = (*args, *kwargs.values())
        if device is None and self._used and any(map(self.is_marked, self.tensors(given))):
            self._mark_new(result, given)
        return result

    def _in_float32(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Sums of half floats as a GPU makes them: rounded once, at the end.

        torch's normalisation on the CPU sums gradients in halves, and GEMMs of float16 take
        fifty times as long as those of float32 where the CPU has no instructions for them.
        """
        tensors = list(self.tensors((*args, *kwargs.values())))
        types = {tensor.dtype for tensor in tensors}
        is_half = types in ({self._torch.float16}, {self._torch.bfloat16})
        is_typed = "out" in kwargs or "dtype" in kwargs
        if not is_half or is_typed or not any(map(self.is_marked, tensors)):
            return self._same(func, args, kwargs)

        wide = {name: self._widened(value) for name, value in kwargs.items()}
        result = func(*map(self._widened, args), **wide).to(types.pop())
        self._mark_new(result, (*args, *kwargs.values()))
        return result

    def _divided(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A tensor divided by a number as torch does it on a GPU: multiplied by the reciprocal, so
        that the last bit may differ.
        """
        if kwargs or len(args) != 2 or type(args[1]) not in (int, float):
            return self._same(func, args, kwargs)
        tensor, divisor = args
        if tensor.dtype not in self._reciprocals or not self.is_marked(tensor):
            return self._same(func, args, kwargs)
        with np.errstate(all="ignore"):
            factor = float(np.float32(1) / np.float32(divisor))
        is_in_place = func.__name__ in ("__itruediv__", "__idiv__", "div_", "true_divide_")
        multiply = self._tensor.mul_ if is_in_place else self._torch.mul
        return self._same(multiply, (tensor, factor), kwargs)

    def _widened(self, value: Any) -> Any:
        """Tensors, also those in a list, as float32."""
        if isinstance(value, self._tensor):
            return value.float()
        if not isinstance(value, (list, tuple)):
            return value
        items = cast("Sequence[Any]", value)
        has_tensors = any(isinstance(item, self._tensor) for item in items)
        return [self._widened(item) for item in items] if has_tensors else items

    def make(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What `func` makes on ``cuda``."""
        self._notice()
        kwargs["device"] = "cpu"
        result = func(*args, **kwargs)
        self._mark_new(result, (*args, *kwargs.values()))
        return result

    # -- marks ----------------------------------------------------------------------------------

    def _names_cuda(self, device: object) -> bool:
        """Whether `device` is an NVIDIA GPU, by name, object or number."""
        if isinstance(device, str):
            found = device.partition(":")[0] == "cuda"
        elif isinstance(device, int) and not isinstance(device, bool):
            found = True
        else:
            found = getattr(device, "type", None) == "cuda"
        if found:
            self._notice()
        return found

    def _notice(self) -> None:
        if not self._used:
            self._used = True
            print_once('the device "cuda" is the CPU here: tensors stay in host memory')

    def tensors(self, values: Sequence[Any]) -> Iterator[Any]:
        """The tensors among `values`, and in lists and tuples among them."""
        for value in values:
            if isinstance(value, self._tensor):
                yield value
            elif isinstance(value, (list, tuple)):
                items = cast("Sequence[Any]", value)
                yield from (item for item in items if isinstance(item, self._tensor))

    def is_marked(self, tensor: Any) -> bool:
        storage = self._storage(tensor)
        return storage is not None and hasattr(storage, _MARK)

    def _storage(self, tensor: Any) -> Any:
        try:
            return tensor.untyped_storage()
        except (NotImplementedError, RuntimeError):  # sparse tensors and the like have none
            return None

    def mark(self, tensor: Any) -> None:
        storage = self._storage(tensor)
        if storage is not None:
            setattr(storage, _MARK, True)

    def _mark_new(self, result: Any, given: Sequence[Any]) -> None:
        """Mark the tensors of `result`, except those in memory that was `given`."""
        known = [self._storage(tensor) for tensor in self.tensors(given)]
        for tensor in self.tensors((result,)):
            storage = self._storage(tensor)
            if not any(storage is each for each in known):
                self.mark(tensor)

    # -- functions that are about devices ---------------------------------------------------------

    def _to(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``to(device, dtype, ...)``, ``to(dtype, ...)`` or ``to(other, ...)``."""
        tensor, *rest = args
        names = ("dtype", "non_blocking", "copy")
        if rest and isinstance(rest[0], self._tensor):
            kwargs["other"] = rest.pop(0)
            names = names[1:]
        elif rest and (rest[0] is None or isinstance(rest[0], (str, int, self._torch.device))):
            kwargs["device"] = rest.pop(0)
        kwargs.update(zip(names, rest, strict=False))
        other = kwargs.pop("other", None)
        if other is not None:
            kwargs["dtype"] = other.dtype
            kwargs["device"] = self._cuda if self.is_marked(other) else "cpu"
        device = kwargs.pop("device", None)
        on_cuda = self.is_marked(tensor) if device is None else self._names_cuda(device)
        if device is not None:
            kwargs["device"] = "cpu" if on_cuda else device
        return self._moved(tensor, func(tensor, **kwargs), on_cuda=on_cuda)

    def _to_cuda(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._notice()
        return self._moved(args[0], args[0], on_cuda=True)

    def _to_cpu(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._moved(args[0], args[0], on_cuda=False)

    def _moved(self, tensor: Any, result: Any, *, on_cuda: bool) -> Any:
        """`result`, a conversion of `tensor`, as memory of its own if the device changes."""
        if self.is_marked(tensor) != on_cuda and self._share_memory(tensor, result):
            result = result.clone()
        if on_cuda:
            self.mark(result)
        return result

    def _share_memory(self, tensor: Any, other: Any) -> bool:
        first, second = self._storage(tensor), self._storage(other)
        return first is not None and second is not None and first.data_ptr() == second.data_ptr()

    def _device(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._cuda if self.is_marked(args[0]) else func(*args, **kwargs)

    def _is_cuda(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        return self.is_marked(args[0])

    def _gradient(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A gradient is where its tensor is; torch made it without the mode."""
        gradient = func(*args, **kwargs)
        if gradient is not None and self.is_marked(args[0]):
            self.mark(gradient)
        return gradient

    def _hook(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensor, *rest = args
        hook = rest[0] if rest else kwargs.pop("hook")
        return func(tensor, self.hook(tensor, hook), **kwargs)

    def _index(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        return 0 if self.is_marked(args[0]) else func(*args, **kwargs)

    def _address(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        tensor = args[0]
        key = id(tensor)
        if key not in _addressed:
            _addressed[key] = weakref.ref(tensor, lambda _: _addressed.pop(key, None))
        return func(*args, **kwargs)


def _divisions(torch: Any) -> Iterator[Function]:
    """Divisions by the second argument."""
    yield from (torch.div, torch.true_divide, torch.divide)
    names = ("div", "true_divide", "divide", "div_", "true_divide_", "__truediv__", "__itruediv__")
    yield from (getattr(torch.Tensor, name) for name in names)


def _accumulating(torch: Any) -> tuple[Function, ...]:
    """Functions that sum or multiply up, and whose results have the type of their tensors."""
    tensor = torch.Tensor
    names = ("matmul", "mm", "bmm", "addmm", "baddbmm", "mv", "dot", "prod")
    return (
        torch.nn.functional.layer_norm,
        torch.nn.functional.linear,
        torch.einsum,
        tensor.__matmul__,
        tensor.__rmatmul__,
        *(getattr(torch, name) for name in names),
        *(getattr(tensor, name) for name in names),
    )


def _replace_default_device(mapping: _Mapping) -> None:
    """``torch.set_default_device("cuda")``: a mode of torch's own, which works below ours."""
    devices = importlib.import_module("torch.utils._device")
    makers: Callable[[], set[Function]] = devices._device_constructors
    original = devices.DeviceContext.__torch_function__

    def __torch_function__(
        self: Any,
        func: Function,
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = dict(kwargs or {})
        if self.device.type == "cuda" and func in makers() and given.get("device") is None:
            return mapping.make(func, args, given)
        return original(self, func, types, args, given)

    devices.DeviceContext.__torch_function__ = __torch_function__


class _Replacing(type):
    """A class whose call makes an object of another class; ``isinstance`` accepts that one."""

    original: Any

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.original)


def _replace_generator(torch: Any) -> None:
    original = torch.Generator

    class Generator(metaclass=_Replacing):
        """A source of random numbers, on the CPU."""

        def __new__(cls, device: object = None) -> Any:
            return original()

    Generator.original = original
    torch.Generator = Generator


def _replace_autocast(torch: Any) -> None:
    """Lower precision for ``cuda`` means the CPU's, with the type that a GPU would take."""
    autocast = torch.amp.autocast_mode.autocast
    initialise = autocast.__init__

    def __init__(
        self: Any,
        device_type: str,
        dtype: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if device_type == "cuda":
            device_type, dtype = "cpu", dtype or torch.float16
        initialise(self, device_type, dtype, *args, **kwargs)

    autocast.__init__ = __init__
