// Flash-attention forward: 4 slices of P, bf16, head dim 128. Written by fa_forward.py.
#row1 = #ttg.linear<{register = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#row32 = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#row128 = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#tile_t = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#out = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 32}>
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
#tmem1 = #ttng.tensor_memory_encoding<blockM = 128, blockN = 1, colStride = 1>
#tmem32 = #ttng.tensor_memory_encoding<blockM = 128, blockN = 32, colStride = 1>
#tmem128 = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
!bar = !ttg.memdesc<1xi64, #flat, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #flat, #smem, mutable>
!desc = !tt.tensordesc<128x128xbf16, #tile>
!vdesc = !tt.tensordesc<32x128xbf16, #tile>
!odesc = !tt.tensordesc<128x128xf32, #out>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @fa_forward(%q_desc: !desc, %k_desc: !desc, %v_desc: !vdesc, %out: !odesc, %blocks: i32, %scale: f32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %q = ttg.local_alloc : () -> !ttg.memdesc<2x128x128xbf16, #tile, #smem, mutable>
    %v = ttg.local_alloc : () -> !ttg.memdesc<8x32x128xbf16, #tile, #smem, mutable>
    %ring = tlx.storage_alias_spec storage = smem : !tlx.storage_alias_spec<smem>
    %k = tlx.storage_alias_local_alloc %ring : !tlx.storage_alias_spec<smem> -> !ttg.memdesc<2x128x128xbf16, #tile, #smem, mutable>
    %staged = tlx.storage_alias_local_alloc %ring : !tlx.storage_alias_spec<smem> -> !ttg.memdesc<1x128x128xf32, #out, #smem, mutable>
    %stages = tlx.reuse_group(%k) group_kind = shared, group_size = 2 : (!ttg.memdesc<2x128x128xbf16, #tile, #smem, mutable>) -> !tlx.reuse_group<shared>
    %ring_tree = tlx.reuse_group(%stages, %staged) group_kind = shared : (!tlx.reuse_group<shared>, !ttg.memdesc<1x128x128xf32, #out, #smem, mutable>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%ring, %ring_tree) : (!tlx.storage_alias_spec<smem>, !tlx.reuse_group<shared>) -> ()
    %region = tlx.storage_alias_spec storage = tmem : !tlx.storage_alias_spec<tmem>
    %qk = tlx.storage_alias_local_alloc %region : !tlx.storage_alias_spec<tmem> -> !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
    %p = tlx.storage_alias_local_alloc %region : !tlx.storage_alias_spec<tmem> -> !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
    %alpha = tlx.storage_alias_local_alloc %region : !tlx.storage_alias_spec<tmem> -> !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>
    %l = tlx.storage_alias_local_alloc %region : !tlx.storage_alias_spec<tmem> -> !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>
    %m = tlx.storage_alias_local_alloc %region : !tlx.storage_alias_spec<tmem> -> !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>
    %tiles = tlx.reuse_group(%p) group_kind = shared, group_size = 4 : (!ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<shared>
    %made = tlx.reuse_group(%tiles, %alpha, %l, %m) group_kind = distinct : (!tlx.reuse_group<shared>, !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>, !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>, !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<distinct>
    %tree = tlx.reuse_group(%qk, %made) group_kind = shared : (!ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable>, !tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%region, %tree) : (!tlx.storage_alias_spec<tmem>, !tlx.reuse_group<shared>) -> ()
    %acc = ttng.tmem_alloc : () -> !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
    %q_full = ttg.local_alloc : () -> !bars
    %q_full0 = ttg.memdesc_index %q_full[%c0] : !bars -> !bar
    ttng.init_barrier %q_full0, 1 : !bar
    %q_full1 = ttg.memdesc_index %q_full[%c1] : !bars -> !bar
    ttng.init_barrier %q_full1, 1 : !bar
    %k_full = ttg.local_alloc : () -> !bars
    %k_full0 = ttg.memdesc_index %k_full[%c0] : !bars -> !bar
    ttng.init_barrier %k_full0, 1 : !bar
    %k_full1 = ttg.memdesc_index %k_full[%c1] : !bars -> !bar
    ttng.init_barrier %k_full1, 1 : !bar
    %k_empty = ttg.local_alloc : () -> !bars
    %k_empty0 = ttg.memdesc_index %k_empty[%c0] : !bars -> !bar
    ttng.init_barrier %k_empty0, 1 : !bar
    %k_empty1 = ttg.memdesc_index %k_empty[%c1] : !bars -> !bar
    ttng.init_barrier %k_empty1, 1 : !bar
    %v_full = ttg.local_alloc : () -> !bars
    %v_full0 = ttg.memdesc_index %v_full[%c0] : !bars -> !bar
    ttng.init_barrier %v_full0, 1 : !bar
    %v_full1 = ttg.memdesc_index %v_full[%c1] : !bars -> !bar
    ttng.init_barrier %v_full1, 1 : !bar
    %v_empty = ttg.local_alloc : () -> !bars
    %v_empty0 = ttg.memdesc_index %v_empty[%c0] : !bars -> !bar
    ttng.init_barrier %v_empty0, 1 : !bar
    %v_empty1 = ttg.memdesc_index %v_empty[%c1] : !bars -> !bar
    ttng.init_barrier %v_empty1, 1 : !bar
    %qk_full = ttg.local_alloc : () -> !bars
    %qk_full0 = ttg.memdesc_index %qk_full[%c0] : !bars -> !bar
    ttng.init_barrier %qk_full0, 1 : !bar
    %qk_full1 = ttg.memdesc_index %qk_full[%c1] : !bars -> !bar
    ttng.init_barrier %qk_full1, 1 : !bar
    %p_full = ttg.local_alloc : () -> !bars
    %p_full0 = ttg.memdesc_index %p_full[%c0] : !bars -> !bar
    ttng.init_barrier %p_full0, 1 : !bar
    %p_full1 = ttg.memdesc_index %p_full[%c1] : !bars -> !bar
    ttng.init_barrier %p_full1, 1 : !bar
    %alpha_full = ttg.local_alloc : () -> !bars
    %alpha_full0 = ttg.memdesc_index %alpha_full[%c0] : !bars -> !bar
    ttng.init_barrier %alpha_full0, 1 : !bar
    %alpha_full1 = ttg.memdesc_index %alpha_full[%c1] : !bars -> !bar
    ttng.init_barrier %alpha_full1, 1 : !bar
    %alpha_empty = ttg.local_alloc : () -> !bars
    %alpha_empty0 = ttg.memdesc_index %alpha_empty[%c0] : !bars -> !bar
    ttng.init_barrier %alpha_empty0, 1 : !bar
    %alpha_empty1 = ttg.memdesc_index %alpha_empty[%c1] : !bars -> !bar
    ttng.init_barrier %alpha_empty1, 1 : !bar
    %acc_ready = ttg.local_alloc : () -> !bars
    %acc_ready0 = ttg.memdesc_index %acc_ready[%c0] : !bars -> !bar
    ttng.init_barrier %acc_ready0, 1 : !bar
    %acc_ready1 = ttg.memdesc_index %acc_ready[%c1] : !bars -> !bar
    ttng.init_barrier %acc_ready1, 1 : !bar
    %pv_done = ttg.local_alloc : () -> !bars
    %pv_done0 = ttg.memdesc_index %pv_done[%c0] : !bars -> !bar
    ttng.init_barrier %pv_done0, 1 : !bar
    %pv_done1 = ttg.memdesc_index %pv_done[%c1] : !bars -> !bar
    ttng.init_barrier %pv_done1, 1 : !bar
    %lm_full = ttg.local_alloc : () -> !bars
    %lm_full0 = ttg.memdesc_index %lm_full[%c0] : !bars -> !bar
    ttng.init_barrier %lm_full0, 1 : !bar
    %lm_full1 = ttg.memdesc_index %lm_full[%c1] : !bars -> !bar
    ttng.init_barrier %lm_full1, 1 : !bar
    ttg.warp_specialize(%q, %k, %v, %qk, %p, %alpha, %l, %m, %acc, %q_full, %k_full, %k_empty, %v_full, %v_empty, %qk_full, %p_full, %alpha_full, %alpha_empty, %acc_ready, %pv_done, %lm_full, %q_desc, %k_desc, %v_desc, %blocks, %scale) attributes {requestedRegisters = array<i32: 152, 152, 24, 24>}
    default {
      %c2 = arith.constant 2 : i32
      %c128 = arith.constant 128 : i32
      %true = arith.constant true
      %none = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #row128>
      %start0 = ttg.memdesc_index %acc[%c0] : !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
      ttng.tmem_store %none, %start0, %true : tensor<128x128xf32, #row128> -> !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
      %start1 = ttg.memdesc_index %acc[%c1] : !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
      ttng.tmem_store %none, %start1, %true : tensor<128x128xf32, #row128> -> !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
      scf.for %j = %c0 to %blocks step %c1 : i32 {
        %turn = arith.remui %j, %c2 : i32
        %last = arith.xori %turn, %c1 : i32
        %af0 = ttg.memdesc_index %alpha_full[%c0] : !bars -> !bar
        ttng.wait_barrier %af0, %turn : !bar
        %alpha0_t = ttg.memdesc_index %alpha[%c0] : !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable>
        %alpha0_c = ttng.tmem_load %alpha0_t : !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable> -> tensor<128x1xf32, #row1>
        %alpha0_w = ttg.convert_layout %alpha0_c : tensor<128x1xf32, #row1> -> tensor<128x1xf32, #row128>
        %alpha0 = tt.broadcast %alpha0_w : tensor<128x1xf32, #row128> -> tensor<128x128xf32, #row128>
        %ae0 = ttg.memdesc_index %alpha_empty[%c0] : !bars -> !bar
        ttng.arrive_barrier %ae0, 1 : !bar
        %pd0 = ttg.memdesc_index %pv_done[%c0] : !bars -> !bar
        ttng.wait_barrier %pd0, %last : !bar
        %o0 = ttg.memdesc_index %acc[%c0] : !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
        %old0 = ttng.tmem_load %o0 : !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> tensor<128x128xf32, #row128>
        %new0 = arith.mulf %old0, %alpha0 : tensor<128x128xf32, #row128>
        ttng.tmem_store %new0, %o0, %true : tensor<128x128xf32, #row128> -> !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
        %ar0 = ttg.memdesc_index %acc_ready[%c0] : !bars -> !bar
        ttng.arrive_barrier %ar0, 1 : !bar
        %af1 = ttg.memdesc_index %alpha_full[%c1] : !bars -> !bar
        ttng.wait_barrier %af1, %turn : !bar
        %alpha1_t = ttg.memdesc_index %alpha[%c1] : !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable>
        %alpha1_c = ttng.tmem_load %alpha1_t : !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable> -> tensor<128x1xf32, #row1>
        %alpha1_w = ttg.convert_layout %alpha1_c : tensor<128x1xf32, #row1> -> tensor<128x1xf32, #row128>
        %alpha1 = tt.broadcast %alpha1_w : tensor<128x1xf32, #row128> -> tensor<128x128xf32, #row128>
        %ae1 = ttg.memdesc_index %alpha_empty[%c1] : !bars -> !bar
        ttng.arrive_barrier %ae1, 1 : !bar
        %pd1 = ttg.memdesc_index %pv_done[%c1] : !bars -> !bar
        ttng.wait_barrier %pd1, %last : !bar
        %o1 = ttg.memdesc_index %acc[%c1] : !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
        %old1 = ttng.tmem_load %o1 : !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> tensor<128x128xf32, #row128>
        %new1 = arith.mulf %old1, %alpha1 : tensor<128x128xf32, #row128>
        ttng.tmem_store %new1, %o1, %true : tensor<128x128xf32, #row128> -> !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
        %ar1 = ttg.memdesc_index %acc_ready[%c1] : !bars -> !bar
        ttng.arrive_barrier %ar1, 1 : !bar
      }
      %blocks_1 = arith.subi %blocks, %c1 : i32
      %end = arith.remui %blocks_1, %c2 : i32
      %place = ttg.memdesc_index %staged[%c0] : !ttg.memdesc<1x128x128xf32, #out, #smem, mutable> -> !ttg.memdesc<128x128xf32, #out, #smem, mutable>
      %fin0 = ttg.memdesc_index %pv_done[%c0] : !bars -> !bar
      ttng.wait_barrier %fin0, %end : !bar
      %lm0 = ttg.memdesc_index %lm_full[%c0] : !bars -> !bar
      ttng.wait_barrier %lm0, %c0 : !bar
      %l0_t = ttg.memdesc_index %l[%c0] : !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable>
      %l0_c = ttng.tmem_load %l0_t : !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable> -> tensor<128x1xf32, #row1>
      %l0_w = ttg.convert_layout %l0_c : tensor<128x1xf32, #row1> -> tensor<128x1xf32, #row128>
      %l0 = tt.broadcast %l0_w : tensor<128x1xf32, #row128> -> tensor<128x128xf32, #row128>
      %sum0 = ttg.memdesc_index %acc[%c0] : !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
      %sums0 = ttng.tmem_load %sum0 : !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> tensor<128x128xf32, #row128>
      %result0 = arith.divf %sums0, %l0 : tensor<128x128xf32, #row128>
      ttg.local_store %result0, %place : tensor<128x128xf32, #row128> -> !ttg.memdesc<128x128xf32, #out, #smem, mutable>
      ttng.fence_async_shared {bCluster = false}
      ttng.async_tma_copy_local_to_global %out[%c0, %c0] %place : !odesc, !ttg.memdesc<128x128xf32, #out, #smem, mutable>
      ttng.async_tma_store_wait {pendings = 0 : i32}
      %fin1 = ttg.memdesc_index %pv_done[%c1] : !bars -> !bar
      ttng.wait_barrier %fin1, %end : !bar
      %lm1 = ttg.memdesc_index %lm_full[%c1] : !bars -> !bar
      ttng.wait_barrier %lm1, %c0 : !bar
      %l1_t = ttg.memdesc_index %l[%c1] : !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable>
      %l1_c = ttng.tmem_load %l1_t : !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable> -> tensor<128x1xf32, #row1>
      %l1_w = ttg.convert_layout %l1_c : tensor<128x1xf32, #row1> -> tensor<128x1xf32, #row128>
      %l1 = tt.broadcast %l1_w : tensor<128x1xf32, #row128> -> tensor<128x128xf32, #row128>
      %sum1 = ttg.memdesc_index %acc[%c1] : !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
      %sums1 = ttng.tmem_load %sum1 : !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> tensor<128x128xf32, #row128>
      %result1 = arith.divf %sums1, %l1 : tensor<128x128xf32, #row128>
      ttg.local_store %result1, %place : tensor<128x128xf32, #row128> -> !ttg.memdesc<128x128xf32, #out, #smem, mutable>
      ttng.fence_async_shared {bCluster = false}
      ttng.async_tma_copy_local_to_global %out[%c128, %c0] %place : !odesc, !ttg.memdesc<128x128xf32, #out, #smem, mutable>
      ttng.async_tma_store_wait {pendings = 0 : i32}
      ttg.warp_yield
    }
    partition0(%q: !ttg.memdesc<2x128x128xbf16, #tile, #smem, mutable>, %k: !ttg.memdesc<2x128x128xbf16, #tile, #smem, mutable>, %v: !ttg.memdesc<8x32x128xbf16, #tile, #smem, mutable>, %qk: !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable>, %p: !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>, %alpha: !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>, %l: !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>, %m: !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>, %acc: !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable>, %q_full: !bars, %k_full: !bars, %k_empty: !bars, %v_full: !bars, %v_empty: !bars, %qk_full: !bars, %p_full: !bars, %alpha_full: !bars, %alpha_empty: !bars, %acc_ready: !bars, %pv_done: !bars, %lm_full: !bars, %q_desc: !desc, %k_desc: !desc, %v_desc: !vdesc, %blocks: i32, %scale: f32) num_warps(4) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %true = arith.constant true
      %zero = arith.constant dense<0.000000e+00> : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
      %low = arith.constant dense<0xFF800000> : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
      %factor = tt.splat %scale : f32 -> tensor<128x32xf32, #row32>
      %state:2 = scf.for %j = %c0 to %blocks step %c1 iter_args(%m_old = %low, %l_old = %zero) -> (tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>) : i32 {
        %turn = arith.remui %j, %c2 : i32
        %last = arith.xori %turn, %c1 : i32
        %sf = ttg.memdesc_index %qk_full[%c0] : !bars -> !bar
        ttng.wait_barrier %sf, %turn : !bar
        %s = ttg.memdesc_index %qk[%c0] : !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
        %s0 = ttng.tmem_subslice %s {offset = 0 : i32} : !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xf32, #tmem128, #ttng.tensor_memory, mutable, 128x128>
        %raw0 = ttng.tmem_load %s0 : !ttg.memdesc<128x32xf32, #tmem128, #ttng.tensor_memory, mutable, 128x128> -> tensor<128x32xf32, #row32>
        %x0 = arith.mulf %raw0, %factor : tensor<128x32xf32, #row32>
        %top0 = "tt.reduce"(%x0) <{axis = 1 : i32}> ({
        ^bb0(%top0_a: f32, %top0_b: f32):
          %top0_c = arith.maxnumf %top0_a, %top0_b : f32
          tt.reduce.return %top0_c : f32
        }) : (tensor<128x32xf32, #row32>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %peak0 = arith.maxnumf %m_old, %top0 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %s1 = ttng.tmem_subslice %s {offset = 32 : i32} : !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xf32, #tmem128, #ttng.tensor_memory, mutable, 128x128>
        %raw1 = ttng.tmem_load %s1 : !ttg.memdesc<128x32xf32, #tmem128, #ttng.tensor_memory, mutable, 128x128> -> tensor<128x32xf32, #row32>
        %x1 = arith.mulf %raw1, %factor : tensor<128x32xf32, #row32>
        %top1 = "tt.reduce"(%x1) <{axis = 1 : i32}> ({
        ^bb0(%top1_a: f32, %top1_b: f32):
          %top1_c = arith.maxnumf %top1_a, %top1_b : f32
          tt.reduce.return %top1_c : f32
        }) : (tensor<128x32xf32, #row32>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %peak1 = arith.maxnumf %peak0, %top1 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %s2 = ttng.tmem_subslice %s {offset = 64 : i32} : !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xf32, #tmem128, #ttng.tensor_memory, mutable, 128x128>
        %raw2 = ttng.tmem_load %s2 : !ttg.memdesc<128x32xf32, #tmem128, #ttng.tensor_memory, mutable, 128x128> -> tensor<128x32xf32, #row32>
        %x2 = arith.mulf %raw2, %factor : tensor<128x32xf32, #row32>
        %top2 = "tt.reduce"(%x2) <{axis = 1 : i32}> ({
        ^bb0(%top2_a: f32, %top2_b: f32):
          %top2_c = arith.maxnumf %top2_a, %top2_b : f32
          tt.reduce.return %top2_c : f32
        }) : (tensor<128x32xf32, #row32>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %peak2 = arith.maxnumf %peak1, %top2 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %s3 = ttng.tmem_subslice %s {offset = 96 : i32} : !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xf32, #tmem128, #ttng.tensor_memory, mutable, 128x128>
        %raw3 = ttng.tmem_load %s3 : !ttg.memdesc<128x32xf32, #tmem128, #ttng.tensor_memory, mutable, 128x128> -> tensor<128x32xf32, #row32>
        %x3 = arith.mulf %raw3, %factor : tensor<128x32xf32, #row32>
        %top3 = "tt.reduce"(%x3) <{axis = 1 : i32}> ({
        ^bb0(%top3_a: f32, %top3_b: f32):
          %top3_c = arith.maxnumf %top3_a, %top3_b : f32
          tt.reduce.return %top3_c : f32
        }) : (tensor<128x32xf32, #row32>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %peak3 = arith.maxnumf %peak2, %top3 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %gap = arith.subf %m_old, %peak3 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %decay = math.exp2 %gap : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %alpha_e = tt.expand_dims %decay {axis = 1 : i32} : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>> -> tensor<128x1xf32, #row32>
        %alpha_c = ttg.convert_layout %alpha_e : tensor<128x1xf32, #row32> -> tensor<128x1xf32, #row1>
        %alpha_t = ttg.memdesc_index %alpha[%c0] : !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable>
        ttng.tmem_store %alpha_c, %alpha_t, %true : tensor<128x1xf32, #row1> -> !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable>
        %af = ttg.memdesc_index %alpha_full[%c0] : !bars -> !bar
        ttng.arrive_barrier %af, 1 : !bar
        %peak_e = tt.expand_dims %peak3 {axis = 1 : i32} : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>> -> tensor<128x1xf32, #row32>
        %peak_b = tt.broadcast %peak_e : tensor<128x1xf32, #row32> -> tensor<128x32xf32, #row32>
        %sum = arith.mulf %l_old, %decay : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %y0 = arith.subf %x0, %peak_b : tensor<128x32xf32, #row32>
        %w0 = math.exp2 %y0 : tensor<128x32xf32, #row32>
        %part0 = "tt.reduce"(%w0) <{axis = 1 : i32}> ({
        ^bb0(%part0_a: f32, %part0_b: f32):
          %part0_c = arith.addf %part0_a, %part0_b : f32
          tt.reduce.return %part0_c : f32
        }) : (tensor<128x32xf32, #row32>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %sum0 = arith.addf %sum, %part0 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %t0 = arith.truncf %w0 : tensor<128x32xf32, #row32> to tensor<128x32xbf16, #row32>
        %pi0 = arith.constant 0 : i32
        %p0 = ttg.memdesc_index %p[%pi0] : !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        ttng.tmem_store %t0, %p0, %true : tensor<128x32xbf16, #row32> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        %y1 = arith.subf %x1, %peak_b : tensor<128x32xf32, #row32>
        %w1 = math.exp2 %y1 : tensor<128x32xf32, #row32>
        %part1 = "tt.reduce"(%w1) <{axis = 1 : i32}> ({
        ^bb0(%part1_a: f32, %part1_b: f32):
          %part1_c = arith.addf %part1_a, %part1_b : f32
          tt.reduce.return %part1_c : f32
        }) : (tensor<128x32xf32, #row32>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %sum1 = arith.addf %sum0, %part1 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %t1 = arith.truncf %w1 : tensor<128x32xf32, #row32> to tensor<128x32xbf16, #row32>
        %pi1 = arith.constant 1 : i32
        %p1 = ttg.memdesc_index %p[%pi1] : !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        ttng.tmem_store %t1, %p1, %true : tensor<128x32xbf16, #row32> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        %y2 = arith.subf %x2, %peak_b : tensor<128x32xf32, #row32>
        %w2 = math.exp2 %y2 : tensor<128x32xf32, #row32>
        %part2 = "tt.reduce"(%w2) <{axis = 1 : i32}> ({
        ^bb0(%part2_a: f32, %part2_b: f32):
          %part2_c = arith.addf %part2_a, %part2_b : f32
          tt.reduce.return %part2_c : f32
        }) : (tensor<128x32xf32, #row32>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %sum2 = arith.addf %sum1, %part2 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %t2 = arith.truncf %w2 : tensor<128x32xf32, #row32> to tensor<128x32xbf16, #row32>
        %pi2 = arith.constant 2 : i32
        %p2 = ttg.memdesc_index %p[%pi2] : !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        ttng.tmem_store %t2, %p2, %true : tensor<128x32xbf16, #row32> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        %y3 = arith.subf %x3, %peak_b : tensor<128x32xf32, #row32>
        %w3 = math.exp2 %y3 : tensor<128x32xf32, #row32>
        %part3 = "tt.reduce"(%w3) <{axis = 1 : i32}> ({
        ^bb0(%part3_a: f32, %part3_b: f32):
          %part3_c = arith.addf %part3_a, %part3_b : f32
          tt.reduce.return %part3_c : f32
        }) : (tensor<128x32xf32, #row32>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %sum3 = arith.addf %sum2, %part3 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %t3 = arith.truncf %w3 : tensor<128x32xf32, #row32> to tensor<128x32xbf16, #row32>
        %pi3 = arith.constant 3 : i32
        %p3 = ttg.memdesc_index %p[%pi3] : !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        ttng.tmem_store %t3, %p3, %true : tensor<128x32xbf16, #row32> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        %pf = ttg.memdesc_index %p_full[%c0] : !bars -> !bar
        ttng.arrive_barrier %pf, 1 : !bar
        scf.yield %peak3, %sum3 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
      }
      %m_e = tt.expand_dims %state#0 {axis = 1 : i32} : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>> -> tensor<128x1xf32, #row32>
      %m_c = ttg.convert_layout %m_e : tensor<128x1xf32, #row32> -> tensor<128x1xf32, #row1>
      %m_t = ttg.memdesc_index %m[%c0] : !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable>
      ttng.tmem_store %m_c, %m_t, %true : tensor<128x1xf32, #row1> -> !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable>
      %l_e = tt.expand_dims %state#1 {axis = 1 : i32} : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>> -> tensor<128x1xf32, #row32>
      %l_c = ttg.convert_layout %l_e : tensor<128x1xf32, #row32> -> tensor<128x1xf32, #row1>
      %l_t = ttg.memdesc_index %l[%c0] : !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable>
      ttng.tmem_store %l_c, %l_t, %true : tensor<128x1xf32, #row1> -> !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable>
      %lm = ttg.memdesc_index %lm_full[%c0] : !bars -> !bar
      ttng.arrive_barrier %lm, 1 : !bar
      ttg.warp_return
    }
    partition1(%q: !ttg.memdesc<2x128x128xbf16, #tile, #smem, mutable>, %k: !ttg.memdesc<2x128x128xbf16, #tile, #smem, mutable>, %v: !ttg.memdesc<8x32x128xbf16, #tile, #smem, mutable>, %qk: !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable>, %p: !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>, %alpha: !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>, %l: !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>, %m: !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>, %acc: !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable>, %q_full: !bars, %k_full: !bars, %k_empty: !bars, %v_full: !bars, %v_empty: !bars, %qk_full: !bars, %p_full: !bars, %alpha_full: !bars, %alpha_empty: !bars, %acc_ready: !bars, %pv_done: !bars, %lm_full: !bars, %q_desc: !desc, %k_desc: !desc, %v_desc: !vdesc, %blocks: i32, %scale: f32) num_warps(4) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %true = arith.constant true
      %zero = arith.constant dense<0.000000e+00> : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
      %low = arith.constant dense<0xFF800000> : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
      %factor = tt.splat %scale : f32 -> tensor<128x32xf32, #row32>
      %state:2 = scf.for %j = %c0 to %blocks step %c1 iter_args(%m_old = %low, %l_old = %zero) -> (tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>) : i32 {
        %turn = arith.remui %j, %c2 : i32
        %last = arith.xori %turn, %c1 : i32
        %sf = ttg.memdesc_index %qk_full[%c1] : !bars -> !bar
        ttng.wait_barrier %sf, %turn : !bar
        %s = ttg.memdesc_index %qk[%c1] : !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
        %s0 = ttng.tmem_subslice %s {offset = 0 : i32} : !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xf32, #tmem128, #ttng.tensor_memory, mutable, 128x128>
        %raw0 = ttng.tmem_load %s0 : !ttg.memdesc<128x32xf32, #tmem128, #ttng.tensor_memory, mutable, 128x128> -> tensor<128x32xf32, #row32>
        %x0 = arith.mulf %raw0, %factor : tensor<128x32xf32, #row32>
        %top0 = "tt.reduce"(%x0) <{axis = 1 : i32}> ({
        ^bb0(%top0_a: f32, %top0_b: f32):
          %top0_c = arith.maxnumf %top0_a, %top0_b : f32
          tt.reduce.return %top0_c : f32
        }) : (tensor<128x32xf32, #row32>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %peak0 = arith.maxnumf %m_old, %top0 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %s1 = ttng.tmem_subslice %s {offset = 32 : i32} : !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xf32, #tmem128, #ttng.tensor_memory, mutable, 128x128>
        %raw1 = ttng.tmem_load %s1 : !ttg.memdesc<128x32xf32, #tmem128, #ttng.tensor_memory, mutable, 128x128> -> tensor<128x32xf32, #row32>
        %x1 = arith.mulf %raw1, %factor : tensor<128x32xf32, #row32>
        %top1 = "tt.reduce"(%x1) <{axis = 1 : i32}> ({
        ^bb0(%top1_a: f32, %top1_b: f32):
          %top1_c = arith.maxnumf %top1_a, %top1_b : f32
          tt.reduce.return %top1_c : f32
        }) : (tensor<128x32xf32, #row32>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %peak1 = arith.maxnumf %peak0, %top1 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %s2 = ttng.tmem_subslice %s {offset = 64 : i32} : !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xf32, #tmem128, #ttng.tensor_memory, mutable, 128x128>
        %raw2 = ttng.tmem_load %s2 : !ttg.memdesc<128x32xf32, #tmem128, #ttng.tensor_memory, mutable, 128x128> -> tensor<128x32xf32, #row32>
        %x2 = arith.mulf %raw2, %factor : tensor<128x32xf32, #row32>
        %top2 = "tt.reduce"(%x2) <{axis = 1 : i32}> ({
        ^bb0(%top2_a: f32, %top2_b: f32):
          %top2_c = arith.maxnumf %top2_a, %top2_b : f32
          tt.reduce.return %top2_c : f32
        }) : (tensor<128x32xf32, #row32>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %peak2 = arith.maxnumf %peak1, %top2 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %s3 = ttng.tmem_subslice %s {offset = 96 : i32} : !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xf32, #tmem128, #ttng.tensor_memory, mutable, 128x128>
        %raw3 = ttng.tmem_load %s3 : !ttg.memdesc<128x32xf32, #tmem128, #ttng.tensor_memory, mutable, 128x128> -> tensor<128x32xf32, #row32>
        %x3 = arith.mulf %raw3, %factor : tensor<128x32xf32, #row32>
        %top3 = "tt.reduce"(%x3) <{axis = 1 : i32}> ({
        ^bb0(%top3_a: f32, %top3_b: f32):
          %top3_c = arith.maxnumf %top3_a, %top3_b : f32
          tt.reduce.return %top3_c : f32
        }) : (tensor<128x32xf32, #row32>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %peak3 = arith.maxnumf %peak2, %top3 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %gap = arith.subf %m_old, %peak3 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %decay = math.exp2 %gap : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %alpha_e = tt.expand_dims %decay {axis = 1 : i32} : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>> -> tensor<128x1xf32, #row32>
        %alpha_c = ttg.convert_layout %alpha_e : tensor<128x1xf32, #row32> -> tensor<128x1xf32, #row1>
        %alpha_t = ttg.memdesc_index %alpha[%c1] : !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable>
        ttng.tmem_store %alpha_c, %alpha_t, %true : tensor<128x1xf32, #row1> -> !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable>
        %af = ttg.memdesc_index %alpha_full[%c1] : !bars -> !bar
        ttng.arrive_barrier %af, 1 : !bar
        %peak_e = tt.expand_dims %peak3 {axis = 1 : i32} : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>> -> tensor<128x1xf32, #row32>
        %peak_b = tt.broadcast %peak_e : tensor<128x1xf32, #row32> -> tensor<128x32xf32, #row32>
        %sum = arith.mulf %l_old, %decay : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %y0 = arith.subf %x0, %peak_b : tensor<128x32xf32, #row32>
        %w0 = math.exp2 %y0 : tensor<128x32xf32, #row32>
        %part0 = "tt.reduce"(%w0) <{axis = 1 : i32}> ({
        ^bb0(%part0_a: f32, %part0_b: f32):
          %part0_c = arith.addf %part0_a, %part0_b : f32
          tt.reduce.return %part0_c : f32
        }) : (tensor<128x32xf32, #row32>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %sum0 = arith.addf %sum, %part0 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %t0 = arith.truncf %w0 : tensor<128x32xf32, #row32> to tensor<128x32xbf16, #row32>
        %pi0 = arith.constant 4 : i32
        %p0 = ttg.memdesc_index %p[%pi0] : !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        ttng.tmem_store %t0, %p0, %true : tensor<128x32xbf16, #row32> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        %y1 = arith.subf %x1, %peak_b : tensor<128x32xf32, #row32>
        %w1 = math.exp2 %y1 : tensor<128x32xf32, #row32>
        %part1 = "tt.reduce"(%w1) <{axis = 1 : i32}> ({
        ^bb0(%part1_a: f32, %part1_b: f32):
          %part1_c = arith.addf %part1_a, %part1_b : f32
          tt.reduce.return %part1_c : f32
        }) : (tensor<128x32xf32, #row32>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %sum1 = arith.addf %sum0, %part1 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %t1 = arith.truncf %w1 : tensor<128x32xf32, #row32> to tensor<128x32xbf16, #row32>
        %pi1 = arith.constant 5 : i32
        %p1 = ttg.memdesc_index %p[%pi1] : !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        ttng.tmem_store %t1, %p1, %true : tensor<128x32xbf16, #row32> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        %y2 = arith.subf %x2, %peak_b : tensor<128x32xf32, #row32>
        %w2 = math.exp2 %y2 : tensor<128x32xf32, #row32>
        %part2 = "tt.reduce"(%w2) <{axis = 1 : i32}> ({
        ^bb0(%part2_a: f32, %part2_b: f32):
          %part2_c = arith.addf %part2_a, %part2_b : f32
          tt.reduce.return %part2_c : f32
        }) : (tensor<128x32xf32, #row32>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %sum2 = arith.addf %sum1, %part2 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %t2 = arith.truncf %w2 : tensor<128x32xf32, #row32> to tensor<128x32xbf16, #row32>
        %pi2 = arith.constant 6 : i32
        %p2 = ttg.memdesc_index %p[%pi2] : !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        ttng.tmem_store %t2, %p2, %true : tensor<128x32xbf16, #row32> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        %y3 = arith.subf %x3, %peak_b : tensor<128x32xf32, #row32>
        %w3 = math.exp2 %y3 : tensor<128x32xf32, #row32>
        %part3 = "tt.reduce"(%w3) <{axis = 1 : i32}> ({
        ^bb0(%part3_a: f32, %part3_b: f32):
          %part3_c = arith.addf %part3_a, %part3_b : f32
          tt.reduce.return %part3_c : f32
        }) : (tensor<128x32xf32, #row32>) -> tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %sum3 = arith.addf %sum2, %part3 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
        %t3 = arith.truncf %w3 : tensor<128x32xf32, #row32> to tensor<128x32xbf16, #row32>
        %pi3 = arith.constant 7 : i32
        %p3 = ttg.memdesc_index %p[%pi3] : !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        ttng.tmem_store %t3, %p3, %true : tensor<128x32xbf16, #row32> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        %pf = ttg.memdesc_index %p_full[%c1] : !bars -> !bar
        ttng.arrive_barrier %pf, 1 : !bar
        scf.yield %peak3, %sum3 : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>, tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>>
      }
      %m_e = tt.expand_dims %state#0 {axis = 1 : i32} : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>> -> tensor<128x1xf32, #row32>
      %m_c = ttg.convert_layout %m_e : tensor<128x1xf32, #row32> -> tensor<128x1xf32, #row1>
      %m_t = ttg.memdesc_index %m[%c1] : !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable>
      ttng.tmem_store %m_c, %m_t, %true : tensor<128x1xf32, #row1> -> !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable>
      %l_e = tt.expand_dims %state#1 {axis = 1 : i32} : tensor<128xf32, #ttg.slice<{dim = 1, parent = #row32}>> -> tensor<128x1xf32, #row32>
      %l_c = ttg.convert_layout %l_e : tensor<128x1xf32, #row32> -> tensor<128x1xf32, #row1>
      %l_t = ttg.memdesc_index %l[%c1] : !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable>
      ttng.tmem_store %l_c, %l_t, %true : tensor<128x1xf32, #row1> -> !ttg.memdesc<128x1xf32, #tmem1, #ttng.tensor_memory, mutable>
      %lm = ttg.memdesc_index %lm_full[%c1] : !bars -> !bar
      ttng.arrive_barrier %lm, 1 : !bar
      ttg.warp_return
    }
    partition2(%q: !ttg.memdesc<2x128x128xbf16, #tile, #smem, mutable>, %k: !ttg.memdesc<2x128x128xbf16, #tile, #smem, mutable>, %v: !ttg.memdesc<8x32x128xbf16, #tile, #smem, mutable>, %qk: !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable>, %p: !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>, %alpha: !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>, %l: !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>, %m: !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>, %acc: !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable>, %q_full: !bars, %k_full: !bars, %k_empty: !bars, %v_full: !bars, %v_empty: !bars, %qk_full: !bars, %p_full: !bars, %alpha_full: !bars, %alpha_empty: !bars, %acc_ready: !bars, %pv_done: !bars, %lm_full: !bars, %q_desc: !desc, %k_desc: !desc, %v_desc: !vdesc, %blocks: i32, %scale: f32) num_warps(1) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c4 = arith.constant 4 : i32
      %true = arith.constant true
      %false = arith.constant false
      %qf0 = ttg.memdesc_index %q_full[%c0] : !bars -> !bar
      ttng.wait_barrier %qf0, %c0 : !bar
      %qf1 = ttg.memdesc_index %q_full[%c1] : !bars -> !bar
      ttng.wait_barrier %qf1, %c0 : !bar
      scf.for %j = %c0 to %blocks step %c1 : i32 {
        %stage = arith.remui %j, %c2 : i32
        %round = arith.divui %j, %c2 : i32
        %phase = arith.remui %round, %c2 : i32
        %before = arith.xori %phase, %c1 : i32
        %turn = arith.remui %j, %c2 : i32
        %last = arith.xori %turn, %c1 : i32
        %kf = ttg.memdesc_index %k_full[%stage] : !bars -> !bar
        ttng.wait_barrier %kf, %phase : !bar
        %kt = ttg.memdesc_index %k[%stage] : !ttg.memdesc<2x128x128xbf16, #tile, #smem, mutable> -> !ttg.memdesc<128x128xbf16, #tile, #smem, mutable>
        %kt_t = ttg.memdesc_trans %kt {order = array<i32: 1, 0>} : !ttg.memdesc<128x128xbf16, #tile, #smem, mutable> -> !ttg.memdesc<128x128xbf16, #tile_t, #smem, mutable>
        %ke = ttg.memdesc_index %k_empty[%stage] : !bars -> !bar
        %pd0 = ttg.memdesc_index %pv_done[%c0] : !bars -> !bar
        ttng.wait_barrier %pd0, %last : !bar
        %ae0 = ttg.memdesc_index %alpha_empty[%c0] : !bars -> !bar
        ttng.wait_barrier %ae0, %last : !bar
        %q0 = ttg.memdesc_index %q[%c0] : !ttg.memdesc<2x128x128xbf16, #tile, #smem, mutable> -> !ttg.memdesc<128x128xbf16, #tile, #smem, mutable>
        %s0 = ttg.memdesc_index %qk[%c0] : !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
        %sf0 = ttg.memdesc_index %qk_full[%c0] : !bars -> !bar
        ttng.tc_gen5_mma %q0, %kt_t, %s0, %false, %true, %sf0[%true] {is_async} : !ttg.memdesc<128x128xbf16, #tile, #smem, mutable>, !ttg.memdesc<128x128xbf16, #tile_t, #smem, mutable>, !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>, !bar
        %pd1 = ttg.memdesc_index %pv_done[%c1] : !bars -> !bar
        ttng.wait_barrier %pd1, %last : !bar
        %ae1 = ttg.memdesc_index %alpha_empty[%c1] : !bars -> !bar
        ttng.wait_barrier %ae1, %last : !bar
        %q1 = ttg.memdesc_index %q[%c1] : !ttg.memdesc<2x128x128xbf16, #tile, #smem, mutable> -> !ttg.memdesc<128x128xbf16, #tile, #smem, mutable>
        %s1 = ttg.memdesc_index %qk[%c1] : !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
        %sf1 = ttg.memdesc_index %qk_full[%c1] : !bars -> !bar
        ttng.tc_gen5_mma %q1, %kt_t, %s1, %false, %true, %sf1[%true], %ke[%true] {is_async} : !ttg.memdesc<128x128xbf16, #tile, #smem, mutable>, !ttg.memdesc<128x128xbf16, #tile_t, #smem, mutable>, !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>, !bar, !bar
        %vf = ttg.memdesc_index %v_full[%stage] : !bars -> !bar
        ttng.wait_barrier %vf, %phase : !bar
        %ve = ttg.memdesc_index %v_empty[%stage] : !bars -> !bar
        %first = arith.muli %stage, %c4 : i32
        %ar0 = ttg.memdesc_index %acc_ready[%c0] : !bars -> !bar
        ttng.wait_barrier %ar0, %turn : !bar
        %pf0 = ttg.memdesc_index %p_full[%c0] : !bars -> !bar
        ttng.wait_barrier %pf0, %turn : !bar
        %o0 = ttg.memdesc_index %acc[%c0] : !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
        %done0 = ttg.memdesc_index %pv_done[%c0] : !bars -> !bar
        %pi0_0 = arith.constant 0 : i32
        %n0_0 = arith.constant 0 : i32
        %vi0_0 = arith.addi %first, %n0_0 : i32
        %p0_0 = ttg.memdesc_index %p[%pi0_0] : !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        %v0_0 = ttg.memdesc_index %v[%vi0_0] : !ttg.memdesc<8x32x128xbf16, #tile, #smem, mutable> -> !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>
        ttng.tc_gen5_mma %p0_0, %v0_0, %o0, %true, %true {is_async} : !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>, !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>, !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
        %pi0_1 = arith.constant 1 : i32
        %n0_1 = arith.constant 1 : i32
        %vi0_1 = arith.addi %first, %n0_1 : i32
        %p0_1 = ttg.memdesc_index %p[%pi0_1] : !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        %v0_1 = ttg.memdesc_index %v[%vi0_1] : !ttg.memdesc<8x32x128xbf16, #tile, #smem, mutable> -> !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>
        ttng.tc_gen5_mma %p0_1, %v0_1, %o0, %true, %true {is_async} : !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>, !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>, !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
        %pi0_2 = arith.constant 2 : i32
        %n0_2 = arith.constant 2 : i32
        %vi0_2 = arith.addi %first, %n0_2 : i32
        %p0_2 = ttg.memdesc_index %p[%pi0_2] : !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        %v0_2 = ttg.memdesc_index %v[%vi0_2] : !ttg.memdesc<8x32x128xbf16, #tile, #smem, mutable> -> !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>
        ttng.tc_gen5_mma %p0_2, %v0_2, %o0, %true, %true {is_async} : !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>, !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>, !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
        %pi0_3 = arith.constant 3 : i32
        %n0_3 = arith.constant 3 : i32
        %vi0_3 = arith.addi %first, %n0_3 : i32
        %p0_3 = ttg.memdesc_index %p[%pi0_3] : !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        %v0_3 = ttg.memdesc_index %v[%vi0_3] : !ttg.memdesc<8x32x128xbf16, #tile, #smem, mutable> -> !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>
        ttng.tc_gen5_mma %p0_3, %v0_3, %o0, %true, %true, %done0[%true] {is_async} : !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>, !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>, !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>, !bar
        %ar1 = ttg.memdesc_index %acc_ready[%c1] : !bars -> !bar
        ttng.wait_barrier %ar1, %turn : !bar
        %pf1 = ttg.memdesc_index %p_full[%c1] : !bars -> !bar
        ttng.wait_barrier %pf1, %turn : !bar
        %o1 = ttg.memdesc_index %acc[%c1] : !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
        %done1 = ttg.memdesc_index %pv_done[%c1] : !bars -> !bar
        %pi1_0 = arith.constant 4 : i32
        %n1_0 = arith.constant 0 : i32
        %vi1_0 = arith.addi %first, %n1_0 : i32
        %p1_0 = ttg.memdesc_index %p[%pi1_0] : !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        %v1_0 = ttg.memdesc_index %v[%vi1_0] : !ttg.memdesc<8x32x128xbf16, #tile, #smem, mutable> -> !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>
        ttng.tc_gen5_mma %p1_0, %v1_0, %o1, %true, %true {is_async} : !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>, !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>, !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
        %pi1_1 = arith.constant 5 : i32
        %n1_1 = arith.constant 1 : i32
        %vi1_1 = arith.addi %first, %n1_1 : i32
        %p1_1 = ttg.memdesc_index %p[%pi1_1] : !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        %v1_1 = ttg.memdesc_index %v[%vi1_1] : !ttg.memdesc<8x32x128xbf16, #tile, #smem, mutable> -> !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>
        ttng.tc_gen5_mma %p1_1, %v1_1, %o1, %true, %true {is_async} : !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>, !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>, !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
        %pi1_2 = arith.constant 6 : i32
        %n1_2 = arith.constant 2 : i32
        %vi1_2 = arith.addi %first, %n1_2 : i32
        %p1_2 = ttg.memdesc_index %p[%pi1_2] : !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        %v1_2 = ttg.memdesc_index %v[%vi1_2] : !ttg.memdesc<8x32x128xbf16, #tile, #smem, mutable> -> !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>
        ttng.tc_gen5_mma %p1_2, %v1_2, %o1, %true, %true {is_async} : !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>, !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>, !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>
        %pi1_3 = arith.constant 7 : i32
        %n1_3 = arith.constant 3 : i32
        %vi1_3 = arith.addi %first, %n1_3 : i32
        %p1_3 = ttg.memdesc_index %p[%pi1_3] : !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>
        %v1_3 = ttg.memdesc_index %v[%vi1_3] : !ttg.memdesc<8x32x128xbf16, #tile, #smem, mutable> -> !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>
        ttng.tc_gen5_mma %p1_3, %v1_3, %o1, %true, %true, %done1[%true], %ve[%true] {is_async} : !ttg.memdesc<128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>, !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>, !ttg.memdesc<128x128xf32, #tmem128, #ttng.tensor_memory, mutable>, !bar, !bar
      }
      ttg.warp_return
    }
    partition3(%q: !ttg.memdesc<2x128x128xbf16, #tile, #smem, mutable>, %k: !ttg.memdesc<2x128x128xbf16, #tile, #smem, mutable>, %v: !ttg.memdesc<8x32x128xbf16, #tile, #smem, mutable>, %qk: !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable>, %p: !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>, %alpha: !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>, %l: !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>, %m: !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>, %acc: !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable>, %q_full: !bars, %k_full: !bars, %k_empty: !bars, %v_full: !bars, %v_empty: !bars, %qk_full: !bars, %p_full: !bars, %alpha_full: !bars, %alpha_empty: !bars, %acc_ready: !bars, %pv_done: !bars, %lm_full: !bars, %q_desc: !desc, %k_desc: !desc, %v_desc: !vdesc, %blocks: i32, %scale: f32) num_warps(1) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c4 = arith.constant 4 : i32
      %c128 = arith.constant 128 : i32
      %c32 = arith.constant 32 : i32
      %c64 = arith.constant 64 : i32
      %c96 = arith.constant 96 : i32
      %true = arith.constant true
      %q0 = ttg.memdesc_index %q[%c0] : !ttg.memdesc<2x128x128xbf16, #tile, #smem, mutable> -> !ttg.memdesc<128x128xbf16, #tile, #smem, mutable>
      %qf0 = ttg.memdesc_index %q_full[%c0] : !bars -> !bar
      ttng.barrier_expect %qf0, 32768, %true : !bar
      ttng.async_tma_copy_global_to_local %q_desc[%c0, %c0] %q0, %qf0, %true : !desc, !bar -> !ttg.memdesc<128x128xbf16, #tile, #smem, mutable>
      %q1 = ttg.memdesc_index %q[%c1] : !ttg.memdesc<2x128x128xbf16, #tile, #smem, mutable> -> !ttg.memdesc<128x128xbf16, #tile, #smem, mutable>
      %qf1 = ttg.memdesc_index %q_full[%c1] : !bars -> !bar
      ttng.barrier_expect %qf1, 32768, %true : !bar
      ttng.async_tma_copy_global_to_local %q_desc[%c128, %c0] %q1, %qf1, %true : !desc, !bar -> !ttg.memdesc<128x128xbf16, #tile, #smem, mutable>
      scf.for %j = %c0 to %blocks step %c1 : i32 {
        %stage = arith.remui %j, %c2 : i32
        %round = arith.divui %j, %c2 : i32
        %phase = arith.remui %round, %c2 : i32
        %before = arith.xori %phase, %c1 : i32
        %start = arith.muli %j, %c128 : i32
        %ke = ttg.memdesc_index %k_empty[%stage] : !bars -> !bar
        ttng.wait_barrier %ke, %before : !bar
        %kf = ttg.memdesc_index %k_full[%stage] : !bars -> !bar
        %kt = ttg.memdesc_index %k[%stage] : !ttg.memdesc<2x128x128xbf16, #tile, #smem, mutable> -> !ttg.memdesc<128x128xbf16, #tile, #smem, mutable>
        ttng.barrier_expect %kf, 32768, %true : !bar
        ttng.async_tma_copy_global_to_local %k_desc[%start, %c0] %kt, %kf, %true : !desc, !bar -> !ttg.memdesc<128x128xbf16, #tile, #smem, mutable>
        %ve = ttg.memdesc_index %v_empty[%stage] : !bars -> !bar
        ttng.wait_barrier %ve, %before : !bar
        %vf = ttg.memdesc_index %v_full[%stage] : !bars -> !bar
        ttng.barrier_expect %vf, 32768, %true : !bar
        %first = arith.muli %stage, %c4 : i32
        %n0 = arith.constant 0 : i32
        %at0 = arith.addi %first, %n0 : i32
        %row0 = arith.addi %start, %c0 : i32
        %vt0 = ttg.memdesc_index %v[%at0] : !ttg.memdesc<8x32x128xbf16, #tile, #smem, mutable> -> !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>
        ttng.async_tma_copy_global_to_local %v_desc[%row0, %c0] %vt0, %vf, %true : !vdesc, !bar -> !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>
        %n1 = arith.constant 1 : i32
        %at1 = arith.addi %first, %n1 : i32
        %row1 = arith.addi %start, %c32 : i32
        %vt1 = ttg.memdesc_index %v[%at1] : !ttg.memdesc<8x32x128xbf16, #tile, #smem, mutable> -> !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>
        ttng.async_tma_copy_global_to_local %v_desc[%row1, %c0] %vt1, %vf, %true : !vdesc, !bar -> !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>
        %n2 = arith.constant 2 : i32
        %at2 = arith.addi %first, %n2 : i32
        %row2 = arith.addi %start, %c64 : i32
        %vt2 = ttg.memdesc_index %v[%at2] : !ttg.memdesc<8x32x128xbf16, #tile, #smem, mutable> -> !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>
        ttng.async_tma_copy_global_to_local %v_desc[%row2, %c0] %vt2, %vf, %true : !vdesc, !bar -> !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>
        %n3 = arith.constant 3 : i32
        %at3 = arith.addi %first, %n3 : i32
        %row3 = arith.addi %start, %c96 : i32
        %vt3 = ttg.memdesc_index %v[%at3] : !ttg.memdesc<8x32x128xbf16, #tile, #smem, mutable> -> !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>
        ttng.async_tma_copy_global_to_local %v_desc[%row3, %c0] %vt3, %vf, %true : !vdesc, !bar -> !ttg.memdesc<32x128xbf16, #tile, #smem, mutable>
      }
      ttg.warp_return
    } : (!ttg.memdesc<2x128x128xbf16, #tile, #smem, mutable>, !ttg.memdesc<2x128x128xbf16, #tile, #smem, mutable>, !ttg.memdesc<8x32x128xbf16, #tile, #smem, mutable>, !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable>, !ttg.memdesc<8x128x32xbf16, #tmem32, #ttng.tensor_memory, mutable>, !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>, !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>, !ttg.memdesc<2x128x1xf32, #tmem1, #ttng.tensor_memory, mutable>, !ttg.memdesc<2x128x128xf32, #tmem128, #ttng.tensor_memory, mutable>, !bars, !bars, !bars, !bars, !bars, !bars, !bars, !bars, !bars, !bars, !bars, !bars, !desc, !desc, !vdesc, i32, f32) -> ()
    tt.return
  }
}
