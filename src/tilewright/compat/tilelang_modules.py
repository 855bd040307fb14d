"""Which modules and names of TileLang there are, and of the part of TVM that scripts use with it.

Read like `modules`: a row is one module, its names give the object of Tilewright that replaces
TileLang's.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.compat.modules import Offer, Project, joined, names_from

_T = "tilewright.language.T"
_TILE = "tilewright.runtime.tile"
_OURS = "tilewright.compat.tilelang"
_TESTING = "tilewright.compat.tilelang_testing"
_TVM = "tilewright.compat.tvm"

_BENCH = names_from(_OURS, "do_bench")
_PROFILER = names_from(f"{_TILE}.profiler", "Profiler")
_SUPPLY = names_from(f"{_TILE}.input_generators", "TensorSupplyType get_tensor_supply")
_CLOSE = names_from(_OURS, "torch_assert_close")
_TUNING = joined(
    names_from(f"{_TILE}.autotune", "AutoTuner get_autotune_inputs set_autotune_inputs"),
    {"autotune": f"{_TILE}.autotune:tile_autotune"},
)
_JIT = {
    "JITImpl": f"{_TILE}.jit:TileJIT",
    "JITKernel": f"{_TILE}.kernel:CompiledTileKernel",
    "compile": f"{_TILE}.jit:compile_tile",
    "par_compile": f"{_OURS}:par_compile",
}
_INTEGERS = names_from("tilewright.runtime.integers", "cdiv next_power_of_2")
_PASSES = names_from(f"{_TILE}.pass_configs", "PassConfigKey")
_LAYOUTS = joined(
    names_from(f"{_T}.layouts", "Fragment Layout make_linear_layout make_swizzled_layout"),
    names_from(
        f"{_T}.swizzles",
        "make_full_bank_swizzled_layout make_fully_replicated_layout_fragment "
        "make_gemm_fragment_8x8 make_gemm_fragment_8x8_transposed make_half_bank_swizzled_layout "
        "make_quarter_bank_swizzled_layout make_wgmma_swizzled_layout",
    ),
)
_DTYPE = {"DataType": f"{_T}.dtypes:dtype"}
_POLICY = names_from(f"{_T}.tile_ops", "GemmWarpPolicy")
_CALLBACKS = names_from(
    _OURS,
    "register_c_postproc register_cuda_postproc register_cuda_postproc_callback "
    "register_hip_postproc register_hip_postproc_callback",
)
_ARCH = names_from(_OURS, "CDNA CUDA driver")
_LOWER = names_from(f"{_TILE}.lower", "lower")

_SWIZZLES = names_from(f"{_OURS}_intrinsics", "get_swizzle_layout make_mma_swizzle_layout")
_MMA_MAPS = joined(
    names_from(f"{_OURS}_intrinsics", "get_mma_micro_size mma_store_index_map"),
    names_from(
        f"{_OURS}_maps",
        "shared_16x8_to_mma_32x4_layout_sr_a shared_16x8_to_mma_32x4_layout_sr_b "
        "shared_16x16_to_mma_32x8_layout_sr_a shared_16x16_to_mma_32x8_layout_sr_b "
        "shared_16x32_to_mma_32x16_layout_sr_a shared_16x32_to_mma_32x16_layout_sr_b",
    ),
)
_EMITTERS = names_from(f"{_OURS}_intrinsics", "TensorCoreIntrinEmitter")
_INTRINSICS = joined(_SWIZZLES, _MMA_MAPS, _EMITTERS)

_TILELANG_MODULES: Mapping[str, Offer] = {
    "tilelang": Offer(
        joined(
            _JIT,
            _PROFILER,
            _INTEGERS,
            _PASSES,
            _DTYPE,
            _LOWER,
            _CALLBACKS,
            {
                "Fragment": f"{_T}.layouts:Fragment",
                "Layout": f"{_T}.layouts:Layout",
                "TensorSupplyType": f"{_TILE}.input_generators:TensorSupplyType",
                "autotune": _TUNING["autotune"],
                "jit": f"{_TILE}.jit:tile_jit",
                "tvm": f"{_OURS}:tvm",
            },
            names_from(_OURS, "disable_cache enable_cache is_cache_enabled set_log_level"),
        )
    ),
    "tilelang.autotuner": Offer(_TUNING),
    "tilelang.backend": Offer(is_open=True),
    "tilelang.backend.target": Offer(names_from(_TVM, "determine_target"), is_open=True),
    "tilelang.carver": Offer(is_open=True),
    "tilelang.carver.arch": Offer(_ARCH, is_open=True),
    "tilelang.carver.arch.driver": Offer(names_from(_OURS, "get_num_sms")),
    "tilelang.carver.roller": Offer(),
    "tilelang.carver.roller.rasterization": Offer(names_from(_OURS, "NoRasterization")),
    "tilelang.carver.template": Offer(names_from(_OURS, "MatmulTemplate")),
    "tilelang.contrib": Offer(),
    "tilelang.contrib.nvcc": Offer(mirrors=(f"{_OURS}_nvcc",), is_open=True),
    "tilelang.cuda": Offer(),
    "tilelang.cuda.language": Offer(mirrors=(_T,)),
    "tilelang.cuda.language.intrinsics": Offer(_INTRINSICS, is_open=True),
    "tilelang.cuda.language.tir": Offer(mirrors=(_T,)),
    "tilelang.cuda.intrinsics": Offer(_INTRINSICS, is_open=True),
    "tilelang.cuda.intrinsics.layout": Offer(is_open=True),
    "tilelang.cuda.intrinsics.layout.mma_layout": Offer(joined(_SWIZZLES, _MMA_MAPS), is_open=True),
    "tilelang.cuda.intrinsics.layout.utils": Offer(_MMA_MAPS),
    "tilelang.cuda.intrinsics.macro": Offer(),
    "tilelang.cuda.intrinsics.macro.mma_macro_generator": Offer(_EMITTERS, is_open=True),
    "tilelang.engine": Offer(joined(_LOWER, _CALLBACKS)),
    "tilelang.engine.lower": Offer(_LOWER, is_open=True),
    "tilelang.engine.callback": Offer(_CALLBACKS),
    "tilelang.env": Offer(mirrors=(f"{_OURS}_env",)),
    "tilelang.jit": Offer(joined(_JIT, {"jit": f"{_TILE}.jit:tile_jit"})),
    "tilelang.jit.kernel": Offer(_JIT),
    "tilelang.language": Offer(mirrors=(_T,)),
    "tilelang.cuda.intrinsics.sparse_layout": Offer(
        names_from(f"{_OURS}_sparse", "GROUP_CONFIG get_e_factor get_e_replicate_factor")
    ),
    "tilelang.language.dtypes": Offer(
        {"_TORCH_DTYPE_TO_STR": f"{_OURS}_sparse:TORCH_NAMES"},
        mirrors=(f"{_T}.dtypes", _T),
        is_open=True,
    ),
    "tilelang.language.fp8": Offer(
        names_from(_OURS, "determine_fp8_type determine_torch_fp8_type")
    ),
    "tilelang.language.tir": Offer(mirrors=(_T,)),
    "tilelang.language.tir.ir": Offer(
        names_from(f"{_T}.scalars", "_VALID_CAST_ROUNDING_MODES"), mirrors=(_T,)
    ),
    "tilelang.language.tir.op": Offer(mirrors=(_T,)),
    "tilelang.layout": Offer(_LAYOUTS, is_open=True),
    "tilelang.math": Offer(_INTEGERS),
    "tilelang.profiler": Offer(joined(_BENCH, _PROFILER, _SUPPLY, _CLOSE)),
    "tilelang.profiler.bench": Offer(_BENCH, is_open=True),
    "tilelang.testing": Offer(joined(_CLOSE), mirrors=(_TESTING,)),
    "tilelang.tileop": Offer(_POLICY),
    "tilelang.tileop.base": Offer(_POLICY),
    "tilelang.layout.fragment": Offer(_LAYOUTS),
    "tilelang.layout.layout": Offer(_LAYOUTS),
    "tilelang.layout.swizzle": Offer(_LAYOUTS, is_open=True),
    "tilelang.rocm": Offer(is_open=True),
    "tilelang.rocm.intrinsics": Offer(is_open=True),
    "tilelang.rocm.intrinsics.mfma_layout": Offer(
        names_from(
            f"{_OURS}_maps",
            "shared_16x4_to_local_64x1_layout_A shared_16x16_to_local_64x4_layout_A "
            "shared_16x32_to_local_64x8_layout_A shared_16x64_to_local_64x16_layout_A",
        ),
        is_open=True,
    ),
    "tilelang.rocm.intrinsics.utils": Offer(
        {"get_mma_micro_size": f"{_OURS}_maps:get_mfma_micro_size"}, is_open=True
    ),
    "tilelang.tools": Offer(names_from(f"{_OURS}_tools", "Analyzer plot_layout"), is_open=True),
    "tilelang.tools.Analyzer": Offer(names_from(f"{_OURS}_tools", "AnalysisResult Analyzer")),
    "tilelang.tools.cuda": Offer(is_open=True),
    "tilelang.tools.cuda.iket": Offer(
        names_from(
            f"{_OURS}_iket",
            "PayloadSpec disable disable_runtime_payloads enable enable_runtime_payloads "
            "event_table is_enabled mark output_dir output_path payload profile_command range "
            "range_end range_pop range_push range_start reset runtime_payloads_enabled session "
            "set_output_dir trace_files",
        ),
        is_open=True,
    ),
    "tilelang.tools.plot_layout": Offer(names_from(f"{_OURS}_tools", "plot_layout"), is_open=True),
    "tilelang.transform": Offer(
        joined(_PASSES, names_from(_OURS, "simplify_prim_func")), is_open=True
    ),
    "tilelang.utils": Offer(_SUPPLY),
    "tilelang.utils.tensor": Offer(joined(_SUPPLY, _CLOSE)),
}

_TVM_MODULES: Mapping[str, Offer] = {
    "tvm": Offer(joined(_DTYPE, names_from(_TVM, "TVMError")), is_open=True),
    "tvm.error": Offer(names_from(_TVM, "InternalError TVMError")),
    "tvm.ir": Offer(names_from(_TVM, "Range"), is_open=True),
    "tvm.target": Offer(names_from(_TVM, "Target"), is_open=True),
    "tvm.testing": Offer(
        joined(
            names_from("numpy.testing", "assert_allclose"), names_from(_TESTING, "requires_package")
        ),
        is_open=True,
    ),
    "tvm.tirx": Offer(
        names_from(
            _TVM,
            "And Call Cast FloatImm IndexMap IntImm Max Min Not Or PrimExpr PrimFunc Select Var "
            "all any const reinterpret",
        ),
        mirrors=(_T,),
        is_open=True,
    ),
    "tvm.tirx.expr": Offer(
        names_from(_TVM, "And Call Cast FloatImm IntImm Max Min Not Or PrimExpr Select Var"),
        is_open=True,
    ),
    "tvm.transform": Offer(names_from(_TVM, "PassContext"), is_open=True),
}

COMMIT = "a35008a4"
"""The commit of TileLang whose language and interfaces are offered."""

_TILELANG_ABSENT = tuple(
    f"tilelang.{name}"
    for name in (
        *("_ffi_api", "analysis", "autodd", "cache", "cpu", "errors", "instrumentation", "ir"),
        *(
            "libinfo",
            "metal",
            "rocm.target",
            "rocm.language",
            "rocm.op",
            "rocm.intrinsics.mfma_macro_generator",
            "webgpu",
        ),
        *("autotuner.capture", "autotuner.grouped_compile", "autotuner.param", "autotuner.tuner"),
        *("backend.pass_pipeline", "carver.arch.cdna", "carver.arch.rdna", "carver.roller.hint"),
        *("autotuner.env", "backend.device_codegen", "backend.execution_backend"),
        *(
            "backend.host_codegen",
            "backend.module",
            "contrib.cc",
            "contrib.cutedsl",
            "contrib.hipcc",
            "contrib.rocm",
        ),
        *("cuda.backend", "cuda.debug", "cuda.op"),
        *("cuda.pipeline", "cuda.target", "cuda.transform"),
        *(
            "cuda.intrinsics.layout.mma_sm100_layout",
            "cuda.intrinsics.macro.mma_sm120_macro_generator",
        ),
        *("cuda.intrinsics.macro.mma_sm75_macro_generator",),
        *("cuda.intrinsics.macro.tcgen05_macro_generator",),
        *("cuda.intrinsics.macro.wgmma_macro_generator",),
        *("jit.abi", "jit.adapter", "jit.diagnostics", "jit.env", "jit.exceptions", "jit.param"),
        *("language.common", "language.eager", "language.kernel", "language.parser"),
        *(
            "language.tir.exports",
            "layout.cute",
            "layout.fragment",
            "layout.swizzle",
            "layout.swizzle_mode",
            "tileop.gemm",
        ),
        *("tileop.gemm_sp", "transform.simplify"),
        *("transform.add_bufstore_wrapper", "transform.decouple_type_cast"),
        *("transform.hoist_broadcast_values", "utils.deprecated", "utils.language"),
        *("utils.pass_diff", "utils.version"),
    )
)
_TVM_ABSENT = tuple(
    f"tvm.{name}"
    for name in (
        *("arith", "contrib", "driver", "ffi", "ir.instrument", "relax", "rpc", "runtime", "s_tir"),
        *(
            "script",
            "support",
            "te",
            "tirx.op",
            "tirx.script",
            "tirx.stmt_functor",
            "tirx.transform",
        ),
        *("topi",),
    )
)
"""Modules of the followed commit that are about the compiler itself."""

TILELANG = Project(
    "tilelang", "TileLang", "0.1.13", _TILELANG_MODULES, COMMIT, absent=_TILELANG_ABSENT
)
TVM = Project("tvm", "TVM", "0.1.13 (of TileLang)", _TVM_MODULES, COMMIT, absent=_TVM_ABSENT)
