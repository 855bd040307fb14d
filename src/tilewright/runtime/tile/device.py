"""Launching the kernels of a compiled function: the host's steps, worked out once for each shape.

What the host computes depends on extents and numbers, not on addresses. So the steps are run once
for every combination of them, with addresses left open; what comes out is a list of launches whose
grids and numbers are known. A call looks its list up and fills the addresses in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

from tilewright.frontend.callers import located
from tilewright.runtime.cuda.arrays import DeviceArray, device_array
from tilewright.runtime.cuda.context import current_device, wrong_device
from tilewright.runtime.cuda.launcher import Launcher
from tilewright.runtime.cuda.module import load
from tilewright.runtime.cuda.scratch import clear, scratch
from tilewright.runtime.cuda.streams import current_stream, stream_handle
from tilewright.runtime.cuda.tensor_map import cuda_type_of, encode
from tilewright.runtime.tile.host_checks import BAD_ARGUMENT
from tilewright.targets.cuda.artefact import DeviceKernel, Program
from tilewright.targets.host.steps import Operand, Step

_MAX_CACHED_PLANS = 256


def _divided(a: int, b: int) -> int:
    """As C divides: towards zero."""
    return a // b if (a >= 0) == (b >= 0) else -(-a // b)


_TWO: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divided,
    "%": lambda a, b: a - _divided(a, b) * b,
    "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
}


WORKSPACE = -1
_GRID_AXES = 3
_ALIGNMENT = 256
_MAP_STRIDE = 16
"""Strides of tensor maps are multiples of so many bytes."""


@dataclass(frozen=True)
class Address:
    """The address of a parameter's array, and its type."""

    parameter: int
    """Its number; `WORKSPACE` for memory that only the kernels of the function see."""
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    offset: int = 0
    """Bytes from the start of the array, or of the workspace."""


@dataclass(frozen=True)
class Map:
    """The tensor map of the array of a parameter."""

    address: Address
    spec: Mapping[str, Any]


@dataclass(frozen=True)
class PlannedLaunch:
    """A launch of which only addresses are open."""

    kernel: str
    grid: tuple[int, int, int]
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Plan:
    """The launches of a call, in order."""

    launches: tuple[PlannedLaunch, ...]
    workspace: int = 0
    """Intermediate buffers between the kernels."""
    zeros: int | None = None
    """Where in them a few must be zero."""


