"""A code object into a GPU, and launches of its kernel.

    launcher = HipLauncher(kernel)
    launcher.launch(stream, x, y, z, *values)     # addresses and numbers, one a parameter

Parameters are passed as an array of pointers to them (``kernelParams``), which plain and
cooperative launches take alike.
"""

from __future__ import annotations

import ctypes
from typing import Any

from tilewright.runtime.cuda.packing import packed
from tilewright.runtime.hip.bindings import Hip, hip
from tilewright.targets.hip.artefact import HipKernel

_DEFAULT_SHARED_BYTES = 64 * 1024
"""Dynamic LDS that a launch may have without requesting it."""
_MAX_WORK_ITEMS = 1 << 32
"""Threads of an axis of the grid, all blocks together, that the runtime takes."""


class HipLauncher:
    """Launches of one kernel on the current GPU."""

    def __init__(self, kernel: HipKernel) -> None:
        self.metadata = metadata = kernel.metadata
        self._hip = hip()
        self.device = self._hip.current_device()
        _require_chip(self._hip, metadata.name, metadata.chip, self.device)
        self._module = self._hip.call("hipModuleLoadData", kernel.code_object)
        self._code = kernel.code_object  # the runtime may read it until the module is unloaded
        self._function = self._hip.call(
            "hipModuleGetFunction", self._module, metadata.name.encode()
        )
        if metadata.dynamic_shared > _DEFAULT_SHARED_BYTES:
            attribute = self._hip.bindings.hipFuncAttribute
            self._hip.call(
                "hipFuncSetAttribute",
                self._function,
                attribute.hipFuncAttributeMaxDynamicSharedMemorySize,
                metadata.dynamic_shared,
            )

    def launch(self, stream: int, x: int, y: int, z: int, *values: Any) -> None:
        """Launch on a grid of `x` by `y` by `z` blocks; an empty one is no launch."""
        if not (x and y and z):
            return
        metadata = self.metadata
        what = f"kernel {metadata.name}, grid {(x, y, z)}, {metadata.threads} threads"
        if len(values) != len(metadata.parameters):
            raise TypeError(
                f"{metadata.name} takes {len(metadata.parameters)} parameters "
                f"({', '.join(metadata.parameters)}), got {len(values)}"
            )
        if x * metadata.threads >= _MAX_WORK_ITEMS:
            limit = (_MAX_WORK_ITEMS - 1) // metadata.threads
            raise ValueError(
                f"{what}: axis 0 of the grid has {x} blocks, and HIP launches {limit} of "
                f"{metadata.threads} threads at most: use a second axis of the grid"
            )
        blocks = [
            ctypes.create_string_buffer(packed(kind, value), 8)
            for kind, value in zip(metadata.parameters, values, strict=True)
        ]
        parameters = [ctypes.c_void_p(ctypes.addressof(each)) for each in blocks]
        shape = (x, y, z, metadata.threads, 1, 1, metadata.dynamic_shared)
        handle = ctypes.c_void_p(stream) if stream else None
        if metadata.cooperative:
            self._hip.call(
                "hipModuleLaunchCooperativeKernel",
                *(self._function, *shape, handle, parameters),
                detail=what,
            )
            return
        self._hip.call(
            "hipModuleLaunchKernel",
            *(self._function, *shape, handle, parameters, None),
            detail=what,
        )


def _require_chip(runtime: Hip, name: str, chip: str, device: int) -> None:
    found = runtime.properties(device)
    if found.chip != chip:
        raise ValueError(
            f"{name} was compiled for {chip}, and GPU {device} ({found.name}) is {found.chip}: "
            f"use target 'hip:{found.chip}'"
        )
