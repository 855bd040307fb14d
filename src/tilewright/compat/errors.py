"""Triton's exceptions, so that scripts that catch them can name them.

What fails to compile raises Tilewright's `CompileError` under every name Triton has for that; the
rest are about limits that a run on the CPU does not have, and are never raised by it.
"""

from __future__ import annotations

from tilewright.ir.diagnostics import CompileError

CompilationError = CompileError
CompileTimeAssertionFailure = CompileError
UnsupportedLanguageConstruct = CompileError
TritonError = CompileError


class OutOfResources(Exception):
    """A kernel that needs more of a resource than the device has."""

    def __init__(self, required: int, limit: int, name: str) -> None:
        self.required = required
        self.limit = limit
        self.name = name
        super().__init__(f"{name}: {required} needed, {limit} available")


class InterpreterError(Exception):
    """A kernel that failed in Triton's interpreter."""


class PTXASError(Exception):
    """Code that NVIDIA's assembler refused."""


class AutotunerError(Exception):
    """A tuner without a configuration that works."""
