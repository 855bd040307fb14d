// RUN: tilewright-opt -lower-barriers -sync-clusters %s | filecheck %s

#g = #tile.space<global>
#s = #tile.space<shared>
#b = #tile.space<barrier>

// Blocks that arrive at each other's barriers begin and end together.
// CHECK-LABEL: func.func @reaching
// CHECK:           nv.mbarrier.init
// CHECK:           nv.fence_barrier_init
// CHECK:         gpu.barrier
// CHECK-NEXT:    nv.cluster.arrive
// CHECK-NEXT:    nv.cluster.wait
// CHECK:         nv.mbarrier.arrive %{{.*}} cta
// CHECK-NEXT:    nv.cluster.arrive
// CHECK-NEXT:    nv.cluster.wait
// CHECK-NEXT:  }
func.func @reaching(%c0: index, %other: i32) {
  tile.kernel (%bx) in (4) threads(128) cluster(2) {
    %bar = tile.alloc "bar" init [256] : memref<1x!nv.mbarrier, #b>
    nv.mbarrier.arrive %bar[%c0] cta %other : memref<1x!nv.mbarrier, #b>
  }
  func.return
}

// CHECK-LABEL: func.func @alone
// CHECK:         nv.mbarrier.arrive
// CHECK-NOT:     nv.cluster
func.func @alone(%c0: index) {
  tile.kernel (%bx) in (4) threads(128) cluster(2) {
    %bar = tile.alloc "bar" init [128] : memref<1x!nv.mbarrier, #b>
    nv.mbarrier.arrive %bar[%c0] : memref<1x!nv.mbarrier, #b>
  }
  func.return
}

// A cluster of one block.
// CHECK-LABEL: func.func @single
// CHECK:         nv.mbarrier.arrive
// CHECK-NOT:     nv.cluster
func.func @single(%c0: index, %other: i32) {
  tile.kernel (%bx) in (4) threads(128) cluster(1) {
    %bar = tile.alloc "bar" init [128] : memref<1x!nv.mbarrier, #b>
    nv.mbarrier.arrive %bar[%c0] cta %other : memref<1x!nv.mbarrier, #b>
  }
  func.return
}
