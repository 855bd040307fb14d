"""ROCm's run-time compiler as a shared library: its location, and the calls that are needed.

Called with `ctypes`, as NVIDIA's is: a program needs a handful of functions. ROCm 7 and later have
it in a library of its own; before, the HIP runtime has it too. Never run against ROCm here: tests
call a stand-in with the same functions.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tilewright.targets.errors import HipCompilerError
from tilewright.targets.hip.clang import Compiled

VARIABLE = "TILEWRIGHT_HIPRTC"
"""The environment variable with the path of the library."""
_NAMES = ("libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6", "libamdhip64.so")
_ROCM = "/opt/rocm"
_FUNCTION = "hiprtcCompileProgram"

_Program = ctypes.c_void_p


class Hiprtc:
    """The functions of the library; every one that fails raises `RuntimeError`."""

    def __init__(self, library: Any) -> None:
        self._library = library
        library.hiprtcGetErrorString.restype = ctypes.c_char_p

    def version(self) -> tuple[int, int]:
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._check(self._library.hiprtcVersion(ctypes.byref(major), ctypes.byref(minor)))
        return major.value, minor.value

    def __str__(self) -> str:
        major, minor = self.version()
        return f"hiprtc {major}.{minor}"

    def compile_source(
        self, source: str, chip: str, options: Sequence[str], *, name: str = "kernel.hip"
    ) -> Compiled:
        """The code object of `source`; hiprtc prints no assembly."""
        arguments = [f"--offload-arch={chip}", *options]
        given = (ctypes.c_char_p * len(arguments))(*(each.encode() for each in arguments))
        with self._program(source.encode(), name.encode()) as program:
            status = self._library.hiprtcCompileProgram(program, len(arguments), given)
            log = self._bytes("ProgramLog", program).rstrip(b"\0").decode(errors="replace")
            if status != 0:
                message = f"{self} failed to compile the source for {chip}"
                raise HipCompilerError(message, log or self._error_text(status), source)
            return Compiled(self._bytes("Code", program), "", log)

    @contextmanager
    def _program(self, source: bytes, name: bytes) -> Generator[_Program]:
        program = _Program()
        self._check(
            self._library.hiprtcCreateProgram(ctypes.byref(program), source, name, 0, None, None)
        )
        try:
            yield program
        finally:
            self._library.hiprtcDestroyProgram(ctypes.byref(program))

    def _bytes(self, what: str, program: _Program) -> bytes:
        size = ctypes.c_size_t()
        self._check(getattr(self._library, f"hiprtcGet{what}Size")(program, ctypes.byref(size)))
        if not size.value:
            return b""
        buffer = ctypes.create_string_buffer(size.value)
        self._check(getattr(self._library, f"hiprtcGet{what}")(program, buffer))
        return buffer.raw

    def _error_text(self, status: int) -> str:
        text: bytes | None = self._library.hiprtcGetErrorString(status)
        return (text or b"unknown error").decode(errors="replace")

    def _check(self, status: int) -> None:
        if status != 0:
            raise RuntimeError(f"hiprtc failed: {self._error_text(status)}")


@cache
def hiprtc() -> Hiprtc | None:
    """The library, loaded on first use; None if there is none."""
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        if hasattr(library, _FUNCTION):
            return Hiprtc(library)
    return None


def _candidates() -> Iterator[str]:
    """Where it may be: a path that is named is the only one."""
    if named := os.environ.get(VARIABLE):
        yield named
        return
    yield from _NAMES  # on the paths of the system
    libraries = Path(os.environ.get("ROCM_PATH") or _ROCM) / "lib"
    yield from (str(libraries / name) for name in _NAMES if (libraries / name).exists())
