// One step of flash-attention backward, with pairs of CTAs working on dQ together.
//
// Scores are dead once P has been made of them, so P and dQ lie where the scores were:
// shared(qk, distinct(p, shared(dq, dq_view))). dQ is 64 x 128 in each CTA of a pair; as the right
// operand's halves (twocta_rhs) it takes 64 columns, not 128, which is why it fits beside P. The
// correction reads it through dq_view, 128 x 64, over the same columns.
#row64 = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#row128 = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#tile_t = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#wide = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#half = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#pair = #ttng.tensor_memory_encoding<blockM = 64, blockN = 128, colStride = 1, ctaMode = twocta_rhs>
!spec = !tlx.storage_alias_spec<tmem>
!qk = !ttg.memdesc<1x128x128xf32, #wide, #ttng.tensor_memory, mutable>
!p = !ttg.memdesc<1x128x128xbf16, #wide, #ttng.tensor_memory, mutable>
!dq = !ttg.memdesc<1x64x128xf32, #pair, #ttng.tensor_memory, mutable>
!view = !ttg.memdesc<1x128x64xf32, #half, #ttng.tensor_memory, mutable>
!qk1 = !ttg.memdesc<128x128xf32, #wide, #ttng.tensor_memory, mutable>
!p1 = !ttg.memdesc<128x128xbf16, #wide, #ttng.tensor_memory, mutable>
!dq1 = !ttg.memdesc<64x128xf32, #pair, #ttng.tensor_memory, mutable>
!view1 = !ttg.memdesc<128x64xf32, #half, #ttng.tensor_memory, mutable>
!k = !ttg.memdesc<128x128xbf16, #tile, #smem, mutable>
!q = !ttg.memdesc<128x128xbf16, #tile_t, #smem, mutable>
!ds = !ttg.memdesc<64x128xbf16, #tile, #smem, mutable>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @fa_backward(%k: !k, %q: !q, %ds: !ds, %dst: tensor<128x64x!tt.ptr<f32>, #row64>) {
    %true = arith.constant true
    %false = arith.constant false
    %c0 = arith.constant 0 : i32
    %region = tlx.storage_alias_spec storage = tmem : !spec
    %qk = tlx.storage_alias_local_alloc %region : !spec -> !qk
    %p = tlx.storage_alias_local_alloc %region : !spec -> !p
    %dq = tlx.storage_alias_local_alloc %region : !spec -> !dq
    %dq_view = tlx.storage_alias_local_alloc %region : !spec -> !view
    %both = tlx.reuse_group(%dq, %dq_view) group_kind = shared : (!dq, !view) -> !tlx.reuse_group<shared>
    %made = tlx.reuse_group(%p, %both) group_kind = distinct : (!p, !tlx.reuse_group<shared>) -> !tlx.reuse_group<distinct>
    %tree = tlx.reuse_group(%qk, %made) group_kind = shared : (!qk, !tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%region, %tree) : (!spec, !tlx.reuse_group<shared>) -> ()
    %scores = ttg.memdesc_index %qk[%c0] : !qk -> !qk1
    ttng.tc_gen5_mma %k, %q, %scores, %false, %true {two_ctas} : !k, !q, !qk1
    %x = ttng.tmem_load %scores : !qk1 -> tensor<128x128xf32, #row128>
    %e = math.exp2 %x : tensor<128x128xf32, #row128>
    %w = arith.truncf %e : tensor<128x128xf32, #row128> to tensor<128x128xbf16, #row128>
    %weights = ttg.memdesc_index %p[%c0] : !p -> !p1
    ttng.tmem_store %w, %weights, %true : tensor<128x128xbf16, #row128> -> !p1
    %sums = ttg.memdesc_index %dq[%c0] : !dq -> !dq1
    ttng.tc_gen5_mma %ds, %k, %sums, %false, %true {two_ctas} : !ds, !k, !dq1
    %view = ttg.memdesc_index %dq_view[%c0] : !view -> !view1
    %y = ttng.tmem_load %view : !view1 -> tensor<128x64xf32, #row64>
    tt.store %dst, %y : tensor<128x64x!tt.ptr<f32>, #row64>
    tt.return
  }
}
