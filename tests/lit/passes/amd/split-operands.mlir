// RUN: tilewright-opt %s --bind-target="target=hip:gfx942" --split-operands="parts=2" | filecheck %s
// RUN: tilewright-opt %s --bind-target="target=hip:gfx942" --split-operands | filecheck %s --check-prefix=WHOLE

#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// A is filled in two parts, each of which is multiplied with a part of B, that a loop writes. Only
// the first GEMM clears the result.
// CHECK-LABEL: func.func @one_operand
// WHOLE-LABEL: func.func @one_operand
func.func @one_operand(%A: memref<256x256xf16, #global>, %k: index) {
  tile.kernel (%bx) in (1) threads(256) {
    // CHECK: %As = tile.alloc "As" : memref<128x64xf16, #shared>
    // WHOLE: %As = tile.alloc "As" : memref<128x128xf16, #shared>
    %as = tile.alloc "As" : memref<128x128xf16, #shared>
    %bs = tile.alloc "Bs" : memref<128x128xf16, #shared>
    %c = tile.alloc "C" : memref<128x128xf32, #fragment>
    %r = tile.region %A[0, %k] [128, 128] : memref<256x256xf16, #global> to !tile.region<128x128xf16, #global>
    tile.copy %r -> %as : !tile.region<128x128xf16, #global> -> memref<128x128xf16, #shared>
    tile.parallel (%i, %j) in (128, 128) {
      %z = arith.constant 1.0 : f16
      memref.store %z, %bs[%i, %j] : memref<128x128xf16, #shared>
    }
    // CHECK: tile.parallel
    // CHECK: %[[r0:.*]] = tile.region %arg0[0, %arg1] [128, 64]
    // CHECK: tile.copy %[[r0]] -> %As
    // CHECK: %[[b0:.*]] = tile.region %Bs[0, 0] [128, 64]
    // CHECK: tile.gemm %As, %[[b0]] -> %C {clear, transpose_b
    // CHECK: %[[next:.*]] = arith.addi %arg1
    // CHECK: %[[r1:.*]] = tile.region %arg0[0, %[[next]]] [128, 64]
    // CHECK: tile.copy %[[r1]] -> %As
    // CHECK: %[[b1:.*]] = tile.region %Bs[0, 64] [128, 64]
    // CHECK: tile.gemm %As, %[[b1]] -> %C {transpose_b
    // CHECK-NOT: tile.gemm
    tile.gemm %as, %bs -> %c {clear, transpose_b} : memref<128x128xf16, #shared>, memref<128x128xf16, #shared> -> memref<128x128xf32, #fragment>
  }
  func.return
}

// A copy before a loop moves to the GEMM inside it; one whose tensor the kernel writes does not.
// CHECK-LABEL: func.func @loop
func.func @loop(%Q: memref<64x128xf16, #global>, %K: memref<512x128xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    // CHECK: tile.alloc "Qs" : memref<64x64xf16, #shared>
    // CHECK: tile.alloc "Ks" : memref<64x128xf16, #shared>
    %qs = tile.alloc "Qs" : memref<64x128xf16, #shared>
    %ks = tile.alloc "Ks" : memref<64x128xf16, #shared>
    %c = tile.alloc "C" : memref<64x64xf32, #fragment>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    tile.copy %Q -> %qs : memref<64x128xf16, #global> -> memref<64x128xf16, #shared>
    // CHECK: scf.for
    scf.for %n = %c0 to %c8 step %c1 {
      %at = arith.muli %n, %c64 : index
      %r = tile.region %K[%at, 0] [64, 128] : memref<512x128xf16, #global> to !tile.region<64x128xf16, #global>
      // CHECK: tile.copy %{{.*}} -> %Ks
      // CHECK: tile.copy %{{.*}} -> %Qs
      // CHECK: tile.gemm %Qs, %{{.*}} -> %C {transpose_b
      // CHECK: tile.copy %{{.*}} -> %Qs
      // CHECK: tile.gemm %Qs, %{{.*}} -> %C {transpose_b
      tile.copy %r -> %ks : !tile.region<64x128xf16, #global> -> memref<64x128xf16, #shared>
      tile.gemm %qs, %ks -> %c {transpose_b} : memref<64x128xf16, #shared>, memref<64x128xf16, #shared> -> memref<64x64xf32, #fragment>
      tile.copy %ks -> %r : memref<64x128xf16, #shared> -> !tile.region<64x128xf16, #global>
    }
  }
  func.return
}
