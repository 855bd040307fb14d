"""Python's search for cycles, put off while IR is built and rewritten.

A module of IR is one large cycle: ops know their operands, values their uses. While passes run it
all stays alive, and each look at it for garbage, of which the collector has dozens to a kernel, is
useless. Garbage of a compile is found by the first collection after it.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Generator[None]:
    """No search for cycles inside; nothing happens where it is switched off already.

    The caller that switches it off switches it on again, and no other code changes it: so it is on
    when all of several threads are done.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
