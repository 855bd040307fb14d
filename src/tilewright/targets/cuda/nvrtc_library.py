"""NVIDIA's run-time compiler as a shared library: its location, and the calls that are needed.

Called with `ctypes`: a program needs a handful of functions, and the packages that bind all of CUDA
take longer to load than a small kernel takes to compile. They are used only where the library is
not in its own package.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path

_INSTALL = "pip install 'tilewright[cuda]'"
_PATTERNS = ("*/lib/libnvrtc.so.*", "*/bin/**/nvrtc64_*.dll")
_OTHERS = ("builtins", ".alt")
"""Libraries beside it whose names begin alike."""

_Program = ctypes.c_void_p


class NvrtcMissing(ModuleNotFoundError):
    """There is no run-time compiler on this machine."""


class Nvrtc:
    """The functions of the library; every one that fails raises `RuntimeError`."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def version(self) -> tuple[int, int]:
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._check(self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
        return major.value, minor.value

    @contextmanager
    def program(self, source: bytes, name: bytes) -> Generator[_Program]:
        program = _Program()
        self._check(
            self._library.nvrtcCreateProgram(ctypes.byref(program), source, name, 0, None, None)
        )
        try:
            yield program
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def compiles(self, program: _Program, options: Sequence[bytes]) -> bool:
        """Compile it; false if the source has errors, which are in the log."""
        given = (ctypes.c_char_p * len(options))(*options)
        return self._library.nvrtcCompileProgram(program, len(options), given) == 0

    def log(self, program: _Program) -> str:
        return self._text("ProgramLog", program)

    def ptx(self, program: _Program) -> str:
        return self._text("PTX", program)

    def cubin(self, program: _Program) -> bytes:
        return self._bytes("CUBIN", program)

    def _text(self, what: str, program: _Program) -> str:
        return self._bytes(what, program).rstrip(b"\0").decode(errors="replace")

    def _bytes(self, what: str, program: _Program) -> bytes:
        size = ctypes.c_size_t()
        self._check(self._library[f"nvrtcGet{what}Size"](program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self._check(self._library[f"nvrtcGet{what}"](program, buffer))
        return buffer.raw

    def _check(self, status: int) -> None:
        if status != 0:
            text: bytes = self._library.nvrtcGetErrorString(status)
            raise RuntimeError(f"NVRTC failed: {text.decode()}")


@cache
def nvrtc() -> Nvrtc:
    """The library, loaded on first use."""
    try:
        return Nvrtc(ctypes.CDLL(str(packaged() or _found_elsewhere())))
    except ImportError:
        cause = None  # there is no package to look for it in
    except (OSError, RuntimeError) as error:  # NVIDIA's search raises the last
        cause = error
    raise NvrtcMissing(
        f"NVRTC, which compiles kernels for NVIDIA GPUs, is not installed: {_INSTALL}"
    ) from cause


def packaged() -> Path | None:
    """The library of the newest package that has one."""
    try:
        directories = list(import_module("nvidia").__path__)
    except ImportError:
        return None
    found = [
        path
        for directory in directories
        for pattern in _PATTERNS
        for path in Path(directory).glob(pattern)
        if not any(part in path.name for part in _OTHERS)
    ]
    return max(found, key=_release, default=None)


def _release(library: Path) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", library.name)))


def _found_elsewhere() -> str:
    """Where NVIDIA's own search finds it: in a toolkit, or on the paths of the system."""
    found = import_module("cuda.pathfinder").load_nvidia_dynamic_lib("nvrtc")
    return str(found.abs_path)
