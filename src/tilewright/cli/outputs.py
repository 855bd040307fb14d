"""Files that commands write: whole, or as they were before."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from tilewright.cli.command_line import CommandLine, UsageError

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def write_whole(path: str | Path, text: str | bytes, *, errors: str = "strict") -> None:
    """Write `text` to `path`; a full disk or an interrupt does not cost what was there.

    The text is written next to the target first. What is no ordinary file (a pipe, a terminal,
    ``/dev/stdout``) cannot be replaced and is written directly.
    """
    # A link stays, and what it points to is replaced.
    target = Path(os.path.realpath(path))
    data = text if isinstance(text, bytes) else text.encode("utf-8", errors)
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(data)
        if target.exists():
            draft.chmod(target.stat().st_mode)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def write_output(line: CommandLine, text: str) -> None:
    """Write the result of a command where its command line has it."""
    if line.output == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        write_whole(line.output, text)
    except OSError as error:
        raise UsageError(f"cannot write '{line.output}': {error.strerror}") from None


def printable(rendered: str) -> str:
    """`rendered` without what names may contain but XML, UTF-8 and terminals cannot."""
    return _UNPRINTABLE.sub("\ufffd", rendered)
