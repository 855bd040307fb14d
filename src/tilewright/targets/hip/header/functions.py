"""The device functions of a chip, by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from tilewright.layouts.hardware.amd_chips import Chip
from tilewright.targets.hip.header.arithmetic import ARITHMETIC, TYPES
from tilewright.targets.hip.header.atomics import atomics
from tilewright.targets.hip.header.buffers import buffers
from tilewright.targets.hip.header.conversions import conversions
from tilewright.targets.hip.header.exchange import exchange
from tilewright.targets.hip.header.function import Function
from tilewright.targets.hip.header.mathematics import MATHEMATICS
from tilewright.targets.hip.header.sync import HINTS, identity, sync


@cache
def functions_of(chip: Chip) -> Mapping[str, Function]:
    """All device functions that a kernel for `chip` may call."""
    return {
        **TYPES,
        **ARITHMETIC,
        **conversions(chip),
        **identity(chip),
        **sync(chip),
        **HINTS,
        **exchange(chip),
        **atomics(chip),
        **buffers(chip),
        **MATHEMATICS,
    }
