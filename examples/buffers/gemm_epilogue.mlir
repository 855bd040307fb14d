// A Hopper GEMM with a ring of three stages and a result that leaves through shared memory.
//
//     tilewright memory --merge examples/buffers/gemm_epilogue.mlir
//     tilewright-opt --merge-shared-memory="report=true" examples/buffers/gemm_epilogue.mlir

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared2 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!ring = !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
!tile = !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
!turned = !ttg.memdesc<64x128xf16, #shared2, #smem, mutable>
!bars = !ttg.memdesc<3x1xi64, #shared1, #smem, mutable>
!bar = !ttg.memdesc<1xi64, #shared1, #smem, mutable>
!in = !tt.tensordesc<128x64xf16, #shared>
!out = !tt.tensordesc<128x128xf16, #shared>
!c = !ttg.memdesc<128x128xf16, #shared, #smem>
!acc = tensor<128x128xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @gemm(%a: !in, %b: !in, %c: !out, %K: i32 {tt.divisibility = 16 : i32}) {
    %zero = arith.constant dense<0.000000e+00> : !acc
    %c64 = arith.constant 64 : i32
    %c0 = arith.constant 0 : i32
    %c128 = arith.constant 128 : i32
    %minus1 = arith.constant -1 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %pid_m = tt.get_program_id x : i32
    %row = arith.muli %pid_m, %c128 : i32
    %pid_n = tt.get_program_id y : i32
    %col = arith.muli %pid_n, %c128 : i32
    // Three stages of both operands: in use until the last product is done.
    %a_ring = ttg.local_alloc : () -> !ring
    %b_ring = ttg.local_alloc : () -> !ring
    %full = ttg.local_alloc : () -> !bars
    %full0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
    ttng.init_barrier %full0, 1 : !bar
    %full1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
    ttng.init_barrier %full1, 1 : !bar
    %full2 = ttg.memdesc_index %full[%c2] : !bars -> !bar
    ttng.init_barrier %full2, 1 : !bar
    %some = arith.cmpi sgt, %K, %c0 : i32
    ttng.barrier_expect %full0, 32768, %some : !bar
    %a0 = ttg.memdesc_index %a_ring[%c0] : !ring -> !tile
    ttng.async_tma_copy_global_to_local %a[%row, %c0] %a0, %full0, %some : !in, !bar -> !tile
    %b0 = ttg.memdesc_index %b_ring[%c0] : !ring -> !tile
    ttng.async_tma_copy_global_to_local %b[%col, %c0] %b0, %full0, %some : !in, !bar -> !tile
    %more = arith.cmpi sgt, %K, %c64 : i32
    ttng.barrier_expect %full1, 32768, %more : !bar
    %a1 = ttg.memdesc_index %a_ring[%c1] : !ring -> !tile
    ttng.async_tma_copy_global_to_local %a[%row, %c64] %a1, %full1, %more : !in, !bar -> !tile
    %b1 = ttg.memdesc_index %b_ring[%c1] : !ring -> !tile
    ttng.async_tma_copy_global_to_local %b[%col, %c64] %b1, %full1, %more : !in, !bar -> !tile
    %loop:4 = scf.for %k = %c0 to %K step %c64 iter_args(%sum = %zero, %put = %c1, %get = %minus1, %phase = %c0) -> (!acc, i32, i32, i32)  : i32 {
      %last = arith.subi %K, %c128 : i32
      %fetch = arith.cmpi slt, %k, %last : i32
      %next = arith.addi %get, %c1 : i32
      %wraps = arith.cmpi sge, %next, %c3 : i32
      %slot = arith.select %wraps, %c0, %next : i32
      %flipped = arith.xori %phase, %c1 : i32
      %parity = arith.select %wraps, %flipped, %phase : i32
      %ready = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %ready, %parity : !bar
      %bk = ttg.memdesc_index %b_ring[%slot] : !ring -> !tile
      %bt = ttg.memdesc_trans %bk {order = array<i32: 1, 0>} : !tile -> !turned
      %ak = ttg.memdesc_index %a_ring[%slot] : !ring -> !tile
      %dot = ttng.warp_group_dot %ak, %bt, %sum {inputPrecision = 0 : i32, isAsync = true} : !tile * !turned -> !acc
      %done:3 = ttng.warp_group_dot_wait %dot, %ak, %bt {pendings = 1 : i32} : !acc, !tile, !turned
      %ahead = arith.addi %put, %c1 : i32
      %turns = arith.cmpi sge, %ahead, %c3 : i32
      %free = arith.select %turns, %c0, %ahead : i32
      %coming = ttg.memdesc_index %full[%free] : !bars -> !bar
      ttng.barrier_expect %coming, 32768, %fetch : !bar
      %an = ttg.memdesc_index %a_ring[%free] : !ring -> !tile
      %kn = arith.addi %k, %c128 : i32
      ttng.async_tma_copy_global_to_local %a[%row, %kn] %an, %coming, %fetch : !in, !bar -> !tile
      %bn = ttg.memdesc_index %b_ring[%free] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %b[%col, %kn] %bn, %coming, %fetch : !in, !bar -> !tile
      scf.yield %done#0, %free, %slot, %parity : !acc, i32, i32, i32
    }
    %product = ttng.warp_group_dot_wait %loop#0 {pendings = 0 : i32} : !acc
    ttng.inval_barrier %full0 : !bar
    ttng.inval_barrier %full1 : !bar
    ttng.inval_barrier %full2 : !bar
    ttg.local_dealloc %full : !bars
    ttg.local_dealloc %b_ring : !ring
    ttg.local_dealloc %a_ring : !ring
    // From here on nobody needs the rings: the result can have their bytes on its way out.
    %half = arith.truncf %product : !acc to tensor<128x128xf16, #mma>
    %c_tile = ttg.local_alloc %half : (tensor<128x128xf16, #mma>) -> !c
    ttng.fence_async_shared {bCluster = false}
    ttng.async_tma_copy_local_to_global %c[%row, %col] %c_tile : !out, !c
    ttng.async_tma_store_wait {pendings = 0 : i32}
    tt.return
  }
}
