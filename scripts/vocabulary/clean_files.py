"""Files that have been checked and are clean, by content, so that a second check is quick."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import TracebackType

HERE = Path(__file__).parent


class CleanFiles:
    """Digests of clean files, stored when the context ends; another set of rules starts anew."""

    def __init__(self, store: Path) -> None:
        self._store = store
        rules = sorted(HERE.glob("*.py"))
        self._rules = _digest(*(each.read_bytes() for each in rules))
        self._digests: set[str] = set()
        self._new: set[str] = set()

    def __enter__(self) -> CleanFiles:
        lines = self._store.read_text().splitlines() if self._store.is_file() else []
        if lines[:1] == [self._rules]:
            self._digests = set(lines[1:])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._new:
            return
        self._store.parent.mkdir(parents=True, exist_ok=True)
        text = "\n".join([self._rules, *sorted(self._digests | self._new)])
        # Written aside and renamed: two checks at the same time never read half a file.
        aside = self._store.with_suffix(f".{_digest(text.encode())[:8]}")
        aside.write_text(text)
        aside.replace(self._store)

    def __contains__(self, path: Path) -> bool:
        return _of_file(path) in self._digests

    def add(self, path: Path) -> None:
        """Remember that a file is clean."""
        self._new.add(_of_file(path))


def _of_file(path: Path) -> str:
    # What is allowed depends on the path, too.
    return _digest(path.as_posix().encode(), path.read_bytes())


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()
