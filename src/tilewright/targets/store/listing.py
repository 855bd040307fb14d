"""What the directory of the cache holds: files with our names, and everything else.

Apart from `directory`, because only a process that writes looks at all of it; a warm start does
not load this.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass

from tilewright.targets.store.directory import DRAFT, ENTRY, TAG, TEXT, Directory

DRAFTS = "drafts"

_ENTRY_NAME = re.compile(rf"([a-z]+(?:-[a-z]+)*)-[0-9a-f]{{64}}\.(?:{ENTRY}|{TEXT})")
_DRAFT_NAME = re.compile(rf"{DRAFT}[0-9a-f]{{32}}\.part")
_NFS_OPEN = ".nfs"
"""How an NFS client names a file that was removed while one of its processes had it open: `remove`
does so. The name goes when the file is closed."""


@dataclass(frozen=True)
class Stored:
    """A file with one of our names, as it was when the directory was listed."""

    name: str
    kind: str
    """``drafts`` for those that are being written."""
    size_bytes: int
    used_ns: int
    """The last use, as its time of modification."""
    inode: int


@dataclass(frozen=True)
class Listing:
    """Everything in the directory."""

    stored: tuple[Stored, ...]
    """The one that was not used for longest comes first."""
    foreign: tuple[str, ...]
    """Names that Tilewright did not make, or that are no files of this user."""
    is_tagged: bool

    @property
    def size_bytes(self) -> int:
        return sum(each.size_bytes for each in self.stored)


def list_files(directory: Directory) -> Listing:
    """What is there, without looking into files."""
    stored: list[Stored] = []
    foreign: list[str] = []
    is_tagged = False
    with os.scandir(directory.descriptor) as entries:
        for entry in entries:
            if entry.name.startswith(_NFS_OPEN):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # another process removed it
                continue
            kind = _kind(entry.name)
            is_file = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
            if entry.name == TAG and directory.is_our_tag():
                is_tagged = True
            elif kind is None or not is_file:
                foreign.append(entry.name)
            else:
                use = status.st_mtime_ns
                stored.append(Stored(entry.name, kind, status.st_size, use, status.st_ino))
    stored.sort(key=lambda each: (each.used_ns, each.name))
    return Listing(tuple(stored), tuple(sorted(foreign)), is_tagged)


def remove(directory: Directory, seen: Stored) -> bool:
    """Remove a file, if it is ours and was not used since it was `seen`; whether it is gone."""
    try:
        with directory.opened(seen.name) as descriptor:
            status = os.fstat(descriptor)
            is_same = (status.st_ino, status.st_mtime_ns) == (seen.inode, seen.used_ns)
            return is_same and directory.discard(seen.name, descriptor)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _kind(name: str) -> str | None:
    if _DRAFT_NAME.fullmatch(name):
        return DRAFTS
    found = _ENTRY_NAME.fullmatch(name)
    return found[1] if found else None
