"""IR to IR: one file a pass, named by a verb.

``PASSES`` maps the command-line name of every pass to a function that imports it, so that
listing or parsing a pipeline loads only what it uses.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from tilewright.ir.passes import PassClass, PassRegistry


def _lazy(module: str, name: str) -> Callable[[], PassClass]:
    def load() -> PassClass:
        found: PassClass = getattr(import_module(f"tilewright.passes.{module}"), name)
        return found

    return load


PASSES: PassRegistry = {
    "canonicalize": _lazy("canonicalize", "Canonicalize"),
    "cse": _lazy("cse", "Cse"),
    "dce": _lazy("dce", "Dce"),
    "symbol-dce": _lazy("symbol_dce", "SymbolDce"),
    "loop-invariant-code-motion": _lazy("loop_invariant_code_motion", "LoopInvariantCodeMotion"),
    "merge-shared-memory": _lazy("merge_shared_memory", "MergeSharedMemory"),
    "axis-info": _lazy("axis_info", "AxisInfoPass"),
    "pid-address": _lazy("pid_address", "PidAddress"),
    "bind-target": _lazy("tile.bind_target", "BindTarget"),
    "normalize-indices": _lazy("tile.normalize_indices", "NormalizeIndices"),
    "wrap-scalar-fragment-access": _lazy(
        "tile.wrap_scalar_fragment_access", "WrapScalarFragmentAccess"
    ),
    "inject-assumes": _lazy("tile.inject_assumes", "InjectAssumes"),
    "split-guards": _lazy("tile.split_guards", "SplitGuards"),
    "expand-explicit-unroll": _lazy("tile.expand_explicit_unroll", "ExpandExplicitUnroll"),
    "specialize-warps": _lazy("tile.specialize_warps", "SpecializeWarps"),
    "plan-pipeline": _lazy("tile.plan_pipeline", "PlanPipeline"),
    "expand-pipeline": _lazy("tile.expand_pipeline", "ExpandPipeline"),
    "triton-tlx-fixup": _lazy("tlx.fixup", "TritonTlxFixup"),
    "tlx-storage-alias-lowering": _lazy("tlx.storage_alias_lowering", "StorageAliasLowering"),
    "tlx-verify-storage-alias": _lazy("tlx.verify_storage_alias", "VerifyStorageAlias"),
    "tlx-rewrite-local-alias": _lazy("tlx.rewrite_local_alias", "RewriteLocalAlias"),
}

__all__ = ["PASSES"]
