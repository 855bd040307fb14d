"""From a module of ours to TTGIR that the installed Triton finishes.

plain `tl`       tt, arith, scf, barriers    Triton's whole pipeline follows
`tlx`            memory and tasks by the user    our layout passes
finished TTGIR   every tensor has its layout       storage aliasing

Before that, ops that the release lacks or gets wrong are written in another way (`plain_ops`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation

from tilewright.dialects.ttg.context import NUM_CTAS, NUM_WARPS, TARGET
from tilewright.dialects.ttg.program import ALL_SPACES, BarrierOp
from tilewright.dialects.type_utils import is_tensor
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pipeline, parse_pipeline
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.language.tl.options import Target
from tilewright.passes import PASSES
from tilewright.passes.stock_triton import refuse_unreadable
from tilewright.passes.stock_triton.keep_buffers import keep_buffers
from tilewright.passes.stock_triton.plain_ops import write_for_release
from tilewright.passes.stock_triton.whole_views import make_views_whole
from tilewright.passes.tlx.storage_alias.define_overlaps import named_phases
from tilewright.targets.triton import installation
from tilewright.targets.triton.adapter import BuildOptions, FunctionAttributes
from tilewright.targets.triton.instructions import refuse_missing_instructions

WRONG_TARGET = "TW6208"

Kind = Literal["plain", "tlx", "ttgir"]
_OWN_DIALECTS = ("ttg.", "ttng.", "tlx.", "amdg.", "rocdl.")
_ALIASING = (
    "tlx-storage-alias-lowering{{multi-overlap={phases}}},tlx-verify-storage-alias,"
    "tlx-rewrite-local-alias,dce"
)


@dataclass(frozen=True)
class CompileOptions:
    """How to compile; part of the identity of an artefact."""

    arch: int | str
    """The compute capability, or the name of an AMD architecture."""
    num_warps: int = 4
    num_stages: int = 3
    num_ctas: int = 1
    cluster: tuple[int, int, int] | None = None
    """CTAs of a cluster where every CTA is a program of its own, as in TLX."""
    maxnreg: int | None = None
    enable_fp_fusion: bool = True
    debug: bool = False
    cooperative: bool = False
    pdl: bool = False
    waves_per_eu: int | None = None
    matrix_instr_nonkdim: int | None = None
    kpack: int | None = None
    llvm_fn_attrs: FunctionAttributes = None

    @property
    def target(self) -> Target:
        return Target("cuda" if isinstance(self.arch, int) else "hip", self.arch)

    def for_build(self, module: ModuleOp) -> BuildOptions:
        """The options passed to Triton; attributes of the module cannot be overridden."""
        return BuildOptions(
            self.arch,
            num_warps=_stated(module, NUM_WARPS) or self.num_warps,
            num_stages=self.num_stages,
            num_ctas=_stated(module, NUM_CTAS) or self.num_ctas,
            maxnreg=self.maxnreg,
            enable_fp_fusion=self.enable_fp_fusion,
            debug=self.debug,
            waves_per_eu=self.waves_per_eu,
            matrix_instr_nonkdim=self.matrix_instr_nonkdim,
            kpack=self.kpack,
            llvm_fn_attrs=self.llvm_fn_attrs,
            warp_size=self.target.warp_size,
        )


def _stated(module: ModuleOp, name: str) -> int | None:
    found = module.attributes.get(name)
    return found.value.data if isinstance(found, IntegerAttr) else None


def kind_of(module: ModuleOp) -> Kind:
    """Which of the three ways `module` goes."""
    is_plain, has_bare_tensors = True, False
    for op in walk(module):
        if op.name.startswith(_OWN_DIALECTS) and not _is_debug_barrier(op):
            is_plain = False
        for type in op.result_types:
            if is_tensor(type):
                encoded = _encoding(type) is not None
                has_bare_tensors |= not encoded
                is_plain &= not encoded
    if is_plain:
        return "plain"
    return "ttgir" if NUM_WARPS in module.attributes and not has_bare_tensors else "tlx"


def _is_debug_barrier(op: Operation) -> bool:
    """The barrier that Triton's own front end writes; others are placed by the user."""
    return isinstance(op, BarrierOp) and op.spaces == ALL_SPACES


def _encoding(type: Attribute) -> Attribute | None:
    encoding: Attribute | None = getattr(type, "encoding", None)
    return None if encoding is None or encoding.name == "none" else encoding


def lower(module: ModuleOp, kind: Kind, options: CompileOptions, engine: DiagnosticEngine) -> None:
    """Lower `module` in place to IR that the installed Triton finishes; raises on errors."""
    write_for_release(module, installation.release()[0].version)
    if kind == "plain":
        refuse_unreadable(module, engine)
        engine.raise_if_errors()
        return
    _check_target(module, options.target, engine)
    if kind == "ttgir":
        phases = "true" if named_phases(module) else "false"
        Pipeline.build(parse_pipeline(_ALIASING.format(phases=phases)), PASSES).run(module, engine)
        refuse_unreadable(module, engine)
    else:
        _assign_layouts(module, options, engine)
    engine.raise_if_errors()
    refuse_missing_instructions(module, options.target, engine)
    make_views_whole(module)
    keep_buffers(module)
    verify(module, engine)
    engine.raise_if_errors()


def _assign_layouts(module: ModuleOp, options: CompileOptions, engine: DiagnosticEngine) -> None:
    # Other kinds do without these passes.
    from tilewright.passes.stock_triton.pipeline import to_ttgir

    to_ttgir(
        module,
        capability=options.arch,
        num_warps=options.num_warps,
        num_ctas=options.num_ctas,
        triton=installation.release()[0].version,
        warp_size=options.target.warp_size,
        engine=engine,
    )


def _check_target(module: ModuleOp, target: Target, engine: DiagnosticEngine) -> None:
    """TTGIR is compiled for one GPU; Triton may die of another's instructions."""
    stated = module.attributes.get(TARGET)
    if isinstance(stated, StringAttr) and stated.data != str(target):
        backend, _, arch = stated.data.partition(":")
        chip = f"sm_{arch}" if backend == "cuda" else arch
        engine.error(
            module,
            f"the module is for {stated.data}, the target is {target.arch_name}: "
            f"use the target triton:{chip}, or lower it again",
            WRONG_TARGET,
        )
        engine.raise_if_errors()
