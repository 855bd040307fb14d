"""The `tl` examples under Triton's own interpreter, on the same NumPy arrays.

Triton's interpreter wants torch tensors but needs little of them: an address and an element type.
`Pointer` offers these for a NumPy array, and the copies to and from a device are left out, so the
interpreter works in place and pays nothing for the arrays.

    TRITON_INTERPRET=1 python -m tests.examples.interpreted NAME SEED OUT.npz

writes the results of one example. The variable has to be set before Triton is imported, which is
why this is a process of its own.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .tl_examples import load_for_triton


class Pointer:
    """A NumPy array with the two things Triton's interpreter asks a tensor for."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.dtype = str(array.dtype)

    def data_ptr(self) -> int:
        return self.array.ctypes.data


def _on_host(value: Any) -> Any:
    return Pointer(value) if isinstance(value, np.ndarray) else value


def load_interpreted(name: str, scratch: Path) -> ModuleType:
    """An example whose kernels run in Triton's interpreter."""
    import triton
    from triton.runtime import interpreter

    executor = interpreter.GridExecutor
    executor._init_args_hst = lambda self, args, kwargs: (
        [_on_host(each) for each in args],
        {key: _on_host(each) for key, each in kwargs.items()},
    )
    executor._restore_args_dev = lambda self, *args: None
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.interpret = True
        return load_for_triton(name, scratch)


def main(arguments: list[str]) -> None:
    name, seed, out = arguments
    import triton

    triton.reachable = lambda *arrays: contextlib.nullcontext()
    with tempfile.TemporaryDirectory() as scratch:
        module = load_interpreted(name, Path(scratch))
        results = module.example(np.random.default_rng(int(seed)))
    if isinstance(results[0], tuple):
        results = results[0]
    np.savez(out, *[np.asarray(each) for each in results])


if __name__ == "__main__":
    main(sys.argv[1:])
