"""`tlx`: what warp-specialised kernels add to `tl`: buffers, barriers, copies, tasks.

    from tilewright import tl, tlx

Names, signatures, checks and the ops they emit are those of the TLX language, whose kernels mix
both. `storage_kind` is the memory of a buffer; `async_tasks` runs tasks on warps of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._exports import load_on_use

if TYPE_CHECKING:
    from tilewright.language.tlx.access import assert_same_layout as assert_same_layout
    from tilewright.language.tlx.access import dump_layout as dump_layout
    from tilewright.language.tlx.access import local_gather as local_gather
    from tilewright.language.tlx.access import local_load as local_load
    from tilewright.language.tlx.access import local_scatter as local_scatter
    from tilewright.language.tlx.access import local_store as local_store
    from tilewright.language.tlx.access import tmem_copy as tmem_copy
    from tilewright.language.tlx.aliasing import reuse_group as reuse_group
    from tilewright.language.tlx.aliasing import reuse_group_ir_type as reuse_group_ir_type
    from tilewright.language.tlx.aliasing import reuse_group_type as reuse_group_type
    from tilewright.language.tlx.aliasing import storage_alias_spec as storage_alias_spec
    from tilewright.language.tlx.aliasing import storage_alias_spec_type as storage_alias_spec_type
    from tilewright.language.tlx.aliasing import storage_alias_spec_value
    from tilewright.language.tlx.allocate import local_alloc as local_alloc
    from tilewright.language.tlx.amd_buffers import assume_uniform as assume_uniform
    from tilewright.language.tlx.amd_buffers import buffer_atomic_add as buffer_atomic_add
    from tilewright.language.tlx.amd_buffers import buffer_load as buffer_load
    from tilewright.language.tlx.amd_buffers import buffer_load_to_local as buffer_load_to_local
    from tilewright.language.tlx.amd_buffers import buffer_store as buffer_store
    from tilewright.language.tlx.amd_descriptors import (
        amd_descriptor_prefetch_tensor as amd_descriptor_prefetch_tensor,
    )
    from tilewright.language.tlx.amd_descriptors import (
        async_amd_descriptor_load as async_amd_descriptor_load,
    )
    from tilewright.language.tlx.amd_descriptors import (
        async_amd_descriptor_load_fused as async_amd_descriptor_load_fused,
    )
    from tilewright.language.tlx.amd_descriptors import (
        async_amd_descriptor_store as async_amd_descriptor_store,
    )
    from tilewright.language.tlx.amd_descriptors import (
        async_amd_descriptor_wait as async_amd_descriptor_wait,
    )
    from tilewright.language.tlx.amd_descriptors import (
        update_tensor_descriptor as update_tensor_descriptor,
    )
    from tilewright.language.tlx.amd_registers import amd_mfma_commit as amd_mfma_commit
    from tilewright.language.tlx.amd_registers import amd_register_handoff as amd_register_handoff
    from tilewright.language.tlx.amd_registers import amd_register_resident as amd_register_resident
    from tilewright.language.tlx.amd_registers import amd_scheduled_mfma as amd_scheduled_mfma
    from tilewright.language.tlx.amd_registers import dot_scaled as dot_scaled
    from tilewright.language.tlx.amd_registers import extract_slice as extract_slice
    from tilewright.language.tlx.amd_registers import rematerialized_range as rematerialized_range
    from tilewright.language.tlx.amd_registers import (
        require_amd_wmma_layout as require_amd_wmma_layout,
    )
    from tilewright.language.tlx.amd_registers import zeros as zeros
    from tilewright.language.tlx.barriers import alloc_barriers as alloc_barriers
    from tilewright.language.tlx.barriers import alloc_warp_barrier as alloc_warp_barrier
    from tilewright.language.tlx.barriers import amd_sched_barrier as amd_sched_barrier
    from tilewright.language.tlx.barriers import barrier_arrive as barrier_arrive
    from tilewright.language.tlx.barriers import barrier_expect_bytes as barrier_expect_bytes
    from tilewright.language.tlx.barriers import barrier_wait as barrier_wait
    from tilewright.language.tlx.barriers import cluster_barrier as cluster_barrier
    from tilewright.language.tlx.barriers import cond_barrier as cond_barrier
    from tilewright.language.tlx.barriers import (
        fence_mbarrier_init_cluster as fence_mbarrier_init_cluster,
    )
    from tilewright.language.tlx.barriers import named_barrier_arrive as named_barrier_arrive
    from tilewright.language.tlx.barriers import named_barrier_wait as named_barrier_wait
    from tilewright.language.tlx.barriers import workgroup_barrier as workgroup_barrier
    from tilewright.language.tlx.cluster import CLCPipelineContext as CLCPipelineContext
    from tilewright.language.tlx.cluster import alloc_clc_responses, clc_issue, clc_query
    from tilewright.language.tlx.cluster import async_remote_shmem_copy as async_remote_shmem_copy
    from tilewright.language.tlx.cluster import async_remote_shmem_store as async_remote_shmem_store
    from tilewright.language.tlx.cluster import clc_consumer as clc_consumer
    from tilewright.language.tlx.cluster import clc_create_context as clc_create_context
    from tilewright.language.tlx.cluster import clc_producer as clc_producer
    from tilewright.language.tlx.cluster import remote_shmem_store as remote_shmem_store
    from tilewright.language.tlx.copies import async_descriptor_load as async_descriptor_load
    from tilewright.language.tlx.copies import (
        async_descriptor_prefetch_tensor as async_descriptor_prefetch_tensor,
    )
    from tilewright.language.tlx.copies import async_descriptor_store as async_descriptor_store
    from tilewright.language.tlx.copies import (
        async_descriptor_store_wait as async_descriptor_store_wait,
    )
    from tilewright.language.tlx.copies import async_load as async_load
    from tilewright.language.tlx.copies import async_load_commit_group as async_load_commit_group
    from tilewright.language.tlx.copies import async_load_wait_group as async_load_wait_group
    from tilewright.language.tlx.copies import async_store as async_store
    from tilewright.language.tlx.copies import fence as fence
    from tilewright.language.tlx.copies import fence_async_shared as fence_async_shared
    from tilewright.language.tlx.copies import prefetch as prefetch
    from tilewright.language.tlx.demands import release_layout as release_layout
    from tilewright.language.tlx.demands import require_layout as require_layout
    from tilewright.language.tlx.descriptors import (
        allocate_tensor_descriptor as allocate_tensor_descriptor,
    )
    from tilewright.language.tlx.descriptors import make_tensor_descriptor as make_tensor_descriptor
    from tilewright.language.tlx.descriptors import (
        reinterpret_tensor_descriptor as reinterpret_tensor_descriptor,
    )
    from tilewright.language.tlx.descriptors import tensor_descriptor_ptr as tensor_descriptor_ptr
    from tilewright.language.tlx.descriptors import (
        tensor_descriptor_ptr_type as tensor_descriptor_ptr_type,
    )
    from tilewright.language.tlx.layouts import (
        DummyRegisterLayoutEncoding as DummyRegisterLayoutEncoding,
    )
    from tilewright.language.tlx.layouts import DummyTMEMLayoutEncoding as DummyTMEMLayoutEncoding
    from tilewright.language.tlx.layouts import TMemCTAMode as TMemCTAMode
    from tilewright.language.tlx.layouts import layout_encoding as layout_encoding
    from tilewright.language.tlx.layouts import (
        nv_mma_shared_layout_encoding as nv_mma_shared_layout_encoding,
    )
    from tilewright.language.tlx.layouts import (
        padded_shared_layout_encoding as padded_shared_layout_encoding,
    )
    from tilewright.language.tlx.layouts import shared_layout_encoding as shared_layout_encoding
    from tilewright.language.tlx.layouts import (
        shared_linear_layout_encoding as shared_linear_layout_encoding,
    )
    from tilewright.language.tlx.layouts import swizzled_layout as swizzled_layout
    from tilewright.language.tlx.layouts import (
        swizzled_shared_layout_encoding as swizzled_shared_layout_encoding,
    )
    from tilewright.language.tlx.layouts import (
        tensor_memory_layout_encoding as tensor_memory_layout_encoding,
    )
    from tilewright.language.tlx.layouts import (
        tensor_memory_scales_layout_encoding as tensor_memory_scales_layout_encoding,
    )
    from tilewright.language.tlx.mma import async_dot as async_dot
    from tilewright.language.tlx.mma import async_dot_scaled as async_dot_scaled
    from tilewright.language.tlx.mma import async_dot_wait as async_dot_wait
    from tilewright.language.tlx.mma import tcgen05_commit as tcgen05_commit
    from tilewright.language.tlx.mxfp8 import to_mxfp8_block, to_mxfp8_block_with_block_amax
    from tilewright.language.tlx.pipeline import warp_pipeline_stage as warp_pipeline_stage
    from tilewright.language.tlx.register_layouts import amd_mfma_layout as amd_mfma_layout
    from tilewright.language.tlx.register_layouts import dot_operand_layout as dot_operand_layout
    from tilewright.language.tlx.register_layouts import layout as layout
    from tilewright.language.tlx.register_layouts import nv_mma_layout as nv_mma_layout
    from tilewright.language.tlx.register_layouts import slice_layout as slice_layout
    from tilewright.language.tlx.storage import async_token as async_token
    from tilewright.language.tlx.storage import buffered_tensor as buffered_tensor
    from tilewright.language.tlx.storage import buffered_tensor_type as buffered_tensor_type
    from tilewright.language.tlx.storage import clc_response as clc_response
    from tilewright.language.tlx.storage import clc_response_type as clc_response_type
    from tilewright.language.tlx.storage import mbarrier as mbarrier
    from tilewright.language.tlx.storage import mbarrier_type as mbarrier_type
    from tilewright.language.tlx.storage import storage_kind as storage_kind
    from tilewright.language.tlx.tasks import async_task as async_task
    from tilewright.language.tlx.tasks import async_tasks as async_tasks
    from tilewright.language.tlx.utility import async_task_replica_id as async_task_replica_id
    from tilewright.language.tlx.utility import clock64 as clock64
    from tilewright.language.tlx.utility import cluster_cta_rank as cluster_cta_rank
    from tilewright.language.tlx.utility import cluster_size_1d as cluster_size_1d
    from tilewright.language.tlx.utility import dtype_of as dtype_of
    from tilewright.language.tlx.utility import get_fp8_format_name as get_fp8_format_name
    from tilewright.language.tlx.utility import size_of as size_of
    from tilewright.language.tlx.utility import stoch_round as stoch_round
    from tilewright.language.tlx.utility import thread_id as thread_id
    from tilewright.language.tlx.views import local_reinterpret as local_reinterpret
    from tilewright.language.tlx.views import local_reshape as local_reshape
    from tilewright.language.tlx.views import local_slice as local_slice
    from tilewright.language.tlx.views import local_trans as local_trans
    from tilewright.language.tlx.views import local_view as local_view
    from tilewright.language.tlx.views import remote_view as remote_view
    from tilewright.language.tlx.views import subslice as subslice
    from tilewright.language.tlx.warp_ops import vote_ballot_sync as vote_ballot_sync
    from tilewright.language.tlx.warp_ops import warp_redux as warp_redux

    storage_alias_spec_type_class = storage_alias_spec_value
    _alloc_clc_responses = alloc_clc_responses
    _clc_issue = clc_issue
    _clc_query = clc_query
    _to_mxfp8_block = to_mxfp8_block
    _to_mxfp8_block_with_block_amax = to_mxfp8_block_with_block_amax
else:
    load_on_use(__name__)
