"""What the host cannot do, at the user's line, and errors of the CUDA compiler."""

from __future__ import annotations

from xdsl.ir import Operation

from tilewright.ir.diagnostics import Diagnostic, Severity
from tilewright.targets.cxx.errors import CannotEmit

NOT_ON_HOST = "TW6213"
"""Host code of a kernel, outside of `T.Kernel`, that no launch can do."""


def not_on_host(op: Operation, message: str) -> CannotEmit:
    """The error for an op outside of kernels that the host cannot do."""
    return CannotEmit(Diagnostic(Severity.ERROR, message, op.location, NOT_ON_HOST))


class CudaCompilerError(Exception):
    """The CUDA compiler did not accept the source; `log` is its output."""

    def __init__(self, message: str, log: str, source: str) -> None:
        super().__init__(f"{message}\n{log}")
        self.message = message
        self.log = log
        self.source = source
