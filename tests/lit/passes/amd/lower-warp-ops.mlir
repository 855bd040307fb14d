// RUN: tilewright-opt %s --lower-warp-ops | filecheck %s

// One thread of 32 is elected, whatever a wave has.

// CHECK-LABEL: @elected
// CHECK: %[[TID:.*]] = gpu.thread_id x
// CHECK: %[[LANES:.*]] = arith.constant 32 : index
// CHECK: %[[LANE:.*]] = arith.remui %[[TID]], %[[LANES]] : index
// CHECK: arith.cmpi eq, %[[LANE]], %{{.*}} : index
// CHECK-NOT: nv.elect
func.func @elected(%A: memref<1xi1, #tile.space<global>>) attributes {tile.target = #tile.target<hip, gfx942>} {
  tile.kernel (%b) in (1) threads(128) {
    %c0 = arith.constant 0 : index
    %e = nv.elect
    memref.store %e, %A[%c0] : memref<1xi1, #tile.space<global>>
  }
  func.return
}

// Votes of 32 threads are a half of the ballot of 64; the wave's own vote stays.

// CHECK-LABEL: @votes
// CHECK: %[[ALL:.*]] = tile.vote ballot %{{.*}} : i64
// CHECK: %[[BY:.*]] = arith.andi
// CHECK: %[[HALF:.*]] = arith.shrui %[[ALL]], %[[BY]] : i64
// CHECK: arith.trunci %[[HALF]] : i64 to i32
// CHECK: %[[NOT:.*]] = arith.xori %{{.*}}, %{{.*}} : i1
// CHECK: tile.vote ballot %[[NOT]] : i64
// CHECK: tile.vote any %{{.*}} : i1
func.func @votes(%A: memref<3xi1, #tile.space<global>>, %B: memref<1xi32, #tile.space<global>>, %p: i1) attributes {tile.target = #tile.target<hip, gfx942>} {
  tile.kernel (%b) in (1) threads(128) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = tile.vote ballot %p width 32 : i32
    memref.store %0, %B[%c0] : memref<1xi32, #tile.space<global>>
    %1 = tile.vote all %p width 32 : i1
    memref.store %1, %A[%c0] : memref<3xi1, #tile.space<global>>
    %2 = tile.vote any %p : i1
    memref.store %2, %A[%c1] : memref<3xi1, #tile.space<global>>
  }
  func.return
}

// A wave of 32 is a warp.

// CHECK-LABEL: @waves_of_32
// CHECK: tile.vote ballot %{{.*}} width 32 : i32
func.func @waves_of_32(%B: memref<1xi32, #tile.space<global>>, %p: i1) attributes {tile.target = #tile.target<hip, gfx1201>} {
  tile.kernel (%b) in (1) threads(128) {
    %c0 = arith.constant 0 : index
    %0 = tile.vote ballot %p width 32 : i32
    memref.store %0, %B[%c0] : memref<1xi32, #tile.space<global>>
  }
  func.return
}
