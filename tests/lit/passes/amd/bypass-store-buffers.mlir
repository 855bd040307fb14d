// RUN: tilewright-opt %s --bind-target="target=hip:gfx942" --bypass-store-buffers | filecheck %s
// RUN: tilewright-opt %s --bind-target="target=hip:gfx950" --bypass-store-buffers | filecheck %s --check-prefix=LARGE

#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// 73728 B, more than the 64 KiB of gfx942 and less than the 160 KiB of gfx950.
// CHECK-LABEL: func.func @result
// LARGE-LABEL: func.func @result
func.func @result(%O: memref<2x64x576xf16, #global>, %b: index) {
  tile.kernel (%bx) in (1) threads(256) {
    // CHECK-NOT: tile.alloc "Os"
    // LARGE: tile.alloc "Os"
    %acc = tile.alloc "acc" : memref<64x576xf32, #fragment>
    %os = tile.alloc "Os" : memref<64x576xf16, #shared>
    %zero = arith.constant 0.0 : f32
    tile.fill %acc, %zero : memref<64x576xf32, #fragment>, f32
    tile.copy %acc -> %os : memref<64x576xf32, #fragment> -> memref<64x576xf16, #shared>
    // CHECK: %[[r:.*]] = tile.region %arg0[%arg1, 0, 0] [1, 64, 576]
    // CHECK-NEXT: tile.copy %acc -> %[[r]]
    // CHECK-NOT: tile.copy
    %r = tile.region %O[%b, 0, 0] [1, 64, 576] : memref<2x64x576xf16, #global> to !tile.region<1x64x576xf16, #global>
    tile.copy %os -> %r : memref<64x576xf16, #shared> -> !tile.region<1x64x576xf16, #global>
  }
  func.return
}

// -- must not change ------------------------------------------------------------------------------

// Exactly 64 KiB fit.
// CHECK-LABEL: func.func @fits
func.func @fits(%O: memref<64x512xf16, #global>) {
  tile.kernel (%bx) in (1) threads(256) {
    // CHECK: tile.alloc "Os"
    %acc = tile.alloc "acc" : memref<64x512xf32, #fragment>
    %os = tile.alloc "Os" : memref<64x512xf16, #shared>
    tile.copy %acc -> %os : memref<64x512xf32, #fragment> -> memref<64x512xf16, #shared>
    tile.copy %os -> %O : memref<64x512xf16, #shared> -> memref<64x512xf16, #global>
  }
  func.return
}

// The fragment changes between the copies.
// CHECK-LABEL: func.func @changed
func.func @changed(%O: memref<64x576xf16, #global>) {
  tile.kernel (%bx) in (1) threads(256) {
    // CHECK: tile.alloc "Os"
    %acc = tile.alloc "acc" : memref<64x576xf32, #fragment>
    %os = tile.alloc "Os" : memref<64x576xf16, #shared>
    tile.copy %acc -> %os : memref<64x576xf32, #fragment> -> memref<64x576xf16, #shared>
    tile.parallel (%i, %j) in (64, 576) {
      %one = arith.constant 1.0 : f32
      memref.store %one, %acc[%i, %j] : memref<64x576xf32, #fragment>
    }
    tile.copy %os -> %O : memref<64x576xf16, #shared> -> memref<64x576xf16, #global>
  }
  func.return
}

// Values are rounded to the type of the buffer first.
// CHECK-LABEL: func.func @rounded
func.func @rounded(%O: memref<64x576xf32, #global>) {
  tile.kernel (%bx) in (1) threads(256) {
    // CHECK: tile.alloc "Os"
    %acc = tile.alloc "acc" : memref<64x576xf32, #fragment>
    %os = tile.alloc "Os" : memref<64x576xf16, #shared>
    tile.copy %acc -> %os : memref<64x576xf32, #fragment> -> memref<64x576xf16, #shared>
    tile.copy %os -> %O : memref<64x576xf16, #shared> -> memref<64x576xf32, #global>
  }
  func.return
}

// A loop reads the buffer.
// CHECK-LABEL: func.func @read
func.func @read(%O: memref<64x576xf16, #global>, %S: memref<64x576xf16, #global>) {
  tile.kernel (%bx) in (1) threads(256) {
    // CHECK: tile.alloc "Os"
    %acc = tile.alloc "acc" : memref<64x576xf32, #fragment>
    %os = tile.alloc "Os" : memref<64x576xf16, #shared>
    tile.copy %acc -> %os : memref<64x576xf32, #fragment> -> memref<64x576xf16, #shared>
    tile.copy %os -> %O : memref<64x576xf16, #shared> -> memref<64x576xf16, #global>
    tile.copy %os -> %S : memref<64x576xf16, #shared> -> memref<64x576xf16, #global>
  }
  func.return
}

// The second copy may not run.
// CHECK-LABEL: func.func @conditional
func.func @conditional(%O: memref<64x576xf16, #global>, %is_last: i1) {
  tile.kernel (%bx) in (1) threads(256) {
    // CHECK: tile.alloc "Os"
    %acc = tile.alloc "acc" : memref<64x576xf32, #fragment>
    %os = tile.alloc "Os" : memref<64x576xf16, #shared>
    tile.copy %acc -> %os : memref<64x576xf32, #fragment> -> memref<64x576xf16, #shared>
    scf.if %is_last {
      tile.copy %os -> %O : memref<64x576xf16, #shared> -> memref<64x576xf16, #global>
    }
  }
  func.return
}
