"""A `T` kernel on a GPU: compiled on first use, called with arrays in its memory.

The first call for some shapes checks the arguments and works out the launches; calls for the same
shapes go straight to the driver. Compiling needs no GPU.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from typing_extensions import override

from tilewright.runtime.arrays import is_array
from tilewright.runtime.cuda.arrays import DeviceArray, device_array
from tilewright.runtime.cuda.driver import is_available
from tilewright.runtime.tile.device import DevicePlanner, DeviceProgram, Plan
from tilewright.runtime.tile.host_checks import ACCESS_BYTES, check_arguments
from tilewright.runtime.tile.prepared_call import (
    Prepared,
    Repeated,
    pairs_with_a_written_one,
    prepared,
)
from tilewright.runtime.tile.tensors import example_of, new_tensor, torch_if_loaded
from tilewright.targets.cuda.artefact import PROGRAMS, Program
from tilewright.targets.cuda.nvrtc_library import NvrtcMissing
from tilewright.targets.cuda.settings import Settings
from tilewright.targets.errors import HipCompilerMissing
from tilewright.targets.hip.settings import HipSettings
from tilewright.targets.program import CompiledProgram, ProgramCache

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from tilewright.language.T.dtypes import dtype as Dtype
    from tilewright.runtime.tile.kernel import CompiledTileKernel
    from tilewright.targets.cxx.kernel import Lowered

_MAX_CACHED_CALLS = 256
_MAX_PREPARED = 4
"""Kinds of calls that are tried in turn."""
NARROW = (1 << 31) - 1
"""Elements of a tensor that numbers of 32 bits can address."""
_WIDE = 64
_SCALARS = (int, float, np.generic, type(None))


@dataclass(frozen=True)
class _Span:
    """The bytes of an array that a call got."""

    argument_index: int
    """Among the arguments that were passed."""
    position: int
    """Among the parameters."""
    size: int
    is_written: bool


@dataclass(frozen=True)
class _Call:
    """What is known of a call from the shapes of its arguments."""

    outputs: tuple[tuple[int, tuple[int, ...], Dtype], ...]
    """Position, shape and dtype of the tensors that the call makes."""
    plan: Plan
    spans: tuple[_Span, ...] = ()


class GpuArguments(ABC):
    """Which calls are for a GPU."""

    @abstractmethod
    def _is_available(self) -> bool:
        """Whether kernels can be launched here."""

    def given(self, arguments: Sequence[Any]) -> list[Any] | None:
        """The arguments with their arrays as memory of a GPU; None if the call is not for one."""
        found: list[Any] = []
        on_gpu = in_memory = False
        for each in arguments:
            array = None if isinstance(each, _SCALARS) else device_array(each)
            on_gpu = on_gpu or array is not None
            in_memory = in_memory or (array is None and _is_host_array(each))
            found.append(each if array is None else array)
        if on_gpu:
            return found  # an array in host memory among them is refused when it is checked
        is_free = not in_memory and self._is_available() and torch_if_loaded() is not None
        return found if is_free else None


SettingsT = TypeVar("SettingsT", Settings, HipSettings)
ProgramT = TypeVar("ProgramT", bound=CompiledProgram[Any])


class GpuKernel(GpuArguments, Generic[SettingsT, ProgramT]):
    """The GPU's side of a kernel, NVIDIA's or AMD's."""

    programs: ProgramCache[SettingsT, Any, ProgramT]
    """Those on disk."""

    def __init__(
        self,
        kernel: CompiledTileKernel,
        settings: Callable[[], SettingsT],
        aliased: frozenset[int] = frozenset(),
    ) -> None:
        self._kernel = kernel
        self._settings = settings
        self._aliased = aliased
        """The positions of parameters that share bytes."""
        self._calls: dict[Any, _Call] = {}
        self.prepared: tuple[Prepared, ...] = ()
        """Functions for calls that were repeated."""
        self._others: dict[frozenset[int], GpuKernel[SettingsT, ProgramT]] = {}
        """The same kernel for arguments that overlap."""

    @cached_property
    def settings(self) -> SettingsT:
        return self._settings()

    @cached_property
    def program(self) -> ProgramT:
        """Machine code; from the disk cache where it is there."""
        return self.programs.compiled(self.module, self.settings)

    @property
    def source(self) -> str:
        """The text of its kernels; without a compiler, that of the passes alone."""
        try:
            return self.program.source
        except (NvrtcMissing, HipCompilerMissing):
            return "\n".join(self._lowered().texts)

    # -- what differs between GPUs -----------------------------------------------------------

    @abstractmethod
    def _device(self) -> DevicePlanner: ...

    @abstractmethod
    def _lowered(self) -> Lowered:
        """The kernels as text, not compiled."""

    # -- programs ----------------------------------------------------------------------------

    @property
    def module(self) -> ModuleOp:
        """What is compiled."""
        module = self._kernel.prim_func.module
        return marked_as_aliased(module, self._aliased) if self._aliased else module

    @cached_property
    def device(self) -> DevicePlanner:
        """What launches the program."""
        return self._device()

    def is_compiled(self) -> bool:
        """Whether the program is at hand, or on the disk, from where it is taken then."""
        if "program" in self.__dict__:
            return True
        found = self.programs.read(self._key)
        if found is not None:
            self.program = found
        return found is not None

    def adopt(self, program: ProgramT) -> None:
        """Take what another process compiled from `module`, and cache it."""
        self.programs.write(self._key, program)
        self.program = program

    @cached_property
    def _key(self) -> str:
        """The cache key of the program."""
        return self.programs.key(self.module, self.settings)

    def __call__(
        self, arguments: Sequence[Any], given: list[Any]
    ) -> tuple[list[Any], Sequence[Any]]:
        """Run; the tensors that the call made, and what was passed."""
        key = tuple(_identity(each) for each in given)
        try:
            call = self._calls.get(key)
        except TypeError:  # neither a tensor nor a scalar: the checks report it
            key = call = None
        spans = self._spans(given) if call is None else call.spans
        if spans and (shared := overlapping(spans, given)):
            return self.for_aliased(shared)(arguments, given)
        if call is not None:
            outputs, values = self._with_outputs(call, arguments, given)
            if len(self.prepared) < _MAX_PREPARED and not self._aliased:
                self._prepare(call, arguments, given)
        else:
            call, outputs, values = self._new_call(arguments, given)
            if len(self._calls) >= _MAX_CACHED_CALLS:
                self._calls.clear()
            if key is not None:
                self._calls[key] = call
        self.device.run(call.plan, values)
        return outputs, arguments

    def _prepare(self, call: _Call, arguments: Sequence[Any], given: Sequence[Any]) -> None:
        """Have the next call like this one launch at once, where that is possible."""

    def _new_call(
        self, arguments: Sequence[Any], given: list[Any]
    ) -> tuple[_Call, list[Any], list[Any]]:
        kernel = self._kernel
        checked = check_arguments(
            kernel.name, kernel.params, arguments, kernel.inputs, kernel.untouched, on_gpu=True
        )
        made = tuple(
            (index, kernel.output_shape(kernel.params[index], checked.sizes), param.dtype)
            for index, param in enumerate(kernel.params)
            if index in kernel.out_idx
        )
        reaches = [reach(each) for each in given if isinstance(each, DeviceArray)]
        if any(size > NARROW for size in (*reaches, *(prod(each[1]) for each in made))):
            self.widen()
        outputs, values = self._with_outputs(_Call(made, Plan(())), arguments, given)
        return _Call(made, self.device.planned(values), self._spans(given)), outputs, values

    def _spans(self, given: Sequence[Any]) -> tuple[_Span, ...]:
        """The arrays of a call, if one that is written could overlap another; else none."""
        if self._aliased:
            return ()
        kernel = self._kernel
        positions = [n for n in range(len(kernel.params)) if n not in kernel.out_idx]
        spans = tuple(
            _Span(index, position, reach(each) * each.element_bytes, position in kernel.written)
            for index, (position, each) in enumerate(zip(positions, given, strict=False))
            if isinstance(each, DeviceArray) and all(each.shape)
        )
        return spans if len(spans) > 1 and any(each.is_written for each in spans) else ()

    def for_aliased(self, positions: frozenset[int]) -> GpuKernel[SettingsT, ProgramT]:
        """The kernel for arguments of which those at `positions` share bytes.

        No pass takes them to be distinct then, and they are not marked as such for the CUDA
        compiler.
        """
        found = self._others.get(positions)
        if found is None:
            found = type(self)(self._kernel, self._settings, positions)
            self._others[positions] = found
        return found

    def widen(self) -> None:
        """Compile again for tensors that 32 bits cannot address, unless that was done."""
        if self.program.index_bits >= _WIDE:
            return
        self.settings = replace(self.settings, index_bits=_WIDE)
        self._calls.clear()
        self.prepared = ()
        for name in ("program", "device", "_key"):
            vars(self).pop(name, None)

    def _with_outputs(
        self, call: _Call, arguments: Sequence[Any], given: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        """The outputs, and one value for each parameter."""
        if not call.outputs:
            return [], given
        like = example_of(arguments)
        outputs: list[Any] = []
        values = list(given)
        for position, shape, dtype in call.outputs:
            tensor = new_tensor(shape, dtype, like) if like is not None else _torch(shape, dtype)
            outputs.append(tensor)
            values.insert(position, device_array(tensor))
        return outputs, values


class CudaKernel(GpuKernel[Settings, Program]):
    """The NVIDIA GPU's side of a kernel."""

    programs = PROGRAMS

    def _is_available(self) -> bool:
        return is_available()

    def _device(self) -> DeviceProgram:
        return DeviceProgram(self.program)

    def _lowered(self) -> Lowered:
        from tilewright.targets.cuda.compile import lower_as

        return lower_as(self.module, self.settings)

    @override
    def _prepare(self, call: _Call, arguments: Sequence[Any], given: Sequence[Any]) -> None:
        device = self.device
        assert isinstance(device, DeviceProgram)
        sizes = [(each.argument_index, each.size, each.is_written) for each in call.spans]
        found = prepared(
            Repeated(
                arguments,
                given,
                call.outputs,
                pairs_with_a_written_one(sizes),
                call.plan,
                device.launcher,
                self._kernel.prim_func.returned,
            )
        )
        if found is not None:
            self.prepared += (found,)


def overlapping(spans: Sequence[_Span], given: Sequence[Any]) -> frozenset[int]:
    """The parameters that share bytes with another, where one of the two is written."""
    found: list[int] = []
    for one in spans:
        if not one.is_written:
            continue
        start = given[one.argument_index].address
        for other in spans:
            begin = given[other.argument_index].address
            if other is not one and start < begin + other.size and begin < start + one.size:
                found += one.position, other.position
    return frozenset(found)


def marked_as_aliased(module: ModuleOp, positions: frozenset[int]) -> ModuleOp:
    """A copy of `module` whose arguments at `positions` are marked as sharing bytes."""
    from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, UnitAttr

    from tilewright.dialects.tile import names

    made = module.clone()
    entry = next(op for op in made.ops if names.ENTRY in op.attributes)
    listed = getattr(entry.properties.get("arg_attrs"), "data", ())
    count = len(entry.regions[0].block.args)
    attributes = [dict(listed[n].data) if n < len(listed) else {} for n in range(count)]
    for position in positions:
        attributes[position][names.ALIASED] = UnitAttr()
    entry.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(each) for each in attributes])
    return made


def _torch(shape: Sequence[int], dtype: Dtype) -> Any:
    """A tensor for a kernel without arguments to make it like."""
    torch = torch_if_loaded()
    assert torch is not None, "calls without tensors come here only if torch is loaded"
    return torch.empty(tuple(shape), dtype=dtype.as_torch(), device="cuda")


def reach(array: DeviceArray) -> int:
    """Elements from the first to the last, those between them included."""
    steps = zip(array.shape, array.strides, strict=True)
    return 1 + sum((extent - 1) * stride for extent, stride in steps)


def _is_host_array(value: Any) -> bool:
    return not isinstance(value, _SCALARS) and is_array(value)


def _identity(value: Any) -> Any:
    """What of an argument a call depends on."""
    if isinstance(value, DeviceArray):
        offset = value.address % ACCESS_BYTES
        return value.shape, value.strides, value.element, value.device, offset
    # Zeros of both signs are equal, and not the same.
    return type(value), value, str(value) if type(value) is float and value == 0 else None
