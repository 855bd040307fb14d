"""The short way from `kernel[grid](...)` to the driver, for kernels that run on a GPU.

A launch of a kernel that has run before needs three things: which specialisation its arguments need
for, the raw value of each, and the grid. One function, generated for the kernel after its first run
on a GPU, does all three in a straight line; for ``def copy(src, n, BLOCK: tl.constexpr)`` called
with a tensor and an integer it is

    def launch(tw_grid, src, n, BLOCK, stream=None, **tw_options):
        tw_device = tw_current_device()
        if type(src) is tw_type0:                       # what it was the first time
            if src.get_device() != tw_device:
                return None
            tw_value0 = src.data_ptr()
            tw_key0 = (src.dtype,) if tw_value0 & 15 else src.dtype
        else:
            tw_value0, tw_key0 = tw_other(0, src, tw_device)
        ...
        tw_entry = tw_entries.get((tw_device, tw_key0, tw_key1, BLOCK, type(BLOCK)))

and then the check that nothing the code was compiled for has changed, and the launch.

Its keys are others than those of `specialise`, cheaper ones, but equal keys here are equal keys
there. Whatever is out of the ordinary is not handled: the function returns None or raises, nothing
has been launched, and the ordinary way is taken, with its checks and messages. A key without entry
is returned; the ordinary way adds the entry when it has launched the kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tilewright.frontend.captures import Capture
from tilewright.frontend.reads import Reads
from tilewright.runtime.arrays import HostArray
from tilewright.runtime.cuda import errors
from tilewright.runtime.cuda.arrays import DeviceArray, device_array, is_torch
from tilewright.runtime.cuda.context import current_device
from tilewright.runtime.cuda.launcher import Launcher
from tilewright.runtime.cuda.streams import current_stream, quick_torch_stream, stream_handle
from tilewright.runtime.descriptors import TensorDescriptor
from tilewright.runtime.grid import MAX_GRID
from tilewright.runtime.launch_errors import GridArguments
from tilewright.runtime.options import debug_in_force, spec_in_force
from tilewright.runtime.parameters import Parameter
from tilewright.runtime.pointer.bound import bound_launch
from tilewright.runtime.pointer.raised_calls import NotOrdinary, RaisedCalls, raised_calls
from tilewright.runtime.specialise import integer_type, key_of, kind_of

if TYPE_CHECKING:
    from tilewright.runtime.pointer.compiled import CompiledKernel
    from tilewright.runtime.pointer.jit import JITFunction

_PREFIX = "tw_"
_STREAM = "stream"
_PLAIN = frozenset({int, bool, str, type(None)})
"""Types whose values are distinguished by equality."""

Key = tuple[object, ...]
Entry = tuple[Callable[..., object], "CompiledKernel", object, bool, Callable[[], bool], bool]
"""The launch, what is launched, the target and the debugging it is for, whether it is current, and
whether it takes arguments as the user passed them."""


class FastPath:
    """The generated function of one kernel, and what it has to know."""

    def __init__(self, kernel: JITFunction, values: Sequence[object]) -> None:
        """`values` are the arguments of a launch, as the user passed them."""
        self.entries: dict[Key, Entry] = {}
        self._parameters = kernel.parameters
        self.source, scope = _generated(kernel, values)
        scope |= {"tw_entries": self.entries, "tw_other": self._other}
        exec(compile(self.source, f"<fast path of {kernel.name}>", "exec"), scope)
        self.launch: Callable[..., Any] = scope["launch"]
        """Returns the compiled kernel it launched, the key of one it does not know, or None."""

    def remember(self, key: Key, compiled: CompiledKernel, launcher: Launcher) -> None:
        """From now on, launches with this `key` are of `compiled`."""
        launch = bound_launch(launcher, compiled.keys)
        if launch is not None:
            self._enter(key, launch, compiled, is_raised=False)

    def remember_raised(
        self,
        key: Key,
        compiled: CompiledKernel,
        grid: tuple[int, int, int],
        values: tuple[Any, ...],
    ) -> None:
        """From now on, launches with this `key` are of `compiled` raised to tiles; this one was."""
        entry = self.entries.get(key)
        calls = entry[0] if entry is not None and entry[1] is compiled else None
        if calls is None:
            calls = raised_calls(compiled.raised, compiled.keys, values)
        if isinstance(calls, RaisedCalls):
            calls.learn(grid, values)
            self._enter(key, calls, compiled, is_raised=True)

    def _enter(
        self, key: Key, launch: Callable[..., object], compiled: CompiledKernel, *, is_raised: bool
    ) -> None:
        current = current_check(compiled.captured, compiled.reads)
        spec, debug = spec_in_force(), debug_in_force()
        self.entries[key] = (launch, compiled, spec, debug, current, is_raised)

    def _other(self, index: int, value: Any, device: int) -> tuple[Any, object]:
        """Raw value and key of an argument that is not what it was the first time."""
        key, raw = key_of(value, self._parameters[index])
        if isinstance(raw, TensorDescriptor):
            return (_address(device_array(raw.base), device), raw), key
        if isinstance(raw, (np.ndarray, HostArray, tuple)):
            raise NotOrdinary
        return _address(raw, device) if isinstance(raw, DeviceArray) else raw, key


def fast_path(kernel: JITFunction, values: Sequence[object]) -> FastPath | None:
    """The short way for launches like the one with `values`; None where there is none."""
    takes_more = any(parameter.is_variadic for parameter in kernel.parameters)
    if takes_more or any(name.startswith(_PREFIX) for name in kernel.arg_names):
        return None
    return FastPath(kernel, values)


def _address(array: DeviceArray | None, device: int) -> int:
    if array is None or array.device != device:
        raise NotOrdinary
    return array.address


def current_check(captured: Sequence[Capture], reads: Reads | None = None) -> Callable[[], bool]:
    """A function that reports whether all that was `captured`, and read, still stands for the same.

    Most of it are names of modules: one look each. It may return False where `Capture.is_current`
    returns True; the ordinary path checks again.
    """
    scope: dict[str, Any] = {}
    terms: list[str] = []
    for index, capture in enumerate(captured):
        if capture.module is None:
            scope[f"is_current{index}"] = capture.is_current
            terms.append(f"is_current{index}()")
        else:
            scope[f"look{index}"] = capture.module.get
            scope[f"value{index}"] = capture.value
            terms.append(f"look{index}({capture.name!r}) is value{index}")
    if reads is not None:
        scope["are_reads_current"] = reads.is_current
        terms.append("are_reads_current()")
    exec(f"def check():\n    return {' and '.join(terms) or 'True'}", scope)
    return scope["check"]


# -- the source ---------------------------------------------------------------------------------


def _generated(kernel: JITFunction, values: Sequence[object]) -> tuple[str, dict[str, Any]]:
    scope: dict[str, Any] = {
        "tw_spec_in_force": spec_in_force,
        "tw_debug_in_force": debug_in_force,
        "tw_arguments": GridArguments,
        "tw_handle": stream_handle,
        "tw_wide": _wide,
        "tw_recent": errors.recent.append,
        "tw_sys": sys,
        "tw_descriptor": TensorDescriptor,
        "tw_missing": object(),
        "tw_plain": _PLAIN,
        "tw_kind": kind_of,
        **_device_functions(values),
    }
    lines: list[str] = []
    keys = ["tw_device"]
    for index, (parameter, value) in enumerate(zip(kernel.parameters, values, strict=True)):
        if parameter.is_constexpr:
            kind = f"type({parameter.name})"
            kind = f"{kind} if {kind} in tw_plain else tw_kind({parameter.name})"
            keys += [parameter.name, kind]
            continue
        lines += _argument(index, parameter, value, scope)
        keys.append(f"tw_key{index}")
    given = [
        parameter.name if parameter.is_constexpr else f"tw_value{index}"
        for index, parameter in enumerate(kernel.parameters)
    ]
    written = "".join(f"{name}, " for name in kernel.arg_names)
    by_name = ", ".join(f"{name!r}: {name}" for name in kernel.arg_names)
    body = [
        "tw_device = tw_current_device()",
        *lines,
        f"tw_key = ({', '.join(keys)},)",
        "if tw_options:",
        "    tw_key += tuple(tw_options.items())",
        "tw_entry = tw_entries.get(tw_key)",
        "if tw_entry is None:",
        "    return tw_key",
        "tw_run, tw_compiled, tw_spec, tw_debug, tw_is_current, tw_is_raised = tw_entry",
        "if tw_spec is not tw_spec_in_force() or tw_debug is not tw_debug_in_force():",
        "    return tw_key",
        "if not tw_is_current():",
        "    return tw_key",
        "if type(tw_grid) is not tuple:",
        "    if callable(tw_grid):",
        f"        tw_grid = tw_grid(tw_arguments({{{by_name}}}))",
        "    if type(tw_grid) is not tuple:",
        "        return None",
        "tw_axes = len(tw_grid)",
        "if tw_axes == 1:",
        "    tw_x, = tw_grid",
        "    tw_y = tw_z = 1",
        "elif tw_axes == 2:",
        "    tw_x, tw_y = tw_grid",
        "    tw_z = 1",
        "else:",
        "    tw_x, tw_y, tw_z = tw_grid",
        f"if tw_x > {MAX_GRID[0]} or tw_y > {MAX_GRID[1]} or tw_z > {MAX_GRID[2]}:",
        "    return None",
        *_stream_lines(kernel),
        "tw_frame = tw_sys._getframe(2)",
        f"tw_recent(({kernel.name!r}, tw_frame.f_code, tw_frame.f_lasti))",
        "if tw_is_raised:",
        f"    if not tw_run(tw_stream, tw_x, tw_y, tw_z, ({written})):",
        "        return tw_key",
        "else:",
        f"    tw_run({', '.join(('tw_stream', 'tw_x', 'tw_y', 'tw_z', *given))})",
        "return tw_compiled",
    ]
    return "\n".join([_header(kernel, scope), *(f"    {line}" for line in body)]), scope


def _header(kernel: JITFunction, scope: dict[str, Any]) -> str:
    """The signature: as Python binds arguments, with what the launch takes besides."""
    named: list[str] = []
    has_default = False
    for index, parameter in enumerate(kernel.parameters):
        if parameter.has_default:
            scope[f"tw_default{index}"] = parameter.default
            named.append(f"{parameter.name}=tw_default{index}")
            has_default = True
        else:
            # After a default only keyword-only parameters have none; Python wants one here.
            named.append(parameter.name + ("=tw_missing" if has_default else ""))
    stream = [] if _STREAM in kernel.arg_names else [f"{_STREAM}=None"]
    return f"def launch({', '.join(['tw_grid', *named, *stream, '**tw_options'])}):"


def _stream_lines(kernel: JITFunction) -> list[str]:
    if _STREAM in kernel.arg_names:
        return ["tw_stream = tw_current_stream(tw_device)"]
    return [
        "tw_stream = tw_current_stream(tw_device) if stream is None else tw_handle(stream)",
    ]


def _device_functions(values: Sequence[object]) -> dict[str, Any]:
    """How to get the current device and stream: torch's own functions for its own tensors."""
    if any(is_torch(getattr(value, "base", value)) for value in values):
        torch = cast("Any", sys.modules["torch"])
        device = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)
        return {"tw_current_device": device, "tw_current_stream": quick_torch_stream(torch)}
    return {"tw_current_device": current_device, "tw_current_stream": current_stream}


