// RUN: tilewright-opt %s --tile-pipeline | filecheck %s
// RUN: tilewright-opt %s --tile-pipeline="warp-specialize=false" | filecheck %s --check-prefix=PLAIN
// RUN: tilewright-opt %s -pass-pipeline='builtin.module(tile-pipeline{warp-specialize=false target=cuda:sm_80})' | filecheck %s --check-prefix=OLD

// Roles with barriers; without them, a prologue and groups of copies.
// CHECK: tile.target = #tile.target<cuda, sm_90a>
// CHECK: tile.ws
// CHECK: role "producer"
// CHECK: nv.mbarrier.arrive_expect_tx
// CHECK: role "consumer"
// CHECK-NOT: tile.pipeline
// PLAIN-NOT: tile.ws
// PLAIN: nv.cp_async.commit
// PLAIN: scf.for
// PLAIN: nv.cp_async.wait
// OLD: tile.target = #tile.target<cuda, sm_80>
// OLD: nv.cp_async.commit

#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

func.func @gemm(%A: memref<64x1024xf16, #global>, %B: memref<1024x64xf16, #global>, %C: memref<64x64xf32, #global>) attributes {tile.entry} {
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  tile.kernel (%bx) in (1) threads(128) {
    %as = tile.alloc "as" : memref<64x64xf16, #shared>
    %bs = tile.alloc "bs" : memref<64x64xf16, #shared>
    %acc = tile.alloc "acc" : memref<64x64xf32, #fragment>
    tile.fill %acc, %zero : memref<64x64xf32, #fragment>, f32
    tile.pipeline %k = 0 to 16 num_stages(3) {
      %i = arith.muli %k, %c64 : index
      %ra = tile.region %A[0, %i] [64, 64] : memref<64x1024xf16, #global> to !tile.region<64x64xf16, #global>
      tile.copy %ra -> %as : !tile.region<64x64xf16, #global> -> memref<64x64xf16, #shared>
      %rb = tile.region %B[%i, 0] [64, 64] : memref<1024x64xf16, #global> to !tile.region<64x64xf16, #global>
      tile.copy %rb -> %bs : !tile.region<64x64xf16, #global> -> memref<64x64xf16, #shared>
      tile.gemm %as, %bs -> %acc : memref<64x64xf16, #shared>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
    }
    tile.copy %acc -> %C : memref<64x64xf32, #fragment> -> memref<64x64xf32, #global>
  }
  func.return
}
