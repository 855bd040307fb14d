"""A `T` kernel's IR to code objects for AMD GPUs: passes, source, clang or hiprtc.

    program = compile_module(module, "gfx942")
    program.kernels["gemm_kernel"].source, .code_object, .isa, .metadata

`lower_module` stops at the source, and needs no compiler. `program.steps` is what the host does to
launch the kernels. Compiled programs are cached on disk: `artefact.PROGRAMS` looks there first, the
functions here always compile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.func import FuncOp
from tilewright.dialects.simt import names as simt_names
from tilewright.ir.codes.shared import SHARED_MEMORY_EXCEEDED
from tilewright.ir.collector import collector_paused
from tilewright.ir.diagnostics import (
    CompileError,
    Diagnostic,
    DiagnosticEngine,
    Severity,
    one_line,
)
from tilewright.layouts.hardware.amd_chips import Chip, chip_named
from tilewright.passes.amd.duplicate_operands import DuplicateOperands
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.passes.amd.read_shared_operands import has_shared_operands
from tilewright.passes.gpu.merge_guards import MergeGuards
from tilewright.targets.cxx.kernel import Lowered, Source, integer_of, kind_of
from tilewright.targets.hip.artefact import HipKernel, HipProgram
from tilewright.targets.hip.compiler import compile_source
from tilewright.targets.hip.emit.kernel import Refresh, emit_kernel
from tilewright.targets.hip.metadata import HipKernelMetadata
from tilewright.targets.hip.notes import KernelNote, kernel_notes
from tilewright.targets.hip.settings import HipSettings
from tilewright.targets.hip.spills import warn_of_spills
from tilewright.targets.host.read import host_steps
from tilewright.targets.variants import Revision, Variants, spilled

READ_IN_SHARED, FEWER_REGISTERS = "TW7554", "TW7555"
_SMALLER = {
    MergeGuards.name: "guards of accesses tested separately",
    DuplicateOperands.name: "operands stored once, read element by element by some GEMMs",
}
"""Passes that keep more values in registers, and the form without each."""
_LARGE_CODE = 512 << 10
"""Bytes of a code object from which spills are accepted."""
_OPERAND_PARTS = (2, 4, 8)
_SMALL_PARTS = (2, 4, 8, 16)
"""Fractions of shared memory, where loops are not pipelined."""


def lower_module(
    module: ModuleOp, pipeline: AmdPipeline, engine: DiagnosticEngine | None = None
) -> Lowered:
    """The kernels of a copy of `module` as text.

    What exceeds the shared memory of a block is lowered again in forms that need less. Raises
    `CompileError` if something is wrong, and only then reports to `engine`.
    """
    engine = engine or DiagnosticEngine()
    first: CompileError | None = None
    for form in forms(pipeline):
        try:
            return _lowered(module, form, engine)
        except CompileError as error:
            first = first or error
            if not exceeds_shared_memory(error.diagnostics):
                break
    assert first is not None, "there is a form"
    for each in first.diagnostics:
        engine.emit(each)
    raise CompileError(engine) from None


def exceeds_shared_memory(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether nothing else is wrong."""
    errors = [each for each in diagnostics if each.severity is Severity.ERROR]
    return all(each.code == SHARED_MEMORY_EXCEEDED for each in errors)


def forms(pipeline: AmdPipeline) -> Iterator[AmdPipeline]:
    """The passes as requested, then those for kernels that exceed the shared memory of a block.

    Operands stored once, then one version of each tile, then operands filled in parts, at last in
    loops that are not pipelined.
    """
    yield pipeline
    left_out = (*pipeline.leave_out, DuplicateOperands.name)
    once = replace(pipeline, leave_out=left_out, check_tile_sizes=True)
    single = replace(once, max_versions=1)
    yield from (once, single)
    for parts in _OPERAND_PARTS:
        yield replace(single, operand_parts=parts)
    for parts in _SMALL_PARTS:
        yield replace(single, operand_parts=parts, pipelined_parts=False)


@collector_paused()
def _lowered(module: ModuleOp, pipeline: AmdPipeline, engine: DiagnosticEngine) -> Lowered:
    """One form of the kernels; reports nothing to `engine`."""
    copy = module.clone()
    own = DiagnosticEngine(
        minimum=engine.minimum, max_errors=engine.max_errors, sources=engine.sources
    )
    pipeline.run(copy, own)
    own.raise_if_errors()
    chip = chip_of(pipeline)
    return Lowered.emitted(copy, lambda each: emit_kernel(each, chip), own.diagnostics)


def compile_module(
    module: ModuleOp,
    arch: str = "gfx942",
    *,
    engine: DiagnosticEngine | None = None,
    pipeline: AmdPipeline | None = None,
    options: Sequence[str] = (),
) -> HipProgram:
    """Compile a copy of `module` for an AMD GPU.

    Raises:
        CompileError: with all that is wrong with the kernel.
        HipCompilerMissing: if neither hiprtc nor clang is on this machine.
    """
    engine = engine or DiagnosticEngine()
    pipeline = pipeline or AmdPipeline(target=f"hip:{arch}")
    with collector_paused():
        return _compiled(module, engine, pipeline, options)


