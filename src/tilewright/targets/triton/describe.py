"""Launch metadata of a kernel that was built, and remarks about it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute

from tilewright.dialects.tt import FuncOp
from tilewright.dialects.tt.types import PtrType, TensorDescType
from tilewright.ir.diagnostics import Diagnostic, DiagnosticEngine
from tilewright.memory.targets import Memory, target_named
from tilewright.targets.metadata import HIDDEN, POINTER, TENSOR_MAP, KernelMetadata
from tilewright.targets.ptxas_log import ASSEMBLER_REMARK
from tilewright.targets.triton import installation
from tilewright.targets.triton.adapter import Built
from tilewright.targets.triton.amdgcn import argument_count
from tilewright.targets.triton.lowering import CompileOptions

SPILLS = "TW6205"
RESOURCES = "TW6206"
TOO_LARGE = "TW6210"
WRONG_PARAMETERS = "TW9070"

_HOPPER = 90
_MAX_THREADS = 1024
_ENTRY = re.compile(r"\.entry\s+\w+\s*\(([^)]*)\)")


def metadata_of(
    built: Built, kernel: FuncOp, options: CompileOptions, engine: DiagnosticEngine
) -> KernelMetadata:
    """What a launch of `kernel` must know; raises where machine code and text disagree."""
    return KernelMetadata(
        built.name,
        options.arch,
        options.target.warp_size * built.num_warps,
        built.shared + built.assembled.static_shared,
        _parameters(built, kernel, options, engine),
        tensor_maps=built.tensor_maps,
        tmem=built.tmem,
        scratch_bytes=built.scratch[0],
        scratch_align=built.scratch[1],
        profile_bytes=built.profile[0],
        profile_align=built.profile[1],
        cluster=options.cluster or (options.num_ctas, 1, 1),
        num_ctas=options.num_ctas,
        cooperative=options.cooperative,
        pdl=options.pdl,
        registers=built.assembled.registers,
        spill_bytes=built.assembled.spill_bytes,
        stack_bytes=built.assembled.stack_bytes,
        compiler=_compiler(built, options),
        warp_size=options.target.warp_size,
        scalar_registers=built.assembled.scalar_registers,
        accumulation_registers=built.assembled.accumulation_registers,
    )


def _compiler(built: Built, options: CompileOptions) -> str:
    assembler = "ptxas" if options.target.is_cuda else "AMD LLVM"
    return f"Triton {installation.installed()}, {assembler} {built.assembled.version}"


def _parameters(
    built: Built, kernel: FuncOp, options: CompileOptions, engine: DiagnosticEngine
) -> tuple[str, ...]:
    has_tma = options.target.is_cuda_from(_HOPPER)
    visible = tuple(_visible(kernel, has_tma=has_tma))
    text = built.stages["ptx" if options.target.is_cuda else "amdgcn"]
    assert isinstance(text, str)
    expected = entry_parameters(text) if options.target.is_cuda else argument_count(text)
    hidden = HIDDEN[: max(0, expected - len(visible))]
    if len(visible) + len(hidden) != expected:
        engine.error(
            kernel,
            f"the machine code takes {expected} parameters, the kernel has {len(visible)} and "
            f"{len(HIDDEN)} hidden ones",
            WRONG_PARAMETERS,
        )
        engine.raise_if_errors()
    return (*visible, *hidden)


def _visible(kernel: FuncOp, *, has_tma: bool) -> Iterator[str]:
    """The kinds of the parameters that the text of the kernel has."""
    for type in (argument.type for argument in kernel.args):
        if isinstance(type, TensorDescType) and not has_tma:
            # No TMA: Triton rewrites the descriptor as pointer, extents and strides.
            rank = len(type.get_shape())
            flags = installation.release()[0].descriptor_flags
            yield from (POINTER, *["i64"] * (2 * rank), *["i1"] * flags)
        else:
            yield _kind_of(type)


def _kind_of(type: Attribute) -> str:
    if isinstance(type, PtrType):
        return POINTER
    if isinstance(type, TensorDescType):
        return TENSOR_MAP
    if isinstance(type, IntegerType):
        return f"i{type.width.data}"
    return type.name


def entry_parameters(ptx: str) -> int:
    """How many parameters the kernel in `ptx` takes."""
    entry = _ENTRY.search(ptx)
    return 0 if entry is None else entry[1].count(".param")


def _shared_memory_of(chip: str) -> int | None:
    """The capacity per CTA on this GPU, where it is known."""
    try:
        return target_named(chip).capacity(Memory.SMEM)
    except LookupError:
        return None


def remarks_on(
    built: Built, metadata: KernelMetadata, kernel: FuncOp, engine: DiagnosticEngine
) -> Iterator[Diagnostic]:
    """What the machine code needs, and what it pays for; reported to `engine`."""
    memory = f", {metadata.tmem} columns of tensor memory" if metadata.tmem else ""
    yield engine.remark(
        kernel,
        f"{metadata.name}: {_registers(metadata)}, {metadata.shared} B of shared memory, "
        f"{metadata.threads} threads{memory}",
        RESOURCES,
    )
    capacity = _shared_memory_of(metadata.arch_name)
    if capacity is not None and metadata.shared > capacity:
        yield engine.warning(
            kernel,
            f"{metadata.name}: {metadata.shared} B of shared memory needed, {capacity} available "
            "on "
            f"{metadata.arch_name}: the launch will fail; use fewer stages, smaller tiles or "
            "overlapping buffers (see tilewright memory)",
            TOO_LARGE,
        )
    if metadata.threads > _MAX_THREADS:
        yield engine.warning(
            kernel,
            f"{metadata.name}: {metadata.threads} threads per block, limit {_MAX_THREADS}: the "
            "launch will fail; reduce num_warps",
            TOO_LARGE,
        )
    if metadata.spill_bytes:
        yield engine.remark(
            kernel,
            f"{metadata.name}: {metadata.spill_bytes} B of registers spill to local memory; "
            f"increase num_warps, reduce the tile, or {_more_registers(metadata)}",
            SPILLS,
        )
    if built.assembled.scalar_spills:
        yield engine.remark(
            kernel,
            f"{metadata.name}: {built.assembled.scalar_spills} SGPRs spill to lanes of VGPRs; keep "
            "fewer uniform values alive",
            SPILLS,
        )
    for each in built.assembled.performance_remarks:
        yield engine.remark(kernel, f"{metadata.name}: ptxas: {each}", ASSEMBLER_REMARK)


def _registers(metadata: KernelMetadata) -> str:
    if isinstance(metadata.arch, int):
        return f"{metadata.registers} registers"
    return (
        f"{metadata.registers} VGPRs ({metadata.accumulation_registers} of them AGPRs), "
        f"{metadata.scalar_registers} SGPRs"
    )


def _more_registers(metadata: KernelMetadata) -> str:
    return "raise maxnreg" if isinstance(metadata.arch, int) else "lower waves_per_eu"
