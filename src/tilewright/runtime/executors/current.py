"""Where work is done inside a ``with``: `tw.executing`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.runtime.executors.pools import Where


@dataclass(frozen=True)
class Executing:
    """An executor, and the log of what it does."""

    where: Where
    log: str | Path | None = None
    patience_s: float | None = None


_current: ContextVar[Executing | None] = ContextVar("executing", default=None)


def current_executing() -> Executing | None:
    return _current.get()


@contextmanager
def executing(
    where: Where, *, log: str | Path | None = None, patience_s: float | None = None
) -> Generator[None]:
    """Tune kernels inside the ``with`` in other processes or on other machines.

    `where` is a number of processes, the address of a Dask scheduler (``tcp://HOST:PORT``), an
    executor (of loky, mpi4py, Ray: whatever has `submit`), or a function that makes one. Results
    are appended to `log`, and what it holds is not done again. An item that takes longer than
    `patience_s` seconds is given up.
    """
    before = _current.set(Executing(where, log, patience_s))
    try:
        yield
    finally:
        _current.reset(before)
