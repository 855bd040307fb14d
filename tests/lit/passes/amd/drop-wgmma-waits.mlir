// RUN: tilewright-opt %s --drop-wgmma-waits | filecheck %s

// CHECK-LABEL: @waits
// CHECK: tile.kernel
// CHECK-NOT: nv.wgmma.wait
// CHECK: nv.cp_async.wait
func.func @waits() attributes {tile.target = #tile.target<hip, gfx942>} {
  tile.kernel (%b) in (1) threads(128) {
    nv.wgmma.wait 1
    nv.cp_async.wait 0
    nv.wgmma.wait 0
  }
  func.return
}
