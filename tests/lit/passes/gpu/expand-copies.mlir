// RUN: tilewright-opt -expand-copies %s | filecheck %s

#global = #tile.space<global>
#shared = #tile.space<shared>
#local = #tile.space<local>
#fragment = #tile.space<fragment>

// CHECK-LABEL: func.func @f(
// CHECK: tile.parallel ([[I:%.*]], [[J:%.*]]) in (64, 64) {
// CHECK-NEXT: [[R:%.*]] = arith.addi %{{.*}}, [[I]]
// CHECK-NEXT: [[X:%.*]] = memref.load %arg0[[[R]], [[J]]]
// CHECK-NEXT: [[Y:%.*]] = arith.extf [[X]] : f16 to f32
// CHECK-NEXT: memref.store [[Y]], %f[[[I]], [[J]]]
// What a thread has is filled by each of them.
// CHECK: scf.for
// CHECK-NEXT: memref.store %arg1, %mine
// CHECK-NEXT: } {tile.vectorize}
func.func @f(%A: memref<100x64xf16, #global>, %c: f32) {
  tile.kernel (%bx) in (2) threads(128) {
    %f = tile.alloc "f" : memref<64x64xf32, #fragment>
    %mine = tile.alloc "mine" : memref<8xf32, #local>
    %r = tile.region %A[%bx, 0] [64, 64] : memref<100x64xf16, #global> to !tile.region<64x64xf16, #global>
    tile.copy %r -> %f : !tile.region<64x64xf16, #global> -> memref<64x64xf32, #fragment>
    tile.fill %mine, %c : memref<8xf32, #local>, f32
  }
  func.return
}

// CHECK-LABEL: func.func @scan(
// CHECK: tile.parallel ([[I:%.*]]) in (16) {
// CHECK: scf.for [[K:%.*]] = %c0 to %c8 step %c1 iter_args([[T:%.*]] = %cst)
// CHECK: [[P:%.*]] = arith.subi %c7, [[K]]
// CHECK-NEXT: [[X:%.*]] = memref.load %s2[[[I]], [[P]]]
// CHECK-NEXT: [[S:%.*]] = arith.addf [[T]], [[X]]
// CHECK-NEXT: memref.store [[S]], %s2[[[I]], [[P]]]
// CHECK-NEXT: scf.yield [[S]]
func.func @scan(%s: memref<16x8xf32, #shared>) {
  tile.kernel (%bx) in (2) threads(128) {
    %s2 = tile.alloc "s2" : memref<16x8xf32, #shared>
    tile.scan sum %s2 -> %s2 dim 1 reverse : memref<16x8xf32, #shared> -> memref<16x8xf32, #shared>
  }
  func.return
}
