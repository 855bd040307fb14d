"""From a traced kernel to TTGIR that stock Triton finishes: the passes, in order.

::

    kernel as written          fixup, clean up
    buffers                    required layouts, placeholders
    tensors                    a layout for each
    storage                    aliased buffers become one allocation with views
    stock Triton               descriptors, ops that it has
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import ModuleOp

from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pipeline, parse_pipeline
from tilewright.passes import PASSES
from tilewright.passes.stock_triton.assembly import FIRST_WITH_ADDRESSES
from tilewright.passes.tlx.storage_alias.define_overlaps import named_phases
from tilewright.passes.ttg.blocked import WARP

TTGIR_PIPELINE: Final = (
    "triton-tlx-fixup{{target=cuda:{capability} num-warps={num_warps} num-ctas={num_ctas} "
    "cluster-dims={cluster}}},"
    "canonicalize,cse,loop-invariant-code-motion,canonicalize,load-narrow-copies,"
    "tlx-insert-require-layout,tlx-propagate-layout{{partition-conflicts=error}},"
    "tlx-resolve-placeholder-layouts,"
    "convert-triton-to-tritongpu{{target=cuda:{capability} num-warps={num_warps} "
    "num-ctas={num_ctas}}},"
    "tlx-storage-alias-lowering{{placement=reindex multi-overlap={phases} record=false}},"
    "tlx-rewrite-local-alias,"
    "fence-wgmma-reads,tlx-finalize-user-layouts,tlx-dump-layout,remark-layouts,"
    "assign-descriptor-layouts,finish-for-stock-triton{{sync-before-arrivals={sync} "
    "addresses={addresses}}},"
    "canonicalize,cse,dce"
)


AMD_PIPELINE: Final = (
    "triton-tlx-fixup{{target=hip:{capability} num-warps={num_warps} threads-per-warp={lanes} "
    "num-ctas=1}},"
    "canonicalize,cse,loop-invariant-code-motion,canonicalize,"
    "drop-register-controls,swizzle-dot-operands,tlx-propagate-layout{{partition-conflicts=error}},"
    "stage-narrow-copies{{arch={capability}}},tlx-resolve-placeholder-layouts,"
    "convert-triton-to-tritongpu{{target=hip:{capability} num-warps={num_warps} "
    "threads-per-warp={lanes}}},"
    "tlx-storage-alias-lowering{{placement=reindex multi-overlap={phases} record=false}},"
    "tlx-rewrite-local-alias,"
    "tlx-finalize-user-layouts,tlx-dump-layout,remark-layouts,"
    "finish-for-stock-triton{{vendor=amd}},"
    "canonicalize,cse,dce"
)
"""The same for AMD GPUs: no descriptors of TMA, no fences between proxies, no clusters."""


SYNCHRONISES_BY_ITSELF: Final = (3, 8)
"""The first release that synchronises the threads of a task before one of them arrives."""


def pipeline_text(
    *,
    capability: int | str,
    num_warps: int,
    num_ctas: int = 1,
    cluster_dims: tuple[int, ...] = (),
    triton: tuple[int, int] = FIRST_WITH_ADDRESSES,
    phases: bool = False,
    warp_size: int = WARP,
) -> str:
    """The pipeline for a GPU of compute capability `capability` (90, for example) and a release.

    An AMD architecture has a name, gfx942, and `warp_size` threads in a wave.

    `phases` allows several overlap definitions over one spec.
    """
    if isinstance(capability, str):
        return AMD_PIPELINE.format(
            capability=capability,
            num_warps=num_warps,
            lanes=warp_size,
            phases=_flag(phases),
        )
    return TTGIR_PIPELINE.format(
        capability=capability,
        num_warps=num_warps,
        num_ctas=num_ctas,
        cluster=",".join(map(str, cluster_dims)),
        sync=_flag(triton < SYNCHRONISES_BY_ITSELF),
        addresses=_flag(triton >= FIRST_WITH_ADDRESSES),
        phases=_flag(phases),
    )


def _flag(option: bool) -> str:
    return "true" if option else "false"


def to_ttgir(
    module: ModuleOp,
    *,
    capability: int | str,
    num_warps: int,
    engine: DiagnosticEngine,
    num_ctas: int = 1,
    cluster_dims: tuple[int, ...] = (),
    triton: tuple[int, int] = FIRST_WITH_ADDRESSES,
    warp_size: int = WARP,
) -> None:
    """Lower `module` to finished TTGIR, in place; diagnostics go to `engine`.

    `triton` is the release that will read it, as (major, minor).
    """
    text = pipeline_text(
        capability=capability,
        num_warps=num_warps,
        num_ctas=num_ctas,
        cluster_dims=cluster_dims,
        triton=triton,
        phases=named_phases(module),
        warp_size=warp_size,
    )
    Pipeline.build(parse_pipeline(text), PASSES).run(module, engine)
