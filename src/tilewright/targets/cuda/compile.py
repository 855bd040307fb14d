"""A `T` kernel's IR to machine code: passes, source, NVRTC.

    program = compile_module(module, "sm_90a")
    program.kernels["gemm_kernel"].source, .cubin, .facts

`program.steps` is what the host does to launch them. What was compiled once is kept on disk by its
content (`artefact`); `compile_module` always compiles, `compiled` looks there first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.nv import LaunchOp, TensorMapOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.tile.mixed import integers
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine, one_line
from tilewright.ir.text import print_module
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.artefact import (
    DeviceKernel,
    Program,
    read_program,
    write_program,
)
from tilewright.targets.cuda.emit.emitter import is_buffer, is_tensor_map
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.cuda.facts import LaunchFacts, TensorMapFacts
from tilewright.targets.cuda.host import host_steps
from tilewright.targets.cuda.nvrtc import compile_source
from tilewright.targets.cuda.nvrtc import version as nvrtc_version
from tilewright.targets.cuda.settings import Settings
from tilewright.targets.triton.cache import digest, our_version


def compile_module(
    module: ModuleOp,
    arch: str = "sm_90a",
    *,
    engine: DiagnosticEngine | None = None,
    pipeline: GpuPipeline | None = None,
    options: Sequence[str] = (),
) -> Program:
    """Compile a copy of `module` for a GPU; raises `CompileError` with all that is wrong."""
    engine = engine or DiagnosticEngine()
    lowered = module.clone()
    (pipeline or GpuPipeline(target=f"cuda:{arch}")).run(lowered, engine)
    engine.raise_if_errors()
    functions = kernels_of(lowered)
    names = {function.sym_name.data for function in functions}
    hosts = [
        op for op in lowered.body.ops if isinstance(op, FuncOp) and op.sym_name.data not in names
    ]
    kernels: dict[str, DeviceKernel] = {}
    for function in functions:
        source = emit_kernel(function)
        compiled = compile_source(source.text, arch, options, name=f"{source.name}.cu")
        facts = _facts(function, hosts[0], compiled.log)
        kernels[source.name] = DeviceKernel(source.text, compiled.cubin, facts, compiled.log)
    return Program(host_steps(hosts[0]), kernels, lowered, tuple(map(one_line, engine.diagnostics)))


def compiled(
    module: ModuleOp, settings: Settings, engine: DiagnosticEngine | None = None
) -> Program:
    """The program for `module`: from the disk if it is there, else compiled and kept there."""
    key = digest(
        print_module(module, locations=True), repr(settings), our_version(), nvrtc_version()
    )
    found = read_program(key)
    if found is not None:
        return found
    pipeline = GpuPipeline(
        target=f"cuda:{settings.arch}",
        wgmma=settings.wgmma,
        roles=settings.roles,
        index_bits=settings.index_bits,
        leave_out=settings.leave_out,
    )
    program = compile_module(
        module, settings.arch, engine=engine, pipeline=pipeline, options=settings.options
    )
    write_program(key, program)
    return program


def _facts(function: FuncOp, host: FuncOp, log: str) -> LaunchFacts:
    name = function.sym_name.data
    launch = next(
        op for op in host.walk() if isinstance(op, LaunchOp) and op.kernel.string_value() == name
    )
    arguments = function.body.block.args
    bits = _number(function, nv_names.INDEX_BITS)
    cluster = function.attributes.get(nv_names.CLUSTER)
    blocks = (*integers(cluster), 1, 1)[:3] if cluster is not None else (1, 1, 1)  # pyright: ignore[reportArgumentType]
    return LaunchFacts(
        name,
        _number(function, nv_names.THREADS),
        _number(function, nv_names.SHARED_BYTES),
        tuple(_kind(argument.type, wide=bits == _WIDE) for argument in arguments),
        tuple(
            _map_facts(value)
            for value, argument in zip(launch.arguments, arguments, strict=True)
            if is_tensor_map(argument.type)
        ),
        (blocks[0], blocks[1], blocks[2]),
        nv_names.COOPERATIVE in function.attributes,
        _found(log, r"Used (\d+) registers"),
        _found(log, r"(\d+) bytes spill stores"),
        _found(log, r"(\d+) bytes stack frame"),
        index_bits=bits or 32,
    )


def _number(function: FuncOp, name: str) -> int:
    found = function.attributes.get(name)
    return found.value.data if isinstance(found, IntegerAttr) else 0


_WIDE = 64


def _kind(type: Attribute, *, wide: bool) -> str:
    if is_tensor_map(type):
        return "tensormap"
    if is_buffer(type):
        return "ptr"
    index = "i64" if wide else "i32"
    return index if str(type) == "index" else str(type)


def _map_facts(value: SSAValue) -> TensorMapFacts:
    owner = value.owner
    assert isinstance(owner, TensorMapOp)
    element = element_type_of(owner.tensor.type)
    return TensorMapFacts(
        str(element),
        bit_width(element) // 8,
        owner.extents,
        owner.swizzle.value.data,
        owner.fill.data,
    )


def _found(log: str, pattern: str) -> int:
    found = re.search(pattern, log)
    return int(found[1]) if found else 0
