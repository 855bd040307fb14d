// RUN: tilewright-opt %s --bind-target="target=hip:gfx942" --duplicate-operands | filecheck %s
// RUN: tilewright-opt %s --bind-target="target=hip:gfx942" --duplicate-operands --stage-copies | filecheck %s --check-prefix=STAGED

#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// CHECK-LABEL: func.func @both
// STAGED-LABEL: func.func @both
func.func @both(%Q: memref<64x64xf16, #global>, %K: memref<64x64xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    // CHECK: %Qs_t = tile.alloc "Qs_t" : memref<64x64xf16, #shared>
    %qs = tile.alloc "Qs" : memref<64x64xf16, #shared>
    %ks = tile.alloc "Ks" : memref<64x64xf16, #shared>
    %p = tile.alloc "P" : memref<64x64xf32, #fragment>
    %w = tile.alloc "W" : memref<64x64xf16, #fragment>
    %d = tile.alloc "D" : memref<64x64xf32, #fragment>
    // CHECK: tile.copy %arg0 -> %Qs :
    // CHECK: tile.copy %arg0 -> %Qs_t :
    // CHECK: tile.copy %arg1 -> %Ks :
    // CHECK-NOT: tile.copy
    // Loaded once, stored along rows and along columns.
    // STAGED: tile.copy %arg0 -> %[[staged:[^ ]*]] :
    // STAGED-NEXT: tile.copy %[[staged]] -> %Qs :
    // STAGED-NEXT: tile.parallel
    // STAGED: memref.load %[[staged]]
    // STAGED: memref.store %{{.*}}, %Qs_t
    // STAGED-NOT: tile.copy %arg0
    // STAGED: tile.copy %arg1 ->
    tile.copy %Q -> %qs : memref<64x64xf16, #global> -> memref<64x64xf16, #shared>
    tile.copy %K -> %ks : memref<64x64xf16, #global> -> memref<64x64xf16, #shared>
    // CHECK: tile.gemm %Ks, %Qs -> %P {transpose_b
    tile.gemm %ks, %qs -> %p {transpose_b} : memref<64x64xf16, #shared>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
    // CHECK: tile.gemm %W, %Qs_t -> %D
    tile.gemm %w, %qs -> %d : memref<64x64xf16, #fragment>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}

// Two of 32 KiB and a third one do not fit into 64 KiB.
// CHECK-LABEL: func.func @too_large
func.func @too_large(%Q: memref<128x128xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    // CHECK-NOT: "Qs_t"
    %qs = tile.alloc "Qs" : memref<128x128xf16, #shared>
    %ks = tile.alloc "Ks" : memref<128x128xf16, #shared>
    %p = tile.alloc "P" : memref<128x128xf32, #fragment>
    tile.copy %Q -> %qs : memref<128x128xf16, #global> -> memref<128x128xf16, #shared>
    // CHECK: tile.gemm %Ks, %Qs -> %P {transpose_b
    tile.gemm %ks, %qs -> %p {transpose_b} : memref<128x128xf16, #shared>, memref<128x128xf16, #shared> -> memref<128x128xf32, #fragment>
    // CHECK: tile.gemm %Ks, %Qs -> %P
    tile.gemm %ks, %qs -> %p : memref<128x128xf16, #shared>, memref<128x128xf16, #shared> -> memref<128x128xf32, #fragment>
  }
  func.return
}

// Written by a loop: its elements are in one buffer only.
// CHECK-LABEL: func.func @written_by_a_loop
func.func @written_by_a_loop() {
  tile.kernel (%bx) in (1) threads(128) {
    // CHECK-NOT: "Qs_t"
    %qs = tile.alloc "Qs" : memref<64x64xf16, #shared>
    %ks = tile.alloc "Ks" : memref<64x64xf16, #shared>
    %p = tile.alloc "P" : memref<64x64xf32, #fragment>
    %z = arith.constant 0.0 : f16
    tile.fill %qs, %z : memref<64x64xf16, #shared>, f16
    tile.gemm %ks, %qs -> %p {transpose_b} : memref<64x64xf16, #shared>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
    tile.gemm %ks, %qs -> %p : memref<64x64xf16, #shared>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}

// A buffer of 32 KiB that is used only after the GEMMs takes no room from the copy.
// CHECK-LABEL: func.func @later
func.func @later(%Q: memref<128x64xf16, #global>, %K: memref<64x64xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    // CHECK: tile.alloc "Qs_t" : memref<128x64xf16, #shared>
    %qs = tile.alloc "Qs" : memref<128x64xf16, #shared>
    %ks = tile.alloc "Ks" : memref<64x64xf16, #shared>
    %os = tile.alloc "Os" : memref<128x128xf16, #shared>
    %p = tile.alloc "P" : memref<64x128xf32, #fragment>
    %w = tile.alloc "W" : memref<64x128xf16, #fragment>
    %d = tile.alloc "D" : memref<64x64xf32, #fragment>
    tile.copy %Q -> %qs : memref<128x64xf16, #global> -> memref<128x64xf16, #shared>
    tile.copy %K -> %ks : memref<64x64xf16, #global> -> memref<64x64xf16, #shared>
    tile.gemm %ks, %qs -> %p {transpose_b} : memref<64x64xf16, #shared>, memref<128x64xf16, #shared> -> memref<64x128xf32, #fragment>
    // CHECK: tile.gemm %W, %Qs_t -> %D
    tile.gemm %w, %qs -> %d : memref<64x128xf16, #fragment>, memref<128x64xf16, #shared> -> memref<64x64xf32, #fragment>
    %z = arith.constant 0.0 : f16
    tile.fill %os, %z : memref<128x128xf16, #shared>, f16
  }
  func.return
}
