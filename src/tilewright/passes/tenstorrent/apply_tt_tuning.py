"""Settings of a program that change its speed and never its result.

    func.func @k   ->   func.func @k attributes {tt.tuning = {subblock = [1, 8], stages = 4}}

`subblock` is how many tiles of a GEMM accumulate in DST together, by default the rule of
`strategies`; `stages` is how many blocks the circular buffers of loads hold, by default the
kernel's ``num_stages``. `lower-circular-buffers` reads both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.func import FuncOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.passes.tenstorrent.annotations import functions, get, put
from tilewright.passes.tenstorrent.apply_tt_defaults import UNKNOWN_SCHEDULE

TUNING = "tt.tuning"
BAD_TUNING = UNKNOWN_SCHEDULE


@dataclass(frozen=True)
class ApplyTtTuning(Pass):
    """Set the sub-block of GEMMs and the depth of circular buffers."""

    name = "apply-tt-tuning"

    subblock: str = ""
    """Rows and columns of tiles that accumulate together, as ``1x8``; by default a rule's."""
    stages: int = 0
    """Blocks that a circular buffer of a load holds; by default the kernel's ``num_stages``."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        rows, x, columns = self.subblock.partition("x")
        found: dict[str, Any] = {}
        if self.subblock:
            if not (x and rows.isdigit() and columns.isdigit() and int(rows) and int(columns)):
                for function in functions(module):
                    message = f"sub-block '{self.subblock}': expected rows x columns, as in 1x8"
                    engine.error(function, message, BAD_TUNING)
                return
            found["subblock"] = [int(rows), int(columns)]
        if self.stages:
            if self.stages < 2:
                for function in functions(module):
                    message = f"{self.stages} stages: buffers of loads hold 2 blocks or more"
                    engine.error(function, message, BAD_TUNING)
                return
            found["stages"] = self.stages
        for function in functions(module):
            if found and TUNING not in function.attributes:
                put(function, TUNING, found)


def subblock_of(function: FuncOp) -> tuple[int, int] | None:
    """The sub-block that was set."""
    settings: dict[str, Any] = get(function, TUNING) or {}
    found = settings.get("subblock")
    return None if found is None else (found[0], found[1])


def stages_of(function: FuncOp) -> int | None:
    """The depth that was set."""
    settings: dict[str, Any] = get(function, TUNING) or {}
    return settings.get("stages")
