// Flash-attention backward with MXFP8 operands: all 512 columns of tensor memory as one region.
//
// Block-scaled matrix instructions read their scale factors from tensor memory too, and every operand
// brings some (128 x 4 bytes, 4 columns). Four parts of 128 columns; in three of them an accumulator
// is large and short-lived, and what is needed at other times lies over it:
//
//   part 1   qk   over it P (fp8) and the scales of the products that follow
//   part 2   dv
//   part 3   dp   over it dQ, and dS (fp8) with its scales
//   part 4   dk   over it the scales of the prologue, dead before dk is first written
#wide = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#scales = #ttng.tensor_memory_scales_encoding<>
!spec = !tlx.storage_alias_spec<tmem>
!wide = !ttg.memdesc<1x128x128xf32, #wide, #ttng.tensor_memory, mutable>
!tile = !ttg.memdesc<1x128x128xf8E4M3FN, #wide, #ttng.tensor_memory, mutable>
!scales = !ttg.memdesc<1x128x4xi8, #scales, #ttng.tensor_memory, mutable>
!scales1 = !ttg.memdesc<128x4xi8, #scales, #ttng.tensor_memory, mutable>
!wide1 = !ttg.memdesc<128x128xf32, #wide, #ttng.tensor_memory, mutable>
!tile1 = !ttg.memdesc<128x128xf8E4M3FN, #wide, #ttng.tensor_memory, mutable>
#shared_t = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 8}>
#smem = #ttg.shared_memory
!do = !ttg.memdesc<128x128xf8E4M3FN, #shared_t, #smem, mutable>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @mxfp8_backward(%do: !do) {
    %true = arith.constant true
    %c0 = arith.constant 0 : i32
    %region = tlx.storage_alias_spec storage = tmem : !spec
    %qk = tlx.storage_alias_local_alloc %region : !spec -> !wide
    %p = tlx.storage_alias_local_alloc %region : !spec -> !tile
    %late0 = tlx.storage_alias_local_alloc %region : !spec -> !scales
    %late1 = tlx.storage_alias_local_alloc %region : !spec -> !scales
    %late2 = tlx.storage_alias_local_alloc %region : !spec -> !scales
    %late3 = tlx.storage_alias_local_alloc %region : !spec -> !scales
    %late4 = tlx.storage_alias_local_alloc %region : !spec -> !scales
    %late5 = tlx.storage_alias_local_alloc %region : !spec -> !scales
    %dv = tlx.storage_alias_local_alloc %region : !spec -> !wide
    %dp = tlx.storage_alias_local_alloc %region : !spec -> !wide
    %dq = tlx.storage_alias_local_alloc %region : !spec -> !wide
    %ds = tlx.storage_alias_local_alloc %region : !spec -> !tile
    %ds_scale0 = tlx.storage_alias_local_alloc %region : !spec -> !scales
    %ds_scale1 = tlx.storage_alias_local_alloc %region : !spec -> !scales
    %ds_scale2 = tlx.storage_alias_local_alloc %region : !spec -> !scales
    %ds_scale3 = tlx.storage_alias_local_alloc %region : !spec -> !scales
    %dk = tlx.storage_alias_local_alloc %region : !spec -> !wide
    %early0 = tlx.storage_alias_local_alloc %region : !spec -> !scales
    %early1 = tlx.storage_alias_local_alloc %region : !spec -> !scales
    %early2 = tlx.storage_alias_local_alloc %region : !spec -> !scales
    %early3 = tlx.storage_alias_local_alloc %region : !spec -> !scales
    %early4 = tlx.storage_alias_local_alloc %region : !spec -> !scales
    %early5 = tlx.storage_alias_local_alloc %region : !spec -> !scales
    %after_qk = tlx.reuse_group(%p, %late0, %late1, %late2, %late3, %late4, %late5) group_kind = distinct : (!tile, !scales, !scales, !scales, !scales, !scales, !scales) -> !tlx.reuse_group<distinct>
    %part1 = tlx.reuse_group(%qk, %after_qk) group_kind = shared : (!wide, !tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    %after_dp = tlx.reuse_group(%ds, %ds_scale0, %ds_scale1, %ds_scale2, %ds_scale3) group_kind = distinct : (!tile, !scales, !scales, !scales, !scales) -> !tlx.reuse_group<distinct>
    %part3 = tlx.reuse_group(%dp, %dq, %after_dp) group_kind = shared : (!wide, !wide, !tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    %before_dk = tlx.reuse_group(%early0, %early1, %early2, %early3, %early4, %early5) group_kind = distinct : (!scales, !scales, !scales, !scales, !scales, !scales) -> !tlx.reuse_group<distinct>
    %part4 = tlx.reuse_group(%dk, %before_dk) group_kind = shared : (!wide, !tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    %map = tlx.reuse_group(%part1, %dv, %part3, %part4) group_kind = distinct : (!tlx.reuse_group<shared>, !wide, !tlx.reuse_group<shared>, !tlx.reuse_group<shared>) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%region, %map) : (!spec, !tlx.reuse_group<distinct>) -> ()
    %weights = ttg.memdesc_index %p[%c0] : !tile -> !tile1
    %weight_scales = ttg.memdesc_index %late0[%c0] : !scales -> !scales1
    %do_scales = ttg.memdesc_index %late1[%c0] : !scales -> !scales1
    %sums = ttg.memdesc_index %dv[%c0] : !wide -> !wide1
    ttng.tc_gen5_mma_scaled %weights, %do, %sums, %weight_scales, %do_scales, %true, %true lhs = e4m3 rhs = e4m3 : !tile1, !do, !wide1, !scales1, !scales1
    %last = ttg.memdesc_index %early5[%c0] : !scales -> !scales1
    ttng.tc_gen5_mma_scaled %weights, %do, %sums, %last, %do_scales, %true, %true lhs = e4m3 rhs = e4m3 : !tile1, !do, !wide1, !scales1, !scales1
    tt.return
  }
}
