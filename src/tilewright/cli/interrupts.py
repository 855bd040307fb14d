"""Where Ctrl-C came: the kernel, its line, and the line of the script.

Kernels run as generated NumPy source, each line of which ends with the line that it came from; so
the innermost frame of it has the line of the kernel. While a kernel is traced or compiled, the pass
is named.
"""

from __future__ import annotations

import linecache
import re
import sys
import traceback
from collections.abc import Iterator
from types import FrameType

from tilewright.cli.working import clear_line
from tilewright.frontend.callers import PACKAGE

_GENERATED = re.compile(r"^NumPy code of the kernel `(\w+)`")
_ORIGIN = re.compile(r"# (\S+:\d+)\s*$")


def show_interrupt(error: BaseException) -> None:
    """Print where a program was when it was interrupted, in one line."""
    sys.stdout.flush()
    clear_line()
    sys.stderr.write(f"\ninterrupted {where(error)}\n")


def where(error: BaseException) -> str:
    """``in scale, tl.py:14 (script.py:22)``."""
    kernel = line = script = step = ""
    for frame, at in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        generated = _GENERATED.match(frame.f_globals.get("__doc__") or "")
        if generated is not None:
            origin = _ORIGIN.search(linecache.getline(file, at))
            kernel, line = generated[1], origin[1] if origin is not None else line
            step = ""
        elif _is_ours(frame):
            name = _kernel_of(frame)
            kernel, step = name or kernel, _pass_of(frame) or step
        elif not str(frame.f_globals.get("__name__", "")).startswith("importlib"):
            script = f"{file}:{at}"
    parts = [f"in {kernel}" if kernel else "", line]
    found = ", ".join(part for part in parts if part)
    if step:
        found += f", in the pass {step}"
    if not found:
        return f"at {script}" if script else "before a kernel was reached"
    return f"{found} ({script})" if script else found


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == PACKAGE


def _kernel_of(frame: FrameType) -> str:
    """The name of the kernel that a frame is about."""
    for each in _locals(frame, ("self", "kernel", "compiled", "source")):
        if type(each).__name__ in _KERNELS:
            return str(getattr(each, "name", ""))
    return ""


_KERNELS = (
    *("CompiledKernel", "CompiledTileKernel", "RaisedTileKernel", "JITFunction"),
    *("NumpyKernel", "Launched", "Source"),
)


def _pass_of(frame: FrameType) -> str:
    """The pass that a frame runs."""
    if frame.f_code.co_name != "run":
        return ""
    for each in _locals(frame, ("self",)):
        if any(base.__name__ == "Pass" for base in type(each).__mro__):
            return str(getattr(each, "name", ""))
    return ""


def _locals(frame: FrameType, names: tuple[str, ...]) -> Iterator[object]:
    for name in names:
        if name in frame.f_locals:
            yield frame.f_locals[name]
