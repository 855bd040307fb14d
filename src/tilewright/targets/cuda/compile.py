"""A `T` kernel's IR to machine code: passes, source, NVRTC.

    program = compile_module(module, "sm_90a")
    program.kernels["gemm_kernel"].source, .cubin, .metadata

`program.steps` is what the host does to launch them. Compiled programs are cached on disk:
`artefact.PROGRAMS` looks there first, the functions here always compile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.nv import TensorMapOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.simt import LaunchOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile.mixed import integers
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.collector import collector_paused
from tilewright.ir.diagnostics import Diagnostic, DiagnosticEngine, one_line
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.choose_occupancy import ChooseOccupancy
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.artefact import DeviceKernel, Program
from tilewright.targets.cuda.emit.kernel import Source, emit_kernel, is_tensor_map, kernels_of
from tilewright.targets.cuda.fresh_indices import OTHER_REGISTERS, REOTHER_REGISTERS, refresh, undo
from tilewright.targets.cuda.loads_in_flight import bytes_in_flight
from tilewright.targets.cuda.long_steps import (
    FEWER_STEPS,
    SHORTEN_STEPS,
    long_steps,
    restore,
    shorten,
)
from tilewright.targets.cuda.nvrtc import compile_source
from tilewright.targets.cuda.occupancy import (
    MORE_BLOCKS,
    is_stream,
    larger_occupancies,
    resident_blocks,
)
from tilewright.targets.cuda.revisions import losses, revisions
from tilewright.targets.cuda.settings import Settings
from tilewright.targets.cuda.spills import warn_of_spills
from tilewright.targets.cxx.emitter import is_buffer
from tilewright.targets.errors import CudaCompilerError
from tilewright.targets.host.read import host_steps
from tilewright.targets.metadata import KernelMetadata, TensorMapSpec
from tilewright.targets.ptxas_log import ASSEMBLER_REMARK, PtxasLog, without_positions
from tilewright.targets.variants import Variants

_LARGE_CODE = 512 << 10
"""Bytes of machine code from which spills are accepted: such a kernel takes most of a minute to
compile, and other forms of it would take that again, each."""

_TOO_FEW_REGISTERS = "(C7602)"
"""ptxas refuses a kernel: one instruction needs more registers than a thread has at launch."""


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
    pipeline = pipeline or GpuPipeline(target=f"cuda:{arch}")
    with collector_paused():
        try:
            return _compiled(module, arch, engine, pipeline, options)
        except CudaCompilerError as error:
            if _TOO_FEW_REGISTERS not in error.log or pipeline.max_blocks == 1:
                raise
            pipeline = replace(pipeline, max_blocks=1)
            return _compiled(module, arch, engine, pipeline, options)


def _compiled(
    module: ModuleOp,
    arch: str,
    engine: DiagnosticEngine,
    pipeline: GpuPipeline,
    options: Sequence[str],
) -> Program:
    variants = Variants(
        module,
        pipeline,
        _Lowered.of,
        lambda lowered: lowered.compiled(arch, options),
        lambda kernel: len(kernel.cubin),
        _LARGE_CODE,
        lambda given, lowered, kernels: revisions(given, lowered.functions, kernels),
        losses,
    )
    chosen = variants.chosen(engine)
    lowered, kernels = chosen.lowered, dict(chosen.kernels)
    # Once of each: the copies of an unrolled loop body all have one source line.
    for each in {one_line(each): each for each in lowered.diagnostics}.values():
        engine.emit(each)
    for reason in chosen.reasons:
        engine.remark(lowered.functions[0], *reason)
    if SHORTEN_STEPS not in pipeline.leave_out:
        lowered.shorten_steps(kernels, arch, options, engine)
    if REOTHER_REGISTERS not in pipeline.leave_out:
        lowered.refresh_indices(kernels, arch, options, engine)
    if ChooseOccupancy.name not in pipeline.leave_out:
        lowered.fill_multiprocessors(kernels, arch, options, engine)
    for function in lowered.functions:
        metadata = kernels[function.sym_name.data].metadata
        warn_of_spills(function, metadata, engine)
        for each in without_positions(metadata.performance_remarks):
            engine.remark(function, f"{metadata.name}: ptxas: {each}", ASSEMBLER_REMARK)
    remarks = tuple(map(one_line, engine.diagnostics))
    return Program(host_steps(lowered.host), kernels, lowered.module, remarks)


@dataclass(frozen=True)
class _Lowered:
    """A module after the passes, and its kernels as text."""

    module: ModuleOp
    host: FuncOp
    functions: Sequence[FuncOp]
    sources: Sequence[Source]
    diagnostics: Sequence[Diagnostic]
    """Remarks and warnings of the passes, which count only if this is what becomes of it."""

    @property
    def texts(self) -> Sequence[str]:
        return [each.text for each in self.sources]

    @staticmethod
    def of(module: ModuleOp, pipeline: GpuPipeline, engine: DiagnosticEngine) -> _Lowered:
        """Raises `CompileError` if something is wrong, and only then reports to `engine`."""
        lowered = module.clone()
        with engine.capture() as log:
            pipeline.run(lowered, engine)
        if log.has_errors:
            for each in log.diagnostics:
                engine.emit(each)
        engine.raise_if_errors()
        functions = kernels_of(lowered)
        host = next(op for op in lowered.body.ops if isinstance(op, FuncOp) and op not in functions)
        sources = list(map(emit_kernel, functions))
        return _Lowered(lowered, host, functions, sources, log.diagnostics)

    def compiled(self, arch: str, options: Sequence[str]) -> dict[str, DeviceKernel]:
        """Its kernels as machine code."""
        return {
            source.name: self._kernel(function, source, arch, options)
            for function, source in zip(self.functions, self.sources, strict=True)
        }

    def shorten_steps(
        self,
        kernels: dict[str, DeviceKernel],
        arch: str,
        options: Sequence[str],
        engine: DiagnosticEngine,
    ) -> None:
        """Replace kernels that spill, where fewer unrolled steps of MMAs spill less."""
        for function in self.functions:
            kernel = kernels[function.sym_name.data]
            before = kernel.metadata
            loops = long_steps(function) if before.spill_bytes else []
            if not loops or len(kernel.cubin) > _LARGE_CODE:
                continue
            shorten(loops)
            found = self._kernel(function, emit_kernel(function), arch, options)
            if found.metadata.spill_bytes >= before.spill_bytes:
                restore(loops)
                continue
            kernels[before.name] = found
            engine.remark(
                loops[0],
                f"{before.name}: {len(loops)} loops of MMAs unrolled by two: "
                f"{found.metadata.spill_bytes} B per thread spill instead of {before.spill_bytes}",
                FEWER_STEPS,
            )

    def refresh_indices(
        self,
        kernels: dict[str, DeviceKernel],
        arch: str,
        options: Sequence[str],
        engine: DiagnosticEngine,
    ) -> None:
        """Replace kernels that spill, where less spills if loops read thread indices anew."""
        for function in self.functions:
            kernel = kernels[function.sym_name.data]
            before = kernel.metadata
            if not before.spill_bytes or len(kernel.cubin) > _LARGE_CODE:
                continue
            refreshed = refresh(function)
            if not refreshed:
                continue
            found = self._kernel(function, emit_kernel(function), arch, options)
            if found.metadata.spill_bytes >= before.spill_bytes:
                undo(refreshed)
                continue
            kernels[before.name] = found
            engine.remark(
                function,
                f"{before.name}: loops read the thread index anew: "
                f"{found.metadata.spill_bytes} B per thread spill instead of {before.spill_bytes}",
                OTHER_REGISTERS,
            )

    def fill_multiprocessors(
        self,
        kernels: dict[str, DeviceKernel],
        arch: str,
        options: Sequence[str],
        engine: DiagnosticEngine,
    ) -> None:
        """Replace kernels whose registers leave a multiprocessor few threads, where a
        bound on registers spills none.

        That is a bound in the text; the passes need not run again.
        """
        launches = [op for op in walk(self.host) if isinstance(op, LaunchOp)]
        for function in self.functions:
            kernel = kernels[function.sym_name.data]
            if len(kernel.cubin) > _LARGE_CODE:
                continue
            before, streams = kernel.metadata, is_stream(function)
            for blocks in larger_occupancies(function, launches, before):
                function.attributes[simt_names.MIN_BLOCKS] = IntegerAttr(blocks, i64)
                try:
                    found = self._kernel(function, emit_kernel(function), arch, options)
                except CudaCompilerError as error:
                    if _TOO_FEW_REGISTERS not in error.log:
                        raise
                    found = None  # one instruction moves more registers than a thread would have
                if (
                    found is None
                    or found.metadata.spill_bytes
                    or found.metadata.stack_bytes > before.stack_bytes
                    or (streams and _in_flight(found) < _in_flight(kernel))
                ):
                    del function.attributes[simt_names.MIN_BLOCKS]
                    continue
                kernels[before.name] = found
                engine.remark(
                    function,
                    f"{before.name}: compiled for {blocks} blocks per SM, with "
                    f"{found.metadata.registers} registers per thread: with {before.registers}, "
                    f"{resident_blocks(before.threads, before.registers)} fit",
                    MORE_BLOCKS,
                )
                break

    def _kernel(
        self, function: FuncOp, source: Source, arch: str, options: Sequence[str]
    ) -> DeviceKernel:
        done = compile_source(source.text, arch, options, name=f"{source.name}.cu")
        metadata = _metadata(function, self.host, arch, done.log)
        return DeviceKernel(source.text, done.cubin, metadata, done.log)


def compile_as(
    module: ModuleOp, settings: Settings, engine: DiagnosticEngine | None = None
) -> Program:
    """Compile a copy of `module` with the user's settings."""
    return compile_module(
        module,
        settings.arch,
        engine=engine,
        pipeline=GpuPipeline(**pipeline_options(settings)),
        options=settings.options,
    )


