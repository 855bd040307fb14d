"""What is removed from the cache, and when: by age, by size, or because the user clears it.

Only files that we wrote are removed (`listing.remove` looks at each). A directory in which
anything else is found (an unknown name, a link, a directory, a file of another user, a tag
that is not ours) is used, but not swept: then it grows up to its limit and no further.

Several processes may sweep at the same time. They see the same order, oldest use first, and so
remove the same files; what was used or written again in the meantime stays.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from tilewright.targets.store.directory import Directory
from tilewright.targets.store.listing import DRAFTS, Listing, Stored, list_files, remove

_KEEP = 0.75
"""What part of the limit is left after a sweep, so that not every write sweeps."""
_DRAFT_SECONDS = 60 * 60
"""The age at which a draft is considered abandoned by its process."""
_NANOSECONDS = 1e9


class Full(OSError):
    """The limit is reached, and nothing may be removed."""


@dataclass(frozen=True)
class Removed:
    """What was removed."""

    files: int = 0
    size_bytes: int = 0
    refused: tuple[str, ...] = ()
    """Names of files that stayed: not ours, used in the meantime, or not to be removed."""


def make_space(directory: Directory, size_bytes: int, limit: int, max_age: float) -> None:
    """See to it that `size_bytes` more stay below the limit; raises `Full`."""
    found = list_files(directory)
    if found.foreign:
        if found.size_bytes + size_bytes > limit:
            raise Full(
                f"{found.size_bytes} of {limit} bytes are used, and entries cannot be "
                f"evicted because '{found.foreign[0]}' was not written by Tilewright"
            )
        return
    if not found.is_tagged:
        directory.tag()
    _sweep(directory, found, size_bytes, limit, max_age)


def clear(directory: Directory) -> Removed:
    """Remove all entries; only what another process is writing stays, and what is not ours."""
    drafts_until = time.time() - _DRAFT_SECONDS
    return _remove(
        directory,
        (
            each
            for each in list_files(directory).stored
            if each.kind != DRAFTS or _used(each) < drafts_until
        ),
    )


def _sweep(
    directory: Directory, found: Listing, size_bytes: int, limit: int, max_age: float
) -> None:
    now = time.time()
    total = found.size_bytes
    old = [each for each in found.stored if _used(each) < now - _age_of(each, max_age)]
    total -= _remove(directory, old).size_bytes
    if total + size_bytes <= limit:
        return
    gone = set(old)
    for each in found.stored:  # oldest use first
        if total + size_bytes <= limit * _KEEP:
            return
        if each not in gone and each.kind != DRAFTS and remove(directory, each):
            total -= each.size_bytes


def _age_of(each: Stored, max_age: float) -> float:
    return min(_DRAFT_SECONDS, max_age) if each.kind == DRAFTS else max_age


def _remove(directory: Directory, files: Iterable[Stored]) -> Removed:
    count = size_bytes = 0
    refused: list[str] = []
    for each in files:
        if remove(directory, each):
            count += 1
            size_bytes += each.size_bytes
        else:
            refused.append(each.name)
    return Removed(count, size_bytes, tuple(refused))


def _used(each: Stored) -> float:
    return each.used_ns / _NANOSECONDS
