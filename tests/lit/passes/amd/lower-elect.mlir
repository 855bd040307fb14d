// RUN: tilewright-opt %s --lower-elect | filecheck %s

// CHECK-LABEL: @waves_of_64
// CHECK: %[[LANES:.*]] = arith.constant 64 : index
// CHECK: %[[LANE:.*]] = arith.remui %{{.*}}, %[[LANES]] : index
// CHECK: arith.cmpi eq, %[[LANE]], %{{.*}} : index
// CHECK-NOT: nv.elect
func.func @waves_of_64(%A: memref<1xi1, #tile.space<global>>) attributes {tile.target = #tile.target<hip, gfx942>} {
  tile.kernel (%b) in (1) threads(128) {
    %c0 = arith.constant 0 : index
    %e = nv.elect
    memref.store %e, %A[%c0] : memref<1xi1, #tile.space<global>>
  }
  func.return
}

// CHECK-LABEL: @waves_of_32
// CHECK: arith.constant 32 : index
// CHECK: arith.remui
// CHECK-NOT: nv.elect
func.func @waves_of_32(%A: memref<1xi1, #tile.space<global>>) attributes {tile.target = #tile.target<hip, gfx1201>} {
  tile.kernel (%b) in (1) threads(128) {
    %c0 = arith.constant 0 : index
    %e = nv.elect
    memref.store %e, %A[%c0] : memref<1xi1, #tile.space<global>>
  }
  func.return
}
