"""Keys of ``pass_configs``: accepted by name or as strings, unknown ones are reported once."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from enum import Enum, StrEnum
from typing import Any

from tilewright.frontend.callers import call_site
from tilewright.ir.passes import closest
from tilewright.targets.cuda.settings import Settings
from tilewright.targets.hip.settings import HipSettings


class PassConfigKey(StrEnum):
    """Settings of the compiler that users write in ``pass_configs``."""

    TL_ENABLE_FAST_MATH = "tl.enable_fast_math"
    TL_DISABLE_FAST_MATH = "tl.disable_fast_math"
    TL_DISABLE_WARP_SPECIALIZED = "tl.disable_warp_specialized"
    TL_DISABLE_TMA_LOWER = "tl.disable_tma_lower"
    TL_DISABLE_THREAD_STORAGE_SYNC = "tl.disable_thread_storage_sync"
    TL_PTXAS_REGISTER_USAGE_LEVEL = "tl.ptxas_register_usage_level"
    TL_ENABLE_PTXAS_VERBOSE_OUTPUT = "tl.enable_ptxas_verbose_output"
    TL_ENABLE_AGGRESSIVE_SHARED_MEMORY_MERGE = "tl.enable_aggressive_shared_memory_merge"
    TL_CONFIG_INDEX_BITWIDTH = "tl.config_index_bitwidth"
    TL_DISABLE_SAFE_MEMORY_ACCESS = "tl.disable_safe_memory_legalize"
    TL_DISABLE_WGMMA = "tl.disable_wgmma"
    TL_DISABLE_VECTORIZE_256 = "tl.disable_vectorize_256"
    TL_DISABLE_SHUFFLE_ELECT = "tl.disable_shuffle_elect"
    TL_DISABLE_SHARED_MEMORY_REUSE = "tl.disable_shared_memory_reuse"
    TL_DISABLE_DYNAMIC_TAIL_SPLIT = "tl.disable_dynamic_tail_split"
    TL_DYNAMIC_ALIGNMENT = "tl.dynamic_alignment"
    TL_DISABLE_DATA_RACE_CHECK = "tl.disable_data_race_check"
    TL_LAYOUT_VISUALIZATION_ENABLE = "tl.layout_visualization_enable"
    TL_LAYOUT_VISUALIZATION_FORMATS = "tl.layout_visualization_formats"
    TL_ENABLE_DUMP_IR = "tl.enable_dump_ir"
    TL_DUMP_IR_DIR = "tl.dump_ir_path"
    TL_FORCE_LET_INLINE = "tl.force_let_inline"
    TIR_DISABLE_VECTORIZE = "tir.disable_vectorize"
    TIR_USE_ASYNC_COPY = "tir.use_async_copy"
    TIR_ENABLE_DEBUG = "tir.enable_debug"
    CUDA_KERNELS_OUTPUT_DIR = "cuda.kernels_output_dir"
    # Of TileLang, accepted: they steer passes that are not here.
    TL_SIMPLIFY = "tl.Simplify"
    TL_SIMPLIFY_TRANSITIVELY_PROVE_INEQUALITIES = "transitively_prove_inequalities"
    TL_SIMPLIFY_CONVERT_BOOLEAN_TO_AND_OF_ORS = "convert_boolean_to_and_of_ors"
    TL_SIMPLIFY_APPLY_CONSTRAINTS_TO_BOOLEAN_BRANCHES = "apply_constraints_to_boolean_branches"
    TL_SIMPLIFY_PROPAGATE_KNOWNS_TO_PROVE_CONDITIONAL = "propagate_knowns_to_prove_conditional"
    TL_SIMPLIFY_PROPAGATE_KNOWNS_TO_SIMPLIFY_EXPRESSIONS = (
        "propagate_knowns_to_simplify_expressions"
    )
    TL_SIMPLIFY_ENABLE_LET_INLINE = "enable_simplify_let_inline"
    TL_DISABLE_BUFFER_INIT_CHECK = "tl.disable_buffer_init_check"
    TL_DISABLE_PRELOWER_SEMANTIC_CHECK = "tl.disable_prelower_semantic_check"
    TL_DEVICE_COMPILE_FLAGS = "tl.device_compile_flags"
    TL_EMIT_LINE_DIRECTIVES = "tl.emit_line_directives"
    TL_ENABLE_REDUCER_PLAN_VERBOSE = "tl.enable_reducer_plan_verbose"
    TL_LAYOUT_COST_MODEL = "tl.layout_cost_model"
    TL_REDUCER_FORCE_BASELINE = "tl.reducer_force_baseline"
    TL_ENABLE_ASYNC_COPY = "tl.enable_async_copy"
    TL_ENABLE_LOWER_LDGSTG = "tl.enable_lower_ldgstg"
    TL_ENABLE_LOWER_LDGSTG_PREDICATED = "tl.enable_lower_ldgstg_predicated"
    TL_ENABLE_VECTORIZE_PLANNER_VERBOSE = "tl.enable_vectorize_planner_verbose"
    TL_DEBUG_MERGE_SHARED_MEMORY_ALLOCATIONS = "tl.debug_merge_shared_memory_allocations"
    TL_DISABLE_LOOP_UNSWITCHING = "tl.disable_loop_unswitching"
    TL_LOOP_UNSWITCHING_ALLOW_NON_TRIVIAL_ELSE = "tl.loop_unswitching_allow_non_trivial_else"
    TL_IF_STMT_BINDING_INLINE_REPLAYABLE_BINDS = "tl.if_stmt_binding_inline_replayable_binds"
    TL_AST_PRINT_ENABLE = "tl.ast_print_enable"
    TL_STORAGE_REWRITE_DETECT_INPLACE = "tl.storage_rewrite_detect_inplace"
    TIR_ENABLE_EQUIV_TERMS_IN_CSE = "tir.enable_equiv_terms_in_cse_tir"
    TIR_DISABLE_CSE = "tirx.disable_cse_tir"
    TIR_SIMPLIFY = "tirx.Simplify"
    TIR_DISABLE_STORAGE_REWRITE = "tirx.disable_storage_rewrite"
    TIR_MERGE_STATIC_SMEM = "tirx.merge_static_smem"
    TIR_ADD_LOWER_PASS = "tirx.add_lower_pass"
    TIR_NOALIAS = "tirx.noalias"
    TL_DISABLE_OUT_OF_BOUND_WARNING = "tl.disable_out_of_bound_warning"
    TL_PASS_PROFILE = "tl.pass_profile"
    TL_PASS_PROFILE_THRESHOLD_MS = "tl.pass_profile_threshold_ms"
    TT_CORE_GRID = "tt.core_grid"
    TT_SCHEDULE_POLICY = "tt.schedule.policy"
    TT_SCHEDULE_ORDER = "tt.schedule.order"
    TT_MULTICAST = "tt.multicast"
    TT_RESIDENCY = "tt.residency"
    TT_SHARD = "tt.shard"
    TT_L1_BUDGET = "tt.l1_budget"
    TT_SUBBLOCK = "tt.subblock"
    TT_STAGES = "tt.stages"
    TT_CHOOSE = "tt.choose"


_KNOWN = frozenset(key.value for key in PassConfigKey)
_noticed: set[str] = set()


def checked_configs(configs: Mapping[Any, Any] | None) -> dict[str, Any]:
    """The settings by their string names, unknown ones left out."""
    found: dict[str, Any] = {}
    for key, value in (configs or {}).items():
        name = str(key.value if isinstance(key, Enum) else key)
        if name in _KNOWN:
            _check_value(name, value)
            found[name] = value
        elif name not in _noticed:
            _noticed.add(name)
            close = closest(name, _KNOWN)
            hint = f"; did you mean {close!r}?" if close else ""
            _warn(f"pass_configs: unknown key {name!r} ignored{hint}")
    return found


_VALUES: dict[str, tuple[Collection[int], str]] = {
    PassConfigKey.TL_PTXAS_REGISTER_USAGE_LEVEL: (range(11), "0 to 10"),
    PassConfigKey.TL_CONFIG_INDEX_BITWIDTH: ((32, 64), "32 or 64"),
}
"""Settings that are numbers: which ones, and the text of the range."""


def _check_value(name: str, value: object) -> None:
    if name not in _VALUES or value is None:
        return
    allowed, text = _VALUES[name]
    if value not in allowed:
        raise ValueError(f"pass_configs: {name!r} must be {text}, got {value!r}")


def _warn(message: str) -> None:
    """Warn at the user's line, however deep in here that was noticed."""
    position = call_site()
    if position is None:
        warnings.warn(message, stacklevel=2)
    else:
        warnings.warn_explicit(message, UserWarning, position.file, position.line)


