"""The inventory: every public name of TLX is here, under both of its import paths."""

import subprocess
import sys

import pytest

import tilewright as tw
from tilewright import tl, tlx
from tilewright.language.tlx import warp_spec

_WORDS = """
async_task async_tasks async_task_replica_id warp_pipeline_stage
layout_encoding shared_layout_encoding swizzled_shared_layout_encoding swizzled_layout
nv_mma_shared_layout_encoding padded_shared_layout_encoding shared_linear_layout_encoding
tensor_memory_layout_encoding TMemCTAMode layout amd_mfma_layout dot_operand_layout
DummyRegisterLayoutEncoding DummyTMEMLayoutEncoding
storage_kind buffered_tensor buffered_tensor_type mbarrier mbarrier_type clc_response
clc_response_type CLCPipelineContext async_token tensor_descriptor_ptr tensor_descriptor_ptr_type
storage_alias_spec storage_alias_spec_type storage_alias_spec_type_class reuse_group
reuse_group_type reuse_group_ir_type
local_alloc local_view local_slice subslice local_trans local_reshape local_reinterpret local_load
local_store local_gather local_scatter tmem_copy
async_descriptor_load async_descriptor_store async_descriptor_store_wait
async_descriptor_prefetch_tensor async_load async_load_commit_group async_load_wait_group
async_store prefetch allocate_tensor_descriptor make_tensor_descriptor
reinterpret_tensor_descriptor fence fence_async_shared buffer_load buffer_store buffer_atomic_add
buffer_load_to_local update_tensor_descriptor async_amd_descriptor_load
async_amd_descriptor_load_fused async_amd_descriptor_store async_amd_descriptor_wait
amd_descriptor_prefetch_tensor
async_dot async_dot_scaled async_dot_wait tcgen05_commit dot_scaled require_layout release_layout
require_amd_wmma_layout extract_slice rematerialized_range amd_register_resident
amd_register_handoff amd_scheduled_mfma amd_mfma_commit zeros
alloc_barriers alloc_warp_barrier barrier_expect_bytes barrier_wait barrier_arrive
named_barrier_wait named_barrier_arrive cluster_barrier fence_mbarrier_init_cluster remote_view
remote_shmem_store async_remote_shmem_store async_remote_shmem_copy clc_create_context clc_producer
clc_consumer amd_sched_barrier
dtype_of size_of get_fp8_format_name cluster_cta_rank cluster_size_1d thread_id clock64
vote_ballot_sync warp_redux stoch_round assume_uniform dump_layout assert_same_layout
_to_mxfp8_block
"""
NAMES = _WORDS.split()


@pytest.mark.parametrize("name", NAMES)
def test_is_there(name: str) -> None:
    assert name in tlx.__all__
    assert callable(getattr(tlx, name))


def test_the_package_offers_it() -> None:
    assert tw.tlx is tlx
    assert "tlx" in dir(tw)


def test_sizes_and_types() -> None:
    assert tlx.size_of(tl.float16) == 2
    assert tlx.get_fp8_format_name(tl.float8e4nv) == "e4m3"
    assert tlx.get_fp8_format_name(tl.float8e5) == "e5m2"


def test_buffer_and_phase_outside_of_kernels_have_no_meaning() -> None:
    with pytest.raises(RuntimeError, match="inside a function decorated with @jit"):
        warp_spec.get_bufidx_phase(3, 2)


SCRIPT = """
import triton.language.extra.tlx as tlx
from triton._internal_testing import is_blackwell, is_hip, is_hopper_or_newer
from triton.language.extra.tlx.mem_ops import local_alloc
from triton.language.extra.tlx.types import storage_kind
from triton.language.extra.tlx.warp_spec import get_bufidx_phase
missing = [name for name in {names!r} if not hasattr(tlx, name)]
print(missing, tlx.local_alloc is local_alloc, storage_kind.smem.value)
print(is_hopper_or_newer(), is_blackwell(), is_hip(), get_bufidx_phase.__name__)
"""


def test_under_the_name_that_scripts_import(tmp_path) -> None:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(names=NAMES))
    run = subprocess.run(
        [sys.executable, "-m", "tilewright.compat", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout == "[] True smem\nTrue False False get_bufidx_phase\n", run.stderr
