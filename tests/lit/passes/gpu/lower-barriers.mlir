// RUN: tilewright-opt -lower-barriers %s | filecheck %s

#barrier = #tile.space<barrier>

// CHECK-LABEL: func.func @f(
// CHECK: [[B:%.*]] = tile.alloc "b" init [1, 128]
// CHECK: scf.if
// CHECK: nv.mbarrier.init [[B]][%{{.*}}], 1
// CHECK: nv.mbarrier.init [[B]][%{{.*}}], 128
// CHECK-NEXT: nv.fence_barrier_init
// CHECK: gpu.barrier
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: nv.bar sync 3, 64
// CHECK-NEXT: tile.sync grid
func.func @f() attributes {tile.target = #tile.target<cuda, sm_90a>} {
  tile.kernel (%bx) in (1) threads(128) {
    tile.sync
    tile.sync barrier_id 3 arrive_count 64
    %b = tile.alloc "b" init [1, 128] : memref<2x!nv.mbarrier, #barrier>
    tile.sync grid
  }
  func.return
}
