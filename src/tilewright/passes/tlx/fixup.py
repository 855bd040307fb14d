"""Prepare a module that a TLX kernel was traced into.

Such a module fixes things that plain Triton leaves to later passes, so it records for them:

* the target, and how many warps, threads and CTAs there are, since layouts are already in use;
* what is in the module (``tlx.has_tlx_ops`` and others): generic passes leave user-pipelined and
  warp-specialised loops alone;
* requests of an ``async_tasks`` block that concern the whole kernel.

What a kernel of this kind must not do is reported first. A module without anything of TLX is left
alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, UnitAttr, i32
from xdsl.ir import Attribute, Operation

from tilewright.dialects.scf import ForOp
from tilewright.dialects.ttg import LocalLoadOp, LocalStoreOp
from tilewright.dialects.ttg.context import NUM_CTAS, NUM_WARPS, TARGET, THREADS_PER_WARP
from tilewright.dialects.ttg.warps import WarpReturnOp, WarpSpecializeOp, WarpYieldOp
from tilewright.dialects.ttng import (
    AsyncTMACopyGlobalToLocalOp,
    AsyncTMACopyLocalToGlobalOp,
    MapToRemoteBufferOp,
    TCGen5MMAOp,
    TCGen5MMAScaledOp,
    TMEMAllocOp,
    TMEMLoadOp,
    TMEMStoreOp,
)
from tilewright.dialects.type_utils import is_tensor
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk

SKIP_GENERIC_PIPELINE = "triton.skip_generic_pipeline"
"""Loops of this module are pipelined by their user; the name is Triton's."""
HAS_TLX_OPS = "tlx.has_tlx_ops"
HAS_EXPLICIT_LOCAL_MEM_ACCESS = "tlx.has_explicit_local_mem_access"
HAS_WARP_SPEC_OPS = "tlx.has_warp_spec_ops"
HAS_WARP_PIPELINE_OPS = "tlx.has_warp_pipeline_ops"
ENABLE_PAIRED_CTA_MMA = "tlx.enable_paired_cta_mma"

EXCLUSIVE = "tlx.exclusive"
NO_ENDING_CLUSTER_SYNC = "tlx.no_ending_cluster_sync"
USER_POST_WS_SYNC = "tlx.user_post_ws_sync"
"""The same request, of the whole module."""
TRY_WAIT_SUSPEND = "tlx.mbarrier_try_wait_suspend_ns"

NUM_STAGES = "tt.num_stages"
PIPELINE_BORDER = "triton.warp_pipeline.border"

_LOCAL_MEM_ACCESS = (
    LocalLoadOp,
    LocalStoreOp,
    AsyncTMACopyGlobalToLocalOp,
    AsyncTMACopyLocalToGlobalOp,
    TMEMAllocOp,
    TMEMLoadOp,
    TMEMStoreOp,
    TCGen5MMAOp,
)
_WARP_SPEC = (WarpSpecializeOp, WarpYieldOp, WarpReturnOp)
_TRUE = IntegerAttr.from_bool(True)


