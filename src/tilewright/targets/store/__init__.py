"""Results on disk, for all targets: what one process computed, others need not compute again.

    artefacts     machine code of tl and tlx kernels: the cubin, launch metadata, remarks
    stages        the texts of their stages, compressed
    kernels       which artefact a kernel function has, so that it need not be traced
    texts         what Triton read; line information of generated code points here
    programs      machine code and sources of T kernels
    hip-programs  the same for AMD GPUs
    tenstorrent   what the C++ compiler of this machine makes of Tenstorrent kernels and their host
    native        what the C compiler of this machine makes of the launcher
    tuning        times that `tw.autotune` measured for tl kernels
    autotune      times that it measured for T kernels

`limits` defines where the cache is and how large it may be, `directory` which files are ours and
how they are opened, `entries` their contents, `listing` what exists, `eviction` what is removed.

A cache costs time, never results. A directory that cannot be written (read-only, full, owned by
another user) is warned about once, and compilation goes on without; a damaged entry counts as
absent.

Computers may share the directory over NFS: a writer closes a file whose name is random
before it renames it, and readers check a digest. There are no locks, which NFS may not have.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from tilewright.targets.store.directory import ENTRY, TEXT, is_marked, mark, open_directory
from tilewright.targets.store.entries import DAMAGED, packed, unpacked
from tilewright.targets.store.keys import digest, is_key, our_version
from tilewright.targets.store.limits import (
    DIRECTORY,
    MEGABYTES,
    cache_dir,
    max_age_seconds,
    max_bytes,
    warn_once,
)

__all__ = [
    "DAMAGED",
    "Kind",
    "cache_dir",
    "digest",
    "is_key",
    "load",
    "our_version",
    "refresh",
    "store",
    "text_file",
]

Kind: TypeAlias = Literal[
    "artefacts",
    "stages",
    "kernels",
    "programs",
    "hip-programs",
    "tenstorrent",
    "native",
    "tuning",
    "autotune",
]
"""What entries hold: letters, and single dashes between them (see `listing`)."""

_UNSEEN = 1 / 32
"""What part of the limit a process writes before it looks at the whole directory again."""
_unseen_bytes: dict[Path, int] = {}
_REMOVED = (errno.ENOENT, errno.ESTALE)
"""The whole directory was removed in the meantime, here or (over NFS) by another computer."""


def load(kind: Kind, key: str) -> dict[str, bytes] | None:
    """The sections stored under `key`, or None if there are none or they are damaged."""
    if not is_key(key):
        return None
    name = f"{kind}-{key}.{ENTRY}"
    try:
        with open_directory(cache_dir()) as directory, directory.opened(name) as descriptor:
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                found = unpacked(name, file.read())
            if found is None:
                directory.discard(name, descriptor)
            else:
                _use(descriptor)
    except OSError:
        return None
    return found


def refresh(kind: Kind, key: str) -> bool:
    """Whether there is something under `key`; it was used now, and is evicted last."""
    if not is_key(key):
        return False
    try:
        name = f"{kind}-{key}.{ENTRY}"
        with open_directory(cache_dir()) as directory, directory.opened(name) as descriptor:
            is_there = is_marked(descriptor, name)
            _use(descriptor)
    except OSError:
        return False
    return is_there


def store(kind: Kind, key: str, sections: Mapping[str, bytes]) -> bool:
    """Cache `sections` under `key`, a `digest`; whether that worked."""
    if not is_key(key):
        raise ValueError(f"not a digest: {key!r}")
    name = f"{kind}-{key}.{ENTRY}"
    return _write(name, packed(name, sections)) is not None


@contextmanager
def text_file(key: str, text: str) -> Generator[Path]:
    """A file with `text` for Triton: in the cache, else one that goes when the block ends."""
    name = f"texts-{key}.{TEXT}"
    path = _write(name, f"{text}\n// {mark(name).decode()}\n".encode())
    if path is not None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="tilewright-") as scratch:
        path = Path(scratch) / name
        path.write_text(text, encoding="utf-8")
        yield path


def _use(descriptor: int) -> None:
    with contextlib.suppress(OSError):  # a read-only cache, or one of root
        os.utime(descriptor)


def _write(name: str, data: bytes) -> Path | None:
    """Write the file `name`; its path, or None where that did not work."""
    if len(data) > max_bytes():
        return None
    try:
        try:
            return _written(name, data)
        except OSError as error:
            if error.errno not in _REMOVED:
                raise
            return _written(name, data)
    except OSError as error:
        _warn(error)
        return None


def _written(name: str, data: bytes) -> Path:
    from tilewright.targets.store.eviction import make_space  # a warm start does without

    limit = max_bytes()
    with open_directory(cache_dir(), create=True) as directory:
        unseen = _unseen_bytes.get(directory.path)
        # The first write of a process looks: others may have written before it.
        if unseen is None or unseen + len(data) > limit * _UNSEEN:
            make_space(directory, len(data), limit, max_age_seconds())
            unseen = 0
        directory.write(name, data)
        _unseen_bytes[directory.path] = unseen + len(data)
        return directory.path / name


def _warn(error: OSError) -> None:
    where = f" '{error.filename}':" if error.filename else ""
    reason = error.strerror or str(error)
    warn_once(
        "write",
        f"cache directory '{cache_dir()}' is not writable:{where} {reason}. Results that "
        f"are not cached are recomputed by every process; set {DIRECTORY} to another "
        f"directory, or {MEGABYTES}=0 to disable the cache",
    )
