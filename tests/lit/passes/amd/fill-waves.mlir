// RUN: tilewright-opt %s --bind-target="target=hip:gfx942" --fill-waves | filecheck %s
// RUN: tilewright-opt %s --bind-target="target=hip:gfx1100" --fill-waves | filecheck %s --check-prefix=HALF

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// CHECK-LABEL: func.func @half_a_wave
// HALF-LABEL: func.func @half_a_wave
func.func @half_a_wave() {
  // CHECK: tile.kernel {{.*}} threads(64)
  // HALF: tile.kernel {{.*}} threads(32)
  tile.kernel (%bx) in (1) threads(32) {
    %a = tile.alloc "A" : memref<16x16xf16, #shared>
    %c = tile.alloc "C" : memref<16x16xf32, #fragment>
    tile.gemm %a, %a -> %c {clear} : memref<16x16xf16, #shared>, memref<16x16xf16, #shared> -> memref<16x16xf32, #fragment>
  }
  func.return
}

// Without a GEMM, or with code of single threads, the user's number stays.
// CHECK-LABEL: func.func @no_gemm
func.func @no_gemm() {
  // CHECK: tile.kernel {{.*}} threads(32)
  tile.kernel (%bx) in (1) threads(32) {
    %c = tile.alloc "C" : memref<16x16xf32, #fragment>
    %z = arith.constant 0.0 : f32
    tile.fill %c, %z : memref<16x16xf32, #fragment>, f32
  }
  func.return
}

// CHECK-LABEL: func.func @names_a_thread
func.func @names_a_thread() {
  // CHECK: tile.kernel {{.*}} threads(32)
  tile.kernel (%bx) in (1) threads(32) {
    %a = tile.alloc "A" : memref<16x16xf16, #shared>
    %c = tile.alloc "C" : memref<16x16xf32, #fragment>
    %t = gpu.thread_id x
    tile.gemm %a, %a -> %c {clear} : memref<16x16xf16, #shared>, memref<16x16xf16, #shared> -> memref<16x16xf32, #fragment>
  }
  func.return
}
