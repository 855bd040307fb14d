// RUN: tilewright-opt -flatten-threads %s | filecheck %s

#global = #tile.space<global>
#local = #tile.space<local>

// CHECK-LABEL: func.func @f(
// CHECK: tile.kernel (%{{.*}}) in (1) threads(128)
// CHECK: [[T:%.*]] = gpu.thread_id x
// CHECK: [[X:%.*]] = arith.remui [[T]], %c32
// CHECK: [[Y:%.*]] = arith.divui %{{.*}}, %c32
// CHECK: memref.load %{{.*}}[[[Y]], [[X]]]
// CHECK: [[M:%.*]] = memref.load %mine
// CHECK-NEXT: [[S:%.*]] = simt.allreduce sum [[M]] threads(4) scale(32) : f32
// CHECK-NEXT: memref.store [[S]], %sum
// CHECK-NOT: tile.reduce
func.func @f(%A: memref<4x32xf32, #global>) {
  tile.kernel (%bx) in (1) threads(32, 4) {
    %tx = gpu.thread_id x
    %ty = gpu.thread_id y
    %mine = tile.alloc "mine" : memref<1xf32, #local>
    %sum = tile.alloc "sum" : memref<1xf32, #local>
    %x = memref.load %A[%ty, %tx] : memref<4x32xf32, #global>
    %c0 = arith.constant 0 : index
    memref.store %x, %mine[%c0] : memref<1xf32, #local>
    tile.reduce sum %mine -> %sum dim 1 {scope = "threads"} : memref<1xf32, #local> -> memref<1xf32, #local>
  }
  func.return
}
