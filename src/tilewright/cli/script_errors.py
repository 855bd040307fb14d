"""Errors of a script that need no traceback: their text names the user's line and what is wrong.

Those are errors of a kernel, faults of its run, calls with arguments that it does not take, and
packages that are not installed. Any other exception is Python's affair, and shown as Python shows
it.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import FrameType

from tilewright.frontend.callers import PACKAGE, is_located, located_diagnostic
from tilewright.ir.diagnostics import CompileError, Diagnostic
from tilewright.runtime.executors.cluster import ClusterUnavailable
from tilewright.runtime.executors.pools import ExecutorLost
from tilewright.targets.cuda.nvrtc_library import NvrtcMissing
from tilewright.targets.errors import HipCompilerMissing
from tilewright.targets.numpy.api import NumpyFault
from tilewright.targets.triton.installation import INSTALL, TritonMissing

FOREIGN = ("triton", "tilelang", "tvm")
"""The packages that `--compat` replaces."""
_LIBRARY = Path(traceback.__file__).parent
_PACKAGES = {"site-packages", "dist-packages"}
_ABSENT = (TritonMissing, NvrtcMissing, HipCompilerMissing, ClusterUnavailable, ExecutorLost)
"""Errors whose text states what the computer lacks."""
_INSTALLS = {"triton": INSTALL, "tilelang": "pip install tilelang"}


def speaks_for_itself(error: BaseException) -> bool:
    """Whether the text of an error is a whole message."""
    return isinstance(error, CompileError | NumpyFault) or is_located(error)


def diagnostics_of(error: BaseException) -> tuple[Diagnostic, ...]:
    """What an error reports, apart from faults, which the log of launches has."""
    if isinstance(error, CompileError):
        return error.diagnostics
    found = located_diagnostic(error)
    return () if found is None else (found,)


def show_error(error: BaseException) -> None:
    """Show the text of an error, and what was noted about it."""
    sys.stdout.flush()
    sys.stderr.write(f"{error}\n")
    notes: list[str] = getattr(error, "__notes__", [])
    sys.stderr.writelines(f"{note}\n" for note in notes)


def missing_package(error: BaseException, *, has_compat: bool = False) -> str | None:
    """What to install or start, in one line, if a script ended for want of a package or a cluster.

    `has_compat`: the command has a flag `--compat`, which was not passed.
    """
    if isinstance(error, _ABSENT):
        return str(error)
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    if name not in FOREIGN:
        return None
    install = f": {_INSTALLS[name]}" if name in _INSTALLS else ""
    if has_compat:
        return (
            f"this script imports {name}: --compat runs its kernels on Tilewright; {name} itself "
            f"is not installed{install}"
        )
    return f"this script imports {name}, which is not installed{install}"


def script_line(error: BaseException) -> str:
    """``file:line``, the innermost line outside of Tilewright and of Python's own library.

    The library calls what it decorates, imports or runs in a thread: such a line is not the user's.
    """
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not _is_library(frame)
    ]
    return "{}:{}".format(*frames[-1]) if frames else "the script"


def _is_library(frame: FrameType) -> bool:
    """Whether a frame is of Tilewright, or of Python's own library."""
    if str(frame.f_globals.get("__name__", "")).partition(".")[0] == PACKAGE:
        return True
    file = Path(frame.f_code.co_filename)
    if file.name.startswith("<frozen "):
        return True
    return file.is_relative_to(_LIBRARY) and _PACKAGES.isdisjoint(file.parts)
