"""A `T` kernel's IR to machine code: passes, source, NVRTC.

    program = compile_module(module, "sm_90a")
    program.kernels["gemm_kernel"].source, .cubin, .metadata

`program.steps` is what the host does to launch them. Compiled programs are cached on disk:
`artefact.PROGRAMS` looks there first, the functions here always compile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.nv import TensorMapOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.scf import ForOp
from tilewright.dialects.simt import LaunchOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile.mixed import integers
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.collector import collector_paused
from tilewright.ir.diagnostics import DiagnosticEngine, one_line
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.choose_occupancy import ChooseOccupancy
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.artefact import DeviceKernel, Program
from tilewright.targets.cuda.emit.kernel import emit_kernel, is_tensor_map
from tilewright.targets.cuda.fresh_indices import OTHER_REGISTERS, REOTHER_REGISTERS, refresh, undo
from tilewright.targets.cuda.loads_in_flight import bytes_in_flight
from tilewright.targets.cuda.long_copies import (
    COPIES_AT_ONCE,
    FEWER_COPIES,
    SHORTEN_COPIES,
    long_copies,
)
from tilewright.targets.cuda.long_steps import (
    FEWER_STEPS,
    SHORTEN_STEPS,
    STEPS_AT_ONCE,
    long_steps,
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
from tilewright.targets.cuda.unrolling import unroll_by, unroll_whole
from tilewright.targets.cxx.kernel import Lowered, Source, integer_of, kind_of
from tilewright.targets.errors import CudaCompilerError
from tilewright.targets.host.read import host_steps
from tilewright.targets.metadata import TENSOR_MAP, KernelMetadata, TensorMapSpec
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
    chosen.report(engine)
    for change in _CHANGES:
        if change.name not in pipeline.leave_out:
            lowered.spill_less(change, kernels, arch, options, engine)
    if ChooseOccupancy.name not in pipeline.leave_out:
        lowered.fill_multiprocessors(kernels, arch, options, engine)
    for function in lowered.functions:
        metadata = kernels[function.sym_name.data].metadata
        warn_of_spills(function, metadata, engine)
        for each in without_positions(metadata.performance_remarks):
            engine.remark(function, f"{metadata.name}: ptxas: {each}", ASSEMBLER_REMARK)
    remarks = tuple(map(one_line, engine.diagnostics))
    return Program(host_steps(lowered.host), kernels, lowered.module, remarks)


class _Lowered(Lowered):
    """Kernels that are compiled by NVRTC."""

    @staticmethod
    def of(module: ModuleOp, pipeline: GpuPipeline, engine: DiagnosticEngine) -> _Lowered:
        """Raises `CompileError` if something is wrong, and only then reports to `engine`."""
        copy = module.clone()
        with engine.capture() as log:
            pipeline.run(copy, engine)
        if log.has_errors:
            for each in log.diagnostics:
                engine.emit(each)
        engine.raise_if_errors()
        return _Lowered.emitted(copy, emit_kernel, log.diagnostics)

    def compiled(self, arch: str, options: Sequence[str]) -> dict[str, DeviceKernel]:
        """Its kernels as machine code."""
        return {
            source.name: self._kernel(function, source, arch, options)
            for function, source in zip(self.functions, self.sources, strict=True)
        }

    def spill_less(
        self,
        change: _Change,
        kernels: dict[str, DeviceKernel],
        arch: str,
        options: Sequence[str],
        engine: DiagnosticEngine,
    ) -> None:
        """Replace kernels that spill, where less spills after a change."""
        for function in self.functions:
            kernel = kernels[function.sym_name.data]
            before = kernel.metadata
            if not before.spill_bytes or len(kernel.cubin) > _LARGE_CODE:
                continue
            changed = change.apply(function)
            if not changed:
                continue
            found = self._kernel(function, emit_kernel(function), arch, options)
            if found.metadata.spill_bytes >= before.spill_bytes:
                change.undo(changed)
                continue
            kernels[before.name] = found
            where, what = change.described(function, changed)
            engine.remark(
                where,
                f"{before.name}: {what}: {found.metadata.spill_bytes} B per thread spill instead "
                f"of {before.spill_bytes}",
                change.code,
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


@dataclass(frozen=True)
class _Change:
    """A change of a kernel, after which it may spill less."""

    name: str
    """As a pass that may be left out."""
    code: str
    apply: Callable[[FuncOp], Sequence[Any]]
    """What was changed; nothing if there is nothing to change."""
    undo: Callable[[Any], None]
    described: Callable[[FuncOp, Sequence[Any]], tuple[Operation, str]]


def _unrolled_by_two(function: FuncOp) -> Sequence[ForOp]:
    loops = long_steps(function)
    unroll_by(STEPS_AT_ONCE, loops)
    return loops


def _unrolled_by_sixteen(function: FuncOp) -> Sequence[ForOp]:
    loops = long_copies(function)
    unroll_by(COPIES_AT_ONCE, loops)
    return loops


_CHANGES = (
    _Change(
        SHORTEN_STEPS,
        FEWER_STEPS,
        _unrolled_by_two,
        unroll_whole,
        lambda _, loops: (loops[0], f"{len(loops)} loops of MMAs unrolled by two"),
    ),
    _Change(
        SHORTEN_COPIES,
        FEWER_COPIES,
        _unrolled_by_sixteen,
        unroll_whole,
        lambda _, loops: (loops[0], f"{len(loops)} loops of copies unrolled by sixteen"),
    ),
    _Change(
        REOTHER_REGISTERS,
        OTHER_REGISTERS,
        refresh,
        undo,
        lambda function, _: (function, "loops read the thread index anew"),
    ),
)


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


def lower_module(
    module: ModuleOp, pipeline: GpuPipeline, engine: DiagnosticEngine | None = None
) -> Lowered:
    """The kernels of a copy of `module` as CUDA C++, for which NVRTC is not needed.

    What depends on the registers of machine code is not decided: forms that spill less, and more
    blocks on a multiprocessor. Raises `CompileError` if something is wrong, and only then reports
    to `engine`.
    """
    with collector_paused():
        return _Lowered.of(module, pipeline, engine or DiagnosticEngine())


def lower_as(module: ModuleOp, settings: Settings) -> Lowered:
    """`lower_module` with the user's settings."""
    return lower_module(module, GpuPipeline(**pipeline_options(settings)))


def source_as(module: ModuleOp, settings: Settings) -> str:
    """The CUDA C++ of the kernels of `module`, not compiled further."""
    return "\n".join(lower_as(module, settings).texts)


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
    bits = integer_of(function, simt_names.INDEX_BITS, 0)
    cluster = function.attributes.get(nv_names.CLUSTER)
    blocks = (*integers(cluster), 1, 1)[:3] if cluster is not None else (1, 1, 1)  # pyright: ignore[reportArgumentType]
    report = PtxasLog.read(log)
    return KernelMetadata(
        name,
        arch,
        integer_of(function, simt_names.THREADS, 0),
        integer_of(function, simt_names.SHARED_BYTES, 0),
        tuple(
            TENSOR_MAP if is_tensor_map(each.type) else kind_of(each.type, bits)
            for each in arguments
        ),
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
        fp4_padded=owner.expands is not None,
    )
