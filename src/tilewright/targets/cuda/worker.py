"""A process that compiles `T` kernels: requests on standard input, replies on standard output.

    request   (text, settings)     the tile level in generic form, which has all locations; the
                                   settings are those of CUDA or of HIP
    reply     ("compiled", program) | ("wrong", diagnostics) | ("refused", message, log, source,
              kind) | ("missing", text) | ("failed", text)

See `processes` for the other side. Nothing is written to the disk here, so that the process may be
killed at any time. It ends with the process that started it.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from tilewright.targets.cuda.settings import Settings
from tilewright.targets.hip.settings import HipSettings
from tilewright.targets.triton.worker import receive, send

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from tilewright.ir.diagnostics import DiagnosticEngine

_NICENESS = 10
"""Work of the process that started this one goes first: it may be timing a kernel."""
_NAME = "kernel.mlir"


def respond(text: str, settings: Settings | HipSettings) -> tuple[object, ...]:
    """Compile one kernel."""
    from tilewright.dialects import make_context
    from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
    from tilewright.ir.text import parse_source
    from tilewright.targets.cuda.errors import CudaCompilerError
    from tilewright.targets.hip.errors import HipCompilerError, HipCompilerMissing

    engine = DiagnosticEngine()
    try:
        parsed = parse_source(make_context(), text, _NAME, engine)
        engine.raise_if_errors()
        assert parsed is not None, "a module without errors was parsed"
        return "compiled", _compiled(parsed.module, settings, engine)
    except CompileError as error:
        return "wrong", error.diagnostics
    except (CudaCompilerError, HipCompilerError) as error:
        return "refused", error.message, error.log, error.source, type(error)
    except HipCompilerMissing as error:
        return "missing", str(error)
    except Exception as error:  # the fault of one kernel must not take the others with it
        return "failed", f"{type(error).__name__}: {error}"


def _compiled(
    module: ModuleOp, settings: Settings | HipSettings, engine: DiagnosticEngine
) -> object:
    if isinstance(settings, HipSettings):
        from tilewright.targets.hip.compile import compile_as as compile_for_hip

        return replace(compile_for_hip(module, settings, engine), module=None)
    from tilewright.targets.cuda.compile import compile_as

    return replace(compile_as(module, settings, engine), module=None)


def serve() -> None:
    """Serve requests until standard input ends."""
    os.nice(_NICENESS)
    responses = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # anything printed meanwhile must not get between the replies
    while True:
        try:
            request = receive(sys.stdin.buffer)
        except EOFError:
            return
        try:
            send(responses, respond(*request))
        except BrokenPipeError:
            return


if __name__ == "__main__":
    serve()
