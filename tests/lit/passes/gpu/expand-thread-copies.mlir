// RUN: tilewright-opt -expand-thread-copies -cse %s | filecheck %s

#global = #tile.space<global>
#shared = #tile.space<shared>
#local = #tile.space<local>

// A row of each thread is read by it, element by element.
// CHECK-LABEL: func.func @rows(
// CHECK: scf.for [[I:%.*]] = %c0 to %c8 step %c1 {
// CHECK-NEXT: [[X:%.*]] = memref.load %arg0[%thread_id_x, [[I]]]
// CHECK-NEXT: memref.store [[X]], %mine[[[I]]]
// CHECK: scf.for [[J:%.*]] = %c0 to %c8 step %c1 {
// CHECK-NEXT: [[Y:%.*]] = memref.load %mine[[[J]]]
// CHECK-NEXT: [[Z:%.*]] = arith.extf [[Y]] : f16 to f32
// CHECK-NEXT: memref.store [[Z]], %arg1[%thread_id_x, [[J]]]
func.func @rows(%A: memref<128x8xf16, #global>, %B: memref<128x8xf32, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %tx = gpu.thread_id x
    %mine = tile.alloc "mine" : memref<8xf16, #local>
    %a = tile.region %A[%tx, 0] [1, 8] : memref<128x8xf16, #global> to !tile.region<1x8xf16, #global>
    tile.copy %a -> %mine : !tile.region<1x8xf16, #global> -> memref<8xf16, #local>
    %b = tile.region %B[%tx, 0] [1, 8] : memref<128x8xf32, #global> to !tile.region<1x8xf32, #global>
    tile.copy %mine -> %b : memref<8xf16, #local> -> !tile.region<1x8xf32, #global>
  }
  func.return
}

// So is a fill; a tile of the block stays whole.
// CHECK-LABEL: func.func @fills(
// CHECK: scf.for [[I:%.*]] = %c0 to %c4 step %c1 {
// CHECK: memref.store %arg2, %s{{.*}}
// CHECK: tile.copy %{{.*}} -> %s
func.func @fills(%A: memref<128xf32, #global>, %n: index, %c: f32) {
  tile.kernel (%bx) in (1) threads(32) {
    %tx = gpu.thread_id x
    %s = tile.alloc "s" : memref<128xf32, #shared>
    %c4 = arith.constant 4 : index
    %start = arith.muli %tx, %c4 : index
    %mine = tile.region %s[%start] [4] : memref<128xf32, #shared> to !tile.region<4xf32, #shared>
    tile.fill %mine, %c : !tile.region<4xf32, #shared>, f32
    %a = tile.region %A[%n] [128] : memref<128xf32, #global> to !tile.region<128xf32, #global>
    tile.copy %a -> %s : !tile.region<128xf32, #global> -> memref<128xf32, #shared>
  }
  func.return
}
