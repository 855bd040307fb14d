"""A `T` kernel on an AMD GPU: compiled on first use, called with arrays in its memory.

Compiling needs no GPU. Calls go through AMD's Python bindings (`runtime.hip`), which is not tested
on hardware. Arrays of torch for ROCm present themselves as CUDA's do, and are read the same way.
"""

from __future__ import annotations

import ctypes
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tilewright.frontend.callers import located
from tilewright.runtime.cuda.arrays import DeviceArray
from tilewright.runtime.cuda.streams import current_stream, stream_handle
from tilewright.runtime.hip.bindings import hip, is_available
from tilewright.runtime.hip.launcher import HipLauncher
from tilewright.runtime.tile.device import DevicePlanner, Plan, filled
from tilewright.runtime.tile.gpu import GpuKernel
from tilewright.runtime.tile.host_checks import BAD_ARGUMENT
from tilewright.targets.hip.artefact import PROGRAMS, HipProgram
from tilewright.targets.hip.settings import HipSettings

if TYPE_CHECKING:
    from tilewright.targets.cxx.kernel import Lowered


class HipGpuKernel(GpuKernel[HipSettings, HipProgram]):
    """The AMD GPU's side of a kernel."""

    programs = PROGRAMS

    def _is_available(self) -> bool:
        return is_available()

    def _device(self) -> HipDeviceProgram:
        return HipDeviceProgram(self.program)

    def _lowered(self) -> Lowered:
        from tilewright.targets.hip.compile import lower_as

        return lower_as(self.module, self.settings)


class HipDeviceProgram(DevicePlanner):
    """A program that runs on an AMD GPU."""

    def __init__(self, program: HipProgram) -> None:
        super().__init__(program.steps)
        self.program = program
        self._launchers: dict[tuple[str, int], HipLauncher] = {}

    def run(self, plan: Plan, arguments: Sequence[Any], stream: Any = None) -> None:
        """Launch with the addresses of `arguments`."""
        given = next((each.device for each in arguments if isinstance(each, DeviceArray)), None)
        device = hip().current_device()
        if given not in (None, device):
            message = (
                f"the arrays are on GPU {given}, but the current GPU is {device}: launch inside "
                f"`with torch.cuda.device({given}):`, or move the arrays"
            )
            raise located(ValueError(message), BAD_ARGUMENT)
        handle = current_stream(device) if stream is None else stream_handle(stream)
        with _workspace(plan.workspace, handle) as base:
            for each in plan.launches:
                raw = [filled(value, arguments, base) for value in each.arguments]
                self._launcher(each.kernel, device).launch(handle, *each.grid, *raw)

    def _launcher(self, name: str, device: int) -> HipLauncher:
        found = self._launchers.get((name, device))
        if found is None:
            found = self._launchers[name, device] = HipLauncher(self.program.kernels[name])
        return found


@contextmanager
def _workspace(size: int, stream: int) -> Generator[int]:
    """The address of `size` bytes that launches inside the ``with`` may use."""
    if not size:
        yield 0
        return
    runtime, handle = hip(), ctypes.c_void_p(stream) if stream else None
    memory = runtime.call("hipMallocAsync", size, handle)
    try:
        yield int(memory)
    finally:
        runtime.call("hipFreeAsync", memory, handle)
