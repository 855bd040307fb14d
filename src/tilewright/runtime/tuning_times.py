"""Measured times on disk, for later programs; ``TILEWRIGHT_AUTOTUNE=fresh`` measures again.

Of `tl` kernels, the times of all configurations are stored together (`autotune`), of `T` kernels
each by itself (`tile.tuning_cache`).
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from tilewright.targets import store

_SECTION = "times"


@dataclass(frozen=True)
class Times:
    """Milliseconds of a kernel and of its reference."""

    latency: float
    ref_latency: float | None = None
    is_brief: bool = False
    """Whether it was so slow that it was not measured for long."""


def stored(kind: store.Kind, key: str) -> Any:
    """What was measured, as it was stored; None if it is to be measured.

    It may be anything: what reads it must expect `store.DAMAGED`.
    """
    if os.environ.get("TILEWRIGHT_AUTOTUNE") == "fresh":
        return None
    found = store.load(kind, key)
    try:
        return None if found is None else json.loads(found[_SECTION])
    except store.DAMAGED:
        return None


def keep(kind: store.Kind, key: str, times: object) -> None:
    """Store what was measured; other programs see all of it or nothing."""
    store.store(kind, key, {_SECTION: json.dumps(times).encode()})
