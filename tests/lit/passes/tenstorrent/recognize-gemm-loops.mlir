// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim --recognize-gemm-loops | filecheck %s

// CHECK: tile.gemm %a, %b -> %c {transpose_b}
// CHECK-NOT: tile.parallel
#fragment = #tile.space<fragment>
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @loops() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<32x64xf32, #shared>
    %b = tile.alloc "b" : memref<32x64xf32, #shared>
    %c = tile.alloc "c" : memref<32x32xf32, #fragment>
    tile.parallel (%i, %j) in (32, 32) {
      scf.for %k = %c0 to %c64 step %c1 {
        %old = memref.load %c[%i, %j] : memref<32x32xf32, #fragment>
        %x = memref.load %a[%i, %k] : memref<32x64xf32, #shared>
        %y = memref.load %b[%j, %k] : memref<32x64xf32, #shared>
        %p = arith.mulf %x, %y : f32
        %new = arith.addf %old, %p : f32
        memref.store %new, %c[%i, %j] : memref<32x32xf32, #fragment>
      }
    }
  }
  func.return
}
