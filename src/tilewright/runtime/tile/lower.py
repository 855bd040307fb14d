"""`lower`: what becomes of a traced function before it runs, for tools that look at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from tilewright.runtime.tile.targets import arch_of, checked_target, chip_of, is_gpu, is_hip
from tilewright.targets.numpy.tile.kernel import compile_tile_module

if TYPE_CHECKING:
    from tilewright.language.T.prim_func import Param, PrimFunc


@dataclass(frozen=True)
class CompiledArtifact:
    """The parts of a compiled function.

    For a GPU, `device_mod` holds the kernels and the function that launches them. Target numpy runs
    launches and kernels as one program, so both modules are that one.
    """

    host_mod: ModuleOp
    device_mod: ModuleOp
    params: tuple[Param, ...]
    kernel_source: str
    target: str


def lower(
    func_or_mod: PrimFunc | ModuleOp, target: object = "auto", target_host: object = None
) -> CompiledArtifact:
    """Compile a traced function, or a module, up to the program that would run.

    `target_host` is what TileLang compiles launches for; here this process does them.
    """
    is_module = isinstance(func_or_mod, ModuleOp)
    module = (func_or_mod if is_module else func_or_mod.module).clone()
    params = () if is_module else func_or_mod.params
    chosen = checked_target(target)
    if is_gpu(chosen):
        from tilewright.targets.cuda.compile import compile_module

        arch = arch_of(chosen)
        program = compile_module(module, arch)
        assert program.module is not None
        return CompiledArtifact(module, program.module, params, program.source, f"cuda:{arch}")
    if is_hip(chosen):
        from tilewright.targets.hip.compile import compile_module as compile_for_hip

        chip = chip_of(chosen)
        program = compile_for_hip(module, chip)
        assert program.module is not None
        return CompiledArtifact(module, program.module, params, program.source, f"hip:{chip}")
    source = compile_tile_module(module.clone()).source
    return CompiledArtifact(module, module, params, source, chosen)
