// RUN: tilewright-opt %s --split-input-file --bind-target=target=tenstorrent:sim --keep-scalars-in-tiles | filecheck %s

// Consecutive scalar ops are one loop over one element; the loop that uses the result broadcasts it.

#fragment = #tile.space<fragment>
func.func @mean(%n: f32) attributes {tile.entry} {
  tile.kernel (%bx) in (1) threads(128) {
    %c0 = arith.constant 0 : index
    %x = tile.alloc "x" : memref<64xf32, #fragment>
    %total = tile.alloc "total" : memref<1xf32, #fragment>
    tile.reduce sum %x -> %total dim 0 : memref<64xf32, #fragment> -> memref<1xf32, #fragment>
    %sum = memref.load %total[%c0] : memref<1xf32, #fragment>
    %mean = arith.divf %sum, %n : f32
    %root = math.sqrt %mean : f32
    tile.parallel (%i) in (64) {
      %v = memref.load %x[%i] : memref<64xf32, #fragment>
      %w = arith.mulf %v, %root : f32
      memref.store %w, %x[%i] : memref<64xf32, #fragment>
    }
    tile.fill %x, %mean : memref<64xf32, #fragment>, f32
  }
  func.return
}
// CHECK-LABEL: func.func @mean
// CHECK: tile.reduce sum
// CHECK-NEXT: tile.parallel ([[U:%.*]]) in (1) {
// CHECK-NEXT: [[SUM:%.*]] = memref.load {{%.*}}{{\[}}[[U]]]
// CHECK-NEXT: [[MEAN:%.*]] = arith.divf [[SUM]], {{%.*}} : f32
// CHECK-NEXT: [[ROOT:%.*]] = math.sqrt [[MEAN]] : f32
// CHECK-NEXT: memref.store [[MEAN]], [[MEANS:%.*]]{{\[}}[[U]]] : memref<1xf32, #fragment>
// CHECK-NEXT: memref.store [[ROOT]], [[ROOTS:%.*]]{{\[}}[[U]]] : memref<1xf32, #fragment>
// CHECK-NEXT: }
// CHECK-NEXT: tile.parallel ([[I:%.*]]) in (64) {
// CHECK: [[HELD:%.*]] = memref.load [[ROOTS]]{{\[}}{{%.*}}] : memref<1xf32, #fragment>
// CHECK: arith.mulf {{%.*}}, [[HELD]] : f32
// CHECK: tile.parallel ([[J:%.*]]) in (64) {
// CHECK: [[FILL:%.*]] = memref.load [[MEANS]]{{\[}}{{%.*}}] : memref<1xf32, #fragment>
// CHECK: memref.store [[FILL]], {{%.*}}{{\[}}[[J]]]
// CHECK-NOT: tile.fill

// -----

// Values that a loop carries: read first, written last, so that they may change places.

#fragment = #tile.space<fragment>
func.func @swap(%a: f32, %b: f32, %n: index) attributes {tile.entry} {
  tile.kernel (%bx) in (1) threads(128) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = tile.alloc "x" : memref<64xf32, #fragment>
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%one = %a, %two = %b) -> (f32, f32) {
      scf.yield %two, %one : f32, f32
    }
    tile.fill %x, %r#0 : memref<64xf32, #fragment>, f32
  }
  func.return
}
// CHECK-LABEL: func.func @swap
// CHECK: tile.fill [[A:%.*]], {{%.*}}
// CHECK: tile.fill [[B:%.*]], {{%.*}}
// CHECK: scf.for {{%.*}} = {{%.*}} to {{%.*}} step {{%.*}} {
// CHECK: tile.parallel ([[U:%.*]]) in (1) {
// CHECK-NEXT: [[ONE:%.*]] = memref.load [[A]]
// CHECK-NEXT: [[TWO:%.*]] = memref.load [[B]]
// CHECK-NEXT: memref.store [[ONE]], [[ONES:%.*]]{{\[}}[[U]]]
// CHECK-NEXT: memref.store [[TWO]], [[TWOS:%.*]]{{\[}}[[U]]]
// CHECK: tile.parallel ([[W:%.*]]) in (1) {
// CHECK-DAG: [[P:%.*]] = memref.load [[ONES]]
// CHECK-DAG: [[Q:%.*]] = memref.load [[TWOS]]
// CHECK: memref.store {{%.*}}, [[A]]{{\[}}[[W]]]
// CHECK-NEXT: memref.store {{%.*}}, [[B]]{{\[}}[[W]]]

// -----

// Integers stay carried: addresses may depend on them.

#fragment = #tile.space<fragment>
func.func @both(%a: f32, %n: index) attributes {tile.entry} {
  tile.kernel (%bx) in (1) threads(128) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = tile.alloc "x" : memref<64xf32, #fragment>
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%at = %c0, %one = %a) -> (index, f32) {
      %next = arith.addi %at, %k : index
      %two = arith.addf %one, %one : f32
      scf.yield %next, %two : index, f32
    }
    tile.fill %x, %r#1 : memref<64xf32, #fragment>, f32
    %last = arith.index_cast %r#0 : index to i32
    tile.print "last", %last : i32
  }
  func.return
}
// CHECK-LABEL: func.func @both
// CHECK: tile.fill [[A:%.*]], {{%.*}}
// CHECK: [[R:%.*]] = scf.for {{%.*}} iter_args([[AT:%.*]] = {{%.*}}) -> (index) {
// CHECK: [[NEXT:%.*]] = arith.addi [[AT]], {{%.*}} : index
// CHECK: memref.store {{%.*}}, [[A]]
// CHECK: scf.yield [[NEXT]] : index
