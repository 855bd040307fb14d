"""The search kernel, compiled where numba is installed, as it is otherwise.

Both run the same source over the same numbers, so they visit the same nodes and find the same plan;
compiled code is some hundred times quicker, but loading it takes a second or more. It is therefore
used when it is loaded already, or when the search is going to be long.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tilewright.memory.planner import kernel
from tilewright.memory.planner.kernel import State, Tables

Run = Callable[[Tables, State, int], int]

BACKENDS = ("auto", "python", "numba")

_WORTH_LOADING_NODES = 100_000
_WORTH_LOADING_SECONDS = 5.0


@dataclass(frozen=True)
class Engine:
    """A way to run the kernel. `nodes_a_look` is how far it goes between looks at the clock."""

    name: str
    run: Run
    tables: Callable[[Tables], Tables]
    state: Callable[[State], State]
    nodes_a_look: int


PYTHON = Engine("python", kernel.run, lambda tables: tables, lambda state: state, 16)


def engine(backend: str, nodes: int | None, seconds: float | None) -> Engine:
    """The engine to use for a search with these limits; None is no limit."""
    if backend not in BACKENDS:
        raise ValueError(f"unknown backend '{backend}'; known: {', '.join(BACKENDS)}")
    if backend == "python" or (backend == "auto" and not _is_worth_it(nodes, seconds)):
        return PYTHON
    return compiled()


def _is_worth_it(nodes: int | None, seconds: float | None) -> bool:
    if "numba" not in sys.modules and find_spec("numba") is None:
        return False
    if compiled.cache_info().currsize:
        return True
    is_long = nodes is None or nodes >= _WORTH_LOADING_NODES
    return is_long and (seconds is None or seconds >= _WORTH_LOADING_SECONDS)


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
    run: Run = numba.njit(cache=True)(kernel.run)

    def as_arrays(values: Any) -> Any:
        return values._make(numpy.array(column, dtype=numpy.int64) for column in values)

    return Engine("numba", run, as_arrays, as_arrays, 2000)


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
