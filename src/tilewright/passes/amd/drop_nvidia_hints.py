"""`drop-nvidia-hints`: instructions for NVIDIA's hardware that change no result.

    T.async_copy(A[0, 0], tile)           tile.copy %A -> %tile
    T.ptx_commit_group()            ->
    T.ptx_wait_group(0)

An asynchronous copy of the user becomes a copy that is complete where it stands, which every wait
allows; `T.Pipelined` overlaps copies on these GPUs. Hand-over of registers and proxy fences have
no counterpart. A remark lists what was dropped.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation

from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.analysis.tensors.outside_values import zero_of
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.nv import (
    CpAsyncCommitOp,
    CpAsyncWaitOp,
    FenceProxyAsyncOp,
    GridTriggerOp,
    GridWaitOp,
    SetMaxNRegOp,
    TmaStoreCommitOp,
    TmaStoreWaitOp,
)
from tilewright.dialects.tile import AsyncCopyOp, CopyOp, KernelOp, SyncOp
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.arch import arch_name
from tilewright.passes.tile.index_builder import IndexBuilder

DROPPED = "TW7502"
_DROPPED = (
    *(CpAsyncCommitOp, CpAsyncWaitOp, TmaStoreCommitOp, TmaStoreWaitOp),
    *(FenceProxyAsyncOp, SetMaxNRegOp, GridTriggerOp, GridWaitOp),
)
_NAMES = {
    "tile.async_copy": "asynchronous copy",
    "nv.setmaxnreg": "register hand-over",
    "nv.fence_proxy_async": "proxy fence",
}


@dataclass(frozen=True)
class DropNvidiaHints(Pass):
    """Make asynchronous copies synchronous, and drop what only NVIDIA's hardware needs."""

    name = "drop-nvidia-hints"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            _drop(kernel, engine)


def _drop(kernel: KernelOp, engine: DiagnosticEngine) -> None:
    dropped: Counter[str] = Counter()
    first: Operation | None = None
    for op in list(walk(kernel)):
        if isinstance(op, AsyncCopyOp):
            _complete(op)
        elif isinstance(op, SyncOp) and op.barrier_id is not None:
            _unname(op)
            continue
        elif isinstance(op, _DROPPED):
            op.detach()
            op.erase()
        else:
            continue
        if op.name in _NAMES:
            dropped[_NAMES[op.name]] += 1
            first = first or op
    if first is not None:
        what = ", ".join(f"{count} x {name}" for name, count in dropped.items())
        engine.remark(kernel, f"without effect on {arch_name(kernel)}: {what}", DROPPED).note(
            None, "help: T.Pipelined overlaps copies and computation on this GPU"
        )


def _complete(op: AsyncCopyOp) -> None:
    policy = None if op.eviction_policy is None else op.eviction_policy.data
    width = op.coalesced_width
    code = IndexBuilder(op)
    zero = None
    if op.zeros is not None:
        zero = code.add(ConstantOp(zero_of(element_type_of(op.src.type)))).results[0]
    code.add(
        CopyOp(
            op.src,
            op.dst,
            fill=zero,
            eviction_policy=policy,
            coalesced_width=width.value.data if isinstance(width, IntegerAttr) else None,
        )
    )
    code.rewriter.erase(op)


def _unname(op: SyncOp) -> None:
    """`check-amd-features` has seen that it is for all threads of the block."""
    code = IndexBuilder(op)
    code.add(SyncOp("block"))
    code.rewriter.erase(op)
