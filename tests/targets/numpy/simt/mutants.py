"""Mutants of kernels, made in the IR that is printed as CUDA.

A mutant *changes behaviour* if this is observable: run without any check, threads of the block in
independent groups, under several orders of events, it yields other bits or never terminates.
Fences and operand fences have no effect in such a run, so mutants that lack one count as if they had.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation

from tests.examples.tile_examples import load
from tests.targets.numpy.simt.simt_support import lowered
from tilewright.dialects.arith import AddiOp, ConstantOp, RemuiOp, XoriOp
from tilewright.dialects.nv.barriers import (
    BytesOp,
    MBarrierArriveOp,
    MBarrierInitOp,
    MBarrierWaitOp,
    WaitOp,
)
from tilewright.dialects.nv.matrix import MatrixOp
from tilewright.dialects.nv.tma import TensorMapOp, TmaLoadOp
from tilewright.dialects.simt import names
from tilewright.dialects.simt.target import NVIDIA_WARP, warp_size_of
from tilewright.dialects.tile.base import integer_attr
from tilewright.dialects.tile.mixed import integers_attr
from tilewright.dialects.type_utils import num_elements
from tilewright.ir.traversal import walk
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.runtime.arrays import HostArray
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.targets.numpy.simt import Buffer, SimtFault, SimtOptions, compile_simt

Mutate = Callable[[Operation], bool]
"""Changes an op in place; False if it is none for this mutation."""


def erase(*names: str) -> Mutate:
    def mutate(op: Operation) -> bool:
        if op.name not in names:
            return False
        op.detach()
        op.erase()
        return True

    return mutate


def _flip_parity(op: Operation) -> bool:
    if not isinstance(op, MBarrierWaitOp):
        return False
    one = ConstantOp(IntegerAttr(1, op.parity.type))
    flipped = XoriOp(op.parity, one.results[0])
    block = op.parent
    assert block is not None
    block.insert_ops_before([one, flipped], op)
    op.operands[2] = flipped.results[0]
    return True


def _halve_bytes(op: Operation) -> bool:
    if not isinstance(op, BytesOp) or not isinstance(op.bytes, int):
        return False
    op.properties["static_bytes"] = integers_attr([op.bytes // 2])
    return True


def _double_bytes(op: Operation) -> bool:
    if not isinstance(op, BytesOp) or not isinstance(op.bytes, int):
        return False
    op.properties["static_bytes"] = integers_attr([op.bytes * 2])
    return True


_NARROWER = {128: 64, 64: 32, 32: 0}


def _narrow_swizzle(op: Operation) -> bool:
    if not isinstance(op, MatrixOp) or op.swizzle.value.data not in _NARROWER:
        return False
    op.properties["swizzle"] = integer_attr(_NARROWER[op.swizzle.value.data])
    return True


def _no_swizzle(op: Operation) -> bool:
    if not isinstance(op, TensorMapOp) or op.swizzle.value.data == 0:
        return False
    op.properties["swizzle"] = integer_attr(0)
    return True


def plain_address(op: Operation) -> bool:
    """Threads forget to swizzle an address."""
    if not isinstance(op, XoriOp):
        return False
    if any(isinstance(use.operation, MBarrierWaitOp) for use in op.results[0].uses):
        return False  # a parity
    op.results[0].replace_all_uses_with(op.operands[0])
    op.detach()
    op.erase()
    return True


def _shift_operand(op: Operation) -> bool:
    if not isinstance(op, MatrixOp):
        return False
    op.properties["stride"] = integer_attr(op.stride.value.data * 2)
    return True


def _count_less(op: Operation) -> bool:
    if not isinstance(op, MBarrierInitOp) or op.count.value.data < 2:
        return False
    op.properties["count"] = IntegerAttr(op.count.value.data // 2, i64)
    return True


def _count_more(op: Operation) -> bool:
    if not isinstance(op, MBarrierInitOp):
        return False
    op.properties["count"] = IntegerAttr(op.count.value.data + 1, i64)
    return True


def _next_slot(op: Operation) -> bool:
    """Use the next slot of a ring of barriers or of tiles."""
    if isinstance(op, TmaLoadOp):
        owner = op.dst.owner
        assert isinstance(owner, Operation)
        versions = owner.attributes.get(names.VERSIONS)
        if not isinstance(versions, IntegerAttr):
            return False
        size = num_elements(op.dst.type)
        place, step = list(op.operands).index(op.dst) + 1, size // versions.value.data
    elif isinstance(op, MBarrierWaitOp | MBarrierArriveOp | BytesOp):
        place, step, size = 1, 1, num_elements(op.barrier.type)
    else:
        return False
    if size == step:
        return False
    index, block = op.operands[place], op.parent
    assert block is not None
    by, around = (ConstantOp(IntegerAttr(each, index.type)) for each in (step, size))
    moved = AddiOp(index, by.results[0])
    wrapped = RemuiOp(moved.results[0], around.results[0])
    block.insert_ops_before([by, around, moved, wrapped], op)
    op.operands[place] = wrapped.results[0]
    return True


def _leave_more(op: Operation) -> bool:
    if not isinstance(op, WaitOp):
        return False
    op.properties["pending"] = integer_attr(op.count + 1)
    return True


MUTATIONS: dict[str, Mutate] = {
    "drop a wait": erase(
        "nv.mbarrier.wait", "nv.cp_async.wait", "nv.wgmma.wait", "nv.tma_store.wait"
    ),
    "wait for one group less": _leave_more,
    "flip a parity": _flip_parity,
    "halve expected bytes": _halve_bytes,
    "double expected bytes": _double_bytes,
    "shift a swizzle": _narrow_swizzle,
    "drop a tensor map's swizzle": _no_swizzle,
    "forget to swizzle an address": plain_address,
    "shift an operand": _shift_operand,
    "remove a sync": erase("gpu.barrier", "nv.bar"),
    "drop a fence": erase(
        "nv.fence_proxy_async", "nv.fence_barrier_init", "nv.wgmma.fence", "nv.wgmma.fence_operand"
    ),
    "skip a commit": erase("nv.cp_async.commit", "nv.wgmma.commit", "nv.tma_store.commit"),
    "skip an arrival": erase("nv.mbarrier.arrive", "nv.mbarrier.arrive_expect_tx"),
    "skip a copy": erase("nv.tma_load", "nv.async_move"),
    "count fewer arrivals": _count_less,
    "count more arrivals": _count_more,
    "take the next slot": _next_slot,
}
FENCES = ("drop a fence",)


@dataclass(frozen=True)
class Mutant:
    """The mutated op: its index in the module."""

    mutation: str
    place: int
    op: str

    def apply(self, module: ModuleOp, mutations: Mapping[str, Mutate] = MUTATIONS) -> ModuleOp:
        copy = module.clone()
        target = list(walk(copy))[self.place]
        assert target.name == self.op
        assert mutations[self.mutation](target)
        return copy


def mutants_of(module: ModuleOp, mutations: Mapping[str, Mutate] = MUTATIONS) -> list[Mutant]:
    """All mutants of a module."""
    found: list[Mutant] = []
    for mutation, mutate in mutations.items():
        copy = module.clone()
        for place, op in enumerate(list(walk(copy))):
            name = op.name
            if op.parent is not None and mutate(op):
                found.append(Mutant(mutation, place, name))
    return found


# -- verdicts ----------------------------------------------------------------------------------


Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Subject:
    """A kernel and the arguments of one of its launches."""

    name: str
    traced: ModuleOp
    module: ModuleOp
    """At the thread level."""
    names: tuple[str, ...]
    values: tuple[Any, ...]

    def run(self, module: ModuleOp, options: SimtOptions) -> Arrays:
        """What the arrays hold in the end."""
        arguments = [
            Buffer(name, value.copy()) if isinstance(value, np.ndarray) else value
            for name, value in zip(self.names, self.values, strict=True)
        ]
        compile_simt(module).launch(arguments, options)
        return [each.array for each in arguments if isinstance(each, Buffer)]


def same(found: Arrays, wanted: Arrays) -> bool:
    """Whether two results agree in every bit."""
    return all(a.tobytes() == b.tobytes() for a, b in zip(found, wanted, strict=True))


def subjects(example: str, pipeline: GpuPipeline | AmdPipeline | None = None) -> list[Subject]:
    """The kernels that an example launches, each once."""
    found: dict[str, Subject] = {}
    launch = CompiledTileKernel.launch

    def recorded(self: CompiledTileKernel, values: list[Any]) -> None:
        if self.name not in found:
            given = [each.array.copy() if isinstance(each, HostArray) else each for each in values]
            traced = self.prim_func.module
            module = lowered(traced.clone(), pipeline)
            names = tuple(param.name for param in self.params)
            label = f"{example}.{self.name}"
            found[self.name] = Subject(label, traced, module, names, tuple(given))
        launch(self, values)

    CompiledTileKernel.launch = recorded  # type: ignore[method-assign]
    try:
        load(example).example(np.random.default_rng(0))
    finally:
        CompiledTileKernel.launch = launch  # type: ignore[method-assign]
    return list(found.values())


CAUGHT_SEEDS = (0, 1)
TRIED_SEEDS = range(6)


def catch(subject: Subject, wanted: Arrays, mutant: ModuleOp) -> str | None:
    """How the checks find a mutant: the kind of fault, or that the result differs."""
    for seed in CAUGHT_SEEDS:
        try:
            if not same(subject.run(mutant, SimtOptions(seed=seed)), wanted):
                return "result"
        except SimtFault as fault:
            return fault.kind
    return None


def warp_size(module: ModuleOp) -> int:
    """Lanes of a warp of the kernels of a module."""
    kernels = (op for op in walk(module) if names.KERNEL in op.attributes)
    return max(map(warp_size_of, kernels), default=NVIDIA_WARP)


def changes_behaviour(subject: Subject, wanted: Arrays, mutant: ModuleOp) -> bool:
    """Whether a mutant behaves differently from the kernel, without any check."""
    unit = 128 if any(op.name == "nv.wgmma" for op in walk(mutant)) else warp_size(mutant)
    for seed in TRIED_SEEDS:
        options = SimtOptions(checked=False, unit=unit, seed=seed)
        try:
            if not same(subject.run(mutant, options), wanted):
                return True
        except SimtFault:
            return True
    return False