_LEFT_OUT = {
    PassConfigKey.TL_DISABLE_SAFE_MEMORY_ACCESS: "guard-memory-accesses",
    PassConfigKey.TIR_DISABLE_VECTORIZE: "vectorize-loops",
    PassConfigKey.TL_DISABLE_THREAD_STORAGE_SYNC: "insert-thread-syncs",
}
"""Settings that leave a pass out, and its name."""


def gpu_settings(configs: Mapping[str, Any], arch: str, flags: object = None) -> Settings:
    """What checked settings, and flags for the CUDA compiler, mean for a GPU."""
    key = PassConfigKey
    has_roles = not (
        configs.get(key.TL_DISABLE_WARP_SPECIALIZED) or configs.get(key.TL_DISABLE_TMA_LOWER)
    )
    level = configs.get(key.TL_PTXAS_REGISTER_USAGE_LEVEL)
    return Settings(
        arch,
        wgmma=not configs.get(key.TL_DISABLE_WGMMA),
        warp_specialize=has_roles,
        fast_math=_is_fast(configs),
        register_level=None if level is None else int(level),
        index_bits=configs.get(key.TL_CONFIG_INDEX_BITWIDTH),
        reuse_within_iteration=bool(configs.get(key.TL_ENABLE_AGGRESSIVE_SHARED_MEMORY_MERGE)),
        tolerate_races=bool(configs.get(key.TL_DISABLE_DATA_RACE_CHECK)),
        leave_out=tuple(name for each, name in _LEFT_OUT.items() if configs.get(each)),
        flags=_flags(flags),
    )


