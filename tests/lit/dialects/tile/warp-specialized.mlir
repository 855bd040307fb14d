// RUN: tilewright-opt %s | filecheck %s
// RUN: tilewright-opt -mlir-print-op-generic %s | tilewright-opt | filecheck %s
// RUN: tilewright-opt -canonicalize -cse -dce %s | filecheck %s

// Two roles that hand a buffer of two versions to and fro.

#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>
#barrier = #tile.space<barrier>

// CHECK-LABEL: func.func @roles
func.func @roles(%A: memref<64x1024xf16, #global>, %B: memref<64x64xf16, #global>, %n: index) attributes {tile.entry} {
  %c2 = arith.constant 2 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  // CHECK: tile.kernel (%{{.+}}) in (1) threads(256) {
  tile.kernel (%b) in (1) threads(256) {
    %ring = tile.alloc "ring" : memref<2x64x64xf16, #shared>
    %other = tile.alloc "other" : memref<64x64xf16, #shared>
    %acc = tile.alloc "acc" : memref<64x64xf32, #fragment>
    // CHECK: %[[FULL:.+]] = tile.alloc "full" init [1, 1] : memref<2x!nv.mbarrier, #{{.+}}>
    %full = tile.alloc "full" init [1, 1] : memref<2x!nv.mbarrier, #barrier>
    // CHECK: %[[EMPTY:.+]] = tile.alloc "empty" init [128, 128]
    %empty = tile.alloc "empty" init [128, 128] : memref<2x!nv.mbarrier, #barrier>
    // CHECK: tile.ws
    // CHECK-NEXT: role "producer" threads(0 to 128) registers(24) {
    tile.ws
    role "producer" threads(0 to 128) registers(24) {
      tile.pipeline %k = 0 to %n {
        %slot = arith.remui %k, %c2 : index
        %turn = arith.divui %k, %c2 : index
        %phase = arith.remui %turn, %c2 : index
        %other_phase = arith.xori %phase, %c1 : index
        // CHECK: nv.mbarrier.wait %[[EMPTY]][%{{.+}}], %{{.+}} : memref<2x!nv.mbarrier, #{{.+}}>, index
        nv.mbarrier.wait %empty[%slot], %other_phase : memref<2x!nv.mbarrier, #barrier>, index
        // CHECK: nv.mbarrier.arrive_expect_tx %[[FULL]][%{{.+}}], 8192 : memref<2x!nv.mbarrier, #{{.+}}>
        nv.mbarrier.arrive_expect_tx %full[%slot], 8192 : memref<2x!nv.mbarrier, #barrier>
        %x = arith.muli %k, %c64 : index
        %src = tile.region %A[0, %x] [64, 64] : memref<64x1024xf16, #global> to !tile.region<64x64xf16, #global>
        %dst = tile.slot %ring[%slot] : memref<2x64x64xf16, #shared> to memref<64x64xf16, #shared>
        // CHECK: tile.async_copy %{{.+}} -> %{{.+}} barrier %[[FULL]][%{{.+}}] :
        tile.async_copy %src -> %dst barrier %full[%slot] : !tile.region<64x64xf16, #global> -> memref<64x64xf16, #shared>, memref<2x!nv.mbarrier, #barrier>
      }
    }
    // CHECK: role "consumer" threads(128 to 256) registers(240) {
    role "consumer" threads(128 to 256) registers(240) {
      tile.pipeline %k = 0 to %n {
        %slot = arith.remui %k, %c2 : index
        %turn = arith.divui %k, %c2 : index
        %phase = arith.remui %turn, %c2 : index
        // CHECK: nv.mbarrier.wait %[[FULL]]
        nv.mbarrier.wait %full[%slot], %phase : memref<2x!nv.mbarrier, #barrier>, index
        %tile = tile.slot %ring[%slot] : memref<2x64x64xf16, #shared> to memref<64x64xf16, #shared>
        // CHECK: tile.gemm {{.*}} {async, transpose_b} :
        tile.gemm %tile, %other -> %acc {async, transpose_b} : memref<64x64xf16, #shared>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
        // CHECK-NEXT: nv.wgmma.wait 0
        nv.wgmma.wait 0
        // CHECK-NEXT: nv.mbarrier.arrive %[[EMPTY]]
        nv.mbarrier.arrive %empty[%slot] : memref<2x!nv.mbarrier, #barrier>
      }
    }
  }
  func.return
}
