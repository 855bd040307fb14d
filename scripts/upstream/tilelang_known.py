"""What is known of TileLang's own tests: which of them are not judged, and why others fail.

A name is a file (`language/test_x.py`) or a test (`language/test_x.py::test_y`), as a pattern. Of
several that match, the first counts.
"""

from __future__ import annotations

from collections.abc import Mapping

TARGETS: Mapping[str, str] = {
    "*tcgen05*": "cuda:100",
    "*tcgen5*": "cuda:100",
    "*tmem*": "cuda:100",
}
"""The GPU that files find described, by patterns of their paths; for all others it is Hopper."""

OUT_OF_SCOPE: Mapping[str, str] = {
    "amd/*": "TileLang's HIP back end",
    "arith/*": "TVM's analyzer",
    "autotune/test_autotune_cache_key.py": "keys of TileLang's tuning cache",
    "autotune/test_tilelang_autotune_atomic_save.py": "files of TileLang's tuning cache",
    "autotune/test_tilelang_autotune_cutedsl_cache.py": "TileLang's CuTe DSL back end",
    "backend/*": "TileLang's registry of back ends",
    "cache/*": "files of TileLang's kernel cache",
    "contrib/*": "TileLang's search for a host compiler",
    "cuda/test_cuda_mma_sm75_dispatch.py": "parts of TileLang's lowering to MMAs of sm_75",
    "cuda/test_tilelang_cuda_tcgen05_operand_layout.py": "parts of TileLang's lowering to tcgen05",
    "debug/test_lower_trace.py": "tools for TileLang's own passes",
    "debug/test_pass_*": "tools for TileLang's own passes",
    "issue/test_tilelang_issue_2123.py": "IR between TileLang's own passes",
    "issue/test_tilelang_issue_2928.py::test_select_*": "parts of TileLang's lowering to wgmma",
    "issue/test_tilelang_issue_merge_if.py": "IR between TileLang's own passes",
    "jit/test_tilelang_jit_adapter_wrapper.py": "TileLang's own launchers",
    "jit/test_tilelang_jit_cutedsl*": "TileLang's CuTe DSL back end",
    "jit/test_tilelang_jit_diagnostics.py": "messages of TileLang's own compiler driver",
    "jit/test_tilelang_jit_nvrtc_*": "TileLang's own launchers",
    "jit/test_tilelang_jit_tvm_ffi_executable.py": "TVM's executables",
    "language/test_tilelang_language_access_ptr.py": "IR between TileLang's own passes",
    "language/test_tilelang_language_dialect.py": "which package of TileLang has which name",
    "language/test_tilelang_language_eager_ast_signature.py": "TileLang's rewriting of Python",
    "language/test_tilelang_language_kernel_threads.py": "private functions of TileLang's frames",
    "language/test_tilelang_language_negative_index.py": "IR between TileLang's own passes",
    "language/test_tilelang_language_nvf4_mma_block_scale.py": "parts of TileLang's lowering to "
    "sm_120",
    "language/test_tilelang_language_span.py": "source spans of TVM's nodes",
    "layout/test_tilelang_cute.py": "TileLang's own translation of layouts to CuTe's notation",
    "layout/test_tilelang_layout_linearized_index.py": "expressions of TVM",
    "layout/test_tilelang_tcgen05_expand.py": "parts of TileLang's lowering to tcgen05",
    "llvm/*": "TVM's LLVM back end",
    "metal/*": "GPUs of Apple",
    "runtime/test_tilelang_runtime_tma_validation.py": "TileLang's own launchers",
    "target/*cutedsl*": "TileLang's CuTe DSL back end",
    "target/*rocm*": "TileLang's HIP back end",
    "tools/test_tilelang_tools_cuda_iket.py": "code for NVIDIA's profiler IKET",
    "transform/*": "IR between TileLang's own passes",
    "webgpu/*": "WebGPU",
}
"""Why these are not about a kernel's meaning; they are not run."""

