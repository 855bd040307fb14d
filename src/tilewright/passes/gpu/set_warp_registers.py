"""`set-warp-registers`: registers go from the warps that copy to those that compute.

With G warp groups of 128 threads and B blocks a multiprocessor the launch gives each thread
``R = 65536 / (128 G B)`` registers, rounded down to eights. Producers keep 24 (40 if they move data
themselves), consumers share the rest, at most 240; nothing is done where they would not gain
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
from tilewright.memory.multiprocessors import REGISTER_STEP, REGISTERS

_GROUP = 128
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
            found = function.attributes.get(simt_names.MIN_BLOCKS)
            blocks = found.value.data if isinstance(found, IntegerAttr) else 1
            for op in walk(function):
                if isinstance(op, WsOp):
                    _distribute(op, threads.value.data, blocks)


def registers_of_roles(
    roles: list[tuple[Role, bool, bool]], threads: int, blocks: int = 1
) -> list[int] | None:
    """Registers for each role: (role, does it only copy, does it move data itself).

    None where nothing is to be moved. Roles that leave out threads of the block run beside others
    of the same block (user-written ones are ops of their own), whose registers they cannot have: a
    block whose roles request more than it was launched with waits for them forever.
    """
    groups = threads // _GROUP
    if threads % _GROUP or any(role.num_threads % _GROUP for role, _, _ in roles):
        return None
    if sum(role.num_threads for role, _, _ in roles) < threads:
        return None
    launch = _at_launch(threads, blocks)
    if any(role.registers for role, _, _ in roles):
        return _requested([role for role, _, _ in roles], groups * launch, launch)
    left, wanting = groups * launch, 0
    for role, is_producer, moves in roles:
        if is_producer:
            left -= role.num_threads // _GROUP * (_SOME if moves else _FEW)
        else:
            wanting += role.num_threads // _GROUP
    if not wanting:
        return None
    each = min(_MAX_REGISTERS, left // wanting // REGISTER_STEP * REGISTER_STEP)
    if each <= launch:
        return None
    return [(_SOME if moves else _FEW) if is_producer else each for _, is_producer, moves in roles]


def _requested(roles: list[Role], available: int, launch: int) -> list[int] | None:
    """What the user requested, if there is enough; other roles keep what they have."""
    counts = [role.registers or launch for role in roles]
    groups = [role.num_threads // _GROUP for role in roles]
    used = sum(group * count for group, count in zip(groups, counts, strict=True))
    return counts if used <= available else None


def described(op: WsOp) -> list[tuple[Role, bool, bool]]:
    """The roles, whether each only copies, and whether it moves data itself."""
    return [
        (
            role,
            role.name.startswith("producer"),
            any(isinstance(inner, MoveOp) for inner in region.walk()),
        )
        for role, region in zip(op.roles, op.bodies, strict=True)
    ]


def _at_launch(threads: int, blocks: int) -> int:
    """Registers of each thread at the start of a kernel."""
    return REGISTERS // (threads * blocks) // REGISTER_STEP * REGISTER_STEP


def _distribute(op: WsOp, threads: int, blocks: int) -> None:
    found = registers_of_roles(described(op), threads, blocks)
    if found is None:
        return
    launch = _at_launch(threads, blocks)
    for region, count in zip(op.bodies, found, strict=True):
        if count == launch:
            continue
        first = region.block.first_op
        assert first is not None
        new = SetMaxNRegOp(count, increase=count > launch)
        new.location = op.location
        region.block.insert_op_before(new, first)
