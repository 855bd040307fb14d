"""Errors of the CUDA compiler."""

from __future__ import annotations


class CudaCompilerError(Exception):
    """The CUDA compiler did not accept the source; `log` is its output."""

    def __init__(self, message: str, log: str, source: str) -> None:
        super().__init__(f"{message}\n{log}")
        self.message = message
        self.log = log
        self.source = source
