"""`memory_map`: the shared and tensor memory of a kernel, as a value that draws itself.

    tw.memory_map(kernel)                 # what was launched last
    tw.memory_map(kernel, x, y, n)        # for these arguments; nothing is run
    tw.memory_map(kernel, target="hip:gfx942")

Of a kernel on pointers there is the aliasing as it is written, if the kernel allocates memory
itself, else what the passes place for the target. Of a kernel on tiles there is what the passes
place, for its own target or another. `str` is the map as text; notebooks show a diagram.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from typing_extensions import override
from xdsl.dialects.builtin import ModuleOp

from tilewright._notebook import NotebookForm, load_form
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.language.T.prim_func import PrimFunc
from tilewright.memory import MemoryMap, StoragePlan
from tilewright.memory.map import memory_maps
from tilewright.memory.targets import Target, target_named
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.runtime.addresses import named_module
from tilewright.runtime.choice import spec_named
from tilewright.runtime.launchable import Launchable
from tilewright.runtime.memory_maps.plans import Unlimited, allocations
from tilewright.runtime.memory_maps.tiles import has_tile_kernels, shared_memory_maps
from tilewright.runtime.pointer.compiled import CompiledKernel
from tilewright.runtime.tile.jit import TileJIT
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.runtime.tile.targets import (
    HIP,
    TENSTORRENT,
    checked_target,
    chip_of,
    default_arch,
    is_gpu,
    is_hip,
    is_tenstorrent,
)
from tilewright.targets.cuda.compile import pipeline_options as cuda_options
from tilewright.targets.hip.compile import pipeline_options as hip_options


@dataclass(frozen=True)
class KernelMemory(NotebookForm):
    """The memory of one kernel: a `MemoryMap` for each of its memories."""

    notebook_form = "tilewright.report.notebook.memory:kernel_memory_html"

    kernel: str
    maps: tuple[MemoryMap, ...]
    note: str = ""
    """What the maps show: the aliasing as written, or what passes placed."""

    @override
    def __str__(self) -> str:
        return load_form("tilewright.report.notebook.memory:kernel_memory_text")(self)


def memory_map(kernel: Any, *args: Any, target: str | None = None, **named: Any) -> KernelMemory:
    """The shared and tensor memory of `kernel`, for the arguments of a call or the last launch.

    `kernel` is a kernel of `tl`, `tlx` or `T`, one that is compiled already, a traced function, a
    `StoragePlan`, or a module of IR. `target` is what it is compiled for (``cuda:sm_90a``,
    ``hip:gfx942``, ``tenstorrent:wormhole``); by default the one that it is written for.

    Raises:
        CompileError: if the kernel does not compile for the target.
        ValueError: if no arguments are passed, and the kernel was not launched either.
    """
    if isinstance(kernel, StoragePlan):
        known = None if target is None else _target_named(target)
        return KernelMemory(kernel.region.name, memory_maps([kernel], known), "as planned")
    if isinstance(kernel, ModuleOp):
        return _of_module(kernel, target)
    found = _compiled(kernel, args, named)
    if isinstance(found, CompiledKernel):
        return _of_pointers(found, target)
    return _of_tiles(found, target)


def _compiled(
    kernel: Any, args: Sequence[Any], named: Mapping[str, Any]
) -> CompiledKernel | CompiledTileKernel:
    """The kernel for these arguments; without any, that of the last launch."""
    if isinstance(kernel, PrimFunc):
        return CompiledTileKernel(kernel)
    if isinstance(kernel, CompiledKernel | CompiledTileKernel):
        return kernel
    if isinstance(kernel, TileJIT):
        if args or named or not kernel.cache:
            return _traced(kernel, args, named)
        return list(kernel.cache.values())[-1]
    if isinstance(kernel, Launchable):
        if args or named:
            return cast("CompiledKernel", kernel.warmup(*args, **named))
        known: Mapping[Any, Any] = getattr(kernel, "cache", {})
        launched = [each for each in known.values() if isinstance(each, CompiledKernel)]
        if not launched:
            raise ValueError(
                f"{kernel.name} was not launched yet: pass the arguments of a launch, "
                f"tw.memory_map({kernel.name}, {', '.join(kernel.arg_names)})"
            )
        return launched[-1]
    raise TypeError(f"memory_map expects a kernel, a plan or a module of IR, got {kernel!r}")


def _traced(kernel: TileJIT, args: Sequence[Any], named: Mapping[str, Any]) -> CompiledTileKernel:
    name = kernel.function.__name__
    if not args and not named and kernel.signature.parameters:
        raise ValueError(
            f"{name} was not called yet: pass the arguments of a call, tw.memory_map({name}, "
            f"{', '.join(kernel.signature.parameters)})"
        )
    return kernel.traced(*args, **named)


def _of_module(module: ModuleOp, target: str | None) -> KernelMemory:
    known = None if target is None else _target_named(target)
    if has_tile_kernels(module):
        return KernelMemory("", shared_memory_maps(module, known), "as it is in the IR")
    return KernelMemory("", _written(module, known), "as written")


def _of_pointers(kernel: CompiledKernel, target: str | None) -> KernelMemory:
    machine = kernel.choice.machine
    if target is None and kernel.choice.raised is None:
        gpu = target_named(f"sm_{machine.arch}") if machine.is_cuda else None
        maps = _written(named_module(kernel), gpu)
        if maps:
            return KernelMemory(kernel.name, maps, "as written")
    raised = target or kernel.choice.raised
    if raised is None:
        raised = f"cuda:sm_{machine.arch}a" if machine.is_cuda else f"{HIP}:{machine.arch}"
    raised = checked_target(raised)
    machine = spec_named(raised).machine or machine
    settings = replace(kernel.settings, target=machine)
    choice = replace(kernel.choice, machine=machine, raised=raised)
    return _of_tiles(replace(kernel, settings=settings, choice=choice).raised, raised)


def _written(module: ModuleOp, target: Target | None) -> tuple[MemoryMap, ...]:
    """The aliasing as it is written; raises `CompileError` if it cannot be planned."""
    engine = DiagnosticEngine()
    plans = allocations(module, Unlimited(), engine)
    if plans is None or engine.has_errors:
        raise CompileError(engine)
    return tuple(each for found in plans for each in memory_maps(found.plans, target, found.kernel))


def _of_tiles(kernel: CompiledTileKernel, target: str | None) -> KernelMemory:
    """The shared memory as the passes place it for a GPU, or the L1 of a Tenstorrent core."""
    name = kernel.target if target is None else checked_target(target)
    if is_tenstorrent(name):
        return KernelMemory(kernel.name, _l1_maps(kernel, name), f"as placed for {name}")
    module, engine = kernel.prim_func.module.clone(), DiagnosticEngine()
    if is_hip(name):
        arch = chip_of(name)
        AmdPipeline(**hip_options(kernel.hip_settings_for(arch))).run(module, engine)
    else:
        arch = name.partition(":")[2] if is_gpu(name) else ""
        arch = arch or default_arch(kernel.prim_func.module)
        GpuPipeline(**cuda_options(kernel.settings_for(arch))).run(module, engine)
    engine.raise_if_errors()
    maps = shared_memory_maps(module, target_named(arch))
    return KernelMemory(kernel.name, maps, f"as placed for {arch}")


def _l1_maps(kernel: CompiledTileKernel, target: str) -> tuple[MemoryMap, ...]:
    runner = kernel.tenstorrent
    if runner is None or kernel.target != target:
        runner = CompiledTileKernel(kernel.prim_func, target=target).tenstorrent
    assert runner is not None, TENSTORRENT
    return tuple(launch.memory_map() for launch in runner.artefact.launches)


def _target_named(name: str) -> Target:
    try:
        return target_named(name)
    except LookupError as error:
        raise ValueError(error.args[0]) from None
