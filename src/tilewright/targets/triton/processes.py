"""Triton in processes next to the user's.

Triton and LLVM end the process they run in when something they never expected happens; here, the
user reads which stage of which kernel it was. A process of its own also keeps Triton out of one
in which `compat` has put Tilewright under that name, gives its diagnostics a location of their own,
and several of them compile at the same time.
"""

from __future__ import annotations

import atexit
import sys
from pathlib import Path

from tilewright.targets.triton import adapter, installation
from tilewright.targets.triton.messages import TritonMessage, parse
from tilewright.targets.triton.ptxas import PtxasFailed
from tilewright.targets.worker_pool import WorkerFailed, WorkerPool, call_here, is_inline

_pool = WorkerPool(name="compiler", settings=installation.fingerprint)
atexit.register(_pool.end_idle)


class Failed(Exception):
    """Triton failed: the stage, its reason, and its output before."""

    def __init__(self, stage: str, reason: str, output: TritonMessage) -> None:
        super().__init__(f"{stage}: {reason}")
        self.stage = stage
        self.reason = reason
        self.output = output


def build(
    text: str, way: adapter.Way, options: adapter.BuildOptions, path: Path
) -> tuple[adapter.Built, TritonMessage]:
    """As `adapter.build`, and Triton's output. Failures carry it as ``output``.

    Without processes, the output goes to standard error.
    """
    call = call_here if is_inline() else _pool.call
    reply = call(build_here, text, way, options, path)
    output = parse(reply.output)
    if output.other:
        # LLVM repeats some of its lines for every function.
        sys.stderr.writelines(f"{line}\n" for line in dict.fromkeys(output.other.splitlines()))
    match reply.error:
        case adapter.TritonRefused(stage=stage, reason=reason):
            raise Failed(f"stage {stage}", reason, output)
        case WorkerFailed(reason=reason):
            raise Failed("the compiler process", f"it {reason}", output)
        case _:
            return reply.result(), output


def build_here(
    text: str, way: adapter.Way, options: adapter.BuildOptions, path: Path
) -> adapter.Built:
    """As `adapter.build`, in this process; raises what it raises, and nothing else."""
    try:
        return adapter.build(text, way, options, path)
    except (adapter.TritonRefused, PtxasFailed, installation.TritonMissing):
        raise
    except Exception as error:  # of a release that differs from its row
        raise adapter.TritonRefused("driver", f"{type(error).__name__}: {error}") from None
