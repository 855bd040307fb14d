"""What a kernel checks of its arguments before it runs.

Number of arguments, tensor or number, device, rank, dtype, shape, strides, alignment: a message
names the kernel, the argument and what of it is wrong. Sizes that were left open (``T.dynamic``)
are solved here, one unknown at a time, and every later dimension has to agree.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tilewright.frontend.callers import located
from tilewright.language.T.symbols import Size, evaluate, solve, text
from tilewright.runtime.arrays import HostArray, NumpyArray, host_array, is_array, numpy_dtype
from tilewright.runtime.cuda.arrays import DeviceArray, device_array
from tilewright.runtime.tile.packed_tensors import is_of_bytes, likeness, packed
from tilewright.runtime.tile.tensors import device_of
from tilewright.targets.numpy.strided_view import strided_view

if TYPE_CHECKING:
    from tilewright.language.T.dtypes import dtype as Dtype
    from tilewright.language.T.prim_func import Param

BAD_ARGUMENT = "TW6030"
ACCESS_BYTES = 16
"""What one access of a thread of a GPU may move."""
_FP8_FAMILIES = (("float8_e4m3", "float8_e4m3fn", "float8_e4m3fnuz"),
                 ("float8_e5m2", "float8_e5m2fnuz"))  # fmt: skip


@dataclass(frozen=True)
class Checked:
    """Arguments that fit: memory of this machine or of a GPU for tensors, numbers for scalars."""

    values: tuple[HostArray | Any, ...]
    sizes: dict[str, int]
    """The sizes that were left open."""


@dataclass
class _Call:
    """What the arguments so far determine about a call."""

    kernel: str
    untouched: Collection[str]
    on_gpu: bool = False
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    device: tuple[str, str] | None = None
    """Of the first tensor, with its name."""
    open_sizes: list[tuple[str, Size, int]] = field(default_factory=list[tuple[str, Size, int]])
    """Extents that later arguments may explain: what was found, what is declared."""


def check_arguments(
    kernel: str,
    params: Sequence[Param],
    arguments: Sequence[Any],
    expected: Sequence[Param],
    untouched: Collection[str] = (),
    *,
    on_gpu: bool = False,
) -> Checked:
    """`arguments` for `expected`, the parameters that the caller passes, or an error.

    Parameters that are `untouched` by the kernel may be None.
    """
    if len(arguments) != len(expected):
        names = ", ".join(param.name for param in expected)
        outputs = [param.name for param in params if param not in expected]
        made = f" ({', '.join(outputs)} is allocated by the call)" if outputs else ""
        _fail(
            TypeError(
                f"{kernel} takes {len(expected)} arguments ({names}){made}, got {len(arguments)}"
            )
        )
    call = _Call(kernel, untouched, on_gpu)
    values = [
        _value(call, param, argument) for param, argument in zip(expected, arguments, strict=True)
    ]
    _check_open_sizes(call)
    return Checked(tuple(values), call.sizes)


def sizes_of(params: Sequence[Param], arguments: Sequence[Any]) -> dict[str, int]:
    """The sizes that were left open, as far as the shapes of tensors determine them; no memory is
    read."""
    sizes: dict[str, int] = {}
    for _ in params:  # an argument may need what a later one determines
        for param, argument in zip(params, arguments, strict=True):
            if param.kind == "tensor" and argument is not None:
                for size, extent in zip(param.shape, param.dtype.shape_of(argument), strict=True):
                    solve(size, extent, sizes)
    return sizes


def _check_open_sizes(call: _Call) -> None:
    """What one argument alone did not determine (``M * N``) must agree with all of them."""
    is_learning = True
    while is_learning and call.open_sizes:
        left = [each for each in call.open_sizes if not _agrees(*each, call.sizes)]
        is_learning = len(left) < len(call.open_sizes)
        call.open_sizes = left
    for found, size, _ in call.open_sizes:
        _fail(ValueError(f"{found}, which is declared as {text(size)}: more than one size is "
                         "undetermined"))  # fmt: skip


def _fail(error: Exception) -> NoReturn:
    raise located(error, BAD_ARGUMENT) from None


def _value(call: _Call, param: Param, argument: Any) -> Any:
    where = f"{call.kernel}.{param.name}"
    if param.kind == "scalar":
        return _scalar(where, param, argument)
    if param.kind == "pointer":
        if call.on_gpu:
            return argument
        _fail(TypeError(f"{where} is a raw address: target numpy takes tensors only"))
    if argument is None and param.name in call.untouched:
        return None
    check_is_tensor(call.kernel, param, argument)
    _check_device(call, where, argument)
    if call.on_gpu:
        return _on_gpu(call, where, param, argument)
    try:
        host = host_array(argument)
    except (TypeError, ValueError, RuntimeError) as error:
        _fail(TypeError(f"{where}: {error}"))
    if param.dtype.is_packed:
        return _packed(call, where, param, host)
    array = _fitting(call, where, param, host.array)
    _check_alignment(where, array)
    return HostArray(array, host.finish)


def _packed(call: _Call, where: str, param: Param, host: HostArray) -> HostArray:
    """Bytes with two elements each."""
    array = host.array
    if array.dtype == param.dtype.as_numpy() and array.ndim and array.shape[-1] % 2 == 0:
        _fitting(call, where, param, array)
        return packed(host)
    _check_packed(call, where, param, array)
    return HostArray(array.view(np.uint8), host.finish)


def _check_packed(call: _Call, where: str, param: Param, array: NumpyArray) -> None:
    if not is_of_bytes(array):
        _fail(
            TypeError(
                f"{where} has dtype {array.dtype}, but it is declared with dtype {param.dtype}: "
                "pass bytes (int8, uint8) with two elements each, the first in the lower half"
            )
        )
    elements = likeness(array)
    _check_rank(where, param, elements)
    _check_shape(where, param, elements, call)
    _check_strides(where, param, elements, call)


def _fitting(call: _Call, where: str, param: Param, array: NumpyArray) -> NumpyArray:
    _check_rank(where, param, array)
    array = _with_dtype(where, param, array)
    _check_shape(where, param, array, call)
    _check_strides(where, param, array, call)
    return array


def _on_gpu(call: _Call, where: str, param: Param, argument: Any) -> DeviceArray:
    """The same questions to an array in the memory of a GPU, none of which reads it."""
    try:
        found = device_array(argument)
    except (TypeError, ValueError, RuntimeError) as error:
        _fail(TypeError(f"{where}: {error}"))
    if found is None:
        _fail(
            ValueError(
                f"{where} is in host memory, but the kernel runs on a GPU: move it to the GPU"
            )
        )
    dtype = numpy_dtype(found.element)
    steps = [step * dtype.itemsize for step in found.strides]
    like = strided_view(np.empty(1, dtype), found.shape, steps)
    check = _check_packed if param.dtype.is_packed else _fitting
    check(call, where, param, like)
    offset = found.address % ACCESS_BYTES
    if offset and like.size:
        _fail(
            ValueError(
                f"{where} is misaligned: its address is {offset} bytes past a multiple of "
                f"{ACCESS_BYTES}; pass a copy (tensor.clone())"
            )
        )
    return found


def check_is_tensor(kernel: str, param: Param, argument: Any) -> None:
    """An argument for a tensor must be one, whatever its sizes are."""
    where = f"{kernel}.{param.name}"
    if argument is None:
        _fail(ValueError(f"{where} is expected to have non-NULL pointer"))
    if not is_array(argument):
        shown = repr(argument)
        given = shown if len(shown) <= 40 else f"a {type(argument).__name__}"
        _fail(
            TypeError(
                f"{where}: expected a tensor of {param.dtype}, got {given}: pass a NumPy array, "
                "a torch tensor or an object that supports DLPack"
            )
        )


def _scalar(where: str, param: Param, argument: Any) -> Any:
    if is_array(argument) and getattr(argument, "shape", None) != ():
        _fail(TypeError(f"{where}: expected a scalar of type {param.dtype}, got a tensor"))
    expected = param.dtype.as_numpy()
    try:
        if isinstance(argument, (str, bytes, complex, np.complexfloating, type(None))):
            raise TypeError  # NumPy reads text, and takes None for nan
        with np.errstate(all="ignore"):
            scalar = expected.type(argument)
    except (TypeError, ValueError):
        _fail(TypeError(f"{where}: expected a scalar of type {param.dtype}, got {argument!r}"))
    except OverflowError:
        scalar = None
    if scalar is None or _is_changed(param.dtype, scalar, argument):
        _fail(ValueError(f"{where}: {argument!r} does not fit {param.dtype}"))
    return scalar


def _is_changed(expected: Dtype, scalar: Any, argument: Any) -> bool:
    """Whether a number has become another one; those of floats may be rounded, not infinite."""
    if expected.is_float:
        return not isfinite(float(scalar)) and isfinite(float(argument))
    return expected != "bool" and bool(argument != int(scalar))


def _check_device(call: _Call, where: str, argument: Any) -> None:
    device = device_of(argument)
    if call.device is None:
        call.device = (device, where)
        return
    first, owner = call.device
    if device != first:
        _fail(
            ValueError(
                f"{where} is on device {device}, but {owner} is on device {first}: move all "
                "tensors of a call to one device"
            )
        )


def _check_rank(where: str, param: Param, array: NumpyArray) -> None:
    if array.ndim != len(param.shape):
        declared = ", ".join(text(size) for size in param.shape)
        _fail(
            ValueError(
                f"{where} has rank {array.ndim}, shape {array.shape}, but it is declared with rank "
                f"{len(param.shape)}, shape ({declared})"
            )
        )


def _with_dtype(where: str, param: Param, array: NumpyArray) -> NumpyArray:
    """The array with the elements that the kernel declares, where the bits agree."""
    expected = param.dtype.as_numpy()
    if array.dtype == expected:
        return array
    if array.dtype.itemsize == expected.itemsize and _is_interchangeable(array.dtype, expected):
        return array.view(expected)
    _fail(
        TypeError(
            f"{where} has dtype {array.dtype}, but it is declared with dtype {param.dtype}: "
            f"convert the argument, or declare it as T.Tensor(..., '{array.dtype}')"
        )
    )


def _is_interchangeable(found: np.dtype[Any], expected: np.dtype[Any]) -> bool:
    if expected == np.bool_:
        return found.kind in "iu"
    return any(found.name in family and expected.name in family for family in _FP8_FAMILIES)


def _check_shape(where: str, param: Param, array: NumpyArray, call: _Call) -> None:
    for axis, (size, extent) in enumerate(zip(param.shape, array.shape, strict=True)):
        _agree(f"{where} has shape[{axis}] = {extent}", size, extent, call)


def _agree(found: str, size: Size, extent: int, call: _Call) -> None:
    """Check `extent` against `size`, as soon as that is determined."""
    if not _agrees(found, size, extent, call.sizes):
        call.open_sizes.append((found, size, extent))


def _agrees(found: str, size: Size, extent: int, sizes: dict[str, int]) -> bool:
    """Solve `size` for `extent`; False if it is open, an error if what was `found` does not fit."""
    agrees = solve(size, extent, sizes)
    if agrees is not False:
        return agrees is True
    value = evaluate(size, sizes)
    because = "" if isinstance(size, int) else f" = {text(size)}"
    _fail(ValueError(f"{found}, but {'no such size' if value is None else value}{because} is "
                     "expected"))  # fmt: skip


def _check_strides(where: str, param: Param, array: NumpyArray, call: _Call) -> None:
    """Strides that are not declared are those of a contiguous tensor."""
    strides = tuple(step // array.itemsize for step in array.strides)
    if param.strides is not None:
        for axis, (size, stride) in enumerate(zip(param.strides, strides, strict=True)):
            if array.shape[axis] > 1:  # otherwise the stride leads nowhere
                _agree(f"{where} has strides[{axis}] = {stride}", size, stride, call)
        return
    if array.flags.c_contiguous or array.size <= 1:
        return
    _fail(
        ValueError(
            f"{where} has strides {strides}, but it is declared contiguous: pass a contiguous "
            "copy, or declare it as T.StridedTensor(shape, strides, dtype)"
        )
    )


def _check_alignment(where: str, array: NumpyArray) -> None:
    offset = array.__array_interface__["data"][0] % array.itemsize
    if offset and array.size:
        _fail(
            ValueError(
                f"{where} has a byte offset of {offset}: its first element is not aligned to the "
                f"{array.itemsize} bytes of {array.dtype}; pass a copy"
            )
        )
