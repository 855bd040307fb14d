"""What goes wrong between HIP source and a code object."""

from __future__ import annotations


class HipCompilerMissing(Exception):
    """Neither hiprtc nor a clang that supports the chip is on this machine."""


class HipCompilerError(Exception):
    """The compiler did not accept the source; `log` is its output."""

    def __init__(self, message: str, log: str, source: str) -> None:
        super().__init__(f"{message}\n{log}")
        self.message = message
        self.log = log
        self.source = source
