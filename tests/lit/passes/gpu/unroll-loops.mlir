// RUN: tilewright-opt -unroll-loops %s 2>/dev/null | filecheck %s
// RUN: tilewright-opt -unroll-loops -verify-diagnostics %s

#l = #tile.space<local>
#g = #tile.space<global>

// The variable, and what is computed from it, counts registers.
// CHECK-LABEL: func.func @registers
// CHECK:         } {tile.unroll}
// CHECK:         } {tile.unroll}
func.func @registers(%x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %L = tile.alloc "L" : memref<24xf32, #l>
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %x, %L[%i] : memref<24xf32, #l>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %j = arith.muli %i, %c2 : index
    memref.store %x, %L[%j] : memref<24xf32, #l>
  }
  func.return
}

// Nothing to gain: global memory has addresses, the bound is not known, the author chose a factor,
// another loop counts the register.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT:     tile.unroll}
// CHECK:         {tile.unroll_factor = 2 : i64}
// CHECK-NOT:     tile.unroll}
// CHECK:         func.return
func.func @left_alone(%A: memref<64xf32, #g>, %n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %L = tile.alloc "L" : memref<8xf32, #l>
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %x, %A[%i] : memref<64xf32, #g>
    memref.store %x, %L[%c1] : memref<8xf32, #l>
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %x, %L[%i] : memref<8xf32, #l>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %x, %L[%i] : memref<8xf32, #l>
  } {tile.unroll_factor = 2 : i64}
  func.return
}

// Loads of a short loop overlap once it is unrolled; not those of a long one, nor across a barrier.
// CHECK-LABEL: func.func @loads
// CHECK:         memref.load
// CHECK:         } {tile.unroll}
// CHECK:         memref.load
// CHECK-NOT:     tile.unroll}
// CHECK:         func.return
func.func @loads(%A: memref<64xf32, #g>, %B: memref<64xf32, #g>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %A[%i] : memref<64xf32, #g>
    memref.store %v, %B[%i] : memref<64xf32, #g>
  }
  scf.for %i = %c0 to %c64 step %c1 {
    %v = memref.load %A[%i] : memref<64xf32, #g>
    memref.store %v, %B[%i] : memref<64xf32, #g>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %A[%i] : memref<64xf32, #g>
    gpu.barrier
    memref.store %v, %B[%i] : memref<64xf32, #g>
  }
  func.return
}

// 100,000 turns of two ops, the end of a turn included; then 1,000 times 50 turns.
// CHECK-LABEL: func.func @without_end
// CHECK:         {tile.unroll_factor = 4096 : i64}
// CHECK:           } {tile.unroll}
// CHECK:         } {tile.unroll_factor = 32 : i64}
func.func @without_end(%A: memref<100000xf32, #g>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c50 = arith.constant 50 : index
  %c1000 = arith.constant 1000 : index
  %c100000 = arith.constant 100000 : index
  // expected-remark @+1 {{loop not fully unrolled: unroll factor 4096 used for trip count 100000; full unrolling would give 200000 operations}}
  scf.for %i = %c0 to %c100000 step %c1 {
    memref.store %x, %A[%i] : memref<100000xf32, #g>
  } {tile.unroll}
  // expected-remark @+1 {{loop not fully unrolled: unroll factor 32 used for trip count 1000}}
  scf.for %i = %c0 to %c1000 step %c1 {
    scf.for %j = %c0 to %c50 step %c1 {
      memref.store %x, %A[%j] : memref<100000xf32, #g>
    } {tile.unroll}
  } {tile.unroll}
  func.return
}

// Threads wait in it: an eighth of that.
// CHECK-LABEL: func.func @waits
// CHECK:         } {tile.unroll_factor = 256 : i64}
func.func @waits(%A: memref<10000xf32, #g>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10000 = arith.constant 10000 : index
  // expected-remark @+1 {{loop not fully unrolled: unroll factor 256 used for trip count 10000}}
  scf.for %i = %c0 to %c10000 step %c1 {
    gpu.barrier
    memref.store %x, %A[%i] : memref<10000xf32, #g>
  } {tile.unroll}
  func.return
}

// A factor would put the array into memory.
// CHECK-LABEL: func.func @many_registers
// CHECK:         } {tile.unroll}
func.func @many_registers(%x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10000 = arith.constant 10000 : index
  %L = tile.alloc "L" : memref<10000xf32, #l>
  scf.for %i = %c0 to %c10000 step %c1 {
    memref.store %x, %L[%i] : memref<10000xf32, #l>
  } {tile.unroll}
  func.return
}

#s = #tile.space<shared>

// A loop of MMAs stays a loop, whatever its trip count; one that the user marked does not.

// CHECK-LABEL: func.func @mmas
// CHECK:         } {tile.unroll_factor = 1 : i64}
// CHECK:         } {tile.unroll_factor = 1 : i64}
// CHECK:         } {tile.unroll}
func.func @mmas(%acc: memref<64xf32, #l>, %n: index) {
  %S = tile.alloc "S" offset 0 : memref<8192xf16, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %k = %c0 to %n step %c1 {
    %d = nv.matrix %S[%k] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  }
  scf.for %k = %c0 to %c4 step %c1 {
    %d = nv.matrix %S[%k] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  }
  scf.for %k = %c0 to %c4 step %c1 {
    %d = nv.matrix %S[%k] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  } {tile.unroll}
  func.return
}