def plan(steps: Sequence[Step], arguments: Sequence[Any]) -> Plan:
    """The launches for arguments: device arrays, numbers, None."""
    workspace, zeros = 0, None
    values: dict[str, Any] = {}
    for index, argument in enumerate(arguments):
        values[f"%{index}"] = argument
        if isinstance(argument, DeviceArray):
            values[f"%{index}"] = Address(index, argument.shape, argument.strides)
        elif argument is None:
            values[f"%{index}"] = Address(index)
    launches: list[PlannedLaunch] = []

    def value(operand: Operand) -> Any:
        return values[operand] if isinstance(operand, str) else operand

    for step in steps:
        operands = [value(each) for each in step.operands]
        if step.kind == "launch":
            x, y, z, *rest = operands
            if x and y and z:
                launches.append(PlannedLaunch(step.constants[0], (x, y, z), tuple(rest)))
        elif step.kind == "map":
            array = operands[0]
            if not all(array.shape):
                if zeros is None:
                    zeros, workspace = workspace, workspace + _ALIGNMENT
                array = _nothing(array, step.constants[1], zeros)
            values[step.result] = Map(array, _map_spec(step, array))
        elif step.kind == "alloc":
            shape, size = step.constants
            values[step.result] = Address(WORKSPACE, tuple(shape), _contiguous(shape), workspace)
            workspace += -(-prod(shape) * size // _ALIGNMENT) * _ALIGNMENT
        elif step.kind == "dim":
            values[step.result] = operands[0].shape[operands[1]]
        elif step.kind == "stride":
            values[step.result] = operands[0].strides[operands[1]]
        elif step.kind == "view":
            values[step.result] = _viewed(step, operands)
        elif step.kind == "at":
            array, index = operands
            values[step.result] = replace(array, offset=array.offset + index * step.constants[0])
        elif step.kind == "select":
            values[step.result] = operands[1] if operands[0] else operands[2]
        elif step.kind == "assert":
            if not operands[0]:
                raise located(ValueError(_failed(step, operands)), BAD_ARGUMENT)
        else:
            values[step.result] = _TWO[step.kind](*operands)
    return Plan(tuple(launches), workspace, zeros)


def _failed(step: Step, operands: Sequence[Any]) -> str:
    """The message of an assertion, with the values that it is about."""
    text, *names = step.constants
    values = ", ".join(f"{n} is {v}" for n, v in zip(names, operands[1:], strict=True))
    return f"{text}; {values}" if values else text


def _contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _nothing(array: Address, element_bytes: int, index: int) -> Address:
    """In place of an array without elements, which has no tensor map: a zero.

    A kernel does not access such an array, or reads elements beyond it, which are zero.
    """
    row = _MAP_STRIDE // element_bytes
    strides = tuple(1 if axis == len(array.shape) - 1 else row for axis in range(len(array.shape)))
    return Address(WORKSPACE, (1,) * len(array.shape), strides, index)


def _viewed(step: Step, operands: Sequence[Any]) -> Address:
    """An array with other extents; numbers that are open come as operands, in order."""
    source, *given = operands
    rest = iter(given)
    shape, strides = step.constants
    extents = tuple(next(rest) if size < 0 else size for size in shape)
    if strides is not None:
        steps = tuple(next(rest) if each is None or each < 0 else each for each in strides)
    else:
        steps = _contiguous(extents)
    return Address(source.parameter, extents, steps, source.offset)


def _map_spec(step: Step, array: Address) -> dict[str, Any]:
    element, size, box, swizzle, fill, expands = step.constants
    return {
        "cuda_type": cuda_type_of(element),
        "element_bytes": size,
        "shape": array.shape,
        "strides": array.strides,
        "box": tuple(box),
        "swizzle_bytes": swizzle,
        "padding": fill,
        "fp4_padded": expands,
    }


class DevicePlanner(ABC):
    """Works out the launches of a program, once for each combination of shapes and numbers."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._plans: dict[Any, Plan] = {}

    def __call__(self, arguments: Sequence[Any], stream: Any = None) -> None:
        """Run with one value for each parameter of the host function."""
        arrays = [
            value if isinstance(value, (int, float)) else device_array(value) or value
            for value in arguments
        ]
        self.launch(arrays, stream)

    def launch(self, arguments: Sequence[Any], stream: Any = None) -> None:
        """The same with `DeviceArray`s, numbers and None."""
        key: tuple[Any, ...] = tuple(
            (each.shape, each.strides)
            if isinstance(each, DeviceArray)
            # Zeros of both signs are equal, and not the same.
            else (type(each), each or str(each))
            for each in arguments
        )
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= _MAX_CACHED_PLANS:
                self._plans.clear()
            found = self._plans[key] = self.planned(arguments)
        self.run(found, arguments, stream)

    def planned(self, arguments: Sequence[Any]) -> Plan:
        """The launches for arrays of these shapes and these numbers."""
        return plan(self._steps, arguments)

    @cached_property
    def passed_on(self) -> frozenset[int]:
        """The parameters that kernels get as they are, and nothing else depends on."""
        passed: set[str | int | float] = set()
        used: set[str | int | float] = set()
        for step in self._steps:
            first = _GRID_AXES if step.kind == "launch" else len(step.operands)
            used.update(step.operands[:first])
            passed.update(step.operands[first:])
        names = (each for each in passed - used if isinstance(each, str))
        return frozenset(int(each[1:]) for each in names if each[1:].isdecimal())

    @abstractmethod
    def run(self, plan: Plan, arguments: Sequence[Any], stream: Any = None) -> None:
        """Launch with the addresses of `arguments`."""


class DeviceProgram(DevicePlanner):
    """A program that runs on an NVIDIA GPU."""

    def __init__(self, program: Program) -> None:
        super().__init__(program.steps)
        self.program = program
        self._launchers: dict[tuple[str, int], Launcher] = {}

    def run(self, plan: Plan, arguments: Sequence[Any], stream: Any = None) -> None:
        """Launch with the addresses of `arguments`."""
        device = next((each.device for each in arguments if isinstance(each, DeviceArray)), None)
        if plan.workspace == 0:
            self._launch(plan, arguments, stream, device, 0)
            return
        on = current_device() if device is None else device
        handle = current_stream(on) if stream is None else stream_handle(stream)
        with scratch(plan.workspace, _ALIGNMENT, on, handle) as base:
            if plan.zeros is not None:
                clear(base + plan.zeros, _ALIGNMENT, handle)
            self._launch(plan, arguments, stream, device, base)

    def _launch(
        self, plan: Plan, arguments: Sequence[Any], stream: Any, device: int | None, base: int
    ) -> None:
        for each in plan.launches:
            launcher = self.launcher(each.kernel, device)
            raw = [filled(value, arguments, base) for value in each.arguments]
            on = launcher.function.device
            handle = current_stream(on) if stream is None else stream_handle(stream)
            launcher.launch(handle, *each.grid, *raw)

    def launcher(self, name: str, device: int | None) -> Launcher:
        """The launcher of a kernel, loaded on a device."""
        key = (name, -1 if device is None else device)
        found = self._launchers.get(key)
        if found is None:
            wrong = None if device is None else wrong_device(device)
            if wrong is not None:  # it would be loaded into the GPU that is current
                raise located(wrong, BAD_ARGUMENT)
            found = self._launchers[key] = _launcher(self.program.kernels[name])
        return found


def filled(value: Any, arguments: Sequence[Any], base: int) -> Any:
    """An argument of a launch with its address."""
    if isinstance(value, Address):
        return _address(value, arguments, base)
    if isinstance(value, Map):
        return encode(_address(value.address, arguments, base), **value.spec)
    return value


def _address(address: Address, arguments: Sequence[Any], base: int) -> int:
    if address.parameter == WORKSPACE:
        return base + address.offset
    array = arguments[address.parameter]
    return 0 if array is None else array.address + address.offset


def _launcher(kernel: DeviceKernel) -> Launcher:
    metadata = kernel.metadata
    return Launcher(
        load(kernel.cubin, metadata.name, metadata.shared, cluster=metadata.cluster), metadata
    )
