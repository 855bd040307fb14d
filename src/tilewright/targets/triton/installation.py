"""Which Triton is installed, found without loading it: a warm start must not.

Everything that decides over the machine code besides the IR and the options is in `fingerprint`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path

from tilewright.targets.triton.releases import Release, release_for

_VERSION = re.compile(r"""^__version__ = ['"](\d+\.\d+[^'"]*)['"]""", re.MULTILINE)


INSTALL = "pip install 'tilewright[triton]' (Linux, Triton 3.6 or later)"


class TritonMissing(ImportError):
    """Triton is not installed."""


@cache
def directory() -> Path:
    """Where Triton is installed; raises `TritonMissing`.

    A checkout of its sources may come first on the path (pytest puts it there for Triton's own
    tests): it has the package, with stubs of the compiled library only.
    """
    # Not `importlib.util.find_spec`: under `compat`, that finds Tilewright.
    for entry in sys.path:
        spec = PathFinder.find_spec("triton", [entry])
        if spec is not None and spec.origin is not None:
            found = Path(spec.origin).parent
            if any(found.glob("_C/libtriton*.so")):
                return found
    raise TritonMissing(f"target 'triton' needs Triton, which is not installed: {INSTALL}")


@cache
def installed() -> str:
    """The version of Triton, found without loading it."""
    # Its first lines have it, in a fraction of the time that the metadata of a package take.
    found = _VERSION.search((directory() / "__init__.py").read_text())
    if found:
        return found[1]
    from importlib.metadata import version  # slow to load

    return version("triton")


def release() -> tuple[Release, bool]:
    """The row for the installed Triton, and whether it is known exactly."""
    return release_for(installed())


def spelling_of(text_of: Callable[..., str], module: object) -> str:
    """`module` in the text of the installed release, with the user's lines."""
    row, _ = release()
    text = text_of(module, flavour=row.flavour, locations=True)
    for ours, other in (row.respelt or {}).items():
        text = text.replace(ours, other)
    return text


def fingerprint() -> str:
    """What of the installation decides over the machine code; part of every cache key."""
    named = [f"triton {installed()}"]
    for name in ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"):
        path = os.environ.get(name)
        if path and Path(path).exists():
            status = Path(path).stat()
            named.append(f"{path} {status.st_size} {status.st_mtime_ns}")
    switches = ("TRITON_", "MLIR_", "LLVM_", "PTXAS_", "DISABLE_", "ALLOW_", "ENABLE_", "USE_IR")
    settings = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(switches) and "CACHE" not in name
    }
    return "\n".join([*named, *(f"{name}={settings[name]}" for name in sorted(settings))])
