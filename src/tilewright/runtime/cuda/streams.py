"""Which stream a launch goes into.

The one that the launch names; else torch's current stream if torch uses CUDA in this process, as in
Triton; else CuPy's; else the legacy default stream. A stream is an integer handle, or an object of
torch, CuPy, Numba, cuda-core or cuda-bindings.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, cast

LEGACY_DEFAULT = 0


def quick_torch_stream(torch: Any) -> Callable[[int], int]:
    """torch's shortest way to the handle of the current stream of a device."""
    quick = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    if quick is not None:
        return quick
    return lambda device: int(torch.cuda.current_stream(device).cuda_stream)


def current_stream(device: int) -> int:
    """The handle of the stream that launches on `device` go into."""
    torch = cast("Any", sys.modules.get("torch"))
    if torch is not None and torch.cuda.is_initialized():
        return quick_torch_stream(torch)(device)
    cupy = cast("Any", sys.modules.get("cupy"))
    return LEGACY_DEFAULT if cupy is None else int(cupy.cuda.get_current_stream().ptr)


# Attributes under which libraries keep the handle of a stream: torch, CuPy, cuda-core.
_HANDLES = ("cuda_stream", "ptr", "handle")


def stream_handle(stream: Any) -> int:
    """The handle of what a user passes as ``stream=``."""
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        found: Any = protocol() if callable(protocol) else protocol
        return int(found[1])
    for name in _HANDLES:
        if hasattr(stream, name):
            handle = getattr(stream, name)
            return int(getattr(handle, "value", handle) or 0)
    if hasattr(stream, "__int__"):
        return int(stream)
    raise TypeError(
        "expected a torch, CuPy or cuda-core stream, or its handle as an integer, got "
        f"{type(stream).__name__}"
    )
