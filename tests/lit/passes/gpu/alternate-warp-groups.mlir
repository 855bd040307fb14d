// RUN: tilewright-opt -alternate-warp-groups %s | filecheck %s

// Two groups of MMAs are in flight while the loop computes: the warp groups issue them in order.

// CHECK-LABEL: func.func @overlapped
// CHECK:         role "consumer"
// CHECK:           %[[GROUP:.*]] = arith.divui
// CHECK:           %[[NEXT:.*]] = arith.select
// CHECK:           scf.if
// CHECK:             nv.group_bar arrive 1 + %{{.*}}, 256
// CHECK:           scf.for
// CHECK-NEXT:        nv.group_bar sync 1 + %[[GROUP]], 256
// CHECK-NEXT:        nv.wgmma.fence
// CHECK-NEXT:        nv.wgmma.commit
// CHECK-NEXT:        nv.wgmma.fence
// CHECK-NEXT:        nv.wgmma.commit
// CHECK-NEXT:        nv.group_bar arrive 1 + %[[NEXT]], 256
// CHECK-NEXT:        nv.wgmma.wait 1
// CHECK-NEXT:        nv.wgmma.wait 0
func.func @overlapped() attributes {simt.kernel, simt.threads = 384 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %warp = gpu.subgroup_id : index
  tile.ws
  role "producer" threads(0 to 128) {
  }
  role "consumer" threads(128 to 384) {
    scf.for %k = %c0 to %c8 step %c1 {
      nv.wgmma.fence
      nv.wgmma.commit
      nv.wgmma.fence
      nv.wgmma.commit
      nv.wgmma.wait 1
      nv.wgmma.wait 0
    }
  }
  func.return
}

// One warp group, or MMAs that are waited for at once: there is nothing to order.

// CHECK-LABEL: func.func @one_group
// CHECK-NOT:     nv.group_bar
func.func @one_group() attributes {simt.kernel, simt.threads = 256 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %warp = gpu.subgroup_id : index
  tile.ws
  role "producer" threads(0 to 128) {
  }
  role "consumer" threads(128 to 256) {
    scf.for %k = %c0 to %c8 step %c1 {
      nv.wgmma.commit
      nv.wgmma.commit
      nv.wgmma.wait 1
      nv.wgmma.wait 0
    }
  }
  func.return
}

// Warp groups that run a loop differently often would wait for each other forever.

// CHECK-LABEL: func.func @different_counts
// CHECK-NOT:     nv.group_bar
func.func @different_counts() attributes {simt.kernel, simt.threads = 384 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %warp = gpu.subgroup_id : index
  %tid = gpu.thread_id x
  tile.ws
  role "producer" threads(0 to 128) {
  }
  role "consumer" threads(128 to 384) {
    scf.for %k = %c0 to %tid step %c1 {
      nv.wgmma.fence
      nv.wgmma.commit
      nv.wgmma.commit
      nv.wgmma.wait 1
      nv.wgmma.wait 0
    }
  }
  func.return
}
