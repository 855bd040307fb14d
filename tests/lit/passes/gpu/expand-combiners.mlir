// RUN: tilewright-opt -expand-copies -canonicalize -cse %s | filecheck %s

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// Eighteen elements: two groups of eight and one of two, then the three that they give.
// CHECK-LABEL: func.func @reduce(
// CHECK: %parts = tile.alloc "parts" : memref<4x3xf32, #shared>
// CHECK: tile.parallel ([[R:%.*]], [[G:%.*]]) in (4, 2) attributes {coalesced_width = 1 : i64} {
// CHECK-NEXT: [[S:%.*]] = arith.muli [[G]], %c8
// CHECK-NEXT: [[A:%.*]] = memref.load %x[[[R]], [[S]]]
// CHECK: [[B:%.*]] = memref.load %x[[[R]],
// CHECK-COUNT-6: memref.load %x[[[R]],
// The first with the second, and so on: a balanced tree.
// CHECK: [[M:%.*]] = arith.mulf [[A]], [[B]] : f32
// CHECK-COUNT-6: arith.mulf
// CHECK-NOT: arith.mulf
// CHECK: memref.store {{.*}}, %parts[[[R]], [[G]]]
// CHECK: tile.parallel ([[R:%.*]], %{{.*}}) in (4, 1) {
// CHECK-NEXT: memref.load %x[[[R]], %c16]
// CHECK-NEXT: memref.load %x[[[R]], %c17]
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: memref.store {{.*}}, %parts[[[R]], %c2]
// CHECK: tile.parallel ([[R:%.*]], %{{.*}}) in (4, 1) {
// CHECK-COUNT-3: memref.load %parts[[[R]],
// CHECK: memref.store {{.*}}, %y[[[R]]]
// CHECK-NOT: tile.reduce_by
func.func @reduce() {
  tile.kernel (%bx) in (1) threads(128) {
    %x = tile.alloc "x" : memref<4x18xf32, #shared>
    %y = tile.alloc "y" : memref<4xf32, #fragment>
    tile.reduce_by %x -> %y dim 1 : memref<4x18xf32, #shared> -> memref<4xf32, #fragment> {
    ^bb0(%a: f32, %b: f32):
      %r = arith.mulf %a, %b : f32
      tile.return %r : f32
    }
  }
  func.return
}

// In place, from the end: eleven elements, of which the last eight come first.
// CHECK-LABEL: func.func @scan(
// CHECK: %staged = tile.alloc
// CHECK: %running = tile.alloc
// CHECK: %totals = tile.alloc "totals" : memref<2xf32, #shared>
// CHECK: tile.parallel (%{{.*}}) in (1) {
// CHECK-NEXT: memref.load %staged[%c10]
// CHECK-NEXT: memref.load %staged[%c9]
// CHECK: memref.store {{.*}}, %running[%c0]
// CHECK: arith.addf
// CHECK-NEXT: memref.store {{.*}}, %running[%c1]
// CHECK: memref.store {{.*}}, %totals[%c0]
// CHECK: tile.parallel (%{{.*}}) in (1) {
// CHECK: memref.store {{.*}}, %running[%c10]
// CHECK: memref.store {{.*}}, %totals[%c1]
// CHECK: tile.parallel (%{{.*}}) in (1) {
// CHECK: memref.store {{.*}}, %before[%c1]
// CHECK: tile.parallel ([[I:%.*]]) in (11) {
// CHECK: [[G:%.*]] = arith.divui [[I]], %c8
// CHECK: [[H:%.*]] = arith.cmpi ne, [[G]], %c0
// CHECK: [[OWN:%.*]] = memref.load %running[[[I]]]
// CHECK: [[ALL:%.*]] = arith.addf %{{.*}}, [[OWN]]
// CHECK: [[V:%.*]] = arith.select [[H]], [[ALL]], [[OWN]]
// CHECK: [[P:%.*]] = arith.subi %c10, [[I]]
// CHECK: memref.store [[V]], %x[[[P]]]
func.func @scan() {
  tile.kernel (%bx) in (1) threads(128) {
    %x = tile.alloc "x" : memref<11xf32, #fragment>
    tile.scan_by %x -> %x dim 0 reverse : memref<11xf32, #fragment> -> memref<11xf32, #fragment> {
    ^bb0(%a: f32, %b: f32):
      %r = arith.addf %a, %b : f32
      tile.return %r : f32
    }
  }
  func.return
}
