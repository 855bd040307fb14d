// RUN: tilewright-opt -lower-thread-reductions %s | filecheck %s

#global = #tile.space<global>

// CHECK-LABEL: func.func @f(
// Within a warp by exchange, across warps through shared memory.
// CHECK: [[E:%.*]] = tile.alloc "exchange"
// CHECK: tile.shuffle xor %arg0, %c2_i32
// CHECK: tile.shuffle xor %{{.*}}, %c1_i32
// CHECK: arith.addf
// CHECK-NEXT: %c16_i32
// CHECK-NEXT: [[O:%.*]] = tile.shuffle xor %arg1, %c16_i32
// CHECK-NEXT: [[M:%.*]] = arith.maxsi %arg1, [[O]]
// CHECK: memref.store [[M]], [[E]]
// CHECK-COUNT-4: memref.load [[E]]
// CHECK-NOT: simt.allreduce
func.func @f(%x: f32, %i: i32) {
  tile.kernel (%bx) in (1) threads(128) {
    %a = simt.allreduce sum %x threads(4) scale(1) : f32
    %b = simt.allreduce max %i threads(8) scale(16) : i32
  }
  func.return
}

// The partners of 96 that are in one warp exchange, then three warps meet.
// CHECK-LABEL: func.func @three_warps(
// CHECK: [[E:%.*]] = tile.alloc "exchange"
// CHECK-COUNT-5: tile.shuffle xor
// CHECK-COUNT-3: memref.load [[E]]
// CHECK-NOT: memref.load
func.func @three_warps(%x: f32) {
  tile.kernel (%bx) in (1) threads(96) {
    %a = simt.allreduce sum %x threads(96) scale(1) : f32
  }
  func.return
}