def _argument(index: int, parameter: Parameter, value: object, scope: dict[str, Any]) -> list[str]:
    """Statements that make raw value and key of one argument, quickest for things like `value`."""
    name, otherwise = parameter.name, f"tw_other({index}, {parameter.name}, tw_device)"
    quick: list[str] | None = None
    condition = f"type({name}) is tw_type{index}"
    if is_torch(value):
        quick = _tensor(index, name, aligned=parameter.align)
    elif isinstance(value, TensorDescriptor) and is_torch(value.base):
        condition += f" and type({name}.base) is tw_base{index}"
        scope[f"tw_base{index}"] = type(value.base)
        quick = _descriptor(index, name)
    elif type(value) is int:
        quick = [f"tw_key{index} = {_integer(name, parameter)}", f"tw_value{index} = {name}"]
    elif type(value) in (float, bool):
        quick = [f"tw_key{index} = tw_type{index}", f"tw_value{index} = {name}"]
    if quick is None:
        return [f"tw_value{index}, tw_key{index} = {otherwise}"]
    scope[f"tw_type{index}"] = type(value)
    return [
        f"if {condition}:",
        *(f"    {line}" for line in quick),
        "else:",
        f"    tw_value{index}, tw_key{index} = {otherwise}",
    ]


def _tensor(index: int, name: str, *, aligned: bool) -> list[str]:
    key = (
        f"({name}.dtype,) if tw_value{index} & 15 else {name}.dtype" if aligned else f"{name}.dtype"
    )
    return [
        f"if {name}.get_device() != tw_device:",
        "    return None",
        f"tw_value{index} = {name}.data_ptr()",
        f"tw_key{index} = {key}",
    ]


def _descriptor(index: int, name: str) -> list[str]:
    return [
        f"if {name}.base.get_device() != tw_device:",
        "    return None",
        f"tw_value{index} = ({name}.base.data_ptr(), {name})",
        f"tw_key{index} = ({name}.base.dtype, tuple({name}.block_shape), {name}.padding)",
    ]


def _integer(name: str, parameter: Parameter) -> str:
    """The key of an integer, as `specialise` distinguishes them: 1, multiples of 16, the others."""
    declared, wide = bool(parameter.declared_type), f"tw_wide({name})"
    if not parameter.specialise:
        return "0" if declared else f"0 if -0x80000000 <= {name} <= 0x7fffffff else {wide}"
    plain = f"0 if {name} & 15 else 16" if parameter.align else "0"
    if declared:
        return plain
    return f"(1 if {name} == 1 else {plain}) if -0x80000000 <= {name} <= 0x7fffffff else {wide}"


def _wide(value: int) -> object:
    """The key of an integer of more than 32 bits."""
    return integer_type(value), value & 15 == 0