KNOWN: Mapping[str, str] = {
    "*::*cast_rs*": "stochastic rounding is an instruction of sm_100a",
    "issue/test_tilelang_issue_1008.py": "its kernels race, or read memory that nothing wrote",
    "issue/test_tilelang_issue_1719.py": "its kernels read memory that nothing wrote",
    "language/test_tilelang_language_access_ptr_codegen.py::test_access_ptr_cp_async_codegen": "it "
    "reads what cp.async writes without waiting for it",
    "language/test_tilelang_language_atomic.py::test_tma_*": "its kernels read shared memory that "
    "nothing wrote",
    "language/test_tilelang_language_cooperative.py": "T.sync_grid in a T.Parallel that half of "
    "the threads reach",
    "language/test_tilelang_language_sync_threads.py::test_*variable*": "256 threads arrive at a "
    "barrier of 128",
    "components/test_cuda_shared_memory_alias_codegen.py": "text of TileLang's CUDA",
    "cuda/test_tma_dsmem.py": "stores into shared memory of another block are not supported",
    "cuda/test_tma_multicast_demo.py": "stores into shared memory of another block are not "
    "supported",
    "issue/test_tilelang_issue_2292.py": "a stride of an eager kernel that no shape determines",
    "issue/test_tilelang_issue_2537.py": "TileLang refuses these tiles; here they are compiled",
    "language/test_tilelang_language_cast_rounding.py": "stochastic rounding is an instruction of "
    "sm_100a",
    "language/test_tilelang_language_float4_e2m1_unpacked_dtype.py": "private names of TileLang's "
    "dtypes",
    "language/test_tilelang_language_let_layout.py": "its blocks write the same elements, which is "
    "a data race here",
    "language/test_tilelang_language_ptr.py": "tensors of pointers are not supported",
    "language/test_tilelang_language_rand.py": "cuRAND is CUDA source, which a CPU does not run",
    "language/test_tilelang_language_source_kernel.py": "kernels of CUDA source, which a CPU does "
    "not run",
    "language/test_tilelang_language_tile_schedule.py": "text of TVM's IR",
    "language/test_tilelang_language_wgmma_gemm.py": "parts of TileLang's lowering to wgmma",
    "tilelibrary/test_tilelang_tilelibrary_gemm_sp.py": "its compressor "
    "reads and writes element 2 of nz_idx, an array of each thread with 2 elements",
    "utils/test_compress_utils.py": "its compressor reads and writes element 2 of nz_idx, an "
    "array of each thread with 2 elements",
    "analysis/test_tilelang_fragment_loop_checker.py": "TileLang refuses these loops when it "
    "traces them; here they are checked when the kernel is built for a GPU",
    "analysis/test_tilelang_nested_loop_checker.py::test_nested_parallels": "a T.Parallel inside "
    "a T.Parallel, which TileLang refuses, is one loop over both here",
    "analysis/test_tilelang_nested_loop_checker.py::test_mixed_sp": "a T.Parallel inside a "
    "T.serial inside a T.Parallel, which TileLang refuses, is compiled here",
    "analysis/test_tilelang_nested_loop_checker.py": "tile operations inside T.Parallel",
    "analysis/test_tilelang_parallel_local_index_checker.py": "T.alloc_local is a fragment where "
    "T.Parallel indexes it; TileLang refuses that",
    "autotune/test_pass_configs_tuning.py": "__return_kernel of TileLang's jit",
    "autotune/test_tilelang_autotune_do_not_specialize.py": "private names of TileLang's tuner",
    "autotune/test_tilelang_autotune_scalar_inputs.py": "a number that a tuner has to make up is "
    "made up here, where TileLang requires it",
    "carver/*": "TileLang's search for tile sizes: autotune takes them from a list",
    "debug/test_tilelang_debug_print.py": "its kernels print memory that nothing wrote",
    "components/test_cuda_restrict_codegen.py": "T.annotate_restrict_buffers: buffers "
    "of a launch that overlap are not supported",
    "components/test_tilelang_env.py": "TileLang's own environment variables",
    "components/test_tilelang_pass_config_disable_tma_lower.py": "TVM's PassContext",
    "cpu/test_tilelang_cpu_atomic.py::*region_local_dst": "atomics on memory of one thread",
    "cpu/test_tilelang_cpu_atomic.py": "atomics that TileLang refuses on a CPU, which have a "
    "meaning here",
    "cpu/test_tilelang_cpu_while_repro.py": "T.While: the language has Python's while",
    "issue/test_tilelang_issue_1734.py": "text of TileLang's CUDA",
    "issue/test_tilelang_issue_1810.py": "text of TileLang's own launcher",
    "issue/test_tilelang_issue_1993.py": "a launch with an empty grid does nothing here; TileLang "
    "refuses it",
    "issue/test_tilelang_issue_2188.py": "text of TileLang's CUDA",
    "issue/test_tilelang_issue_2307.py": "text of TileLang's CUDA",
    "issue/test_tilelang_issue_2529.py": "text of TileLang's CUDA",
    "issue/test_tilelang_issue_2600.py": "T.dp4a outside of a kernel, which nothing can run",
    "issue/test_tilelang_issue_2615.py": "nodes of TVM's IR",
    "issue/test_tilelang_issue_2632.py": "the layouts are refused, with another sentence",
    "issue/test_tilelang_issue_2928.py": "text of TileLang's CUDA: the shape of its wgmma",
    "issue/test_tilelang_issue_serial_fragment_access.py": "a serial loop over a fragment, which "
    "TileLang refuses, is compiled here",
    "issue/test_tilelang_issue_sm120_tma_smem_alignment.py": "functions of a TVM module",
    "issue/test_tilelang_issue_tma_no_ws.py::test_num_stages_one_mixed*": "a raw cp.async with its "
    "wait beside copies that T.Pipelined moves is refused",
    "issue/test_tilelang_issue_tma_no_ws.py": "text of TileLang's CUDA",
    "jit/test_tilelang_jit_argument_binding.py": "private names of TileLang's jit",
    "jit/test_tilelang_jit_nvrtc.py": "private names of TileLang's adapters",
    "jit/test_tilelang_jit_tvm_ffi.py::*l2_persistent*": "text of TileLang's own launcher",
    "kernel/*sm75*": "GPUs before sm_80",
    "kernel/test_tilelang_kernel_gemv_simt.py": "tilelang.transform.simplify: TVM's passes",
    "language/test_tilelang_cast_rounding.py": "expressions of TVM outside of kernels",
    "language/test_tilelang_language_access_ptr_codegen.py::test_vectorized*": "T.ptx_cp_async of "
    "2 bytes or less, which TileLang joins over a vectorized loop",
    "language/test_tilelang_language_access_ptr_codegen.py::test_async_copy_tileop_lowers*": "it "
    "reads what cp.async writes without waiting for it",
    "language/test_tilelang_language_access_ptr_codegen.py::test_async_copy_tileop_rejects*": "the "
    "copy is refused, with another sentence",
    "language/test_tilelang_language_alias.py": "T.let: the language has Python's assignment",
    "language/test_tilelang_language_assume.py": "a condition that does not hold is refused, as "
    "TW6124 instead of with TVM's sentence",
    "language/test_tilelang_language_atomic.py::*auto_vectorized_unit*": "its kernel reads a "
    "fragment that nothing wrote",
    "language/test_tilelang_language_atomic.py::*sm75": "GPUs before sm_80",
    "language/test_tilelang_language_atom_mma.py": "emitters of TileLang's lowering, called in "
    "kernels",
    "language/test_tilelang_language_augassign.py": "TileLang's rewriting of Python",
    "language/test_tilelang_language_cluster.py::test_cluster_launch": "text of TileLang's own "
    "launcher",
    "language/test_tilelang_language_cluster.py::test_cluster_barrier": "arrivals at barriers of "
    "other blocks of a cluster, on the CPU",
    "language/test_tilelang_language_cluster.py::test_clc*": "cluster launch control needs "
    "Blackwell, and kernels are compiled for Hopper",
    "language/test_tilelang_language_copy.py::*annotations*": "annotations= of T.async_copy, which "
    "TileLang's passes read",
    "language/test_tilelang_language_copy.py::*lexical_scope": "T.sblock: blocks of TVM",
    "language/test_tilelang_language_copy.py::*shape_mismatched": "a copy between different "
    "extents is refused; TileLang takes the smaller one",
    "language/test_tilelang_language_dtype_as_torch.py": "private names of TileLang's dtypes",
    "language/test_tilelang_language_eager_jit.py::*gemm_ptr": "T.make_tensor in an eager kernel "
    "whose parameters are annotated T.ptr",
    "language/test_tilelang_language_eager_jit.py::*many_annot": "an eager kernel whose "
    "T.Kernel is in a macro and whose tensors are annotated as parameters",
    "language/test_tilelang_language_eager_jit.py::*return": "an eager kernel whose T.Kernel and "
    "T.empty are in a macro",
    "language/test_tilelang_language_extract_lane.py::*extract_lane_cuda": "variables of vector "
    "types",
    "language/test_tilelang_language_extract_lane.py": "nodes of TVM's IR",
    "language/test_tilelang_language_frontend_v2.py": "private tables of TileLang's dtypes",
    "language/test_tilelang_language_func_attrs.py::*dynamic_subbyte*": "a tensor whose size is "
    "computed from a scalar argument",
    "language/test_tilelang_language_func_attrs.py::*subbyte*": "it returns a tensor that nothing "
    "wrote",
    "language/test_tilelang_language_func_attrs.py::*from_scalar*": "a tensor whose size is "
    "computed from a scalar argument",
    "language/test_tilelang_language_func_attrs.py": "private names of TileLang's adapters",
    "language/test_tilelang_language_get_warp_info.py": "TileLang's HIP back end: a name of it is "
    "imported",
    "language/test_tilelang_language_isfinite_codegen.py": "text of TileLang's CUDA",
    "language/test_tilelang_language_let.py": "its kernel is named as a test, and pytest calls it",
    "language/test_tilelang_language_parallel.py::test_parallel_vectorize_var": "its kernel reads "
    "a fragment that nothing wrote",
    "language/test_tilelang_language_reduce.py::*local*packed*": "reductions of T.alloc_local "
    "filled by serial loops: use T.alloc_fragment and T.Parallel",
    "language/test_tilelang_language_reduce.py::*rejects*": "TileLang refuses reductions over "
    "threads whose count is no power of two; here they are compiled",
    "language/test_tilelang_language_reducer_v2.py::test_wide_plan*": "a reducer that is "
    "updated inside a serial loop, at the index of the loop",
    "language/test_tilelang_language_reducer_v2.py::test_finalize_in_conditional*": "a reducer "
    "that is initialised outside of the branch that finalises it",
    "language/test_tilelang_language_reducer_v2.py": "one thread stores an element of a fragment "
    "in a branch, which the GPU targets refuse",
    "language/test_tilelang_language_reshape.py": "the shape is refused, with another class of "
    "exception",
    "language/test_tilelang_language_scan.py::*annotations*": "annotations= of T.cumsum, which "
    "TileLang's passes read",
    "language/test_tilelang_language_sync_threads.py::*computed*": "T.launch_thread of TVM",
    "language/test_tilelang_language_tcgen05_cutedsl.py": "TileLang's CuTe DSL back end",
    "language/test_tilelang_language_tcgen05_gemm.py::*sliced_operand*": "operands of tcgen05 that "
    "are sub-tiles at a run-time column, or parts of the pattern of a swizzle",
    "language/test_tilelang_language_tcgen05_gemm.py::*ts_gemm_tmem_a*": "T.sblock: blocks of TVM",
    "language/test_tilelang_language_tcgen05_gemm.py::*2cta*correctness": "both blocks of a pair "
    "issue its GEMM: the first of them has to",
    "language/test_tilelang_language_tcgen05_gemm.py::*codegen": "text of TileLang's CUDA",
    "language/test_tilelang_language_tcgen05_gemm.py::*epilogue": "text of TileLang's CUDA",
    "language/test_tilelang_language_tcgen05_gemm.py::*sm100_selection": "its kernels read memory "
    "that nothing wrote",
    "language/test_tilelang_language_tcgen05_gemm.py::*requires*": "the kernel is refused, with "
    "another sentence",
    "language/test_tilelang_language_tcgen05_gemm.py::*rejects_non_tcgen05*": "the kernel is "
    "refused, with another sentence",
    "language/test_tilelang_language_tcgen05_sliced_operands.py::*reject*": "the kernel is "
    "refused, with another sentence",
    "language/test_tilelang_language_tcgen05_sliced_operands.py::*origins*": "buffers of tensor "
    "memory with more than 128 rows",
    "language/test_tilelang_language_tcgen05_sliced_operands.py": "operands of tcgen05 that are "
    "sub-tiles at a run-time column, or parts of the pattern of a swizzle",
    "language/test_tilelang_language_tmem_copy.py::*rejected": "the kernel is refused, with "
    "another sentence",
    "language/test_tilelang_language_tcgen05_gemm.py::*rejects_non_blackwell*": "tensor memory is "
    "refused for Hopper, with another sentence",
    "language/test_tilelang_language_tma_copy.py::*per_warp_leader*": "T.tma_copy whose place "
    "depends on the thread, on the CPU",
    "language/test_tilelang_language_tma_copy.py::*prefer_tma*": "text of TileLang's CUDA",
    "language/test_tilelang_language_tma_copy.py::test_fp4_unpack*": "text of TVM's IR",
    "language/test_tilelang_language_tma_copy.py::test_device_bound*": "tensors of pointers are "
    "not supported",
    "language/test_tilelang_language_tma_copy.py::*multicast": "multicast copies of "
    "T.tma_copy, on the CPU",
    "language/test_tilelang_language_tma_store.py::test_plain_copy_full*": "its kernel reads "
    "shared memory that nothing wrote",
    "language/test_tilelang_language_unroll.py": "T.match_buffer of TVM",
    "language/test_tilelang_language_var_init.py": "nodes of TVM's IR",
    "language/test_tilelang_language_vectorize.py": "float8_e8m0fnu is converted by its bits only",
    "language/test_tilelang_language_vectorized_cast.py": "float8_e8m0fnu is converted by its bits "
    "only",
    "language/test_tilelang_language_view.py::test_view_shape_mismatch": "the shape is refused, "
    "with another class of exception",
    "language/test_tilelang_language_view.py::test_view_subbyte*": "buffers of TVM's IR",
    "language/test_tilelang_language_view.py::test_annotated*": "T.annotate_layout of a view: "
    "annotate the buffer",
    "language/test_tilelang_language_warp_sync.py": "__nanosleep is CUDA source, which a CPU does "
    "not run",
    "language/test_tilelang_memory_leak.py": "TVM's FFI",
    "layout/test_tilelang_bank_swizzle_expand.py": "buffers of TVM's IR",
    "layout/test_tilelang_layout_fused_replicate.py": "its kernel reads a fragment that nothing "
    "wrote",
    "layout/test_tilelang_layout_inference.py::*smallest_replication": "its kernel reads a "
    "fragment that nothing wrote",
    "layout/test_tilelang_layout_inference.py::*non_owner*": "a fragment may be written by fewer "
    "threads than hold it, until the kernel is built for a GPU",
    "layout/test_tilelang_layout_inference.py::*owner_layout": "one thread stores an element of a "
    "fragment in a branch, which the GPU targets refuse",
    "layout/test_tilelang_layout_inference.py::*readback*": "elements of a fragment written by a "
    "serial loop: use T.Parallel",
    "layout/test_tilelang_layout_inference_z3_context.py": "private names of TileLang's tuner",
    "layout/test_tilelang_layout_repeat.py": "TVM's FFI",
    "math/test_math_ieee_math.py::*sm75": "GPUs before sm_80",
    "profiler/test_bench_cupti.py": "private functions of TileLang's profiler",
    "runtime/test_tilelang_runtime_dynamic_shared_memory.py": "shared memory whose size is known "
    "when the kernel runs",
    "target/test_tilelang_alloc_barrier_target_guard.py": "a barrier that no thread uses is left "
    "out, and the kernel compiled; TileLang refuses it for a GPU without mbarriers",
    "target/test_tilelang_target.py": "TileLang's registry of back ends, and TVM's targets",
    "tools/test_tilelang_tools_analyzer.py": "private names of TileLang's analyzer",
    "tools/test_tilelang_tools_autodd.py": "a tool that TileLang starts as a process of its own",
    "math/test_math_fast_math.py": "text of TileLang's CUDA",
    "fastmath/test_mathops_fastmath.py": "text of TileLang's CUDA",
}
"""Why these fail, where that stays so; they run and count."""
