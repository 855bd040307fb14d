"""`T`: kernels on whole tiles, in the family of TileLang.

import tilewright as tw
from tilewright import T

@tw.jit
def add(A, B, block=128):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B: T.Tensor((N,), "float32")
    C = T.empty((N,), "float32")
    with T.Kernel(T.ceildiv(N, block), threads=128) as bx:
        for i in T.Parallel(block):
            C[bx * block + i] = A[bx * block + i] + B[bx * block + i]
    return C
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._exports import load_on_use

if TYPE_CHECKING:
    from tilewright.language.T.allocate import StorageAliasSpec as StorageAliasSpec
    from tilewright.language.T.allocate import alloc_barrier as alloc_barrier
    from tilewright.language.T.allocate import alloc_buffer as alloc_buffer
    from tilewright.language.T.allocate import alloc_cluster_barrier as alloc_cluster_barrier
    from tilewright.language.T.allocate import alloc_descriptor as alloc_descriptor
    from tilewright.language.T.allocate import alloc_fragment as alloc_fragment
    from tilewright.language.T.allocate import alloc_global as alloc_global
    from tilewright.language.T.allocate import alloc_local as alloc_local
    from tilewright.language.T.allocate import alloc_reducer as alloc_reducer
    from tilewright.language.T.allocate import alloc_shared as alloc_shared
    from tilewright.language.T.allocate import alloc_tmem as alloc_tmem
    from tilewright.language.T.allocate import alloc_var as alloc_var
    from tilewright.language.T.allocate import annotate_l2_hit_ratio as annotate_l2_hit_ratio
    from tilewright.language.T.allocate import annotate_safe_value as annotate_safe_value
    from tilewright.language.T.allocate import reshape as reshape
    from tilewright.language.T.allocate import reuse_group as reuse_group
    from tilewright.language.T.allocate import set_buffer_overlap as set_buffer_overlap
    from tilewright.language.T.allocate import storage_alias_spec as storage_alias_spec
    from tilewright.language.T.allocate import view as view
    from tilewright.language.T.annotations import FragmentBuffer as FragmentBuffer
    from tilewright.language.T.annotations import LocalBuffer as LocalBuffer
    from tilewright.language.T.annotations import Ref as Ref
    from tilewright.language.T.annotations import SharedBuffer as SharedBuffer
    from tilewright.language.T.annotations import StridedTensor as StridedTensor
    from tilewright.language.T.annotations import Tensor as Tensor
    from tilewright.language.T.annotations import const as const
    from tilewright.language.T.annotations import dynamic as dynamic
    from tilewright.language.T.annotations import empty as empty
    from tilewright.language.T.annotations import make_tensor as make_tensor
    from tilewright.language.T.annotations import ptr as ptr
    from tilewright.language.T.atomics import atomic_add as atomic_add
    from tilewright.language.T.atomics import atomic_addx2 as atomic_addx2
    from tilewright.language.T.atomics import atomic_addx4 as atomic_addx4
    from tilewright.language.T.atomics import atomic_and as atomic_and
    from tilewright.language.T.atomics import atomic_load as atomic_load
    from tilewright.language.T.atomics import atomic_max as atomic_max
    from tilewright.language.T.atomics import atomic_min as atomic_min
    from tilewright.language.T.atomics import atomic_or as atomic_or
    from tilewright.language.T.atomics import atomic_store as atomic_store
    from tilewright.language.T.atomics import atomic_xor as atomic_xor
    from tilewright.language.T.buffers import Ramp as Ramp
    from tilewright.language.T.dtypes import dtype as dtype
    from tilewright.language.T.extern import access_ptr as access_ptr
    from tilewright.language.T.extern import address_of as address_of
    from tilewright.language.T.extern import attr as attr
    from tilewright.language.T.extern import call_extern as call_extern
    from tilewright.language.T.extern import call_pure_extern as call_pure_extern
    from tilewright.language.T.extern import comm_reducer as comm_reducer
    from tilewright.language.T.extern import evaluate as evaluate
    from tilewright.language.T.extern import tvm_thread_allreduce as tvm_thread_allreduce
    from tilewright.language.T.function import macro as macro
    from tilewright.language.T.ieee import fast_rcp as fast_rcp
    from tilewright.language.T.ieee import ieee_add as ieee_add
    from tilewright.language.T.ieee import ieee_fdiv as ieee_fdiv
    from tilewright.language.T.ieee import ieee_fmaf as ieee_fmaf
    from tilewright.language.T.ieee import ieee_frcp as ieee_frcp
    from tilewright.language.T.ieee import ieee_frsqrt as ieee_frsqrt
    from tilewright.language.T.ieee import ieee_fsqrt as ieee_fsqrt
    from tilewright.language.T.ieee import ieee_mul as ieee_mul
    from tilewright.language.T.ieee import ieee_sub as ieee_sub
    from tilewright.language.T.kernel import ClusterKernel as ClusterKernel
    from tilewright.language.T.kernel import Kernel as Kernel
    from tilewright.language.T.kernel import annotate_compile_flags as annotate_compile_flags
    from tilewright.language.T.kernel import (
        annotate_consumer_reg_alloc as annotate_consumer_reg_alloc,
    )
    from tilewright.language.T.kernel import (
        annotate_min_blocks_per_sm as annotate_min_blocks_per_sm,
    )
    from tilewright.language.T.kernel import annotate_pass_configs as annotate_pass_configs
    from tilewright.language.T.kernel import (
        annotate_producer_reg_dealloc as annotate_producer_reg_dealloc,
    )
    from tilewright.language.T.kernel import block_rank_in_cluster as block_rank_in_cluster
    from tilewright.language.T.kernel import (
        disable_warp_group_reg_alloc as disable_warp_group_reg_alloc,
    )
    from tilewright.language.T.kernel import get_block_binding as get_block_binding
    from tilewright.language.T.kernel import get_block_bindings as get_block_bindings
    from tilewright.language.T.kernel import get_block_extent as get_block_extent
    from tilewright.language.T.kernel import get_lane_idx as get_lane_idx
    from tilewright.language.T.kernel import get_thread_binding as get_thread_binding
    from tilewright.language.T.kernel import get_thread_bindings as get_thread_bindings
    from tilewright.language.T.kernel import get_thread_extent as get_thread_extent
    from tilewright.language.T.kernel import get_warp_group_idx as get_warp_group_idx
    from tilewright.language.T.kernel import get_warp_idx as get_warp_idx
    from tilewright.language.T.kernel import import_source as import_source
    from tilewright.language.T.kernel import no_set_max_nreg as no_set_max_nreg
    from tilewright.language.T.kernel import shuffle_elect as shuffle_elect
    from tilewright.language.T.kernel import use_swizzle as use_swizzle
    from tilewright.language.T.kernel import ws as ws
    from tilewright.language.T.launch_control import clc_get_first_ctaid_x as clc_get_first_ctaid_x
    from tilewright.language.T.launch_control import clc_get_first_ctaid_y as clc_get_first_ctaid_y
    from tilewright.language.T.launch_control import clc_get_first_ctaid_z as clc_get_first_ctaid_z
    from tilewright.language.T.launch_control import clc_is_canceled as clc_is_canceled
    from tilewright.language.T.launch_control import clc_try_cancel as clc_try_cancel
    from tilewright.language.T.launch_control import (
        clc_try_cancel_multicast as clc_try_cancel_multicast,
    )
    from tilewright.language.T.layouts import Fragment as Fragment
    from tilewright.language.T.layouts import Layout as Layout
    from tilewright.language.T.layouts import annotate_layout as annotate_layout
    from tilewright.language.T.layouts import make_linear_layout as make_linear_layout
    from tilewright.language.T.layouts import make_swizzled_layout as make_swizzled_layout
    from tilewright.language.T.loops import Parallel as Parallel
    from tilewright.language.T.loops import Persistent as Persistent
    from tilewright.language.T.loops import Pipelined as Pipelined
    from tilewright.language.T.loops import grid as grid
    from tilewright.language.T.loops import serial as serial
    from tilewright.language.T.loops import unroll as unroll
    from tilewright.language.T.loops import vectorized as vectorized
    from tilewright.language.T.other_names import __getattr__ as __getattr__
    from tilewright.language.T.prim_func import PrimFunc as PrimFunc
    from tilewright.language.T.prim_func import prim_func as prim_func
    from tilewright.language.T.random import rng_init as rng_init
    from tilewright.language.T.random import rng_rand as rng_rand
    from tilewright.language.T.random import rng_rand_float as rng_rand_float
    from tilewright.language.T.reducer_epochs import finalize_reducer as finalize_reducer
    from tilewright.language.T.reducer_epochs import reducer_init as reducer_init
    from tilewright.language.T.reducer_epochs import reducer_update as reducer_update
    from tilewright.language.T.reductions import cummax as cummax
    from tilewright.language.T.reductions import cumsum as cumsum
    from tilewright.language.T.reductions import reduce as reduce
    from tilewright.language.T.reductions import reduce_absmax as reduce_absmax
    from tilewright.language.T.reductions import reduce_abssum as reduce_abssum
    from tilewright.language.T.reductions import reduce_bitand as reduce_bitand
    from tilewright.language.T.reductions import reduce_bitor as reduce_bitor
    from tilewright.language.T.reductions import reduce_bitxor as reduce_bitxor
    from tilewright.language.T.reductions import reduce_max as reduce_max
    from tilewright.language.T.reductions import reduce_min as reduce_min
    from tilewright.language.T.reductions import reduce_sum as reduce_sum
    from tilewright.language.T.scalars import Cast as Cast
    from tilewright.language.T.scalars import Select as Select
    from tilewright.language.T.scalars import abs as abs
    from tilewright.language.T.scalars import acos as acos
    from tilewright.language.T.scalars import align_up as align_up
    from tilewright.language.T.scalars import all_of as all_of
    from tilewright.language.T.scalars import any_of as any_of
    from tilewright.language.T.scalars import asin as asin
    from tilewright.language.T.scalars import atan as atan
    from tilewright.language.T.scalars import atan2 as atan2
    from tilewright.language.T.scalars import bitwise_and as bitwise_and
    from tilewright.language.T.scalars import bitwise_not as bitwise_not
    from tilewright.language.T.scalars import bitwise_or as bitwise_or
    from tilewright.language.T.scalars import bitwise_xor as bitwise_xor
    from tilewright.language.T.scalars import cast_
    from tilewright.language.T.scalars import ceil as ceil
    from tilewright.language.T.scalars import ceildiv as ceildiv
    from tilewright.language.T.scalars import clamp as clamp
    from tilewright.language.T.scalars import cos as cos
    from tilewright.language.T.scalars import cosh as cosh
    from tilewright.language.T.scalars import dp4a as dp4a
    from tilewright.language.T.scalars import erf as erf
    from tilewright.language.T.scalars import exp as exp
    from tilewright.language.T.scalars import exp2 as exp2
    from tilewright.language.T.scalars import exp10 as exp10
    from tilewright.language.T.scalars import floor as floor
    from tilewright.language.T.scalars import floordiv as floordiv
    from tilewright.language.T.scalars import floormod as floormod
    from tilewright.language.T.scalars import fma as fma
    from tilewright.language.T.scalars import fmod as fmod
    from tilewright.language.T.scalars import if_then_else as if_then_else
    from tilewright.language.T.scalars import infinity as infinity
    from tilewright.language.T.scalars import isfinite as isfinite
    from tilewright.language.T.scalars import isinf as isinf
    from tilewright.language.T.scalars import isnan as isnan
    from tilewright.language.T.scalars import log as log
    from tilewright.language.T.scalars import log1p as log1p
    from tilewright.language.T.scalars import log2 as log2
    from tilewright.language.T.scalars import log10 as log10
    from tilewright.language.T.scalars import max as max
    from tilewright.language.T.scalars import max_value as max_value
    from tilewright.language.T.scalars import min as min
    from tilewright.language.T.scalars import min_value as min_value
    from tilewright.language.T.scalars import nearbyint as nearbyint
    from tilewright.language.T.scalars import popcount as popcount
    from tilewright.language.T.scalars import pow as pow
    from tilewright.language.T.scalars import power as power
    from tilewright.language.T.scalars import reinterpret as reinterpret
    from tilewright.language.T.scalars import round as round
    from tilewright.language.T.scalars import rsqrt as rsqrt
    from tilewright.language.T.scalars import shfl_down as shfl_down
    from tilewright.language.T.scalars import shfl_sync as shfl_sync
    from tilewright.language.T.scalars import shfl_up as shfl_up
    from tilewright.language.T.scalars import shfl_xor as shfl_xor
    from tilewright.language.T.scalars import shift_left as shift_left
    from tilewright.language.T.scalars import shift_right as shift_right
    from tilewright.language.T.scalars import sigmoid as sigmoid
    from tilewright.language.T.scalars import sin as sin
    from tilewright.language.T.scalars import sinh as sinh
    from tilewright.language.T.scalars import softsign as softsign
    from tilewright.language.T.scalars import sqrt as sqrt
    from tilewright.language.T.scalars import tan as tan
    from tilewright.language.T.scalars import tanh as tanh
    from tilewright.language.T.scalars import trunc as trunc
    from tilewright.language.T.scalars import truncdiv as truncdiv
    from tilewright.language.T.scalars import truncmod as truncmod
    from tilewright.language.T.scalars import tvm_warp_shuffle as tvm_warp_shuffle
    from tilewright.language.T.scalars import warp_reduce_bitand as warp_reduce_bitand
    from tilewright.language.T.scalars import warp_reduce_bitor as warp_reduce_bitor
    from tilewright.language.T.scalars import warp_reduce_bitxor as warp_reduce_bitxor
    from tilewright.language.T.scalars import warp_reduce_max as warp_reduce_max
    from tilewright.language.T.scalars import warp_reduce_min as warp_reduce_min
    from tilewright.language.T.scalars import warp_reduce_sum as warp_reduce_sum
    from tilewright.language.T.scheduler import PersistentTileScheduler as PersistentTileScheduler
    from tilewright.language.T.scoped_branches import Else as Else
    from tilewright.language.T.scoped_branches import If as If
    from tilewright.language.T.scoped_branches import Then as Then
    from tilewright.language.T.scoped_branches import loop_break as loop_break
    from tilewright.language.T.sparse import gemm_sp as gemm_sp
    from tilewright.language.T.sparse import wgmma_gemm_sp as wgmma_gemm_sp
    from tilewright.language.T.swizzles import (
        make_full_bank_swizzled_layout as make_full_bank_swizzled_layout,
    )
    from tilewright.language.T.swizzles import (
        make_fully_replicated_layout_fragment as make_fully_replicated_layout_fragment,
    )
    from tilewright.language.T.swizzles import make_gemm_fragment_8x8 as make_gemm_fragment_8x8
    from tilewright.language.T.swizzles import (
        make_gemm_fragment_8x8_transposed as make_gemm_fragment_8x8_transposed,
    )
    from tilewright.language.T.swizzles import (
        make_half_bank_swizzled_layout as make_half_bank_swizzled_layout,
    )
    from tilewright.language.T.swizzles import (
        make_quarter_bank_swizzled_layout as make_quarter_bank_swizzled_layout,
    )
    from tilewright.language.T.swizzles import (
        make_wgmma_swizzled_layout as make_wgmma_swizzled_layout,
    )
    from tilewright.language.T.sync import assume as assume
    from tilewright.language.T.sync import barrier_arrive as barrier_arrive
    from tilewright.language.T.sync import barrier_wait as barrier_wait
    from tilewright.language.T.sync import cluster_arrive as cluster_arrive
    from tilewright.language.T.sync import cluster_sync as cluster_sync
    from tilewright.language.T.sync import cluster_wait as cluster_wait
    from tilewright.language.T.sync import cp_async_barrier_noinc as cp_async_barrier_noinc
    from tilewright.language.T.sync import cp_async_commit as cp_async_commit
    from tilewright.language.T.sync import cp_async_wait as cp_async_wait
    from tilewright.language.T.sync import dec_max_nreg as dec_max_nreg
    from tilewright.language.T.sync import device_assert as device_assert
    from tilewright.language.T.sync import fence_proxy_async as fence_proxy_async
    from tilewright.language.T.sync import func_attr as func_attr
    from tilewright.language.T.sync import inc_max_nreg as inc_max_nreg
    from tilewright.language.T.sync import mbarrier_arrive as mbarrier_arrive
    from tilewright.language.T.sync import mbarrier_arrive_expect_tx as mbarrier_arrive_expect_tx
    from tilewright.language.T.sync import mbarrier_expect_tx as mbarrier_expect_tx
    from tilewright.language.T.sync import mbarrier_wait_parity as mbarrier_wait_parity
    from tilewright.language.T.sync import named_barrier_arrive as named_barrier_arrive
    from tilewright.language.T.sync import pdl_sync as pdl_sync
    from tilewright.language.T.sync import pdl_trigger as pdl_trigger
    from tilewright.language.T.sync import print as print
    from tilewright.language.T.sync import ptx_commit_group as ptx_commit_group
    from tilewright.language.T.sync import ptx_cp_async as ptx_cp_async
    from tilewright.language.T.sync import ptx_wait_group as ptx_wait_group
    from tilewright.language.T.sync import set_max_nreg as set_max_nreg
    from tilewright.language.T.sync import sync_grid as sync_grid
    from tilewright.language.T.sync import sync_threads as sync_threads
    from tilewright.language.T.sync import sync_warp as sync_warp
    from tilewright.language.T.sync import tma_store_arrive as tma_store_arrive
    from tilewright.language.T.sync import tma_store_wait as tma_store_wait
    from tilewright.language.T.tensor_core import ptx_ldmatrix as ptx_ldmatrix
    from tilewright.language.T.tensor_core import ptx_mma as ptx_mma
    from tilewright.language.T.tensor_memory import deallocate_tmem as deallocate_tmem
    from tilewright.language.T.tensor_memory import (
        tcgen05_after_thread_sync as tcgen05_after_thread_sync,
    )
    from tilewright.language.T.tensor_memory import (
        tcgen05_before_thread_sync as tcgen05_before_thread_sync,
    )
    from tilewright.language.T.tensor_memory import tcgen05_cp_warpx4 as tcgen05_cp_warpx4
    from tilewright.language.T.tensor_memory import tcgen05_gemm as tcgen05_gemm
    from tilewright.language.T.tensor_memory import (
        tcgen05_gemm_blockscaled as tcgen05_gemm_blockscaled,
    )
    from tilewright.language.T.tensor_memory import tcgen05_mma_arrive as tcgen05_mma_arrive
    from tilewright.language.T.tensor_memory import (
        tcgen05_sf_warp_transpose as tcgen05_sf_warp_transpose,
    )
    from tilewright.language.T.thread_bindings import thread_binding as thread_binding
    from tilewright.language.T.tile_ops import GemmWarpPolicy as GemmWarpPolicy
    from tilewright.language.T.tile_ops import async_copy as async_copy
    from tilewright.language.T.tile_ops import clear as clear
    from tilewright.language.T.tile_ops import copy as copy
    from tilewright.language.T.tile_ops import fill as fill
    from tilewright.language.T.tile_ops import gemm as gemm
    from tilewright.language.T.tile_ops import im2col as im2col
    from tilewright.language.T.tile_ops import index_to_coordinates as index_to_coordinates
    from tilewright.language.T.tile_ops import tma_copy as tma_copy
    from tilewright.language.T.tile_ops import transpose as transpose
    from tilewright.language.T.tile_ops import wait_wgmma as wait_wgmma
    from tilewright.language.T.tile_ops import wgmma_gemm as wgmma_gemm
    from tilewright.language.T.vectors import Broadcast as Broadcast
    from tilewright.language.T.vectors import abs2 as abs2
    from tilewright.language.T.vectors import add2 as add2
    from tilewright.language.T.vectors import extract_lane as extract_lane
    from tilewright.language.T.vectors import fma2 as fma2
    from tilewright.language.T.vectors import max2 as max2
    from tilewright.language.T.vectors import min2 as min2
    from tilewright.language.T.vectors import mul2 as mul2
    from tilewright.language.T.vectors import sub2 as sub2
    from tilewright.language.T.votes import activemask as activemask
    from tilewright.language.T.votes import all_sync as all_sync
    from tilewright.language.T.votes import any_sync as any_sync
    from tilewright.language.T.votes import ballot as ballot
    from tilewright.language.T.votes import ballot_sync as ballot_sync
    from tilewright.language.T.votes import ffs as ffs
    from tilewright.language.T.votes import fns as fns
    from tilewright.language.T.votes import match_all_sync as match_all_sync
    from tilewright.language.T.votes import match_any_sync as match_any_sync
    from tilewright.language.T.votes import syncthreads_and as syncthreads_and
    from tilewright.language.T.votes import syncthreads_count as syncthreads_count
    from tilewright.language.T.votes import syncthreads_or as syncthreads_or
    from tilewright.language.T.wide_access import ldg as ldg
    from tilewright.language.T.wide_access import ldg32 as ldg32
    from tilewright.language.T.wide_access import ldg64 as ldg64
    from tilewright.language.T.wide_access import ldg128 as ldg128
    from tilewright.language.T.wide_access import ldg256 as ldg256
    from tilewright.language.T.wide_access import lds32 as lds32
    from tilewright.language.T.wide_access import lds64 as lds64
    from tilewright.language.T.wide_access import lds128 as lds128
    from tilewright.language.T.wide_access import stg32 as stg32
    from tilewright.language.T.wide_access import stg64 as stg64
    from tilewright.language.T.wide_access import stg128 as stg128
    from tilewright.language.T.wide_access import stg256 as stg256
    from tilewright.language.T.wide_access import sts32 as sts32
    from tilewright.language.T.wide_access import sts64 as sts64
    from tilewright.language.T.wide_access import sts128 as sts128

    Buffer = Tensor
    cast = cast_
    Serial = serial
    Unroll = unroll
    Vectorized = vectorized
    annotate_padding = annotate_safe_value
    parallel = Parallel
    symbolic = dynamic
    get_warp_idx_sync = get_warp_idx
    Var = Ref
else:
    load_on_use(__name__)