def hip_settings(configs: Mapping[str, Any], chip: str, flags: object = None) -> HipSettings:
    """What checked settings, and flags for clang or hiprtc, mean for an AMD GPU.

    Those of NVIDIA's instructions (TMA, roles, wgmma, ptxas) have no meaning there.
    """
    key = PassConfigKey
    return HipSettings(
        chip,
        fast_math=_is_fast(configs),
        index_bits=configs.get(key.TL_CONFIG_INDEX_BITWIDTH),
        reuse_within_iteration=bool(configs.get(key.TL_ENABLE_AGGRESSIVE_SHARED_MEMORY_MERGE)),
        leave_out=tuple(name for each, name in _LEFT_OUT.items() if configs.get(each)),
        flags=_flags(flags),
    )


def _is_fast(configs: Mapping[str, Any]) -> bool:
    key = PassConfigKey
    return bool(
        configs.get(key.TL_ENABLE_FAST_MATH) or configs.get(key.TL_DISABLE_FAST_MATH) is False
    )


_NOT_FOR_NVRTC = ("-O", "-W", "-X", "--compiler-options", "--expt-", "-expt-", "--threads")
"""Options of nvcc for the host's compiler, for warnings, which are not shown, and for functions
that NVRTC takes anyway."""


def _flags(given: object) -> tuple[str, ...]:
    """Options as the compiler takes them; it always optimises, and NVRTC has no ``-O3``."""
    if given is None:
        return ()
    listed = given.split() if isinstance(given, str) else [str(each) for each in given]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType, reportUnknownArgumentType]
    return tuple(
        one for each in listed if not each.startswith(_NOT_FOR_NVRTC) for one in _separately(each)
    )


def _separately(flag: str) -> list[str]:
    """nvcc takes options of ptxas with commas between them, NVRTC one at a time."""
    name, _, options = flag.partition("=")
    if name != "--ptxas-options":
        return [flag]
    return [f"{name}={each}" for each in options.split(",")]