def source_as(module: ModuleOp, settings: Settings) -> str:
    """The CUDA C++ of the kernels of `module`, not compiled further."""
    pipeline = GpuPipeline(**pipeline_options(settings))
    with collector_paused():
        return "\n".join(_Lowered.of(module, pipeline, DiagnosticEngine()).texts)


def pipeline_options(settings: Settings) -> dict[str, Any]:
    """The user's settings, as fields of the pipeline."""
    return {
        "target": f"cuda:{settings.arch}",
        "wgmma": settings.wgmma,
        "warp_specialize": settings.warp_specialize,
        "index_bits": settings.index_bits,
        "reuse_within_iteration": settings.reuse_within_iteration,
        "tolerate_races": settings.tolerate_races,
        "leave_out": settings.leave_out,
    }


def _in_flight(kernel: DeviceKernel) -> int:
    """The bytes that a multiprocessor has in flight from global memory, as far as registers are
    what limits the threads; 0 if nothing is known."""
    metadata = kernel.metadata
    blocks = resident_blocks(metadata.threads, metadata.registers)
    return blocks * metadata.threads * bytes_in_flight(kernel.cubin, metadata.name)


def _metadata(function: FuncOp, host: FuncOp, arch: str, log: str) -> KernelMetadata:
    name = function.sym_name.data
    launch = next(
        op for op in walk(host) if isinstance(op, LaunchOp) and op.kernel.string_value() == name
    )
    arguments = function.body.block.args
    bits = _integer(function, simt_names.INDEX_BITS)
    cluster = function.attributes.get(nv_names.CLUSTER)
    blocks = (*integers(cluster), 1, 1)[:3] if cluster is not None else (1, 1, 1)  # pyright: ignore[reportArgumentType]
    report = PtxasLog.read(log)
    return KernelMetadata(
        name,
        arch,
        _integer(function, simt_names.THREADS),
        _integer(function, simt_names.SHARED_BYTES),
        tuple(_kind(argument.type, wide=bits == _WIDE) for argument in arguments),
        tuple(
            _tensor_map_spec(value)
            for value, argument in zip(launch.arguments, arguments, strict=True)
            if is_tensor_map(argument.type)
        ),
        cluster=(blocks[0], blocks[1], blocks[2]),
        cooperative=simt_names.COOPERATIVE in function.attributes,
        registers=report.registers,
        spill_bytes=report.spill_stores,
        stack_bytes=report.stack_bytes,
        pdl=nv_names.WAITS_FOR_GRIDS in function.attributes,
        index_bits=bits or 32,
        performance_remarks=report.performance_remarks,
    )


def _integer(function: FuncOp, name: str) -> int:
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


def _tensor_map_spec(value: SSAValue) -> TensorMapSpec:
    owner = value.owner
    assert isinstance(owner, TensorMapOp)
    element = element_type_of(owner.tensor.type)
    return TensorMapSpec(
        bit_width(element) // 8,
        owner.extents,
        owner.swizzle.value.data,
        element=str(element),
        fill=owner.fill.data,
    )
