"""What each function emits: the ops of TLX, in its order and with its attributes."""

import pytest

from tests.language.tlx.ours import check, emitted

HOPPER, BLACKWELL = ("cuda", 90), ("cuda", 100)
GFX950, GFX1250 = ("hip", "gfx950"), ("hip", "gfx1250")

TILE = "b = tlx.local_alloc((64, 64), tl.float16, 2)\n"
ROW = "b = tlx.local_alloc((64,), tl.float16, 2)\n"
BAR = "bar = tlx.alloc_barriers(1)\n"
TMEM = "t = tlx.local_alloc((128, 64), tl.float32, 2, tlx.storage_kind.tmem)\n"

CASES = {
    "local_alloc": (
        HOPPER,
        TILE,
        "%b = ttg.local_alloc : () -> M<2x64x64xf16, nv128, smem>",
    ),
    "local_alloc of rows": (
        HOPPER,
        ROW,
        "%b = ttg.local_alloc : () -> M<2x64xf16, plain, smem>",
    ),
    "local_alloc in tensor memory": (
        BLACKWELL,
        TMEM,
        "%t = ttng.tmem_alloc : () -> M<2x128x64xf32, tm128x64, tmem>",
    ),
    "local_alloc of scales": (
        BLACKWELL,
        "t = tlx.local_alloc((128, 16), tl.uint8, 1, tlx.storage_kind.tmem)",
        "%t = ttng.tmem_alloc : () -> M<1x128x16xi8, #tlx.dummy_tmem_layout, tmem>",
    ),
    "local_alloc of fp8 in tensor memory": (
        BLACKWELL,
        "t = tlx.local_alloc((128, 64), tl.float8e5, 1, tlx.storage_kind.tmem)",
        "%t = ttng.tmem_alloc : () -> M<1x128x64xf8E5M2, tm128x64, tmem>",
    ),
    "local_alloc again": (
        HOPPER,
        TILE + "tlx.local_alloc((64, 32), tl.float32, 2, reuse=b)",
        """
        %b = ttg.local_alloc : () -> M<2x64x64xf16, nv128, smem>
        %a = tlx.local_alias %b : M<2x64x64xf16, nv128, smem> -> M<2x64x32xf32, nv128, smem>
        """,
    ),
    "local_alloc on AMD": (
        GFX950,
        TILE,
        "%b = ttg.local_alloc : () -> M<2x64x64xf16, plain, smem>",
    ),
    "local_view": (
        HOPPER,
        TILE + "tlx.local_view(b, n)",
        """
        %b = ttg.local_alloc : () -> M<2x64x64xf16, nv128, smem>
        %v = ttg.memdesc_index %b[%n] : M<2x64x64xf16, nv128, smem> -> M<64x64xf16, nv128, smem>
        """,
    ),
    "local_slice": (
        HOPPER,
        TILE + "tlx.local_slice(b[0], [0, 16], [64, 16])",
        "%s = ttg.memdesc_subslice %v[0, 16] : M<64x64xf16, nv128, smem> -> "
        "M<64x16xf16, nv128, smem, 64x64>",
    ),
    "local_slice at run-time offsets": (
        HOPPER,
        TILE + "tlx.local_slice(b[0], [n, 0], [32, 64])",
        "%s = ttg.memdesc_dynamic_subslice %v[%n, %c0_i32] : M<64x64xf16, nv128, smem> -> "
        "M<32x64xf16, nv128, smem, 64x64>",
    ),
    "local_slice of a slice": (
        HOPPER,
        TILE + "tlx.local_slice(tlx.local_slice(b[0], [0, 32], [64, 32]), [32, 0], [32, 32])",
        "%s = ttg.memdesc_subslice %v[32, 0] : M<64x32xf16, nv128, smem, 64x64> -> "
        "M<32x32xf16, nv128, smem, 64x64>",
    ),
    "local_slice of tensor memory": (
        BLACKWELL,
        TMEM + "tlx.local_slice(t[0], [0, 32], [128, 32])",
        "%s = ttng.tmem_subslice %v {N = 32 : i32} : M<128x64xf32, tm128x64, tmem> -> "
        "M<128x32xf32, tm128x64, tmem, 128x64>",
    ),
    "local_trans": (
        HOPPER,
        "b = tlx.local_alloc((64, 32), tl.float16, 2)\ntlx.local_trans(b[n])",
        "%r = ttg.memdesc_trans %v {order = array<i32: 1, 0>} : M<64x32xf16, nv64, smem> -> "
        "M<32x64xf16, nv64t, smem>",
    ),
    "local_reshape": (
        HOPPER,
        TILE + "tlx.local_reshape(b[0], [2, 32, 64])",
        "%r = ttg.memdesc_reshape %v : M<64x64xf16, nv128, smem> -> M<2x32x64xf16, nv128, smem>",
    ),
    "local_reinterpret": (
        HOPPER,
        TILE + "tlx.local_reinterpret(b[0], tl.float32, [32, 64])",
        "%r = ttg.memdesc_reinterpret %v : M<64x64xf16, nv128, smem> -> M<32x64xf32, nv128, smem>",
    ),
    "local_load and local_store": (
        HOPPER,
        TILE + "tlx.local_store(b[0], tlx.local_load(b[1]))",
        """
        %u = ttg.memdesc_index %b[%c0_i32] : M<2x64x64xf16, nv128, smem> -> M<64x64xf16, nv128, smem>
        %v = ttg.memdesc_index %b[%c1_i32] : M<2x64x64xf16, nv128, smem> -> M<64x64xf16, nv128, smem>
        %x = ttg.local_load %v : M<64x64xf16, nv128, smem> -> tensor<64x64xf16>
        ttg.local_store %x, %u : tensor<64x64xf16> -> M<64x64xf16, nv128, smem>
        """,
    ),
    "local_load behind a token": (
        HOPPER,
        TILE + "tlx.local_load(b[0], tlx.async_load_wait_group(0))",
        """
        %t = ttg.async_wait {num = 0 : i32}
        %x = ttg.local_load %v token %t : M<64x64xf16, nv128, smem> -> tensor<64x64xf16>
        """,
    ),
    "local_gather and local_scatter": (
        HOPPER,
        ROW + "i = tl.arange(0, 64)\ntlx.local_scatter(b[0], tlx.local_gather(b[1], i, 0), i, 0)",
        """
        %x = ttg.local_gather %v[%i] {axis = 0 : i32} : M<64xf16, plain, smem>, tensor<64xi32> -> tensor<64xf16>
        ttg.local_scatter %u[%i], %x {axis = 0 : i32} : M<64xf16, plain, smem>, tensor<64xi32>, tensor<64xf16>
        """,
    ),
    "tensor memory to registers and back": (
        BLACKWELL,
        TMEM + "tlx.local_store(t[0], tlx.local_load(t[1]))",
        """
        %l = ttng.tmem_load %v : M<128x64xf32, tm128x64, tmem> -> tensor<128x64xf32, #tlx.dummy_register_layout<[128, 64], f32, true>>
        %x = tlx.release_layout %l : tensor<128x64xf32, #tlx.dummy_register_layout<[128, 64], f32, true>> -> tensor<128x64xf32>
        %y = tlx.require_layout %x : tensor<128x64xf32> -> tensor<128x64xf32, #tlx.dummy_register_layout<[128, 64], f32, true>>
        ttng.tmem_store %y, %u, %true : tensor<128x64xf32, #tlx.dummy_register_layout<[128, 64], f32, true>> -> M<128x64xf32, tm128x64, tmem>
        """,
    ),
    "tmem_copy": (
        BLACKWELL,
        "s = tlx.local_alloc((1, 4, 32, 16), tl.uint8, 1)\n"
        "t = tlx.local_alloc((128, 16), tl.uint8, 1, tlx.storage_kind.tmem)\n"
        "tlx.tmem_copy(s[0], t[0])",
        "ttng.tmem_copy %s, %t : M<1x4x32x16xi8, nv0, smem>, "
        "M<128x16xi8, #tlx.dummy_tmem_layout, tmem>",
    ),
    "async_load": (
        HOPPER,
        ROW + "i = tl.arange(0, 64)\nt = tlx.async_load(x + i, b[0], mask=i < n)\n"
        "t = tlx.async_load_commit_group([t])\ntlx.async_load_wait_group(1, [t])",
        """
        %o = arith.truncf %cst : tensor<64xf32> to tensor<64xf16>
        %t = ttg.async_copy_global_to_local %p, %v mask %m other %o : tensor<64x!tt.ptr<f16>> -> <64xf16, plain, smem>
        %g = ttg.async_commit_group tokens %t
        %w = ttg.async_wait %g {num = 1 : i32}
        """,
    ),
    "async_load in bulk": (
        HOPPER,
        ROW + BAR + "tlx.async_load(x, b[0], bulk=True, barrier=bar[0])",
        """
        %p = tt.addptr %s, %i : tensor<64x!tt.ptr<f16>>, tensor<64xi32>
        %t = ttg.async_copy_global_to_local %p, %v bulk_size %c128_i32 : i32 barrier %q : M<1xi64, plain, smem> {useBulk = true} : tensor<64x!tt.ptr<f16>> -> <64xf16, plain, smem>
        """,
    ),
    "async_store, prefetch and fences": (
        HOPPER,
        ROW + "i = x + tl.arange(0, 64)\ntlx.async_store(x, b[0], 128)\ntlx.prefetch(i, 'L1')\n"
        "tlx.prefetch(d, tensormap=True)\ntlx.fence('sys')\ntlx.fence('async_shared')",
        """
        ttng.async_store %v, %x, %c128_i32 : M<64xf16, plain, smem>, !tt.ptr<f16>
        ttng.prefetch %i cacheModifier = ca : tensor<64x!tt.ptr<f16>>
        ttng.prefetch_tensormap %d : !tt.tensordesc<64x64xf16>
        ttng.fence {scope = "sys"}
        ttng.fence_async_shared {bCluster = false}
        """,
    ),
    "async_descriptor_load": (
        HOPPER,
        TILE + BAR + "tlx.async_descriptor_load(d, b[0], [n, 0], bar[0])",
        """
        %r = tlx.require_layout %v : M<64x64xf16, nv128, smem> -> M<64x64xf16, nv128, smem>
        ttng.async_tma_copy_global_to_local %d[%n, %c0_i32] %r, %q, %true : !tt.tensordesc<64x64xf16>, M<1xi64, plain, smem> -> M<64x64xf16, nv128, smem>
        """,
    ),
    "async_descriptor_load of a row": (
        HOPPER,
        ROW + BAR + "e = tl.make_tensor_descriptor(x, [n], [1], [64])\n"
        "tlx.async_descriptor_load(e, b[0], [n], bar[0])",
        """
        %r = tlx.require_layout %v : M<64xf16, plain, smem> -> M<64xf16, nv0, smem>
        ttng.async_tma_copy_global_to_local %e[%n] %r, %q, %true : !tt.tensordesc<64xf16>, M<1xi64, plain, smem> -> M<64xf16, nv0, smem>
        """,
    ),
    "async_descriptor_load to several CTAs": (
        HOPPER,
        TILE + BAR + "tlx.async_descriptor_load(d, b[0], [n, 0], bar[0], pred=c, "
        "eviction_policy='evict_first', multicast_targets=[0, n])",
        """
        %s = arith.shli %c1_i32, %c0_i32 : i32
        %t = arith.ori %c0_i32, %s : i32
        %u = arith.shli %c1_i32, %n : i32
        %w = arith.ori %t, %u : i32
        ttng.async_tma_copy_global_to_local %d[%n, %c0_i32] %r, %q, %c, %w evictionPolicy = evict_first : !tt.tensordesc<64x64xf16>, M<1xi64, plain, smem> -> M<64x64xf16, nv128, smem>
        """,
    ),
    "async_descriptor_load of a pair": (
        HOPPER,
        TILE + BAR + "tlx.async_descriptor_load(d, b[0], [n, 0], bar[0], two_ctas=True)",
        """
        %k = nvg.cluster_id
        %e = arith.andi %k, %c-2_i32 : i32
        %m = ttng.map_to_remote_buffer %q, %e : M<1xi64, plain, smem> -> M<1xi64, plain, cluster>
        ttng.async_tma_copy_global_to_local %d[%n, %c0_i32] %r, %m, %true {two_ctas} : !tt.tensordesc<64x64xf16>, M<1xi64, plain, cluster> -> M<64x64xf16, nv128, smem>
        """,
    ),
    "async_descriptor_store": (
        HOPPER,
        TILE + "v = b[0]\ntlx.async_descriptor_store(d, v, [n, 0], eviction_policy='evict_last')\n"
        "tlx.async_descriptor_store(d, v, [n, 0], store_reduce='add')\n"
        "tlx.async_descriptor_store_wait(0)\ntlx.async_descriptor_prefetch_tensor(d, [n, 0])",
        """
        %r = tlx.require_layout %v : M<64x64xf16, nv128, smem> -> M<64x64xf16, nv128, smem>
        ttng.async_tma_copy_local_to_global %d[%n, %c0_i32] %r evictionPolicy = evict_last : !tt.tensordesc<64x64xf16>, M<64x64xf16, nv128, smem>
        %s = tlx.require_layout %v : M<64x64xf16, nv128, smem> -> M<64x64xf16, nv128, smem>
        ttng.async_tma_reduce add, %d[%n, %c0_i32] %s : !tt.tensordesc<64x64xf16>, M<64x64xf16, nv128, smem>
        ttng.async_tma_store_wait {pendings = 0 : i32}
        ttng.async_tma_prefetch %d[%n, %c0_i32], %true : !tt.tensordesc<64x64xf16>
        """,
    ),
    "descriptors in memory": (
        HOPPER,
        "q = tlx.allocate_tensor_descriptor(2)\n"
        "tlx.make_tensor_descriptor(q[1], x, [n, n], [n, 1], [64, 64])\n"
        "tlx.reinterpret_tensor_descriptor(q[n], [64, 64], tl.float16)",
        """
        %q = ttg.global_scratch_alloc {alignment = 128 : i32, nbytes = 256 : i32} : !tt.ptr<i8>
        %o = arith.muli %c1_i32, %c128_i32 : i32
        %a = tt.addptr %q, %o : !tt.ptr<i8>, i32
        %w = arith.extsi %n : i32 to i64
        %d = tt.make_tensor_descriptor %x, [%n, %n], [%w, %c1_i64], descPtr = %a : !tt.ptr<i8> : !tt.ptr<f16>, !tt.tensordesc<64x64xf16>
        %u = arith.muli %n, %c128_i32 : i32
        %b = tt.addptr %q, %u : !tt.ptr<i8>, i32
        %e = ttng.reinterpret_tensor_descriptor %b : !tt.ptr<i8> to !tt.tensordesc<64x64xf16>
        """,
    ),
    "alloc_barriers": (
        HOPPER,
        "tlx.alloc_barriers(2, arrive_count=3)",
        """
        %b = ttg.local_alloc : () -> M<2xi64, plain, smem>
        %0 = ttg.memdesc_index %b[%c0_i32] : M<2xi64, plain, smem> -> M<1xi64, plain, smem>
        ttng.init_barrier %0, 3 : M<1xi64, plain, smem>
        %1 = ttg.memdesc_index %b[%c1_i32] : M<2xi64, plain, smem> -> M<1xi64, plain, smem>
        ttng.init_barrier %1, 3 : M<1xi64, plain, smem>
        """,
    ),
    "alloc_warp_barrier": (
        HOPPER,
        "w = tlx.alloc_warp_barrier(1, num_warps=4, num_arrivals=2)\ntlx.barrier_arrive(w[n])",
        """
        ttng.init_barrier %0, 256 : M<1xi64, plain, smem>
        %1 = ttg.memdesc_index %b[%n] : M<1xi64, plain, smem> -> M<1xi64, plain, smem>
        ttng.arrive_barrier %1, 1 {perThread} : M<1xi64, plain, smem>
        """,
    ),
    "waiting and arriving": (
        HOPPER,
        BAR + "q = bar[0]\ntlx.barrier_expect_bytes(q, 8192)\ntlx.barrier_expect_bytes(q, 16, c)\n"
        "tlx.barrier_wait(q, p)\ntlx.barrier_wait(q, 1, c)\ntlx.barrier_arrive(q, 2, pred=c)",
        """
        ttng.barrier_expect %q, 8192, %true : M<1xi64, plain, smem>
        ttng.barrier_expect %q, 16, %c : M<1xi64, plain, smem>
        ttng.wait_barrier %q, %p, %true : M<1xi64, plain, smem>
        ttng.wait_barrier %q, %c1_i32, %c : M<1xi64, plain, smem>
        ttng.arrive_barrier %q, 2, %c : M<1xi64, plain, smem>
        """,
    ),
    "waiting for a parity of one bit": (
        HOPPER,
        BAR + "tlx.barrier_wait(bar[0], n == p)",
        """
        %e = arith.cmpi eq, %n, %p : i32
        %w = arith.extui %e : i1 to i32
        ttng.wait_barrier %q, %w, %true : M<1xi64, plain, smem>
        """,
    ),
    "arriving elsewhere": (
        HOPPER,
        BAR + "q = bar[0]\ntlx.barrier_arrive(q, 1, n)\ntlx.remote_view(q, 1)",
        """
        %r = ttng.map_to_remote_buffer %q, %n : M<1xi64, plain, smem> -> M<1xi64, plain, cluster>
        ttng.arrive_barrier %r, 1 : M<1xi64, plain, cluster>
        %s = ttng.map_to_remote_buffer %q, %c1_i32 : M<1xi64, plain, smem> -> M<1xi64, plain, cluster>
        """,
    ),
    "named barriers": (
        HOPPER,
        "tlx.named_barrier_wait(9, 256)\ntlx.named_barrier_arrive(n, 256)",
        """
        ttng.wait_barrier_named %c9_i32, %c256_i32 : i32, i32
        ttng.arrive_barrier_named %n, %c256_i32 : i32, i32
        """,
    ),
    "clusters": (
        HOPPER,
        "tlx.cluster_barrier()\ntlx.fence_mbarrier_init_cluster()\ntlx.cluster_cta_rank()\n"
        "tlx.cluster_size_1d()\ntlx.clock64()",
        """
        ttng.cluster_arrive {relaxed = false}
        ttng.cluster_wait
        ttng.fence_mbarrier_init_release_cluster
        %r = nvg.cluster_id
        %s = ttng.cluster_size_1d
        %t = ttg.clock64
        """,
    ),
    "thread_id": (
        HOPPER,
        "tlx.thread_id(1)",
        """
        %t = gpu.thread_id y
        %i = arith.index_cast %t : index to i32
        """,
    ),
    "shared memory of other CTAs": (
        HOPPER,
        TILE + BAR + "u = b[0]\nw = b[1]\nq = bar[0]\nv = tlx.local_load(u)\n"
        "tlx.remote_shmem_store(u, v, 1)\ntlx.async_remote_shmem_store(u, v, n, q)\n"
        "tlx.async_remote_shmem_copy(u, w, n, q)",
        """
        ttg.remote_shmem_store %v, rank %c1_i32, %u : tensor<64x64xf16> -> M<64x64xf16, nv128, smem>
        ttg.async_remote_shmem_store %v, rank %n, %u barrier %q : tensor<64x64xf16> -> M<64x64xf16, nv128, smem> barrier_ty M<1xi64, plain, smem>
        ttg.async_remote_shmem_copy %w, rank %n, %u barrier %q : M<64x64xf16, nv128, smem> -> M<64x64xf16, nv128, smem> barrier_ty M<1xi64, plain, smem>
        """,
    ),
    "clc_producer": (
        BLACKWELL,
        "k = tlx.clc_create_context(3)\ntlx.clc_producer(k, p)",
        """
        %r = ttg.memdesc_index %a[%c0_i32] : M<1xui128, plain, smem> -> M<1xui128, plain, smem>
        %k = nvg.cluster_id
        %z = arith.cmpi eq, %k, %c0_i32 : i32
        ttng.wait_barrier %e, %p, %z : M<1xi64, plain, smem>
        ttng.barrier_expect %f, 16, %true : M<1xi64, plain, smem>
        ttng.async_clc_try_cancel %f, %r : M<1xi64, plain, smem>, M<1xui128, plain, smem>
        """,
    ),
    "clc_consumer": (
        BLACKWELL,
        "k = tlx.clc_create_context(3, 2)\ntlx.clc_consumer(k, p, multi_ctas=False, k=n)",
        """
        ttng.wait_barrier %f, %p, %true : M<1xi64, plain, smem>
        %x, %y, %z = ttng.clc_query_cancel %r : (M<1xui128, plain, smem>) -> (i32, i32, i32)
        %k = nvg.cluster_id
        %e = arith.cmpi eq, %x, %c-1_i32 : i32
        %s = arith.addi %x, %k : i32
        %t = arith.select %e, %x, %s : i32
        ttng.arrive_barrier %q, 1 : M<1xi64, plain, smem>
        """,
    ),
    "votes": (
        HOPPER,
        "tlx.vote_ballot_sync(0xFFFFFFFF, c)\ntlx.vote_ballot_sync(3, tl.arange(0, 64) < n)",
        """
        %a = ttng.vote_ballot_sync %c-1_i32, %c : i1 -> i32
        %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
        %s = tt.splat %n : i32 -> tensor<64xi32>
        %m = arith.cmpi slt, %r, %s : tensor<64xi32>
        %b = ttng.vote_ballot_sync %c3_i32, %m : tensor<64xi1> -> tensor<64xi32>
        """,
    ),
    "warp_redux": (
        BLACKWELL,
        "v = tl.arange(0, 64).to(tl.float32)\ntlx.warp_redux(v, 'abs_max')",
        '%r = tt.elementwise_inline_asm "{ .reg .b32 t; mov.b32 t, $1; and.b32 t, t, 0x7FFFFFFF; '
        'redux.sync.max.f32 t, t, 0xFFFFFFFF; mov.b32 $0, t; }" {constraints = "=f,f", '
        "packed_element = 1 : i32, pure = true} %v : tensor<64xf32> -> tensor<64xf32>",
    ),
    "stoch_round": (
        BLACKWELL,
        "i = tl.arange(0, 64)\ntlx.stoch_round(i.to(tl.float32), tl.float8e5, i)",
        """
        %f = arith.sitofp %i : tensor<64xi32> to tensor<64xf32>
        %r = tt.fp_to_fp %f, rbits = %i : tensor<64xi32>, rounding = rs : tensor<64xf32> -> tensor<64xf8E5M2>
        """,
    ),
    "buffer instructions": (
        GFX950,
        "o = tl.arange(0, 64)\nm = o < n\nv = tlx.buffer_load(x, o, mask=m, contiguity=2)\n"
        "tlx.buffer_store(v, x, o, mask=m)\ntlx.buffer_atomic_add(x, o, v)\n"
        "tlx.assume_uniform(n)",
        """
        %v = amdg.buffer_load %x[%o], %m {contiguity = 2 : i32, tlx.preserve_layout} : tensor<64xf16>
        amdg.buffer_store %v, %x[%o], %m : tensor<64xf16>
        %w = amdg.buffer_atomic_rmw fadd, acq_rel, gpu, %v, %x[%o] : tensor<64xf16>
        %u = amdg.assume_uniform %n : i32
        """,
    ),
    "buffer_load_to_local": (
        GFX950,
        ROW + "tlx.buffer_load_to_local(b[0], x, tl.arange(0, 64))",
        "%t = amdg.buffer_load_to_local %x[%o] into %v : <f16>[tensor<64xi32>]  -> "
        "<64xf16, plain, smem>",
    ),
    "scheduling on AMD": (
        GFX950,
        ROW + "with tlx.warp_pipeline_stage('load', priority=1):\n"
        "    u = tlx.local_load(b[0], relaxed=True)\ntlx.local_store(b[1], u)\n"
        "tlx.amd_sched_barrier(2)\ntlx.workgroup_barrier()",
        """
        %u = ttg.local_load %v {ttg.amdg.syncedViaAsyncWait = true} : M<64xf16, plain, smem> -> tensor<64xf16>
        rocdl.sched.barrier 0 {triton.warp_pipeline.border = "load", triton.warp_pipeline.priority = 1 : i32}
        %w = ttg.memdesc_index %b[%c1_i32] : M<2x64xf16, plain, smem> -> M<64xf16, plain, smem>
        ttg.local_store %u, %w : tensor<64xf16> -> M<64xf16, plain, smem>
        rocdl.sched.barrier 2
        rocdl.sched.barrier 0
        ttg.barrier local
        rocdl.sched.barrier 0
        """,
    ),
    "registers on AMD": (
        GFX950,
        "v = tlx.require_layout(tl.arange(0, 256), tlx.layout(((64, 4), (1,)), ((1, 64), (0,))))\n"
        "w = tlx.amd_register_resident(v, 'vgpr', 2)\nu = tlx.amd_register_handoff(w)\n"
        "tlx.rematerialized_range(0, 64, 7)",
        """
        %w = amdg.register_resident %v class "vgpr" groups 2 : {layout}
        %u = amdg.register_handoff %w class "vgpr" : {layout}
        %r = amdg.rematerialized_range 0 to 64 identity 7 : tensor<64xi32>
        """.format(
            layout="tensor<256xi32, #tlx.no_verify_layout<#tlx.user_layout<#ttg.linear<{register = "
            "[], lane = [[1], [2], [4], [8], [16], [32]], warp = [[64], [128]], block = []}>>>>"
        ),
    ),
    "products on AMD": (
        GFX950,
        "a = tl.zeros((32, 32), tl.float16)\nr = tl.zeros((32, 32), tl.float32)\n"
        "r = tlx.amd_scheduled_mfma(a, a, r, 'persistent', 1, 'vgpr', True)\n"
        "r, s = tlx.amd_mfma_commit(r, a)\ntlx.extract_slice(r, [16, 32], [16, 0])",
        """
        %m = amdg.scheduled_mfma %cst, %cst, %cst resident "rhs" accumulator "persistent" register_class "vgpr" initialize true : tensor<32x32xf16>, tensor<32x32xf16>, tensor<32x32xf32> -> tensor<32x32xf32>
        %r:2 = amdg.mfma_commit %m, %cst : tensor<32x32xf32>, tensor<32x32xf16>
        %e = amdg.extract_slice %r#0 [16, 0] : tensor<32x32xf32> to tensor<16x32xf32>
        """,
    ),
    "clusters on AMD": (
        GFX1250,
        "tlx.cluster_barrier()\ntlx.cond_barrier(c)",
        """
        rocdl.sched.barrier 0
        ttg.barrier local
        rocdl.sched.barrier 0
        amdg.cluster_barrier_arrive
        amdg.cluster_barrier_wait
        amdg.cond_barrier %c
        """,
    ),
    "descriptors on AMD": (
        GFX1250,
        TILE + "v = b[0]\nt = tlx.async_amd_descriptor_load(d, v, [n, 0])\n"
        "tlx.async_amd_descriptor_wait(0, [t])\ntlx.async_amd_descriptor_store(d, v)\n"
        "tlx.amd_descriptor_prefetch_tensor(d, [n, 0])",
        """
        %e = amdg.update_tensor_descriptor %d add_offsets = [%n, %c0_i32] pred = %c1_i32 {clamp_bounds} : !tt.tensordesc<64x64xf16>
        %t = amdg.async_tdm_copy_global_to_local %e into %v : !tt.tensordesc<64x64xf16> -> M<64x64xf16, plain, smem>
        %w = amdg.async_tdm_wait %t {num = 0 : i32}
        %s = amdg.async_tdm_copy_local_to_global %d from %v : M<64x64xf16, plain, smem> -> !tt.tensordesc<64x64xf16>
        amdg.tdm_prefetch %d[%n, %c0_i32], %true, speculative = false : !tt.tensordesc<64x64xf16>
        """,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_emits(case: str) -> None:
    target, body, expected = CASES[case]
    check(expected, emitted(body, target=target))
