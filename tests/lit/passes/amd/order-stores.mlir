// RUN: tilewright-opt %s --order-stores | filecheck %s

#global = #tile.space<global>
#shared = #tile.space<shared>
#local = #tile.space<local>

// CHECK: scf.for
// CHECK: simt.move %{{.*}} -> %staged
// CHECK: amd.mfma
// CHECK: amd.sched_barrier 0
// CHECK-NEXT: simt.move %staged
// A loop that writes nothing after its matrix instructions stays as it is.
// CHECK: scf.for
// CHECK-NOT: amd.sched_barrier
func.func @kernel(%A: memref<4096xf16, #global>) attributes {simt.kernel, simt.threads = 64 : i64, simt.shared_bytes = 4096 : i64, tile.target = #tile.target<hip, gfx942>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %s = tile.alloc "s" offset 0 : memref<2048xf16, #shared>
  %staged = tile.alloc "staged" : memref<8xf16, #local>
  %f = tile.alloc "f" : memref<8xf16, #local>
  %c = tile.alloc "c" : memref<16xf32, #local>
  scf.for %k = %c0 to %c8 step %c1 {
    simt.move %A[%k] -> %staged[%c0] lanes(8) : memref<4096xf16, #global>, memref<8xf16, #local>
    gpu.barrier
    scf.for %i = %c0 to %c4 step %c1 {
      simt.move %s[%i] -> %f[%c0] lanes(8) : memref<2048xf16, #shared>, memref<8xf16, #local>
      scf.for %j = %c0 to %c2 step %c1 {
        amd.mfma %f[%c0], %f[%c4] -> %c[%c0] shape [32, 32, 8] : memref<8xf16, #local>, memref<8xf16, #local> -> memref<16xf32, #local>
      } {tile.unroll}
    } {tile.unroll}
    simt.move %staged[%c0] -> %s[%k] lanes(8) : memref<8xf16, #local>, memref<2048xf16, #shared>
  }
  scf.for %k = %c0 to %c8 step %c1 {
    simt.move %s[%k] -> %f[%c0] lanes(8) : memref<2048xf16, #shared>, memref<8xf16, #local>
    amd.mfma %f[%c0], %f[%c4] -> %c[%c0] shape [32, 32, 8] : memref<8xf16, #local>, memref<8xf16, #local> -> memref<16xf32, #local>
  }
  func.return
}
