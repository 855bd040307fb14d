#g = #tile.space<global>
#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>
func.func @gemm_kernel(%A: !nv.tensormap, %B: !nv.tensormap, %C: memref<?xf16, #g>, %K: i32, %N: i32) attributes {simt.kernel, simt.threads = 256 : i64, simt.shared_bytes = 65600 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c4096 = arith.constant 4096 : index
  %c8192 = arith.constant 8192 : index
  %A_shared = tile.alloc "A_shared" offset 0 : memref<16384xf16, #s>
  %B_shared = tile.alloc "B_shared" offset 32768 : memref<16384xf16, #s>
  %full = tile.alloc "full" init [1, 1] offset 65536 : memref<2x!nv.mbarrier, #b>
  %empty = tile.alloc "empty" init [128, 128] offset 65552 : memref<2x!nv.mbarrier, #b>
  %tid = gpu.thread_id x
  %bx = gpu.block_id x
  %first = arith.cmpi eq, %tid, %c0 : index
  scf.if %first {
    nv.mbarrier.init %full[%c0], 1 : memref<2x!nv.mbarrier, #b>
    nv.mbarrier.init %full[%c1], 1 : memref<2x!nv.mbarrier, #b>
    nv.mbarrier.init %empty[%c0], 128 : memref<2x!nv.mbarrier, #b>
    nv.mbarrier.init %empty[%c1], 128 : memref<2x!nv.mbarrier, #b>
    nv.fence_barrier_init
  }
  gpu.barrier
  tile.ws
  role "producer" threads(0 to 128) {
    nv.setmaxnreg dec 24
    %leader = arith.cmpi eq, %tid, %c0 : index
    scf.if %leader {
      scf.for %k = %c0 to %c16 step %c1 {
        %s = arith.remui %k, %c2 : index
        %q = arith.divui %k, %c2 : index
        %p = arith.remui %q, %c2 : index
        %p1 = arith.xori %p, %c1 : index
        nv.mbarrier.wait %empty[%s], %p1 : memref<2x!nv.mbarrier, #b>, index
        nv.mbarrier.arrive_expect_tx %full[%s], 32768 : memref<2x!nv.mbarrier, #b>
        %kk = arith.muli %k, %c64 : index
        %o = arith.muli %s, %c8192 : index
        %row = arith.muli %bx, %c128 : index
        nv.tma_load %A[%row, %kk] -> %A_shared[%o] barrier %full[%s] : memref<16384xf16, #s>, memref<2x!nv.mbarrier, #b>
        nv.tma_load %B[%kk, %c0] -> %B_shared[%o] barrier %full[%s] : memref<16384xf16, #s>, memref<2x!nv.mbarrier, #b>
      }
    }
  }
  role "consumer" threads(128 to 256) {
    nv.setmaxnreg inc 240
    %acc = tile.alloc "C_local" : memref<64xf32, #l>
    %cst = arith.constant 0.0 : f32
    scf.for %r = %c0 to %c64 step %c1 {
      memref.store %cst, %acc[%r] : memref<64xf32, #l>
    } {tile.unroll}
    scf.for %k = %c0 to %c16 step %c1 {
        %s = arith.remui %k, %c2 : index
        %q = arith.divui %k, %c2 : index
        %p = arith.remui %q, %c2 : index
        nv.mbarrier.wait %full[%s], %p : memref<2x!nv.mbarrier, #b>, index
        %o = arith.muli %s, %c8192 : index
        nv.wgmma.fence
        scf.for %kk = %c0 to %c64 step %c16 {
          %oa = arith.addi %o, %kk : index
          %da = nv.matrix %A_shared[%oa] swizzle(128) leading(16) stride(1024) : memref<16384xf16, #s>
          %db = nv.matrix %B_shared[%oa] swizzle(128) leading(4096) stride(1024) : memref<16384xf16, #s>
          nv.wgmma %da, %db -> %acc[%c0] shape [64, 128, 16] types(f16, f16) {transposed_b} : i64 -> memref<64xf32, #l>
        } {tile.unroll}
        nv.wgmma.commit
        nv.wgmma.wait 0
        nv.mbarrier.arrive %empty[%s] : memref<2x!nv.mbarrier, #b>
    }
    %h = tile.alloc "C_half" : memref<64xf16, #l>
    scf.for %r = %c0 to %c64 step %c2 {
      simt.convert %acc[%r] -> %h[%r] lanes(2) : memref<64xf32, #l>, memref<64xf16, #l>
      %x = arith.muli %tid, %c64 : index
      %y = arith.addi %x, %r : index
      simt.move %h[%r] -> %C[%y] lanes(2) : memref<64xf16, #l>, memref<?xf16, #g>
    } {tile.unroll}
  }
  func.return
}