def _compiled(
    module: ModuleOp, engine: DiagnosticEngine, pipeline: AmdPipeline, options: Sequence[str]
) -> HipProgram:
    chip = chip_of(pipeline)
    variants = Variants(
        module,
        pipeline,
        lower_module,
        lambda lowered: _kernels(lowered, chip, options),
        lambda kernel: len(kernel.code_object),
        _LARGE_CODE,
        lambda requested, _, kernels: _revisions(module, requested, kernels),
    )
    chosen = variants.chosen(engine)
    chosen.report(engine)
    for function in chosen.lowered.functions:
        warn_of_spills(function, chosen.kernels[function.sym_name.data].metadata, engine)
    remarks = tuple(map(one_line, engine.diagnostics))
    steps = host_steps(chosen.lowered.host)
    return HipProgram(steps, chosen.kernels, chosen.lowered.module, remarks)


def _revisions(
    module: ModuleOp, pipeline: AmdPipeline, kernels: Mapping[str, HipKernel]
) -> Iterator[Revision[AmdPipeline]]:
    """Other forms of kernels that spill, with fewer values in registers at a time."""
    otherwise = f"{spilled(kernels)} B per thread spill otherwise"
    if has_shared_operands(module):
        yield Revision(
            replace(pipeline, read_shared_operands=True),
            f"operands of GEMMs read in shared memory, not copied to registers: {otherwise}",
            READ_IN_SHARED,
        )
    for name, form in _SMALLER.items():
        yield Revision(
            replace(pipeline, leave_out=(*pipeline.leave_out, name)),
            f"{form}: {otherwise}",
            FEWER_REGISTERS,
        )


def _kernels(lowered: Lowered, chip: Chip, options: Sequence[str]) -> dict[str, HipKernel]:
    """The kernels as code objects."""
    found: dict[str, HipKernel] = {}
    for function, source in zip(lowered.functions, lowered.sources, strict=True):
        kernel = _kernel(function, source, chip, options)
        if kernel.metadata.spill_bytes:
            for other in _with_fewer_registers(function, chip, source):
                instead = _kernel(function, other, chip, options)
                if instead.metadata.spill_bytes < kernel.metadata.spill_bytes:
                    kernel = instead
                if not kernel.metadata.spill_bytes:
                    break
        found[source.name] = kernel
    return found


def _with_fewer_registers(function: FuncOp, chip: Chip, source: Source) -> Iterator[Source]:
    """Other texts of a kernel that spills, the cheapest one first.

    Addresses may be computed again; one wave of a SIMD may have all its registers, AGPRs too, which
    costs copies.
    """
    texts = {source.text}
    for waves, refresh in (
        (None, Refresh.BARRIERS),
        (None, Refresh.LOOPS),
        (1, Refresh.NEVER),
        (1, Refresh.BARRIERS),
    ):
        other = emit_kernel(function, chip, waves_per_simd=waves, refresh=refresh)
        if other.text not in texts:
            texts.add(other.text)
            yield other


def _kernel(function: FuncOp, source: Source, chip: Chip, options: Sequence[str]) -> HipKernel:
    done = compile_source(source.text, chip.name, options, name=f"{source.name}.hip")
    note = kernel_notes(done.code_object)[source.name]
    metadata = _metadata(function, chip, note)
    return HipKernel(source.text, done.code_object, done.isa, metadata, done.log)


def compile_as(
    module: ModuleOp, settings: HipSettings, engine: DiagnosticEngine | None = None
) -> HipProgram:
    """Compile a copy of `module` with the user's settings."""
    pipeline = AmdPipeline(**pipeline_options(settings))
    return compile_module(
        module, settings.arch, engine=engine, pipeline=pipeline, options=settings.options
    )


def lower_as(module: ModuleOp, settings: HipSettings) -> Lowered:
    """`lower_module` with the user's settings."""
    return lower_module(module, AmdPipeline(**pipeline_options(settings)))


def pipeline_options(settings: HipSettings) -> dict[str, Any]:
    """The user's settings, as fields of the pipeline."""
    return {
        "target": f"hip:{settings.arch}",
        "index_bits": settings.index_bits,
        "reuse_within_iteration": settings.reuse_within_iteration,
        "leave_out": settings.leave_out,
    }


def chip_of(pipeline: AmdPipeline) -> Chip:
    """The chip that the passes are for."""
    return chip_named(pipeline.target.partition(":")[2])


def _metadata(function: FuncOp, chip: Chip, note: KernelNote) -> HipKernelMetadata:
    bits = integer_of(function, simt_names.INDEX_BITS, 0)
    shared = max(integer_of(function, simt_names.SHARED_BYTES, 0), note.lds_bytes)
    return HipKernelMetadata(
        function.sym_name.data,
        chip.name,
        integer_of(function, simt_names.THREADS, 0),
        shared,
        shared - note.lds_bytes,
        tuple(kind_of(each.type, bits) for each in function.body.block.args),
        simt_names.COOPERATIVE in function.attributes,
        note.vgprs,
        note.agprs,
        note.sgprs,
        note.vgpr_spills,
        note.sgpr_spills,
        note.scratch_bytes,
        index_bits=bits or 32,
    )
