// RUN: tilewright-opt -simplify-fills %s | filecheck %s
// RUN: tilewright-opt %s | tilewright-opt -simplify-fills | filecheck %s

#global = #tile.space<global>
#shared = #tile.space<shared>

// What is outside of the tensor reads as zero anyway.
// CHECK-LABEL: func.func @zero(
// CHECK: tile.copy {{%[^ ]+}} -> {{%[^ ]+}} :
func.func @zero(%A: memref<100x64xf16, #global>, %s: memref<32x64xf16, #shared>, %i: index) {
  %z = arith.constant 0.0 : f16
  %r = tile.region %A[%i, 0] [32, 64] : memref<100x64xf16, #global> to !tile.region<32x64xf16, #global>
  tile.copy %r -> %s fill(%z) : !tile.region<32x64xf16, #global> -> memref<32x64xf16, #shared>
  func.return
}

// Minus zero has other bits.
// CHECK-LABEL: func.func @minus_zero(
// CHECK: tile.copy {{%[^ ]+}} -> {{%[^ ]+}} fill({{%.*}}) :
func.func @minus_zero(%A: memref<100x64xf16, #global>, %s: memref<32x64xf16, #shared>, %i: index) {
  %z = arith.constant -0.0 : f16
  %r = tile.region %A[%i, 0] [32, 64] : memref<100x64xf16, #global> to !tile.region<32x64xf16, #global>
  tile.copy %r -> %s fill(%z) : !tile.region<32x64xf16, #global> -> memref<32x64xf16, #shared>
  func.return
}

// Blocks 0 to 2 of 32 rows are inside of 100.
// CHECK-LABEL: func.func @inside(
// CHECK: tile.copy {{%[^ ]+}} -> {{%[^ ]+}} :
// CHECK: tile.copy {{%[^ ]+}} -> {{%[^ ]+}} fill(%arg1) :
func.func @inside(%A: memref<100x64xf16, #global>, %v: f16) {
  tile.kernel (%bx) in (3) threads(128) {
    %c32 = arith.constant 32 : index
    %c5 = arith.constant 5 : index
    %s = tile.alloc "s" : memref<32x64xf16, #shared>
    %i = arith.muli %bx, %c32 : index
    %r = tile.region %A[%i, 0] [32, 64] : memref<100x64xf16, #global> to !tile.region<32x64xf16, #global>
    tile.copy %r -> %s fill(%v) : !tile.region<32x64xf16, #global> -> memref<32x64xf16, #shared>
    %j = arith.addi %i, %c5 : index
    %q = tile.region %A[%j, 0] [32, 64] : memref<100x64xf16, #global> to !tile.region<32x64xf16, #global>
    tile.copy %q -> %s fill(%v) : !tile.region<32x64xf16, #global> -> memref<32x64xf16, #shared>
  }
  func.return
}

// A tensor with a safe value of its own: a zero stays, and its own value goes.
// CHECK-LABEL: func.func @safe(
// CHECK: tile.copy {{%[^ ]+}} -> {{%[^ ]+}} fill(%cst{{.*}}) :
// CHECK: tile.copy {{%[^ ]+}} -> {{%[^ ]+}} :
func.func @safe(%A: memref<100x64xf16, #global> {tile.safe_value = 2.0 : f16}, %s: memref<32x64xf16, #shared>, %i: index) {
  %z = arith.constant 0.0 : f16
  %two = arith.constant 2.0 : f16
  %r = tile.region %A[%i, 0] [32, 64] : memref<100x64xf16, #global> to !tile.region<32x64xf16, #global>
  tile.copy %r -> %s fill(%z) : !tile.region<32x64xf16, #global> -> memref<32x64xf16, #shared>
  tile.copy %r -> %s fill(%two) : !tile.region<32x64xf16, #global> -> memref<32x64xf16, #shared>
  func.return
}
