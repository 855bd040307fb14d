// RUN: tilewright-opt %s --bind-target="target=hip:gfx1100" --read-shared-operands="enabled=true" | filecheck %s
// RUN: tilewright-opt %s --bind-target="target=hip:gfx1100" --read-shared-operands | filecheck %s --check-prefix=OFF

#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// CHECK-LABEL: func.func @copied
// OFF-LABEL: func.func @copied
func.func @copied() {
  tile.kernel (%bx) in (1) threads(128) {
    // CHECK-NOT: tile.alloc "P"
    %ps = tile.alloc "Ps" : memref<64x64xf16, #shared>
    %p = tile.alloc "P" : memref<64x64xf16, #fragment>
    %v = tile.alloc "V" : memref<64x64xf16, #shared>
    %o = tile.alloc "O" : memref<64x64xf32, #fragment>
    tile.copy %ps -> %p : memref<64x64xf16, #shared> -> memref<64x64xf16, #fragment>
    // CHECK: tile.gemm %Ps, %V -> %O
    // OFF: tile.gemm %P, %V -> %O
    tile.gemm %p, %v -> %o : memref<64x64xf16, #fragment>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}

// -- must not change ------------------------------------------------------------------------------

// The buffer has something else when the GEMM runs.
// CHECK-LABEL: func.func @written
func.func @written() {
  tile.kernel (%bx) in (1) threads(128) {
    %ps = tile.alloc "Ps" : memref<64x64xf16, #shared>
    %p = tile.alloc "P" : memref<64x64xf16, #fragment>
    %v = tile.alloc "V" : memref<64x64xf16, #shared>
    %o = tile.alloc "O" : memref<64x64xf32, #fragment>
    tile.copy %ps -> %p : memref<64x64xf16, #shared> -> memref<64x64xf16, #fragment>
    tile.parallel (%i, %j) in (64, 64) {
      %zero = arith.constant 0.0 : f16
      memref.store %zero, %ps[%i, %j] : memref<64x64xf16, #shared>
    }
    // CHECK: tile.gemm %P, %V -> %O
    tile.gemm %p, %v -> %o : memref<64x64xf16, #fragment>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}

// A loop reads the fragment.
// CHECK-LABEL: func.func @read
func.func @read(%D: memref<64x64xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %ps = tile.alloc "Ps" : memref<64x64xf16, #shared>
    %p = tile.alloc "P" : memref<64x64xf16, #fragment>
    %v = tile.alloc "V" : memref<64x64xf16, #shared>
    %o = tile.alloc "O" : memref<64x64xf32, #fragment>
    tile.copy %ps -> %p : memref<64x64xf16, #shared> -> memref<64x64xf16, #fragment>
    // CHECK: tile.gemm %P, %V -> %O
    tile.gemm %p, %v -> %o : memref<64x64xf16, #fragment>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
    tile.copy %p -> %D : memref<64x64xf16, #fragment> -> memref<64x64xf16, #global>
  }
  func.return
}

// The copy rounds.
// CHECK-LABEL: func.func @rounded
func.func @rounded() {
  tile.kernel (%bx) in (1) threads(128) {
    %ps = tile.alloc "Ps" : memref<64x64xf32, #shared>
    %p = tile.alloc "P" : memref<64x64xf16, #fragment>
    %v = tile.alloc "V" : memref<64x64xf16, #shared>
    %o = tile.alloc "O" : memref<64x64xf32, #fragment>
    tile.copy %ps -> %p : memref<64x64xf32, #shared> -> memref<64x64xf16, #fragment>
    // CHECK: tile.gemm %P, %V -> %O
    tile.gemm %p, %v -> %o : memref<64x64xf16, #fragment>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}

// The GEMM of an iteration reads what the copy of the one before left, or was there at first.
// CHECK-LABEL: func.func @loop
func.func @loop() {
  tile.kernel (%bx) in (1) threads(128) {
    %ps = tile.alloc "Ps" : memref<64x64xf16, #shared>
    %p = tile.alloc "P" : memref<64x64xf16, #fragment>
    %v = tile.alloc "V" : memref<64x64xf16, #shared>
    %o = tile.alloc "O" : memref<64x64xf32, #fragment>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %n = %c0 to %c8 step %c1 {
      // CHECK: tile.gemm %P, %V -> %O
      tile.gemm %p, %v -> %o : memref<64x64xf16, #fragment>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
      tile.copy %ps -> %p : memref<64x64xf16, #shared> -> memref<64x64xf16, #fragment>
    }
  }
  func.return
}

// It is an accumulator.
// CHECK-LABEL: func.func @accumulator
func.func @accumulator() {
  tile.kernel (%bx) in (1) threads(128) {
    %cs = tile.alloc "Cs" : memref<64x64xf32, #shared>
    %c = tile.alloc "C" : memref<64x64xf32, #fragment>
    %a = tile.alloc "A" : memref<64x64xf16, #shared>
    tile.copy %cs -> %c : memref<64x64xf32, #shared> -> memref<64x64xf32, #fragment>
    // CHECK: tile.gemm %A, %A -> %C
    tile.gemm %a, %a -> %c : memref<64x64xf16, #shared>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}
