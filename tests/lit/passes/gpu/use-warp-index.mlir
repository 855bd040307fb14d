// RUN: tilewright-opt -use-warp-index -split-input-file %s | filecheck %s

#s = #tile.space<shared>

// The warp group of a role, and the first warp of the block.

// CHECK-LABEL: func.func @group_of_a_role
// CHECK-NEXT:    %[[WARP:.*]] = gpu.subgroup_id
// CHECK:         %[[OWN:.*]] = arith.subi %[[WARP]], %c4
// CHECK:         %[[GROUP:.*]] = arith.shrsi %[[OWN]], %c2
// CHECK:         tile.ws
// CHECK:         arith.cmpi ult, %[[WARP]], %c1
// CHECK:         role "consumer"
// CHECK-NOT:       arith.divui
// CHECK:           memref.store %{{.*}}, %S[%[[GROUP]]]
func.func @group_of_a_role(%x: f32) attributes {simt.kernel, simt.threads = 384 : i64} {
  %S = tile.alloc "S" offset 0 : memref<2xf32, #s>
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %tid = gpu.thread_id x
  tile.ws
  role "producer" threads(0 to 128) {
    %first = arith.cmpi ult, %tid, %c32 : index
    scf.if %first {
      memref.store %x, %S[%tid] : memref<2xf32, #s>
    }
  }
  role "consumer" threads(128 to 384) {
    %own = arith.subi %tid, %c128 : index
    %group = arith.divui %own, %c128 : index
    memref.store %x, %S[%group] : memref<2xf32, #s>
  }
  func.return
}

// -----

#s = #tile.space<shared>

// Three warps are no power of two; lanes, odd bounds and unsigned bounds of a part of the block stay.

// CHECK-LABEL: func.func @what_stays
// CHECK:         %[[THIRD:.*]] = arith.floordivsi %[[WARP:.*]], %c3
// CHECK:         arith.divui %{{.*}}, %c4
// CHECK:         arith.cmpi ult, %{{.*}}, %c33
// CHECK:         arith.cmpi ult, %{{.*}}, %c64
// CHECK:         memref.store %{{.*}}, %S[%[[THIRD]]]
func.func @what_stays(%x: f32) attributes {simt.kernel, simt.threads = 384 : i64} {
  %S = tile.alloc "S" offset 0 : memref<96xf32, #s>
  %c4 = arith.constant 4 : index
  %c33 = arith.constant 33 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  %c128 = arith.constant 128 : index
  %tid = gpu.thread_id x
  tile.ws
  role "all" threads(0 to 384) {
    %own = arith.subi %tid, %c128 : index
    %third = arith.divui %tid, %c96 : index
    %quad = arith.divui %tid, %c4 : index
    %odd = arith.cmpi ult, %tid, %c33 : index
    %wraps = arith.cmpi ult, %own, %c64 : index
    scf.if %odd {
      memref.store %x, %S[%quad] : memref<96xf32, #s>
    }
    scf.if %wraps {
      memref.store %x, %S[%third] : memref<96xf32, #s>
    }
  }
  func.return
}

// -----

#s = #tile.space<shared>

// Neither roles nor MMAs of warp groups.

// CHECK-LABEL: func.func @no_roles
// CHECK-NOT:     gpu.subgroup_id
// CHECK:         arith.divui
func.func @no_roles(%x: f32) attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 : memref<4xf32, #s>
  %c32 = arith.constant 32 : index
  %tid = gpu.thread_id x
  %warp = arith.divui %tid, %c32 : index
  memref.store %x, %S[%warp] : memref<4xf32, #s>
  func.return
}
