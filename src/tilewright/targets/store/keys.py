"""What entries are called: digests of all that decides what they hold."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

# Where kernels are traced and lowered. What runs them, or compiles others, changes no machine code.
_PACKAGES = (
    "analysis",
    "dialects",
    "frontend",
    "ir",
    "language",
    "layouts",
    "memory",
    "passes",
    "runtime",
    "targets/cuda",
    "targets/cxx",
    "targets/hip",
    "targets/host",
    "targets/triton",
)
_FILES = ("targets",)
"""Where only the files count, and no directory in it but those above."""
_DIGITS = frozenset("0123456789abcdef")


def digest(*parts: str | bytes) -> str:
    """A key for `parts` together; the boundaries between them count."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", errors="surrogateescape") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


def is_key(text: str) -> bool:
    """Whether `text` is a digest. One that was read from a file may be anything: ``../../x``."""
    return len(text) == 64 and _DIGITS.issuperset(text)


@cache
def our_version() -> str:
    """Which Tilewright this is: the state of the files that decide over machine code.

    A checkout changes without a new version, and a kernel compiled by the code of yesterday must
    not hide what the code of today does. The size and age of every file take a few milliseconds,
    once.
    """
    state: list[str] = []
    for entry in source_files():
        status = entry.stat()
        state.append(f"{entry.path} {status.st_size} {status.st_mtime_ns}")
    return digest(*state)


def source_files() -> Iterator[os.DirEntry[str]]:
    """The files whose contents decide over machine code."""
    root = Path(__file__).parents[2]
    directories = [str(root / package) for package in (*_FILES, *_PACKAGES)]
    shallow = {str(root / package) for package in _FILES}
    while directories:
        directory = directories.pop()
        with os.scandir(directory) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                if entry.is_dir():
                    if directory not in shallow and entry.name != "__pycache__":
                        directories.append(entry.path)
                elif entry.name.endswith(".py"):
                    yield entry
