// RUN: tilewright-opt --select-tma-stores %s | filecheck %s

#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// Elements that threads write, too, are stored by threads; others are left to TMA.

// CHECK-LABEL: func.func @beside_threads
// CHECK:         tile.copy %a -> %arg0 : memref
// CHECK:         tile.copy %f -> %{{.*}} : memref
// CHECK:         tile.copy %a -> %arg1 {nv.engine = "tma"}
func.func @beside_threads(%C: memref<16x64xf16, #global>, %D: memref<16x64xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<16x64xf16, #shared>
    %f = tile.alloc "f" : memref<1x64xf16, #fragment>
    tile.copy %a -> %C : memref<16x64xf16, #shared> -> memref<16x64xf16, #global>
    %row = tile.region %C[3, 0] [1, 64] : memref<16x64xf16, #global> to !tile.region<1x64xf16, #global>
    tile.copy %f -> %row : memref<1x64xf16, #fragment> -> !tile.region<1x64xf16, #global>
    tile.copy %a -> %D : memref<16x64xf16, #shared> -> memref<16x64xf16, #global>
  }
  func.return
}

// Iterations that write overlapping parts.

// CHECK-LABEL: func.func @in_steps_of_8
// CHECK-NOT:     nv.engine
func.func @in_steps_of_8(%C: memref<16x128xf16, #global>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<16x64xf16, #shared>
    scf.for %k = %c0 to %c32 step %c8 {
      %part = tile.region %C[0, %k] [16, 64] : memref<16x128xf16, #global> to !tile.region<16x64xf16, #global>
      tile.copy %a -> %part : memref<16x64xf16, #shared> -> !tile.region<16x64xf16, #global>
    }
  }
  func.return
}

// Halves of a tile, whichever tile it is.

// CHECK-LABEL: func.func @in_two_halves
// CHECK:         tile.copy %a -> %{{.*}} {nv.engine = "tma"}
// CHECK:         tile.copy %b -> %{{.*}} {nv.engine = "tma"}
func.func @in_two_halves(%C: memref<16x512xf16, #global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<16x64xf16, #shared>
    %b = tile.alloc "b" : memref<16x64xf16, #shared>
    scf.for %k = %c0 to %c4 step %c1 {
      %tile = arith.divui %k, %c3 : index
      %left = arith.muli %tile, %c128 : index
      %right = arith.addi %left, %c64 : index
      %one = tile.region %C[0, %left] [16, 64] : memref<16x512xf16, #global> to !tile.region<16x64xf16, #global>
      tile.copy %a -> %one : memref<16x64xf16, #shared> -> !tile.region<16x64xf16, #global>
      %other = tile.region %C[0, %right] [16, 64] : memref<16x512xf16, #global> to !tile.region<16x64xf16, #global>
      tile.copy %b -> %other : memref<16x64xf16, #shared> -> !tile.region<16x64xf16, #global>
    }
  }
  func.return
}

// Parts of a buffer: whole atoms of its swizzle, but not half of one, nor rows inside of one.

// CHECK-LABEL: func.func @parts
// CHECK:         tile.copy %{{.*}} -> %{{.*}} {nv.engine = "tma"}
// CHECK:         tile.copy %{{.*}} -> %{{.*}} {nv.engine = "tma"}
// CHECK-NOT:     nv.engine
// CHECK:         func.return
func.func @parts(%C: memref<16x128xf16, #global>, %D: memref<16x128xf16, #global>, %E: memref<16x128xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<16x128xf16, #shared>
    %left = tile.region %a[0, 0] [16, 64] : memref<16x128xf16, #shared> to !tile.region<16x64xf16, #shared>
    %right = tile.region %a[0, 64] [16, 64] : memref<16x128xf16, #shared> to !tile.region<16x64xf16, #shared>
    %middle = tile.region %a[0, 32] [16, 64] : memref<16x128xf16, #shared> to !tile.region<16x64xf16, #shared>
    %rows = tile.region %a[4, 0] [8, 128] : memref<16x128xf16, #shared> to !tile.region<8x128xf16, #shared>
    %c0 = tile.region %C[0, 0] [16, 64] : memref<16x128xf16, #global> to !tile.region<16x64xf16, #global>
    %c1 = tile.region %C[0, 64] [16, 64] : memref<16x128xf16, #global> to !tile.region<16x64xf16, #global>
    %d = tile.region %D[0, 0] [16, 64] : memref<16x128xf16, #global> to !tile.region<16x64xf16, #global>
    %e = tile.region %E[0, 0] [8, 128] : memref<16x128xf16, #global> to !tile.region<8x128xf16, #global>
    tile.copy %left -> %c0 : !tile.region<16x64xf16, #shared> -> !tile.region<16x64xf16, #global>
    tile.copy %right -> %c1 : !tile.region<16x64xf16, #shared> -> !tile.region<16x64xf16, #global>
    tile.copy %middle -> %d : !tile.region<16x64xf16, #shared> -> !tile.region<16x64xf16, #global>
    tile.copy %rows -> %e : !tile.region<8x128xf16, #shared> -> !tile.region<8x128xf16, #global>
  }
  func.return
}

// Tiles that are added to a tensor, which nothing else accesses; not if it is read as well, or if
// TMA has no such update.

// CHECK-LABEL: func.func @updates
// CHECK:         tile.atomic add %{{.*}}, %a {{.*}}nv.engine = "tma"
// CHECK:         tile.atomic add %{{.*}}, %a {{.*}}nv.engine = "tma"
// CHECK:         tile.atomic add %arg1, %a : memref
// CHECK:         tile.copy %arg1 -> %b
// CHECK:         tile.atomic max %arg2, %a : memref
// CHECK:         tile.atomic add %arg3, %a order release : memref
// CHECK:         tile.atomic add %arg3, %f : memref
func.func @updates(%C: memref<64x64xf32, #global>, %D: memref<16x64xf32, #global>, %E: memref<16x64xf32, #global>, %F: memref<16x64xf32, #global>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<16x64xf32, #shared>
    %b = tile.alloc "b" : memref<16x64xf32, #shared>
    %f = tile.alloc "f" : memref<16x64xf32, #fragment>
    scf.for %k = %c0 to %c32 step %c8 {
      %part = tile.region %C[%k, 0] [16, 64] : memref<64x64xf32, #global> to !tile.region<16x64xf32, #global>
      tile.atomic add %part, %a {use_tma} : !tile.region<16x64xf32, #global>, memref<16x64xf32, #shared>
    }
    %first = tile.region %C[0, 0] [16, 64] : memref<64x64xf32, #global> to !tile.region<16x64xf32, #global>
    tile.atomic add %first, %a : !tile.region<16x64xf32, #global>, memref<16x64xf32, #shared>
    tile.atomic add %D, %a : memref<16x64xf32, #global>, memref<16x64xf32, #shared>
    tile.copy %D -> %b : memref<16x64xf32, #global> -> memref<16x64xf32, #shared>
    tile.atomic max %E, %a : memref<16x64xf32, #global>, memref<16x64xf32, #shared>
    tile.atomic add %F, %a order release : memref<16x64xf32, #global>, memref<16x64xf32, #shared>
    tile.atomic add %F, %f : memref<16x64xf32, #global>, memref<16x64xf32, #fragment>
  }
  func.return
}
