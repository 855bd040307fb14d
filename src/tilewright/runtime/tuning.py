"""The loop of all tuners: try configurations, each as soon as it can be, and take the quickest.

    search(backend, found)
         │ ready        compile ahead: configurations that can be tried, others meanwhile
         │ is_enough    where times do not count, the first that works is taken
         │ measure      one at a time; what fails is left out
         ▼ confirm      the quickest; if it is wrong after all, the next one

What differs between kernels of `tl` and of `T`, and between measuring, predicting and taking the
first, is a `Backend`. Of equally quick configurations the first in the list is taken, whichever was
ready first. Pruning comes before (`autotune`); times on disk are in `tuning_times`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Protocol

from tilewright.runtime.tuning_times import Times

Ready = Generator[tuple[int, Exception | None]]
Progress = Callable[[int, int], None]


def no_progress(_done: int, _total: int) -> None:
    """Shows nothing."""


@dataclass
class Found:
    """What became of the configurations, by their indices."""

    total: int
    times: dict[int, Times] = field(default_factory=dict[int, Times])
    faults: dict[int, Exception] = field(default_factory=dict[int, Exception])

    @property
    def best(self) -> int:
        """The quickest; there must be one."""
        return min(self.times, key=lambda index: (self.times[index].latency, index))

    @property
    def best_latency(self) -> float | None:
        return min((each.latency for each in self.times.values()), default=None)


class Backend(Protocol):
    """How the configurations of one kernel are compiled and measured."""

    def ready(self, found: Found) -> Ready:
        """Configurations that can be tried, or what is wrong with them; closed if no more matter.

        Times that are known already are put into `found`.
        """
        ...

    def is_enough(self, index: int) -> bool:
        """Whether this one is taken, and no other is tried; raises what is wrong with it."""
        ...

    def measure(self, index: int, best: float | None) -> Times | None:
        """How long it takes, the best so far taking `best`; None if it does not compete."""
        return None

    def confirm(self, index: int) -> None:
        """A last look at the one that is taken; raises what is wrong with it."""

    def is_fault(self, index: int, error: Exception) -> bool:
        """Whether this configuration is to blame, and others may do."""
        ...


def search(backend: Backend, found: Found, show: Progress) -> int | None:
    """The index of the configuration that is taken; None if none of them works."""
    with closing(backend.ready(found)) as ready:
        for index, fault in ready:
            show(len(found.times) + len(found.faults), found.total)
            try:
                if fault is not None:
                    raise fault
                if backend.is_enough(index):
                    return index
                times = backend.measure(index, found.best_latency)
            except Exception as error:
                if not backend.is_fault(index, error):
                    raise
                found.faults[index] = error
                continue
            if times is not None:
                found.times[index] = times
    show(found.total, found.total)
    while found.times:
        best = found.best
        try:
            backend.confirm(best)
        except Exception as error:
            if not backend.is_fault(best, error):
                raise
            found.faults[best] = error
            del found.times[best]
        else:
            return best
    return None


def nothing_works(
    name: str, configs: Sequence[object], found: Found, works: str = "works"
) -> Exception:
    """The first error, with a note that names the others."""
    (index, first), *rest = sorted(found.faults.items(), key=lambda each: each[0])
    others = "\n".join(f"  {configs[each]}: {headline(error)}" for each, error in rest)
    first.add_note(
        f"none of the {len(found.faults)} configurations of {name} {works}; the error "
        f"above is for {configs[index]}" + (f", the others:\n{others}" if others else "")
    )
    return first


def headline(error: Exception) -> str:
    """The first line of an error; of a compiler's text, the first that is one."""
    lines = str(error).splitlines() or [type(error).__name__]
    return next((line for line in lines if ": error" in line), lines[0])
