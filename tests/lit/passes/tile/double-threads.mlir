// RUN: tilewright-opt --double-threads %s | filecheck %s

// Only the first never names a thread.

#global = #tile.space<global>
#shared = #tile.space<shared>
#barrier = #tile.space<barrier>
#local = #tile.space<local>

// CHECK-LABEL: func.func @tiles
// CHECK:         tile.kernel (%{{.*}}) in (1) threads(256)
func.func @tiles(%A: memref<64x32xf16, #global>, %B: memref<64x32xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x32xf16, #shared>
    tile.copy %A -> %a : memref<64x32xf16, #global> -> memref<64x32xf16, #shared>
    tile.copy %a -> %B : memref<64x32xf16, #shared> -> memref<64x32xf16, #global>
  }
  func.return
}

// CHECK-LABEL: func.func @number_of_a_thread
// CHECK:         tile.kernel (%{{.*}}) in (1) threads(128)
func.func @number_of_a_thread(%A: memref<128xf32, #global>, %v: f32) {
  tile.kernel (%bx) in (1) threads(128) {
    %tid = gpu.thread_id x
    memref.store %v, %A[%tid] : memref<128xf32, #global>
  }
  func.return
}

// CHECK-LABEL: func.func @arrivals
// CHECK:         tile.kernel (%{{.*}}) in (1) threads(128)
func.func @arrivals() {
  tile.kernel (%bx) in (1) threads(128) {
    %c0 = arith.constant 0 : index
    %full = tile.alloc "full" init [128] : memref<1x!nv.mbarrier, #barrier>
    nv.mbarrier.arrive %full[%c0] : memref<1x!nv.mbarrier, #barrier>
  }
  func.return
}

// CHECK-LABEL: func.func @as_many_as_there_can_be
// CHECK:         tile.kernel (%{{.*}}) in (1) threads(1024)
func.func @as_many_as_there_can_be(%A: memref<64x32xf16, #global>) {
  tile.kernel (%bx) in (1) threads(1024) {
    %a = tile.alloc "a" : memref<64x32xf16, #shared>
    tile.copy %A -> %a : memref<64x32xf16, #global> -> memref<64x32xf16, #shared>
  }
  func.return
}

// CHECK-LABEL: func.func @sum_over_threads
// CHECK:         tile.kernel (%{{.*}}) in (1) threads(128)
func.func @sum_over_threads(%v: f32) {
  tile.kernel (%bx) in (1) threads(128) {
    %mine = tile.alloc "mine" : memref<1xf32, #local>
    %all = tile.alloc "all" : memref<1xf32, #local>
    tile.fill %mine, %v : memref<1xf32, #local>, f32
    tile.reduce sum %mine -> %all dim 0 {scope = "threads"}
        : memref<1xf32, #local> -> memref<1xf32, #local>
  }
  func.return
}
