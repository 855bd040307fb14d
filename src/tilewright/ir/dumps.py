"""Looking inside a pipeline: the module before and after every pass, on a stream or in files.

A dump directory holds ``00-input.mlir``, ``01-canonicalize.mlir``, … and, if a pass fails, the
module after it as ``NN-failed.mlir``. Files of an earlier run are removed first, so that it never
mixes two runs. Input that is split gets a directory ``chunk-001`` per part, counted from 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

_DUMP_NAME = re.compile(r"\d\d-[\w.-]+\.mlir")


@dataclass(frozen=True)
class DumpOptions:
    """What to show of a pipeline."""

    split_input: bool = False
    dump_directory: Path | None = None
    print_before_all: bool = False
    print_after_all: bool = False
    print_after_failure: bool = False


class Dumps:
    """The dumps of one pipeline over one part of the input."""

    def __init__(
        self, options: DumpOptions, stream: TextIO, chunk: int, text: Callable[[], str]
    ) -> None:
        self._options = options
        self._stream = stream
        self._text = text
        self._last_index = 0
        self._directory = options.dump_directory
        if self._directory is not None and options.split_input:
            self._directory = self._directory / f"chunk-{chunk + 1:03d}"

    def begin(self) -> None:
        """Prepare the directory and dump the input."""
        if self._directory is None:
            return
        self._directory.mkdir(parents=True, exist_ok=True)
        for file in self._directory.iterdir():
            if _DUMP_NAME.fullmatch(file.name):
                file.unlink()
        self._write(0, "input")

    def before(self, name: str) -> None:
        if self._options.print_before_all:
            self._show(f"Before {name}")

    def after(self, name: str, index: int) -> None:
        self._last_index = index
        if self._options.print_after_all:
            self._show(f"After {name}")
        self._write(index, name)

    def failed(self) -> None:
        """Show the module after a pass that reported an error, or failed verification."""
        if self._options.print_after_all or self._options.print_after_failure:
            self._show("After Failure")
        self._write(self._last_index + 1, "failed")

    def _show(self, title: str) -> None:
        self._stream.write(f"// -----// IR Dump {title} //----- //\n{self._text()}\n")

    def _write(self, index: int, name: str) -> None:
        if self._directory is not None:
            (self._directory / f"{index:02d}-{name}.mlir").write_text(
                self._text(), encoding="utf-8", errors="surrogateescape"
            )
