"""`check-amd-features`: what a kernel uses that AMD GPUs do not have.

    ready = T.alloc_barrier(128)

    error[TW7510]: mbarriers not supported on gfx942: 'ready' is one

There are no mbarriers, no TMA that reports to them, no clusters of blocks, no warp roles
with barriers of their own, and no tensor memory. Kernels that leave such choices to the compiler
compile; those that fix them get the change that works. Instructions for NVIDIA's hardware
without an effect on results (hand-over of registers, proxy fences) are dropped by
`drop-nvidia-hints`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.analysis.layout_inference.scopes import kernels, threads_of
from tilewright.dialects.nv import BarOp, ClusterRankOp, CpAsyncOp
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import AllocOp, AsyncCopyOp, KernelOp, Space, SyncOp
from tilewright.dialects.tile.base import integer_of
from tilewright.dialects.tile.extern import ExternOp, SourceOp
from tilewright.dialects.tile.warps import WsOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import Chip
from tilewright.passes.tile.naming import buffer_name

NO_MBARRIERS, NO_TMA, NO_CLUSTERS, NO_ROLES = "TW7510", "TW7511", "TW7512", "TW7513"
NO_NAMED_BARRIERS, NO_TENSOR_MEMORY, NO_RAW_COPIES = "TW7514", "TW7515", "TW7516"
UNEVEN_WAVES, NO_FUNCTION, NO_PTX = "TW7517", "TW7519", "TW7520"
_INSTEAD = {
    "__cosf": "T.cos",
    "__exp10f": "T.exp10",
    "__expf": "T.exp",
    "__fdividef": "/",
    "__frcp_rn": "1 / x",
    "__frsqrt_rn": "T.rsqrt",
    "__fsqrt_rn": "T.sqrt",
    "__log10f": "T.log10",
    "__log2f": "T.log2",
    "__logf": "T.log",
    "__powf": "T.pow",
    "__sinf": "T.sin",
    "__tanf": "T.tan",
    "__tanhf": "T.tanh",
}
"""Functions of the CUDA compiler, and what computes the same everywhere."""
_BUILTIN = "__builtin_"
_CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*if.*?^[ \t]*#[ \t]*endif\b", re.DOTALL | re.MULTILINE)
_ASSEMBLY = re.compile(r"\b(?:asm|__asm__)\b[^(]*\((.*?)\)\s*;", re.DOTALL)
_PTX = re.compile(r"\b[a-z]\w*(?:\.\w+)*\.(?:pred|[bsuf]\d+(?:x\d)?|bf16(?:x2)?)\b")
"""An instruction with a dot and the type of its operands, as in `prmt.b32`; AMD's have none."""


@dataclass(frozen=True)
class Finding:
    """What is not supported, why, and what to do instead."""

    op: Operation
    code: str
    message: str
    help: str
    is_error: bool = True
    """Whether the kernel cannot run; otherwise it runs slower than it could."""


@dataclass(frozen=True)
class CheckAmdFeatures(Pass):
    """Report what AMD GPUs do not have."""

    name = "check-amd-features"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            chip = amd_chip_of(kernel)
            if chip is None:
                continue
            for found in _findings(kernel, chip):
                report = engine.error if found.is_error else engine.remark
                report(found.op, found.message, found.code).note(None, f"help: {found.help}")


def _findings(kernel: KernelOp, chip: Chip) -> Iterator[Finding]:
    yield from _launch(kernel, chip)
    yield from _calls(kernel, chip)
    found = [each for op in walk(kernel) if (each := _finding(op, chip)) is not None]
    codes = {each.code for each in found}
    # Barriers that copies report to go with the copies.
    seen = {NO_MBARRIERS} if NO_TMA in codes else set[str]()
    for each in found:
        # One of a kind: the first shows what to change, the others follow from it.
        if each.code not in seen:
            seen.add(each.code)
            yield each


