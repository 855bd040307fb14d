"""The end of each part of the demo: a kernel with an injected fault, and its report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.targets.numpy.api import NumpyFault


def shows_fault(run: Callable[[], Any], emit: Callable[[str], None]) -> bool:
    """Whether `run` ends in a fault, which is shown."""
    try:
        run()
    except NumpyFault as fault:
        for line in str(fault).splitlines():
            emit("   " + line)
        return True
    emit("   nothing was reported")
    return False
