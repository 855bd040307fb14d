"""What goes wrong between generated source and machine code.

All of it can be pickled: kernels are also compiled in other processes (`compilers`).
"""

from __future__ import annotations


class CompilerError(Exception):
    """The compiler did not accept the source; `log` is its output."""

    def __init__(self, message: str, log: str, source: str) -> None:
        super().__init__(f"{message}\n{log}")
        self.message = message
        self.log = log
        self.source = source

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.log, self.source)


class CudaCompilerError(CompilerError):
    """It was NVRTC."""


class HipCompilerError(CompilerError):
    """It was hiprtc or clang."""


class HipCompilerMissing(Exception):
    """Neither hiprtc nor a clang that supports the chip is on this machine."""
