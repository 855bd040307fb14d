// RUN: tilewright-opt %s --plan-pipeline | filecheck %s
// RUN: tilewright-opt %s --plan-pipeline --expand-pipeline | filecheck %s --check-prefix=EXPANDED
// RUN: tilewright-opt %s --specialize-warps | filecheck %s --check-prefix=ROLES

#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// CHECK-LABEL: func.func @gemm
// EXPANDED-LABEL: func.func @gemm
// ROLES-LABEL: func.func @gemm
func.func @gemm(%A: memref<64x96xf16, #global>, %B: memref<96x64xf16, #global>, %C: memref<64x64xf32, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %as = tile.alloc "As" : memref<64x32xf16, #shared>
    %bs = tile.alloc "Bs" : memref<32x64xf16, #shared>
    %c = tile.alloc "C" : memref<64x64xf32, #fragment>
    %c32 = arith.constant 32 : index
    %z = arith.constant 0.0 : f32
    // Two copies run one turn ahead of the product.
    // CHECK: tile.pipeline %{{.*}} = 0 to 3 num_stages(2) plan #tile.pipeline_plan<stage = [0, 0, 1], order = [0, 1, 2], async = [0, 0, -1], versions = [2, 2, 1]>

    // EXPANDED: tile.alloc "As" : memref<2x64x32xf16, #shared>
    // EXPANDED: tile.async_copy
    // EXPANDED: tile.async_copy
    // EXPANDED: nv.cp_async.commit
    // EXPANDED: scf.for
    // EXPANDED: tile.async_copy
    // EXPANDED: tile.async_copy
    // EXPANDED: nv.cp_async.commit
    // EXPANDED: nv.cp_async.wait 1
    // EXPANDED: tile.gemm
    // EXPANDED: }
    // EXPANDED: nv.cp_async.wait 0
    // EXPANDED: tile.gemm
    // EXPANDED-NOT: tile.gemm

    // ROLES: tile.kernel (%{{.*}}) in (1) threads(256)
    // ROLES: %[[FULL:.*]] = tile.alloc "full_0_0" init [1, 1]
    // ROLES: %[[EMPTY:.*]] = tile.alloc "empty_0_0" init [128, 128]
    // ROLES: role "producer" threads(0 to 128)
    // ROLES: nv.mbarrier.wait %[[EMPTY]]
    // ROLES: nv.mbarrier.arrive_expect_tx %[[FULL]][%{{.*}}], 8192
    // ROLES: tile.async_copy {{.*}} barrier %[[FULL]]
    // ROLES: tile.async_copy {{.*}} barrier %[[FULL]]
    // ROLES: role "consumer" threads(128 to 256)
    // ROLES: tile.fill
    // ROLES: nv.mbarrier.wait %[[FULL]]
    // ROLES: tile.gemm
    // ROLES: nv.mbarrier.arrive %[[EMPTY]]
    // ROLES: tile.copy
    tile.fill %c, %z : memref<64x64xf32, #fragment>, f32
    tile.pipeline %k = 0 to 3 num_stages(2) {
      %o = arith.muli %k, %c32 : index
      %ra = tile.region %A[0, %o] [64, 32] : memref<64x96xf16, #global> to !tile.region<64x32xf16, #global>
      tile.copy %ra -> %as : !tile.region<64x32xf16, #global> -> memref<64x32xf16, #shared>
      %rb = tile.region %B[%o, 0] [32, 64] : memref<96x64xf16, #global> to !tile.region<32x64xf16, #global>
      tile.copy %rb -> %bs : !tile.region<32x64xf16, #global> -> memref<32x64xf16, #shared>
      tile.gemm %as, %bs -> %c : memref<64x32xf16, #shared>, memref<32x64xf16, #shared> -> memref<64x64xf32, #fragment>
    }
    tile.copy %c -> %C : memref<64x64xf32, #fragment> -> memref<64x64xf32, #global>
  }
  func.return
}
