"""The one directory that the cache owns, and access to files in it that never leads out of it.

    $TILEWRIGHT_CACHE_DIR/               may hold anything; nothing here is ever removed
      tilewright-cache-v2/               ours; mode 0700
        CACHEDIR.TAG                     backup programs leave the directory out
        <kind>-<64 hex digits>.entry     what was stored
        texts-<64 hex digits>.mlir       what Triton read; line information points here
        draft-<32 hex digits>.part       being written; renamed when it is whole

The directory is opened once for each operation, without following a link, and files are reached
through that descriptor by name alone, again without following links: no path is looked up twice,
so nothing can be put in its way between a check and a use. It is flat, so that this holds for all
of it.

What other users could have written is not read: the directory and a file in it belong to this user
or to root, and no other user may write them. A directory that does not pass (or is a link, or a
file) is left alone, and ``tilewright-cache-v2-<user id>`` is used instead.

A file is *ours* if it has such a name, is a regular file of this user, and holds the mark that was
written with it: its first or last line is ``tilewright-cache-v2 <kind>-<key>``. Only those are ever
removed. Entries of earlier layouts are in other directories; they are neither used nor removed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

NAME = "tilewright-cache-v2"
TAG = "CACHEDIR.TAG"
ENTRY = "entry"
TEXT = "mlir"
DRAFT = "draft-"

_TAG_TEXT = b"""\
Signature: 8a477f597d28d172789f06886806bc55
# Tilewright can compute again what is stored here. It removes its own files by age and size;
# see `tilewright cache --help`. About this tag: https://bford.info/cachedir/
"""
_MARK_BYTES = 256
"""Where a mark is looked for, from both ends of a file."""
_MAX_ENTRY_BYTES = 1 << 30

_IS_SUPPORTED = hasattr(os, "O_NOFOLLOW") and os.open in os.supports_dir_fd
_OPEN_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
# A pipe under the name of an entry must not block.
_OPEN_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_OPEN_DRAFT = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


class Directory:
    """The directory of the cache while it is open."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor

    @contextmanager
    def opened(self, name: str) -> Generator[int]:
        """A descriptor for reading the file `name`; raises `OSError` if it is not to be read."""
        descriptor = os.open(name, _OPEN_FILE, dir_fd=self.descriptor)
        try:
            status = os.fstat(descriptor)
            reason = _distrust(status)
            if not stat.S_ISREG(status.st_mode):
                reason = "is not a regular file"
            elif status.st_size > _MAX_ENTRY_BYTES:
                reason = f"has {status.st_size} bytes"
            if reason is not None:
                raise OSError(errno.EPERM, reason, name)
            yield descriptor
        finally:
            os.close(descriptor)

    def write(self, name: str, data: bytes) -> None:
        """Store `data` as `name`; readers see all of it or what was there before."""
        self._check_replaceable(name)
        draft = f"{DRAFT}{os.urandom(16).hex()}.part"
        descriptor = os.open(draft, _OPEN_DRAFT, 0o600, dir_fd=self.descriptor)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.replace(draft, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft, dir_fd=self.descriptor)
            raise

    def _check_replaceable(self, name: str) -> None:
        try:
            status = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise FileExistsError(errno.EEXIST, "is not a file of this cache", name)

    def discard(self, name: str, descriptor: int) -> bool:
        """Remove the file `name`, which is open, if it is ours; whether it was."""
        if not is_marked(descriptor, name):
            return False
        os.unlink(name, dir_fd=self.descriptor)
        return True

    def tag(self) -> None:
        """Write the tag, unless there is one."""
        try:
            os.stat(TAG, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            self.write(TAG, _TAG_TEXT)

    def is_our_tag(self) -> bool:
        """Whether there is a tag, and Tilewright wrote it."""
        try:
            with self.opened(TAG) as descriptor:
                return os.read(descriptor, len(_TAG_TEXT) + 1) == _TAG_TEXT
        except OSError:
            return False


@contextmanager
def open_directory(base: Path, *, create: bool = False) -> Generator[Directory]:
    """The directory of the cache in `base`; raises `OSError` where there is none to be used."""
    if not _IS_SUPPORTED:
        raise OSError(errno.ENOTSUP, "this platform cannot open files without following links")
    path, descriptor = _trusted(base, create)
    try:
        yield Directory(path, descriptor)
    finally:
        os.close(descriptor)


def mark(name: str) -> bytes:
    """The line by which a file is known to be ours."""
    return f"{NAME} {name.rpartition('.')[0]}".encode()


def _trusted(base: Path, create: bool) -> tuple[Path, int]:
    """The first of the two directories that is to be trusted, open."""
    path = base / NAME
    try:
        return path, _open_trusted(path, create)
    except (NotADirectoryError, PermissionError) as error:
        if error.errno == errno.EACCES and not os.path.lexists(path):
            raise  # it is `base` that cannot be read or written
    path = base / f"{NAME}-{os.geteuid()}"
    return path, _open_trusted(path, create)


def _open_trusted(path: Path, create: bool) -> int:
    is_new = create and _make(path)
    try:
        descriptor = os.open(path, _OPEN_DIRECTORY)
    except OSError as error:
        if error.errno == errno.ELOOP:  # some systems report a link like this, others with ENOTDIR
            raise NotADirectoryError(errno.ENOTDIR, "is a link", str(path)) from None
        raise
    try:
        reason = _distrust(os.fstat(descriptor))
        if reason is not None:
            raise PermissionError(errno.EPERM, reason, str(path))
        if is_new:
            Directory(path, descriptor).tag()
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _make(path: Path) -> bool:
    """Make the directory; whether it is new."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        return False
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
    return True


def _distrust(status: os.stat_result) -> str | None:
    """Why another user may have written this, if so."""
    if status.st_uid not in (os.geteuid(), 0):
        return f"belongs to user {status.st_uid}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"can be written by other users (mode {stat.S_IMODE(status.st_mode):04o})"
    return None


def is_marked(descriptor: int, name: str) -> bool:
    """Whether the file holds what was written under that name; an empty one holds nothing to lose.

    A draft is known by its name alone: the process that wrote it may have ended in the middle.
    """
    size = os.fstat(descriptor).st_size
    if size == 0 or name.startswith(DRAFT):
        return True
    line = mark(name)
    head = os.pread(descriptor, _MARK_BYTES, 0)
    tail = os.pread(descriptor, _MARK_BYTES, max(0, size - _MARK_BYTES))
    return head.startswith(line + b"\n") or tail.endswith(b"\n// " + line + b"\n")
