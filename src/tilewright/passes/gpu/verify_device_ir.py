"""`verify-device-ir`: what must hold of a kernel before it is printed.

No op on whole tiles is left, no fragment, every shared buffer has an offset inside the arena, and
barriers are reached by all threads that they count (docs/design/passes.md#device-ir). A violation
is an internal compiler error and is reported as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation

from tilewright.analysis.threads.uniformity import differs
from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu import BarrierOp
from tilewright.dialects.nv import BarOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import AllocOp, Space, space_of
from tilewright.dialects.tile.warps import WsOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.shared_sizes import bytes_of

BROKEN = "TW9030"
_STAYS = frozenset(
    f"tile.{name}"
    for name in (
        *("alloc", "ws", "yield", "assume", "assert", "print", "extern", "source", "ptr_of"),
        *("ptr_at", "view", "atomic", "shuffle", "vote", "warp_reduce", "sync"),
    )
)
"""Ops of the tile dialect that are about single threads, or about structure."""
_EVERYWHERE = frozenset(("nv.dp4a",))
"""Ops of one vendor's dialect that other GPUs have, too."""


@dataclass(frozen=True)
class VerifyDeviceIr(Pass):
    """Check what every kernel must keep to before it is printed."""

    name = "verify-device-ir"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if isinstance(function, FuncOp) and simt_names.KERNEL in function.attributes:
                for op, problem in problems(function):
                    engine.error(op, f"internal compiler error: {problem}", BROKEN)


def problems(function: FuncOp) -> Iterator[tuple[Operation, str]]:
    """Everything wrong with a kernel."""
    arena = _integer(function, simt_names.SHARED_BYTES)
    threads = _integer(function, simt_names.THREADS)
    other = "nv." if amd_chip_of(function) is not None else "amd."
    bars = [op for op in walk(function) if isinstance(op, BarOp)]
    arrived = {op.id.value.data for op in bars if op.mode.data == "arrive"}
    for op in walk(function):
        if op.name.startswith(other) and op.name not in _EVERYWHERE:
            yield op, f"'{op.name}' is not an op of this GPU"
        if op.name.startswith("tile.") and op.name not in _STAYS:
            yield op, f"'{op.name}' was not lowered"
        for result in op.results:
            if space_of(result.type) is Space.FRAGMENT:
                yield op, "a fragment was not lowered to registers"
        if isinstance(op, AllocOp) and (op.space.is_shared or op.space.is_barrier):
            yield from _check_offset(op, arena)
        if isinstance(op, BarrierOp) or (isinstance(op, BarOp) and op.id.value.data not in arrived):
            yield from _divergence(op, threads)


def _integer(function: FuncOp, name: str) -> int:
    found = function.attributes.get(name)
    return found.value.data if isinstance(found, IntegerAttr) else 0


def _check_offset(op: AllocOp, arena: int) -> Iterator[tuple[Operation, str]]:
    if op.offset_bytes is None:
        yield op, f"'{op.buffer_name}' has no shared-memory offset"
    elif op.offset_bytes + bytes_of(op) > arena:
        end = op.offset_bytes + bytes_of(op)
        yield op, f"'{op.buffer_name}' ends at byte {end}, past the end of the {arena} B arena"


def _divergence(op: BarrierOp | BarOp, threads: int) -> Iterator[tuple[Operation, str]]:
    """A barrier that not all threads of its block, or of its role, reach.

    One that counts fewer of them is explicit, as is one at which some only arrive, and
    `check-thread-sync` checks the arrivals of those.
    """
    inner, outer = op, op.parent_op()
    found: list[str] = []
    while outer is not None and not isinstance(outer, WsOp | FuncOp):
        if isinstance(outer, IfOp) and differs(outer.condition):
            found.append("barrier under a divergent condition")
        if isinstance(outer, ForOp) and (differs(outer.lower_bound) or differs(outer.upper_bound)):
            found.append("barrier in a loop whose trip count differs between threads")
        inner, outer = outer, outer.parent_op()
    if isinstance(outer, WsOp):
        index = next(n for n, body in enumerate(outer.bodies) if inner.parent_region() is body)
        threads = outer.roles[index].num_threads
        if isinstance(op, BarrierOp):
            found.append("block barrier inside a role")
    if isinstance(op, BarrierOp) or op.count.value.data >= threads:
        yield from ((op, problem) for problem in found)
