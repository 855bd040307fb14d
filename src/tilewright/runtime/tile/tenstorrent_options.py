"""How programs run on the model of a Tenstorrent chip: set by a ``with`` around calls.

    with tw.tenstorrent_running(executor="source", numerics="device"):
        kernel(a, b)

The seed and the number of schedules are those of `tile_running`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.targets.tenstorrent.artefact import Artefact
    from tilewright.targets.tenstorrent.execution import RunResult

_VALUES = {"executor": ("ir", "source"), "numerics": ("exact", "device")}


@dataclass(frozen=True)
class TenstorrentOptions:
    """How to run."""

    executor: str = "ir"
    """`ir` interprets the kernels; `source` compiles the emitted C++ with the host's compiler."""
    numerics: str = "exact"
    """`exact` computes in fp32; `device` rounds where the hardware rounds."""
    trace: bool = False
    """Whether the events of the first schedule are recorded."""
    observer: Callable[[Artefact, RunResult], None] | None = None
    """Called after every run, also after one with findings."""

    def __post_init__(self) -> None:
        for name, known in _VALUES.items():
            value = getattr(self, name)
            if value not in known:
                raise ValueError(f"{name}: {value!r} is not one of {', '.join(known)}")


_current: ContextVar[TenstorrentOptions | None] = ContextVar("tenstorrent options", default=None)


def current_tenstorrent_options() -> TenstorrentOptions:
    return _current.get() or TenstorrentOptions()


@contextmanager
def tenstorrent_running(**changes: Any) -> Generator[TenstorrentOptions]:
    """Run kernels inside the ``with`` with other options, for instance ``executor="source"``."""
    known = [each.name for each in fields(TenstorrentOptions)]
    unknown = [name for name in changes if name not in known]
    if unknown:
        raise TypeError(f"unknown option {unknown[0]!r}; expected one of {', '.join(known)}")
    options = replace(current_tenstorrent_options(), **changes)
    before = _current.set(options)
    try:
        yield options
    finally:
        _current.reset(before)
