"""Merging of buffers in Triton's own kernels, measured beside Triton's own allocator."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from triton._C.libtriton import ir, nvidia

from tests.dumps.case import TARGETS, Case
from tests.dumps.consumer import build
from tests.dumps.generate import cases, dump
from tests.passes.merging import kernels
from tests.passes.pass_support import parse
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.effects import ALLOCATION_OFFSET
from tilewright.dialects.ttg.memory import LocalAllocOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.memory import Memory
from tilewright.passes.merging.blocks import plan_module
from tilewright.passes.merging.merge_shared_memory import MERGED, MergeSharedMemory
from tilewright.passes.merging.trace import check_module
from tilewright.passes.tlx.storage_alias.buffers import span_bits
from tilewright.passes.tlx.storage_alias.planning import target_of

CHOSEN = (
    "gemm_host_descriptors.sm90",
    "gemm_host_descriptors.sm100",
    "gemm_persistent_flat.sm90",
    "gemm_loop_unroll.sm80",
    "gemm_two_products.sm90",
    "scaled_dot_loop_e4m3.sm100",
    "attention_descriptors.sm90",
    "attention_descriptors_causal.sm100",
    "norm_chain.sm80",
    "norm_chain.sm90",
    "norm_chain.sm100",
    "gemm_host_descriptors_specialized_64.sm100",
    "gemm_persistent_specialized_halves.sm90",
    "gemm_persistent_flat_specialized.sm100",
    "attention_specialized_64_causal.sm100",
)
"""Multi-stage GEMM, attention, chains of layer norms, warp-specialised kernels of both."""


@dataclass(frozen=True)
class Row:
    """One kernel."""

    name: str
    buffers: int
    apart: int
    triton: int
    ours: int
    optimal: bool
    before: int
    after: int
    touches: int
    faults: int
    merged: bool
    cubin: int

    @property
    def is_good(self) -> bool:
        return self.ours <= self.triton and not self.faults and self.after <= self.before

    def __str__(self) -> str:
        cubin = f"{self.cubin}" if self.merged and self.cubin else "-"
        return (
            f"{self.name:48} {self.buffers:7} {self.apart:7} {self.triton:7} "
            f"{self.ours:7}{'*' if self.optimal else ' '} {self.before:7} {self.after:7} "
            f"{self.touches:8} {cubin:>7}{'' if self.is_good else '  worse'}"
        )


HEAD = (
    f"{'kernel':48} {'buffers':>7} {'apart':>7} {'Triton':>7} {'ours':>7}  "
    f"{'total':>7} {'after':>7} {'checked':>8} {'cubin':>7}"
)


def known_cases() -> dict[str, Case]:
    """Kernels by name."""
    return {case.name: case for case in (*cases(), *kernels.CASES)}


def allocated(text: str, target: str) -> tuple[str, int]:
    """The module with the offsets that Triton gives allocations, and all that it needs."""
    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        module = ir.parse_mlir_module(file.name, context)
    module.context = context
    manager = ir.pass_manager(context)
    nvidia.passes.ttgpuir.add_allocate_shared_memory_nv(manager, TARGETS[target].arch, 88)
    manager.run(module, "allocate")
    return str(module), module.get_int_attr("ttg.shared")


def span(text: str) -> tuple[int, int]:
    """How many allocations a module has, and the bytes from the first to the last."""
    ends: list[tuple[int, int]] = []
    for op in walk(parse(text)):
        if isinstance(op, LocalAllocOp):
            offset = op.attributes[ALLOCATION_OFFSET].value.data
            ends.append((offset, offset + span_bits(memdesc(op.result.type)) // 8))
    low = min((start for start, _ in ends), default=0)
    return len(ends), max((end for _, end in ends), default=0) - low


def measure(name: str, text: str, target: str, *, with_build: bool = True) -> Row:
    """Plan, merge, check and build one module."""
    placed, before = allocated(text, target)
    buffers, theirs = span(placed)
    module = parse(text)
    plans = plan_module(module, target_of(module))
    engine = DiagnosticEngine()
    MergeSharedMemory().run(module, engine)
    verify(module, engine)
    engine.raise_if_errors()
    merged = any(each.code == MERGED for each in engine.diagnostics)
    verdict = check_module(module)
    ours = print_module(module, locations=True)
    return Row(
        name,
        buffers,
        sum(plan.unmerged(Memory.SMEM) for plan in plans),
        theirs,
        sum(plan.needed(Memory.SMEM) for plan in plans),
        all(plan.plan.optimal for plan in plans),
        before,
        allocated(ours, target)[1],
        verdict.accesses,
        len(verdict.faults),
        merged,
        len(build(ours, "ttgir", target)) if merged and with_build else 0,
    )


def all_names() -> Iterator[str]:
    for case in known_cases().values():
        for target in case.available_targets:
            if target.startswith("sm"):
                yield f"{case.name}.{target}"


def is_finished(name: str) -> bool:
    """Whether Triton's own later stages can make machine code of a kernel."""
    kernel, _, target = name.rpartition(".")
    return target not in known_cases()[kernel].text_only


def rows(names: Iterable[str], *, every: bool = False, with_build: bool = True) -> Iterator[Row]:
    found = known_cases()
    for name in names:
        kernel, _, target = name.rpartition(".")
        text = dump(found[kernel], target)["ttgir"]
        if every and len(re.findall(r"ttg\.local_alloc", text)) < 2:
            continue
        yield measure(name, text, target, with_build=with_build and is_finished(name))