// Copies from addresses that are loaded: the loads of all iterations come first, barriers or not.

// CHECK-LABEL: func.func @gather
// CHECK:         gpu.barrier
// CHECK:         nv.async_move
// CHECK:         } {tile.unroll}
func.func @gather(%I: memref<64xi32, #g>, %A: memref<64x8xf16, #g>) {
  %S = tile.alloc "S" offset 0 : memref<64xf16, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.for %r = %c0 to %c4 step %c1 {
    %i = memref.load %I[%r] : memref<64xi32, #g>
    %row = arith.index_cast %i : i32 to index
    gpu.barrier
    %to = arith.muli %r, %c8 : index
    nv.async_move %A[%row, %c0] -> %S[%to] lanes(8) : memref<64x8xf16, #g>, memref<64xf16, #s>
  }
  func.return
}

// A loop that computes, or is not short, stays as it is.

// CHECK-LABEL: func.func @no_gather
// CHECK-NOT:     tile.unroll
func.func @no_gather(%I: memref<64xi32, #g>, %A: memref<64x8xf16, #g>, %B: memref<2x!nv.mbarrier, #tile.space<barrier>>) {
  %S = tile.alloc "S" offset 0 : memref<512xf16, #s>
  %c0 = arith.constant 0 : index
  %c0_i32 = arith.constant 0 : i32
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  scf.for %r = %c0 to %c64 step %c1 {
    %i = memref.load %I[%r] : memref<64xi32, #g>
    %row = arith.index_cast %i : i32 to index
    gpu.barrier
    %to = arith.muli %r, %c8 : index
    nv.async_move %A[%row, %c0] -> %S[%to] lanes(8) : memref<64x8xf16, #g>, memref<512xf16, #s>
  }
  scf.for %r = %c0 to %c4 step %c1 {
    nv.mbarrier.wait %B[%c0], %c0_i32 : memref<2x!nv.mbarrier, #tile.space<barrier>>, i32
    %i = memref.load %I[%r] : memref<64xi32, #g>
    %row = arith.index_cast %i : i32 to index
    %to = arith.muli %r, %c8 : index
    nv.async_move %A[%row, %c0] -> %S[%to] lanes(8) : memref<64x8xf16, #g>, memref<512xf16, #s>
  }
  func.return
}

// A long loop that reads a few bytes of tensors: the loads of eight iterations overlap.

// CHECK-LABEL: func.func @stream
// CHECK:         simt.move
// CHECK:         } {tile.unroll}
// CHECK:         } {tile.unroll_factor = 8 : i64}
// One that writes memory, one with many bytes, and one that eight does not divide.
// CHECK-NOT:     tile.unroll_factor
func.func @stream(%A: memref<4096xf16, #g>, %O: memref<4096xf16, #g>) {
  %L = tile.alloc "L" : memref<32xf16, #l>
  %sum = tile.alloc "sum" : memref<1xf16, #l>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c20 = arith.constant 20 : index
  %c32 = arith.constant 32 : index
  scf.for %k = %c0 to %c32 step %c1 {
    %at = arith.muli %k, %c8 : index
    simt.move %A[%at] -> %L[%c0] lanes(8) : memref<4096xf16, #g>, memref<32xf16, #l>
    scf.for %i = %c0 to %c8 step %c1 {
      %x = memref.load %L[%i] : memref<32xf16, #l>
      %s = memref.load %sum[%c0] : memref<1xf16, #l>
      %t = arith.addf %s, %x : f16
      memref.store %t, %sum[%c0] : memref<1xf16, #l>
    }
  }
  scf.for %k = %c0 to %c32 step %c1 {
    %at = arith.muli %k, %c8 : index
    simt.move %A[%at] -> %L[%c0] lanes(8) : memref<4096xf16, #g>, memref<32xf16, #l>
    %x = memref.load %L[%c0] : memref<32xf16, #l>
    memref.store %x, %O[%k] : memref<4096xf16, #g>
  }
  scf.for %k = %c0 to %c32 step %c1 {
    %at = arith.muli %k, %c32 : index
    simt.move %A[%at] -> %L[%c0] lanes(8) : memref<4096xf16, #g>, memref<32xf16, #l>
    simt.move %A[%at] -> %L[%c8] lanes(8) : memref<4096xf16, #g>, memref<32xf16, #l>
    simt.move %A[%at] -> %L[%c20] lanes(8) : memref<4096xf16, #g>, memref<32xf16, #l>
  }
  scf.for %k = %c0 to %c20 step %c1 {
    %at = arith.muli %k, %c8 : index
    simt.move %A[%at] -> %L[%c0] lanes(8) : memref<4096xf16, #g>, memref<32xf16, #l>
  }
  func.return
}
