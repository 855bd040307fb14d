"""Entries for tests of the disk cache."""

import os
import time
from pathlib import Path

from tilewright.targets import store

SECTIONS = {"a": b"first", "empty": b"", "b": b"\x00\xff" * 50}
K = store.digest("k")


ROOT = Path(__file__).parents[3]


def module_path() -> str:
    """`PYTHONPATH` for processes with this Tilewright and these tests."""
    given = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join(filter(None, [str(ROOT / "src"), str(ROOT), given]))


def key(number: int) -> str:
    return store.digest(str(number))


def fill(own, count, size=300_000, used=None):
    """Store entries of `size` bytes, the first of them used longest ago, or all at `used`."""
    for number in range(count):
        assert store.store("artefacts", key(number), {"data": os.urandom(size)})
        at = time.time() - 1000 + number if used is None else used
        os.utime(own / f"artefacts-{key(number)}.entry", (at, at))


def numbers(own, count):
    """Which of the first entries are there."""
    return [n for n in range(count) if (own / f"artefacts-{key(n)}.entry").exists()]