@dataclass(frozen=True)
class TritonTlxFixup(Pass):
    """Check the kernel, and note on the module what later passes need."""

    name = "triton-tlx-fixup"

    target: str = ""
    num_warps: int = 4
    threads_per_warp: int = 32
    num_ctas: int = 1
    cluster_dims: tuple[int, ...] = ()

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        ops = list(walk(module))
        is_paired = any(map(_uses_two_ctas, ops))
        if not self._check(module, ops, is_paired, engine):
            return
        stop_pipelining = [loop for loop in ops if _has_pipeline_border(loop)]
        for loop in stop_pipelining:
            loop.attributes[NUM_STAGES] = IntegerAttr(0, i32)
        found = {
            HAS_TLX_OPS: any(op.name.startswith("tlx.") for op in ops),
            HAS_EXPLICIT_LOCAL_MEM_ACCESS: any(isinstance(op, _LOCAL_MEM_ACCESS) for op in ops),
            HAS_WARP_SPEC_OPS: any(isinstance(op, _WARP_SPEC) for op in ops),
            HAS_WARP_PIPELINE_OPS: bool(stop_pipelining),
            ENABLE_PAIRED_CTA_MMA: is_paired,
        }
        if not any(found.values()):
            return
        module.attributes.update(self._metadata())
        module.attributes[SKIP_GENERIC_PIPELINE] = UnitAttr()
        module.attributes.update({name: _TRUE for name, is_there in found.items() if is_there})
        if not self.target.startswith("hip:"):
            self._lift_requests(module, list(_specialized(ops)), engine)

    def _metadata(self) -> Mapping[str, Attribute]:
        """The options as attributes of the module."""
        return {
            NUM_WARPS: IntegerAttr(self.num_warps, i32),
            THREADS_PER_WARP: IntegerAttr(self.threads_per_warp, i32),
            NUM_CTAS: IntegerAttr(self.num_ctas, i32),
            TARGET: StringAttr(self.target),
        }

    # -- checks ----------------------------------------------------------------------------------

    def _check(
        self, module: ModuleOp, ops: list[Operation], is_paired: bool, engine: DiagnosticEngine
    ) -> bool:
        """Whether the module keeps the rules; reports the first one broken."""
        for op in _specialized(ops):
            if any(is_tensor(type) for type in op.partition_op.operand_types):
                engine.error(
                    op,
                    "WarpSpecializeOp should not capture RankedTensorType. Try moving tensor "
                    "computation into specific async task.",
                )
                return False
        if is_paired:
            return self._check_pairs(module, ops, engine)
        return self._check_cluster(module, ops, engine)

    def _check_pairs(
        self, module: ModuleOp, ops: list[Operation], engine: DiagnosticEngine
    ) -> bool:
        if self.num_ctas > 1:
            engine.error(module, "num_ctas should not be set for TLX 2cta mode")
            return False
        for op in ops:
            if isinstance(op, TCGen5MMAOp) and op.two_ctas is None:
                engine.error(op, "Expecting all dot ops to be 2cta together or 1cta together")
                return False
        return True

    def _check_cluster(
        self, module: ModuleOp, ops: list[Operation], engine: DiagnosticEngine
    ) -> bool:
        dims = self.cluster_dims
        if dims and len(dims) != 3:
            engine.error(module, f"Expected 3 cluster dimensions, got {len(dims)}")
            return False
        if prod(dims) > 1:
            return True
        for op in ops:
            if isinstance(op, MapToRemoteBufferOp):
                engine.error(op, "Unexpected buffer remote view in 1cta mode")
                return False
        return True

    # -- requests --------------------------------------------------------------------------------

    def _lift_requests(
        self, module: ModuleOp, tasks: list[WarpSpecializeOp], engine: DiagnosticEngine
    ) -> None:
        """Put kernel-wide requests of task blocks on the module."""
        delays = list(_integers(op.attributes.get(TRY_WAIT_SUSPEND) for op in tasks))
        if delays:
            module.attributes[TRY_WAIT_SUSPEND] = IntegerAttr(min(delays), i32)
        if any(EXCLUSIVE in op.attributes for op in tasks):
            if len(tasks) != 1:
                engine.error(
                    module,
                    "tlx.async_tasks(exclusive=True) requires exactly one warp_specialize op in "
                    f"the module, but found {len(tasks)}",
                )
                return
            module.attributes[EXCLUSIVE] = _TRUE
        if any(NO_ENDING_CLUSTER_SYNC in op.attributes for op in tasks):
            module.attributes[USER_POST_WS_SYNC] = _TRUE


def _specialized(ops: Iterable[Operation]) -> Iterator[WarpSpecializeOp]:
    return (op for op in ops if isinstance(op, WarpSpecializeOp))


def _uses_two_ctas(op: Operation) -> bool:
    return isinstance(op, (TCGen5MMAOp, TCGen5MMAScaledOp)) and op.two_ctas is not None


def _has_pipeline_border(op: Operation) -> bool:
    """Whether the kernel cuts a loop into stages for alternating warps."""
    return isinstance(op, ForOp) and any(PIPELINE_BORDER in each.attributes for each in walk(op))


def _integers(attributes: Iterable[Attribute | None]) -> Iterator[int]:
    return (each.value.data for each in attributes if isinstance(each, IntegerAttr))
