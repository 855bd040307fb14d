"""The search kernel, compiled where numba is installed, as it is otherwise.

Both run the same source over the same numbers, so they visit the same nodes and find the same plan,
and a search can change from one to the other on its way. Compiled code is some twenty times
quicker, but loading it takes a second, and the very first time ten. It is therefore used when it is
loaded already, or when a search has been going on for so long that it may well go on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tilewright.memory.planner import blame, kernel, state
from tilewright.memory.planner.state import State, Tables

Run = Callable[[Tables, State, int], int]

BACKENDS = ("auto", "python", "numba")

_WORTH_LOADING_AFTER_SECONDS = 3.0


@dataclass(frozen=True)
class Engine:
    """A way to run the kernel. `nodes_a_look` is how far it goes between looks at the clock."""

    name: str
    run: Run
    tables: Callable[[Tables], Tables]
    state: Callable[[State], State]
    nodes_a_look: int


PYTHON = Engine("python", kernel.run, lambda tables: tables, lambda state: state, 16)


def engine(backend: str, elapsed_seconds: float = 0.0) -> Engine:
    """The engine to use for a search that has been going on for some time."""
    if backend not in BACKENDS:
        raise ValueError(f"unknown backend '{backend}'; known: {', '.join(BACKENDS)}")
    if backend == "python" or (backend == "auto" and not _is_worth_it(elapsed_seconds)):
        return PYTHON
    return compiled()


def _is_worth_it(elapsed_seconds: float) -> bool:
    if compiled.cache_info().currsize:
        return True
    is_there = "numba" in sys.modules or find_spec("numba") is not None
    return is_there and elapsed_seconds >= _WORTH_LOADING_AFTER_SECONDS


@cache
def compiled() -> Engine:
    """The compiled kernel. Raises ImportError with what to install where there is no numba."""
    try:
        # By name, because nothing in this package may depend on it.
        numba: Any = import_module("numba")
        extending: Any = import_module("numba.extending")
        numpy: Any = import_module("numpy")
    except ImportError as error:
        raise ImportError("the compiled search needs numba: pip install numba") from error
    for helper in kernel.HELPERS:
        extending.register_jitable(helper)
    kernel_run: Any = extending.register_jitable(kernel.run)
    fingerprint = _fingerprint()

    def run(tables: Tables, state: State, nodes: int) -> int:
        # Never true. Compiled code is cached on disk by this function's text and by the values it
        # closes over; through this one the sources of everything it calls count as well.
        if fingerprint == nodes:
            return kernel.GOING
        return kernel_run(tables, state, nodes)

    try:
        compiled_run: Run = numba.njit(cache=True)(run)
    except RuntimeError:  # no directory to cache it in
        compiled_run = numba.njit(run)

    def as_arrays(values: Any) -> Any:
        return values._make(numpy.array(column, dtype=numpy.int64) for column in values)

    return Engine("numba", compiled_run, as_arrays, as_arrays, 500)


def _fingerprint() -> int:
    """A negative number that changes with the sources of the kernel."""
    digest = sha256()
    for module in (state, blame, kernel):
        digest.update(Path(str(module.__file__)).read_bytes())
    return -1 - int.from_bytes(digest.digest()[:6], "big")


def warm_up() -> str:
    """Load and compile the kernel now, if that is possible; the name of the engine ready to use."""
    try:
        ready = compiled()
    except ImportError:
        return PYTHON.name
    from tilewright.memory.planner.conflicts import conflicts_of
    from tilewright.memory.planner.decompose import parts_of
    from tilewright.memory.planner.problem import Block
    from tilewright.memory.planner.tables import fresh_state, tables_of

    part = parts_of(conflicts_of([Block("a", 1), Block("b", 1)]))[0]
    tables = tables_of(part)
    ready.run(ready.tables(tables), ready.state(fresh_state(part, tables, 2)), 10)
    return ready.name
