"""Launching a loaded function: arguments into bytes, and one call of the driver.

    launcher = Launcher(load(cubin, metadata.name, metadata.shared), metadata)
    launcher((x, y, z), values)                   # any arrays, numbers, tensor descriptors
    launcher.launch(stream, x, y, z, *raw)        # addresses, numbers, tensor maps as bytes

`launch` is a function in C (`native`) where this machine can compile it. Else it is generated for
the parameters of this kernel: it takes a block of `packing`, fills it with one call, and calls the
driver with two addresses. Nothing is allocated (unless the kernel wants scratch memory) and nothing
waits, so launches can be captured into CUDA graphs.

``TILEWRIGHT_CUDA_BLOCKING=1`` waits after every launch, so that a fault shows where it happened.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable, Sequence
from inspect import currentframe
from types import CodeType
from typing import Any, Protocol

from tilewright.frontend.callers import PACKAGE
from tilewright.runtime.cuda import errors
from tilewright.runtime.cuda.arrays import DeviceArray, device_array
from tilewright.runtime.cuda.context import device_properties, ensure_context
from tilewright.runtime.cuda.driver import driver
from tilewright.runtime.cuda.module import Function
from tilewright.runtime.cuda.native import native
from tilewright.runtime.cuda.packing import (
    HIDDEN,
    NATIVE_KINDS,
    POINTER,
    TENSOR_MAP,
    Block,
    bf16_bits,
    careful,
    kind_of,
    packing_of,
)
from tilewright.runtime.cuda.scratch import scratch
from tilewright.runtime.cuda.streams import current_stream, stream_handle
from tilewright.runtime.cuda.tensor_map import encode
from tilewright.targets.metadata import KernelMetadata, TensorMapSpec

# CUlaunchAttributeID
_COOPERATIVE = 2
_CLUSTER_DIMENSION = 4
_CLUSTER_SCHEDULING = 5
_PROGRAMMATIC_SERIALIZATION = 6

_SPREAD = 1  # CU_CLUSTER_SCHEDULING_POLICY_SPREAD
_ATTRIBUTE_BYTES = 72  # the id, 4 bytes of nothing, and 64 bytes of value

_INVALID_VALUE = 1
_INVALID_CONTEXT = 201
_INVALID_HANDLE = 400
_OUT_OF_RESOURCES = 701
_COOPERATIVE_TOO_LARGE = 720


Launch = Callable[..., None]


class Described(Protocol):
    """A tensor descriptor, as tensor maps are made from it."""

    base: Any
    shape: Sequence[int]
    strides: Sequence[int]
    padding: str


class Launcher:
    """Launches of one function."""

    def __init__(self, function: Function, metadata: KernelMetadata) -> None:
        self.function = function
        self.metadata = metadata
        self.kinds = tuple(map(kind_of, metadata.parameters))
        self.visible = tuple(kind for kind in self.kinds if kind not in HIDDEN)
        if self.kinds[: len(self.visible)] != self.visible:
            raise ValueError(f"hidden parameters must come last, got {metadata.parameters}")
        if metadata.profile_bytes:  # only Triton's kernels may have them
            raise ValueError(
                f"{function.name} is instrumented for Triton's Proton profiler, whose records "
                "are not read here: compile it without instrumentation"
            )
        expected = self.visible.count(TENSOR_MAP)
        if expected != len(metadata.tensor_maps):
            raise ValueError(
                f"{function.name} has {expected} tensor maps, but {len(metadata.tensor_maps)} "
                "descriptions"
            )
        self._attributes = _launch_attributes(
            metadata.cluster, cooperative=metadata.cooperative, pdl=metadata.pdl
        )
        self._packing = packing_of(self.kinds)
        self._spare: list[Block] = []
        self.native = self._native()
        """The launch in C, with one raw value for each parameter, hidden ones too; or None."""
        names = [f"a{index}" for index in range(len(self.visible))]
        self.launch: Launch = self.generated(names, (), names, {})
        """``launch(stream, x, y, z, *values)`` with one raw value for each visible parameter."""

    def __call__(self, grid: Sequence[int], values: Sequence[Any], stream: Any = None) -> None:
        """Launch on `grid` with arrays, numbers and tensor descriptors, one a parameter."""
        if len(values) != len(self.visible):
            raise TypeError(
                f"{self.function.name} takes {len(self.visible)} parameters "
                f"({', '.join(self.visible)}), got {len(values)}"
            )
        device = self.function.device
        handle = current_stream(device) if stream is None else stream_handle(stream)
        maps = iter(self.metadata.tensor_maps)
        raw = [
            self._raw(index, kind, value, next(maps) if kind == TENSOR_MAP else None)
            for index, (kind, value) in enumerate(zip(self.visible, values, strict=True))
        ]
        x, y, z = (*grid, 1, 1)[:3]
        errors.recent.append((self.function.name, *_caller()))
        try:
            self.launch(handle, x, y, z, *raw)
        except (struct.error, OverflowError):
            # Unsigned numbers wrap and large floats are infinite, unless nothing can hold them.
            self.launch(handle, x, y, z, *map(careful, self.visible, raw))

    def _raw(self, index: int, kind: str, value: Any, spec: TensorMapSpec | None) -> Any:
        if spec is not None:
            return value if isinstance(value, bytes) else self.tensor_map(value, spec)
        if kind != POINTER or isinstance(value, int):
            return value
        return 0 if value is None else self._array(index, value).address

    def _array(self, index: int, value: Any) -> DeviceArray:
        """`value` in the memory of the function's device."""
        found = device_array(value)
        name, device = self.function.name, self.function.device
        if found is None:
            raise ValueError(
                f"parameter {index} of {name} is a "
                f"{type(value).__module__}.{type(value).__name__} in host memory, but {name} "
                f"runs on GPU {device}: move the array to that GPU"
            )
        if found.address and found.device != device:
            raise ValueError(
                f"parameter {index} of {name} is on GPU {found.device}, but {name} was loaded "
                f"on GPU {device}: move all arrays to one GPU and make it the current one"
            )
        return found

    def tensor_map(self, descriptor: Described, spec: TensorMapSpec) -> bytes:
        """The tensor map of `descriptor` as the kernel wants it."""
        return encode(
            self._array(0, descriptor.base).address,
            cuda_type=spec.cuda_type,
            element_bytes=spec.element_bytes,
            shape=descriptor.shape,
            strides=descriptor.strides,
            box=spec.box,
            swizzle_bytes=spec.swizzle_bytes,
            padding=descriptor.padding,
            fp4_padded=spec.fp4_padded,
        )

    # -- the generated function -----------------------------------------------------------------

    def generated(
        self,
        names: Sequence[str],
        prelude: Sequence[str],
        expressions: Sequence[str],
        scope: dict[str, Any],
    ) -> Launch:
        """A launch that takes `names` and passes `expressions` of them, one for each visible kind.

        `prelude` are statements before the launch, which may use what `scope` holds.
        """
        if len(expressions) != len(self.visible):
            raise ValueError(
                f"{self.function.name} has parameters {', '.join(self.visible)}, but the launch "
                f"passes {len(expressions)} values"
            )
        if self.native is not None and not prelude and self._is_plain(names, expressions):
            return self.native
        source = self._source(names, prelude, expressions)
        everything: dict[str, Any] = {
            "native": self.native,
            "pack": self._packing.form.pack_into,
            "spare": self._spare,
            "take": self._spare.pop,
            "give": self._spare.append,
            "new_block": self._packing.new_block,
            "call": driver().function("cuLaunchKernelEx"),
            "FUNCTION": ctypes.c_void_p(self.function.handle),
            "bf16": bf16_bits,
            "scratch": scratch,
            "recovered": self._recovered,
            "wait": self._wait,
            **scope,
        }
        exec(compile(source, f"<launch of {self.function.name}>", "exec"), everything)
        return everything["launch"]

    def _source(
        self, names: Sequence[str], prelude: Sequence[str], expressions: Sequence[str]
    ) -> str:
        metadata = self.metadata
        hidden = {"scratch": "memory_of_kernel" if metadata.scratch_bytes else "0", "profile": "0"}
        values = [
            *(
                f"bf16({text})" if kind == "bf16" else text
                for kind, text in zip(self.visible, expressions, strict=True)
            ),
            *(hidden[each] for each in self.kinds if each in HIDDEN),
        ]
        if self.native is not None:
            body = [*prelude, f"native({', '.join(('stream', 'x', 'y', 'z', *values))})"]
        else:
            body = [*prelude, *self._packed_launch(values)]
        if _is_blocking():
            body.append("wait(stream)")
        lines = [
            f"def launch({', '.join(('stream', 'x', 'y', 'z', *names))}):",
            "    if not (x and y and z):",
            "        return",
        ]
        if metadata.scratch_bytes:
            size = metadata.scratch_bytes * metadata.num_ctas
            arguments = (
                f"x * y * z * {size}, {metadata.scratch_align}, {self.function.device}, stream"
            )
            lines.append(f"    with scratch({arguments}) as memory_of_kernel:")
            return "\n".join([*lines, *(f"        {line}" for line in body)])
        return "\n".join([*lines, *(f"    {line}" for line in body)])

    def _packed_launch(self, values: Sequence[str]) -> list[str]:
        """Statements that launch through ctypes."""
        metadata = self.metadata
        x = f"x * {metadata.num_ctas}" if metadata.num_ctas != 1 else "x"
        attributes = ctypes.addressof(self._attributes) if len(self._attributes) else 0
        config = [
            *(x, "y", "z", str(metadata.threads), "1", "1", str(metadata.shared), "stream"),
            *(str(attributes), str(len(self._attributes) // _ATTRIBUTE_BYTES)),
        ]
        return [
            "try:",
            "    block = take()",
            "except IndexError:",
            "    block = new_block()",
            "memory, start, config, parameters, _ = block",
            f"pack(memory, start, {', '.join([*config, *values])})",
            "status = call(config, FUNCTION, parameters, None)",
            "if status:",
            "    recovered(status, config, parameters, x, y, z)",
            "give(block)",
        ]

    # -- the launch in C ------------------------------------------------------------------------

    def _native(self) -> Launch | None:
        address = _address(driver().function("cuLaunchKernelEx"))
        module = None if address is None else native()
        if module is None:
            return None
        try:
            return module.Launch(
                driver=address,
                function=self.function.handle,
                threads=self.metadata.threads,
                shared=self.metadata.shared,
                num_ctas=self.metadata.num_ctas,
                failed=self._failed,
                kinds=tuple(NATIVE_KINDS[each] for each in self.kinds),
                attributes=ctypes.addressof(self._attributes) if len(self._attributes) else 0,
                num_attributes=len(self._attributes) // _ATTRIBUTE_BYTES,
            )
        except ValueError:  # more parameters than it has space for
            return None

    def _is_plain(self, names: Sequence[str], expressions: Sequence[str]) -> bool:
        """Whether the values of a launch are what it is given, and nothing happens beside it."""
        converts = "bf16" in self.visible or len(self.kinds) != len(self.visible)
        return list(names) == list(expressions) and not converts and not _is_blocking()

    # -- faults ---------------------------------------------------------------------------------

    def _recovered(
        self,
        status: int,
        config: ctypes.c_void_p,
        parameters: ctypes.c_void_p,
        *grid: int,
    ) -> None:
        """Launch again in a thread that had no context yet; else raise the error."""
        attempt = 0
        while status:
            self._failed(status, attempt, *grid)
            handle = ctypes.c_void_p(self.function.handle)
            status = driver().function("cuLaunchKernelEx")(config, handle, parameters, None)
            attempt += 1

    def _failed(self, status: int, attempt: int, *grid: int) -> None:
        """Raise the error of a launch, unless it is worth another attempt."""
        if status == _INVALID_CONTEXT and attempt == 0:
            ensure_context(self.function.device)
            return
        what = f"kernel {self.function.name}, grid {grid}. {self._reason(status, grid)}".rstrip()
        raise driver().error("cuLaunchKernelEx", status, what)

    def _reason(self, status: int, grid: tuple[int, ...]) -> str:
        metadata, function = self.metadata, self.function
        threads = metadata.threads
        blocks = (grid[0] * metadata.num_ctas, *grid[1:])
        # Drivers name this differently: an invalid value, an invalid cluster size.
        for axis, (size, part) in enumerate(zip(blocks, metadata.cluster, strict=True)):
            if size % part:
                return (
                    f"Axis {axis} of the grid has {size} blocks, not a multiple of the cluster "
                    f"size {part}."
                )
        if status == _INVALID_VALUE and threads > function.max_threads:
            return (
                f"A block has {threads} threads, {function.max_threads} available: limited by "
                "its registers."
            )
        if status == _OUT_OF_RESOURCES:
            return (
                f"{threads} threads with {function.registers} registers each and "
                f"{metadata.shared} bytes of shared memory exceed the resources of a "
                "multiprocessor."
            )
        if status == _COOPERATIVE_TOO_LARGE:
            count = device_properties(function.device).multiprocessors
            return (
                "All blocks of a cooperative launch must be resident concurrently, on "
                f"{count} multiprocessors."
            )
        if status == _INVALID_HANDLE:
            return f"The kernel was loaded on GPU {function.device}: pass a stream of that GPU."
        return ""

    def _wait(self, stream: int) -> None:
        cuda = driver()
        status = cuda.function("cuStreamSynchronize")(ctypes.c_void_p(stream))
        if status:
            raise cuda.error("cuStreamSynchronize", status, f"after kernel {self.function.name}")


def _launch_attributes(
    cluster: tuple[int, int, int], *, cooperative: bool, pdl: bool
) -> ctypes.Array[ctypes.c_char]:
    """Beyond grid and block: an array of CUlaunchAttribute, `_ATTRIBUTE_BYTES` each."""
    rows: list[bytes] = []
    if pdl:
        rows.append(struct.pack("<I4xi", _PROGRAMMATIC_SERIALIZATION, 1))
    if cooperative:
        rows.append(struct.pack("<I4xi", _COOPERATIVE, 1))
    if cluster != (1, 1, 1):
        rows.append(struct.pack("<I4x3I", _CLUSTER_DIMENSION, *cluster))
        rows.append(struct.pack("<I4xi", _CLUSTER_SCHEDULING, _SPREAD))
    return ctypes.create_string_buffer(
        b"".join(row.ljust(_ATTRIBUTE_BYTES, b"\0") for row in rows), len(rows) * _ATTRIBUTE_BYTES
    )


def _address(function: Any) -> int | None:
    """Where a function of the driver is; None if it is not one of a C library."""
    try:
        return ctypes.cast(function, ctypes.c_void_p).value
    except ctypes.ArgumentError:
        return None


def _is_blocking() -> bool:
    return os.environ.get("TILEWRIGHT_CUDA_BLOCKING", "0") not in ("", "0")


def _caller() -> tuple[CodeType | None, int]:
    """Code and instruction of the innermost frame outside of this package."""
    frame = currentframe()
    while frame is not None and _is_ours(frame.f_globals):
        frame = frame.f_back
    return (None, 0) if frame is None else (frame.f_code, frame.f_lasti)


def _is_ours(names: dict[str, Any]) -> bool:
    return str(names.get("__name__", "")).partition(".")[0] == PACKAGE
