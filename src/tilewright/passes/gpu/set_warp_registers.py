"""`set-warp-registers`: registers go from the warps that copy to those that compute.

With G warp groups of 128 threads the launch gives each thread ``R = 65536 / (128 G)`` registers,
rounded down to eights. Producers keep 24 (40 if they move data themselves), consumers share the
rest, at most 240; nothing is done where they would not gain
(docs/design/scheduling.md#registers-of-warp-groups).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from tilewright.dialects.func import FuncOp
from tilewright.dialects.nv import SetMaxNRegOp
from tilewright.dialects.simt import MoveOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile.warps import Role, WsOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk

_REGISTERS = 65536
_GROUP = 128
_STEP = 8
_FEW, _SOME, _MAX_REGISTERS = 24, 40, 240


@dataclass(frozen=True)
class SetWarpRegisters(Pass):
    """Move registers from producers to consumers."""

    name = "set-warp-registers"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if not isinstance(function, FuncOp) or simt_names.KERNEL not in function.attributes:
                continue
            if any(isinstance(op, SetMaxNRegOp) for op in walk(function)):
                continue  # set by the user
            threads = function.attributes[simt_names.THREADS]
            assert isinstance(threads, IntegerAttr)
            for op in walk(function):
                if isinstance(op, WsOp):
                    _distribute(op, threads.value.data)


def budgets(roles: list[tuple[Role, bool, bool]], threads: int) -> list[int] | None:
    """Registers for each role: (role, does it only copy, does it move data itself)."""
    groups = threads // _GROUP
    if threads % _GROUP or any(role.num_threads % _GROUP for role, _, _ in roles):
        return None
    launch = _REGISTERS // threads // _STEP * _STEP
    left, wanting = groups * launch, 0
    for role, is_producer, moves in roles:
        if is_producer:
            left -= role.num_threads // _GROUP * (_SOME if moves else _FEW)
        else:
            wanting += role.num_threads // _GROUP
    if not wanting:
        return None
    each = min(_MAX_REGISTERS, left // wanting // _STEP * _STEP)
    if each <= launch:
        return None
    return [(_SOME if moves else _FEW) if is_producer else each for _, is_producer, moves in roles]


def _distribute(op: WsOp, threads: int) -> None:
    described = [
        (
            role,
            role.name.startswith("producer"),
            any(isinstance(inner, MoveOp) for inner in region.walk()),
        )
        for role, region in zip(op.roles, op.bodies, strict=True)
    ]
    found = budgets(described, threads)
    if found is None:
        return
    launch = _REGISTERS // threads // _STEP * _STEP
    for region, count in zip(op.bodies, found, strict=True):
        first = region.block.first_op
        assert first is not None
        new = SetMaxNRegOp(count, increase=count > launch)
        new.location = op.location
        region.block.insert_op_before(new, first)
