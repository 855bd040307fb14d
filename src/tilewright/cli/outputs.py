"""Files that commands write: whole, or as they were before."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: str | Path, text: str, *, errors: str = "strict") -> None:
    """Write `text` to `path`; a full disk or an interrupt does not cost what was there.

    The text is written next to the target first. What is no ordinary file (a pipe, a terminal,
    ``/dev/stdout``) cannot be replaced and is written directly.
    """
    # A link stays, and what it points to is replaced.
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_text(text, encoding="utf-8", errors=errors)
        return
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        draft.write_text(text, encoding="utf-8", errors=errors)
        if target.exists():
            draft.chmod(target.stat().st_mode)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
