// RUN: tilewright-opt %s --remap-blocks="always=true" | filecheck %s
// RUN: tilewright-opt %s --remap-blocks | filecheck %s --check-prefix=MATRIX

#global = #tile.space<global>

// Eight dies, 20 blocks: four dies have three, four have two.
// CHECK-LABEL: func.func @on_several_dies
// CHECK: %[[P:.*]] = gpu.block_id x
// CHECK: %[[DIE:.*]] = arith.remui %[[P]], %{{.*}} : index
// CHECK: %[[FIRST:.*]] = arith.muli %[[DIE]], %{{.*}} : index
// CHECK: %[[MORE:.*]] = arith.minui %[[DIE]], %{{.*}} : index
// CHECK: arith.addi %[[FIRST]], %[[MORE]] : index
// CHECK: arith.divui %[[P]], %{{.*}} : index
// CHECK: %[[BLOCK:.*]] = arith.addi
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[BLOCK]]]
// Without matrix instructions there is no reuse to gain.
// MATRIX-LABEL: func.func @on_several_dies
// MATRIX-NOT: arith.remui
// A GPU of one die, and a kernel that synchronises its grid, stay as they are.
// CHECK-LABEL: func.func @on_one
// CHECK-NOT: arith.remui
// CHECK-LABEL: func.func @cooperative
// CHECK-NOT: arith.remui
func.func @host(%Out: memref<20xi64, #global>) {
  %n = arith.constant 20 : index
  %one = arith.constant 1 : index
  simt.launch @on_several_dies grid(%n, %one, %one) args(%Out) : memref<20xi64, #global>
  simt.launch @on_one grid(%n, %one, %one) args(%Out) : memref<20xi64, #global>
  simt.launch @cooperative grid(%n, %one, %one) args(%Out) : memref<20xi64, #global>
  func.return
}
func.func @on_several_dies(%Out: memref<20xi64, #global>) attributes {simt.kernel, simt.threads = 64 : i64, tile.target = #tile.target<hip, gfx942>} {
  %x = gpu.block_id x
  %v = arith.constant 1 : i64
  memref.store %v, %Out[%x] : memref<20xi64, #global>
  func.return
}
func.func @on_one(%Out: memref<20xi64, #global>) attributes {simt.kernel, simt.threads = 64 : i64, tile.target = #tile.target<hip, gfx90a>} {
  %x = gpu.block_id x
  %v = arith.constant 1 : i64
  memref.store %v, %Out[%x] : memref<20xi64, #global>
  func.return
}
func.func @cooperative(%Out: memref<20xi64, #global>) attributes {simt.kernel, simt.cooperative, simt.threads = 64 : i64, tile.target = #tile.target<hip, gfx942>} {
  %x = gpu.block_id x
  %v = arith.constant 1 : i64
  memref.store %v, %Out[%x] : memref<20xi64, #global>
  func.return
}
