"""The launcher in C: compiled once with the C compiler of this machine, then cached.

A call through ctypes takes 1 to 2 us for itself; the same call from `launch.c` a tenth of that.
Nothing depends on it: without a C compiler, without Python's headers, or with a driver that is no C
library (as in tests), launches go through `packing` and ctypes as before. `reason` holds why.

    TILEWRIGHT_NATIVE_LAUNCH=0      never use it
    CC                              the compiler, else cc, gcc or clang
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from tilewright.targets.store import digest, load, store

SWITCH = "TILEWRIGHT_NATIVE_LAUNCH"
_NAME = "tilewright_native"
_SOURCE = Path(__file__).with_name("launch.c")
_KIND: Final = "native"
_SECTION = "library"
_COMPILERS = ("cc", "gcc", "clang")
_OPTIONS = ("-std=c11", "-O2", "-shared", "-fPIC", "-w")
_TIMEOUT_SECONDS = 60

_lock = threading.Lock()


class Unavailable(Exception):
    """Why there is no launcher in C."""


def native() -> Any:
    """The module of `launch.c`; None if there is none here."""
    if os.environ.get(SWITCH, "1") in ("", "0"):
        return None
    with _lock:  # a second thread waits for the compiler instead of running it again
        return _found()[0]


def reason() -> str:
    """Why `native` returns None; empty if it does not."""
    if os.environ.get(SWITCH, "1") in ("", "0"):
        return f"{SWITCH}=0"
    with _lock:
        return _found()[1]


@cache
def _found() -> tuple[ModuleType | None, str]:
    try:
        return _module(), ""
    except Unavailable as problem:
        return None, str(problem)


def _module() -> ModuleType:
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise Unavailable("it is for CPython with a global interpreter lock")
    try:
        source = _SOURCE.read_bytes()
    except OSError as error:
        raise Unavailable(f"its source cannot be read: {error}") from None
    key = digest(source.decode(), sys.version, sysconfig.get_platform(), " ".join(_OPTIONS))
    cached = load(_KIND, key)
    if cached is not None:
        try:
            return imported(cached[_SECTION])
        except (ImportError, KeyError, OSError):  # of another C library
            pass
    library = compiled(source)
    try:
        module = imported(library)
    except (ImportError, OSError) as error:
        raise Unavailable(f"what was compiled cannot be loaded: {error}") from None
    store(_KIND, key, {_SECTION: library})
    return module


def compiled(source: bytes) -> bytes:
    """The shared library of `source`.

    Raises:
        Unavailable: if there is no compiler, or it fails.
    """
    headers = sysconfig.get_paths()["include"]
    if not (Path(headers) / "Python.h").is_file():
        raise Unavailable(f"Python's headers are not in {headers}")
    command = _compiler()
    with tempfile.TemporaryDirectory(prefix="tilewright-") as scratch:
        text, library = Path(scratch) / "launch.c", Path(scratch) / "launch.so"
        text.write_bytes(source)
        line = [*command, *_OPTIONS, f"-I{headers}", str(text), "-o", str(library)]
        try:
            done = subprocess.run(
                line, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False
            )
            if done.returncode:
                first = next(iter(done.stderr.splitlines()), f"exit code {done.returncode}")
                raise Unavailable(f"{command[0]} failed: {first}")
            return library.read_bytes()
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"{command[0]} failed: {error}") from None


def _compiler() -> list[str]:
    given = shlex.split(os.environ.get("CC", ""))
    found = given or [each for each in _COMPILERS if shutil.which(each)][:1]
    if not found:
        raise Unavailable(f"there is no C compiler ({', '.join(_COMPILERS)})")
    return found


def imported(library: bytes) -> ModuleType:
    """The extension module in `library`."""
    with tempfile.TemporaryDirectory(prefix="tilewright-") as scratch:
        path = Path(scratch) / f"{_NAME}.so"
        path.write_bytes(library)
        loader = importlib.machinery.ExtensionFileLoader(_NAME, str(path))
        spec = importlib.util.spec_from_file_location(_NAME, path, loader=loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        return module  # which stays loaded without its file
