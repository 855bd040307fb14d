// RUN: tilewright-opt %s --bind-target=target=tenstorrent:sim --split-launches | filecheck %s

// Two launches, and memory of the call as their last argument.
// CHECK: func.func public @twice_0(%arg0: memref<32x32xf32, #global>, %arg1: memref<32x32xf32, #global>, %H: memref<32x32xf32, #global>) attributes {{{.*}}tt.launch = {arguments = 2 : i64, chain = "twice", launches = 2 : i64, position = 0 : i64}
// CHECK: tile.region %arg0
// CHECK: tile.region %H
// CHECK-NOT: tile.kernel
// CHECK: func.func public @twice_1
// CHECK-SAME: position = 1 : i64
// CHECK: tile.region %H
// CHECK: tile.region %arg1
// CHECK-NOT: tile.kernel
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @twice(%A: memref<32x32xf32, #global>, %C: memref<32x32xf32, #global>) {
  %zero = arith.constant 0 : index
  %H = tile.alloc "H" : memref<32x32xf32, #global>
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<32x32xf32, #shared>
    %ra = tile.region %A[%zero, %zero] [32, 32] : memref<32x32xf32, #global> to !tile.region<32x32xf32, #global>
    tile.copy %ra -> %a : !tile.region<32x32xf32, #global> -> memref<32x32xf32, #shared>
    %rh = tile.region %H[%zero, %zero] [32, 32] : memref<32x32xf32, #global> to !tile.region<32x32xf32, #global>
    tile.copy %a -> %rh : memref<32x32xf32, #shared> -> !tile.region<32x32xf32, #global>
  }
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<32x32xf32, #shared>
    %rh = tile.region %H[%zero, %zero] [32, 32] : memref<32x32xf32, #global> to !tile.region<32x32xf32, #global>
    tile.copy %rh -> %a : !tile.region<32x32xf32, #global> -> memref<32x32xf32, #shared>
    %rc = tile.region %C[%zero, %zero] [32, 32] : memref<32x32xf32, #global> to !tile.region<32x32xf32, #global>
    tile.copy %a -> %rc : memref<32x32xf32, #shared> -> !tile.region<32x32xf32, #global>
  }
  func.return
}
