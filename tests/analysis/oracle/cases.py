"""One access in one run, with the formulas of the report evaluated where it ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tests.analysis.oracle.binding import Batch, Subject
from tests.analysis.oracle.recording import Array, Path, Recording, Touch, When
from tilewright.analysis.pid_address import MemoryOp

_MAX_SORTED = 1 << 17
"""Addresses of one access that are sorted to find runs."""


@dataclass(frozen=True)
class Refuted:
    """A claim that a run contradicts."""

    claim: str
    subject: str
    what: str

    def __str__(self) -> str:
        return f"{self.claim} of {self.subject}: {self.what}"


class Case:
    """One access in one run."""

    def __init__(
        self,
        subject: Subject,
        recording: Recording,
        access: MemoryOp,
        path: Path,
        touches: Sequence[Touch],
    ) -> None:
        self.subject = subject
        self.recording = recording
        self.access = access
        self.path = path
        self.touches = touches
        self.whens = [touch.when for touch in touches]
        self.counters = [loop.counter.name for loop in access.loops]
        shape = access.shape
        self.addresses = (
            np.stack([touch.addresses for touch in touches])
            if touches
            else np.zeros((0, *shape), dtype=np.int64)
        )
        self.mask = (
            np.stack([touch.mask for touch in touches])
            if touches
            else np.zeros((0, *shape), dtype=bool)
        )
        self.batch = Batch(subject, recording, self.whens, self.counters, shape)

    @property
    def runs(self) -> bool:
        return bool(self.touches) and len(self.counters) == len(self.whens[0].counters)

    def some(self) -> list[tuple[int, Array]]:
        """Executions to sort addresses of: all of small tensors, some of large ones."""
        lanes = max(1, int(np.prod(self.access.shape)))
        step = max(1, -(-len(self.touches) * lanes // _MAX_SORTED))
        return [(at, self.addresses[at]) for at in range(0, len(self.touches), step)]

    def base(self) -> Array | None:
        """The address of the base in each execution; None where it has none."""
        name, launch = self.access.base, self.recording.launch
        if name.startswith("%"):
            return np.asarray(launch.addresses[name[1:]])
        if name[1:] in self.subject.values:
            value, path = self.subject.values[name[1:]]
            history = self.recording.values.get((value, path), {})
            found = [
                history.get(When(w.program, w.counters[: _depth(history)])) for w in self.whens
            ]
            if all(one is not None and one.ndim == 0 for one in found):
                column = np.asarray(found, dtype=np.int64)
                return column.reshape((-1, *([1] * len(self.access.shape))))
            return None
        if name[1:].removeprefix("%") in launch.args:
            return np.asarray(launch.args[name[1:].removeprefix("%")])
        return None


def _depth(history: Mapping[When, Array]) -> int:
    return len(next(iter(history)).counters) if history else 0


def known(case: Case) -> Array:
    return (~case.batch.missing).reshape((-1, *([1] * len(case.access.shape))))


def first(case: Case, wrong: Array, claimed: Array, found: Array) -> str:
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    claimed = np.broadcast_to(claimed, wrong.shape)
    found = np.broadcast_to(found, wrong.shape)
    return f"{case.whens[at[0]]}, lanes {at[1:]}: claimed {claimed[at]}, found {found[at]}"
