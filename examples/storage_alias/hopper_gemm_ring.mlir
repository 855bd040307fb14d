// A Hopper GEMM whose output tile is staged in the memory of the ring it has drained.
//
// A ring of four stages feeds the matrix instructions: A and B lie side by side in every stage. When
// the last stage has been used, nothing in the ring is needed any more, and C (64 KiB) takes its
// place: 128 KiB in all instead of 192. The four stages are sub-tiles of the one logical buffer that
// C is: shared(shared(distinct(A, B), group_size=4), C).
#a = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#c = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 32}>
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<4x128x64xf16, #a, #smem, mutable>
!b = !ttg.memdesc<4x64x128xf16, #a, #smem, mutable>
!c = !ttg.memdesc<1x128x128xf32, #c, #smem, mutable>
!at = !ttg.memdesc<128x64xf16, #a, #smem, mutable>
!bt = !ttg.memdesc<64x128xf16, #a, #smem, mutable>
!ct = !ttg.memdesc<128x128xf32, #c, #smem, mutable>
!bars = !ttg.memdesc<4x1xi64, #flat, #smem, mutable>
!bar = !ttg.memdesc<1xi64, #flat, #smem, mutable>
!adesc = !tt.tensordesc<128x64xf16, #a>
!bdesc = !tt.tensordesc<64x128xf16, #a>
!cdesc = !tt.tensordesc<128x128xf32, #c>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @gemm(%a_desc: !adesc, %b_desc: !bdesc, %c_desc: !cdesc, %steps: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %c4 = arith.constant 4 : i32
    %c128 = arith.constant 128 : i32
    %ring = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %ring : !spec -> !a
    %b = tlx.storage_alias_local_alloc %ring : !spec -> !b
    %c = tlx.storage_alias_local_alloc %ring : !spec -> !c
    %stage_parts = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !b) -> !tlx.reuse_group<distinct>
    %stages = tlx.reuse_group(%stage_parts) group_kind = shared, group_size = 4 : (!tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>
    %tree = tlx.reuse_group(%stages, %c) group_kind = shared : (!tlx.reuse_group<shared>, !c) -> !tlx.reuse_group<shared>
    tlx.set_buffer_overlap(%ring, %tree) : (!spec, !tlx.reuse_group<shared>) -> ()
    %full = ttg.local_alloc : () -> !bars
    %empty = ttg.local_alloc : () -> !bars
    scf.for %i = %c0 to %c4 step %c1 : i32 {
      %f = ttg.memdesc_index %full[%i] : !bars -> !bar
      ttng.init_barrier %f, 1 : !bar
      %e = ttg.memdesc_index %empty[%i] : !bars -> !bar
      ttng.init_barrier %e, 1 : !bar
    }
    ttg.barrier local
    ttg.warp_specialize(%a_desc, %b_desc, %steps, %a, %b, %full, %empty) attributes {requestedRegisters = array<i32: 24>}
    default {
      %zero = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #mma>
      %sum = scf.for %k = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32, #mma>) : i32 {
        %stage = arith.remui %k, %c4 : i32
        %round = arith.divui %k, %c4 : i32
        %phase = arith.remui %round, %c2 : i32
        %f = ttg.memdesc_index %full[%stage] : !bars -> !bar
        ttng.wait_barrier %f, %phase : !bar
        %at = ttg.memdesc_index %a[%stage] : !a -> !at
        %bt = ttg.memdesc_index %b[%stage] : !b -> !bt
        %next = ttng.warp_group_dot %at, %bt, %acc {inputPrecision = 0 : i32} : !at * !bt -> tensor<128x128xf32, #mma>
        %e = ttg.memdesc_index %empty[%stage] : !bars -> !bar
        ttng.arrive_barrier %e, 1 : !bar
        scf.yield %next : tensor<128x128xf32, #mma>
      }
      %ct = ttg.memdesc_index %c[%c0] : !c -> !ct
      ttg.local_store %sum, %ct : tensor<128x128xf32, #mma> -> !ct
      ttng.fence_async_shared {bCluster = false}
      %m = tt.get_program_id x : i32
      %n = tt.get_program_id y : i32
      %row = arith.muli %m, %c128 : i32
      %column = arith.muli %n, %c128 : i32
      ttng.async_tma_copy_local_to_global %c_desc[%row, %column] %ct : !cdesc, !ct
      ttng.async_tma_store_wait {pendings = 0 : i32}
      ttg.warp_yield
    }
    partition0(%pa_desc: !adesc, %pb_desc: !bdesc, %psteps: i32, %pa: !a, %pb: !b, %pfull: !bars, %pempty: !bars) num_warps(4) {
      %true = arith.constant true
      %p0 = arith.constant 0 : i32
      %p1 = arith.constant 1 : i32
      %p2 = arith.constant 2 : i32
      %p4 = arith.constant 4 : i32
      %p64 = arith.constant 64 : i32
      %p128 = arith.constant 128 : i32
      %m = tt.get_program_id x : i32
      %n = tt.get_program_id y : i32
      %row = arith.muli %m, %p128 : i32
      %column = arith.muli %n, %p128 : i32
      scf.for %k = %p0 to %psteps step %p1 : i32 {
        %stage = arith.remui %k, %p4 : i32
        %round = arith.divui %k, %p4 : i32
        %turn = arith.remui %round, %p2 : i32
        %before = arith.xori %turn, %p1 : i32
        %e = ttg.memdesc_index %pempty[%stage] : !bars -> !bar
        ttng.wait_barrier %e, %before : !bar
        %f = ttg.memdesc_index %pfull[%stage] : !bars -> !bar
        ttng.barrier_expect %f, 32768, %true : !bar
        %depth = arith.muli %k, %p64 : i32
        %at = ttg.memdesc_index %pa[%stage] : !a -> !at
        ttng.async_tma_copy_global_to_local %pa_desc[%row, %depth] %at, %f, %true : !adesc, !bar -> !at
        %bt = ttg.memdesc_index %pb[%stage] : !b -> !bt
        ttng.async_tma_copy_global_to_local %pb_desc[%depth, %column] %bt, %f, %true : !bdesc, !bar -> !bt
      }
      ttg.warp_return
    } : (!adesc, !bdesc, i32, !a, !b, !bars, !bars) -> ()
    tt.return
  }
}
