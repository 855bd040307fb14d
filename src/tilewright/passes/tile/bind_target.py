"""Make the target visible to every later pass.

    func.func @k(...)   ->   func.func @k(...) attributes {tile.target = #tile.target<cuda, sm_90a>}

Passes query the function for its target and never look at the machine they run on. On Hopper and
Blackwell ``sm_90`` means ``sm_90a``: warp-group MMAs and register reallocation are instructions of
that very architecture.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.func import FuncOp
from tilewright.dialects.tile import TargetAttr
from tilewright.ir.codes.shared import UNKNOWN_TARGET
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.memory.targets import target_named

TARGET = "tile.target"
_OWN_INSTRUCTIONS = ("sm_90", "sm_100", "sm_120")
_DEFAULT_ARCH = {"cuda": "sm_90a", "hip": "gfx942", "tenstorrent": "wormhole"}


@dataclass(frozen=True)
class BindTarget(Pass):
    """Attach the target to every function."""

    name = "bind-target"

    target: str = "cuda:sm_90a"
    """A kind of device and which of its kind: ``cuda:sm_90a``, ``hip:gfx942``, ``numpy``."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        kind, _, arch = self.target.partition(":")
        problem = _problem(kind, arch)
        if problem is not None:
            engine.error(module, problem, UNKNOWN_TARGET)
            return
        bound = TargetAttr.of(kind, _promoted(arch or _DEFAULT_ARCH.get(kind)))
        for op in module.ops:
            if not isinstance(op, FuncOp):
                continue
            before = op.attributes.get(TARGET)
            if before is not None and before != bound:
                engine.error(
                    op,
                    f"target mismatch: the function is bound to {before}, {bound} was requested",
                    UNKNOWN_TARGET,
                )
                continue
            op.attributes[TARGET] = bound


def _problem(kind: str, arch: str) -> str | None:
    if kind not in TargetAttr.KINDS:
        return f"unknown target '{kind}': expected one of {', '.join(TargetAttr.KINDS)}"
    if kind not in ("cuda", "hip") or not arch:
        return None
    try:
        found = target_named(arch)
    except LookupError as error:
        return str(error)
    if found.name.startswith("sm_") != (kind == "cuda"):
        return f"unknown architecture {arch} for target {kind}"
    return None


def _promoted(arch: str | None) -> str | None:
    return f"{arch}a" if arch in _OWN_INSTRUCTIONS else arch
