// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim --fold-grid-reductions | filecheck %s

// The third grid dimension becomes a loop; the sum is loaded before and stored after it.
// CHECK: tile.kernel (%{{.*}}) in (2, 1, 1)
// CHECK: tile.copy %{{.*}} -> %total
// CHECK: scf.for %{{.*}} = %{{.*}} to %
// CHECK: tile.parallel
// CHECK: arith.addf
// CHECK-NOT: tile.atomic
// CHECK: tile.copy %total -> %
#fragment = #tile.space<fragment>
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @split(%X: memref<4x64xf32, #global>, %C: memref<32x64xf32, #global>) {
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  tile.kernel (%bx, %by, %bz) in (2, 1, 4) threads(128) {
    %part = tile.alloc "part" : memref<32x32xf32, #fragment>
    tile.fill %part, %one : memref<32x32xf32, #fragment>, f32
    %column = arith.muli %bx, %c32 : index
    %r = tile.region %C[0, %column] [32, 32] : memref<32x64xf32, #global> to !tile.region<32x32xf32, #global>
    tile.atomic add %r, %part : !tile.region<32x32xf32, #global>, memref<32x32xf32, #fragment>
  }
  func.return
}