def _launch(kernel: KernelOp, chip: Chip) -> Iterator[Finding]:
    clusters = kernel.cluster_extents
    if clusters is not None and prod(clusters) > 1:
        shape = " x ".join(map(str, clusters))
        yield Finding(
            kernel,
            NO_CLUSTERS,
            f"clusters not supported on {chip}: the kernel uses clusters of {shape} blocks",
            "use T.Kernel without cluster_dims",
        )
    threads = kernel.num_threads
    if threads is None:
        return
    if threads % chip.wave:
        more = -(-threads // chip.wave) * chip.wave
        yield Finding(
            kernel,
            UNEVEN_WAVES,
            f"{more - threads} of {more} lanes idle: {threads} threads per block are not a "
            f"multiple of the {chip.wave} lanes of a wave on {chip}, and their GEMMs do not use "
            "matrix instructions",
            f"use threads={more}",
            is_error=False,
        )


def _calls(kernel: KernelOp, chip: Chip) -> Iterator[Finding]:
    """Calls of functions that no source defines, or that are defined by NVIDIA's assembly."""
    text = _imported(kernel)
    seen: set[str] = set()
    for op in walk(kernel):
        name = op.callee.data if isinstance(op, ExternOp) else ""
        if not name or name in seen or name.startswith(_BUILTIN):
            continue
        seen.add(name)
        found = re.search(rf"(?<!\w){re.escape(name.rpartition('::')[2])}(?!\w)", text)
        if found is None:
            instead = f"use {_INSTEAD[name]}, or " if name in _INSTEAD else ""
            yield Finding(
                op,
                NO_FUNCTION,
                f"external function '{name}' not defined on {chip}: no imported source has it",
                f"{instead}define it with T.import_source",
            )
        elif (instruction := _ptx(text)) is not None:
            yield Finding(
                op,
                NO_PTX,
                f"PTX not supported on {chip}: the imported source of '{name}' has an "
                f"asm statement with {instruction}",
                "write the function in C++, or add another definition inside #ifdef __HIP__",
            )
            return


def _imported(kernel: KernelOp) -> str:
    """The source text that comes with a kernel."""
    root: Operation = kernel
    while (parent := root.parent_op()) is not None:
        root = parent
    sources = [op.text.data for op in walk(root) if isinstance(op, SourceOp)]
    if kernel.prelude is not None:
        sources.append(kernel.prelude.data)
    return "\n".join(sources)


def _ptx(text: str) -> str | None:
    """An instruction of NVIDIA's in a text's assembly, unless the preprocessor may remove it."""
    for statement in _ASSEMBLY.finditer(_CONDITIONAL.sub("", text)):
        instruction = _PTX.search(statement[1])
        if instruction is not None:
            return instruction[0]
    return None


def _finding(op: Operation, chip: Chip) -> Finding | None:
    if isinstance(op, AllocOp) and op.space.is_barrier:
        return Finding(
            op,
            NO_MBARRIERS,
            f"mbarriers not supported on {chip}: '{op.buffer_name}' is one",
            "use T.copy, which the compiler makes overlap in T.Pipelined loops, and "
            "T.sync_threads() to synchronise all threads of a block",
        )
    if isinstance(op, AllocOp) and op.space is Space.TMEM:
        return Finding(
            op,
            NO_TENSOR_MEMORY,
            f"tensor memory not supported on {chip}: '{op.buffer_name}' is allocated there",
            "allocate the accumulator in registers with T.alloc_fragment",
        )
    if isinstance(op, AsyncCopyOp) and op.barrier is not None:
        return Finding(
            op,
            NO_TMA,
            f"TMA not supported on {chip}: a copy to '{buffer_name(op.dst)}' reports to a barrier",
            "use T.copy, which needs no barrier",
        )
    if isinstance(op, CpAsyncOp):
        return Finding(
            op,
            NO_RAW_COPIES,
            f"cp.async not supported on {chip}",
            "use T.copy, or T.async_copy, which copies whole tiles",
        )
    if isinstance(op, WsOp):
        return _roles(op, chip)
    if isinstance(op, ClusterRankOp):
        return Finding(
            op,
            NO_CLUSTERS,
            f"clusters not supported on {chip}: a block has no rank in one",
            "use the block indices of T.Kernel",
        )
    if isinstance(op, SyncOp) and op.barrier_id is not None:
        return _named_barrier(op, chip)
    if isinstance(op, BarOp):
        return Finding(
            op,
            NO_NAMED_BARRIERS,
            f"named barriers not supported on {chip}: some threads arrive at barrier "
            f"{op.id.value.data} without waiting there",
            "use T.sync_threads() where all threads of the block get there",
        )
    return None


def _roles(op: WsOp, chip: Chip) -> Finding:
    count, threads = sum(role.num_threads for role in op.roles), threads_of(op).count
    return Finding(
        op,
        NO_ROLES,
        f"warp roles not supported on {chip}: T.ws runs its body on {count} of {threads} threads",
        "write one program for all threads: T.Pipelined overlaps copies and computation",
    )


def _named_barrier(op: SyncOp, chip: Chip) -> Finding | None:
    """A named barrier for all threads of the block is a barrier of the block."""
    assert op.barrier_id is not None
    threads = threads_of(op).count
    count = integer_of(op.arrive_count)
    if count is None or count == threads:
        return None
    return Finding(
        op,
        NO_NAMED_BARRIERS,
        f"named barriers not supported on {chip}: barrier {op.barrier_id.value.data} counts "
        f"{count} of {threads} threads",
        "use T.sync_threads() where all threads of the block get there",
    )
