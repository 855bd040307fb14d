"""Artefacts on disk: what was compiled once is not compiled again, by any process.

    $TILEWRIGHT_CACHE_DIR, else $XDG_CACHE_HOME/tilewright, else ~/.cache/tilewright
      artefacts/<key>     one file: the cubin, the launch facts, what was remarked; a checksum
      stages/<key>        the texts of its stages, compressed
      kernels/<key>       which artefact a kernel function has, so that it need not be traced
      texts/<key>.mlir    what Triton read; line information of generated code points here

A file is written under another name and then renamed, so readers see all of it or nothing. A file
that does not hold what its checksum says is thrown away and made again. The folder is bounded by
$TILEWRIGHT_CACHE_MB (2048 unless set): a write that goes beyond removes the files that were unused
longest. A folder that cannot be written costs time, not results: compilation goes on without.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_MAGIC = "tilewright-1"
_DEFAULT_MB = 2048
# Where kernels are traced and lowered. What runs them, or compiles others, changes no machine code.
_ROOMS = (
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
    "targets/triton",
)
_KEEP = 0.75
"""What part of the bound is left after a clearing, so that not every write clears."""
_UNSEEN = 1 / 32
"""What part of the bound a process writes before it looks at the whole folder again."""
_unseen_bytes: dict[Path, int] = {}


def cache_dir() -> Path:
    """The folder in force; it need not exist."""
    given = os.environ.get("TILEWRIGHT_CACHE_DIR")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "tilewright"
    try:
        return Path.home() / ".cache" / "tilewright"
    except RuntimeError:  # a user without a home
        return Path(tempfile.gettempdir()) / f"tilewright-{os.getuid()}" / "cache"


def digest(*parts: str | bytes) -> str:
    """A name for `parts` together; the boundaries between them count."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", errors="surrogateescape") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


@cache
def our_version() -> str:
    """Which Tilewright this is: the state of the files that decide over machine code.

    A checkout changes without a new version, and a kernel compiled by the code of yesterday must
    not hide what the code of today does. Asking for the size and age of every file takes a few
    milliseconds, once.
    """
    root = Path(__file__).parents[2]
    state: list[str] = []
    folders = [str(root / room) for room in _ROOMS]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                if entry.is_dir() and entry.name != "__pycache__":
                    folders.append(entry.path)
                elif entry.name.endswith(".py"):
                    status = entry.stat()
                    state.append(f"{entry.path} {status.st_size} {status.st_mtime_ns}")
    return digest(*state)


def load(kind: str, key: str) -> dict[str, bytes] | None:
    """The sections stored under `key`, or None if there are none or they are damaged."""
    path = cache_dir() / kind / key
    try:
        data = path.read_bytes()
    except OSError:
        return None
    found = _unpacked(data)
    if found is None:
        with contextlib.suppress(OSError):
            path.unlink()
        return None
    touch(kind, key)
    return found


def touch(kind: str, key: str) -> bool:
    """Whether there is something under `key`; it was used now, and is cleared last."""
    try:
        os.utime(cache_dir() / kind / key)
    except OSError:
        return False
    return True


def store(kind: str, key: str, sections: Mapping[str, bytes]) -> bool:
    """Keep `sections` under `key`; whether that worked."""
    root, data = cache_dir(), _packed(sections)
    try:
        _write(root / kind / key, data)
        unseen = _unseen_bytes.get(root)
        # The first write of a process looks: others may have written before it.
        if unseen is None or unseen + len(data) > _bound_bytes() * _UNSEEN:
            _clear(root)
            unseen = -len(data)
        _unseen_bytes[root] = unseen + len(data)
    except OSError:
        return False
    return True


def text_path(key: str) -> Path:
    """Where the text for Triton is written: its place in the cache, or a folder for scratch."""
    path = cache_dir() / "texts" / f"{key[:32]}.mlir"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if os.access(path.parent, os.W_OK):
            return path
    except OSError:
        pass
    return Path(tempfile.gettempdir()) / f"tilewright-{os.getuid()}" / path.name


def _packed(sections: Mapping[str, bytes]) -> bytes:
    body = b"".join(sections.values())
    table = [(name, len(data)) for name, data in sections.items()]
    head = json.dumps([_MAGIC, hashlib.sha256(body).hexdigest(), table])
    return head.encode() + b"\n" + body


def _unpacked(data: bytes) -> dict[str, bytes] | None:
    head, _, body = data.partition(b"\n")
    try:
        magic, checksum, table = json.loads(head)
        sizes = {str(name): int(size) for name, size in table}
    except (ValueError, TypeError):
        return None
    if magic != _MAGIC or hashlib.sha256(body).hexdigest() != checksum:
        return None
    sections: dict[str, bytes] = {}
    start = 0
    for name, size in sizes.items():
        sections[name] = body[start : start + size]
        start += size
    return sections if start == len(body) else None


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".draft-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _clear(root: Path) -> None:
    bound = _bound_bytes()
    found: list[tuple[float, int, Path]] = []
    for path in root.glob("*/*"):
        with contextlib.suppress(OSError):  # another process may have cleared it
            status = path.stat()
            found.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in found)
    if total <= bound:
        return
    for _, size, path in sorted(found, key=lambda each: each[0]):
        if total <= bound * _KEEP:
            return
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size


def _bound_bytes() -> int:
    given = os.environ.get("TILEWRIGHT_CACHE_MB", "")
    return (int(given) if given.isdecimal() else _DEFAULT_MB) * 1024 * 1024
