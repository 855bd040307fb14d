// RUN: tilewright-opt -expand-copies -cse %s | filecheck %s

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

// Eight lanes have a line of eight elements, from its end.
// CHECK-LABEL: func.func @scan(
// CHECK: [[I:%.*]] = arith.divui %thread_id_x, %c8
// CHECK: [[L:%.*]] = arith.remui %thread_id_x, %c8
// CHECK: [[P:%.*]] = arith.subi %c7, [[L]]
// CHECK-NEXT: [[X:%.*]] = memref.load %s2[[[I]], [[P]]]
// CHECK: [[Y:%.*]] = tile.shuffle up [[X]], %c1_i32 width 8
// CHECK: [[H:%.*]] = arith.cmpi uge, [[L]], %c1
// CHECK-NEXT: [[S:%.*]] = arith.addf [[Y]], [[X]]
// CHECK-NEXT: [[T:%.*]] = arith.select [[H]], [[S]], [[X]]
// CHECK: tile.shuffle up [[T]], %c2_i32 width 8
// CHECK: tile.shuffle up %{{.*}}, %c4_i32 width 8
// CHECK: memref.store %{{.*}}, %s2[[[I]],
func.func @scan(%s: memref<16x8xf32, #shared>) {
  tile.kernel (%bx) in (2) threads(128) {
    %s2 = tile.alloc "s2" : memref<16x8xf32, #shared>
    tile.scan sum %s2 -> %s2 dim 1 reverse : memref<16x8xf32, #shared> -> memref<16x8xf32, #shared>
  }
  func.return
}

// A region that begins where the thread's number says is the thread's own: each copies its own.
// CHECK-LABEL: func.func @own_regions(
// CHECK: [[T:%.*]] = gpu.thread_id x
// CHECK: scf.for [[I:%.*]] = %c0 to %c4 step %c1 {
// CHECK-NEXT: [[P:%.*]] = arith.addi [[T]], [[I]]
// CHECK-NEXT: [[X:%.*]] = memref.load %{{.*}}[[[P]]]
// CHECK-NEXT: memref.store [[X]], %{{.*}}[[[P]]]
// CHECK-NEXT: } {tile.vectorize}
// A tile is updated by a number once, whichever threads do it.
// CHECK: tile.parallel ([[J:%.*]]) in (4) {
// CHECK-NEXT: tile.atomic add %{{.*}}[[[J]]], %c
func.func @own_regions(%A: memref<64xf32, #global>, %B: memref<64xf32, #global>, %D: memref<4xf32, #global>) {
  %c = arith.constant 1.0 : f32
  tile.kernel (%bx) in (2) threads(16) {
    %t = gpu.thread_id x
    %a = tile.region %A[%t] [4] : memref<64xf32, #global> to !tile.region<4xf32, #global>
    %b = tile.region %B[%t] [4] : memref<64xf32, #global> to !tile.region<4xf32, #global>
    tile.copy %a -> %b : !tile.region<4xf32, #global> -> !tile.region<4xf32, #global>
    tile.atomic add %D, %c : memref<4xf32, #global>, f32
  }
  func.return
}
